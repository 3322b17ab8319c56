"""Kubeconfig files as they are written: their fields, and how several of them make one.

As with kubectl, the first file that names a cluster, a user or a context wins it whole, and so does the first one that
names the current context. Every entry remembers its file: paths in it are relative to that, and messages name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.cluster import ConfigError

T = TypeVar("T")


class Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[Extension] = []


class Variable(msgspec.Struct):
    name: str
    value: str = ""


class Exec(msgspec.Struct, rename="camel"):
    command: str = ""
    args: list[str] = []
    env: list[Variable] = []
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    auth_provider: JsonObject | None = None
    exec: Exec | None = None


class Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster = msgspec.field(default_factory=Cluster)


class _NamedUser(msgspec.Struct):
    name: str
    user: User = msgspec.field(default_factory=User)


class _NamedContext(msgspec.Struct):
    name: str
    context: Context = msgspec.field(default_factory=Context)


class _File(msgspec.Struct, rename="kebab"):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = ""


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """Something in a kubeconfig, and the file in which it is written."""

    value: T
    file: Path

    def path(self, text: str) -> Path:
        """A path that the entry names."""
        return self.file.parent / text


@dataclass(slots=True)
class Kubeconfig:
    """What one or several files say together."""

    files: tuple[Path, ...] = ()
    clusters: dict[str, Entry[Cluster]] = field(default_factory=dict)
    users: dict[str, Entry[User]] = field(default_factory=dict)
    contexts: dict[str, Entry[Context]] = field(default_factory=dict)
    current_context: str = ""

    def __str__(self) -> str:
        return ", ".join(map(str, self.files))


def read_kubeconfig(paths: Sequence[Path]) -> Kubeconfig:
    """Read files and merge them. Those that are missing are passed over, unless all of them are."""
    present = [path for path in dict.fromkeys(paths) if path.exists()]
    if not present:
        raise ConfigError(
            f"no kubeconfig at {', '.join(map(str, paths))}: create it, or name another one with --kubeconfig or $KUBECONFIG"
        )
    return merge((path, parse_file(path)) for path in present)


def parse_file(path: Path) -> _File:
    try:
        tree = yaml.safe_load(path.read_bytes())
        return msgspec.convert({} if tree is None else _without_nulls(tree), _File)
    except OSError as error:
        raise ConfigError(f"cannot read kubeconfig {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"kubeconfig {path} is not YAML{_position(error)}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"kubeconfig {path} is not as it should be: {error}") from error


def merge(files: Iterable[tuple[Path, _File]]) -> Kubeconfig:
    """The first to name something wins it whole."""
    merged = Kubeconfig()
    for path, parsed in files:
        merged.files += (path,)
        for cluster in parsed.clusters:
            merged.clusters.setdefault(cluster.name, Entry(cluster.cluster, path))
        for user in parsed.users:
            merged.users.setdefault(user.name, Entry(user.user, path))
        for context in parsed.contexts:
            merged.contexts.setdefault(context.name, Entry(context.context, path))
        merged.current_context = merged.current_context or parsed.current_context
    return merged


def _without_nulls(tree: Any) -> Any:
    """Null stands for "not given", as in the files that kubectl itself writes."""
    if isinstance(tree, dict):
        return {name: _without_nulls(value) for name, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [_without_nulls(item) for item in tree]
    return tree


def _position(error: yaml.YAMLError) -> str:
    """Where the mistake is. The text around it is not shown: it may be a token."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return f": look at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
