"""Gather: everything that a decision depends on, at the price of hardly any call.

    base = observer.begin(request, wake)                what the cluster and our own outboxes know, without a call
    snapshot = await observer.observe(base, live=False) from mirrors and caches
    snapshot = await observer.observe(base, live=True)  the same, with the tenant read anew

Mirrors and caches answer nearly all of it. Read live is what they cannot know: a tenant whose ETag is not the one in
the status (its parameters and tags are in no listing), and a certificate whose ARN we have not learned yet. For a spec
that will be refused nothing is read but what its leftovers need.

A live look starts from the same base and derives everything anew: nothing that an older view has concluded from a
status, which others may write, is carried over into the view on which a change is based.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from edgekeeper.api.cloudfront import (
    DistributionTenantSpec,
    DistributionTenantStatus,
    DnsChange,
    InventoryRecord,
    read_tenant,
)
from edgekeeper.cloud.aws.acm import CertificateSummary
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.dns.entries import TYPES, bare_zone
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.dns.state import DnsWork, RecordState, ZoneView
from edgekeeper.cloud.aws.dns.steps import AwaitPropagation
from edgekeeper.cloud.aws.error_table import DNS_ERROR
from edgekeeper.cloud.aws.tenants import DistributionTenant, ManagedCertificate, TenantSummary
from edgekeeper.cloud.outbox import Owner as RecordOwner
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.certificates import FAILED, ISSUED, certificate_to_attach, is_served
from edgekeeper.controllers.cloudfront.claims import TenantClaims
from edgekeeper.controllers.cloudfront.decide import is_ours
from edgekeeper.controllers.cloudfront.desired import (
    domains_of,
    is_managed,
    request_fingerprint,
    sent_request,
    tags_fingerprint,
)
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.records import inventory_of
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.validation import (
    inventory_problems,
    is_credible_change,
    spec_problems,
)
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.log import get_logger
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.core.steps import Step
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.runtime.contract import Request

log = get_logger(__name__)

ANNOUNCEMENT: Final = timedelta(seconds=30)
"""How long an announced creation may take to begin. After that it is announced anew, if there is still no tenant."""


@dataclass(frozen=True)
class Base:
    """What a look starts from."""

    request: Request
    snapshot: Snapshot
    """What the cluster knows by itself, and what the writers of zones have answered."""


@dataclass(frozen=True)
class Observer:
    """Looks at one object and at what AWS has for it."""

    account: CloudFrontAccount
    memory: Memory
    claims: TenantClaims
    guards: Guards
    cluster: str
    """The id that marks what we create as this cluster's."""
    drift_policy: Policy = Policy.ENFORCE

    def begin(self, request: Request, wake: Callable[[], None]) -> Base:
        """What is known without a call. `wake` is called when what was pending is not any more."""
        return Base(request, self._with_records(self._of_cluster(request), request, wake))

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        """Everything that is to be known about the object; if `live`, with the tenant as it is at this moment."""
        request = base.request
        snapshot = replace(base.snapshot, rivals=await self.claims.rivals(request))
        if not snapshot.deleting and self._is_refused(snapshot) and not snapshot.records.inventory:
            return snapshot
        snapshot = await self._with_tenant(snapshot, live=live)
        if not snapshot.deleting:
            snapshot = await self._with_certificate(snapshot)
        snapshot = await self._with_details(snapshot)
        snapshot = replace(snapshot, losses=tuple(self._losses(request, snapshot)))
        snapshot = await self._without_others(request, snapshot)
        if snapshot.deleting:
            leading = self.claims.unclaimed_records(request, sorted(snapshot.served))
            return replace(_with_zone(snapshot, self._zone_if_known(snapshot)), leading=leading)
        if self._is_refused(snapshot):
            return snapshot
        distribution, known = await self._distribution(snapshot.spec)
        zone, problem = self._zone_or_problem(snapshot.spec)
        group, group_known = await self._group(snapshot.spec, snapshot.tenant)
        return replace(
            _with_zone(snapshot, zone, problem),
            taken=self._taken(snapshot),
            distribution=distribution,
            distribution_known=known,
            certificate_is_anothers=await self._is_managed_for_another(snapshot),
            certificate_names=await self._names(snapshot, distribution),
            group=group,
            group_known=group_known,
        )

    def obstacle(self, step: Step | None, snapshot: Snapshot) -> PassError | None:
        """Why it cannot be found out at present whether what a step waits for has happened; None where it can."""
        problem = None
        if isinstance(step, do.AwaitDeployment):
            problem = self.account.tenants.problem
        elif isinstance(step, AwaitPropagation):
            problem = self.account.dns.obstacle(snapshot.records.changes)
        return problem if problem is not None and problem.unavailable is not None else None

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
            is_announced=self._is_announced(obj.status),
            may_correct=self.memory.corrections.may_follow(owner.uid),
            deleting=request.deleting,
            is_contested=obj.status.contested_generation == request.generation,
            refusals=tuple(self.guards.refusals(owner.namespace, obj.spec)),
            records=RecordState(inventory_of(obj.spec, obj.status)),
        )

    def _is_announced(self, status: DistributionTenantStatus) -> bool:
        began = status.creation_started
        return began is not None and self.account.clock.now() - began < ANNOUNCEMENT

    def _is_refused(self, snapshot: Snapshot) -> bool:
        return bool(
            snapshot.rivals or snapshot.refusals or spec_problems(snapshot.tenant_name, snapshot.spec)
        )

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
        return is_marked and not self.claims.with_tenant_name(found.name)

    async def _with_details(self, snapshot: Snapshot) -> Snapshot:
        summary, tenants = snapshot.tenant, self.account.tenants
        if summary is None or snapshot.is_live or not self._needs_details(snapshot, summary):
            return snapshot
        is_live = tenants.recall(summary.id) is None
        details = await tenants.details(summary.id)
        read = replace(snapshot, tenant=details, is_live=is_live)
        is_news = details is not None and details.etag != summary.etag and not snapshot.deleting
        return await self._with_certificate(read) if is_news else read

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
        for rival in () if is_known else self.claims.older_claimants(request, names):
            yield f"it serves {rival.value}, which is claimed by {rival.holder}, which is older"

    # The certificate

    async def _with_certificate(self, snapshot: Snapshot) -> Snapshot:
        """What CloudFront manages for the tenant, and whether what the spec names is such a certificate."""
        snapshot = replace(snapshot, certificate=await self._certificate(snapshot))
        snapshot = replace(snapshot, managed_names=await self._managed_names(snapshot))
        attached = await self._attached(snapshot)
        return replace(
            snapshot,
            attached_is_managed=attached is not None,
            attached_has_failed=attached is not None and attached.status in FAILED,
        )

    async def _attached(self, snapshot: Snapshot) -> ManagedCertificate | None:
        """The certificate that the spec names beside a request, if CloudFront manages it."""
        own, certificate = snapshot.spec.own_certificate, snapshot.certificate
        if not own or not is_managed(snapshot.spec):
            return None
        if certificate is not None and own == certificate.arn:
            return certificate
        found = await self.account.managed_certificate(own)
        return None if found is None else _as_managed(found)

    async def _managed_names(self, snapshot: Snapshot) -> tuple[str, ...] | None:
        """The names of the managed certificate. They are asked for only if a domain is not served by it yet."""
        certificate = snapshot.certificate
        if certificate is None:
            return None
        names = self.account.known_names(certificate)
        if names is not None or not certificate.arn or is_served(snapshot):
            return names
        return await self.account.certificate_names(certificate.arn) or None

    async def _certificate(self, snapshot: Snapshot) -> ManagedCertificate | None:
        """What CloudFront made of the request: asked once, for the ARN; from then on one listing tells of all.

        An ARN that is only in the status is another's, until its names or the tenant itself say that it is ours.
        """
        tenant, status = snapshot.tenant, snapshot.status
        if not is_managed(snapshot.spec) or tenant is None:
            return None
        listed = self.account.listed_certificate(status.certificate_arn)
        if listed is not None and _is_current(listed, snapshot.spec, status, tenant):
            return _as_managed(listed)
        is_attached = status.certificate_arn == tenant.customizations.certificate_arn != ""
        is_settled = status.managed_certificate_status == ISSUED and status.e_tag == tenant.etag
        is_active = all(domain.is_active for domain in tenant.domains)
        if is_attached and is_settled and is_active and _is_requested(snapshot.spec, status):
            return ManagedCertificate(status.certificate_arn, ISSUED, "")
        return await self.account.ask_certificate(tenant)

    async def _is_managed_for_another(self, snapshot: Snapshot) -> bool:
        """Does the spec name a certificate that CloudFront manages, and for nothing that is ours?"""
        arn = snapshot.spec.own_certificate
        found = None if arn in _managed_arns(snapshot) else await self.account.managed_certificate(arn)
        return found is not None and domains_of(snapshot.spec).isdisjoint(found.names)

    async def _names(self, snapshot: Snapshot, distribution: Distribution | None) -> tuple[str, ...] | None:
        """The names that the spec's own certificate covers, or where names lead here, the distribution's."""
        spec, own = snapshot.spec, snapshot.spec.own_certificate
        if is_managed(spec) and (own in _managed_arns(snapshot) or snapshot.attached_is_managed):
            return None
        inherited = distribution.certificate_arn if distribution and spec.dns else ""
        arn = own or ("" if is_managed(spec) else inherited)
        return await self.account.certificate_names(arn) if arn else None

    async def _distribution(self, spec: DistributionTenantSpec) -> tuple[Distribution | None, bool]:
        try:
            return await self.account.distributions.get(spec.distribution_id), True
        except Stall as refusal:
            if refusal.error_type != "access_denied":
                raise
            self.account.rights.note("reading distributions", refusal)
            return None, False

    # DNS

    def _with_records(self, snapshot: Snapshot, request: Request, wake: Callable[[], None]) -> Snapshot:
        inventory = snapshot.records.inventory
        problems = [*inventory_problems(inventory), *self.guards.inventory_refusals(inventory)]
        if problems:
            work = DnsWork(error=Stall(DNS_ERROR, "; ".join(problems)))
            return replace(snapshot, records=replace(snapshot.records, work=work))
        owner = RecordOwner(snapshot.owner.uid, snapshot.generation)
        records = self.account.dns.collect(owner, inventory, self._known_changes(snapshot), wake)
        recorded = self.claims.recorded(request, _places(snapshot.spec))
        return replace(snapshot, records=replace(records, recorded=recorded))

    def _known_changes(self, snapshot: Snapshot) -> tuple[DnsChange, ...]:
        """The changes that the status has. One from before there was a list has the id of one, of the spec's zone."""
        known = tuple(snapshot.status.dns_changes) or tuple(self._implied_change(snapshot))
        return tuple(
            one for one in known if is_credible_change(one) and self.guards.allow_zone(one.zone, one.role)
        )

    def _implied_change(self, snapshot: Snapshot) -> Iterator[DnsChange]:
        status, dns = snapshot.status, snapshot.spec.dns
        if not status.dns_change_id:
            return
        if dns is not None and not self._is_refused(snapshot):
            yield DnsChange(bare_zone(dns.hosted_zone_id), status.dns_change_id, dns.assume_role_arn)
        elif snapshot.records.inventory:
            entry = snapshot.records.inventory[0]
            yield DnsChange(entry.zone, status.dns_change_id, entry.role)

    async def _without_others(self, request: Request, snapshot: Snapshot) -> Snapshot:
        """An inventory is only a status, which others may write: what belongs to another is not in ours."""
        tenant = snapshot.tenant
        own = tenant if tenant and is_ours(snapshot, tenant) else None
        others = [one for one in snapshot.records.inventory if own is None or not _serves(own, one.name)]
        anothers = {one for one in others if self._is_anothers(request, one)}
        if anothers:
            names = sorted(entry.name for entry in anothers)
            log.warning("Records in the status belong to another object and are left alone", names=names)
        kept = tuple(one for one in snapshot.records.inventory if one not in anothers)
        withheld = frozenset([one for one in others if one in kept and await self._is_served(request, one)])
        return replace(snapshot, records=replace(snapshot.records, inventory=kept, withheld=withheld))

    def _is_anothers(self, request: Request, entry: InventoryRecord) -> bool:
        """Does the record of an entry belong to another object by its inventory, or may the namespace not have it?"""
        is_ruled_out = any(self.guards.foreign(str(request.key.namespace), [entry.name]))
        return is_ruled_out or self.claims.recorder(request, entry) is not None

    async def _is_served(self, request: Request, entry: InventoryRecord) -> bool:
        """Does the tenant of another object serve the name of an entry, and go on to do so?

        A tenant that is no object's, such as one that somebody has made by hand, proves nothing: the record that we
        wrote for the name still is ours to withdraw.
        """
        tenants = self.account.tenants
        holder = tenants.holder_of(entry.name)
        # A listing may be the past, and a record must not be forgotten for it.
        live = await tenants.read(holder.id) if holder is not None else None
        if live is None or not _serves(live, entry.name):
            return False
        if self.claims.is_being_deleted(request, live.name):
            return False  # its names must not lead there any more when it is gone
        owner = Owner.of(request.object, self.cluster)
        whose = is_mine(parse_tags(live.tags), owner)
        return whose is Ownership.OTHERS or (
            whose is Ownership.UNMARKED and self._is_known_to_another(request, live)
        )

    def _is_known_to_another(self, request: Request, tenant: DistributionTenant) -> bool:
        return any(key != request.key for key in self.claims.with_tenant_name(tenant.name))

    def _taken(self, snapshot: Snapshot) -> frozenset[str]:
        own = snapshot.tenant.id if snapshot.tenant else ""
        names = {normalise_name(item.domain) for item in snapshot.spec.domains}
        holders = {name: self.account.tenants.holder_of(name) for name in names}
        return frozenset(name for name, holder in holders.items() if holder and holder.id != own)

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
            return await self.account.connection_group(""), False
        try:
            return await self.account.connection_group(group_id), True
        except Stall as refusal:
            if spec.dns is not None or refusal.error_type != "access_denied":
                raise
            self.account.rights.note("reading connection groups", refusal)
            return None, False

    def _zone(self, spec: DistributionTenantSpec) -> ZoneView | None:
        dns = spec.dns
        if dns is None:
            return None
        names = [item.domain for item in spec.domains]
        return self.account.dns.view(dns.hosted_zone_id, dns.assume_role_arn, names)

    def _zone_or_problem(self, spec: DistributionTenantSpec) -> tuple[ZoneView | None, Stall | None]:
        """The zone of the spec, or why it cannot be read until a person acts."""
        try:
            return self._zone(spec), None
        except Stall as problem:
            return None, problem

    def _zone_if_known(self, snapshot: Snapshot) -> ZoneView | None:
        """The zone of the spec; None where it cannot be read, since a deletion does not depend on it."""
        dns = snapshot.spec.dns
        if dns is None or self._is_refused(snapshot):
            return None
        zone = self.account.dns.zone(dns.hosted_zone_id, dns.assume_role_arn)
        return self._zone(snapshot.spec) if zone.mirror.problem is None else None


def _with_zone(snapshot: Snapshot, zone: ZoneView | None, problem: Stall | None = None) -> Snapshot:
    return replace(snapshot, records=replace(snapshot.records, zone=zone, zone_problem=problem))


def _managed_arns(snapshot: Snapshot) -> set[str]:
    """The certificates that CloudFront manages for the tenant, or has been given before."""
    certificate, tenant = snapshot.certificate, snapshot.tenant
    return {certificate.arn if certificate else "", tenant.customizations.certificate_arn if tenant else ""}


def _is_current(
    listed: CertificateSummary,
    spec: DistributionTenantSpec,
    status: DistributionTenantStatus,
    tenant: TenantSummary,
) -> bool:
    """Is this still the certificate that CloudFront manages for the tenant, so that it need not be asked?

    One that has failed, was requested otherwise, or is for other domains than the tenant has may have a successor.
    """
    served, wanted = {normalise_name(one.domain) for one in tenant.domains}, domains_of(spec)
    if served.isdisjoint(listed.names) or _as_managed(listed).status in FAILED:
        return False
    is_of_tenant = listed.issued or served.issuperset(listed.names)
    return _is_requested(spec, status) and is_of_tenant and listed.covers(served & wanted or served)


def _is_requested(spec: DistributionTenantSpec, status: DistributionTenantStatus) -> bool:
    """Is the spec's request the one that was sent last, as far as we know?"""
    return sent_request(status.certificate_request) in ("", request_fingerprint(spec))


def _serves(tenant: TenantSummary, name: str) -> bool:
    return name in {normalise_name(one.domain) for one in tenant.domains}


def _places(spec: DistributionTenantSpec) -> Iterator[tuple[str, str, str]]:
    """Where records of the spec may stand."""
    if spec.dns is not None:
        for item in spec.domains:
            for kind in TYPES:
                yield bare_zone(spec.dns.hosted_zone_id), normalise_name(item.domain), kind


def _as_managed(listed: CertificateSummary) -> ManagedCertificate:
    """A certificate of ACM in the words of CloudFront: `pending-validation` is `PENDING_VALIDATION` there."""
    return ManagedCertificate(listed.arn, listed.status.lower().replace("_", "-"), "")
