"""The cluster that we run in: its address from the environment, our identity from the service account's volume."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from edgekeeper.core.clock import Clock
from edgekeeper.kube.cluster import ClusterConfig, ConfigError, Trust
from edgekeeper.kube.credentials import StoredCredentials

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def is_in_cluster(environ: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> bool:
    """Whether this process runs in a pod with a service account."""
    return bool(environ.get(_HOST) and environ.get(_PORT)) and (service_account / "token").is_file()


def in_cluster_config(
    environ: Mapping[str, str], clock: Clock, service_account: Path = SERVICE_ACCOUNT
) -> ClusterConfig:
    """The cluster of this pod. Token and authorities are read again while we run: kubelets replace them."""
    host, port = environ.get(_HOST, ""), environ.get(_PORT, "")
    if not host or not port:
        raise ConfigError(f"{_HOST} and {_PORT} are not set: this process runs in no pod of a cluster")
    authorities = service_account / "ca.crt"
    if not authorities.is_file():
        raise ConfigError(f"{authorities} is missing: let the pod mount the token of its service account")
    shown_host = f"[{host}]" if ":" in host else host
    return ClusterConfig(
        server=f"https://{shown_host}:{port}",
        trust=Trust(authorities),
        credentials=StoredCredentials(token_file=service_account / "token", clock=clock),
        namespace=_namespace(service_account / "namespace"),
        origin=f"the service account in {service_account}",
    )


def _namespace(path: Path) -> str:
    try:
        return path.read_text().strip() or "default"
    except OSError:
        return "default"  # the file is a convenience; permissions do not depend on it
