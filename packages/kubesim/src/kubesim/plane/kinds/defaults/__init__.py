"""Defaults that built-in types fill in beside their zero values.

Each is a function of one definition that changes one object of that type; nested types look after themselves. A
definition is named here as in the published API description, without its common prefix: `core.v1.Probe`.
"""

from __future__ import annotations

from kubesim.plane.kinds.defaults import cluster, core, pod, service, workloads
from kubesim.plane.kinds.defaults.fill import Fill

_AREAS: tuple[dict[str, Fill], ...] = (
    core.DEFAULTS,
    service.DEFAULTS,
    pod.DEFAULTS,
    workloads.DEFAULTS,
    cluster.DEFAULTS,
)

TYPE_DEFAULTS: dict[str, Fill] = {f"io.k8s.{name}": fill for area in _AREAS for name, fill in area.items()}
"""What each definition fills in, by its full name."""
