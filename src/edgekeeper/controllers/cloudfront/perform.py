"""Do the first step: one effect on AWS, or none.

Before an existing tenant is changed it is read live. The change is given up where it bears another object's mark, and
where it is not as it was when that was decided (`Conflict`): the next pass decides again. A creation is not repeated
blindly either: where CloudFront says that the name is taken, we look whose it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.meanings import DOMAIN_CONFLICT, NAME_CONFLICT
from edgekeeper.cloud.aws.mirrors import default_group
from edgekeeper.cloud.aws.tenants import DistributionTenant, TenantSettings, TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.desired import merged_settings
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.steps import Step
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags

_NOT_SHOWN_YET: Final = timedelta(seconds=30)
"""How long CloudFront may hide a tenant that it has just created."""


@dataclass(frozen=True)
class Performer:
    """Carries steps out."""

    account: Account

    async def perform(self, step: Step | None, snapshot: Snapshot, wake: Callable[[], None]) -> Snapshot:
        """Do it, and return the snapshot as it is now."""
        match step:
            case do.CreateTenant():
                return replace(snapshot, tenant=await self._create(step, snapshot))
            case do.UpdateTenant():
                return replace(snapshot, tenant=await self._update(step, snapshot))
            case do.DisableTenant():
                return replace(snapshot, tenant=await self._disable(step.tenant, snapshot.owner))
            case do.DeleteTenant():
                await self._delete(step.tenant, snapshot.owner)
                return replace(snapshot, tenant=None)
            case do.MarkTenant():
                return await self._mark(step, snapshot)
            case do.WriteRecords():
                self.account.desk.write(snapshot.owner.uid, step.records, snapshot.inventory, wake)
            case do.RemoveRecords():
                self.account.desk.remove(snapshot.owner.uid, step.records, wake)
            case do.RememberRecords():
                self.account.desk.supersede(snapshot.owner.uid, step.records)
                return replace(snapshot, inventory=(*snapshot.inventory, *step.records))
        return snapshot

    # Creating

    async def _create(self, step: do.CreateTenant, snapshot: Snapshot) -> DistributionTenant:
        tags = step.tags if snapshot.may_tag else {}
        try:
            tenant = await self.account.cloudfront.create_tenant(
                step.name, step.settings, tags=tags, certificate=step.certificate
            )
        except Stall as refusal:
            raise await self._explained(step, snapshot, refusal) from refusal
        self.account.tenants.put(tenant)
        if self.account.groups.synced and default_group(self.account.groups) is None:
            self.account.groups.poke()  # the first tenant of an account brings the default group
        return tenant

    async def _explained(self, step: do.CreateTenant, snapshot: Snapshot, refusal: Stall) -> PassError:
        """What a refusal to create comes to, after a look at who is in the way."""
        if refusal.error_type == "access_denied" and "TagResource" in refusal.message and snapshot.may_tag:
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
        if is_mine(parse_tags(found.tags), snapshot.owner) is Ownership.MINE or snapshot.may_adopt:
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

    async def _update(self, step: do.UpdateTenant, snapshot: Snapshot) -> DistributionTenant:
        live = await self._read(step.tenant, snapshot.owner)
        if live is None or live.etag != step.tenant.etag:
            raise Conflict("the tenant has changed since it was looked at")
        settings = merged_settings(snapshot.spec, live)
        if not step.settings.enabled:
            settings = replace(settings, enabled=False)
        return await self._replace(live, settings, step)

    async def _replace(
        self, live: DistributionTenant, settings: TenantSettings, step: do.UpdateTenant | None = None
    ) -> DistributionTenant:
        certificate = step.certificate if step else None
        try:
            tenant = await self.account.cloudfront.update_tenant(
                live.id, live.etag, settings, certificate=certificate
            )
        except (Retry, Conflict):
            self.account.tenants.doubt(live.id)  # it may have happened, and the next pass must know
            raise
        self.account.tenants.put(tenant)
        return tenant

    async def _disable(self, tenant: TenantSummary, owner: Owner) -> DistributionTenant | None:
        live = await self._read(tenant, owner)
        if live is None or not live.enabled:
            return live
        # All of its settings are sent again: an update replaces everything, and nothing is to be lost on the way out.
        return await self._replace(live, replace(live.settings, enabled=False))

    async def _delete(self, tenant: TenantSummary, owner: Owner) -> None:
        live = await self._read(tenant, owner)
        if live is None:
            return
        if live.enabled or live.in_progress:
            raise Conflict("the tenant is in use again")
        await self.account.cloudfront.delete_tenant(live.id, live.etag)
        self.account.tenants.remove(live.id)

    async def _mark(self, step: do.MarkTenant, snapshot: Snapshot) -> Snapshot:
        try:
            await self.account.cloudfront.tag(step.arn, step.tags)
        except Stall as refusal:
            if refusal.error_type != "access_denied":
                raise
            self.account.rights.note("tagging", refusal)
            return replace(snapshot, may_tag=False)
        details = snapshot.details
        if details is not None:
            marked = replace(details, tags={**details.tags, **step.tags})
            self.account.tenants.put(marked)
            return replace(snapshot, tenant=marked)
        return snapshot

    async def _read(self, decided: TenantSummary, owner: Owner) -> DistributionTenant | None:
        """The tenant, live. Raise Stall where it is another object's, whatever the decision took it for."""
        live = await self.account.tenants.read(decided.id)
        if live is not None and is_mine(parse_tags(live.tags), owner) is Ownership.OTHERS:
            raise Stall(NAME_CONFLICT, f"tenant {live.name} ({live.id}) bears the mark of another object")
        return live


def _like(refusal: Stall, message: str) -> Stall:
    """The same refusal in more words."""
    told = Stall(refusal.reason, message, refusal.after)
    told.error_type = refusal.error_type
    return told
