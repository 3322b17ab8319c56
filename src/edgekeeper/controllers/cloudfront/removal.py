"""The steps of a deletion. Pure.

remove records → disable tenant → delete tenant: no record points to a deleted tenant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from edgekeeper.cloud.aws.dns.planning import (
    awaiting_propagation,
    blocked_deletion,
    combined,
    refused_removals,
    removing,
)
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.ownership import own_tenant
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.errors import Stall
from edgekeeper.core.steps import Step

_DANGLING: Final = "no record may point to a deleted tenant"


def removal_steps(snapshot: Snapshot) -> tuple[Step, ...]:
    """Remove records, then the tenant. This depends on the inventory and the tenant, not on the spec.

    If records cannot be removed the tenant is disabled but not deleted: as long as it has the domains that point to it,
    no other tenant can claim them. The error is raised once nothing else is left to do.
    """
    tenant = own_tenant(snapshot)
    disabling = tuple(_disabling(tenant)) if tenant else ()
    if (error := snapshot.records.work.error) is not None and (tenant or snapshot.records.inventory):
        if not disabling:
            raise blocked_deletion(error, (), _kept(tenant)) if isinstance(error, Stall) else error
        return disabling
    entries = snapshot.records.removable
    removals = tuple(removing(snapshot.records, entries, "the object is being deleted"))
    if refused := refused_removals(snapshot.records, entries):
        if not removals and not disabling:
            raise blocked_deletion(combined(refused), refused, _kept(tenant))
        return (*removals, *disabling)
    return (*removals, *(_tenant_removal(snapshot, tenant) if tenant else ()))


def _kept(tenant: TenantSummary | None) -> str:
    return "the tenant is kept, disabled, as long as records may point to it" if tenant else ""


def _tenant_removal(snapshot: Snapshot, tenant: TenantSummary) -> Iterator[Step]:
    yield from _disabling(tenant)
    if not tenant.enabled and tenant.in_progress:
        yield do.AwaitDeployment(
            tenant, reason="a tenant can be deleted once it is disabled at all edge locations"
        )
    yield from awaiting_propagation(snapshot.records, _DANGLING)
    for domain, holder in sorted(snapshot.leading.items()):
        yield do.AwaitWithdrawal(domain, holder, reason=_DANGLING)
    yield do.DeleteTenant(tenant, reason="the object is being deleted")


def _disabling(tenant: TenantSummary) -> Iterator[Step]:
    if tenant.enabled:
        yield do.DisableTenant(tenant, reason="only a disabled tenant can be deleted")
