"""Writes the kubeconfig of the embedded API server.

*Guarantees*
 - The file is readable by its owner only, because it contains a private key.
 - A kubeconfig that names any other cluster is never replaced: `--kubeconfig ~/.kube/config` does not remove the user's
   clusters.
 - The file is locked while its server runs, so that another server neither replaces nor removes it. The lock ends with
   the process, even if that is killed.
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
    """The kubeconfig belongs to another server that is running."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is in use by another `edgekeeper up`",
            f"stop that one, or {_REMEDY}",
        )


def default_path(data_dir: Path | None) -> Path:
    """The default path: in the data directory if there is one, else in the user's state directory."""
    if data_dir:
        return data_dir / "kubeconfig"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "edgekeeper" / "kubeconfig"


def ensure_replaceable(path: Path) -> None:
    """Raise CommandError if the kubeconfig names any other cluster, or its server is running."""
    try:
        text = path.read_text()
        present = yaml.safe_load(text)
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CommandError(f"cannot replace {path}: {error}", _REMEDY) from error
    clusters = [dig(cluster, "name") for cluster in dig_list(present, "clusters")]
    if clusters != [CLUSTER_NAME]:
        raise CommandError(f"{path} is not a kubeconfig of `edgekeeper up` and is not replaced", _REMEDY)
    if _is_locked(path):
        raise InUseError(path)


@contextmanager
def kubeconfig_file(chosen: Path | None, data_dir: Path | None, text: str) -> Iterator[Path]:
    """Write the kubeconfig to `chosen`, or to the first default path that is not in use, for as long as the server runs.

    At the end it is removed, unless it is in a data directory, which persists.
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
    raise AssertionError("unreachable: count() does not end")


def write_kubeconfig(path: Path, text: str) -> int:
    """Write the file atomically, readable by its owner only.

    Return the descriptor of the file, which stays locked until it is closed.
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
    """Remove the file, unless it was replaced or changed since it was written."""
    with _locked_directory(path.parent):
        try:
            is_ours = os.path.samestat(path.stat(), os.fstat(descriptor)) and path.read_text() == text
        except FileNotFoundError:
            return
        if is_ours:
            path.unlink()


@contextmanager
def _locked_directory(directory: Path) -> Iterator[None]:
    """Hold the lock of a directory, so that servers that start or stop at once check and write one after the other."""
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
