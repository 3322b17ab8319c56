"""Plays a sequence, and judges it.

    operations     one after the other, while the oracles look at every call and every commit
    healing        all faults end, the operator runs; what people have declared, made and changed stays
    settling       every object becomes Ready, or says why it does not
    rest           for half an hour nothing is written, and nothing is refused but what waits for a person
    judgement      cloud against cluster
    clearing       users delete everything; nothing of ours is left in the cloud, nor in the memory of the operator

A run is determined by its operations alone. Everything happens in one process and in virtual time.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from edgekeeper.core.annotations import DELETION_POLICY, PREFIX, Wishes
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.kube.errors import ApiError
from edgekeeper.runtime.logs import configure
from kubesim.virtual import run_virtual
from tests.chaos.disturbances import ACTIONS
from tests.chaos.kind import ChaosKind, Judge
from tests.chaos.operation import Operation
from tests.chaos.oracles import EventCount, Rest, StatusWatch, remembered, told_in_logs
from tests.chaos.violation import Violation
from tests.chaos.world import World, key_of
from tests.crash.stage import staged
from tests.logs import log_as_it_was

HEALING = timedelta(minutes=38)
"""Longer than anything is left alone that is tried again by itself: what AWS did not allow for half an hour."""
PATIENCE = timedelta(minutes=75)
"""How long it may take from then until every object has settled."""
AFTERMATH = timedelta(minutes=6)
QUIET = timedelta(minutes=30)
FORGETTING = timedelta(minutes=40)
"""How long a process may remember what is gone."""
LOOK = 30.0


@dataclass(frozen=True)
class Verdict:
    """What became of a run."""

    violations: tuple[Violation, ...]
    calls: int = 0
    lives: int = 0
    told: int = 0
    """How many events."""
    seconds: float = 0.0
    """Of virtual time."""


def play(kind: ChaosKind[Any], operations: Sequence[Operation]) -> Verdict:
    """Play a sequence from beginning to end."""
    with _warnings() as logs:
        try:
            return run_virtual(lambda: _play(kind, operations, logs))
        except Exception as error:  # noqa: BLE001 - a run that does not even end is a finding as well
            notes = "; ".join(getattr(error, "__notes__", ()))
            return Verdict((Violation("run", f"{type(error).__name__}: {error} ({notes})"),))


async def _play(kind: ChaosKind[Any], operations: Sequence[Operation], logs: io.StringIO) -> Verdict:
    async with staged(kind.system) as stage:
        world: World[Any] = World(stage)
        run = _Run(kind, world, await kind.judge(world), StatusWatch(world), EventCount(world))
        world.start()
        later = await _bounded(run.all_of(operations), world)
        violations = (*world.found, *run.judge.found(), *run.statuses.found, *later)
        return Verdict(
            (*violations, *told_in_logs(logs.getvalue(), kind.system.canary)),
            len(stage.trace.calls),
            len(stage.lives),
            run.events.total(),
            asyncio.get_running_loop().time(),
        )


async def _bounded(run: Coroutine[Any, Any, list[Violation]], world: World[Any]) -> list[Violation]:
    """The result of a run, unless the operator makes calls without end."""
    task = asyncio.create_task(run)
    exhausted = world.faults.exhausted
    await asyncio.wait((task, exhausted), return_when=asyncio.FIRST_COMPLETED)
    if not exhausted.done():
        exhausted.cancel()
        return task.result()
    task.cancel()
    await asyncio.wait((task,))
    return [Violation("busy", f"more calls than any run needs, the last of them {exhausted.result()}")]


@dataclass
class _Run:
    kind: ChaosKind[Any]
    world: World[Any]
    judge: Judge
    statuses: StatusWatch
    events: EventCount

    async def all_of(self, operations: Sequence[Operation]) -> list[Violation]:
        """Play everything, and tell what is wrong afterwards."""
        actions = {**ACTIONS, **self.kind.actions}
        for operation in operations:
            await actions[operation.action](self.world, **operation.arguments)
        return [one async for one in self._aftermath(len(operations))]

    async def _aftermath(self, operations: int) -> AsyncIterator[Violation]:
        """Everything after the last operation. Yield what is wrong."""
        self.world.heal()
        self.kind.heal(self.world)
        await _elapse(HEALING)
        for words in await self._unsettled():
            yield Violation("unsettled", words)
        await _elapse(AFTERMATH)
        rest = Rest(self.world, self.events)
        await _elapse(QUIET)
        for violation in (
            *rest.disturbances(self.judge, QUIET.total_seconds() / 60),
            *self.judge.at_rest(),
            *self.events.excesses(operations),
        ):
            yield violation
        for words in await self._cleared():
            yield Violation("undeleted", words)
        for violation in self.judge.when_empty():
            yield violation
        await _elapse(FORGETTING)
        for violation in self._memories():
            yield violation

    async def _unsettled(self) -> list[str]:
        """Wait until every object has settled, and return those that do not."""
        return await _until(lambda: list(self.judge.unsettled()))

    async def _cleared(self) -> list[str]:
        """Have users delete everything, and return what does not go."""
        stage = self.world.stage
        self.kind.prepare_clearing(self.world)
        for obj in list(stage.objects()):
            with suppress(ApiError):
                await stage.patch(self.world.kind_of(obj["kind"]), key_of(obj), _unhindered(obj))
                await stage.delete(self.world.kind_of(obj["kind"]), key_of(obj))
        return await _until(lambda: [_told(obj) for obj in stage.objects()])

    def _memories(self) -> Iterator[Violation]:
        needles = self.statuses.uids | self.judge.to_be_forgotten()
        for process in self.world.running:
            yield from list(remembered(process.life.controllers, needles))[:3]


async def _elapse(interval: timedelta) -> None:
    await asyncio.sleep(interval.total_seconds())


async def _until(left: Any) -> list[str]:
    """Wait until nothing is left, and return what is after all patience."""
    deadline = asyncio.get_running_loop().time() + PATIENCE.total_seconds()
    while (found := left()) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - the state of a cloud has no event
        await asyncio.sleep(LOOK)
    return list(found)


def _unhindered(obj: JsonObject) -> JsonObject:
    """A patch that takes away every annotation that keeps an object from being deleted."""
    annotations = dig_object(obj, "metadata", "annotations")
    policy = {DELETION_POLICY: annotations[DELETION_POLICY]} if DELETION_POLICY in annotations else {}
    is_valid = not Wishes.of({"metadata": {"annotations": policy}}).problems
    gone: JsonObject = {name: None for name in annotations if name.startswith(PREFIX)}
    return {"metadata": {"annotations": {**gone, **(policy if is_valid else {})}}}


def _told(obj: JsonObject) -> str:
    ready = [one for one in dig_object(obj, "status").get("conditions", ()) if one["type"] == "Ready"]
    said = f"{ready[0]['reason']}: {ready[0]['message']}" if ready else "nothing"
    return f"{key_of(obj)} is still there and says {said}"


@contextmanager
def _warnings() -> Iterator[io.StringIO]:
    """What is logged as a warning or worse."""
    text = io.StringIO()
    with log_as_it_was():
        configure(format="json", level="warning", stream=text, environ={})
        yield text
