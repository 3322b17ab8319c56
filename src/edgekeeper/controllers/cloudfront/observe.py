"""Observe one object: collect everything that a decision depends on, with as few AWS calls as possible.

    base = observer.begin(request, wake)                from the cluster and our own outboxes, without a call
    snapshot = await observer.observe(base, live=False) from mirrors and caches
    snapshot = await observer.observe(base, live=True)  the same, with the tenant read from CloudFront

Mirrors and caches provide nearly all of it. AWS is called only for what they do not contain: the parameters and tags of a
tenant whose ETag differs from the one in the status, and a managed certificate whose ARN is not known yet. For a spec that
will be refused, only what is needed to clean up its records is read.

A live observation starts from the same base and derives everything again. Nothing that an earlier observation concluded
from the status, which others may write, is used for the decision that changes AWS.
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
    """What both observations of a pass, cached and live, start from."""

    request: Request
    snapshot: Snapshot
    """What follows from the object and from the results of the zone writers, without a call."""


@dataclass(frozen=True)
class Observer:
    """Builds the snapshot of one object from the cluster, mirrors, caches and live reads."""

    account: CloudFrontAccount
    memory: Memory
    claims: TenantClaims
    guards: Guards
    cluster: str
    """The cluster id in the ownership tags."""
    drift_policy: Policy = Policy.ENFORCE

    def begin(self, request: Request, wake: Callable[[], None]) -> Base:
        """Start a pass, without a call. `wake` requeues the object when pending records have a result."""
        return Base(request, self._with_records(self._of_cluster(request), request, wake))

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        """The complete snapshot; if `live`, with the tenant read from CloudFront in this call."""
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
        """The outage that keeps us from seeing whether a wait is over; None if there is none."""
        problem = None
        if isinstance(step, do.AwaitDeployment):
            problem = self.account.tenants.problem
        elif isinstance(step, AwaitPropagation):
            problem = self.account.dns.obstacle(snapshot.records.changes)
        return problem if problem is not None and problem.unavailable is not None else None

    def _of_cluster(self, request: Request) -> Snapshot:
        """The part of the snapshot that follows from the object alone."""
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
            may_correct=self.memory.corrections.may_correct_now(owner.uid),
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
        """Find the tenant by the id in the status if it can be ours, otherwise by our tenant name."""
        tenants, tenant_id, name = self.account.tenants, snapshot.status.id, snapshot.tenant_name
        if live or tenants.is_listing_denied:
            by_id = await tenants.read(tenant_id) if tenant_id else None
            tenant = by_id if await self._can_be_ours(snapshot, by_id) else await tenants.read(name)
            return replace(snapshot, tenant=tenant, is_live=True)
        summary = tenants.get(tenant_id) if tenant_id else None
        if not await self._can_be_ours(snapshot, summary):
            summary = tenants.get_by_name(name)
        return replace(snapshot, tenant=summary)

    async def _can_be_ours(self, snapshot: Snapshot, tenant: TenantSummary | None) -> bool:
        """Does the tenant have our name, or our ownership tags and a name that no object uses?

        The second is the case after `--tenant-name-template` was changed: tenants cannot be renamed.
        """
        if tenant is None or tenant.name == snapshot.tenant_name:
            return tenant is not None
        details = (
            tenant
            if isinstance(tenant, DistributionTenant)
            else await self.account.tenants.details(tenant.id)
        )
        is_marked = (
            details is not None and is_mine(parse_tags(details.tags), snapshot.owner) is Ownership.MINE
        )
        return is_marked and not self.claims.with_tenant_name(tenant.name)

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
        """May parameters or tags, which listings do not contain, differ from what we set last?"""
        status = snapshot.status
        if snapshot.deleting or self.account.tenants.is_doubted(summary.id):
            return True  # the status, which others may write, does not prove ownership
        if status.id != summary.id or summary.name != snapshot.tenant_name:
            return True
        if status.tags_fingerprint != tags_fingerprint(snapshot.spec, snapshot.owner) and snapshot.may_tag:
            return True  # this also detects a status that was copied from another object
        if certificate_to_attach(snapshot):
            return False  # CloudFront changed the ETag by issuing it; the change of the spec leads to another pass
        return status.e_tag != summary.etag or status.observed_generation != snapshot.generation

    def _losses(self, request: Request, snapshot: Snapshot) -> Iterator[str]:
        """Reasons not to own a tenant without our tags: domains of it that others claim or that the policy forbids us.

        For a tenant whose id is in the status only the hostname policy counts.
        """
        details, namespace = snapshot.details, snapshot.owner.namespace
        if details is None or is_mine(parse_tags(details.tags), snapshot.owner) in (
            Ownership.MINE,
            Ownership.OTHERS,
        ):
            return
        names = [normalise_name(item.domain) for item in details.domains]
        is_known = snapshot.status.id == details.id
        if snapshot.may_tag or not is_known:
            for name in self.guards.foreign(namespace, names):
                yield f"it serves {name}, which --hostname-policy does not allow for namespace {namespace}"
        for rival in () if is_known else self.claims.older_claimants(request, names):
            yield f"it serves {rival.value}, which is claimed by {rival.holder}, which is older"

    # The certificate

    async def _with_certificate(self, snapshot: Snapshot) -> Snapshot:
        """Add the certificate that CloudFront manages for the tenant, and whether the spec names a managed one."""
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
        managed = await self.account.managed_certificate(own)
        return None if managed is None else _as_managed(managed)

    async def _managed_names(self, snapshot: Snapshot) -> tuple[str, ...] | None:
        """The names of the managed certificate. ACM is called for them only while a domain is not active yet."""
        certificate = snapshot.certificate
        if certificate is None:
            return None
        names = self.account.known_names(certificate)
        if names is not None or not certificate.arn or is_served(snapshot):
            return names
        return await self.account.certificate_names(certificate.arn) or None

    async def _certificate(self, snapshot: Snapshot) -> ManagedCertificate | None:
        """The certificate that CloudFront manages for the tenant.

        CloudFront is asked once, for the ARN; from then on the listing of ACM provides the state. An ARN from the status is
        used only if the names of that certificate or the tenant confirm it, since others may write the status.
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
        """Does the spec name a certificate that CloudFront manages for another tenant (none of its names are ours)?"""
        arn = snapshot.spec.own_certificate
        managed = None if arn in _managed_arns(snapshot) else await self.account.managed_certificate(arn)
        return managed is not None and domains_of(snapshot.spec).isdisjoint(managed.names)

    async def _names(self, snapshot: Snapshot, distribution: Distribution | None) -> tuple[str, ...] | None:
        """The names of the spec's own certificate, or with `spec.dns` those of the distribution's; None if not known."""
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
        """The changes in the status that may be followed.

        A status without `dnsChanges`, as cloudfront-tenant-operator writes it, has only `dnsChangeId`.
        """
        changes = tuple(snapshot.status.dns_changes) or tuple(self._implied_change(snapshot))
        return tuple(
            change
            for change in changes
            if is_credible_change(change) and self.guards.allow_zone(change.zone, change.role)
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
        """Drop inventory entries that belong to other objects, since others may write the status.

        Entries whose names the tenant of another object serves are kept, but withheld from removal and replacement.
        """
        tenant, inventory = snapshot.tenant, snapshot.records.inventory
        own = tenant if tenant and is_ours(snapshot, tenant) else None
        unserved = [entry for entry in inventory if own is None or not _serves(own, entry.name)]
        foreign = {entry for entry in unserved if self._is_anothers(request, entry)}
        if foreign:
            names = sorted(entry.name for entry in foreign)
            log.warning("Records in the status belong to another object and are left alone", names=names)
        kept = tuple(entry for entry in inventory if entry not in foreign)
        withheld = frozenset(
            [entry for entry in unserved if entry in kept and await self._is_served(request, entry)]
        )
        return replace(snapshot, records=replace(snapshot.records, inventory=kept, withheld=withheld))

    def _is_anothers(self, request: Request, entry: InventoryRecord) -> bool:
        """Is the record in the inventory of another object, or does the hostname policy forbid the namespace its name?"""
        is_ruled_out = any(self.guards.foreign(str(request.key.namespace), [entry.name]))
        return is_ruled_out or self.claims.recorder(request, entry) is not None

    async def _is_served(self, request: Request, entry: InventoryRecord) -> bool:
        """Does the tenant of another object serve the name of an entry, and is that tenant not being deleted?

        A tenant that no object owns, for example one created by hand, does not count: we wrote the record, so we may
        remove it.
        """
        tenants = self.account.tenants
        holder = tenants.holder_of(entry.name)
        # Listings may be outdated, so the tenant is read.
        live = await tenants.read(holder.id) if holder is not None else None
        if live is None or not _serves(live, entry.name):
            return False
        if self.claims.is_being_deleted(request, live.name):
            return False  # our record must be removed before that tenant is deleted
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
        """The connection group: the spec's, else the one that the tenant is in, else the account's default.

        The second value says whether it was looked up by its id. Without `spec.dns` the group matters only if the tenant is
        not in it yet.
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
        """The zone of the spec, or the error that keeps it from being read until a person acts."""
        try:
            return self._zone(spec), None
        except Stall as problem:
            return None, problem

    def _zone_if_known(self, snapshot: Snapshot) -> ZoneView | None:
        """The zone of the spec; None if it cannot be read, since a deletion does not depend on it."""
        dns = snapshot.spec.dns
        if dns is None or self._is_refused(snapshot):
            return None
        zone = self.account.dns.zone(dns.hosted_zone_id, dns.assume_role_arn)
        return self._zone(snapshot.spec) if zone.mirror.problem is None else None


def _with_zone(snapshot: Snapshot, zone: ZoneView | None, problem: Stall | None = None) -> Snapshot:
    return replace(snapshot, records=replace(snapshot.records, zone=zone, zone_problem=problem))


def _managed_arns(snapshot: Snapshot) -> set[str]:
    """The ARNs of the certificate that CloudFront manages for the tenant, and of the one attached to it."""
    certificate, tenant = snapshot.certificate, snapshot.tenant
    return {certificate.arn if certificate else "", tenant.customizations.certificate_arn if tenant else ""}


def _is_current(
    listed: CertificateSummary,
    spec: DistributionTenantSpec,
    status: DistributionTenantStatus,
    tenant: TenantSummary,
) -> bool:
    """Is this still the certificate that CloudFront manages for the tenant, so that CloudFront need not be asked?

    A certificate that has failed, was requested with other settings, or is for other domains than the tenant's may have a
    successor.
    """
    served, wanted = {normalise_name(item.domain) for item in tenant.domains}, domains_of(spec)
    if served.isdisjoint(listed.names) or _as_managed(listed).status in FAILED:
        return False
    is_of_tenant = listed.issued or served.issuperset(listed.names)
    return _is_requested(spec, status) and is_of_tenant and listed.covers(served & wanted or served)


def _is_requested(spec: DistributionTenantSpec, status: DistributionTenantStatus) -> bool:
    """Is the spec's certificate request the one that was sent last? True if none is recorded."""
    return sent_request(status.certificate_request) in ("", request_fingerprint(spec))


def _serves(tenant: TenantSummary, name: str) -> bool:
    return name in {normalise_name(item.domain) for item in tenant.domains}


def _places(spec: DistributionTenantSpec) -> Iterator[tuple[str, str, str]]:
    """The zone, name and type of every record that the spec may need."""
    if spec.dns is not None:
        for item in spec.domains:
            for kind in TYPES:
                yield bare_zone(spec.dns.hosted_zone_id), normalise_name(item.domain), kind


def _as_managed(listed: CertificateSummary) -> ManagedCertificate:
    """A certificate of ACM as CloudFront reports it: ACM's `PENDING_VALIDATION` is CloudFront's `pending-validation`."""
    return ManagedCertificate(listed.arn, listed.status.lower().replace("_", "-"), "")
