"""Do the first step: one effect on AWS, or none.

A tenant that is changed was read live when that was decided, and its ETag goes along: where somebody else was quicker
CloudFront refuses (`Conflict`), and the next pass decides again. A creation is not repeated blindly either: where
CloudFront says that the name is taken, we look whose it is.
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
from edgekeeper.controllers.cloudfront.decide import is_ours
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait
from edgekeeper.core.ownership import Ownership, is_mine, parse_tags
from edgekeeper.core.steps import Step

_UNKNOWN: Final = ManagedCertificate("", PENDING, "")
"""One that was requested, and not seen yet: what was there before it says nothing about it."""
_NOT_SHOWN_YET: Final = timedelta(seconds=30)
"""How long CloudFront may hide a tenant that it has just created."""

_UNDER_WAY: Final = timedelta(seconds=2)
_WITHDRAWAL: Final = timedelta(seconds=1)
"""How long names may lead to somebody else once we know of it."""


@dataclass(frozen=True)
class Performer:
    """Carries steps out."""

    account: CloudFrontAccount

    async def perform(self, step: Step | None, snapshot: Snapshot, wake: Callable[[], None]) -> Snapshot:
        """Do it, and return the snapshot as it is now."""
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
        """Remove our mark from a tenant that bears it. Its other tags stay. Raise Wait while records are being written."""
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
                # The spec's tags may be what is not allowed. That is between the user and AWS, but the mark is ours.
                return await self._create(replace(step, tags=mark), snapshot)
            raise await self._explained(step, snapshot, refusal) from refusal
        self.account.tenants.put(tenant)
        if self.account.groups.synced and default_group(self.account.groups) is None:
            self.account.groups.poke()  # the first tenant of an account brings the default group
        return tenant

    async def _requested(self, tenant: DistributionTenant) -> ManagedCertificate | None:
        """The certificate that was just requested: known now, it needs no pass of its own."""
        try:
            return await self.account.ask_certificate(tenant)
        except PassError:
            return None  # first it is written down what we have created; the next pass asks again

    def _with_certificate(self, snapshot: Snapshot, certificate: ManagedCertificate | None) -> Snapshot:
        names = self.account.known_names(certificate) if certificate else None
        return replace(snapshot, certificate=certificate, managed_names=names)

    async def _explained(self, step: do.CreateTenant, snapshot: Snapshot, refusal: Stall) -> PassError:
        """What a refusal to create comes to, after a look at who is in the way."""
        if _is_about_tags(refusal) and snapshot.may_tag:
            self.account.rights.note("tagging", refusal)
            return Conflict("tenants are created without tags from now on")
        if refusal.reason == NAME_CONFLICT:
            return await self._explained_name(step, snapshot, refusal)
        if refusal.reason == DOMAIN_CONFLICT:
            return await self._explained_domain(step, refusal)
        return refusal

    async def _explained_name(self, step: do.CreateTenant, snapshot: Snapshot, refusal: Stall) -> PassError:
        found = await self.account.tenants.read(step.name)
        if found is None:
            return Wait(_NOT_SHOWN_YET, NAME_CONFLICT, f"{refusal.message}; it is not shown to us yet")
        if is_ours(replace(snapshot, tenant=found), found) or snapshot.may_adopt:
            return Conflict("the tenant is there, and ours")
        return _like(refusal, f"{refusal.message} (it is {found.id})")

    async def _explained_domain(self, step: do.CreateTenant, refusal: Stall) -> PassError:
        for domain in step.settings.domains:
            try:
                holder = await self.account.cloudfront.find_tenant_by_domain(domain)
            except PassError:
                return refusal  # who has it is good to know, and not ours to insist on
            if holder is not None:
                return _like(
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
            self.account.tenants.doubt(live.id)  # it may have happened, and the next pass must know
            raise
        self.account.tenants.put(tenant)
        return tenant

    async def _disable(self, live: DistributionTenant) -> DistributionTenant:
        """All settings are sent again: an update replaces everything, and nothing is to be lost on the way out.

        But for a certificate that CloudFront does not take any more, because it has expired say: a tenant that is
        disabled needs none.
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
    """The tenant as it was read in this pass. Whoever wants to change another one has made a mistake."""
    if snapshot.details is None or not snapshot.is_live:
        raise ValueError("a tenant is read before it is changed")
    return snapshot.details


def _is_about_tags(refusal: Stall) -> bool:
    return refusal.error_type == "access_denied" and "TagResource" in refusal.message


def _like(refusal: Stall, message: str) -> Stall:
    """The same refusal in more words."""
    told = Stall(refusal.reason, message, refusal.after)
    told.error_type = refusal.error_type
    return told
