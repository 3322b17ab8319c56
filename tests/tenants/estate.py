"""The company's edge as the operator finds it: a simulated AWS account with a distribution, a zone and a certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from aiobotocore.session import AioSession
from botocore.loaders import Loader
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.clients import AwsClients, AwsSettings
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.local.aws.cloud import ACCOUNT, AwsCloud
from edgekeeper.local.aws.session import session_class
from edgekeeper.local.aws.settings import UNLIMITED

DISTRIBUTION = "E1XNX8R2GOAABC"
SECRET = "c4n4ry-0f-th3-3dg3"
"""The secret key of the operator. It must never be seen anywhere."""

_LOADER = Loader()
"""Shared by all tests: reading the models of the services takes longer than most of them."""
_CREATING, _DELETING = "CreateDistributionTenant", "DeleteDistributionTenant"


class Estate:
    """An account, and what was done to it."""

    def __init__(self, clock: Clock) -> None:
        self.cloud = AwsCloud(clock, rates=UNLIMITED)
        self.distribution = self.cloud.cloudfront.add_distribution(DISTRIBUTION)
        self.zone = self.cloud.route53.add_zone("example.com")
        self.clock = clock
        self._sessions: list[AwsClients] = []

    def access(
        self, calls: Calls, leadership: Transport | None = None, registry: CollectorRegistry | None = None
    ) -> tuple[AwsAccess, CloudMetrics]:
        """Production's way to this account."""
        metrics = CloudMetrics(registry or CollectorRegistry())
        clients = AwsClients(
            AwsSettings(region="eu-west-1"), session=_session(), http_session_class=session_class(self.cloud)
        )
        transport = Transport(calls, self.clock, Budget(), metrics)
        return AwsAccess(transport, clients, self.clock), metrics

    # What the harness asks

    @property
    def writes(self) -> int:
        return sum(1 for entry in self.cloud.journal if entry.is_write and not entry.code)

    def state(self) -> JsonObject:
        cloudfront, records = self.cloud.cloudfront, self.zone.records
        return {
            "tenants": {
                tenant.name: {
                    "domains": sorted(tenant.domains),
                    "enabled": tenant.enabled,
                    "parameters": dict(tenant.parameters),
                }
                for tenant in cloudfront.tenants.values()
            },
            "records": sorted(f"{record.type} {record.name}" for record in records.values()),
        }

    def tally(self) -> Mapping[str, tuple[int, int]]:
        created, deleted = Counter[str](), Counter[str]()
        names: dict[str, str] = {}
        for entry in self.cloud.journal:
            if entry.operation == _CREATING and not entry.code:
                created[entry.params["Name"]] += 1
        return {name: (count, deleted[names.get(name, name)]) for name, count in created.items()}

    def repeated(self) -> Sequence[str]:
        return []

    def owners(self) -> Mapping[str, tuple[str, str]]:
        return {
            tenant.name: (tenant.tags.get(f"{TAG_PREFIX}uid", ""), "tenant")
            for tenant in self.cloud.cloudfront.tenants.values()
            if f"{TAG_PREFIX}uid" in tenant.tags
        }


def _session() -> AioSession:
    session = static_session(ACCOUNT, SECRET)
    session.register_component("data_loader", _LOADER)
    return session
