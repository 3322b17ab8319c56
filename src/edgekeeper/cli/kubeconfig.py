"""Where the kubeconfig of a local control plane goes, and how to write it without harming anybody else's.

The file holds a private key, so only its owner may read it, and it never replaces a file that somebody else made:
`--kubeconfig ~/.kube/config` must not cost a person the way to their clusters. A server keeps its file locked for as long
as it runs, so that another one neither replaces nor removes it; the lock ends with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import yaml

from edgekeeper.cli.failure import CommandError
from edgekeeper.core.json import dig, dig_list

CLUSTER_NAME = "edgekeeper"
_REMEDY = "choose another --kubeconfig"


class InUseError(CommandError):
    """The kubeconfig leads to another server, which is running."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is the kubeconfig of another `edgekeeper up` that is running",
            f"stop that one, or {_REMEDY}",
        )


def default_path(data_dir: Path | None) -> Path:
    """Beside the data it gives access to, or in the user's state directory."""
    if data_dir:
        return data_dir / "kubeconfig"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "edgekeeper" / "kubeconfig"


def ensure_replaceable(path: Path) -> None:
    """Refuse to touch a kubeconfig that names any cluster but ours, or whose server is running."""
    try:
        text = path.read_text()
        present = yaml.safe_load(text)
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CommandError(f"cannot replace {path}: {error}", _REMEDY) from error
    clusters = [dig(cluster, "name") for cluster in dig_list(present, "clusters")]
    if clusters != [CLUSTER_NAME]:
        raise CommandError(f"{path} belongs to somebody else; it is left alone", _REMEDY)
    if _is_locked(path):
        raise InUseError(path)


@contextmanager
def kubeconfig_file(chosen: Path | None, data_dir: Path | None, text: str) -> Iterator[Path]:
    """A kubeconfig for as long as a server runs: written where `chosen`, else to the first usual place that is free.

    One in a data directory stays when the server stops, as the data do; any other is removed.
    """
    path, descriptor = _written(chosen, data_dir, text)
    try:
        yield path
    finally:
        if data_dir is None:
            _remove(path, descriptor, text)
        os.close(descriptor)


def _written(chosen: Path | None, data_dir: Path | None, text: str) -> tuple[Path, int]:
    usual = default_path(data_dir)
    if chosen is not None or data_dir is not None:
        return (path := chosen or usual), write_kubeconfig(path, text)
    for number in count(1):
        path = usual if number == 1 else usual.with_name(f"{usual.name}-{number}")
        try:
            return path, write_kubeconfig(path, text)
        except InUseError:
            continue
    raise AssertionError("there is always another number")


def write_kubeconfig(path: Path, text: str) -> int:
    """Write for the owner's eyes only, and all at once: a reader never sees half a file.

    Return the descriptor of the file: it is ours until that is closed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked_directory(path.parent):
            ensure_replaceable(path)
            return _replaced(path, text)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}", _REMEDY) from error


def _replaced(path: Path, text: str) -> int:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with os.fdopen(os.dup(descriptor), "w") as file:
            file.write(text)
        fresh.replace(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _remove(path: Path, descriptor: int, text: str) -> None:
    """Remove our file, unless somebody has put another one there or changed it since."""
    with _locked_directory(path.parent):
        try:
            is_ours = os.path.samestat(path.stat(), os.fstat(descriptor)) and path.read_text() == text
        except FileNotFoundError:
            return
        if is_ours:
            path.unlink()


@contextmanager
def _locked_directory(directory: Path) -> Iterator[None]:
    """Of several servers that start or stop at once, one after the other looks and writes."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
