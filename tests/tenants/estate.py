"""The company's edge as the operator finds it: a simulated AWS account with a distribution, a zone and a certificate."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiobotocore.credentials import AioCredentials
from aiobotocore.session import AioSession
from botocore.loaders import Loader
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX
from kubesim.aws.cloud import ACCOUNT, AwsCloud
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.route53.records import Record
from kubesim.aws.route53.state import Zone
from kubesim.aws.session import session_class
from kubesim.aws.settings import UNLIMITED
from tests.tenants.chronicle import Chronicle
from tests.tenants.portrait import state_of

DISTRIBUTION = "E1XNX8R2GOAABC"
SECRET = "c4n4ry-0f-th3-3dg3"
"""The secret key of the operator. It must never be seen anywhere."""
NEIGHBOUR = "444455556666"
"""An account whose zones the operator may have a role for."""
_UID = f"{TAG_PREFIX}uid"
_LEADING = ("CNAME", "A", "AAAA")

_LOADER = Loader()
"""Shared by all tests: reading the models of the services takes longer than most of them."""


class Estate:
    """An account, and what was done to it."""

    def __init__(self, clock: Clock) -> None:
        self.cloud = AwsCloud(clock, rates=UNLIMITED)
        self.chronicle = Chronicle(self.cloud, self._zones)
        self.cloud.journal = self.chronicle
        self.distribution = self.cloud.cloudfront.add_distribution(DISTRIBUTION)
        self.zone = self.cloud.route53.add_zone("example.com")
        self.clock = clock
        self.has_credentials = True
        """Whether the operator finds any, when it looks for them."""
        self._access_key = ACCOUNT

    def restrict(self, *actions: str) -> None:
        """Allow the operator these actions and nothing else, from its next start on."""
        self.govern({"Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]})

    def govern(self, policy: JsonObject) -> None:
        """Allow the operator what a policy says and nothing else, from its next start on."""
        self._access_key = self.cloud.world.identities.add_user(policies=[policy]).access_key

    def access(
        self, calls: Calls, leadership: Transport | None = None, registry: CollectorRegistry | None = None
    ) -> tuple[AwsAccess, CloudMetrics]:
        """Production's way to this account."""
        metrics = CloudMetrics(registry or CollectorRegistry())
        transport = Transport(calls, self.clock, Budget(), metrics)
        return AwsAccess(transport, self.clients(), self.clock), metrics

    def clients(self) -> AwsClients:
        """Clients with the operator's credentials."""
        return AwsClients(
            AwsSettings(region="eu-west-1"),
            session=self._session(),
            http_session_class=session_class(self.cloud),
        )

    # What happens behind the operator's back

    def make_tenant(self, name: str, *domains: str, **details: Any) -> Tenant:
        """Somebody has made a tenant by hand, a while ago."""
        cloudfront, now = self.cloud.cloudfront, self.cloud.time.now()
        id_ = "dt_" + self.cloud.world.ids.mixed(27)
        arn = f"arn:aws:cloudfront::{ACCOUNT}:distribution-tenant/{id_}"
        group = cloudfront.default_group().id
        blank = Tenant(id_, name, arn, DISTRIBUTION, domains, group, "", now, now, 0.0)
        kept = replace(cloudfront.keep_tenant(replace(blank, **details)), deployed_at=0.0)
        cloudfront.tenants.put(id_, kept)
        return kept

    def make_record(self, name: str, target: str) -> None:
        """Somebody has a record of their own."""
        self.cloud.route53.put_record(self.zone, Record(f"{name}.", "CNAME", 300, (target,)))

    def lose_tenant(self, name: str) -> None:
        """Somebody deletes a tenant. That its names lead nowhere then is not the operator's doing."""
        self.cloud.cloudfront.remove_tenant(name)
        self.chronicle.excuse()

    def lose_record(self, name: str, kind: str = "CNAME") -> None:
        """Somebody deletes a record."""
        self.cloud.route53.remove_record(self.zone, name, kind)
        self.chronicle.excuse()

    # What the harness asks

    @property
    def writes(self) -> int:
        return self.chronicle.writes

    def state(self) -> JsonObject:
        return state_of(self.cloud, self._zones())

    def tally(self) -> Mapping[str, tuple[int, int]]:
        return self.chronicle.tally

    def repeated(self) -> Sequence[str]:
        return self.chronicle.repeated

    def owners(self) -> Mapping[str, tuple[str, str]]:
        """Tenants by their mark; records by the tenant that they lead to."""
        tenants = list(self.cloud.cloudfront.tenants.values())
        marks = {one.id: one.tags[_UID] for one in tenants if _UID in one.tags}
        found = {f"tenant {one.id}": (marks[one.id], "tenant") for one in tenants if one.id in marks}
        for kind, name in self.records():
            holder = self.cloud.world.edge_domains.get(name)
            if holder is not None and holder.id in marks:
                found[f"{kind} {name}"] = (marks[holder.id], f"{kind} {name}")
        return found

    def records(self) -> Iterator[tuple[str, str]]:
        """Type and name of what leads to CloudFront."""
        endpoints = {f"{group.endpoint}." for group in self.cloud.cloudfront.groups.values()}
        for zone in self._zones():
            for record in zone.records.values():
                if record.type in _LEADING and zone.target(record.name) in endpoints:
                    yield record.type, record.name.rstrip(".")

    def zone_of(self, zone_id: str) -> Zone:
        return next(zone for zone in self._zones() if zone.id == zone_id)

    def _session(self) -> AioSession:
        session = AioSession()
        session.register_component("credential_provider", _Purse(self, self._access_key))
        session.register_component("data_loader", _LOADER)
        return session

    def _zones(self) -> Collection[Zone]:
        accounts = (self.cloud.account(number) for number in (ACCOUNT, NEIGHBOUR))
        return [zone for account in accounts for zone in account.route53.zones.values()]


class _Purse:
    """Where the operator's credentials are, if there are any."""

    def __init__(self, estate: Estate, access_key: str) -> None:
        self._estate = estate
        self._access_key = access_key

    async def load_credentials(self) -> AioCredentials | None:
        return AioCredentials(self._access_key, SECRET) if self._estate.has_credentials else None
