"""The rights in the cluster that APIGatewayDomains and LambdaPermissions need.

Objects of ACK are read and, for domains in the mode `ack`, created and kept.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN
from edgekeeper.api.lambda_permission import LAMBDA_PERMISSION
from edgekeeper.controllers.bridge.ack import API, API_MAPPING, CERTIFICATE, DOMAIN_NAME, FUNCTION
from edgekeeper.kube.kinds import DEPLOYMENT, REFERENCE_GRANT
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.lifecycle.rbac import WATCH, Place, Rule, on, reconciled

_DOMAIN, _PERMISSION = kind_of(API_GATEWAY_DOMAIN), kind_of(LAMBDA_PERMISSION)
_MADE: Final = (*WATCH, "create", "patch", "delete")
_SHARED: Final = (
    on(API, *WATCH),
    on(REFERENCE_GRANT, *WATCH),
    on(DEPLOYMENT, *WATCH, place=Place.KRO),
)
"""APIs that objects refer to, and whether the operator that we replace is still running beside kro."""

DOMAINS: Final[tuple[Rule, ...]] = (
    *reconciled(_DOMAIN),
    Rule(_DOMAIN.group, (f"{_DOMAIN.plural}/finalizers",), ("update",)),  # owners that block deletion need it
    *(on(kind, *_MADE) for kind in (DOMAIN_NAME, API_MAPPING, CERTIFICATE)),
    *_SHARED,
)
DOMAINS_ELSEWHERE: Final[tuple[Rule, ...]] = (on(_DOMAIN, *WATCH),)
"""For a process that compares hostnames with those of domains."""
PERMISSIONS: Final[tuple[Rule, ...]] = (*reconciled(_PERMISSION), on(FUNCTION, *WATCH), *_SHARED)
