"""All zones that are in use: each has one mirror and one writer, however many objects have records in it.

A zone that is reached through different roles is the same zone, but each role sees it with its own rights and budget, so
it counts as two.

    zones.add_user(claims.uses_zone)                        who says whether anybody still needs a zone
    zone = zones.get("Z1", Role(arn))                       starts it, if it is not running

*Guarantees*
 - A zone starts when it is first asked for. It is released when for some time nobody has asked for it, no user needs it
   and nothing is on its way in it: its tasks end, its labels leave the metrics, and it costs no further call.
 - The sessions and clients of a role are released with the last zone that is reached through it.
 - A zone that is asked for after that starts anew: nothing of it is known before it was listed again.

*Assumptions*
 - Whoever asks for a zone uses it at once, and asks again the next time: zones are not kept across passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeAlias

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.cloud.aws.route53 import COMMENT, Route53, bare_id
from edgekeeper.cloud.aws.zone import Zone
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, MirrorOptions
from edgekeeper.cloud.supervisor import Members
from edgekeeper.core.clock import Clock
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

ZoneUser: TypeAlias = Callable[[str, Role], bool]
"""Does anybody need the zone of this id, as this role sees it?"""

LINGERING: Final = timedelta(minutes=5)
"""How long a zone stays that nobody needs: longer than Route 53 may show what was before an own write, which a new mirror
would believe, and than it takes to delete an object and create it again."""
LOOKED_AFTER_EVERY: Final = timedelta(minutes=1)


class Zones:
    """Finds the zone for an id and a role, and runs it for as long as it is needed."""

    def __init__(
        self,
        access: AwsAccess,
        clock: Clock,
        metrics: CloudMetrics,
        *,
        comment: str = COMMENT,
        options: MirrorOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._access = access
        self._clock = clock
        self._metrics = metrics
        self._comment = comment
        self._options = options
        self._zones: Members[tuple[str, Role], Zone] = Members(lambda key: self._make(*key))
        self._needed: dict[tuple[str, Role], float] = {}
        """When somebody last needed each of them."""
        self._handlers: list[Callable[[Zone], None]] = []
        self._users: list[ZoneUser] = []

    def __len__(self) -> int:
        return len(self._needed)

    def on_new(self, handler: Callable[[Zone], None]) -> None:
        """Tell `handler` of every zone that comes into use."""
        self._handlers.append(handler)

    def add_user(self, user: ZoneUser) -> None:
        """Ask `user` before a zone is released. Without any user, zones stay until the end."""
        self._users.append(user)

    def get(self, zone_id: str, role: Role = OWN) -> Zone:
        """The zone as a role sees it."""
        key = (bare_id(zone_id), role)
        self._needed[key] = self._clock.monotonic()
        return self._zones.at(key)

    async def run(self) -> None:
        """Run all zones until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._zones.run(), name="zones")
            group.create_task(self._release_unneeded(), name="zones that nobody needs")

    def _make(self, zone_id: str, role: Role) -> Zone:
        route53 = Route53(self._access.caller(role=role), comment=self._comment)
        name = zone_id if role == OWN else f"{zone_id} as {role.arn}"
        zone = Zone(zone_id, route53, self._clock, self._metrics, self._options, name=name)
        for handler in self._handlers:
            handler(zone)
        return zone

    # Releasing

    async def _release_unneeded(self) -> None:
        while True:
            await asyncio.sleep(LOOKED_AFTER_EVERY.total_seconds())
            for zone_id, role in list(self._needed):
                if self._is_over(zone_id, role):
                    await self._release(zone_id, role)

    def _is_over(self, zone_id: str, role: Role) -> bool:
        key, now = (zone_id, role), self._clock.monotonic()
        if self._is_needed(zone_id, role) or not self._zones.at(key).is_idle:
            self._needed[key] = now
        return now - self._needed[key] >= LINGERING.total_seconds()

    def _is_needed(self, zone_id: str, role: Role) -> bool:
        return not self._users or any(user(zone_id, role) for user in self._users)

    async def _release(self, zone_id: str, role: Role) -> None:
        """End a zone. From here on whoever asks for it gets another one."""
        log.info("Zone is not needed any more", zone=zone_id, role=role.arn)
        del self._needed[zone_id, role]
        await self._zones.drop((zone_id, role))
        if role != OWN and not any(role == other for _, other in self._needed):
            await self._access.release(role)
