"""DistributionTenants as the harness sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.controllers.cloudfront.report import DECLARATION
from edgekeeper.controllers.cloudfront.wiring import KIND, TenantOptions, tenant_controller
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.metrics import Metrics
from tests.crash.stage import Stage
from tests.crash.system import System
from tests.tenants.estate import DISTRIBUTION, SECRET, Estate
from tests.tenants.truth import lies

CLUSTER = "test-cluster"
KEY = Key("default", "test-tenant")
OPTIONS = TenantOptions(CLUSTER)
MASKED = frozenset(
    {
        *("id", "arn", "eTag", "certificateArn", "dnsTarget", "target", "tagsFingerprint"),
        *("createdTime", "lastModifiedTime", "lastDriftCheckTime", "lastTransitionTime"),
    }
)
"""What AWS makes up, and what follows from it. The estate's own state says what it stands for."""
STALLS = frozenset(
    {
        *("ValidationFailed", "DomainConflict", "NameConflict", "AccessDenied", "InvalidSpec", "AWSError"),
        *("CertificateSANMismatch", "DNSError", "DNSConflict"),
    }
)


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


def controllers(
    services: Services, estate: Estate, calls: Calls, options: TenantOptions = OPTIONS
) -> Sequence[Controller]:
    assert isinstance(services.metrics, Metrics)
    registry = services.metrics.registry
    access, cloud_metrics = estate.access(calls, registry=registry)
    aws = AwsAccount(access, services.clock, cloud_metrics, options=options.intervals.pace)
    claims = Claims()
    claims.records.connect(aws.dns)
    return [tenant_controller(services, aws, registry, options, claims)]


def wrongs(stage: Stage[Estate]) -> Iterator[str]:
    """Names that led nowhere for a moment; records that no object answers for; objects that remember what is not."""
    yield from stage.outside.chronicle.wrongs
    remembered = {
        (entry["type"], entry["name"])
        for obj in stage.objects()
        for entry in dig_list(obj, "status", "inventory")
        if entry.get("state") != "Planned"
    }
    there = set(stage.outside.records())
    yield from (f"orphan: {kind} {name} is in no inventory" for kind, name in sorted(there - remembered))


def loosened(definition: JsonObject) -> JsonObject:
    """A definition without rules and upper bounds: objects may have been stored under such a one before ours."""
    dropped = ("x-kubernetes-validations", "maxLength", "maxItems")

    def without(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: without(value) for key, value in tree.items() if key not in dropped}
        return [without(one) for one in tree] if isinstance(tree, list) else tree

    loose: JsonObject = without(definition)
    return loose


def system(options: TenantOptions = OPTIONS, *, loose: bool = False) -> System[Estate]:
    """The kind, with an operator that was told this; if `loose`, the server refuses next to nothing at admission."""
    definition = DISTRIBUTION_TENANT.definition()
    return System(
        definitions=(loosened(definition) if loose else definition,),
        declarations={KIND: DECLARATION},
        outside=Estate,
        controllers=partial(controllers, options=options),
        lies=lies,
        canary=SECRET,
        masked=MASKED,
        stalls=STALLS,
        quiet=timedelta(minutes=15),
        wrongs=wrongs,
    )


TENANTS = system()
