"""Observe one APIGatewayDomain: its API, its certificate, the domain name with its mappings, and its records.

The domain name and its mappings are read in every pass, since API Gateway has no ETags. Certificates and hosted zones are
looked up once for all objects that ask within a minute. For a spec that is refused nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN, ApiRef, read_domain
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.acm import Certificate
from edgekeeper.cloud.aws.apigateway import ApiGateway
from edgekeeper.cloud.aws.dns.entries import places_for
from edgekeeper.cloud.aws.dns.state import RecordState
from edgekeeper.controllers.bridge import ack
from edgekeeper.controllers.bridge.cluster import ApiTarget, Cluster, known_region
from edgekeeper.controllers.bridge.domains.children import KINDS, child_name, child_of
from edgekeeper.controllers.bridge.domains.records import inventory_of, names_of
from edgekeeper.controllers.bridge.domains.snapshot import CERTIFICATE, Snapshot
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import PassError, Stall, Wait
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.guards import Limits
from edgekeeper.lifecycle.kind import Wake
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.lifecycle.objects import KindObject
from edgekeeper.lifecycle.records import ObjectRecords
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.references import Reference

KIND = kind_of(API_GATEWAY_DOMAIN)


@dataclass(frozen=True)
class Base:
    """What observations of a pass start from."""

    subject: KindObject
    snapshot: Snapshot


@dataclass(frozen=True)
class Observer:
    """Builds the snapshot of one object."""

    account: AwsAccount
    cluster: Cluster
    claims: Claims
    memory: Memory
    limits: Limits
    owner_of: Callable[[JsonObject], Owner]
    """An object as the owner of something in AWS."""
    drift_policy: Policy
    mode: str
    """`ack`, `direct` or `auto`."""

    def begin(self, request: Request, wake: Wake) -> Base:
        obj, wishes = request.object, Wishes.of(request.object)
        spec, status = read_domain(obj)
        owner = self.owner_of(obj)
        subject = KindObject(KIND, request.key, obj)
        zone = spec.dns_config.hosted_zone_id or status.hosted_zone_id
        places = places_for(zone, [spec.domain]) if zone else ()
        snapshot = Snapshot(
            owner=owner,
            generation=request.generation,
            spec=spec,
            status=status,
            policy=wishes.drift_policy or self.drift_policy,
            may_adopt=wishes.adopt or spec.adopt_existing,
            may_correct=self.memory.corrections.may_correct_now(owner.uid),
            deleting=request.deleting,
            refusals=tuple(self._refusals(owner.namespace, spec.domain, zone)),
            records=self._records.collect(
                subject, inventory_of(spec, status), status.dns_changes, places, wake, may_assume=True
            ),
        )
        snapshot = self._with_api(snapshot, request.key.namespace)
        region = known_region(status.region) or (snapshot.api.region if snapshot.api else "")
        snapshot = replace(snapshot, region=region or self.account.access.clients.region)
        return Base(subject, self._with_children(snapshot))

    async def observe(self, base: Base) -> Snapshot:
        snapshot = base.snapshot
        if not snapshot.deleting:
            snapshot = replace(snapshot, rivals=await self.claims.rivals(base.subject))
            if snapshot.is_refused:
                return snapshot
        gateway = self.gateway(snapshot.region)
        domain = await gateway.find_domain(snapshot.name) if snapshot.name else None
        mappings = await gateway.mappings(snapshot.name) if domain is not None else ()
        snapshot = replace(snapshot, domain=domain, mappings=mappings)
        snapshot = replace(snapshot, requested=await self._requested(snapshot))
        snapshot = replace(snapshot, inherits_certificate=await self._inherits_certificate(snapshot))
        if not snapshot.deleting:
            snapshot = await self._with_certificate(snapshot)
        return await self._with_zone(snapshot, base.subject)

    def gateway(self, region: str) -> ApiGateway:
        return ApiGateway(self.account.access.caller(region=region))

    def obstacle(self, snapshot: Snapshot) -> PassError | None:
        """The outage that keeps us from seeing whether records have propagated; None if there is none."""
        problem = self.account.dns.obstacle(snapshot.records.changes)
        return problem if problem is not None and problem.unavailable is not None else None

    @property
    def _records(self) -> ObjectRecords:
        return ObjectRecords(self.account.dns, self.claims.records, self.limits)

    def _refusals(self, namespace: str, domain: str, zone: str) -> list[str]:
        found = [*self.limits.hostname_policy.refusals("spec.domain", namespace, [domain])]
        return [*found, *(self.limits.zone_refusals("spec.dnsConfig.hostedZoneId", zone) if zone else ())]

    # The API and the children

    def _with_api(self, snapshot: Snapshot, namespace: str) -> Snapshot:
        if snapshot.deleting:
            return snapshot
        try:
            return replace(snapshot, api=self._api(snapshot.spec.api_ref, namespace))
        except (Wait, Stall) as problem:
            return replace(snapshot, problem=problem)

    def _api(self, ref: ApiRef, namespace: str) -> ApiTarget:
        if ref.api_id:
            return ApiTarget(ref.api_id)
        reference = Reference(KIND, namespace, ack.API, ref.name or "", ref.namespace or "")
        return self.cluster.api(self.cluster.granted(reference))

    def _with_children(self, snapshot: Snapshot) -> Snapshot:
        is_served = self.cluster.is_served(ack.DOMAIN_NAME, snapshot.owner.namespace)
        if self.mode == "direct" or (self.mode == "auto" and not is_served):
            return snapshot
        key = Key(snapshot.owner.namespace, child_name(snapshot.name))
        found = {name: self.cluster.look(kind, key) for name, kind in KINDS.items()}
        uid = snapshot.owner.uid
        return replace(snapshot, children={name: child_of(obj, uid) for name, obj in found.items()})

    # Certificates

    async def _requested(self, snapshot: Snapshot) -> Certificate | None:
        """The certificate that was requested for the object: known from the status, from ACK, or found by its tags."""
        certificates, region = self.account.certificates, snapshot.region
        child = snapshot.child(CERTIFICATE)
        arn = ack.metadata(child.tree, "arn") if child else snapshot.status.requested_certificate_arn
        if not arn and snapshot.spec.certificate_strategy == "create" and snapshot.children is None:
            try:
                arn = await certificates.requested(region, snapshot.name, snapshot.owner)
            except Stall as refusal:
                self.account.rights.do_without("listing certificates", refusal)
        is_unwanted = snapshot.deleting or snapshot.spec.certificate_strategy != "create"
        found = await certificates.find(region, arn, live=is_unwanted) if arn else None
        if found is None or child is not None or not is_unwanted:
            return found
        # It is about to be deleted, and others may write the status: its tags must say that it is ours.
        is_ours = await certificates.whose(region, arn, snapshot.owner) is Ownership.MINE
        return found if is_ours else None

    async def _inherits_certificate(self, snapshot: Snapshot) -> bool:
        """Does the certificate have the tags of a lost cluster? Asked until the domain name is marked as ours."""
        requested, owner = snapshot.requested, snapshot.owner
        if requested is None or not owner.lost_clusters or snapshot.is_managed or snapshot.deleting:
            return False
        if snapshot.children is not None:
            return False  # ACK tags what it has requested
        whose = await self.account.certificates.whose(snapshot.region, requested.arn, owner)
        return whose is Ownership.INHERITED

    async def _with_certificate(self, snapshot: Snapshot) -> Snapshot:
        spec, certificates = snapshot.spec, self.account.certificates
        if spec.certificate_strategy == "create":
            found = snapshot.requested
        elif spec.certificate_strategy == "use-arn":
            arn = spec.certificate_arn or ""
            is_here = arn.split(":")[3:4] == [snapshot.region]
            found = await certificates.find(snapshot.region, arn) if is_here else None
        else:
            found = await self._discovered(snapshot)
        return replace(
            snapshot, certificate=found, is_valid=found is not None and certificates.is_valid(found)
        )

    async def _discovered(self, snapshot: Snapshot) -> Certificate | None:
        """The certificate in use as long as it is good, so that a newer one changes nothing; else the best one."""
        certificates, region = self.account.certificates, snapshot.region
        present = (
            snapshot.domain.settings.certificate_arn if snapshot.domain else snapshot.status.certificate_arn
        )
        requested = snapshot.requested.arn if snapshot.requested else ""
        if present and present != requested:
            found = await certificates.find(region, present)
            if found is not None and certificates.is_valid(found) and found.covers([snapshot.name]):
                return found
        best = await certificates.discover(region, snapshot.name)
        return await certificates.find(region, best.arn) if best is not None else None

    # Records

    async def _with_zone(self, snapshot: Snapshot, subject: KindObject) -> Snapshot:
        """Add the hosted zone and its records. A deletion needs them only to tell what stays."""
        records = await self._without_others(snapshot, subject)
        dns = snapshot.spec.dns_config
        if snapshot.deleting or not dns.enabled:
            return replace(snapshot, records=records, zone_id=snapshot.status.hosted_zone_id)
        try:
            zone = dns.hosted_zone_id or await self._zone_of(snapshot)
        except Stall as problem:
            return replace(snapshot, records=records, zone_problem=problem)
        if not dns.hosted_zone_id:
            refused = self.limits.zone_refusals("spec.dnsConfig.hostedZoneId", zone)
            snapshot = replace(snapshot, refusals=(*snapshot.refusals, *refused))
        snapshot = replace(snapshot, zone_id=zone)
        names = names_of(snapshot)
        recorded = self.claims.records.recorded(subject, places_for(zone, names))
        records = replace(records, recorded=recorded)
        try:
            return replace(snapshot, records=self.account.dns.with_view(records, zone, "", names))
        except PassError as problem:  # not listed yet, or not reachable: what comes before records goes on
            return replace(snapshot, records=records, zone_problem=problem)

    async def _without_others(self, snapshot: Snapshot, subject: KindObject) -> RecordState:
        """The records without those of other objects, and without removing those of domain names that others have."""

        async def is_served(name: str) -> bool:
            if snapshot.is_anothers:  # all our records belong to it, those that validate its certificate too
                return True
            if name == snapshot.name or name.startswith("_"):
                return False
            domain = await self.gateway(snapshot.region).find_domain(name)
            return domain is not None and is_mine(parse_tags(domain.tags), snapshot.owner) is Ownership.OTHERS

        served = {snapshot.name} if snapshot.exists and not snapshot.is_anothers else set[str]()
        return await self._records.without_others(subject, snapshot.records, served, is_served)

    async def _zone_of(self, snapshot: Snapshot) -> str:
        """The zone that is found by its name. Without the right to list zones, the one in the status stays in use."""
        try:
            return await self.account.dns.directory.zone_of(snapshot.name)
        except Stall as refusal:
            if refusal.error_type != "dns_access_denied" or not snapshot.status.hosted_zone_id:
                raise
            return snapshot.status.hosted_zone_id


def apis_of(obj: JsonObject) -> list[Key]:
    """The ACK APIs that an object refers to. Accepts any content."""
    name, namespace = (dig(obj, "spec", "apiRef", field) for field in ("name", "namespace"))
    own = dig(obj, "metadata", "namespace")
    return [Key(str(namespace or own), name)] if isinstance(name, str) else []


def children_of(obj: JsonObject) -> list[Key]:
    """The ACK objects of an object. Accepts any content."""
    domain, namespace = dig(obj, "spec", "domain"), dig(obj, "metadata", "namespace")
    return [Key(str(namespace), child_name(domain.lower().rstrip(".")))] if isinstance(domain, str) else []
