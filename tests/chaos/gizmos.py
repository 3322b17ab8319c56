"""The toy kind, put through random operations: the proof that the harness knows nothing of tenants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.names import bounded_name
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.errors import ApiError
from tests.chaos.kind import Player
from tests.chaos.operation import Operation, op
from tests.chaos.violation import Violation
from tests.chaos.world import World, key_of, parse_key
from tests.crash.system import System
from tests.toy.gizmo import GIZMO, gizmo, spec
from tests.toy.system import GIZMOS as TOY
from tests.toy.workshop import REFUSED_COLOURS, Item, Workshop

KEYS = ("one", "two", "three")
PARTS = ("wheel", "door", "roof")
COLOURS = ("red", "green", "blue")
_UID = f"{TAG_PREFIX}uid"


class WatchedWorkshop(Workshop):
    """A workshop that knows whose its items are, and who lays hands on them."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.found: list[Violation] = []

    def update(self, name: str, colour: str, version: int, credential: str) -> None:
        self._confirm_marked(name, "changed")
        super().update(name, colour, version, credential)

    def delete(self, name: str, version: int) -> None:
        self._confirm_marked(name, "deleted")
        super().delete(name, version)

    def items(self) -> dict[str, Item]:
        self._let_time_pass(*list(self._items))
        return {name: stored.item for name, stored in self._items.items()}

    def _confirm_marked(self, name: str, what: str) -> None:
        item = self.describe(name)
        if item is not None and _UID not in item.tags:
            self.found.append(Violation("foreign", f"{name} is {what}, which is somebody else's"))


GizmoWorld = World[WatchedWorkshop]


async def create(world: GizmoWorld, key: str, parts: Mapping[str, str]) -> None:
    with suppress(ApiError):
        await world.stage.create(gizmo(parse_key(key), **parts))


async def edit(world: GizmoWorld, key: str, parts: Mapping[str, str]) -> None:
    with suppress(ApiError):
        await world.stage.patch(GIZMO, parse_key(key), {"spec": spec(**parts)})


async def paint(world: GizmoWorld, item: str, colour: str) -> None:
    """Somebody repaints an item."""
    if item in world.outside.items():
        world.outside.vandalise(item, colour)


async def steal(world: GizmoWorld, item: str) -> None:
    """Somebody takes an item away."""
    if item in world.outside.items():
        world.outside.steal(item)


async def squat(world: GizmoWorld, item: str) -> None:
    """Somebody else has an item of a name that we might want."""
    if item not in world.outside.items():
        world.outside.squat(item, {})


class GizmoJudge:
    """The oracles of one run."""

    def __init__(self, world: GizmoWorld) -> None:
        self._world = world

    def found(self) -> Iterable[Violation]:
        return self._world.outside.found

    def unsettled(self) -> Iterator[str]:
        for obj in self._objects():
            if "deletionTimestamp" in obj["metadata"]:
                yield f"{key_of(obj)} is still being deleted"
            elif not _says(obj, "Ready") and not _says(obj, "Stalled"):
                yield f"{key_of(obj)} is neither Ready nor Stalled"

    def tolerated_refusals(self, minutes: float) -> int:
        return len(list(self._world.stage.objects())) * round(minutes / 5 + 1)

    def at_rest(self) -> Iterator[Violation]:
        items = self._world.outside.items()
        for obj in self._objects():
            wanted = _wanted(obj)
            if _says(obj, "Ready"):
                yield from _differences(obj, wanted, items)
            elif not any(_is_in_the_way(obj, name, colour, items) for name, colour in wanted.items()):
                yield Violation("untrue", f"{key_of(obj)} is stalled, and nothing is in its way")
        yield from self._orphans(items)

    def when_empty(self) -> Iterator[Violation]:
        yield from self._orphans(self._world.outside.items())

    def to_be_forgotten(self) -> set[str]:
        return set()

    def _orphans(self, items: Mapping[str, Item]) -> Iterator[Violation]:
        living = {obj["metadata"]["uid"] for obj in self._world.stage.objects()}
        for name, item in items.items():
            if _UID in item.tags and item.tags[_UID] not in living:
                yield Violation("orphan", f"{name} is of an object that is gone")

    def _objects(self) -> Iterator[JsonObject]:
        """Those that are not left alone on request."""
        for obj in self._world.stage.objects():
            if not any(name.startswith(TAG_PREFIX) for name in dig(obj, "metadata", "annotations") or ()):
                yield obj


def _wanted(obj: JsonObject) -> dict[str, str]:
    key = key_of(obj)
    parts = dig_list(obj, "spec", "parts")
    return {bounded_name(key.namespace, key.name, part["name"]): part["colour"] for part in parts}


def _differences(
    obj: JsonObject, wanted: Mapping[str, str], items: Mapping[str, Item]
) -> Iterator[Violation]:
    own = {name: item.colour for name, item in items.items() if item.tags.get(_UID) == obj["metadata"]["uid"]}
    if own != dict(wanted):
        yield Violation("untrue", f"{key_of(obj)} is Ready with {own}, not {dict(wanted)}")


def _is_in_the_way(obj: JsonObject, name: str, colour: str, items: Mapping[str, Item]) -> bool:
    """Is a colour refused, or an item somebody else's?"""
    owner = items[name].tags.get(_UID) if name in items else obj["metadata"]["uid"]
    return colour in REFUSED_COLOURS or owner != obj["metadata"]["uid"]


def _says(obj: JsonObject, type_: str) -> bool:
    current = (one for one in dig_list(obj, "status", "conditions") if one["type"] == type_)
    return any(
        one["status"] == "True" and one.get("observedGeneration") == obj["metadata"]["generation"]
        for one in current
    )


@dataclass
class Gizmos:
    """See the module."""

    system: System[Any] = field(default_factory=lambda: replace(TOY, outside=WatchedWorkshop))
    name: str = "gizmos"
    targets: tuple[str, ...] = ("workshop",)

    @property
    def actions(self) -> Mapping[str, Player]:
        return {"create": create, "edit": edit, "paint": paint, "steal": steal, "squat": squat}

    def keys(self) -> tuple[str, ...]:
        return KEYS

    def operations(self, random: Random) -> Iterator[Operation]:
        yield op("create", key=KEYS[0], parts=_parts(random))
        while True:
            action = random.choices(["create", "edit", "paint", "steal", "squat"], [3, 6, 2, 2, 1])[0]
            if action in ("create", "edit"):
                yield op(action, key=random.choice(KEYS), parts=_parts(random))
                continue
            item = bounded_name("default", random.choice(KEYS), random.choice(PARTS))
            yield op(action, item=item, **({"colour": "pink"} if action == "paint" else {}))

    async def judge(self, world: World[Any]) -> GizmoJudge:
        return GizmoJudge(world)

    def heal(self, world: World[Any]) -> None:
        """The workshop has no faults of its own."""

    def prepare_clearing(self, world: World[Any]) -> None:
        """What is somebody else's keeps nobody from being deleted."""


def _parts(random: Random) -> dict[str, str]:
    names = random.sample(PARTS, random.randint(1, len(PARTS)))
    colours = [*COLOURS, *COLOURS, *COLOURS, *sorted(REFUSED_COLOURS)]
    return {name: random.choice(colours) for name in names}


GIZMOS = Gizmos()
