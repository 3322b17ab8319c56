"""What the log tells of a pass."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from edgekeeper.core.errors import Cause, PassError, Retry, Stall, Wait
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Outcome, StatusWrite, done
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.logs import configure
from kubesim.virtual import run_virtual
from tests.logs import log_as_it_was
from tests.unit.runtime.world import Toy, settle, widget, world

_log = get_logger(__name__)


@pytest.fixture(name="stream")
def _stream() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    with log_as_it_was():
        configure(format="json", level="info", stream=stream, environ={})
        yield stream


def lines_of(stream: io.StringIO, act: Any, **spec: Any) -> list[dict[str, Any]]:
    """The lines that a controller writes about one object, in a minute."""

    async def scenario() -> None:
        async with world() as place:
            await place.create(widget(**spec))
            async with place.operating(Toy(act), log_level=("spec", "logLevel")):
                await settle(timedelta(seconds=30))

    run_virtual(scenario)
    lines = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    return [line for line in lines if line.get("reconcile_id")]


async def write(request: Request) -> Outcome:
    _log.debug("Looking closely")
    _log.info("Looking")
    return Outcome(write=StatusWrite({"size": 1}), details={"size": 1, "event": "an odd name"})


async def nothing(request: Request) -> Outcome:
    return done().writing(StatusWrite({}))


async def fail(request: Request) -> Outcome:
    raise Retry("cannot reach the tunnel", "Unreachable")


async def stall(request: Request) -> Outcome:
    raise Stall("InvalidSpec", "the spec makes no sense")


async def wait(request: Request) -> Outcome:
    raise Wait(timedelta(minutes=1), "Deploying")


async def trip(request: Request) -> Outcome:
    raise ValueError("a mistake")


def test_every_line_of_a_pass_tells_the_object_and_the_pass(stream: io.StringIO) -> None:
    lines = lines_of(stream, write)
    assert [line["msg"] for line in lines] == ["Looking", "Reconciliation completed"]
    for line in lines:
        assert (
            line.items()
            >= {
                "controller": "widget",
                "kind": "Widget",
                "namespace": "default",
                "name": "one",
                "generation": 1,
                "reconcile_id": lines[0]["reconcile_id"],
            }.items()
        )
    assert lines[-1]["size"] == 1


def test_pass_that_does_nothing_says_nothing(stream: io.StringIO) -> None:
    assert lines_of(stream, nothing) == []


def test_object_may_ask_for_a_level_of_its_own(stream: io.StringIO) -> None:
    assert "Looking closely" in [line["msg"] for line in lines_of(stream, write, logLevel="debug")]


@pytest.mark.parametrize("level", [7, "loud", None, ["debug"]], ids=str)
def test_level_that_makes_no_sense_is_ignored(stream: io.StringIO, level: Any) -> None:
    assert "Looking" in [line["msg"] for line in lines_of(stream, write, logLevel=level)]


@pytest.mark.parametrize(
    ("act", "level", "message", "reason"),
    [
        pytest.param(fail, "error", "Reconciliation failed", "Unreachable", id="retry"),
        pytest.param(stall, "warning", "Reconciliation stalled", "InvalidSpec", id="stall"),
        pytest.param(wait, "info", "Reconciliation waits", "Deploying", id="wait"),
        pytest.param(trip, "error", "Reconciliation failed", "InternalError", id="mistake"),
    ],
)
def test_failures_are_told_with_their_reason(
    stream: io.StringIO, act: Any, level: str, message: str, reason: str
) -> None:
    told = [line for line in lines_of(stream, act) if line["msg"] == message]
    assert told
    assert {(line["level"], line["reason"]) for line in told} == {(level, reason)}


def test_time_until_the_next_pass_is_told_as_people_write_it(stream: io.StringIO) -> None:
    (line,) = (line for line in lines_of(stream, wait) if line["msg"] == "Reconciliation waits")
    assert line["after"] == "1m"


async def lack_the_cloud(request: Request) -> Outcome:
    error: PassError = (
        Retry("no route") if request.key.name == "one" else Wait(timedelta(seconds=1), "Throttled")
    )
    error.unavailable = Cause.UNREACHABLE
    raise error


def test_outage_is_no_news_of_each_pass(stream: io.StringIO) -> None:
    assert lines_of(stream, lack_the_cloud) == []
    assert lines_of(stream, lack_the_cloud, logLevel="debug") != []


def test_mistake_is_told_with_its_traceback(stream: io.StringIO) -> None:
    line = lines_of(stream, trip)[0]
    assert line["msg"] == "Reconciliation raised an unexpected exception"
    assert "in trip" in line["stack"]
