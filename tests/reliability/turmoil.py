"""Many Gizmos, their users, and everything that happens to them and to their operator, drawn by a seed.

    users       create, change, delete, create again under the same name, ask for what cannot be
    vandals     repaint items, take items away
    troubles    watches break in every way; calls do not leave, or their answers are lost; the operator dies

What users declare is remembered: it is what has to be there in the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random

from edgekeeper.core.calls import CallRecord
from edgekeeper.core.json import JsonObject
from edgekeeper.core.names import bounded_name
from edgekeeper.kube.errors import AlreadyExistsError
from edgekeeper.kube.kinds import Key
from tests.crash.faults import no_answer
from tests.crash.stage import RESTART_PAUSE, Stage
from tests.toy.gizmo import GIZMO, gizmo, spec
from tests.toy.workshop import REFUSED_COLOURS, Workshop
from tests.unit.kube.faults import Fault, FaultyTransport

PARTS = ("wheel", "door", "roof")
COLOURS = ("red", "green", "blue")
REFUSED = sorted(REFUSED_COLOURS)
FAULTS = tuple(Fault)


class Weather:
    """Loses calls and answers, now and then."""

    def __init__(self, random: Random, usual: float = 0.005) -> None:
        self._random = random
        self.chance = self.usual = usual

    async def before(self, call: CallRecord) -> None:
        self._strike(call)

    async def after(self, call: CallRecord) -> None:
        self._strike(call)

    def _strike(self, call: CallRecord) -> None:
        if self._random.random() < self.chance:
            raise no_answer(call)


class Town:
    """Gizmos in number, on a stage whose operator has a hard time."""

    def __init__(self, stage: Stage[Workshop], seed: int) -> None:
        self.declared: dict[Key, dict[str, str]] = {}
        self._stage = stage
        self._random = Random(f"town {seed}")
        self._weather = Weather(Random(f"weather {seed}"))
        self._transport = FaultyTransport(stage.around.transport)
        stage.around = replace(stage.around, transport=self._transport, hooks=(self._weather,))

    # From morning to evening

    async def grow(self, size: int) -> None:
        """Declare the first Gizmos. As many names again are free, for those that come and go."""
        self._names = [Key("default", f"g{number}") for number in range(size * 2)]
        for key in self._names[:size]:
            await self._create(key)

    async def live(self, until: timedelta, pause: timedelta) -> None:
        """Something happens every now and then, on average after `pause`, until a time of the loop's."""
        acts = self._acts()
        loop = asyncio.get_running_loop()
        while loop.time() < until.total_seconds():
            act = self._random.choices(list(acts), list(acts.values()))[0]
            await act()
            await asyncio.sleep(self._random.expovariate(1 / pause.total_seconds()))

    async def calm(self) -> None:
        """Nothing goes wrong any more, and nobody asks for what cannot be."""
        self._weather.chance = self._weather.usual = 0.0
        for key, parts in list(self.declared.items()):
            if not REFUSED_COLOURS.isdisjoint(parts.values()):
                await self._declare(key, dict.fromkeys(parts, COLOURS[0]))

    # In the end

    def faults(self) -> Iterator[str]:
        """Where the world is not as declared."""
        objects = {
            Key(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in self._stage.objects()
        }
        if objects != set(self.declared):
            yield f"too many or missing: {sorted(objects ^ set(self.declared))}"
        wanted, there = self._wanted(), self._colours()
        for name in sorted({*wanted, *there}):
            if wanted.get(name) != there.get(name):
                yield f"{name} is {there.get(name)}, declared as {wanted.get(name)}"

    def _wanted(self) -> dict[str, str]:
        return {
            bounded_name(key.namespace, key.name, part): colour
            for key, parts in self.declared.items()
            for part, colour in parts.items()
        }

    def _colours(self) -> dict[str, str]:
        items: JsonObject = self._stage.outside.state()
        return {name: item["colour"] for name, item in items.items()}

    # What happens, and how often compared with the rest

    def _acts(self) -> dict[Callable[[], Awaitable[None]], int]:
        return {
            self._change: 30,
            self._delete: 15,
            self._appear: 15,
            self._ask_too_much: 3,
            self._repaint: 10,
            self._steal: 5,
            self._break_watch: 10,
            self._storm: 2,
            self._crash: 3,
        }

    async def _change(self) -> None:
        await self._declare(self._any(), self._parts())

    async def _delete(self) -> None:
        if len(self.declared) == 1:
            return  # somebody has to be left for the others to act upon
        key = self._any()
        del self.declared[key]
        await self._stage.delete(GIZMO, key)

    async def _appear(self) -> None:
        if free := [key for key in self._names if key not in self.declared]:
            await self._create(self._random.choice(free))

    async def _ask_too_much(self) -> None:
        await self._declare(self._any(), {**self._parts(), PARTS[0]: self._random.choice(REFUSED)})

    async def _repaint(self) -> None:
        if items := list(self._stage.outside.state()):
            self._stage.outside.vandalise(self._random.choice(items), "pink")

    async def _steal(self) -> None:
        if items := list(self._stage.outside.state()):
            self._stage.outside.steal(self._random.choice(items))

    async def _break_watch(self) -> None:
        await self._transport.strike(self._random.choice(FAULTS))

    async def _storm(self) -> None:
        """For some minutes about every second call fails."""
        self._weather.chance = 0.3
        await asyncio.sleep(self._random.uniform(60, 600))
        self._weather.chance = self._weather.usual

    async def _crash(self) -> None:
        self._stage.operator.die()
        await asyncio.sleep(RESTART_PAUSE)
        self._stage.start_operator()

    # How it is done

    async def _create(self, key: Key) -> None:
        parts = self._parts()
        with suppress(AlreadyExistsError):  # the last one of this name is still being deleted
            await self._stage.create(gizmo(key, **parts))
            self.declared[key] = parts

    async def _declare(self, key: Key, parts: dict[str, str]) -> None:
        self.declared[key] = parts
        await self._stage.patch(GIZMO, key, {"spec": spec(**parts)})

    def _any(self) -> Key:
        return self._random.choice(list(self.declared))

    def _parts(self) -> dict[str, str]:
        names = self._random.sample(PARTS, self._random.randint(1, len(PARTS)))
        return {name: self._random.choice(COLOURS) for name in names}
