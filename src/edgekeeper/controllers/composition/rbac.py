"""The rights in the cluster that definitions and their revisions need.

What instances and their children need depends on the definitions: administrators add it to the ClusterRole that aggregates
`AGGREGATION_LABEL` (see `rights`).
"""

from __future__ import annotations

from typing import Final

from edgekeeper.api.composition import GRAPH_REVISION, RESOURCE_GRAPH_DEFINITION
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, LEASE
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.lifecycle.rbac import READ, WATCH, Place, Rule, on, reconciled

_REVISION: Final = kind_of(GRAPH_REVISION)
_CRDS: Final = CUSTOM_RESOURCE_DEFINITION
_KRO: Final = (on(LEASE, *WATCH, place=Place.KRO), on(DEPLOYMENT, *WATCH, place=Place.KRO))
"""To see whether kro is running: definitions are left to it then."""

DEFINITIONS: Final[tuple[Rule, ...]] = (
    *reconciled(kind_of(RESOURCE_GRAPH_DEFINITION), Place.CLUSTER),
    on(_REVISION, *WATCH, "create", "patch", "delete", place=Place.CLUSTER),
    on(_CRDS, *READ, "create", "patch", place=Place.CLUSTER),
    on(_CRDS, "delete", place=Place.CLUSTER, option="composition.allowCrdDeletion"),
    *_KRO,
)
REVISIONS: Final[tuple[Rule, ...]] = (*reconciled(_REVISION, Place.CLUSTER), *_KRO)
