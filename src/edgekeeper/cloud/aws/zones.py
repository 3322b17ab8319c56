"""All zones that are in use: each has one mirror and one writer, however many objects have records in it.

A zone that is reached through different roles is the same zone, but each role sees it with its own rights and budget, so
it counts as two. Zones start when they are first asked for and stay until the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.cloud.aws.route53 import COMMENT, Route53
from edgekeeper.cloud.aws.zone import Zone
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, MirrorOptions
from edgekeeper.core.clock import Clock


class Zones:
    """Finds the zone for an id and a role, and runs it."""

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
        self._zones: dict[tuple[str, Role], Zone] = {}
        self._started: asyncio.Queue[Zone] = asyncio.Queue()
        self._handlers: list[Callable[[Zone], None]] = []

    def on_new(self, handler: Callable[[Zone], None]) -> None:
        """Tell `handler` of every zone that comes into use."""
        self._handlers.append(handler)

    def get(self, zone_id: str, role: Role = OWN) -> Zone:
        """The zone as a role sees it."""
        key = (zone_id, role)
        if key not in self._zones:
            route53 = Route53(self._access.caller(role=role), comment=self._comment)
            self._zones[key] = Zone(zone_id, route53, self._clock, self._metrics, self._options)
            self._started.put_nowait(self._zones[key])
            for handler in self._handlers:
                handler(self._zones[key])
        return self._zones[key]

    async def run(self) -> None:
        """Run all zones until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                zone = await self._started.get()
                group.create_task(zone.run(), name=f"zone {zone.id}")
