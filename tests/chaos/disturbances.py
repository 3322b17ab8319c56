"""Operations that are the same for all kinds: time, processes, clocks, faults of calls, annotations and deletions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any

from edgekeeper.core.annotations import ADOPT, DELETION_POLICY, DRIFT_POLICY, PAUSED, PREFIX
from edgekeeper.kube.errors import ApiError
from tests.chaos.faults import CallFault
from tests.chaos.kind import Player
from tests.chaos.operation import Operation, op
from tests.chaos.world import World, parse_key
from tests.unit.kube.faults import Fault

AnyWorld = World[Any]


# Time


async def wait(_: AnyWorld, seconds: float) -> None:
    await asyncio.sleep(seconds)


async def set_clock(world: AnyWorld, seconds: float) -> None:
    """The operator's wall clock is set forward or back."""
    world.set_clock(timedelta(seconds=seconds))


# Processes


async def kill(world: AnyWorld) -> None:
    world.kill()


async def kill_at(world: AnyWorld, **fault: Any) -> None:
    """The process dies at a call, before it leaves or after it took effect."""
    world.faults.add(CallFault(**fault, kills=True))


async def stop(world: AnyWorld) -> None:
    await world.stop()


async def start(world: AnyWorld) -> None:
    world.start()


async def replicas(world: AnyWorld, count: int) -> None:
    await world.set_replicas(count)


async def freeze(world: AnyWorld, seconds: float) -> None:
    world.freeze(seconds)


# Calls


async def lose(world: AnyWorld, **fault: Any) -> None:
    """Calls do not leave, or their answers do not arrive."""
    world.faults.add(CallFault(**fault))


async def refuse(
    world: AnyWorld, code: int, times: int, seconds: float, method: str = "", part: str = ""
) -> None:
    """The API server refuses; a code of 0 is a connection that is not accepted."""
    world.refusals.add(code, method=method, part=part, times=times, seconds=seconds)


async def break_watches(world: AnyWorld, fault: str) -> None:
    await world.transport.strike(Fault[fault])


# Objects


async def annotate(world: AnyWorld, key: str, annotation: str, value: str | None) -> None:
    with suppress(ApiError):
        await world.stage.patch(
            world.kind_of(), parse_key(key), {"metadata": {"annotations": {annotation: value}}}
        )


async def delete(world: AnyWorld, key: str) -> None:
    with suppress(ApiError):
        await world.stage.delete(world.kind_of(), parse_key(key))


ACTIONS: Mapping[str, Player] = {
    "wait": wait,
    "clock": set_clock,
    "kill": kill,
    "kill_at": kill_at,
    "stop": stop,
    "start": start,
    "replicas": replicas,
    "freeze": freeze,
    "lose": lose,
    "refuse": refuse,
    "break_watches": break_watches,
    "annotate": annotate,
    "delete": delete,
}


# Chance

PAUSES = ((0.05, 2, 30), (2, 20, 25), (20, 120, 27), (120, 420, 15), (420, 1800, 3))
"""Seconds, from and to, and how often compared with the others."""
ABSENCES = (60, 600, 3600, 4 * 3600)
CLOCK_STEPS = (-3600, -300, -45, 45, 300, 3600)
ANNOTATIONS: Mapping[str, tuple[str | None, ...]] = {
    PAUSED: ("true", "true", "false", None, "True", "yes", "1"),
    ADOPT: ("true", "true", "TRUE", "false", None, "yes"),
    DELETION_POLICY: ("Orphan", "orphan", "Delete", None, None, "retain", "orphaned"),
    DRIFT_POLICY: ("enforce", "report", "suspend", "Report", None, None, "enfroce", "off"),
    f"{PREFIX}adoptt": ("true", None),
    f"{PREFIX}pause": ("true", None),
}
"""What users write. The last values of each are none that there are, and the last keys neither."""


def draw_pause(random: Random) -> Operation:
    """Time passes, seldom much."""
    shortest, longest, _ = random.choices(PAUSES, [weight for _, _, weight in PAUSES])[0]
    return op("wait", seconds=_rounded(random.uniform(shortest, longest)))


def draw_disturbance(random: Random, targets: tuple[str, ...]) -> list[Operation]:
    """Something that happens to the operator. `targets` are the services of the kind's cloud."""
    draw = random.choices(list(_DRAWN), list(_DRAWN.values()))[0]
    return draw(random, targets)


def draw_annotation(random: Random, keys: tuple[str, ...]) -> Operation:
    annotation = random.choices(list(ANNOTATIONS), [5, 6, 5, 4, 1, 1])[0]
    return op(
        "annotate",
        key=random.choice(keys),
        annotation=annotation,
        value=random.choice(ANNOTATIONS[annotation]),
    )


def _kill(random: Random, _: tuple[str, ...]) -> list[Operation]:
    return [op("kill")]


def _kill_at(random: Random, targets: tuple[str, ...]) -> list[Operation]:
    return [op("kill_at", **_which(random, targets), when=random.choice(["before", "after", "after"]))]


def _absence(random: Random, _: tuple[str, ...]) -> list[Operation]:
    gone = op("wait", seconds=random.choice(ABSENCES))
    return [op("stop"), gone, *([op("start")] if random.random() < 0.8 else [])]


def _replicas(random: Random, _: tuple[str, ...]) -> list[Operation]:
    return [op("replicas", count=random.choice([2, 2, 1]))]


def _freeze(random: Random, _: tuple[str, ...]) -> list[Operation]:
    return [op("freeze", seconds=random.choice([5, 60, 150, 400]))]


def _clock(random: Random, _: tuple[str, ...]) -> list[Operation]:
    return [op("clock", seconds=random.choice(CLOCK_STEPS))]


def _lose(random: Random, targets: tuple[str, ...]) -> list[Operation]:
    times = random.choice([1, 1, 1, 2, 5, 20])
    return [op("lose", **_which(random, targets), times=times, when=random.choice(["before", "after"]))]


def _refuse(random: Random, _: tuple[str, ...]) -> list[Operation]:
    method, part = random.choice(
        [("", ""), ("PATCH", "/status"), ("PATCH", ""), ("POST", "/events"), ("GET", "")]
    )
    return [
        op(
            "refuse",
            code=random.choice([0, 409, 429, 500, 503])
            if method == "PATCH"
            else random.choice([0, 429, 500, 503]),
            method=method,
            part=part,
            times=random.choice([1, 1, 3, 10]),
            seconds=random.choice([30, 300]),
        )
    ]


def _watches(random: Random, _: tuple[str, ...]) -> list[Operation]:
    return [op("break_watches", fault=random.choice(list(Fault)).name)]


def _which(random: Random, targets: tuple[str, ...]) -> dict[str, Any]:
    """Some calls: of Kubernetes, of a service, or of any target."""
    target = random.choice(["", "kubernetes", "cloud", *targets])
    chosen: dict[str, Any] = {"target": target, "skip": random.choice([0, 0, 1, 2, 3, 5, 8, 13, 21])}
    if random.random() < 0.6:
        chosen["mutating"] = True
        chosen["skip"] = random.choice([0, 0, 0, 1, 2, 4])
    return chosen


_DRAWN: Mapping[Callable[[Random, tuple[str, ...]], list[Operation]], int] = {
    _kill: 6,
    _kill_at: 10,
    _absence: 5,
    _replicas: 2,
    _freeze: 3,
    _clock: 3,
    _lose: 12,
    _refuse: 6,
    _watches: 6,
}


def _rounded(seconds: float) -> float:
    return round(seconds, 2) if seconds < 10 else round(seconds)
