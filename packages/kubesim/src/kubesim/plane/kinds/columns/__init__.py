"""What `kubectl get` shows of the built-in kinds: the columns of kube-apiserver, cell by cell.

Each list is complete, the name included, since some kinds decorate it or put it last. Cells that depend on the
current time are `Since` values; see `age`.
"""

from __future__ import annotations

from kubesim.plane.kinds.columns import access, cluster, core, event, network, pod, workloads
from kubesim.plane.kinds.columns.cell import CREATED_AT, NAME
from kubesim.plane.resource import Column

_AREAS: tuple[dict[str, tuple[Column, ...]], ...] = (
    core.COLUMNS,
    pod.COLUMNS,
    event.COLUMNS,
    workloads.COLUMNS,
    network.COLUMNS,
    cluster.COLUMNS,
    access.COLUMNS,
)
_BY_KIND = {kind: columns for area in _AREAS for kind, columns in area.items()}


def columns_of(group: str, kind: str, version: str) -> tuple[Column, ...]:
    """Return the columns of a kind; one that has none of its own shows when objects were created."""
    qualified = f"{kind}.{version}.{group}"
    return _BY_KIND.get(qualified) or _BY_KIND.get(kind) or (NAME, CREATED_AT)
