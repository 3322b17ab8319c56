"""The hosted zones in use, shared by all kinds: each has one mirror and one writer, however many objects use it.

    zones.add_user(claims.uses_zone)                        asked before a zone is released
    zone = zones.get("Z1", Role(arn))                       started, if it is not running

*Guarantees*
 - `get` returns the same zone for the same id and role; see `cloud.registry` for how long it runs.
 - A zone that is reached through two roles has two mirrors and two queues, because each role has rights and a budget of its
   own. But it is written by one batch at a time: batches take turns in the order in which they are ready, and each is
   planned after the one before it has ended, and with what that one wrote (`cloud.write_lock`).
 - The sessions and clients of a role are released with the last zone that is reached through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.dns.zone import Zone
from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.cloud.aws.route53 import Route53, bare_id
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, MirrorOptions
from edgekeeper.cloud.registry import Registry
from edgekeeper.cloud.write_lock import WriteLocks
from edgekeeper.core.clock import Clock
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

ZoneUser: TypeAlias = Callable[[str, Role], bool]
"""Returns whether the zone of this id, accessed with this role, is still needed."""


class _Key(NamedTuple):
    zone_id: str
    role: Role


class Zones:
    """Finds the zone for an id and a role, and runs it for as long as it is needed."""

    def __init__(
        self,
        access: AwsAccess,
        clock: Clock,
        metrics: CloudMetrics,
        *,
        options: MirrorOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._access = access
        self._clock = clock
        self._metrics = metrics
        self._options = options
        self._zones: Registry[_Key, Zone] = Registry("zones", self._make, clock, on_release=self._released)
        self._locks: WriteLocks[str, Zone] = WriteLocks()
        self._handlers: list[Callable[[Zone], None]] = []
        self.run = self._zones.run

    def __len__(self) -> int:
        return len(self._zones)

    def on_new(self, handler: Callable[[Zone], None]) -> None:
        """Call `handler` with every zone that comes into use."""
        self._handlers.append(handler)

    def add_user(self, user: ZoneUser) -> None:
        """Ask `user` before a zone is released. Without any user, zones stay until the end."""
        self._zones.add_user(lambda key: user(*key))

    def get(self, zone_id: str, role: Role = OWN) -> Zone:
        """The zone as a role sees it."""
        return self._zones.get(_Key(bare_id(zone_id), role))

    def _make(self, key: _Key) -> Zone:
        zone_id, role = key
        route53 = Route53(self._access.caller(role=role))
        name = zone_id if role == OWN else f"{zone_id} as {role.arn}"
        zone = Zone(
            zone_id,
            route53,
            self._clock,
            self._metrics,
            self._options,
            name=name,
            lock=self._locks.of(zone_id),
        )
        for handler in self._handlers:
            handler(zone)
        return zone

    async def _released(self, key: _Key) -> None:
        log.info("Zone is no longer in use", zone=key.zone_id, role=key.role.arn)
        if key.role != OWN and not any(key.role == other.role for other in self._zones):
            await self._access.release(key.role)
