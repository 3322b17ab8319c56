"""Perform one step: at most one change in AWS.

A tenant is changed only if it was read live in the same pass, and its ETag is sent along: if somebody else has changed it
since, CloudFront refuses (`Conflict`) and the next pass decides again. If CloudFront refuses a creation because the name
exists, the tenant is read to find out who owns it, since it may be ours from a call whose response was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.error_table import DOMAIN_CONFLICT, INVALID, NAME_CONFLICT
from edgekeeper.cloud.aws.mirrors import default_group
from edgekeeper.cloud.aws.tenants import (
    DistributionTenant,
    ManagedCertificate,
    ManagedCertificateRequest,
    TenantSettings,
)
from edgekeeper.cloud.outbox import Owner as RecordOwner
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.certificates import PENDING
from edgekeeper.controllers.cloudfront.ownership import is_ours, may_be_adopted
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait, reworded
from edgekeeper.core.ownership import Ownership, is_mine, parse_tags
from edgekeeper.core.steps import Step

_UNKNOWN: Final = ManagedCertificate("", PENDING, "")
"""A certificate that was requested just now and is not visible yet. The status of its predecessor does not apply to it."""
_NOT_SHOWN_YET: Final = timedelta(seconds=30)
"""How long a tenant may stay invisible after its creation (eventual consistency)."""

_UNDER_WAY: Final = timedelta(seconds=2)
_WITHDRAWAL: Final = timedelta(seconds=1)
"""When to requeue an object whose records have to be removed because a domain belongs to another tenant."""


@dataclass(frozen=True)
class Performer:
    """Performs steps against AWS."""

    account: CloudFrontAccount

    async def perform(self, step: Step | None, snapshot: Snapshot, wake: Callable[[], None]) -> Snapshot:
        """Perform the step and return the snapshot with its effect."""
        try:
            return await self._perform(step, snapshot, wake)
        except Stall as refusal:
            if refusal.reason == DOMAIN_CONFLICT and snapshot.records.inventory and not snapshot.is_contested:
                refusal.after = _WITHDRAWAL
            raise

    async def _perform(self, step: Step | None, snapshot: Snapshot, wake: Callable[[], None]) -> Snapshot:
        match step:
            case do.CreateTenant():
                tenant = await self._create(step, snapshot)
                certificate = await self._requested(tenant) if step.certificate else None
                return self._with_certificate(replace(snapshot, tenant=tenant), certificate)
            case do.UpdateTenant():
                tenant = await self._update(_live(snapshot), step.settings, step.certificate)
                updated = replace(snapshot, tenant=tenant)
                if not step.certificate:
                    return updated
                return self._with_certificate(updated, await self._requested(tenant) or _UNKNOWN)
            case do.DisableTenant():
                return replace(snapshot, tenant=await self._disable(_live(snapshot)))
            case do.DeleteTenant():
                await self._delete(_live(snapshot))
                return replace(snapshot, tenant=None)
            case do.MarkTenant():
                return await self._mark(step, snapshot)
            case None:
                return snapshot
        owner = RecordOwner(snapshot.owner.uid, snapshot.generation)
        records = self.account.dns.perform(step, snapshot.records, owner, snapshot.served, wake)
        return replace(snapshot, records=records)

    async def unmark(self, snapshot: Snapshot) -> None:
        """Remove our ownership tags from the tenant and keep its other tags. Raise Wait while records are being written."""
        if snapshot.records.work.pending:
            raise Wait(_UNDER_WAY, "RecordsPending", "records are still being written")
        live = _live(snapshot) if snapshot.tenant is not None else None
        if live is None or is_mine(parse_tags(live.tags), snapshot.owner) is not Ownership.MINE:
            return
        mark = snapshot.owner.tags()
        await self.account.cloudfront.untag(live.arn, mark)
        tags = {key: value for key, value in live.tags.items() if key not in mark}
        self.account.tenants.put(replace(live, tags=tags))

    # Creating

    async def _create(self, step: do.CreateTenant, snapshot: Snapshot) -> DistributionTenant:
        tags = step.tags if snapshot.may_tag else {}
        try:
            tenant = await self.account.cloudfront.create_tenant(
                step.name, step.settings, tags=tags, certificate=step.certificate
            )
        except Stall as refusal:
            mark = snapshot.owner.tags()
            if snapshot.may_tag and _is_about_tags(refusal) and step.tags != mark:
                # IAM may deny the tags of the spec only: try again with the ownership tags alone.
                return await self._create(replace(step, tags=mark), snapshot)
            raise await self._explained(step, snapshot, refusal) from refusal
        self.account.tenants.put(tenant)
        if self.account.groups.synced and default_group(self.account.groups) is None:
            self.account.groups.poke()  # CloudFront creates the default group with the first tenant of an account
        return tenant

    async def _requested(self, tenant: DistributionTenant) -> ManagedCertificate | None:
        """The certificate that was just requested. Reading it here saves another pass."""
        try:
            return await self.account.certificates.ask(tenant)
        except PassError:
            return None  # the status must record the tenant first; the next pass reads the certificate

    def _with_certificate(self, snapshot: Snapshot, certificate: ManagedCertificate | None) -> Snapshot:
        names = self.account.certificates.known_names(certificate) if certificate else None
        return replace(snapshot, certificate=certificate, managed_names=names)

    async def _explained(self, step: do.CreateTenant, snapshot: Snapshot, refusal: Stall) -> PassError:
        """The error to raise for a refused creation, with the holder of a name or domain added where it is known."""
        if _is_about_tags(refusal) and snapshot.may_tag:
            self.account.rights.note("tagging", refusal)
            return Conflict("tenants are created without tags from now on")
        if refusal.reason == NAME_CONFLICT:
            return await self._explained_name(step, snapshot, refusal)
        if refusal.reason == DOMAIN_CONFLICT:
            return await self._explained_domain(step, refusal)
        return refusal

    async def _explained_name(self, step: do.CreateTenant, snapshot: Snapshot, refusal: Stall) -> PassError:
        tenant = await self.account.tenants.read(step.name)
        if tenant is None:
            return Wait(
                _NOT_SHOWN_YET, NAME_CONFLICT, f"{refusal.message}; CloudFront does not return it yet"
            )
        seen = replace(snapshot, tenant=tenant)
        if is_ours(seen, tenant) or snapshot.may_adopt or may_be_adopted(seen, tenant):
            return Conflict("the tenant exists and can be adopted")
        return reworded(refusal, f"{refusal.message} (it is {tenant.id})")

    async def _explained_domain(self, step: do.CreateTenant, refusal: Stall) -> PassError:
        for domain in step.settings.domains:
            try:
                holder = await self.account.cloudfront.find_tenant_by_domain(domain)
            except PassError:
                return refusal  # the holder only completes the message
            if holder is not None:
                return reworded(
                    refusal, f"{refusal.message} ({domain} belongs to tenant {holder.name}, {holder.id})"
                )
        return refusal

    # Changing what is there

    async def _update(
        self,
        live: DistributionTenant,
        settings: TenantSettings,
        certificate: ManagedCertificateRequest | None = None,
    ) -> DistributionTenant:
        try:
            tenant = await self.account.cloudfront.update_tenant(
                live.id, live.etag, settings, certificate=certificate
            )
        except (Retry, Conflict):
            self.account.tenants.mark_uncertain(
                live.id
            )  # the update may have succeeded: the next pass reads the tenant
            raise
        self.account.tenants.put(tenant)
        return tenant

    async def _disable(self, live: DistributionTenant) -> DistributionTenant:
        """Disable the tenant. All other settings are sent unchanged, since an update replaces everything.

        If CloudFront refuses the certificate, for example because it has expired, the tenant is disabled without it.
        """
        settings = replace(live.settings, enabled=False)
        custom = settings.customizations
        try:
            return await self._update(live, settings)
        except Stall as refusal:
            if refusal.error_type != INVALID.error_type or not custom.certificate_arn:
                raise
            bare = replace(settings, customizations=replace(custom, certificate_arn=""))
            return await self._update(live, bare)

    async def _delete(self, live: DistributionTenant) -> None:
        await self.account.cloudfront.delete_tenant(live.id, live.etag)
        self.account.tenants.remove(live.id)

    async def _mark(self, step: do.MarkTenant, snapshot: Snapshot) -> Snapshot:
        live = _live(snapshot)
        try:
            await self.account.cloudfront.tag(live.arn, step.tags)
        except Stall as refusal:
            is_mark = step.tags.items() <= snapshot.owner.tags().items()
            if not is_mark or not _is_about_tags(refusal):
                raise
            self.account.rights.note("tagging", refusal)
            return replace(snapshot, may_tag=False)
        marked = replace(live, tags={**live.tags, **step.tags})
        self.account.tenants.put(marked)
        return replace(snapshot, tenant=marked)


def _live(snapshot: Snapshot) -> DistributionTenant:
    """The tenant as it was read in this pass. Raise ValueError if it was not: a programming error."""
    if snapshot.details is None or not snapshot.is_live:
        raise ValueError("a tenant must be read live before it is changed")
    return snapshot.details


def _is_about_tags(refusal: Stall) -> bool:
    return refusal.error_type == "access_denied" and "TagResource" in refusal.message
