from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.event_facts import Fact, Reporter, Subject, one_line, series
from edgekeeper.kube.events import Recorder, RecorderOptions
from edgekeeper.kube.kinds import EVENT
from edgekeeper.kube.lease import LostLeadershipError
from edgekeeper.kube.transport import ApiRequest, ApiResponse, TransportError
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, virtual_time
from tests.logs import capture_logs
from tests.unit.kube.faults import FaultyTransport, refusal
from tests.unit.kube.world import quiet_plane

NOW = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)
REPORTER = Reporter("edgekeeper", "edgekeeper-6f7c_1")
READY = Event("Normal", "Ready", "all is well")
BROKEN = Event("Warning", "CreateFailed", "quota exceeded", "Create")


def widget(name: str = "shop", namespace: str = "default", **metadata: Any) -> JsonObject:
    identity = {"name": name, "namespace": namespace, "uid": f"uid-{name}", **metadata}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": identity, "spec": {"size": 1}}


@dataclass
class Desk:
    """A recorder, the server it writes to, and the way there."""

    plane: Plane
    transport: FaultyTransport
    recorder: Recorder
    requests: list[ApiRequest] = field(default_factory=list)

    async def events(self, namespace: str = "default") -> list[JsonObject]:
        listed = await self.plane.client.get(EVENT.collection_path(namespace))
        return sorted(listed["items"], key=lambda event: str(event["metadata"]["name"]))

    async def event(self, namespace: str = "default") -> JsonObject:
        (only,) = await self.events(namespace)
        return only

    def methods(self) -> list[str]:
        return [request.method for request in self.requests]

    def refuse(self, why: Callable[[ApiRequest], ApiResponse | TransportError | None]) -> None:
        def refuse(request: ApiRequest) -> ApiResponse | TransportError | None:
            self.requests.append(request)
            return why(request)

        self.transport.refuse = refuse


@asynccontextmanager
async def recording(
    options: RecorderOptions | None = None, *, started: bool = True, plane: Plane | None = None
) -> AsyncIterator[Desk]:
    clock = LoopClock()
    async with _given_or_new(plane, clock) as server:
        transport = FaultyTransport(InProcessTransport(server))
        client = KubeClient(transport, Calls(), clock, ClientOptions())
        desk = Desk(server, transport, Recorder(client, clock, REPORTER, options or RecorderOptions()))
        desk.refuse(lambda _: None)
        if started:
            await desk.recorder.start()
        try:
            yield desk
        finally:
            await desk.recorder.stop()


@asynccontextmanager
async def _given_or_new(plane: Plane | None, clock: LoopClock) -> AsyncIterator[Plane]:
    if plane is not None:
        yield plane
        return
    async with quiet_plane(clock) as new:
        yield new


# What is written


@virtual_time
async def test_event_tells_what_happened_to_which_object() -> None:
    async with recording() as desk:
        desk.recorder.record(widget(), BROKEN)
        await asyncio.sleep(1)
        event = await desk.event()
        assert {name: event[name] for name in event if name not in ("metadata", "eventTime")} == {
            "type": "Warning",
            "reason": "CreateFailed",
            "action": "Create",
            "note": "quota exceeded",
            "regarding": {
                "apiVersion": "example.com/v1",
                "kind": "Widget",
                "namespace": "default",
                "name": "shop",
                "uid": "uid-shop",
            },
            "reportingController": "edgekeeper",
            "reportingInstance": "edgekeeper-6f7c_1",
        } | {
            name: event[name]
            for name in event
            if name.startswith("deprecated") or name in ("kind", "apiVersion")
        }
        assert event["metadata"]["name"].startswith("shop.")
        assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"


@virtual_time
async def test_event_of_a_cluster_scoped_object_lives_in_the_default_namespace() -> None:
    async with recording() as desk:
        subject = widget("zone-a", namespace="")
        del subject["metadata"]["namespace"]
        desk.recorder.record(subject, READY)
        await asyncio.sleep(1)
        event = await desk.event()
        assert "namespace" not in event["regarding"]


@virtual_time
async def test_record_returns_before_anything_is_sent() -> None:
    async with recording() as desk:
        desk.recorder.record(widget(), READY)
        assert desk.requests == []
        await asyncio.sleep(1)
        assert desk.methods() == ["POST"]


@virtual_time
async def test_events_recorded_before_the_start_are_written_after_it() -> None:
    async with recording(started=False) as desk:
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(10)
        assert desk.requests == []
        await desk.recorder.start()
        await asyncio.sleep(1)
        assert desk.recorder.counts["created"] == 1


@virtual_time
async def test_different_facts_are_different_events() -> None:
    async with recording() as desk:
        for subject in (widget("a"), widget("b"), widget("a", uid="another")):
            for event in (READY, BROKEN, Event("Normal", "Ready", "all is very well")):
                desk.recorder.record(subject, event)
        await asyncio.sleep(10)
        assert len(await desk.events()) == 9


# Series


@virtual_time
async def test_repetition_becomes_a_series_of_one_event() -> None:
    async with recording() as desk:
        for _ in range(5):
            desk.recorder.record(widget(), READY)
            await asyncio.sleep(60)
        event = await desk.event()
        assert event["series"] == {"count": 5, "lastObservedTime": "2026-01-01T00:04:00.000000Z"}
        assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
        assert desk.methods() == ["POST", "PATCH", "PATCH", "PATCH", "PATCH"]


@virtual_time
async def test_repetitions_that_wait_together_are_one_write() -> None:
    async with recording() as desk:
        for _ in range(1000):
            desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        assert desk.methods() == ["POST"]
        assert (await desk.event())["series"]["count"] == 1000


@virtual_time
async def test_quick_repetitions_are_gathered_and_none_is_forgotten() -> None:
    async with recording() as desk:
        for _ in range(100):
            desk.recorder.record(widget(), READY)
            await asyncio.sleep(0.1)
        await asyncio.sleep(90)
        assert desk.methods() == ["POST", "PATCH", "PATCH"]
        assert (await desk.event())["series"]["count"] == 100


@virtual_time
async def test_series_goes_on_after_a_restart() -> None:
    async with quiet_plane(LoopClock()) as plane:
        for _ in range(3):
            async with recording(plane=plane) as desk:
                desk.recorder.record(widget(), READY)
                await asyncio.sleep(2000)
        assert (await desk.event())["series"]["count"] == 3
        assert desk.methods() == ["POST", "GET", "PATCH"]


@virtual_time
async def test_series_starts_again_where_events_may_not_be_read() -> None:
    async with quiet_plane(LoopClock()) as plane:
        for _ in range(3):
            async with recording(plane=plane) as desk:
                desk.refuse(lambda request: refusal(403, "Forbidden") if request.method == "GET" else None)
                desk.recorder.record(widget(), READY)
        assert (await desk.event())["series"]["count"] == 2


@virtual_time
async def test_series_goes_on_after_a_long_silence() -> None:
    async with recording() as desk:
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(3600)
        desk.recorder.record(widget("other"), READY)
        await asyncio.sleep(1)
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        counts = {
            event["regarding"]["name"]: event.get("series", {}).get("count") for event in await desk.events()
        }
        assert counts == {"shop": 2, "other": None}


@virtual_time
async def test_series_whose_event_has_expired_becomes_a_new_event() -> None:
    async with recording() as desk:
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        name = (await desk.event())["metadata"]["name"]
        await desk.plane.client.delete(f"{EVENT.collection_path('default')}/{name}")
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        assert (await desk.event())["series"]["count"] == 2
        assert desk.methods() == ["POST", "PATCH", "POST"]


@virtual_time
async def test_lost_answer_of_a_creation_does_not_make_two_events() -> None:
    async with recording() as desk:
        lost = iter([True])

        class Losing(FaultyTransport):
            async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
                answer = await super().send(request, deadline)
                if request.method == "POST" and next(lost, False):
                    raise TransportError("connection reset by peer")
                return answer

        losing = Losing(desk.transport.inner)
        recorder = Recorder(KubeClient(losing, Calls(), LoopClock()), LoopClock(), REPORTER)
        await recorder.start()
        recorder.record(widget(), READY)
        await asyncio.sleep(60)
        await recorder.stop()
        assert len(await desk.events()) == 1
        assert recorder.counts["dropped"] == 0


@virtual_time
async def test_event_of_the_same_name_that_says_something_else_is_left_alone() -> None:
    async with recording() as desk:
        fact = Fact.of(Subject.of(widget()), READY)
        squatter = REPORTER.event(fact, NOW, 1, NOW) | {"note": "send money"}
        await desk.plane.client.create(EVENT.collection_path("default"), squatter)
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(60)
        event = await desk.event()
        assert event["note"] == "send money"
        assert "series" not in event
        assert desk.recorder.counts["failed"] == 1


# Limits


@virtual_time
async def test_object_that_has_too_much_to_say_is_limited() -> None:
    async with recording() as desk:
        for number in range(100):
            desk.recorder.record(widget("loud"), Event("Normal", "Ready", f"number {number}"))
        desk.recorder.record(widget("quiet"), READY)
        await asyncio.sleep(30)
        names = [event["regarding"]["name"] for event in await desk.events()]
        assert names.count("loud") == 25
        assert names.count("quiet") == 1
        assert desk.recorder.counts["rate_limited"] == 75


@virtual_time
async def test_limited_object_may_speak_again_every_five_minutes() -> None:
    async with recording() as desk:
        for number in range(1000):
            desk.recorder.record(widget(), Event("Normal", "Ready", f"number {number}"))
            await asyncio.sleep(6)
        assert desk.recorder.counts["created"] == 25 + 999 * 6 // 300


@virtual_time
async def test_limited_series_keeps_its_count_until_it_may_be_written() -> None:
    async with recording() as desk:
        for _ in range(200):
            desk.recorder.record(widget(), READY)
            await asyncio.sleep(60)
        await asyncio.sleep(600)
        assert (await desk.event())["series"]["count"] == 200
        assert len(desk.requests) <= 25 + 12_600 // 300 + 1


@virtual_time
async def test_all_objects_together_are_paced() -> None:
    async with recording(RecorderOptions(writes_per_second=10)) as desk:
        for number in range(500):
            desk.recorder.record(widget(f"w-{number}"), READY)
        await asyncio.sleep(20)
        assert 200 <= len(desk.requests) <= 226
        await asyncio.sleep(40)
        assert desk.recorder.counts["created"] == 500


@virtual_time
async def test_full_queue_drops_the_oldest_and_says_so_once() -> None:
    async with recording(RecorderOptions(waiting=10), started=False) as desk:
        with capture_logs() as lines:
            for number in range(25):
                desk.recorder.record(widget(f"w-{number:02}"), READY)
        assert desk.recorder.counts["queue_full"] == 15
        assert len([line for line in lines if "Dropping the oldest events" in line["event"]]) == 1
        await desk.recorder.start()
        await asyncio.sleep(10)
        written = [event["regarding"]["name"] for event in await desk.events()]
        assert written == [f"w-{number}" for number in range(15, 25)]


@virtual_time
async def test_memory_is_bounded() -> None:
    async with recording(RecorderOptions(remembered=20, writes_per_second=1000)) as desk:
        for number in range(200):
            desk.recorder.record(widget(f"w-{number}"), READY)
            await asyncio.sleep(0.1)
        assert len(desk.recorder._series) <= 20
        assert len(desk.recorder._allowance._full_at) <= 20


@virtual_time
async def test_series_that_is_forgotten_with_repetitions_unwritten_is_counted() -> None:
    async with recording(RecorderOptions(remembered=1)) as desk:
        for name in ("a", "a", "a", "b"):
            desk.recorder.record(widget(name), READY)
            await asyncio.sleep(1)
        assert desk.recorder.counts["forgotten"] == 1


@virtual_time
async def test_finished_series_are_forgotten() -> None:
    async with recording() as desk:
        for number in range(50):
            desk.recorder.record(widget(f"w-{number}"), READY)
        await asyncio.sleep(1200)
        desk.recorder.record(widget("last"), READY)
        await asyncio.sleep(1)
        assert len(desk.recorder._series) == 1


# Trouble

REFUSALS = {
    "forbidden": refusal(403, "Forbidden"),
    "namespace_gone": refusal(404, "NotFound", 'namespaces "default" not found'),
    "invalid": refusal(422, "Invalid"),
    "unauthorized": refusal(401, "Unauthorized"),
}
PASSING = {
    "conflict": refusal(409, "Conflict"),
    "unreachable": TransportError("connection refused"),
    "broken": refusal(500, "InternalError"),
    "throttled": refusal(429, "TooManyRequests"),
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS.keys())
@virtual_time
async def test_refused_event_is_dropped_at_once(answer: ApiResponse) -> None:
    async with recording() as desk:
        desk.refuse(lambda _: answer)
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(60)
        assert desk.methods() == ["POST"]
        assert desk.recorder.counts["failed"] == 1


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING.keys())
@virtual_time
async def test_event_is_tried_a_few_times_in_passing_trouble(answer: ApiResponse | TransportError) -> None:
    async with recording() as desk:
        desk.refuse(lambda _: answer)
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(60)
        assert desk.methods() == ["POST"] * 3
        assert desk.recorder.counts["failed"] == 1
        desk.refuse(lambda _: None)
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        assert len(await desk.events()) == 1


@virtual_time
async def test_lost_leadership_drops_the_event_and_nothing_else() -> None:
    clock = LoopClock()
    async with quiet_plane(clock) as plane:
        client = KubeClient(InProcessTransport(plane), Calls(), clock)

        def refuse() -> None:
            raise LostLeadershipError("not any more")

        client.leadership = refuse
        recorder = Recorder(client, clock, REPORTER)
        await recorder.start()
        recorder.record(widget(), READY)
        await asyncio.sleep(1)
        client.leadership = None
        recorder.record(widget(), BROKEN)
        await asyncio.sleep(1)
        await recorder.stop()
        assert (recorder.counts["failed"], recorder.counts["created"]) == (1, 1)


@pytest.mark.parametrize(
    "subject",
    [
        {},
        {"kind": "Widget"},
        {"metadata": None},
        {"metadata": {"name": 5}, "kind": "W", "apiVersion": "v1"},
        None,
        7,
    ],
    ids=repr,
)
@virtual_time
async def test_record_survives_any_subject(subject: Any) -> None:
    async with recording() as desk:
        desk.recorder.record(subject, READY)
        await asyncio.sleep(1)
        assert desk.recorder.counts["malformed"] == 1
        assert desk.requests == []


@virtual_time
async def test_record_survives_an_event_of_wrong_types() -> None:
    async with recording() as desk:
        wrong: Any = Event("Odd", None, {"a": "dict"}, None)  # type: ignore[arg-type]
        desk.recorder.record(widget(), wrong)
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        assert desk.recorder.counts["created"] >= 1


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


@virtual_time
async def test_recorder_survives_an_event_that_cannot_be_put_into_words() -> None:
    async with recording() as desk:
        unspeakable: Any = Unspeakable()
        desk.recorder.record(widget(), Event("Normal", "Ready", unspeakable))
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        assert (desk.recorder.counts["malformed"], desk.recorder.counts["created"]) == (1, 1)


# Stopping


@virtual_time
async def test_stop_writes_what_is_left() -> None:
    async with recording() as desk:
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        for number in range(60):
            desk.recorder.record(widget(), READY)
            desk.recorder.record(widget(f"w-{number}"), READY)
            await asyncio.sleep(0.01)
        await desk.recorder.stop()
        events = {event["regarding"]["name"]: event for event in await desk.events()}
        assert len(events) == 61
        assert events["shop"]["series"]["count"] == 61


@virtual_time
async def test_stop_does_not_wait_for_a_server_that_is_away() -> None:
    async with recording() as desk:
        desk.transport.inner = Deaf()
        desk.recorder.record(widget(), READY)
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await desk.recorder.stop(timedelta(seconds=3))
        assert asyncio.get_running_loop().time() - began == pytest.approx(3)


class Deaf(InProcessTransport):
    """A server that never answers."""

    def __init__(self) -> None:
        pass

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        await asyncio.sleep(deadline.total_seconds())
        raise TransportError("timed out")


@virtual_time
async def test_events_after_the_stop_are_counted_as_dropped() -> None:
    async with recording() as desk:
        await desk.recorder.stop()
        desk.recorder.record(widget(), READY)
        assert desk.recorder.counts["stopped"] == 1


# Facts


def fact(message: str = "m", reason: str = "Ready", name: str = "shop", action: str = "Reconcile") -> Fact:
    return Fact.of(Subject.of(widget(name)), Event("Normal", reason, message, action))


def test_equal_facts_have_equal_names() -> None:
    assert fact().key == fact().key
    assert fact().key.name == "shop.f43bed38b4bdf484"


@pytest.mark.parametrize(
    "other",
    [fact("n"), fact(reason="Other"), fact(action="Create"), fact(name="stop")],
    ids=lambda one: repr(one)[:40],
)
def test_other_facts_have_other_names(other: Fact) -> None:
    assert other.key != fact().key


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a" * 253, "a" * 236),
        ("a" * 235 + "." + "b" * 10, "a" * 235),
        ("system:node", "widget"),
        ("Über", "widget"),
    ],
    ids=["long", "cut_at_a_dot", "with_a_colon", "not_ascii"],
)
def test_name_of_an_event_is_one_that_the_server_accepts(name: str, expected: str) -> None:
    event_name = fact(name=name).key.name
    assert event_name.rpartition(".")[0] == expected
    assert len(event_name) <= 253


@given(st.text(max_size=3000), st.text(max_size=300), st.text(max_size=300))
def test_any_words_fit_the_limits_of_the_server(message: str, reason: str, action: str) -> None:
    told = fact(message, reason, action=action)
    assert len(told.note.encode()) <= 1024
    assert 0 < len(told.reason.encode()) <= 128
    assert 0 < len(told.action.encode()) <= 128
    for text in (told.note, told.reason, told.action):
        assert text.isprintable() or not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two\nlines\r\nand more", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("bell\x07 and null\x00", "bell and null"),
        ("line\u2028separator", "line separator"),
        ("csi \x9b31m here", "csi 31m here"),
        ("cannot reach https://user:hunter2@example.com", "cannot reach https://[redacted]@example.com"),
        ("request failed: tok\x1b[0men=abc123", "request failed: token=[redacted]"),
    ],
    ids=["newlines", "colours", "controls", "separators", "c1", "password", "hidden_by_an_escape"],
)
def test_words_become_one_clean_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


def test_secrets_go_before_the_text_is_cut() -> None:
    message = "x" * 1000 + " token=" + "s3cr3t" * 20
    assert "s3cr3t" not in fact(message).note


def test_series_has_a_count_that_fits() -> None:
    assert series(2**40, NOW) == {
        "series": {"count": 2**31 - 1, "lastObservedTime": "2026-03-01T12:00:00.000005Z"}
    }


def test_reporter_names_itself_where_its_instance_has_no_name() -> None:
    event = Reporter("edgekeeper", "\n").event(fact(), NOW, 1, NOW)
    assert event["reportingInstance"] == "edgekeeper"
