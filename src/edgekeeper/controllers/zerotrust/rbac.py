"""The rights in the cluster that the controllers of Zero Trust need, by role.

The kube-worker sees no Secret. The cloudflare-worker sees those of the namespaces that the installation lists.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.api.zerotrust import ZERO_TRUST_TEMPLATE, ZERO_TRUST_TENANT
from edgekeeper.api.zerotrust_operator_config import OPERATOR_CONFIG
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK
from edgekeeper.kube.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    HTTP_ROUTE,
    POD,
    REFERENCE_GRANT,
    REPLICA_SET,
    SECRET,
    SERVICE,
)
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.lifecycle.rbac import READ, WATCH, Place, Rule, on

_TENANT, _TEMPLATE = kind_of(ZERO_TRUST_TENANT), kind_of(ZERO_TRUST_TEMPLATE)
_CONFIG, _TASK = kind_of(OPERATOR_CONFIG), kind_of(CLOUDFLARE_TASK)
_OWN: Final = Place.OWN
_PREDECESSOR: Final = on(DEPLOYMENT, *WATCH, place=_OWN)
"""To see whether the operator that we replace is still running beside us: it has no Lease."""
_SETTINGS: Final = on(_CONFIG, *WATCH, place=_OWN)
"""Every process follows the OperatorConfig: log level, namespaces and interval."""

# manager
CONFIGS: Final[tuple[Rule, ...]] = (
    on(_CONFIG, *WATCH, place=_OWN),
    Rule(_CONFIG.group, (f"{_CONFIG.plural}/status",), ("patch",), _OWN),
    on(DEPLOYMENT, *READ, "patch", place=_OWN),
    on(POD, "get", place=_OWN),
    on(REPLICA_SET, "get", place=_OWN),
)
WORKERS: Final[tuple[Rule, ...]] = (
    _SETTINGS,
    on(DEPLOYMENT, *WATCH, "create", "patch", "delete", place=_OWN),
    on(POD, "get", place=_OWN),
    on(REPLICA_SET, "get", place=_OWN),
)

# kube-worker
_KEPT_TASKS: Final = (
    on(_TASK, *READ, "create", "update", "patch", "delete", place=_OWN),
    Rule(_TASK.group, (f"{_TASK.plural}/status",), ("patch",), _OWN),
)
"""The status of a new task is Pending."""
ROUTES: Final[tuple[Rule, ...]] = (
    on(HTTP_ROUTE, *WATCH, "patch"),
    on(_TENANT, *WATCH),
    on(_TEMPLATE, *WATCH),
    on(REFERENCE_GRANT, *WATCH),
    on(SERVICE, *WATCH),
    on(CONFIG_MAP, *READ, "create", "update", "patch", "delete", place=_OWN),
    *_KEPT_TASKS,
    _SETTINGS,
    _PREDECESSOR,
)
ROUTES_ELSEWHERE: Final[tuple[Rule, ...]] = (
    on(HTTP_ROUTE, *WATCH),
    on(CONFIG_MAP, *WATCH, place=_OWN),
    on(_TASK, *WATCH, place=_OWN),
)
"""For a process that compares hostnames with those of routes."""
COLLECTORS: Final[tuple[Rule, ...]] = (
    on(HTTP_ROUTE, *WATCH),
    on(_TENANT, *WATCH),
    on(CONFIG_MAP, *READ, "create", "update", "patch", "delete", place=_OWN),
    *_KEPT_TASKS,
    _SETTINGS,
    _PREDECESSOR,
)
TEMPLATES: Final[tuple[Rule, ...]] = (
    on(_TEMPLATE, *WATCH),
    Rule(_TEMPLATE.group, (f"{_TEMPLATE.plural}/status",), ("patch",)),
    on(HTTP_ROUTE, *WATCH),
    on(_TENANT, *WATCH),
    _SETTINGS,
    _PREDECESSOR,
)

# cloudflare-worker
TASKS: Final[tuple[Rule, ...]] = (
    on(_TASK, *WATCH, place=_OWN),
    Rule(_TASK.group, (f"{_TASK.plural}/status",), ("patch",), _OWN),
    on(_TENANT, *WATCH),
    on(SECRET, *READ, "create", "patch", "delete", place=Place.SECRETS),
    _SETTINGS,
)
DRIFT: Final[tuple[Rule, ...]] = (
    on(CONFIG_MAP, *WATCH, "patch", place=_OWN),
    on(_TASK, *WATCH, place=_OWN),
    on(_TENANT, *WATCH),
    on(SECRET, *READ, place=Place.SECRETS),
    _SETTINGS,
)
TENANTS: Final[tuple[Rule, ...]] = (
    on(_TENANT, *WATCH),
    Rule(_TENANT.group, (f"{_TENANT.plural}/status",), ("patch",)),
    on(CONFIG_MAP, *WATCH, place=_OWN),
    on(SECRET, *WATCH, place=Place.SECRETS),
    _SETTINGS,
)
