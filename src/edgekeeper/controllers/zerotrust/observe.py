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

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import msgspec

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.accounts import Account
from edgekeeper.cloud.cloudflare.models import Application, DnsRecord, Policy, ServiceToken
from edgekeeper.cloud.cloudflare.record_plan import plan_change
from edgekeeper.cloud.cloudflare.tunnel_writer import Rules
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.controllers.zerotrust.doubts import Doubts, What
from edgekeeper.controllers.zerotrust.inventory import known_inventory, merged
from edgekeeper.controllers.zerotrust.owner import cluster_tag
from edgekeeper.controllers.zerotrust.ownership import choose_application, choose_token, is_another_token
from edgekeeper.controllers.zerotrust.policy_documents import token_policy_name
from edgekeeper.controllers.zerotrust.resolve import Teams, listed, resolve_access, resolve_zones
from edgekeeper.controllers.zerotrust.snapshot import (
    ResolvedAccess,
    Snapshot,
    Subject,
    TokenSecret,
    Writes,
)
from edgekeeper.controllers.zerotrust.token_secrets import TokenSecrets
from edgekeeper.controllers.zerotrust.wanted_records import record_change, wanted_records
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Stall
from edgekeeper.core.steps import Sight
from edgekeeper.kube.kinds import Key


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
        )
        if subject.is_complete:
            return snapshot
        await self._settle_doubts(account)
        snapshot = await self._resolved(snapshot)
        snapshot = await self._with_tokens(snapshot, live=live)
        snapshot = await self._with_applications(snapshot, live=live)
        snapshot = await self._with_policies(snapshot, live=live)
        snapshot = await self._with_rules(snapshot, live=live)
        return await self._with_records(snapshot, live=live)

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

    # Applications

    async def _with_applications(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        subject, account = snapshot.subject, snapshot.account
        items = snapshot.items("AccessApplication")
        if not subject.wants_access and not items:
            return snapshot
        await listed(account.applications)
        snapshot = self._identified(snapshot)
        items = snapshot.items("AccessApplication")
        found = self._candidates(account, subject, items)
        if live:
            found = await _read_live(found, account.access.application, account.applications)
        ours, rivals = choose_application(
            snapshot, [one for one in found.values() if one], cluster_tag(self.cluster)
        )
        wanted = ours if subject.wants_application else None
        known = [item for item in items if item.id]
        surplus = {item.id: found.get(item.id) for item in known if wanted is None or item.id != wanted.id}
        gone = [item for item in known if live and surplus.get(item.id, item) is None]
        return replace(
            snapshot,
            application=wanted,
            rivals=rivals if subject.wants_application else (),
            shared=self._shared(account, subject),
            surplus={id_: one for id_, one in surplus.items() if not (live and one is None)},
            inventory=tuple(item for item in snapshot.inventory if item not in gone),
        )

    def _identified(self, snapshot: Snapshot) -> Snapshot:
        """With the ids of applications that were announced and exist; without those that neither exist nor are wanted."""
        subject, tag = snapshot.subject, cluster_tag(self.cluster)
        inventory: list[InventoryItem] = []
        for item in snapshot.inventory:
            if item.kind != "AccessApplication" or item.id:
                inventory.append(item)
                continue
            found = snapshot.account.applications_by_uri.find(item.name)
            made = [one for one in found if one.domain == item.name and tag in one.tags]
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

    def _shared(self, account: Account, subject: Subject) -> Application | None:
        """The application of another route that is to protect this one, if it is ours."""
        if not subject.shared_domain:
            return None
        tag = cluster_tag(self.cluster)
        found = account.applications_by_uri.find(subject.shared_domain)
        return next((one for one in found if one.domain == subject.shared_domain and tag in one.tags), None)

    # Service tokens and their Secrets

    async def _with_tokens(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        subject, account = snapshot.subject, snapshot.account
        items = snapshot.items("ServiceToken")
        if not subject.wants_token and not items:
            return await self._with_secrets(snapshot)
        await listed(account.issued_tokens)
        name = subject.spec.operations.service_token.name
        known = {item.id: account.issued_tokens.get(item.id) for item in items if item.id}
        by_name: dict[str, list[ServiceToken]] = {}
        for _, one in account.issued_tokens.items():  # noqa: PERF102 - a mirror is no dict
            by_name.setdefault(one.name, []).append(one)
        named = by_name.get(name, []) if subject.wants_token else []
        announced = {
            item.name for item in items if not item.id and not (subject.wants_token and item.name == name)
        }
        known |= {one.id: one for one in chain(*(by_name.get(name, []) for name in announced))}
        if live:
            known = await _read_live(known, account.service_tokens.get, account.issued_tokens)
        foreign = [item for item in items if is_another_token(item, known.get(item.id))]
        items = tuple(item for item in items if item not in foreign)
        known = {id_: one for id_, one in known.items() if id_ not in {item.id for item in foreign}}
        token, rivals = choose_token(subject, items, known, named)
        surplus = {id_: one for id_, one in known.items() if token is None or id_ != token.id}
        gone = [item for item in items if live and item.id and surplus.get(item.id, item) is None]
        gone += [item for item in items if not item.id and item.name in announced]
        gone += foreign
        found = [
            InventoryItem("ServiceToken", one.id, one.name)
            for one in surplus.values()
            if one and one.name in announced
        ]
        observed = replace(
            snapshot,
            token=token,
            rival_tokens=rivals,
            surplus_tokens={id_: one for id_, one in surplus.items() if not (live and one is None)},
            inventory=merged((item for item in snapshot.inventory if item not in gone), found),
        )
        return await self._with_secrets(observed)

    async def _with_secrets(self, snapshot: Snapshot) -> Snapshot:
        wanted = snapshot.subject.spec.operations.service_token
        name = secret_name(snapshot.subject)
        secret = None
        if snapshot.subject.wants_token:
            secret = await self.secrets.read(_key(name), wanted)
        surplus: dict[str, TokenSecret] = {}
        gone: list[InventoryItem] = []
        for item in snapshot.items("Secret"):
            if item.name == name and snapshot.subject.wants_token:
                continue
            found = await self.secrets.read(_key(item.name))
            if found is None:
                gone.append(item)
            else:
                surplus[item.name] = found
        inventory = tuple(item for item in snapshot.inventory if item not in gone)
        return replace(snapshot, secret=secret, surplus_secrets=surplus, inventory=inventory)

    # Reusable policies

    async def _with_policies(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        """The reusable policy that lets the token in, and such policies that are not needed any more."""
        subject, account = snapshot.subject, snapshot.account
        items = [item for item in snapshot.items("AccessPolicy") if not item.parent]
        wanted = subject.wants_token and subject.has_existing_policies
        if not wanted and not items:
            return snapshot
        await listed(account.policies)
        known = {item.id: account.policies.get(item.id) for item in items}
        if live:
            known = await _read_live(known, account.access.policy, account.policies)
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

    # Tunnel rules and records

    async def _with_rules(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        subject, account = snapshot.subject, snapshot.account
        places = {
            (item.parent or subject.spec.tunnel_id, item.name) for item in snapshot.items("TunnelHostname")
        }
        recorded = set(places)
        if subject.wants_tunnel:
            places |= {(subject.spec.tunnel_id, hostname) for hostname in subject.hostnames}
        if not places:
            return snapshot
        mirrors = {tunnel: account.tunnel(tunnel).mirror for tunnel, _ in sorted(places)}
        await listed(*mirrors.values())
        rules = _rules(mirrors, places)
        if live and any(rules[place] and place not in recorded for place in places):
            await asyncio.gather(*(mirror.refresh() for mirror in mirrors.values()))
            rules = _rules(mirrors, places)
        return replace(snapshot, rules=rules)

    async def _with_records(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        places = {(item.parent, item.name) for item in snapshot.items("DnsRecord") if item.parent}
        places |= {(zone, hostname) for hostname, zone in snapshot.zones.items()}
        if not places:
            return snapshot
        writers = {zone: snapshot.account.zone(zone) for zone, _ in sorted(places)}
        await listed(*(writer.mirror for writer in writers.values()))
        for writer in writers.values():
            if not writer.mirror.synced and isinstance(writer.mirror.problem, Stall):
                raise writer.mirror.problem
        records = {(zone, name): writers[zone].records_of(name) for zone, name in places}
        if live and self._is_in_the_way(snapshot, records):
            await asyncio.gather(*(writer.mirror.refresh() for writer in writers.values()))
            records = {(zone, name): writers[zone].records_of(name) for zone, name in places}
        return replace(snapshot, records=records)

    def _is_in_the_way(
        self, snapshot: Snapshot, records: Mapping[tuple[str, str], tuple[DnsRecord, ...]]
    ) -> bool:
        """Do records of others seem to be where ours shall be?"""
        wanted = wanted_records(snapshot.subject.spec)
        for hostname, zone in snapshot.zones.items():
            change = record_change(
                self.cluster, snapshot.subject.spec, hostname, wanted, known_records(snapshot, zone, hostname)
            )
            try:
                plan_change(change, records[zone, hostname])
            except Stall:
                return True
        return False


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


def _rules(
    mirrors: Mapping[str, Mirror[str, Rules]], places: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], Rules]:
    for mirror in mirrors.values():
        if not mirror.synced and isinstance(mirror.problem, Stall):
            raise mirror.problem
    return {(tunnel, hostname): mirrors[tunnel].get(hostname) or () for tunnel, hostname in places}


async def _read_live(found: Mapping[str, Any], read: Any, mirror: Mirror[str, Any]) -> dict[str, Any]:
    """The same objects as they are now. The mirror shows them from now on."""
    live: dict[str, Any] = {}
    for id_ in found:
        live[id_] = await read(id_)
        if live[id_] is None:
            mirror.remove(id_)
        else:
            mirror.put(id_, live[id_])
    return live


def secret_name(subject: Subject) -> str:
    """Namespace and name of the Secret of the service token."""
    token, route = subject.spec.operations.service_token, subject.spec.httproute_ref
    return f"{token.secret_namespace or route.namespace}/{token.secret_name or f'{route.name}-cfzt-service-token'}"


def known_records(snapshot: Snapshot, zone: str, hostname: str) -> dict[str, tuple[str, str]]:
    """Type and content of the records of a hostname that are in the inventory, by id."""
    return {
        item.id: (item.type, item.content)
        for item in snapshot.items("DnsRecord")
        if item.id and item.parent == zone and item.name == hostname
    }


def _key(name: str) -> Key:
    namespace, _, bare = name.partition("/")
    return Key(namespace, bare)
