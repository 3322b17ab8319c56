"""One object's failure never stops another's: not by raising, not by hanging, not by failing for ever."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.core.errors import PassError, Retry, Stall, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done
from edgekeeper.kube.errors import ForbiddenError, ThrottledError
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import Request, Result
from kubesim.virtual import run_virtual, virtual_time
from tests.unit.runtime.world import KEY, Toy, observe_generation, settle, until, widget, world


@virtual_time
async def test_objects_that_always_fail_delay_nobody_else() -> None:
    async def act(request: Request) -> Outcome:
        await asyncio.sleep(0.02)
        if request.object["spec"]["poison"]:
            raise ValueError("a mistake")
        return await observe_generation(request)

    async with world() as place:
        for number in range(200):
            await place.create(widget(Key("default", f"w-{number}"), poison=number % 10 == 0))
        toy = Toy(act)
        async with place.operating(toy, max_concurrent=4) as operator:
            await settle(timedelta(minutes=5))
            good = [Key("default", f"w-{number}") for number in range(200) if number % 10]
            for key in good[:50]:
                asked = asyncio.get_running_loop().time()
                await place.patch({"spec": {"size": 1}}, key)
                await until(lambda key=key: toy.requests[-1].key == key)  # type: ignore[misc]
                assert asyncio.get_running_loop().time() - asked < 0.3
            await settle()
            assert operator.metrics.counts["panicked"] == operator.metrics.counts["failed"] > 20
            assert operator.metrics.results[Result.SUCCESS] == 180 + 50


@virtual_time
async def test_pass_that_hangs_ends_at_its_deadline() -> None:
    async def hang(request: Request) -> Outcome:
        await asyncio.sleep(10_000)
        return done()

    async with world() as place:
        toy = Toy(hang)
        await place.create(widget())
        async with place.operating(toy, deadline=timedelta(seconds=30)) as operator:
            await settle(timedelta(seconds=100))
            assert [round(time - toy.times[0]) for time in toy.times] == [0, 30, 60, 90]
            assert operator.metrics.results == {Result.ERROR: 3}
            assert operator.metrics.counts == {"failed": 3}
            told = {(event.reason, event.message) for event in operator.events}
            assert told == {("DeadlineExceeded", "no result within 30s")}


async def _cancel_yourself() -> Outcome:
    future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


async def _raise(error: BaseException) -> Outcome:
    raise error


async def _return(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        pytest.param(lambda: _raise(ValueError("secret=hunter2")), "InternalError", id="raises"),
        pytest.param(lambda: _raise(TimeoutError()), "InternalError", id="times out by itself"),
        pytest.param(_cancel_yourself, "InternalError", id="awaits what somebody cancelled"),
        pytest.param(lambda: _raise(RecursionError()), "InternalError", id="recurses"),
        pytest.param(lambda: _return(None), "InternalError", id="returns nothing"),
        pytest.param(lambda: _return("done"), "InternalError", id="returns something else"),
        pytest.param(lambda: _raise(ForbiddenError(403, "Forbidden", "no")), "Forbidden", id="is refused"),
    ],
)
def test_misbehaving_reconciler_fails_its_own_pass_only(misbehave: Any, reason: str) -> None:
    async def scenario() -> None:
        async def act(request: Request) -> Outcome:
            outcome: Outcome = await misbehave() if request.key == KEY else await observe_generation(request)
            return outcome

        other = Key("default", "other")
        async with world() as place:
            await place.create(widget())
            await place.create(widget(other))
            async with place.operating(Toy(act), max_concurrent=1) as operator:
                await settle(timedelta(minutes=1))
                assert (await place.get(other))["status"] == {"observedGeneration": 1}
                assert operator.metrics.active == 0
                assert operator.metrics.results[Result.ERROR] > 5
                assert {event.reason for event in operator.events} == {reason}
                assert not any("hunter2" in event.message for event in operator.events)

    run_virtual(scenario)


@virtual_time
async def test_throttled_pass_waits_as_the_server_asks() -> None:
    async def act(request: Request) -> Outcome:
        if toy.passes == 1:
            raise ThrottledError(429, "TooManyRequests", "busy", retry_after=timedelta(seconds=17))
        return done()

    async with world() as place:
        toy = Toy(act)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle(timedelta(minutes=1))
            assert round(toy.times[1] - toy.times[0]) == 17
            assert operator.metrics.results == {Result.REQUEUE_AFTER: 1, Result.SUCCESS: 1}


class Talkative(Toy):
    """Explains its failures in the status, or fails at that too."""

    broken = False

    def explain(self, request: Request, error: PassError) -> Outcome:
        if self.broken:
            raise KeyError("no words")
        status = {"why": error.reason, "message": error.message}
        return done().writing(StatusWrite(status)).with_events(Event("Warning", error.reason, "as above"))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(Retry("it broke", "Broken"), {"why": "Broken", "message": "it broke"}, id="retry"),
        pytest.param(Stall("Bad", "it is bad"), {"why": "Bad", "message": "it is bad"}, id="stall"),
        pytest.param(
            Wait(timedelta(minutes=1), "Busy", "soon"), {"why": "Busy", "message": "soon"}, id="wait"
        ),
        pytest.param(
            ValueError("secret"),
            {"why": "InternalError", "message": "internal error: ValueError"},
            id="mistake",
        ),
    ],
)
def test_reconciler_explains_its_failures_in_one_write(error: Exception, status: JsonObject) -> None:
    async def scenario() -> None:
        async with world() as place:
            toy = Talkative(lambda _: _raise(error))
            await place.create(widget())
            async with place.operating(toy) as operator:
                await settle(timedelta(minutes=3))
                assert (await place.get())["status"] == status
                assert operator.journal.writes() == ["PATCH widgets/status"]
                assert {event.reason for event in operator.events} == {status["why"]}

    run_virtual(scenario)


@virtual_time
async def test_explanation_that_fails_changes_nothing_about_the_failure() -> None:
    async with world() as place:
        toy = Talkative(lambda _: _raise(Stall("Bad", "it is bad")))
        toy.broken = True
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle(timedelta(minutes=1))
            assert operator.metrics.counts == {"stalled": 1, "panicked": 1}
            assert operator.events == [Event("Warning", "Bad", "it is bad")]
