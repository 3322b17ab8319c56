"""From names to ids: groups, policies, identity providers and zones, which only Cloudflare knows.

A name that is unknown or ambiguous stalls the task: who may enter is never guessed. An id is taken as it is where the API
token may not list what it names.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from edgekeeper.api.zerotrust_settings import AccessRule
from edgekeeper.api.zerotrust_task import AccessAppOperation
from edgekeeper.cloud.cloudflare.accounts import Account
from edgekeeper.cloud.cloudflare.models import IdentityProvider
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.controllers.zerotrust.snapshot import ResolvedAccess
from edgekeeper.core.errors import Stall
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

ZONE_NOT_FOUND: Final = "ZoneNotFound"
ZONE_MISMATCH: Final = "ZoneMismatch"
FIRST_LISTING: Final = timedelta(seconds=10)
"""How long a pass waits for the first listing of what it needs, before it comes back later."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MOST_SHOWN = 20


async def listed(*mirrors: Mirror[Any, Any]) -> None:
    """Wait for the first attempt to list these, for a bounded time."""
    waiting = [mirror.wait_listed() for mirror in mirrors if not mirror.synced]
    if waiting:
        try:
            async with asyncio.timeout(FIRST_LISTING.total_seconds()):
                await asyncio.gather(*waiting)
        except TimeoutError:
            return  # whoever reads the mirror raises NotSyncedError


# Access


async def resolve_access(account: Account, access: AccessAppOperation) -> ResolvedAccess:
    """The ids of all names in the settings. Raise Stall where one is unknown or ambiguous."""
    rules = [*(access.include or ()), *(access.require or ()), *(access.exclude or ())]
    groups = [*(access.allow_groups or ()), *(rule.group for rule in rules if rule.group)]
    policies = [*(access.existing_policy_ids or ()), *(access.existing_policy_names or ())]
    providers = await _providers(account, access, rules)
    return ResolvedAccess(
        groups=await _resolve_all(account, "group", groups) if groups else {},
        policies=tuple(
            dict.fromkeys((await _resolve_all(account, "policy", policies)).values()) if policies else ()
        ),
        allowed_idps=_allowed_idps(access, providers),
        providers=providers,
    )


async def _resolve_all(account: Account, what: str, asked: Iterable[str]) -> dict[str, str]:
    wanted = dict.fromkeys(asked)
    mirror: Mirror[str, Any] = account.groups if what == "group" else account.policies
    await listed(mirror)
    if _is_denied(mirror) and all(_UUID.fullmatch(name) for name in wanted):
        return {name: name for name in wanted}
    known = {id_: item.name for id_, item in _items(mirror)}
    return {name: pick(what, name, known) for name in wanted}


def pick(what: str, asked: str, known: Mapping[str, str]) -> str:
    """The id of something, given its id or name. `known` has names by id."""
    if asked in known:
        return asked
    found = [id_ for id_, name in known.items() if name == asked]
    if len(found) == 1:
        return found[0]
    title = "".join(word.capitalize() for word in what.split())
    if found:
        raise Stall(
            f"Ambiguous{title}",
            f"there are {len(found)} of the {what} {asked!r}: write the id of one of them: {', '.join(sorted(found))}",
        )
    names = sorted(set(known.values()))
    there = ", ".join(names[:_MOST_SHOWN]) or "none"
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    raise Stall(
        f"{title}NotFound",
        f"the account has no {what} {asked!r}: correct the name, or create it; there are: {there}{more}",
    )


async def _providers(
    account: Account, access: AccessAppOperation, rules: list[AccessRule]
) -> dict[str, IdentityProvider]:
    """The identity providers that the settings name, by what they are called there."""
    asked = [*(access.allowed_idps or ())]
    asked += [rule.identity_provider_group.provider for rule in rules if rule.identity_provider_group]
    if not asked and not access.auto_redirect_to_identity:
        return {}
    await listed(account.identity_providers)
    by_id = dict(account.identity_providers.items())
    if not asked:
        if len(by_id) != 1:
            raise Stall(
                "AmbiguousIdentityProvider",
                f"autoRedirectToIdentity needs exactly one identity provider, and the account has {len(by_id)}: name it in allowedIdps",
            )
        return by_id
    names = {id_: provider.name for id_, provider in by_id.items()}
    return {name: by_id[pick("identity provider", name, names)] for name in dict.fromkeys(asked)}


def _allowed_idps(access: AccessAppOperation, providers: Mapping[str, IdentityProvider]) -> tuple[str, ...]:
    if access.allowed_idps:
        return tuple(dict.fromkeys(providers[name].id for name in access.allowed_idps))
    if access.auto_redirect_to_identity:
        groups = {
            rule.identity_provider_group.provider
            for rule in (*(access.include or ()), *(access.require or ()), *(access.exclude or ()))
            if rule.identity_provider_group
        }
        found = {providers[name].id for name in groups} if groups else {one.id for one in providers.values()}
        if len(found) != 1:
            raise Stall(
                "AmbiguousIdentityProvider",
                "autoRedirectToIdentity needs exactly one identity provider: name it in allowedIdps",
            )
        return tuple(found)
    return ()


def _items(mirror: Mirror[str, Any]) -> list[tuple[str, Any]]:
    """All objects. Raise why they cannot be listed, where that is a refusal."""
    if not mirror.synced and isinstance(mirror.problem, Stall):
        raise mirror.problem
    return mirror.items()


def _is_denied(mirror: Mirror[str, Any]) -> bool:
    return not mirror.synced and isinstance(mirror.problem, Stall)


# The organisation


class Teams:
    """The team name of each account, as far as API tokens may read it. That one may not is said once."""

    def __init__(self) -> None:
        self._denied: set[str] = set()

    async def of(self, account: Account) -> str:
        """The team's name; empty where the API token may not read the organisation."""
        try:
            team = (await account.organization()).team
        except Stall as refusal:
            self._note(account, refusal)
            return ""
        self._denied.discard(_name(account))
        return team

    def _note(self, account: Account, refusal: Stall) -> None:
        name = _name(account)
        if name not in self._denied:
            self._denied.add(name)
            log.warning(
                "Tunnel rules are written without the second lock, because the organisation may not be read",
                account=account.id,
                credential=account.client.credential.name,
                error=refusal.message,
            )


def _name(account: Account) -> str:
    return f"{account.id} by {account.client.credential.name}"


# Zones


async def resolve_zones(account: Account, hostnames: Iterable[str], guard: str) -> dict[str, str]:
    """The zone of each hostname: the one with the longest name. Raise Stall where there is none, or another than `guard`."""
    await listed(account.zones)
    if guard and _is_denied(account.zones):
        return dict.fromkeys(hostnames, guard)
    _items(account.zones)
    return {hostname: _zone(account, hostname, guard) for hostname in hostnames}


def _zone(account: Account, hostname: str, guard: str) -> str:
    zone = account.zone_of(hostname)
    if zone is None:
        raise Stall(
            ZONE_NOT_FOUND,
            f"no active zone that the API token may see holds {hostname}: correct the hostname, add the zone, or write "
            "dns external",
        )
    if guard and zone.id != guard:
        raise Stall(
            ZONE_MISMATCH,
            f"{hostname} is in zone {zone.name} ({zone.id}), but the tenant allows only zone {guard}",
        )
    return zone.id
