"""Builds a ClusterConfig from a kubeconfig: chooses a context, and resolves and checks its cluster and user.

All errors are raised here, at the start, with the file that contains the error and the remedy. Tokens and certificates
in files may change later, and are read again when they are used.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from yarl import URL

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.cluster import ClusterConfig, ConfigError, Pem, Trust
from edgekeeper.kube.credentials import Credentials, StoredCredentials, basic, bearer
from edgekeeper.kube.execplugin import API_VERSIONS, ExecCredentials, ExecPlugin
from edgekeeper.kube.kubeconfig_file import Cluster, Context, Entry, Exec, Kubeconfig, User

T = TypeVar("T")

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def cluster_config(kubeconfig: Kubeconfig, context: str | None, clock: Clock) -> ClusterConfig:
    """The cluster of a context, or of the current one."""
    name = context or kubeconfig.current_context
    if not name and not kubeconfig.contexts:
        raise ConfigError(
            f"kubeconfig {kubeconfig} has no contexts, so no cluster can be chosen: name another one with --kubeconfig "
            "or $KUBECONFIG"
        )
    if not name:
        raise ConfigError(
            f"kubeconfig {kubeconfig} has no current context: choose one of {_listed(kubeconfig.contexts)} "
            "with --context or `kubectl config use-context`"
        )
    chosen = _find(kubeconfig.contexts, name, f"context {name!r} is not in kubeconfig {kubeconfig}")
    where = f"context {name!r} of {chosen.file}"
    cluster = _cluster_of(kubeconfig, chosen.value, where)
    trust = _trust(cluster, where)
    return ClusterConfig(
        server=_server(cluster, where),
        trust=trust,
        credentials=_credentials(kubeconfig, chosen.value, _ClusterInfo(cluster, trust), clock, where),
        proxy=_proxy(cluster.value.proxy_url, cluster.file),
        compression=not cluster.value.disable_compression,
        namespace=chosen.value.namespace or "default",
        origin=where,
    )


def _find(entries: Mapping[str, Entry[T]], name: str, problem: str) -> Entry[T]:
    try:
        return entries[name]
    except KeyError:
        raise ConfigError(f"{problem}: it has {_listed(entries)}") from None


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(map(repr, sorted(names))) or "none"


def _cluster_of(kubeconfig: Kubeconfig, context: Context, where: str) -> Entry[Cluster]:
    if not context.cluster:
        raise ConfigError(f"{where} names no cluster: add `cluster` to it")
    problem = f"{where} names the cluster {context.cluster!r}, which is not in kubeconfig {kubeconfig}"
    return _find(kubeconfig.clusters, context.cluster, problem)


def _server(cluster: Entry[Cluster], where: str) -> str:
    server = cluster.value.server
    if not server:
        raise ConfigError(
            f"the cluster of {where} has no `server`: add its address, such as https://host:6443"
        )
    if _scheme_of(server) not in {"http", "https"}:
        raise ConfigError(f"the server {server!r} of {where} is no address: write it as https://host:6443")
    return server


def _scheme_of(address: str) -> str:
    try:
        url = URL(address)
    except ValueError:
        return ""
    return url.scheme if url.host else ""


def _proxy(address: str, file: Path) -> str:
    if address and _scheme_of(address) not in {"http", "https"}:
        raise ConfigError(f"the `proxy-url` in {file} cannot be used: it must start with http:// or https://")
    return address


def _trust(cluster: Entry[Cluster], where: str) -> Trust:
    value = cluster.value
    authorities = _pem(
        cluster, "certificate-authority", value.certificate_authority, value.certificate_authority_data
    )
    if value.insecure_skip_tls_verify and authorities:
        raise ConfigError(
            f"the cluster of {where} has both `insecure-skip-tls-verify` and a certificate authority: remove one of them"
        )
    return Trust(authorities, value.tls_server_name, value.insecure_skip_tls_verify)


def _pem(entry: Entry[T], name: str, path: str, encoded: str) -> Pem | None:
    """The inline data, else the file, which must exist, else None."""
    if encoded:
        try:
            return b64decode(encoded, validate=True)
        except Base64Error as error:
            raise ConfigError(f"`{name}-data` in {entry.file} is not base64: {error}") from error
    if not path:
        return None
    return _existing(entry.path(path), name, entry.file)


def _existing(path: Path, name: str, file: Path) -> Path:
    if not path.is_file():
        raise ConfigError(f"`{name}` in {file} names {path}, which is no file: correct the path")
    return path


class _ClusterInfo:
    """The information about the cluster that an exec plugin may get (`provideClusterInfo`)."""

    def __init__(self, cluster: Entry[Cluster], trust: Trust) -> None:
        self._cluster = cluster.value
        self._authorities = trust.authorities

    def info(self) -> JsonObject:
        info: JsonObject = {
            "server": self._cluster.server,
            "tls-server-name": self._cluster.tls_server_name,
            "insecure-skip-tls-verify": self._cluster.insecure_skip_tls_verify,
            "certificate-authority-data": self._authorities_data(),
            "proxy-url": self._cluster.proxy_url,
            "disable-compression": self._cluster.disable_compression,
            "config": self._config(),
        }
        return {name: value for name, value in info.items() if value}

    def _authorities_data(self) -> str:
        pem = self._authorities
        content = pem.read_bytes() if isinstance(pem, Path) else pem
        return b64encode(content or b"").decode()

    def _config(self) -> object:
        named = {extension.name: extension.extension for extension in self._cluster.extensions}
        return named.get(_EXEC_EXTENSION)


def _credentials(
    kubeconfig: Kubeconfig, context: Context, cluster_info: _ClusterInfo, clock: Clock, where: str
) -> Credentials:
    """The stored credentials of the user, else those of its exec plugin, else none (anonymous)."""
    if not context.user:
        return StoredCredentials()
    problem = f"{where} names the user {context.user!r}, who is not in kubeconfig {kubeconfig}"
    entry = _find(kubeconfig.users, context.user, problem)
    user, whom = entry.value, f"the user {context.user!r} in {entry.file}"
    if user.as_ or user.as_uid or user.as_groups or user.as_user_extra:
        raise ConfigError(f"{whom} impersonates another one with `as`, which is not supported: remove it")
    stored = _stored(entry, whom, clock)
    if stored is not None:
        return stored
    if user.exec is not None:
        return ExecCredentials(_plugin(entry, user.exec, cluster_info, whom), clock)
    if user.auth_provider is not None:
        raise ConfigError(
            f"{whom} has an `auth-provider`, which Kubernetes has removed: use an `exec` plugin"
        )
    return StoredCredentials()


def _stored(entry: Entry[User], whom: str, clock: Clock) -> StoredCredentials | None:
    user = entry.value
    certificate = _pem(entry, "client-certificate", user.client_certificate, user.client_certificate_data)
    key = _pem(entry, "client-key", user.client_key, user.client_key_data)
    if bool(certificate) != bool(key):
        raise ConfigError(f"{whom} has only one of a client certificate and its key: add the other one")
    if user.token and user.username:
        raise ConfigError(f"{whom} has both a token and a username: remove one of them")
    token_file = _existing(entry.path(user.token_file), "tokenFile", entry.file) if user.token_file else None
    headers = _headers(user)
    if not (certificate or token_file or headers):
        return None
    return StoredCredentials(headers, token_file=token_file, certificate=certificate, key=key, clock=clock)


def _headers(user: User) -> dict[str, str]:
    if user.token:
        return bearer(user.token)
    return basic(user.username, user.password) if user.username else {}


def _plugin(entry: Entry[User], plugin: Exec, cluster_info: _ClusterInfo, whom: str) -> ExecPlugin:
    if not plugin.command:
        raise ConfigError(f"{whom} has an `exec` plugin without a `command`: add it")
    if plugin.api_version not in API_VERSIONS:
        raise ConfigError(
            f"{whom} has an `exec` plugin of apiVersion {plugin.api_version!r}: it must be one of {', '.join(API_VERSIONS)}"
        )
    if plugin.interactive_mode == "Always":
        raise ConfigError(f"{whom} has an `exec` plugin that needs a terminal: there is none here")
    # A command with a slash is a path relative to the kubeconfig; one without is looked up in $PATH.
    command = str(entry.path(plugin.command)) if "/" in plugin.command else plugin.command
    return ExecPlugin(
        command=command,
        args=tuple(plugin.args),
        env={variable.name: variable.value for variable in plugin.env},
        api_version=plugin.api_version,
        cluster=cluster_info.info() if plugin.provide_cluster_info else None,
        install_hint=plugin.install_hint,
    )
