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

from edgekeeper.api.cloudfront import DistributionTenantSpec, DistributionTenantStatus, read_tenant
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.dns.state import RecordState
from edgekeeper.cloud.aws.dns.steps import AwaitPropagation
from edgekeeper.cloud.aws.tenants import DistributionTenant, TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.certificates import certificate_to_attach
from edgekeeper.controllers.cloudfront.claims import TenantClaims
from edgekeeper.controllers.cloudfront.desired import domains_of, tags_fingerprint
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.observe_certificates import CertificateObserver
from edgekeeper.controllers.cloudfront.observe_records import RecordObserver
from edgekeeper.controllers.cloudfront.ownership import whose_tenant
from edgekeeper.controllers.cloudfront.records import inventory_of
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.ownership import Owner, Ownership, is_owned, parse_tags
from edgekeeper.core.steps import Step
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.objects import KindObject
from edgekeeper.runtime.contract import Request

ANNOUNCEMENT: Final = timedelta(seconds=30)
"""How long an announced creation may take to begin. After that it is announced anew, if there is still no tenant."""


@dataclass(frozen=True)
class Base:
    """What both observations of a pass, cached and live, start from."""

    subject: KindObject
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
    lost_clusters: frozenset[str] = frozenset()
    """The clusters whose objects are replaced by those of the same namespace and name."""
    drift_policy: Policy = Policy.ENFORCE

    def begin(self, request: Request, wake: Callable[[], None]) -> Base:
        """Start a pass, without a call. `wake` requeues the object when pending records have a result."""
        subject = self.claims.subject(request)
        return Base(subject, self._records.with_results(self._of_cluster(request), subject, wake))

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        """The complete snapshot; if `live`, with the tenant read from CloudFront in this call."""
        subject, records = base.subject, self._records
        snapshot = replace(base.snapshot, rivals=await self.claims.all_kinds.rivals(subject))
        if not snapshot.deleting and snapshot.is_refused and not snapshot.records.inventory:
            return snapshot
        snapshot = await self._with_tenant(snapshot, live=live)
        if not snapshot.deleting:
            snapshot = await self._certificates.with_managed(snapshot)
        snapshot = await self._with_details(snapshot)
        snapshot = replace(snapshot, losses=tuple(self._losses(subject, snapshot)))
        snapshot = await records.without_others(snapshot, subject)
        if snapshot.deleting:
            lingering = self.claims.all_kinds.records.lingering(subject, sorted(snapshot.served))
            return replace(records.with_zone(snapshot), leading=lingering)
        return snapshot if snapshot.is_refused else await self._with_surroundings(snapshot)

    def obstacle(self, step: Step | None, snapshot: Snapshot) -> PassError | None:
        """The outage that keeps us from seeing whether a wait is over; None if there is none."""
        problem = None
        if isinstance(step, do.AwaitDeployment):
            problem = self.account.tenants.problem
        elif isinstance(step, AwaitPropagation):
            problem = self.account.dns.obstacle(snapshot.records.changes)
        return problem if problem is not None and problem.unavailable is not None else None

    @property
    def _certificates(self) -> CertificateObserver:
        return CertificateObserver(self.account.certificates)

    @property
    def _records(self) -> RecordObserver:
        return RecordObserver(self.account, self.claims, self.guards)

    def _of_cluster(self, request: Request) -> Snapshot:
        """The part of the snapshot that follows from the object alone."""
        obj, wishes = read_tenant(request.object), Wishes.of(request.object)
        owner = Owner.of(request.object, self.cluster, self.lost_clusters)
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
        is_marked = details is not None and is_owned(parse_tags(details.tags), snapshot.owner)
        return is_marked and not self.claims.with_tenant_name(tenant.name)

    async def _with_details(self, snapshot: Snapshot) -> Snapshot:
        summary, tenants = snapshot.tenant, self.account.tenants
        if summary is None or snapshot.is_live or not self._needs_details(snapshot, summary):
            return snapshot
        is_live = tenants.recall(summary.id) is None
        details = await tenants.details(summary.id)
        read = replace(snapshot, tenant=details, is_live=is_live)
        is_news = details is not None and details.etag != summary.etag and not snapshot.deleting
        return await self._certificates.with_managed(read) if is_news else read

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

    def _losses(self, subject: KindObject, snapshot: Snapshot) -> Iterator[str]:
        """Reasons not to own a tenant without our tags: domains of it that others claim or that the policy forbids us.

        For a tenant whose id is in the status only the hostname policy counts.
        """
        details, namespace = snapshot.details, snapshot.owner.namespace
        if details is None or whose_tenant(snapshot) not in (Ownership.UNMARKED, Ownership.FORMER):
            return
        names = sorted(details.served)
        is_known = snapshot.status.id == details.id
        if snapshot.may_tag or not is_known:
            for name in self.guards.hostname_policy.foreign(namespace, names):
                yield f"it serves {name}, which --hostname-policy does not allow for namespace {namespace}"
        for rival in () if is_known else self.claims.older_claimants(subject, names):
            yield f"it serves {rival.value}, which is claimed by {rival.holder}, which is older"

    # What the tenant depends on

    async def _with_surroundings(self, snapshot: Snapshot) -> Snapshot:
        """Add the distribution, the connection group, the zone and the certificate of the spec."""
        distribution, is_known = await self._distribution(snapshot.spec)
        snapshot = replace(snapshot, distribution=distribution, distribution_known=is_known)
        snapshot = self._records.with_zone(snapshot)
        group, is_known = await self._group(snapshot.spec, snapshot.tenant)
        snapshot = replace(snapshot, group=group, group_known=is_known, taken=self._taken(snapshot))
        return await self._certificates.with_own(snapshot)

    async def _distribution(self, spec: DistributionTenantSpec) -> tuple[Distribution | None, bool]:
        """The distribution of the spec, and whether it could be read."""
        try:
            return await self.account.distributions.get(spec.distribution_id), True
        except Stall as refusal:
            self.account.rights.do_without("reading distributions", refusal)
            return None, False

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
            if spec.dns is not None:
                raise
            self.account.rights.do_without("reading connection groups", refusal)
            return None, False

    def _taken(self, snapshot: Snapshot) -> frozenset[str]:
        own = snapshot.tenant.id if snapshot.tenant else ""
        holders = {name: self.account.tenants.holder_of(name) for name in domains_of(snapshot.spec)}
        return frozenset(name for name, holder in holders.items() if holder and holder.id != own)
