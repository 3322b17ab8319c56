"""Gather: everything that a decision depends on, at the price of hardly any call.

Mirrors and caches answer nearly all of it. Read live is what they cannot know: a tenant whose ETag is not the one in
the status (its parameters and tags are in no listing), and a certificate whose ARN we have not learned yet. For a spec
that will be refused nothing is read at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from edgekeeper.api.cloudfront import DistributionTenant, DistributionTenantSpec
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.meanings import DNS_ERROR
from edgekeeper.cloud.aws.mirrors import default_group
from edgekeeper.cloud.aws.records import RecordKey, normalise_name
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.tenants import ManagedCertificate, TenantSummary
from edgekeeper.cloud.aws.zone import Zone
from edgekeeper.cloud.mirror import NotSyncedError
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.claims import BY_NAME, Claims
from edgekeeper.controllers.cloudfront.decide import FAILED, ISSUED, certificate_to_attach, is_ours
from edgekeeper.controllers.cloudfront.desired import is_managed, tags_fingerprint
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.inventory import inventory_of
from edgekeeper.controllers.cloudfront.snapshot import DnsWork, Snapshot, ZoneView
from edgekeeper.controllers.cloudfront.validation import inventory_problems, spec_problems
from edgekeeper.core.drift import Policy, policy_for
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import dig
from edgekeeper.core.log import get_logger
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.runtime.contract import Request

log = get_logger(__name__)

ADOPT = "edgekeeper.io/adopt"
_TYPES = ("CNAME", "A", "AAAA")


@dataclass(frozen=True)
class Observer:
    """Looks at one object and at what AWS has for it."""

    account: Account
    claims: Claims
    guards: Guards
    cluster: str
    """The id that marks what we create as this cluster's."""
    drift_policy: Policy = Policy.ENFORCE

    async def observe(self, request: Request, wake: Callable[[], None]) -> Snapshot:
        """Everything that is to be known about the object. `wake` is called when what was pending is not any more."""
        snapshot = self._begin(request)
        if not snapshot.deleting and self._is_refused(snapshot):
            return snapshot
        snapshot = self._with_records(snapshot, wake)
        snapshot = await self._with_tenant(snapshot)
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
            return snapshot
        distribution, known = await self._distribution(snapshot.spec)
        return replace(
            snapshot,
            taken=self._taken(snapshot),
            distribution=distribution,
            distribution_known=known,
            certificate_is_anothers=self._is_managed_for_another(snapshot),
            certificate_names=await self._names(snapshot, distribution),
            group=await self._group(snapshot.spec, snapshot.tenant),
            zone=self._zone(snapshot.spec),
        )

    def _begin(self, request: Request) -> Snapshot:
        """What the cluster knows by itself."""
        obj = request.decode(DistributionTenant)
        owner = Owner.of(request.object, self.cluster)
        return Snapshot(
            owner=owner,
            tenant_name=self.claims.tenant_name(request.object),
            generation=request.generation,
            spec=obj.spec,
            status=obj.status,
            policy=policy_for(request.object, self.drift_policy).policy,
            may_adopt=dig(request.object, "metadata", "annotations", ADOPT) == "true",
            may_tag="tagging" not in self.account.rights.denied,
            may_correct=self.account.corrections.may_follow(owner.uid),
            deleting=request.deleting,
            rivals=self.claims.rivals(request),
            refusals=tuple(self.guards.refusals(owner.namespace, obj.spec)),
            inventory=inventory_of(obj.spec, obj.status),
        )

    def _is_refused(self, snapshot: Snapshot) -> bool:
        return bool(
            snapshot.rivals or snapshot.refusals or spec_problems(snapshot.tenant_name, snapshot.spec)
        )

    # The tenant

    async def confirm(self, snapshot: Snapshot) -> Snapshot:
        """The same with the tenant as it is now."""
        tenant_id = snapshot.tenant.id if snapshot.tenant else snapshot.tenant_name
        return replace(snapshot, tenant=await self.account.tenants.read(tenant_id), is_live=True)

    async def _with_tenant(self, snapshot: Snapshot) -> Snapshot:
        """The tenant that the status names, if it can be ours; else the one that has our name."""
        tenants, known, name = self.account.tenants, snapshot.status.id, snapshot.tenant_name
        if tenants.is_blind:
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
        details = await self.account.tenants.details(found.id)
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
        """What others would lose to us with a tenant that bears no mark: the names that it serves.

        Of a tenant that the status knows they are ours to give up, but for what administrators have ruled out.
        """
        details, namespace = snapshot.details, snapshot.owner.namespace
        if details is None or parse_tags(details.tags) is not None:
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
        inventory, work = self.account.desk.collect(snapshot.owner.uid, snapshot.inventory)
        change_id = work.change_id or snapshot.status.dns_change_id
        zone = self._zone_of_change(snapshot) if change_id else None
        in_sync = zone is None or zone.in_sync(change_id, wake)
        return replace(snapshot, inventory=inventory, dns_work=work, dns_in_sync=in_sync)

    async def _without_others(self, request: Request, snapshot: Snapshot) -> Snapshot:
        """An inventory is only a status, which others may write: what serves another is not in ours."""
        tenant = snapshot.tenant
        own = tenant if tenant and is_ours(snapshot, tenant) else None
        if tenant and not own and not snapshot.deleting:
            return snapshot  # it may be adopted, with its records; until then nothing becomes of either
        anothers = {
            entry for entry in snapshot.inventory if await self._serves_another(request, entry.name, own)
        }
        if not anothers:
            return snapshot
        names = sorted(entry.name for entry in anothers)
        log.warning("Records in the status serve another's tenant and are left alone", names=names)
        return replace(snapshot, inventory=tuple(one for one in snapshot.inventory if one not in anothers))

    async def _serves_another(self, request: Request, name: str, own: TenantSummary | None) -> bool:
        """Does a name belong to another tenant? While it is no tenant's, the claims of objects tell."""
        tenants = self.account.tenants
        if own is not None and _serves(own, name):
            return False
        if (holder := tenants.holder_of(name)) is None:
            return self.claims.better_claim(request, name) is not None
        # A listing may be the past, and a record must not be forgotten for it.
        live = await tenants.read(holder.id)
        return live is not None and _serves(live, name)

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
    ) -> ConnectionGroup | None:
        """The group that the spec names, else the one that the tenant is in, else the one that it would get."""
        if spec.dns is None:
            return None
        groups = self.account.groups
        group_id = spec.connection_group_id or (tenant.connection_group_id if tenant else "")
        if not group_id:
            return default_group(groups)
        return groups.get(group_id) or await self.account.cloudfront.find_connection_group(group_id)

    def _zone(self, spec: DistributionTenantSpec) -> ZoneView | None:
        zone = self._zone_named(spec)
        if zone is None:
            return None
        if zone.is_blind:
            return ZoneView("", None)
        try:
            keys = [RecordKey(normalise_name(item.domain), kind) for item in spec.domains for kind in _TYPES]
            found = {key: zone.mirror.get(key) for key in keys}
        except NotSyncedError:
            if zone.mirror.problem is not None:
                raise zone.mirror.problem from None
            raise
        return ZoneView(zone.apex, {key: record for key, record in found.items() if record is not None})


def _managed_arns(snapshot: Snapshot) -> set[str]:
    """The certificates that CloudFront manages for the tenant, or has been given before."""
    certificate, tenant = snapshot.certificate, snapshot.tenant
    return {certificate.arn if certificate else "", tenant.customizations.certificate_arn if tenant else ""}


def _serves(tenant: TenantSummary, name: str) -> bool:
    return name in {normalise_name(one.domain) for one in tenant.domains}


def _as_cloudfront_says(status: str) -> str:
    """`pending-validation` of ACM's `PENDING_VALIDATION`."""
    return status.lower().replace("_", "-")
