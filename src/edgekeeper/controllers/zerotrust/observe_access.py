"""Observe Access applications and reusable policies: from mirrors, and live one by one where something is to be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.accounts import Account
from edgekeeper.cloud.cloudflare.models import Application, Policy
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.controllers.zerotrust.inventory import merged
from edgekeeper.controllers.zerotrust.ownership import choose_application
from edgekeeper.controllers.zerotrust.policy_documents import token_policy_name
from edgekeeper.controllers.zerotrust.resolve import listed
from edgekeeper.controllers.zerotrust.snapshot import (
    Snapshot,
    Subject,
)


@dataclass(frozen=True)
class AccessObserver:
    """Observes applications and policies."""

    async def with_applications(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        subject, account = snapshot.subject, snapshot.account
        items = snapshot.items("AccessApplication")
        if not subject.wants_access and not items:
            return snapshot
        await listed(account.applications)
        snapshot = self._identified(snapshot)
        items = snapshot.items("AccessApplication")
        found = self._candidates(account, subject, items)
        if live:
            found = await read_live(found, account.access.application, account.applications)
        ours, rivals = choose_application(snapshot, [one for one in found.values() if one])
        wanted = ours if subject.wants_application else None
        known = [item for item in items if item.id]
        surplus = {item.id: found.get(item.id) for item in known if wanted is None or item.id != wanted.id}
        gone = [item for item in known if live and surplus.get(item.id, item) is None]
        return replace(
            snapshot,
            application=wanted,
            rivals=rivals if subject.wants_application else (),
            shared=self._shared(snapshot),
            surplus={id_: one for id_, one in surplus.items() if not (live and one is None)},
            inventory=tuple(item for item in snapshot.inventory if item not in gone),
        )

    def _identified(self, snapshot: Snapshot) -> Snapshot:
        """With the ids of applications that were announced and exist; without those that neither exist nor are wanted."""
        subject, tags = snapshot.subject, snapshot.tags
        inventory: list[InventoryItem] = []
        for item in snapshot.inventory:
            if item.kind != "AccessApplication" or item.id:
                inventory.append(item)
                continue
            found = snapshot.account.applications_by_uri.find(item.name)
            made = [one for one in found if one.domain == item.name and not tags.isdisjoint(one.tags)]
            inventory += [InventoryItem("AccessApplication", one.id, one.domain) for one in made]
            if not made and subject.wants_application and item.name in subject.hostnames:
                inventory.append(item)
        return replace(snapshot, inventory=merged(inventory))

    def _candidates(
        self, account: Account, subject: Subject, items: Iterable[InventoryItem]
    ) -> dict[str, Application | None]:
        """Applications in the inventory, and those of a wanted hostname, by id."""
        found: dict[str, Application | None] = {
            item.id: account.applications.get(item.id) for item in items if item.id
        }
        if subject.wants_application:
            for hostname in subject.hostnames:
                found |= {one.id: one for one in account.applications_by_uri.find(hostname)}
        return found

    def _shared(self, snapshot: Snapshot) -> Application | None:
        """The application of another route that is to protect this one, if it is ours."""
        domain, tags = snapshot.subject.shared_domain, snapshot.tags
        if not domain:
            return None
        found = snapshot.account.applications_by_uri.find(domain)
        ours = (one for one in found if one.domain == domain and not tags.isdisjoint(one.tags))
        return next(ours, None)

    async def with_policies(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        """The reusable policy that lets the token in, and such policies that are not needed any more."""
        subject, account = snapshot.subject, snapshot.account
        items = [item for item in snapshot.items("AccessPolicy") if not item.parent]
        wanted = subject.wants_token and subject.has_existing_policies
        if not wanted and not items:
            return snapshot
        await listed(account.policies)
        known = {item.id: account.policies.get(item.id) for item in items}
        if live:
            known = await read_live(known, account.access.policy, account.policies)
        policy = self._token_policy(snapshot, known) if wanted else None
        surplus = {id_: one for id_, one in known.items() if policy is None or id_ != policy.id}
        gone = [item for item in items if live and surplus.get(item.id, item) is None]
        return replace(
            snapshot,
            token_policy=policy,
            surplus_policies={id_: one for id_, one in surplus.items() if not (live and one is None)},
            inventory=tuple(item for item in snapshot.inventory if item not in gone),
        )

    def _token_policy(self, snapshot: Snapshot, known: Mapping[str, Policy | None]) -> Policy | None:
        """The one in the inventory, else the one of its name that is about our token and nobody else."""
        for policy in known.values():
            if policy is not None:
                return policy
        name = token_policy_name(snapshot.subject.spec)
        rule = {"service_token": {"token_id": snapshot.token.id}} if snapshot.token else None
        return next(
            (
                policy
                for _, policy in snapshot.account.policies.items()
                if policy.name == name and policy.decision == "non_identity" and policy.include == (rule,)
            ),
            None,
        )


async def read_live(found: Mapping[str, Any], read: Any, mirror: Mirror[str, Any]) -> dict[str, Any]:
    """The same objects as they are now. The mirror shows them from now on."""
    live: dict[str, Any] = {}
    for id_ in found:
        live[id_] = await read(id_)
        if live[id_] is None:
            mirror.remove(id_)
        else:
            mirror.put(id_, live[id_])
    return live
