"""What an account of Cloudflare has behind one tunnel, read for `edgekeeper import routes`. Nothing is written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from edgekeeper.cloud.cloudflare.accounts import Account
from edgekeeper.cloud.cloudflare.hostnames import zone_of
from edgekeeper.cloud.cloudflare.models import Application, DnsRecord, IdentityProvider, Policy, Zone
from edgekeeper.cloud.cloudflare.records import Records
from edgekeeper.cloud.cloudflare.tunnel_document import rules_by_hostname
from edgekeeper.cloud.cloudflare.tunnel_writer import Rules
from edgekeeper.cloud.cloudflare.zones import Zones
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.lifecycle.importing import patiently

T = TypeVar("T")

_ADDRESSES: Final = ("A", "AAAA", "CNAME")
_NOT_ENABLED: Final = "AccessNotEnabled"


@dataclass(frozen=True)
class FoundAccount:
    """What there is."""

    tunnel_id: str
    tunnel_name: str = ""
    rules: Mapping[str, Rules] = field(default_factory=dict)
    """By hostname, in their order."""
    nameless: tuple[JsonObject, ...] = ()
    """Rules without a hostname, but for the last one."""
    applications: tuple[Application, ...] = ()
    policies: Mapping[str, Policy] = field(default_factory=dict)
    """Reusable policies, by id."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Names of Access groups, by id; none if they may not be read."""
    providers: Mapping[str, IdentityProvider] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)
    """Names of service tokens, by id; none if they may not be read."""
    team: str = ""
    zones: Mapping[str, str] = field(default_factory=dict)
    """The zone of each hostname that is in one."""
    records: Mapping[str, tuple[DnsRecord, ...]] = field(default_factory=dict)
    """Address records, by name."""

    @property
    def endpoint(self) -> str:
        """Where the names of the tunnel lead to."""
        return f"{self.tunnel_id}.cfargotunnel.com"


async def read_account(account: Account, tunnel_id: str) -> FoundAccount:
    """Read everything that belongs to the hostnames of a tunnel. Raise PassError if something essential cannot be read."""
    configuration = await patiently(lambda: account.tunnels.configuration(tunnel_id))
    tunnel = await patiently(lambda: account.tunnels.get(tunnel_id))
    rules = rules_by_hostname(configuration.config)
    zones = await _all(Zones(account.client, account.id).pages)
    active = [zone for zone in zones.values() if zone.status == "active"]
    held = {name: zone for name in rules if (zone := zone_of(name, active)) is not None}
    return FoundAccount(
        tunnel_id,
        tunnel.name if tunnel is not None else "",
        rules,
        tuple(rule for rule in dig_list(configuration.config, "ingress")[:-1] if not rule.get("hostname")),
        await _applications(account),
        await _if_allowed(account.access.policy_pages),
        {id_: one.name for id_, one in (await _if_allowed(account.access.group_pages)).items()},
        await _if_allowed(account.access.identity_provider_pages),
        {id_: one.name for id_, one in (await _if_allowed(account.service_tokens.pages)).items()},
        await _team(account),
        {name: zone.id for name, zone in held.items()},
        await _records(account, {zone.id: zone for zone in held.values()}),
    )


async def _applications(account: Account) -> tuple[Application, ...]:
    """All applications. None if Access is not enabled; whoever may not read them cannot know what is protected."""
    try:
        found = await _all(account.access.application_pages)
    except Stall as refusal:
        if refusal.reason != _NOT_ENABLED:
            raise
        return ()
    return tuple(sorted(found.values(), key=lambda one: one.id))


async def _records(account: Account, zones: Mapping[str, Zone]) -> dict[str, tuple[DnsRecord, ...]]:
    found: dict[str, tuple[DnsRecord, ...]] = {}
    for zone in sorted(zones):
        for record in (await patiently(Records(account.client, zone).all)).values():
            if record.type in _ADDRESSES:
                found[record.name] = (*found.get(record.name, ()), record)
    return found


async def _team(account: Account) -> str:
    try:
        return (await patiently(account.organization)).team
    except Stall:
        return ""  # then the operator cannot read it either


async def _if_allowed(pages: Callable[[], AsyncIterator[Mapping[str, T]]]) -> dict[str, T]:
    """All objects; none if the API token may not list them. They are named by their ids then."""
    try:
        return await _all(pages)
    except Stall:
        return {}


async def _all(pages: Callable[[], AsyncIterator[Mapping[str, T]]]) -> dict[str, T]:
    async def collect() -> dict[str, T]:
        return {id_: one async for page in pages() for id_, one in page.items()}

    return await patiently(collect)
