"""Where the kubeconfig of a local control plane goes, and how to write it without harming anybody else's.

The file holds a private key, so only its owner may read it, and it never replaces a file that somebody else made:
`--kubeconfig ~/.kube/config` must not cost a person the way to their clusters.
"""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from edgekeeper.cli.failure import CommandError
from edgekeeper.core.json import dig, dig_list

CLUSTER_NAME = "edgekeeper"


def default_path(data_dir: Path | None) -> Path:
    """Beside the data it gives access to, or in the user's state directory."""
    if data_dir:
        return data_dir / "kubeconfig"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "edgekeeper" / "kubeconfig"


def ensure_replaceable(path: Path) -> None:
    """Refuse to touch a kubeconfig that names any cluster but ours."""
    try:
        present = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CommandError(f"cannot replace {path}: {error}", "choose another --kubeconfig") from error
    clusters = [dig(cluster, "name") for cluster in dig_list(present, "clusters")]
    if clusters != [CLUSTER_NAME]:
        raise CommandError(
            f"{path} belongs to somebody else; it is left alone", "choose another --kubeconfig"
        )


def write_kubeconfig(path: Path, text: str) -> None:
    """Write for the owner's eyes only, and all at once: a reader never sees half a file."""
    ensure_replaceable(path)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        fresh.replace(path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}", "choose another --kubeconfig") from error


def remove_kubeconfig(path: Path, text: str) -> None:
    """Remove the file of a server that is gone, unless another one has written there since."""
    if path.exists() and path.read_text() == text:
        path.unlink()
