"""What a tenant that says it is Ready must have, worked out without any code of the controller.

Checked at every write of a status. A status that speaks of an older spec, or that says itself that the tenant has
drifted, claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.aws.cloudfront.resources import DEPLOYED, Tenant
from kubesim.aws.route53.state import Zone
from tests.tenants.estate import Estate


def lies(obj: JsonObject, estate: Estate) -> str:
    """What a tenant that says it is Ready does not have."""
    if not _claims_the_present(obj) or dig(obj, "status", "driftDetected"):
        return ""
    found = estate.cloud.cloudfront.tenants.get(str(dig(obj, "status", "id")))
    if found is None:
        return "Ready, but there is no tenant"
    wrong = [*_settings(obj, found), *_tags(obj, found), *_records(obj, found, estate)]
    if estate.cloud.cloudfront.status(found) != DEPLOYED:
        wrong.append("it is not deployed")
    return f"Ready, but {'; '.join(wrong)}" if wrong else ""


def _claims_the_present(obj: JsonObject) -> bool:
    ready = [one for one in dig_list(obj, "status", "conditions") if one["type"] == "Ready"]
    return any(one.get("observedGeneration") == obj["metadata"]["generation"] for one in ready)


def _settings(obj: JsonObject, tenant: Tenant) -> Iterator[str]:
    for what, (wanted, found) in _compared(obj["spec"], tenant).items():
        if wanted != found:
            yield f"{what} is {found}, not {wanted}"


def _compared(spec: JsonObject, tenant: Tenant) -> dict[str, tuple[Any, Any]]:
    custom, real = dig_object(spec, "customizations"), tenant.customizations
    compared: dict[str, tuple[Any, Any]] = {
        "distribution": (spec["distributionId"], tenant.distribution),
        "domains": (sorted(map(_plain, domains_of(spec))), sorted(tenant.domains)),
        "enabled": (spec.get("enabled", True), tenant.enabled),
        "parameters": (
            {one["name"]: one["value"] for one in dig_list(spec, "parameters")},
            dict(tenant.parameters),
        ),
        "web ACL": (_acl(custom.get("webAcl"), "action", "arn"), _acl(real.get("WebAcl"), "Action", "Arn")),
        "geo restrictions": (
            _geo(custom.get("geoRestrictions"), "restrictionType", "locations"),
            _geo(real.get("GeoRestrictions"), "RestrictionType", "Locations"),
        ),
    }
    if spec.get("connectionGroupId"):
        compared["connection group"] = (spec["connectionGroupId"], tenant.group)
    if "certificate" in custom or "managedCertificateRequest" not in spec:
        compared["certificate"] = (dig(custom, "certificate", "arn"), tenant.certificate)
    return compared


def _acl(shape: JsonObject | None, action: str, arn: str) -> tuple[str, str] | None:
    return (shape[action], shape.get(arn) or "") if shape else None


def _geo(shape: JsonObject | None, kind: str, locations: str) -> tuple[str, list[str]] | None:
    if not shape or shape[kind] == "none":
        return None
    return shape[kind], sorted(shape.get(locations) or ())


def _tags(obj: JsonObject, tenant: Tenant) -> Iterator[str]:
    if not dig(obj, "status", "tagsFingerprint"):
        return  # it does not claim to have given it any
    wanted = {tag["key"]: tag.get("value", "") for tag in dig_list(obj, "spec", "tags")}
    wanted["edgekeeper.io/uid"] = obj["metadata"]["uid"]
    for key, value in wanted.items():
        if tenant.tags.get(key) != value:
            yield f"tag {key} is {tenant.tags.get(key)}, not {value}"


def _records(obj: JsonObject, tenant: Tenant, estate: Estate) -> Iterator[str]:
    dns = dig(obj, "spec", "dns")
    if dns is None:
        return
    zone = estate.zone_of(dns["hostedZoneId"])
    endpoint = estate.cloud.cloudfront.groups[tenant.group].endpoint
    for domain in map(_plain, domains_of(obj["spec"])):
        yield from _record(zone, domain, f"{endpoint}.", dns.get("ttl", 300))


def _record(zone: Zone, domain: str, endpoint: str, ttl: int) -> Iterator[str]:
    if zone.target(f"{domain}.") != endpoint:
        yield f"{domain} leads to {zone.target(f'{domain}.')}, not {endpoint}"
    for record in zone.at(f"{domain}."):
        if record.type == "CNAME" and record.ttl != ttl:
            yield f"{domain} is remembered for {record.ttl} s, not {ttl}"


def domains_of(spec: JsonObject) -> list[str]:
    return [item["domain"] for item in spec["domains"]]


def _plain(name: str) -> str:
    return name.lower().rstrip(".")
