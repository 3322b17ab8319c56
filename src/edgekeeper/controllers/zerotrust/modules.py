"""The controllers of Zero Trust, by role.

manager             OperatorConfig, the Deployments of workers
kube-worker         HTTPRoutes, templates, the state of routes that are gone
cloudflare-worker   tasks, drift, tenants
"""

from __future__ import annotations

from typing import Final

from edgekeeper.controllers.zerotrust.module_cloudflare import DriftModule, TaskModule, TenantModule
from edgekeeper.controllers.zerotrust.module_kube import (
    RouteModule,
    StateModule,
    TaskCollectorModule,
    TemplateModule,
)
from edgekeeper.controllers.zerotrust.module_operator import OperatorConfigModule, OperatorWorkersModule
from edgekeeper.lifecycle.module import KindModule

ZERO_TRUST_MODULES: Final[tuple[KindModule, ...]] = (
    OperatorConfigModule(),
    OperatorWorkersModule(),
    RouteModule(),
    StateModule(),
    TaskCollectorModule(),
    TemplateModule(),
    TaskModule(),
    DriftModule(),
    TenantModule(),
)
