"""The rights in the cluster that DistributionTenants need."""

from __future__ import annotations

from typing import Final

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.kube.kinds import DEPLOYMENT, LEASE
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.lifecycle.rbac import WATCH, Place, Rule, on, reconciled

_TENANT: Final = kind_of(DISTRIBUTION_TENANT)

PREDECESSOR: Final = (on(LEASE, *WATCH, place=Place.OWN), on(DEPLOYMENT, *WATCH, place=Place.OWN))
"""To see whether the operator that we replace is still running beside us."""
TENANTS: Final[tuple[Rule, ...]] = (*reconciled(_TENANT), *PREDECESSOR)
ELSEWHERE: Final[tuple[Rule, ...]] = (on(_TENANT, *WATCH),)
"""For a process that compares hostnames with those of tenants."""
