"""Cloudflare accounts of a process: several accounts and tokens, and one writer for each shared document.

    cloudflare = Cloudflare(transport, HttpSender(), clock, metrics)
    cloudflare.add_user(tenants.use_account)                            called before an account is released
    group.create_task(cloudflare.run())
    …
    account = cloudflare.account(credential, account_id)                the same for all callers
    zone = account.zone_of("app.example.com")                           from a mirror
    account.tunnel(tunnel_id).submit(HostnameChange(…), wake=…)         one write for all pending changes
    account.zone(zone.id).submit(RecordChange(…), wake=…)
    await account.access.create_application(…)

*Guarantees*
 - Each credential has its own mirrors and writers per account, so that permissions of one token are never used for
   another. Rate limits apply to the token itself, also if two Secrets contain the same token.
 - A tunnel or zone that is written with several credentials is written by one at a time, and each writer takes into
   account what the others have written (`cloud.write_lock`).
 - Mirrors and writers are started on first use, so that a token needs only the permissions that are used. They run as
   long as their account is needed: see `cloud.registry`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import NamedTuple

from edgekeeper.cloud.cache import LookupCache
from edgekeeper.cloud.cloudflare import tunnel_writer
from edgekeeper.cloud.cloudflare.access import Access
from edgekeeper.cloud.cloudflare.application_index import ApplicationIndex
from edgekeeper.cloud.cloudflare.client import BASE_URL, CloudflareClient
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.hostnames import zone_of
from edgekeeper.cloud.cloudflare.models import (
    Application,
    Group,
    IdentityProvider,
    Organization,
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
from edgekeeper.cloud.registry import Registry
from edgekeeper.cloud.shared_run import SharedRun
from edgekeeper.cloud.supervisor import Supervisor
from edgekeeper.cloud.transport import Transport
from edgekeeper.cloud.write_lock import WriteLocks
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Stall, fresh


@dataclass(frozen=True, slots=True)
class CloudflareOptions:
    """Settings of all accounts."""

    base_url: str = BASE_URL
    pace: MirrorOptions = USUAL_PACE
    window: timedelta = timedelta(seconds=1)
    """How long a change waits for others, to be written with them."""
    longest: timedelta = timedelta(seconds=30)
    """How long it waits at most while others keep coming."""


DEFAULT_OPTIONS = CloudflareOptions()


class AccountKey(NamedTuple):
    """An account as one credential sees it."""

    credential: Credential
    account_id: str


class Cloudflare:
    """The accounts that are in use."""

    def __init__(
        self,
        transport: Transport,
        sender: Sender,
        clock: Clock,
        metrics: CloudMetrics,
        options: CloudflareOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.options = options
        self.tunnel_locks: WriteLocks[str, TunnelWriter] = WriteLocks()
        self.zone_locks: WriteLocks[str, ZoneWriter] = WriteLocks()
        self._transport = transport
        self._sender = sender
        self.clock = clock
        self._metrics = metrics
        self._accounts: Registry[AccountKey, Account] = Registry("Cloudflare accounts", self._make, clock)
        self.run = SharedRun("Cloudflare accounts", self._accounts.run).run

    def account(self, credential: Credential, account_id: str) -> Account:
        """An account as one credential sees it."""
        return self._accounts.get(AccountKey(credential, account_id))

    def add_user(self, user: Callable[[AccountKey], bool]) -> None:
        """Call `user` before an account is released: True keeps it. Without any user, accounts are not released."""
        self._accounts.add_user(user)

    def mirror(self, name: str, lister: Lister[K, V]) -> Mirror[K, V]:
        return Mirror(name, lister, self.clock, self._metrics, options=self.options.pace)

    def _make(self, key: AccountKey) -> Account:
        client = CloudflareClient(self._transport, self._sender, key.credential, self.options.base_url)
        return Account(self, client, key.account_id)


class Account:
    """One account as one credential sees it."""

    def __init__(self, cloudflare: Cloudflare, client: CloudflareClient, account_id: str) -> None:
        self.id = account_id
        self.client = client
        self.access = Access(client, account_id)
        self.service_tokens = ServiceTokens(client, account_id)
        self.tunnels = Tunnels(client, account_id)
        self._cloudflare = cloudflare
        self._tasks: Supervisor[str] = Supervisor(f"account {account_id} by {client.credential.name}")
        self.run = self._tasks.run
        self._organization: LookupCache[str, Organization | Stall] = LookupCache(
            self._ask_organization, cloudflare.clock
        )
        self._tags: set[str] = set()
        self._tag_turn = asyncio.Lock()
        self._zone_writers: dict[str, ZoneWriter] = {}
        self._tunnel_writers: dict[str, TunnelWriter] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no change is waiting or being written."""
        writers: list[ZoneWriter | TunnelWriter] = [
            *self._zone_writers.values(),
            *self._tunnel_writers.values(),
        ]
        return not any(writer.pending for writer in writers)

    async def verify(self) -> TokenStatus:
        """The status of the token. Raise Stall if it is not usable."""
        return await verify(self.client, self.id)

    # Mirrors of the account

    @cached_property
    def zones(self) -> Mirror[str, Zone]:
        return self._mirror("zones", Zones(self.client, self.id).pages)

    @cached_property
    def applications(self) -> Mirror[str, Application]:
        self.access.written_applications.mirror = mirror = self._mirror(
            "applications", self.access.application_pages
        )
        return mirror

    @cached_property
    def applications_by_uri(self) -> ApplicationIndex:
        """The same by the addresses that they protect."""
        return ApplicationIndex(self.applications)

    @cached_property
    def policies(self) -> Mirror[str, Policy]:
        self.access.written_policies.mirror = mirror = self._mirror("policies", self.access.policy_pages)
        return mirror

    @cached_property
    def groups(self) -> Mirror[str, Group]:
        return self._mirror("groups", self.access.group_pages)

    @cached_property
    def issued_tokens(self) -> Mirror[str, ServiceToken]:
        self.service_tokens.written.mirror = mirror = self._mirror(
            "service tokens", self.service_tokens.pages
        )
        return mirror

    @cached_property
    def identity_providers(self) -> Mirror[str, IdentityProvider]:
        return self._mirror("identity providers", self.access.identity_provider_pages)

    async def organization(self) -> Organization:
        """The organisation, asked for once in a while; a refusal is remembered for as long. Raise Stall for one."""
        answer = await self._organization.get(self.id)
        if isinstance(answer, Stall):
            raise fresh(answer)
        return answer

    async def _ask_organization(self, _: str) -> Organization | Stall:
        try:
            return await self.access.organization()
        except Stall as refusal:
            return fresh(refusal)

    async def ensure_tag(self, name: str) -> None:
        """Make sure that applications may carry this tag. Asked once per tag."""
        if name not in self._tags:
            async with self._tag_turn:
                if name not in self._tags:
                    await self.access.ensure_tag(name)
                    self._tags.add(name)

    def forget_tag(self, name: str) -> None:
        """Somebody has deleted the tag."""
        self._tags.discard(name)

    def zone_of(self, hostname: str) -> Zone | None:
        """The active zone that a hostname belongs to. Raise NotSyncedError if the zones are not listed yet."""
        return zone_of(hostname, (zone for _, zone in self.zones.items() if zone.status == "active"))

    # Writers of shared documents

    def zone(self, zone_id: str) -> ZoneWriter:
        """The writer of a zone's records, which also has their mirror."""
        writer = self._zone_writers.get(zone_id)
        if writer is None:
            records = Records(self.client, zone_id)
            mirror = self._mirror(f"zone {zone_id}", records.pages)
            lock = self._cloudflare.zone_locks.of(zone_id)
            options = self._cloudflare.options
            writer = ZoneWriter(
                records, zone_id, mirror, lock, window=options.window, longest=options.longest
            )
            self._zone_writers[zone_id] = writer
            self._tasks.start(f"writer of zone {zone_id}", writer.run)
        return writer

    def tunnel(self, tunnel_id: str) -> TunnelWriter:
        """The writer of a tunnel's rules, which also has their mirror."""
        writer = self._tunnel_writers.get(tunnel_id)
        if writer is None:
            mirror = self._mirror(f"tunnel {tunnel_id}", tunnel_writer.lister(self.tunnels, tunnel_id))
            lock = self._cloudflare.tunnel_locks.of(tunnel_id)
            options = self._cloudflare.options
            writer = TunnelWriter(
                self.tunnels, tunnel_id, mirror, lock, window=options.window, longest=options.longest
            )
            self._tunnel_writers[tunnel_id] = writer
            self._tasks.start(f"writer of tunnel {tunnel_id}", writer.run)
        return writer

    def _mirror(self, what: str, lister: Lister[K, V]) -> Mirror[K, V]:
        """Create and start a mirror."""
        name = f"cloudflare {what} of {self.id} by {self.client.credential.name}"
        mirror = self._cloudflare.mirror(name, lister)
        self._tasks.start(f"mirror of {what}", mirror.run)
        return mirror
