"""Specs, tenants and snapshots for tables of cases: complete ones, in which a case names what is different."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any

import msgspec

from edgekeeper.api.cloudfront import (
    DistributionTenantSpec,
    DistributionTenantStatus,
    DnsChange,
    InventoryRecord,
)
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.dns.records import Record, RecordKey
from edgekeeper.cloud.aws.dns.state import RecordState, ZoneView
from edgekeeper.cloud.aws.tenants import Customizations, DistributionTenant, TenantDomain
from edgekeeper.controllers.cloudfront.desired import tags_fingerprint
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.drift import Policy
from edgekeeper.core.ownership import Owner

NAME = "test-tenant"
OWNER = Owner("test-cluster", "default", NAME, "1111-2222")
ENDPOINT = "d111111abcdef8.cloudfront.net"
ZONE = "Z1"
DNS: Mapping[str, object] = {"provider": "route53", "hostedZoneId": ZONE}
MANAGED: Mapping[str, object] = {
    "validationTokenHost": "cloudfront",
    "primaryDomainName": "shop.example.com",
}
PENDING_CHANGES = (DnsChange(ZONE, "C1"),)
CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/own"
ISSUED_CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/managed"

GROUP = ConnectionGroup("cg_1", "arn:group", "default", ENDPOINT, "E1", True, True, "Deployed")
DISTRIBUTION = Distribution(
    "E1",
    "arn:distribution",
    "E0",
    "Deployed",
    "d0.cloudfront.net",
    "tenant-only",
    "arn:certificate",
    False,
    (),
)


def spec(*domains: str, **fields: Any) -> DistributionTenantSpec:
    """A spec as JSON would give it, with these domains."""
    named = [{"domain": domain} for domain in domains or ("shop.example.com",)]
    return msgspec.convert({"distributionId": "E1", "domains": named, **fields}, DistributionTenantSpec)


def live(*domains: str, **fields: Any) -> DistributionTenant:
    """A tenant that is deployed, with these domains active."""
    tenant = DistributionTenant(
        id="dt_1",
        arn="arn:aws:cloudfront::111122223333:distribution-tenant/dt_1",
        name=NAME,
        distribution_id="E1",
        domains=tuple(TenantDomain(domain, "active") for domain in domains or ("shop.example.com",)),
        etag="E1",
        enabled=True,
        status="Deployed",
        connection_group_id="cg_1",
        customizations=Customizations(),
        created=None,
        modified=None,
        parameters={},
        tags=OWNER.tags(),
    )
    return replace(tenant, **fields)


def status(**fields: Any) -> DistributionTenantStatus:
    """The status of an object that was carried out."""
    known: dict[str, Any] = {
        "observed_generation": 1,
        "id": "dt_1",
        "e_tag": "E1",
        "tags_fingerprint": tags_fingerprint(spec(), OWNER),
    }
    return DistributionTenantStatus(**{**known, **fields})


def record(name: str = "shop.example.com", **fields: Any) -> InventoryRecord:
    """A record in the inventory."""
    known: dict[str, Any] = {"zone": ZONE, "name": name, "type": "CNAME", "target": ENDPOINT, "ttl": 300}
    return InventoryRecord(**{**known, **fields})


def zone(*names: str, target: str = ENDPOINT, ttl: int = 300) -> ZoneView:
    """A zone in which these names lead to a target."""
    records = (Record(name, "CNAME", ttl, (target,)) for name in names)
    return ZoneView("example.com", {RecordKey(one.name, one.type): one for one in records})


RECORD_FIELDS = {field.name for field in dataclass_fields(RecordState)}


def altered(snapshot: Snapshot, **fields: Any) -> Snapshot:
    """A snapshot with other fields; those of its records are named as if they were its own."""
    records = {name: fields.pop(name) for name in RECORD_FIELDS & fields.keys()}
    return replace(snapshot, **fields, records=replace(snapshot.records, **records))


def absent(**fields: Any) -> Snapshot:
    """An object for which nothing was created yet."""
    fresh = Snapshot(
        owner=OWNER,
        tenant_name=NAME,
        generation=1,
        spec=spec(),
        status=DistributionTenantStatus(),
        policy=Policy.ENFORCE,
        distribution=DISTRIBUTION,
        distribution_known=True,
        group=GROUP,
    )
    return altered(fresh, **fields)


def present(**fields: Any) -> Snapshot:
    """An object whose tenant is as it should be."""
    return absent(**{"status": status(), "tenant": live(), **fields})
