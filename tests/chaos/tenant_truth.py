"""Is it true what an object says? Worked out from cloud and cluster, without any code of the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.aws.acm.certificate import ISSUED
from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.route53.names import normal
from tests.chaos.tenant_estate import ChaosEstate
from tests.chaos.tenant_ledger import Ledger, Place, domains_of, places_of
from tests.chaos.tenant_operations import TenantWorld
from tests.chaos.tenant_wishes import is_hands_off, is_misspelt, is_paused
from tests.chaos.world import key_of
from tests.tenants.truth import lies


def condition(obj: JsonObject, type_: str) -> JsonObject:
    found = (one for one in dig_list(obj, "status", "conditions") if one["type"] == type_)
    return next(found, {})


class Truth:
    """What there is to know at one moment."""

    def __init__(self, world: TenantWorld, ledger: Ledger) -> None:
        self.ledger = ledger
        self._estate: ChaosEstate = world.outside
        self._cloudfront = world.outside.cloud.cloudfront
        self.objects = list(world.stage.objects())
        self._reasons: Mapping[str, Callable[[JsonObject], bool]] = {
            "ValidationFailed": self._is_invalid,
            "InvalidSpec": self._is_refused,
            "CertificateSANMismatch": self._is_uncovered,
            "DomainConflict": self._is_domain_taken,
            "NameConflict": self._is_name_taken,
            "DNSConflict": self._is_record_taken,
            "DNSError": self._is_zone_wrong,
            "DomainValidationPending": self._is_unvalidated,
            "ExternalDeletion": self._is_deleted,
        }

    # Verdicts

    def complaint(self, obj: JsonObject) -> str:
        """What is not true of what an object says about itself; empty where all is."""
        ready = condition(obj, "Ready")
        if is_misspelt(obj):
            return (
                ""
                if ready.get("reason") == "InvalidAnnotation"
                else f"says {_said(ready)}, its annotations are wrong"
            )
        if is_paused(obj):
            is_said = condition(obj, "Paused").get("status") == "True"
            return "" if is_said else "is paused and does not say so"
        if condition(obj, "Paused").get("status") == "True":
            return "says that it is paused, which it is not"
        if ready.get("status") == "True":
            return self._not_ready(obj)
        holds = self._reasons.get(str(ready.get("reason")))
        return "" if holds is not None and holds(obj) else f"says {_said(ready)}, which is not true"

    def is_waiting(self, obj: JsonObject) -> bool:
        """Does the object wait for a person?"""
        if is_misspelt(obj) or is_paused(obj):
            return True
        return condition(obj, "Ready").get("reason") in self._reasons

    def _not_ready(self, obj: JsonObject) -> str:
        """What an object that says it is Ready does not have."""
        zone = dig(obj, "spec", "dns", "hostedZoneId")
        if zone and self._estate.find_zone(zone) is None:
            return f"is Ready, and there is no zone {zone}"
        if dig(obj, "status", "driftDetected"):
            if not is_hands_off(obj):
                return "is Ready, says that it has drifted, and nobody corrects it"
            return (
                ""
                if lies({**obj, "status": {**obj["status"], "driftDetected": False}}, self._estate)
                else "has not drifted"
            )
        told = lies(obj, self._estate)
        tenant = self._cloudfront.tenants.get(str(dig(obj, "status", "id")))
        if tenant is not None and tenant.id in self._estate.tagged_by_hand:
            told = lies({**obj, "status": {**obj["status"], "tagsFingerprint": ""}}, self._estate)
        return told or self._certificate_complaint(obj, tenant)

    def _certificate_complaint(self, obj: JsonObject, tenant: Tenant | None) -> str:
        """Is a managed certificate said to be ready that is not, or never made though CloudFront has all it needs?"""
        request = dig_object(obj, "spec", "managedCertificateRequest")
        if tenant is None or not request:
            return ""
        said = condition(obj, "CertificateReady")
        is_active = self._cloudfront.active_domains(tenant) == set(tenant.domains)
        if said.get("status") == "True":
            return "" if is_active else "says that its certificate is ready, and a domain is not active"
        is_own = tenant.certificate and tenant.certificate != tenant.managed_certificate
        if is_own or not all(self._is_provable(domain, tenant, request) for domain in tenant.domains):
            return ""
        return f"never gets its certificate, though every domain proves itself: {_said(said)}"

    def _is_provable(self, domain: str, tenant: Tenant, request: JsonObject) -> bool:
        """Does a domain show CloudFront that it is ours?"""
        world = self._estate.cloud.world
        if request["validationTokenHost"] == "self-hosted":
            return domain in world.served_tokens
        return world.dns.leads_to(domain, self._cloudfront.groups[tenant.group].endpoint)

    # Things

    def own_tenant(self, obj: JsonObject) -> Tenant | None:
        """The tenant that an object may have, if it is there."""
        named = (one for one in self._cloudfront.tenants.values() if self.ledger.may_have(obj, one))
        return next(named, None)

    def holder(self, domain: str) -> str:
        """The id of what serves a domain at CloudFront."""
        owner = self._estate.cloud.world.edge_domains.get(domain)
        return owner.id if owner else ""

    def is_taken(self, domain: str, own: Tenant | None) -> bool:
        """Does something else than a tenant serve a domain, or another account the wildcard that stands for it?"""
        holders = self._estate.cloud.world.edge_domains
        holder, wildcard = holders.get(domain), holders.get(f"*.{domain.partition('.')[2]}")
        if holder is not None:
            return own is None or holder.id != own.id
        return wildcard is not None and wildcard.account != ACCOUNT

    def elders(self, obj: JsonObject) -> Iterator[JsonObject]:
        own = _age(obj)
        return (one for one in self.objects if one is not obj and _age(one) < own)

    def _zone(self, obj: JsonObject) -> Any:
        return self._estate.find_zone(str(dig(obj, "spec", "dns", "hostedZoneId") or ""))

    def _certificate(self, arn: str | None) -> Any:
        found = self._estate.cloud.account().certificates().shelf.get(arn or "")
        return found if found is not None and found.status == ISSUED else None

    # Reasons

    def _is_invalid(self, obj: JsonObject) -> bool:
        spec = obj["spec"]
        distribution = self._cloudfront.distributions.get(spec["distributionId"])
        if distribution is None:
            return True
        given = [one["name"] for one in dig_list(spec, "parameters")]
        required = [one.name for one in distribution.parameters if one.required and one.default is None]
        geo = dig_object(spec, "customizations", "geoRestrictions")
        keys = [one["key"] for one in dig_list(spec, "tags")]
        primary = dig(spec, "managedCertificateRequest", "primaryDomainName")
        role = dig(spec, "dns", "assumeRoleArn") or "arn:aws:iam::"
        return (
            any(name not in given for name in required)
            or any(name not in [one.name for one in distribution.parameters] for name in given)
            or len(set(given)) < len(given)
            or (geo.get("restrictionType", "none") != "none" and not geo.get("locations"))
            or "XX" in (geo.get("locations") or ())
            or len(set(keys)) < len(keys)
            or any(key.startswith("aws:") for key in keys)
            or (primary is not None and primary.lower() not in domains_of(obj))
            or any(" " in domain for domain in domains_of(obj))
            or len(set(domains_of(obj))) < len(domains_of(obj))
            or not role.startswith("arn:aws:iam::")
            or self._has_anothers_certificate(obj)
        )

    def _has_anothers_certificate(self, obj: JsonObject) -> bool:
        found = self._certificate(dig(obj, "spec", "customizations", "certificate", "arn"))
        return (
            found is not None
            and found.managed_by == "CLOUDFRONT"
            and not set(found.names) & set(domains_of(obj))
        )

    def _is_refused(self, obj: JsonObject) -> bool:
        """Would AWS refuse it?"""
        spec = obj["spec"]
        group, certificate = spec.get("connectionGroupId"), dig(spec, "customizations", "certificate", "arn")
        distribution = self._cloudfront.distributions.get(spec["distributionId"])
        defined = [one.name for one in distribution.parameters] if distribution else []
        return (
            bool(group and group not in self._cloudfront.groups)
            or bool(certificate and self._certificate(certificate) is None)
            or any(one["name"] not in defined for one in dig_list(spec, "parameters"))
            or self._is_uncovered(obj)
            or any(" " in domain or domain.count(".") < 1 for domain in domains_of(obj))
        )

    def _is_uncovered(self, obj: JsonObject) -> bool:
        spec = obj["spec"]
        own = dig(spec, "customizations", "certificate", "arn")
        distribution = self._cloudfront.distributions.get(spec["distributionId"])
        arns = [own] if own else [distribution.certificate if distribution else None]
        known = [one for one in map(self._certificate, arns) if one is not None]
        return any(not any(one.covers(domain) for one in known) for domain in domains_of(obj))

    def _is_domain_taken(self, obj: JsonObject) -> bool:
        own = self.own_tenant(obj)
        elders = {domain for elder in self.elders(obj) for domain in domains_of(elder)}
        if any(domain in elders or self.is_taken(domain, own) for domain in domains_of(obj)):
            return True
        found = self._named(obj)
        return found is not None and any(domain in elders for domain in found.domains)

    def _is_name_taken(self, obj: JsonObject) -> bool:
        found = self._named(obj)
        if found is not None and not self.ledger.may_have(obj, found):
            return True
        name = obj["metadata"]["name"]
        others = [one for one in self.objects if one is not obj and one["metadata"]["name"] == name]
        if found is None:
            return any(_age(one) < _age(obj) for one in others)
        return any(self.ledger.may_have(one, found) for one in others)

    def _named(self, obj: JsonObject) -> Tenant | None:
        return next(
            (one for one in self._cloudfront.tenants.values() if one.name == obj["metadata"]["name"]), None
        )

    def _is_record_taken(self, obj: JsonObject) -> bool:
        """Is there a record in the way that is not the object's own?"""
        zone = self._zone(obj)
        if zone is None:
            return False
        own = places_of(obj)
        for domain in domains_of(obj):
            for record in zone.at(normal(domain)):
                place = Place(zone.id, record.name.rstrip("."), record.type)
                if record.type in ("CNAME", "A", "AAAA") and (
                    place not in own or not self.ledger.is_ours(place)
                ):
                    return True
        return any(
            place.name in domains_of(obj) and place.zone == zone.id
            for one in self.objects
            if one is not obj
            for place in places_of(one)
        )

    def _is_zone_wrong(self, obj: JsonObject) -> bool:
        """Can the zone not be used, or not for these domains?"""
        dns, zone = dig_object(obj, "spec", "dns"), self._zone(obj)
        if any(self.is_out_of_reach(entry) for entry in dig_list(obj, "status", "inventory")):
            return True
        if not dns:
            return False
        role, words = dns.get("assumeRoleArn") or "", self._estate.words
        is_theirs = zone is not None and zone.id == words["$zone:theirs"]
        outside = zone is not None and any(
            not f".{domain}.".endswith(f".{zone.name}") for domain in domains_of(obj)
        )
        group = obj["spec"].get("connectionGroupId")
        return (
            zone is None
            or outside
            or role != (words["$role:dns"] if is_theirs else "")
            or bool(group and group not in self._cloudfront.groups)
        )

    def is_out_of_reach(self, entry: JsonObject) -> bool:
        """May nobody say whether a record of an inventory is there?"""
        return str(entry.get("role") or "") == self._estate.words["$role:none"]

    def _is_unvalidated(self, obj: JsonObject) -> bool:
        dns = self._estate.cloud.world.dns
        endpoints = {f"{group.endpoint}." for group in self._cloudfront.groups.values()}
        is_asked = dig(obj, "spec", "managedCertificateRequest", "validationTokenHost") == "cloudfront"
        return is_asked and any(endpoints.isdisjoint(dns.chain(domain)) for domain in domains_of(obj))

    def _is_deleted(self, obj: JsonObject) -> bool:
        return is_hands_off(obj) and self.own_tenant(obj) is None


def _said(ready: JsonObject) -> str:
    return f"{ready.get('reason', 'nothing')} ({ready.get('message', '')})"


def _age(obj: JsonObject) -> tuple[str, str]:
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["uid"]


def told(obj: JsonObject) -> str:
    return f"{key_of(obj)} {_said(condition(obj, 'Ready'))}"
