"""An account in words that do not differ from run to run: names instead of ids, no times, no ETags."""

from __future__ import annotations

from collections.abc import Collection

from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX
from kubesim.aws.acm.certificate import Certificate
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.route53.records import Record
from kubesim.aws.route53.state import Zone

_UID = f"{TAG_PREFIX}uid"
_BORN = ("NS", "SOA")
"""What every zone has."""


def state_of(cloud: AwsCloud, zones: Collection[Zone]) -> JsonObject:
    """Everything that an operator may have brought about."""
    cloud.account().certificates().settle()
    painter = _Painter(cloud)
    certificates = cloud.account().certificates().shelf.values()
    return {
        "tenants": {one.name: painter.tenant(one) for one in cloud.cloudfront.tenants.values()},
        "records": sorted(
            f"{zone.name} {painter.record(record)}"
            for zone in zones
            for record in zone.records.values()
            if record.type not in _BORN
        ),
        "certificates": sorted(painter.certificate(one) for one in certificates),
    }


class _Painter:
    """Puts ids into words."""

    def __init__(self, cloud: AwsCloud) -> None:
        self._cloudfront = cloud.cloudfront
        self._certificates = {one.arn: one for one in cloud.account().certificates().shelf.values()}
        groups = list(cloud.cloudfront.groups.values())
        self._groups = {one.id: "default" if one.is_default else one.name for one in groups}
        self._endpoints = {one.endpoint: self._groups[one.id] for one in groups}

    def tenant(self, tenant: Tenant) -> JsonObject:
        return {
            "distribution": tenant.distribution,
            "domains": {domain: domain in self._active(tenant) for domain in sorted(tenant.domains)},
            "enabled": tenant.enabled,
            "status": self._cloudfront.status(tenant),
            "group": self._groups[tenant.group],
            "parameters": dict(sorted(tenant.parameters)),
            "customizations": {**tenant.customizations, "Certificate": self._named(tenant.certificate)},
            "managed certificate": self._named(tenant.managed_certificate),
            "tags": {key: value for key, value in sorted(tenant.tags.items()) if key != _UID},
        }

    def record(self, record: Record) -> str:
        target = (record.alias.name if record.alias else record.values[0]).rstrip(".")
        return f"{record.type} {record.name} {record.ttl} {self._endpoints.get(target, target)}"

    def certificate(self, certificate: Certificate) -> str:
        return f"{', '.join(certificate.names)}: {certificate.status}"

    def _named(self, arn: str | None) -> str:
        if not arn:
            return ""
        return self.certificate(self._certificates[arn]) if arn in self._certificates else arn

    def _active(self, tenant: Tenant) -> frozenset[str]:
        return self._cloudfront.active_domains(tenant)
