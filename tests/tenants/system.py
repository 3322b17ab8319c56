"""DistributionTenants as the harness sees them."""

from __future__ import annotations

from collections.abc import Sequence

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.controllers.cloudfront.report import DECLARATION
from edgekeeper.controllers.cloudfront.wiring import KIND, TenantOptions, tenant_controller
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.metrics import Metrics
from tests.crash.system import System
from tests.tenants.estate import DISTRIBUTION, SECRET, Estate

CLUSTER = "test-cluster"
KEY = Key("default", "test-tenant")


def tenant(key: Key = KEY, /, *domains: str, **spec: object) -> JsonObject:
    """A DistributionTenant with these domains."""
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {
            "distributionId": DISTRIBUTION,
            "domains": [{"domain": domain} for domain in domains or ("shop.example.com",)],
            **spec,
        },
    }


def controllers(services: Services, estate: Estate, calls: Calls) -> Sequence[Controller]:
    assert isinstance(services.metrics, Metrics)
    registry = services.metrics.registry
    access, cloud_metrics = estate.access(calls, registry=registry)
    options = TenantOptions(CLUSTER)
    controller = tenant_controller(services, access, cloud_metrics, registry, options)
    return [controller]


def lies(obj: JsonObject, estate: Estate) -> str:
    """What a tenant that says it is Ready does not have."""
    name = obj["metadata"]["name"]
    found = [one for one in estate.cloud.cloudfront.tenants.values() if one.name == name]
    return "" if found else f"Ready, but there is no tenant {name}"


TENANTS: System[Estate] = System(
    definitions=(DISTRIBUTION_TENANT.definition(),),
    declarations={KIND: DECLARATION},
    outside=Estate,
    controllers=controllers,
    lies=lies,
    canary=SECRET,
)
