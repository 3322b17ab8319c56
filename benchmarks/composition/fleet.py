"""The server as a process: a fleet of instances grows on it in virtual time, and is then served in real time.

    python -m benchmarks.composition.fleet DIRECTORY COUNT CHILDREN

Says how the fleet fared (`Growth`), and then where the server can be reached (`Site`). Then it takes a command:

    tally    what was asked of the server since the last time somebody asked

While the fleet grows the operator is in the same process, production's, put together as `edgekeeper run` does it. Requests
are counted where they arrive, each time until nothing more comes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.composition.counting import CountingPlane, Tally
from benchmarks.composition.workload import (
    CONTROLLERS,
    DEFINITION,
    NAMESPACE,
    WEB_APP,
    definition,
    instance,
    key_of,
    options,
)
from benchmarks.runtime.commands import obey, tell
from edgekeeper.cli.assembly import assembled
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key
from edgekeeper.runtime.logs import configure
from kubesim.plane import PlaneConfig
from kubesim.plane.kubeconfig import render_kubeconfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, run_virtual

LOOK_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 3600.0
SETTLE_SECONDS: Final = 30.0
"""From the last effect of a change until nothing more can come of it."""
REST_HOURS: Final = 21
"""In which every instance is looked at twice."""
CHANGED: Final = 1
"""The instance that is changed by itself."""
SETTING: Final = "more"
"""What a change of the definition adds to every ConfigMap."""
CHANGES: Final[dict[str, JsonObject]] = {
    "one field of one child": {"text": "other"},
    "one field that the status shows": {"replicas": 2},
}


class Growth(msgspec.Struct, frozen=True):
    """What a fleet of instances took and takes."""

    first: Tally
    """The first instance of all, while nothing of its kind or of its children's kinds is known."""
    one: Tally
    """Another one."""
    many: Tally
    """All the others together."""
    seconds: float
    """From the creation of those until all of them were ready, in virtual time."""
    rest: Tally
    """In `REST_HOURS`."""
    changes: dict[str, Tally]
    """Of single instances."""
    revision: Tally
    """The definition got another revision, which changes one child of every instance."""


class Site(msgspec.Struct, frozen=True):
    """Where a fleet is served."""

    kubeconfig: str


@dataclass
class Fleet:
    """The server and its instances."""

    plane: CountingPlane
    clock: Clock
    children: int

    async def furnish(self) -> None:
        """What is there before the operator starts: its own kinds."""
        for module in CONTROLLERS:
            if module.definition is not None:
                path = CUSTOM_RESOURCE_DEFINITION.collection_path("")
                await self.plane.client.create(path, module.definition.definition())
        await self.plane.settle()

    async def define(self) -> None:
        """Create the definition and wait until it is in force."""
        path = DEFINITION_KIND.collection_path("")
        await self.plane.client.create(path, definition(self.children))
        await self._until(lambda: self._state_of_definition() == "Active", "the definition is not Active")

    def _state_of_definition(self) -> str:
        resource = GroupResource(DEFINITION_KIND.group, DEFINITION_KIND.plural)
        (item,) = self.plane.store.collection(resource).ordered()
        return str(dig(item.decode(), "status", "state"))

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[None]:
        transport = InProcessTransport(self.plane)
        async with (
            assembled(options(), transport, None, clock=self.clock, host="embedded") as operator,
            operator.manager.running(),
        ):
            yield

    async def add(self, *numbers: int) -> tuple[Tally, float]:
        """Create instances. What that took until all of them were ready, and how long."""
        self.plane.tally()
        began, wanted = self.clock.monotonic(), self.plane.count_ready() + len(numbers)
        for number in numbers:
            await self.plane.client.create(WEB_APP.collection_path(NAMESPACE), instance(number))
        await self._until(lambda: self.plane.count_ready() == wanted, "not all instances are ready")
        seconds = self.clock.monotonic() - began
        return await self.settled(), seconds

    async def rest(self, hours: int) -> Tally:
        self.plane.tally()
        await asyncio.sleep(hours * 3600)
        return self.plane.tally()

    async def change(self, number: int, spec: JsonObject) -> Tally:
        """Change one instance, and wait until it is ready as it says now."""
        self.plane.tally()
        changed = await self.plane.client.merge(WEB_APP.path(key_of(number)), {"spec": spec})
        generation = dig(changed, "metadata", "generation")
        key = (NAMESPACE, key_of(number).name)
        await self._until(lambda: self.plane.ready.get(key) == generation, "the change is not ready")
        return await self.settled()

    async def revise(self, count: int) -> Tally:
        """Change the definition, so that the ConfigMap of every instance changes."""
        self.plane.tally()
        spec = definition(self.children, **{SETTING: "yes"})["spec"]
        await self.plane.client.merge(DEFINITION_KIND.path(Key("", DEFINITION)), {"spec": spec})
        await self._until(lambda: self.revised() == count, "not all children have changed")
        return await self.settled()

    def revised(self) -> int:
        """How many ConfigMaps are as the change of the definition wants them."""
        items = self.plane.store.collection(GroupResource("", CONFIG_MAP.plural)).ordered()
        return sum(dig(item.decode(), "data", SETTING) == "yes" for item in items)

    async def settled(self) -> Tally:
        await asyncio.sleep(SETTLE_SECONDS)
        return self.plane.tally()

    async def _until(self, holds: Callable[[], bool], otherwise: str) -> None:
        due = self.clock.monotonic() + PATIENCE_SECONDS
        while not holds():
            if self.clock.monotonic() > due:
                raise RuntimeError(f"{otherwise} after {PATIENCE_SECONDS:g} s")
            await asyncio.sleep(LOOK_SECONDS)


async def grow(directory: Path, count: int, children: int, hours: int = REST_HOURS) -> Growth:
    """A fleet of at least three instances from nothing to its end, at rest, and with a few changes."""
    clock = LoopClock()
    async with CountingPlane(_config(directory, now=clock.now)) as plane:
        fleet = Fleet(plane, clock, children)
        await fleet.furnish()
        async with fleet.operator():
            await fleet.define()
            await fleet.settled()
            first, _ = await fleet.add(0)
            one, _ = await fleet.add(1)
            many, seconds = await fleet.add(*range(2, count))
            rest = await fleet.rest(hours)
            changes = {what: await fleet.change(CHANGED, spec) for what, spec in CHANGES.items()}
            revision = await fleet.revise(count)
        return Growth(first, one, many, seconds, rest, changes, revision)


async def serve_fleet(directory: Path) -> None:
    """The server as the fleet has left it, for operators in other processes."""
    async with CountingPlane(_config(directory)) as plane:
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(render_kubeconfig(await plane.serve(), "bench"))

        tell(Site(str(kubeconfig)))
        await obey({"tally": plane.figures})


def _config(directory: Path, **settings: Any) -> PlaneConfig:
    return PlaneConfig(directory / "plane", simulators=frozenset(), gateway_api=False, **settings)


def main(directory: Path, count: int, children: int) -> None:
    tell(run_virtual(lambda: grow(directory, count, children), start=datetime.now(UTC)))
    asyncio.run(serve_fleet(directory))


if __name__ == "__main__":
    configure(level="error")
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
