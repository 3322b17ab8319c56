"""Cloudflare for everybody in this process: several accounts and tokens at once, and one writer for each shared thing.

    cloudflare = Cloudflare(transport, HttpSender(), clock, metrics)
    async with asyncio.TaskGroup() as group:
        group.create_task(cloudflare.run())
        …
        account = cloudflare.account(credential, account_id)
        zone = account.zone_of("app.example.com")                       from a mirror
        account.tunnel(tunnel_id).submit(HostnameChange(…), wake=…)     one write for all who ask meanwhile
        account.zone(zone.id).submit(RecordChange(…), wake=…)
        await account.access.create_application(…)

What is kept is kept per credential: nobody sees or changes through another's token what its own would not allow. Only
the turn at a tunnel is common to all, since two writers of one document would undo each other's work.

Mirrors and writers are started when they are first asked for, and work as long as `run` does, or until the account is
forgotten. Whatever an account's token may not do is not asked for before somebody wants it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeAlias

from edgekeeper.cloud.cloudflare import tunnel_writer
from edgekeeper.cloud.cloudflare.access import Access
from edgekeeper.cloud.cloudflare.client import BASE_URL, CloudflareClient
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.hostnames import zone_of
from edgekeeper.cloud.cloudflare.models import (
    Application,
    Group,
    Policy,
    ServiceToken,
    TokenStatus,
    Zone,
)
from edgekeeper.cloud.cloudflare.records import Records
from edgekeeper.cloud.cloudflare.sender import Sender
from edgekeeper.cloud.cloudflare.service_tokens import ServiceTokens
from edgekeeper.cloud.cloudflare.tokens import verify
from edgekeeper.cloud.cloudflare.tunnel_writer import TunnelWriter
from edgekeeper.cloud.cloudflare.tunnels import Tunnels
from edgekeeper.cloud.cloudflare.zone_writer import ZoneWriter
from edgekeeper.cloud.cloudflare.zones import Zones
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS as USUAL_PACE
from edgekeeper.cloud.mirror import K, Lister, Mirror, MirrorOptions, V
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.clock import Clock

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class CloudflareOptions:
    """Settings that hold for all accounts."""

    base_url: str = BASE_URL
    pace: MirrorOptions = USUAL_PACE
    window: timedelta = timedelta(seconds=1)
    """How long a change waits for others to be written with."""


DEFAULT_OPTIONS = CloudflareOptions()


class Cloudflare:
    """See the module."""

    def __init__(
        self,
        transport: Transport,
        sender: Sender,
        clock: Clock,
        metrics: CloudMetrics,
        options: CloudflareOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.options = options
        self._transport = transport
        self._sender = sender
        self._clock = clock
        self._metrics = metrics
        self._accounts: dict[tuple[str, str], Account] = {}
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}
        self._waiting: list[tuple[Account, Work]] = []
        self._tasks: dict[asyncio.Task[None], Account] = {}
        self._news = asyncio.Event()

    def account(self, credential: Credential, account_id: str) -> Account:
        """An account as one credential sees it."""
        known = self._accounts.get((credential.name, account_id))
        if known is None:
            client = CloudflareClient(self._transport, self._sender, credential, self.options.base_url)
            known = self._accounts[credential.name, account_id] = Account(self, client, account_id)
        return known

    def forget(self, credential: Credential, account_id: str) -> None:
        """Nobody needs this account with this credential any more: end what runs for it."""
        account = self._accounts.pop((credential.name, account_id), None)
        self._waiting = [(owner, work) for owner, work in self._waiting if owner is not account]
        for task, owner in list(self._tasks.items()):
            if owner is account:
                task.cancel()

    async def run(self) -> None:
        """Keep mirrors fresh and write what was handed in, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                for owner, work in self._waiting:
                    task = group.create_task(work())
                    self._tasks[task] = owner
                    task.add_done_callback(self._tasks.pop)
                self._waiting.clear()
                self._news.clear()
                await self._news.wait()

    def start(self, owner: Account, work: Work) -> None:
        """Let something run for an account, from now on."""
        self._waiting.append((owner, work))
        self._news.set()

    def turn(self, account_id: str, tunnel_id: str) -> asyncio.Lock:
        """Held by whoever writes the tunnel."""
        return self._turns.setdefault((account_id, tunnel_id), asyncio.Lock())

    def mirror(self, owner: Account, what: str, lister: Lister[K, V]) -> Mirror[K, V]:
        """A mirror that is kept fresh from now on."""
        name = f"cloudflare {what} by {owner.client.credential.name}"
        made = Mirror(name, lister, self._clock, self._metrics, options=self.options.pace)
        self.start(owner, made.run)
        return made


class Account:
    """One account as one credential sees it."""

    def __init__(self, cloudflare: Cloudflare, client: CloudflareClient, account_id: str) -> None:
        self.id = account_id
        self.client = client
        self.access = Access(client, account_id)
        self.service_tokens = ServiceTokens(client, account_id)
        self.tunnels = Tunnels(client, account_id)
        self._cloudflare = cloudflare
        self._zone_writers: dict[str, ZoneWriter] = {}
        self._tunnel_writers: dict[str, TunnelWriter] = {}

    async def verify(self) -> TokenStatus:
        """What Cloudflare says about the token. Raise Stall where it does not work."""
        return await verify(self.client, self.id)

    # What the account holds, as last seen

    @cached_property
    def zones(self) -> Mirror[str, Zone]:
        return self._mirror("zones", Zones(self.client, self.id).pages)

    @cached_property
    def applications(self) -> Mirror[str, Application]:
        self.access.written_applications.mirror = made = self._mirror(
            "applications", self.access.application_pages
        )
        return made

    @cached_property
    def policies(self) -> Mirror[str, Policy]:
        self.access.written_policies.mirror = made = self._mirror("policies", self.access.policy_pages)
        return made

    @cached_property
    def groups(self) -> Mirror[str, Group]:
        return self._mirror("groups", self.access.group_pages)

    @cached_property
    def issued_tokens(self) -> Mirror[str, ServiceToken]:
        self.service_tokens.written.mirror = made = self._mirror("service tokens", self.service_tokens.pages)
        return made

    def zone_of(self, hostname: str) -> Zone | None:
        """The active zone that a hostname belongs to. Raise NotSyncedError where the zones are not known yet."""
        return zone_of(hostname, (zone for _, zone in self.zones.items() if zone.status == "active"))

    # What many share

    def zone(self, zone_id: str) -> ZoneWriter:
        """The writer of a zone's records, and through it their mirror."""
        known = self._zone_writers.get(zone_id)
        if known is None:
            records = Records(self.client, zone_id)
            mirror = self._mirror(f"zone {zone_id}", records.pages)
            known = ZoneWriter(records, zone_id, mirror, window=self._cloudflare.options.window)
            self._zone_writers[zone_id] = known
            self._cloudflare.start(self, known.run)
        return known

    def tunnel(self, tunnel_id: str) -> TunnelWriter:
        """The writer of a tunnel's rules, and through it their mirror."""
        known = self._tunnel_writers.get(tunnel_id)
        if known is None:
            mirror = self._mirror(f"tunnel {tunnel_id}", tunnel_writer.lister(self.tunnels, tunnel_id))
            turn = self._cloudflare.turn(self.id, tunnel_id)
            known = TunnelWriter(
                self.tunnels, tunnel_id, mirror, turn, window=self._cloudflare.options.window
            )
            self._tunnel_writers[tunnel_id] = known
            self._cloudflare.start(self, known.run)
        return known

    def _mirror(self, what: str, lister: Lister[K, V]) -> Mirror[K, V]:
        return self._cloudflare.mirror(self, f"{what} of {self.id}", lister)
