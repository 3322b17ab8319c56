"""Observe what a task is about: mostly from mirrors, which all tasks of an account share.

only where it is needed        so that an API token needs no right that nobody uses
    zones, zone records        records are wanted, or in the inventory
    tunnel rules               a tunnel hostname is wanted, or in the inventory
    applications               an application is wanted, or in the inventory
    service tokens, Secret     a token is wanted, or in the inventory
    organisation               a tunnel rule is wanted behind an application
    groups, policies, identity providers                 a setting names one

A live observation reads applications, service tokens and policies one by one. Tunnels and zones are read live by their
writers, before they write; they are listed here only where something of others seems to be in the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.accounts import Account
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.controllers.zerotrust.doubts import Doubts, What
from edgekeeper.controllers.zerotrust.inventory import known_inventory
from edgekeeper.controllers.zerotrust.observe_access import AccessObserver
from edgekeeper.controllers.zerotrust.observe_names import NameObserver
from edgekeeper.controllers.zerotrust.observe_tokens import TokenObserver
from edgekeeper.controllers.zerotrust.owner import LostCluster
from edgekeeper.controllers.zerotrust.resolve import Teams, resolve_access, resolve_zones
from edgekeeper.controllers.zerotrust.snapshot import (
    ResolvedAccess,
    Snapshot,
    Subject,
    Writes,
)
from edgekeeper.controllers.zerotrust.token_secrets import TokenSecrets
from edgekeeper.core.clock import Clock
from edgekeeper.core.steps import Sight


@dataclass(frozen=True)
class Base:
    """What is known without a call."""

    subject: Subject
    account: Account
    writes: Writes


@dataclass(frozen=True)
class Observer:
    """Observes tasks, and what stands for one."""

    cluster: str
    worker: str
    clock: Clock
    secrets: TokenSecrets
    doubts: Doubts
    lost: tuple[LostCluster, ...] = ()
    """The clusters whose routes are replaced by ours of the same namespace and name."""
    teams: Teams = field(default_factory=Teams)

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        """Everything that a decision depends on."""
        subject, account = base.subject, base.account
        snapshot = Snapshot(
            subject,
            account,
            self.cluster,
            self.worker,
            self.clock.now(),
            Sight.LIVE if live else Sight.CACHED,
            known_inventory(subject),
            base.writes,
            lost=self.lost,
        )
        if subject.is_complete:
            return snapshot
        await self._settle_doubts(account)
        snapshot = await self._resolved(snapshot)
        access, names = AccessObserver(), NameObserver()
        snapshot = await TokenObserver(self.secrets).with_tokens(snapshot, live=live)
        snapshot = await access.with_applications(snapshot, live=live)
        snapshot = await access.with_policies(snapshot, live=live)
        snapshot = await names.with_rules(snapshot, live=live)
        return await names.with_records(snapshot, live=live)

    async def _settle_doubts(self, account: Account) -> None:
        """List what a call without an answer may have created, before anything is created again."""
        for what in self.doubts.of(account):
            await _mirror(account, what).refresh()
            self.doubts.settle(account, what)

    async def _resolved(self, snapshot: Snapshot) -> Snapshot:
        subject, account = snapshot.subject, snapshot.account
        zones: Mapping[str, str] = {}
        if subject.wants_records:
            zones = await resolve_zones(account, subject.hostnames, subject.spec.zone_id)
        access = ResolvedAccess()
        if subject.wants_application:
            access = await resolve_access(account, subject.spec.operations.access_app)
        team = await self.teams.of(account) if subject.wants_access and subject.wants_tunnel else ""
        inventory = await _with_zones(account, snapshot.inventory, zones, subject.spec.zone_id)
        return replace(snapshot, zones=zones, access=access, team=team, inventory=inventory)


def _mirror(account: Account, what: What) -> Mirror[str, Any]:
    match what:
        case "applications":
            return account.applications
        case "policies":
            return account.policies
        case "tokens":
            return account.issued_tokens


async def _with_zones(
    account: Account, inventory: tuple[InventoryItem, ...], zones: Mapping[str, str], guard: str
) -> tuple[InventoryItem, ...]:
    """The inventory with the zone of each record. The first operators did not note it."""
    names = {item.name for item in inventory if item.kind == "DnsRecord" and not item.parent} - zones.keys()
    found = {**zones, **(await resolve_zones(account, sorted(names), guard) if names else {})}
    return tuple(
        msgspec.structs.replace(item, parent=found[item.name])
        if item.kind == "DnsRecord" and not item.parent
        else item
        for item in inventory
    )
