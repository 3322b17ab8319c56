"""Gather: everything that a decision depends on, at the price of hardly any call.

    base = observer.begin(request, wake)          what the cluster and our own writers know, without a call
    view = await observer.look(base)              from mirrors and caches
    view = await observer.look(base, live=True)   the same, with the tenant read anew

Mirrors and caches answer nearly all of it. Read live is what they cannot know: a tenant whose ETag is not the one in
the status (its parameters and tags are in no listing), and a certificate whose ARN we have not learned yet. For a spec
that will be refused nothing is read but what its leftovers need.

A live look starts from the same base and derives everything anew: nothing that an older view has concluded from a
status, which others may write, is carried over into the view on which a change is based.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from edgekeeper.api.cloudfront import DistributionTenantSpec, InventoryRecord, read_tenant
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.meanings import DNS_ERROR, DOMAIN_CONFLICT
from edgekeeper.cloud.aws.mirrors import default_group
from edgekeeper.cloud.aws.records import RecordKey, normalise_name
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.tenants import DistributionTenant, ManagedCertificate, TenantSummary
from edgekeeper.cloud.aws.zone import Zone
from edgekeeper.cloud.mirror import NotSyncedError
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.claims import BY_NAME, Claims, Contest
from edgekeeper.controllers.cloudfront.decide import FAILED, ISSUED, certificate_to_attach, is_ours
from edgekeeper.controllers.cloudfront.desired import bare_zone, is_managed, tags_fingerprint
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.inventory import inventory_of
from edgekeeper.controllers.cloudfront.snapshot import DnsWork, Rival, Snapshot, ZoneView
from edgekeeper.controllers.cloudfront.validation import inventory_problems, spec_problems
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.conditions import READY
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.log import get_logger
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import Request

log = get_logger(__name__)

_TYPES = ("CNAME", "A", "AAAA")


@dataclass(frozen=True)
class Base:
    """What a look starts from."""

    request: Request
    snapshot: Snapshot
    """What the cluster knows by itself, and what the writers of zones have answered."""


@dataclass(frozen=True)
class Observer:
    """Looks at one object and at what AWS has for it."""

    account: Account
    claims: Claims
    guards: Guards
    cluster: str
    """The id that marks what we create as this cluster's."""
    drift_policy: Policy = Policy.ENFORCE

    def begin(self, request: Request, wake: Callable[[], None]) -> Base:
        """What is known without a call. `wake` is called when what was pending is not any more."""
        return Base(request, self._with_records(self._of_cluster(request), wake))

    async def look(self, base: Base, *, live: bool = False) -> Snapshot:
        """Everything that is to be known about the object; if `live`, with the tenant as it is at this moment."""
        request = base.request
        snapshot = replace(base.snapshot, rivals=await self._rivals(request))
        if not snapshot.deleting and self._is_refused(snapshot) and not snapshot.inventory:
            return snapshot
        snapshot = await self._with_tenant(snapshot, live=live)
        if not snapshot.deleting:
            attached = self.account.listed_certificate(snapshot.spec.own_certificate)
            snapshot = replace(
                snapshot,
                certificate=await self._certificate(snapshot),
                attached_is_managed=attached is not None,
            )
        snapshot = await self._with_details(snapshot)
        snapshot = replace(snapshot, losses=tuple(self._losses(request, snapshot)))
        snapshot = await self._without_others(request, snapshot)
        if snapshot.deleting:
            return replace(snapshot, zone=self._zone_if_known(snapshot))
        if self._is_refused(snapshot):
            return snapshot
        distribution, known = await self._distribution(snapshot.spec)
        group, group_known = await self._group(snapshot.spec, snapshot.tenant)
        return replace(
            snapshot,
            taken=self._taken(snapshot),
            distribution=distribution,
            distribution_known=known,
            certificate_is_anothers=self._is_managed_for_another(snapshot),
            certificate_names=await self._names(snapshot, distribution),
            group=group,
            group_known=group_known,
            zone=self._zone(snapshot.spec),
        )

    def _of_cluster(self, request: Request) -> Snapshot:
        """What the cluster knows by itself."""
        obj, wishes = read_tenant(request.object), Wishes.of(request.object)
        owner = Owner.of(request.object, self.cluster)
        return Snapshot(
            owner=owner,
            tenant_name=self.claims.tenant_name(request.object),
            generation=request.generation,
            spec=obj.spec,
            status=obj.status,
            policy=wishes.drift_policy or self.drift_policy,
            may_adopt=wishes.adopt,
            may_tag="tagging" not in self.account.rights.denied,
            may_correct=self.account.corrections.may_follow(owner.uid),
            deleting=request.deleting,
            is_contested=_is_contested(request),
            recorded=self.claims.recorded(request, _places(obj.spec)),
            refusals=tuple(self.guards.refusals(owner.namespace, obj.spec)),
            inventory=inventory_of(obj.spec, obj.status),
        )

    def _is_refused(self, snapshot: Snapshot) -> bool:
        return bool(
            snapshot.rivals or snapshot.refusals or spec_problems(snapshot.tenant_name, snapshot.spec)
        )

    # Claims

    async def _rivals(self, request: Request) -> tuple[Rival, ...]:
        """Other objects that have the better right to what this one claims: the one whose tenant has it, or elders."""
        rivals: list[Rival] = []
        for contest in self.claims.contests(request):
            eldest, holder = contest.claimants[0][0], await self._holder(contest)
            if (holder or eldest) != request.key:
                holds = holder is not None
                rivals.append(Rival(contest.claim, contest.value, str(holder or eldest), holds=holds))
        return tuple(rivals)

    async def _holder(self, contest: Contest) -> Key | None:
        """The object among the claimants whose tenant provably has the name or serves the domain."""
        tenants = self.account.tenants
        if contest.claim == "name":
            found = await tenants.find_by_name(contest.value)
        else:
            found = tenants.holder_of(contest.value)
        details = await tenants.details(found.id) if found is not None else None
        if details is None:
            return None
        return next((key for key, obj in contest.claimants if self._is_proven(obj, details)), None)

    def _is_proven(self, obj: JsonObject, tenant: DistributionTenant) -> bool:
        """Does the tenant bear the mark of the object, or without any mark, is it the one that its status knows?

        Others may have written that status: of several objects of which it is true, the eldest counts.
        """
        mark = parse_tags(tenant.tags)
        if mark is not None:
            return is_mine(mark, Owner.of(obj, self.cluster)) is Ownership.MINE
        return dig(obj, "status", "id") == tenant.id and self.claims.tenant_name(obj) == tenant.name

    # The tenant

    async def _with_tenant(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        """The tenant that the status names, if it can be ours; else the one that has our name."""
        tenants, known, name = self.account.tenants, snapshot.status.id, snapshot.tenant_name
        if live or tenants.is_blind:
            by_id = await tenants.read(known) if known else None
            found = by_id if await self._can_be_ours(snapshot, by_id) else await tenants.read(name)
            return replace(snapshot, tenant=found, is_live=True)
        summary = tenants.get(known) if known else None
        if not await self._can_be_ours(snapshot, summary):
            summary = tenants.get_by_name(name)
        return replace(snapshot, tenant=summary)

    async def _can_be_ours(self, snapshot: Snapshot, found: TenantSummary | None) -> bool:
        """By its name. One of another name was made when names were made otherwise, if its mark says that it is ours."""
        if found is None or found.name == snapshot.tenant_name:
            return found is not None
        details = (
            found if isinstance(found, DistributionTenant) else await self.account.tenants.details(found.id)
        )
        is_marked = (
            details is not None and is_mine(parse_tags(details.tags), snapshot.owner) is Ownership.MINE
        )
        return is_marked and not self.claims.holders(BY_NAME, found.name)

    async def _with_details(self, snapshot: Snapshot) -> Snapshot:
        summary, tenants = snapshot.tenant, self.account.tenants
        if summary is None or snapshot.is_live or not self._needs_details(snapshot, summary):
            return snapshot
        is_live = tenants.recall(summary.id) is None
        return replace(snapshot, tenant=await tenants.details(summary.id), is_live=is_live)

    def _needs_details(self, snapshot: Snapshot, summary: TenantSummary) -> bool:
        """Could parameters or tags, which no listing tells, be other than we left them?"""
        status = snapshot.status
        if snapshot.deleting or self.account.tenants.is_doubted(summary.id):
            return True  # a status alone, which others may write, is no reason to delete anything
        if status.id != summary.id or summary.name != snapshot.tenant_name:
            return True
        if status.tags_fingerprint != tags_fingerprint(snapshot.spec, snapshot.owner) and snapshot.may_tag:
            return True  # a status that was copied from another object has its fingerprint, too
        if certificate_to_attach(snapshot):
            return False  # it is what has moved the ETag; with the spec changed we shall look again
        return status.e_tag != summary.etag or status.observed_generation != snapshot.generation

    def _losses(self, request: Request, snapshot: Snapshot) -> Iterator[str]:
        """What others would lose to us with a tenant that does not bear our mark: the names that it serves.

        Of a tenant that the status knows they are ours to give up, but for what administrators have ruled out.
        """
        details, namespace = snapshot.details, snapshot.owner.namespace
        if details is None or is_mine(parse_tags(details.tags), snapshot.owner) in (
            Ownership.MINE,
            Ownership.OTHERS,
        ):
            return
        names = [normalise_name(one.domain) for one in details.domains]
        is_known = snapshot.status.id == details.id
        if snapshot.may_tag or not is_known:
            for name in self.guards.foreign(namespace, names):
                yield f"it serves {name}, which --hostname-policy does not give to namespace {namespace}"
        for rival in () if is_known else self.claims.claimants(request, names):
            yield f"it serves {rival.value}, which is claimed by {rival.holder}, which is older"

    # The certificate

    async def _certificate(self, snapshot: Snapshot) -> ManagedCertificate | None:
        """What CloudFront made of the request: asked once, for the ARN; from then on one listing tells of all.

        An ARN that is only in the status is another's, until its names or the tenant itself say that it is ours.
        """
        tenant, status = snapshot.tenant, snapshot.status
        if not is_managed(snapshot.spec) or tenant is None:
            return None
        names = tuple(normalise_name(one.domain) for one in tenant.domains)
        listed = self.account.listed_certificate(status.certificate_arn)
        if listed is not None and not set(names).isdisjoint(listed.names):
            certificate = ManagedCertificate(listed.arn, _as_cloudfront_says(listed.status), "")
            if certificate.status not in FAILED:  # one that has failed may have a successor
                return certificate
        is_attached = status.certificate_arn == tenant.customizations.certificate_arn != ""
        is_settled = status.managed_certificate_status == ISSUED and status.e_tag == tenant.etag
        if is_attached and is_settled and all(domain.is_active for domain in tenant.domains):
            return ManagedCertificate(status.certificate_arn, ISSUED, "")
        return await self.account.ask_certificate(tenant)

    def _is_managed_for_another(self, snapshot: Snapshot) -> bool:
        """Does the spec name a certificate that CloudFront manages, and for nothing that is ours?"""
        tenant, arn = snapshot.tenant, snapshot.spec.own_certificate
        listed = self.account.listed_certificate(arn)
        if listed is None or (tenant and tenant.customizations.certificate_arn == arn):
            return False
        return not any(normalise_name(item.domain) in listed.names for item in snapshot.spec.domains)

    async def _names(self, snapshot: Snapshot, distribution: Distribution | None) -> tuple[str, ...] | None:
        """The names that the spec's own certificate covers, or where names lead here, the distribution's."""
        spec, own = snapshot.spec, snapshot.spec.own_certificate
        if is_managed(spec) and (own in _managed_arns(snapshot) or snapshot.attached_is_managed):
            return None
        inherited = distribution.certificate_arn if distribution and spec.dns else ""
        arn = own or ("" if is_managed(spec) else inherited)
        return await self.account.certificate_names.get(arn) if arn else None

    async def _distribution(self, spec: DistributionTenantSpec) -> tuple[Distribution | None, bool]:
        try:
            return await self.account.distributions.get(spec.distribution_id), True
        except Stall as refusal:
            if refusal.error_type != "access_denied":
                raise
            self.account.rights.note("reading distributions", refusal)
            return None, False

    # DNS

    def _with_records(self, snapshot: Snapshot, wake: Callable[[], None]) -> Snapshot:
        problems = [
            *inventory_problems(snapshot.inventory),
            *self.guards.inventory_refusals(snapshot.inventory),
        ]
        if problems:
            return replace(snapshot, dns_work=DnsWork(error=Stall(DNS_ERROR, "; ".join(problems))))
        inventory, work = self.account.desk.collect(
            snapshot.owner.uid, snapshot.generation, snapshot.inventory
        )
        change_id = work.change_id or snapshot.status.dns_change_id
        zone = self._zone_of_change(snapshot) if change_id else None
        in_sync = zone is None or zone.in_sync(change_id, wake)
        return replace(snapshot, inventory=inventory, dns_work=work, dns_in_sync=in_sync)

    async def _without_others(self, request: Request, snapshot: Snapshot) -> Snapshot:
        """An inventory is only a status, which others may write: what belongs to another is not in ours."""
        tenant = snapshot.tenant
        own = tenant if tenant and is_ours(snapshot, tenant) else None
        anothers = {entry for entry in snapshot.inventory if await self._is_anothers(request, entry, own)}
        if not anothers:
            return snapshot
        names = sorted(entry.name for entry in anothers)
        log.warning("Records in the status belong to another object and are left alone", names=names)
        return replace(snapshot, inventory=tuple(one for one in snapshot.inventory if one not in anothers))

    async def _is_anothers(self, request: Request, entry: InventoryRecord, own: TenantSummary | None) -> bool:
        """Does the record of an entry belong to another object: by its inventory, or because its tenant serves it?

        A tenant that is no object's, such as one that somebody has made by hand, proves nothing: the record that we
        wrote for the name still is ours to withdraw, as long as the namespace may have the name at all.
        """
        if own is not None and _serves(own, entry.name):
            return False
        if self.claims.recorder(request, entry) is not None:
            return True
        tenants = self.account.tenants
        holder = tenants.holder_of(entry.name)
        # A listing may be the past, and a record must not be forgotten for it.
        live = await tenants.read(holder.id) if holder is not None else None
        if live is None or not _serves(live, entry.name):
            return False
        owner = Owner.of(request.object, self.cluster)
        whose = is_mine(parse_tags(live.tags), owner)
        is_objects = whose is Ownership.OTHERS or (
            whose is Ownership.UNMARKED and self._is_known_to_another(request, live)
        )
        return is_objects or any(self.guards.foreign(owner.namespace, [entry.name]))

    def _is_known_to_another(self, request: Request, tenant: DistributionTenant) -> bool:
        return any(key != request.key for key in self.claims.holders(BY_NAME, tenant.name))

    def _taken(self, snapshot: Snapshot) -> frozenset[str]:
        own = snapshot.tenant.id if snapshot.tenant else ""
        names = {normalise_name(item.domain) for item in snapshot.spec.domains}
        holders = {name: self.account.tenants.holder_of(name) for name in names}
        return frozenset(name for name, holder in holders.items() if holder and holder.id != own)

    def _zone_of_change(self, snapshot: Snapshot) -> Zone | None:
        """A zone through which Route 53 can be asked about a change: any that is, or was, written with the same role.

        What a spec names that is refused is not even asked, also while the object is being deleted.
        """
        if snapshot.spec.dns is not None and not self._is_refused(snapshot):
            return self._zone_named(snapshot.spec)
        for entry in snapshot.inventory:
            return self.account.desk.zone(entry)
        return None

    def _zone_named(self, spec: DistributionTenantSpec) -> Zone | None:
        dns = spec.dns
        return self.account.zones.get(dns.hosted_zone_id, Role(dns.assume_role_arn)) if dns else None

    async def _group(
        self, spec: DistributionTenantSpec, tenant: TenantSummary | None
    ) -> tuple[ConnectionGroup | None, bool]:
        """The group that the spec names, else the one that the tenant is in, else the one that it would get.

        And whether AWS was asked for it by its id. Without records it matters only where the tenant is not in it yet.
        """
        present = tenant.connection_group_id if tenant else ""
        group_id = spec.connection_group_id or present
        if spec.dns is None and group_id == present:
            return None, False
        if not group_id:
            return default_group(self.account.groups), False
        try:
            return await self._find_group(group_id), True
        except Stall as refusal:
            if spec.dns is not None or refusal.error_type != "access_denied":
                raise
            self.account.rights.note("reading connection groups", refusal)
            return None, False

    async def _find_group(self, group_id: str) -> ConnectionGroup | None:
        groups = self.account.groups
        listed = groups.get(group_id) if groups.synced else None
        return listed or await self.account.cloudfront.find_connection_group(group_id)

    def _zone(self, spec: DistributionTenantSpec) -> ZoneView | None:
        zone = self._zone_named(spec)
        if zone is None:
            return None
        if zone.is_blind:
            return ZoneView("", None, zone.role_refusal)
        try:
            keys = [RecordKey(normalise_name(item.domain), kind) for item in spec.domains for kind in _TYPES]
            found = {key: zone.mirror.get(key) for key in keys}
        except NotSyncedError:
            if zone.mirror.problem is not None:
                raise zone.mirror.problem from None
            raise
        return ZoneView(zone.apex, {key: record for key, record in found.items() if record is not None})

    def _zone_if_known(self, snapshot: Snapshot) -> ZoneView | None:
        """The zone of the spec; None where it cannot be read, since a deletion does not depend on it."""
        if snapshot.spec.dns is None or self._is_refused(snapshot):
            return None
        zone = self._zone_named(snapshot.spec)
        return self._zone(snapshot.spec) if zone and zone.mirror.problem is None else None


def _managed_arns(snapshot: Snapshot) -> set[str]:
    """The certificates that CloudFront manages for the tenant, or has been given before."""
    certificate, tenant = snapshot.certificate, snapshot.tenant
    return {certificate.arn if certificate else "", tenant.customizations.certificate_arn if tenant else ""}


def _serves(tenant: TenantSummary, name: str) -> bool:
    return name in {normalise_name(one.domain) for one in tenant.domains}


def _places(spec: DistributionTenantSpec) -> Iterator[tuple[str, str, str]]:
    """Where records of the spec may stand."""
    if spec.dns is not None:
        for item in spec.domains:
            for kind in _TYPES:
                yield bare_zone(spec.dns.hosted_zone_id), normalise_name(item.domain), kind


def _is_contested(request: Request) -> bool:
    return any(
        isinstance(one, dict)
        and (one.get("type"), one.get("reason"), one.get("observedGeneration"))
        == (READY, DOMAIN_CONFLICT, request.generation)
        for one in dig_list(request.object, "status", "conditions")
    )


def _as_cloudfront_says(status: str) -> str:
    """`pending-validation` of ACM's `PENDING_VALIDATION`."""
    return status.lower().replace("_", "-")
