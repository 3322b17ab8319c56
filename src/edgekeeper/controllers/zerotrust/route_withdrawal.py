"""How to withdraw what exists because of a route: in which account, and with which credential."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from edgekeeper.api.zerotrust_task import CredentialSecretRef, InventoryItem, Operations, TaskSpec, TenantRef
from edgekeeper.controllers.zerotrust.route_cluster import TENANT_NOT_FOUND, Cluster, Tenant
from edgekeeper.controllers.zerotrust.route_situation import Facts, Wanted
from edgekeeper.controllers.zerotrust.route_specs import bare
from edgekeeper.core.errors import Stall
from edgekeeper.kube.kinds import Key


@dataclass(frozen=True)
class Withdrawals:
    """Finds the account and the credential for a withdrawal."""

    cluster: Cluster

    def moved(self, facts: Facts, wanted: Wanted) -> TaskSpec | None:
        """How to leave the account in which a route was published before; None where it is the same."""
        state = facts.state.state if facts.state is not None else None
        if state is None or not state.inventory:
            return None
        account = state.account_id
        if account:
            return None if account == wanted.spec.account_id else state.applied
        # The described operators recorded the name of the tenant only.
        before = state.tenant
        if before is None or before.name == wanted.spec.tenant_ref.name:
            return None
        spec = self.spec(facts)
        return None if spec is None or spec.account_id == wanted.spec.account_id else spec

    def spec(self, facts: Facts, annotated: str = "", *, orphan: bool = False) -> TaskSpec | None:
        """How to withdraw what exists because of a route; None where nothing does.

        Raise Stall where its tenant is gone: then nobody may act in its account.
        """
        queued = facts.task.spec if facts.task is not None else None
        if not facts.inventory and queued is None:
            return None
        state = facts.state.state if facts.state is not None else None
        recorded = queued or (state.applied if state is not None else None)
        tenant = self._tenant_of(facts, recorded, annotated)
        spec = recorded or _unrecorded(facts, tenant)
        spec = structs.replace(bare(spec), orphan=orphan)
        if not spec.account_id or spec.account_id == tenant.object.spec.account_id:
            return structs.replace(
                spec, account_id=tenant.object.spec.account_id, credential_secret_ref=credential_of(tenant)
            )
        return spec

    def _tenant_of(self, facts: Facts, recorded: TaskSpec | None, annotated: str) -> Tenant:
        state = facts.state.state if facts.state is not None else None
        ref = recorded.tenant_ref if recorded is not None else state.tenant if state is not None else None
        route = Key(facts.route.namespace, facts.route.name)
        if ref is None:
            return self.cluster.tenant(route, annotated)
        keys = (
            [Key(ref.namespace, ref.name)]
            if ref.namespace
            else self.cluster.recorded_tenant_keys(route, ref.name)
        )
        for key in keys:
            if (tenant := self.cluster.tenant_named(key)) is not None:
                return tenant
        raise Stall(
            TENANT_NOT_FOUND,
            f"CloudflareZeroTrustTenant {' nor '.join(map(str, keys))} is gone, so nothing can be withdrawn from its "
            f"account: create it again. What exists: {', '.join(remains(facts.inventory)) or 'unknown'}",
        )


def credential_of(tenant: Tenant) -> CredentialSecretRef:
    ref = tenant.object.spec.credential_ref
    return CredentialSecretRef(ref.name, tenant.key.namespace, ref.key)


def _unrecorded(facts: Facts, tenant: Tenant) -> TaskSpec:
    """The spec for a route of another operator, which recorded only ids."""
    state = facts.state.state if facts.state is not None else None
    spec = tenant.object.spec
    return TaskSpec(
        httproute_ref=facts.route,
        tenant_ref=TenantRef(tenant.key.name, tenant.key.namespace),
        hostname=state.hostname if state is not None else "",
        operations=Operations(),
        account_id=spec.account_id,
        tunnel_id=(state.tunnel_id if state is not None else "") or spec.tunnel_id,
        zone_id=spec.zone_id or "",
    )


def remains(inventory: tuple[InventoryItem, ...]) -> list[str]:
    """What exists, for messages."""
    words = {
        "AccessApplication": "Access application",
        "AccessPolicy": "Access policy",
        "ServiceToken": "service token",
        "TunnelHostname": "tunnel hostname",
        "DnsRecord": "DNS record",
        "Secret": "Secret",
    }
    return [" ".join(filter(None, (words[item.kind], item.type, item.name or item.id))) for item in inventory]
