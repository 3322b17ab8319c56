"""Which object owns a tenant, and whether this one may adopt it. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.error_table import DOMAIN_CONFLICT, NAME_CONFLICT
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.claims import TENANT_NAME
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.errors import Stall
from edgekeeper.core.ownership import Ownership, is_mine, parse_tags
from edgekeeper.core.steps import Step
from edgekeeper.lifecycle.adoption import holder_message, inheritance_reason, may_adopt

CREATION_WINDOW: Final = timedelta(minutes=1)
"""Largest difference between `status.creationStarted` and the creation time in AWS of a tenant that counts as ours."""


def own_tenant(snapshot: Snapshot) -> TenantSummary | None:
    """The tenant, if this object owns it."""
    return snapshot.tenant if snapshot.tenant and is_ours(snapshot, snapshot.tenant) else None


def is_ours(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Does this object own the tenant?

    Its ownership tags decide. An untagged tenant is ours if the status has its id, its name is ours, and no other object
    claims the name or one of its domains. A tenant tagged by an earlier object of this name, or by the one of a lost
    cluster, is ours once its id is in the status. The latter is not deleted before it has our tags: until then its
    records may not be in the inventory, and would lead nowhere.
    """
    whose = whose_tenant(snapshot)
    is_known = tenant.id == snapshot.status.id and tenant.name == snapshot.tenant_name
    is_claimed = snapshot.losses or any(rival.scope == TENANT_NAME for rival in snapshot.rivals)
    if whose is Ownership.UNMARKED and not is_claimed:
        return is_known or _is_begun(snapshot, tenant)
    if whose is Ownership.INHERITED:
        is_unmarked = snapshot.deleting and snapshot.may_tag
        return is_known and not is_unmarked and may_be_adopted(snapshot, tenant)
    if whose is Ownership.FORMER:
        return is_known and may_be_adopted(snapshot, tenant)
    return whose is Ownership.MINE


def whose_tenant(snapshot: Snapshot) -> Ownership:
    """Ownership by the tags. Tags that were not read in this pass count as unmarked: the status decides then."""
    details = snapshot.details
    return is_mine(parse_tags(details.tags), snapshot.owner) if details else Ownership.UNMARKED


def is_inherited(snapshot: Snapshot) -> bool:
    """Has a lost cluster left the tenant, and does it still have the tags of that cluster?"""
    return whose_tenant(snapshot) is Ownership.INHERITED


def adoption(snapshot: Snapshot, tenant: TenantSummary) -> Step:
    """The step that records an existing tenant as ours. Raise Stall if it is not, and may not be adopted."""
    whose = whose_tenant(snapshot)
    if whose is Ownership.MINE:
        return do.AdoptTenant(tenant, snapshot.status.id, reason="its tags name this object as owner")
    if snapshot.losses:
        lost = "; ".join(snapshot.losses)
        raise Stall(DOMAIN_CONFLICT, f"tenant {tenant.name} ({tenant.id}) cannot be adopted: {lost}")
    if _is_begun(snapshot, tenant):
        return do.AdoptTenant(tenant, snapshot.status.id, reason="this object started its creation")
    mark = parse_tags(snapshot.details.tags) if snapshot.details else None
    if may_be_adopted(snapshot, tenant):
        wish = "the object has edgekeeper.io/adopt set"
        is_inherited = whose is Ownership.INHERITED
        reason = inheritance_reason(mark) if is_inherited else wish
        return do.AdoptTenant(tenant, snapshot.status.id, is_inherited=is_inherited, reason=reason)
    message = holder_message(whose, mark, snapshot.owner)
    raise Stall(NAME_CONFLICT, f"tenant {tenant.name} ({tenant.id}) exists and {message}")


def may_be_adopted(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """May a tenant that is not ours become ours?"""
    is_free = may_adopt(whose_tenant(snapshot), is_wished=snapshot.may_adopt)
    return is_free and tenant.name == snapshot.tenant_name and not snapshot.losses


def _is_begun(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Is it an untagged tenant that this object created, and the response was lost? Judged by the creation time."""
    began, created = snapshot.status.creation_started, tenant.created
    return (
        began is not None
        and created is not None
        and not snapshot.status.id
        and whose_tenant(snapshot) is Ownership.UNMARKED
        and tenant.name == snapshot.tenant_name
        and began - CREATION_WINDOW <= created <= began + CREATION_WINDOW
    )
