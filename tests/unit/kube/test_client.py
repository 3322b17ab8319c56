"""The choke point: what it promises, one law at a time, on a transport that does what a server would not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import (
    ApiError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnreachableError,
)
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.transport import ApiResponse, TransportError
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.unit.kube.scripted import (
    KEY,
    LOST,
    OK,
    WIDGET,
    Answer,
    ScriptedTransport,
    Witness,
    answer,
    client_of,
    refusal,
    widget,
)

NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
TOKEN_REVIEW = Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)

Verb = Callable[[KubeClient], Awaitable[Any]]


async def _listed(client: KubeClient) -> list[bytes]:
    return [item async for page in client.pages(WIDGET) for item in page.items]


READS: dict[str, Verb] = {
    "get": lambda client: client.get(WIDGET, KEY),
    "list": _listed,
    "fetch": lambda client: client.fetch("/apis"),
    "apply as a dry run": lambda client: client.apply(
        WIDGET, KEY, {"spec": {"size": 2}}, manager="sizes", dry_run=True
    ),
    "review": lambda client: client.review(TOKEN_REVIEW, {"spec": {"token": "t"}}),
}
WRITES: dict[str, Verb] = {
    "create": lambda client: client.create(WIDGET, widget(), namespace="default"),
    "replace": lambda client: client.replace(WIDGET, KEY, widget()),
    "merge patch": lambda client: client.merge_patch(WIDGET, KEY, {"spec": {"size": 2}}),
    "merge patch version": lambda client: client.merge_patch_version(WIDGET, KEY, {"spec": {"size": 2}}),
    "json patch": lambda client: client.json_patch(WIDGET, KEY, [{"op": "remove", "path": "/spec/size"}]),
    "apply": lambda client: client.apply(WIDGET, KEY, {"spec": {"size": 2}}, manager="sizes"),
    "delete": lambda client: client.delete(WIDGET, KEY),
    "delete collection": lambda client: client.delete_collection(WIDGET, namespace="default", labels="a=b"),
}
reads = pytest.mark.parametrize("verb", READS.values(), ids=READS)
writes = pytest.mark.parametrize("verb", WRITES.values(), ids=WRITES)
verbs = pytest.mark.parametrize("verb", (READS | WRITES).values(), ids=READS | WRITES)

LIST = answer(200, {"kind": "WidgetList", "metadata": {"resourceVersion": "9"}, "items": []})


def _playing(verb: Verb, *script: Answer) -> ScriptedTransport:
    """A script for a verb: what is fine for an object is a list for the one that lists."""
    good = LIST if verb is READS["list"] else OK
    return ScriptedTransport(*(good if line is OK else line for line in script))


# The way of a call


@verbs
async def test_call_is_numbered_told_before_and_told_after(verb: Verb) -> None:
    witness = Witness()
    client = client_of(_playing(verb, OK), witness)
    await verb(client)
    await verb(client)
    assert witness.seen == ["before 1", "after 1", "before 2", "after 2"]


async def test_call_is_recorded_in_the_words_of_kubernetes() -> None:
    witness = Witness()
    client = client_of(ScriptedTransport(), witness)
    await client.get(WIDGET, KEY)
    await client.merge_patch(WIDGET, KEY, {}, subresource="status")
    await client.create(WIDGET, {"metadata": {"generateName": "w-"}}, namespace="default")
    await client.delete(NODE, Key("", "n1"))
    assert [(r.target, r.operation, r.subject, r.mutating) for r in witness.records] == [
        ("kubernetes", "GET widgets", "default/one", False),
        ("kubernetes", "PATCH widgets/status", "default/one", True),
        ("kubernetes", "POST widgets", "default/w-*", True),
        ("kubernetes", "DELETE nodes", "n1", True),
    ]


@writes
async def test_write_broken_before_it_is_sent_is_never_sent(verb: Verb) -> None:
    witness, transport = Witness(), ScriptedTransport()
    witness.break_before[1] = TransportError("cut")
    with pytest.raises(UnreachableError, match="cut"):
        await verb(client_of(transport, witness))
    assert transport.sent == []


@writes
async def test_write_whose_answer_is_lost_was_sent_once(verb: Verb) -> None:
    witness, transport = Witness(), ScriptedTransport()
    witness.break_after[1] = TransportError("cut")
    with pytest.raises(UnreachableError, match="cut"):
        await verb(client_of(transport, witness))
    assert len(transport.sent) == 1


@verbs
async def test_exception_of_a_hook_passes_as_it_is(verb: Verb) -> None:
    class CrashError(BaseException):
        pass

    witness = Witness()
    witness.break_before[1] = CrashError()
    with pytest.raises(CrashError):
        await verb(client_of(ScriptedTransport(), witness))


# Leadership and dry run


@writes
async def test_write_of_one_who_does_not_lead_is_never_sent(verb: Verb) -> None:
    class LostError(Exception):
        pass

    def lost() -> None:
        raise LostError

    transport = ScriptedTransport()
    client = client_of(transport)
    client.leadership = lost
    with pytest.raises(LostError):
        await verb(client)
    assert transport.sent == []


@reads
async def test_read_asks_nobody_whether_we_lead(verb: Verb) -> None:
    client = client_of(_playing(verb, OK))
    client.leadership = lambda: pytest.fail("a read needs no leader")
    await verb(client)


@virtual_time
async def test_leadership_is_asked_after_the_wait_for_the_rate_limit() -> None:
    """A write that has waited for its turn may have waited longer than its process leads."""
    asked_at: list[float] = []
    client = client_of(ScriptedTransport(), requests_per_second=1, burst=1)
    client.leadership = lambda: asked_at.append(asyncio.get_running_loop().time())
    await client.delete(WIDGET, KEY)
    await client.delete(WIDGET, KEY)
    assert asked_at == pytest.approx([0, 1])


@writes
async def test_dry_run_sends_no_write(verb: Verb) -> None:
    witness, transport = Witness(), ScriptedTransport()
    with capture_logs() as logs:
        await verb(client_of(transport, witness, dry_run=True))
    assert set(transport.methods) <= {"GET"}
    assert witness.records[0].mutating
    assert [(line["event"], line["operation"]) for line in logs] == [
        ("write not sent because of dry run", witness.records[0].operation)
    ]


@reads
async def test_dry_run_reads_as_ever(verb: Verb) -> None:
    transport = _playing(verb, OK)
    await verb(client_of(transport, dry_run=True))
    assert len(transport.sent) == 1


async def test_dry_run_does_not_log_what_would_have_been_written() -> None:
    client = client_of(ScriptedTransport(), dry_run=True)
    with capture_logs() as logs:
        await client.create(WIDGET, widget(password="hunter2"), namespace="default")
    assert "hunter2" not in str(logs)


# Repetition


@reads
@pytest.mark.parametrize(
    "failure",
    [
        LOST,
        refusal(429, "TooManyRequests"),
        refusal(502),
        refusal(503),
        refusal(504),
        refusal(500, retry_after="1"),
    ],
    ids=["no answer", "429", "502", "503", "504", "500 with Retry-After"],
)
def test_read_is_repeated_where_that_may_help(verb: Verb, failure: Answer) -> None:
    @virtual_time
    async def scenario() -> None:
        witness, transport = Witness(), _playing(verb, failure, failure, OK)
        await verb(client_of(transport, witness))
        assert len(transport.sent) == 3
        assert [record.number for record in witness.records] == [1, 2, 3]

    scenario()


@reads
@pytest.mark.parametrize(
    "failure",
    [refusal(400), refusal(401), refusal(403), refusal(404), refusal(409), refusal(410), refusal(500)],
    ids=lambda failure: str(failure.status),
)
async def test_read_is_not_repeated_where_that_is_pointless(verb: Verb, failure: ApiResponse) -> None:
    transport = ScriptedTransport(failure)
    with pytest.raises(ApiError):
        await verb(client_of(transport))
    assert len(transport.sent) == 1


@writes
@pytest.mark.parametrize(
    "failure",
    [LOST, refusal(429), refusal(500, retry_after="1"), refusal(502), refusal(503), refusal(504)],
    ids=["no answer", "429 without Retry-After", "500 with Retry-After", "502", "503", "504"],
)
async def test_write_is_never_repeated_blindly(verb: Verb, failure: Answer) -> None:
    transport = ScriptedTransport(failure)
    with pytest.raises((UnreachableError, ServerError, ThrottledError)):
        await verb(client_of(transport))
    assert len(transport.sent) == 1


@writes
def test_write_is_repeated_when_the_server_asks_for_it(verb: Verb) -> None:
    @virtual_time
    async def scenario() -> None:
        transport = ScriptedTransport(refusal(429, "TooManyRequests", retry_after="2"), OK)
        await verb(client_of(transport))
        assert len(transport.sent) == 2
        assert 2.0 <= asyncio.get_running_loop().time() <= 2.2

    scenario()


@virtual_time
async def test_pauses_grow_and_end_with_the_deadline() -> None:
    transport = ScriptedTransport(LOST)
    moments: list[float] = []
    client = client_of(transport, deadline=timedelta(seconds=20))
    client.observe = lambda _method, _status: moments.append(asyncio.get_running_loop().time())
    with pytest.raises(UnreachableError):
        await client.get(WIDGET, KEY)
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert 0.05 <= pauses[0] <= 0.1
    assert max(pauses) <= 5.0
    assert moments[-1] <= 20
    assert 6 <= len(moments) <= 14


@virtual_time
async def test_retry_after_beyond_the_deadline_is_not_waited_for() -> None:
    transport = ScriptedTransport(refusal(429, "TooManyRequests", retry_after="31"))
    with pytest.raises(ThrottledError) as caught:
        await client_of(transport).get(WIDGET, KEY)
    assert asyncio.get_running_loop().time() == 0
    assert caught.value.retry_after == timedelta(seconds=31)


@virtual_time
async def test_failure_that_is_final_is_not_repeated() -> None:
    class WrongServerError(TransportError):
        is_final = True

    transport = ScriptedTransport(WrongServerError("somebody else"))
    with pytest.raises(UnreachableError, match="somebody else"):
        await client_of(transport).get(WIDGET, KEY)
    assert len(transport.sent) == 1


# Deadlines


@virtual_time
async def test_read_that_hangs_leaves_time_for_another_attempt() -> None:
    transport = ScriptedTransport(timedelta(hours=1), OK)
    await client_of(transport, deadline=timedelta(seconds=30)).get(WIDGET, KEY)
    assert len(transport.sent) == 2
    assert asyncio.get_running_loop().time() < 16


@writes
def test_write_that_hangs_ends_with_its_deadline(verb: Verb) -> None:
    @virtual_time
    async def scenario() -> None:
        transport = ScriptedTransport(timedelta(hours=1))
        with pytest.raises(UnreachableError):
            await verb(client_of(transport, deadline=timedelta(seconds=30)))
        assert asyncio.get_running_loop().time() == pytest.approx(30)

    scenario()


@virtual_time
async def test_deadline_includes_the_wait_for_the_rate_limit() -> None:
    transport = ScriptedTransport()
    client = client_of(transport, requests_per_second=0.1, burst=1, deadline=timedelta(seconds=5))
    await client.get(WIDGET, KEY)
    with pytest.raises(ThrottledError, match="the client's own rate limit"):
        await client.get(WIDGET, KEY)
    assert asyncio.get_running_loop().time() == pytest.approx(5)
    assert len(transport.sent) == 1


@virtual_time
async def test_call_can_be_cancelled_at_any_time() -> None:
    client = client_of(ScriptedTransport(timedelta(hours=1)))
    task = asyncio.create_task(client.get(WIDGET, KEY))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.get_running_loop().time() == 1


# Answers


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"kind": "Wid', b"[]", b'"text"', b"\xff\xfe"])
async def test_answer_that_cannot_be_read_is_no_answer(body: bytes) -> None:
    client = client_of(ScriptedTransport(ApiResponse(200, {}, body)))
    with pytest.raises(UnreachableError, match="cannot be read"):
        await client.replace(WIDGET, KEY, widget())
    with pytest.raises(UnreachableError, match="cannot be read"):
        await client.merge_patch_version(WIDGET, KEY, {})


async def test_error_names_method_and_path_but_no_query() -> None:
    client = client_of(ScriptedTransport(refusal(403, "Forbidden", "may not")))
    with pytest.raises(ForbiddenError) as caught:
        await client.apply(WIDGET, KEY, {}, manager="m")
    path = "/apis/example.com/v1/namespaces/default/widgets/one"
    assert (caught.value.method, caught.value.path) == ("PATCH", path)
    assert str(caught.value) == f"cannot PATCH {path}: may not (403 Forbidden)"


@virtual_time
async def test_observer_is_told_of_every_attempt() -> None:
    seen: list[tuple[str, int]] = []
    client = client_of(ScriptedTransport(LOST, refusal(503), OK, refusal(404)))
    client.observe = lambda method, status: seen.append((method, status))
    await client.get(WIDGET, KEY)
    with pytest.raises(NotFoundError):
        await client.delete(WIDGET, KEY)
    assert seen == [("GET", 0), ("GET", 503), ("GET", 200), ("DELETE", 404)]


async def test_warning_of_the_server_is_logged_once() -> None:
    warning = r'299 - "example.com/v1 is \"old\"", 299 - "unknown field"'
    client = client_of(ScriptedTransport(answer(200, {}, warning=warning)))
    with capture_logs() as logs:
        await client.get(WIDGET, KEY)
        await client.get(WIDGET, KEY)
    assert [line["warning"] for line in logs] == ['example.com/v1 is "old"', "unknown field"]


# Keys and paths


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (WIDGET, Key("default", "")),
        (WIDGET, Key("default", "..")),
        (WIDGET, Key("default", ".")),
        (WIDGET, Key("default", "one/status")),
        (WIDGET, Key("default", "../../kube-system/secrets/token")),
        (WIDGET, Key("default", "one%2fstatus")),
        (WIDGET, Key("", "one")),
        (WIDGET, Key("..", "one")),
        (WIDGET, Key("a/b", "one")),
        (NODE, Key("default", "one")),
    ],
    ids=[
        *("the whole collection", "parent", "self", "subresource", "another kind", "encoded"),
        *(
            "no namespace",
            "namespace that is none",
            "namespace with a slash",
            "namespace of a cluster's kind",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["get", "delete"])
async def test_key_that_names_no_object_is_never_sent(verb: str, kind: Kind, key: Key) -> None:
    transport = ScriptedTransport()
    client = client_of(transport)
    with pytest.raises(InvalidError):
        await (client.get(kind, key) if verb == "get" else client.delete(kind, key))
    assert transport.sent == []


@pytest.mark.parametrize("namespace", ["", "a/b", ".."])
async def test_creation_needs_a_namespace_that_is_one(namespace: str) -> None:
    transport = ScriptedTransport()
    with pytest.raises(InvalidError):
        await client_of(transport).create(WIDGET, widget(), namespace=namespace)
    assert transport.sent == []


async def test_creation_takes_the_namespace_of_the_object() -> None:
    transport = ScriptedTransport()
    tree: JsonObject = {"metadata": {"name": "a", "namespace": "theirs"}}
    await client_of(transport).create(WIDGET, tree)
    assert transport.sent[0].path == "/apis/example.com/v1/namespaces/theirs/widgets"


# Pages


async def test_list_is_read_page_by_page() -> None:
    first = {"metadata": {"resourceVersion": "9", "continue": "t"}, "items": [{"a": 1}, {"b": 2}]}
    last = {"metadata": {"resourceVersion": "9"}, "items": [{"c": 3}]}
    transport = ScriptedTransport(answer(200, first), answer(200, last))
    pages = [
        page async for page in client_of(transport).pages(WIDGET, labels="x=y", fields="a=b", page_size=2)
    ]
    assert [page.items for page in pages] == [[b'{"a":1}', b'{"b":2}'], [b'{"c":3}']]
    assert [(page.resource_version, page.last) for page in pages] == [("9", False), ("9", True)]
    selected = {"labelSelector": "x=y", "fieldSelector": "a=b", "limit": "2"}
    assert [request.query for request in transport.sent] == [selected, selected | {"continue": "t"}]


async def test_list_without_items_is_empty() -> None:
    """Servers written in Go say null for no items."""
    tree = {"metadata": {"resourceVersion": "9"}, "items": None}
    pages = [page async for page in client_of(ScriptedTransport(answer(200, tree))).pages(WIDGET)]
    assert [(page.items, page.last) for page in pages] == [([], True)]


@pytest.mark.parametrize("body", [b"{}", b'{"items": [{"a": 1}', b"null", b'{"items": {}}', b"<html>"])
async def test_list_that_is_none_never_means_no_objects(body: bytes) -> None:
    with pytest.raises(UnreachableError, match="cannot be read"):
        await _listed(client_of(ScriptedTransport(ApiResponse(200, {}, body))))


async def test_list_that_expires_half_way_says_so() -> None:
    first = {"metadata": {"resourceVersion": "9", "continue": "t"}, "items": [{}]}
    transport = ScriptedTransport(answer(200, first), refusal(410, "Expired"))
    with pytest.raises(ExpiredError):
        await _listed(client_of(transport))


# Watches


async def _watched(transport: ScriptedTransport, **options: Any) -> list[bytes]:
    client = client_of(transport, **options)
    async with client.watch(WIDGET, resource_version="5", timeout=timedelta(minutes=5)) as lines:
        return [line async for line in lines]


async def test_watch_yields_complete_lines_however_they_are_cut() -> None:
    transport = ScriptedTransport(chunks=[b'{"a"', b":1}", b'\n{"b":2}\n{"c', b'":3}\n', b"\n"])
    assert await _watched(transport) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_watch_asks_for_what_it_is_told() -> None:
    transport = ScriptedTransport()
    client = client_of(transport)
    timeout = timedelta(seconds=290)
    async with client.watch(WIDGET, resource_version="5", timeout=timeout, namespace="ns", labels="a=b"):
        pass
    async with client.watch(WIDGET, resource_version="5", timeout=timeout, bookmarks=False):
        pass
    assert [request.path for request in transport.sent] == [
        "/apis/example.com/v1/namespaces/ns/widgets",
        "/apis/example.com/v1/widgets",
    ]
    plain = {"watch": "1", "resourceVersion": "5", "timeoutSeconds": "290"}
    selected = plain | {"labelSelector": "a=b", "allowWatchBookmarks": "true"}
    assert [request.query for request in transport.sent] == [selected, plain]


@pytest.mark.parametrize("chunks", [[b'{"a":1}\n{"b"'], [b'{"a":1}\n', LOST]], ids=["cut in a line", "reset"])
async def test_watch_that_breaks_says_so_after_the_last_complete_line(
    chunks: list[bytes | TransportError],
) -> None:
    client = client_of(ScriptedTransport(chunks=chunks))
    async with client.watch(WIDGET, resource_version="5", timeout=timedelta(minutes=5)) as lines:
        assert await anext(lines) == b'{"a":1}'
        with pytest.raises(UnreachableError):
            await anext(lines)


async def test_watch_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgekeeper.kube.pages.LONGEST_LINE", 100)
    with pytest.raises(UnreachableError, match="longer than 100 bytes"):
        await _watched(ScriptedTransport(chunks=[b"x" * 60, b"x" * 60]))


@pytest.mark.parametrize("status", [403, 404, 410, 429, 500])
async def test_watch_that_is_refused_is_not_repeated(status: int) -> None:
    witness, transport = Witness(), ScriptedTransport(refusal(status, "", "not you"))
    client = client_of(transport, witness)
    with pytest.raises(ApiError, match="not you") as caught:
        async with client.watch(WIDGET, resource_version="5", timeout=timedelta(minutes=5)):
            pytest.fail("there is nothing to watch")
    assert (caught.value.status, caught.value.method) == (status, "GET")
    assert len(transport.sent) == 1
    assert transport.open_streams == 0


async def test_watch_that_is_refused_at_endless_length_is_not_read_to_its_end() -> None:
    endless = (b"x" * 10_000 for _ in range(10**9))
    transport = ScriptedTransport(ApiResponse(502, {}, b""), chunks=endless)
    with pytest.raises(ServerError, match="xxx"):
        await _watched(transport)


async def test_watch_that_is_left_is_closed() -> None:
    transport = ScriptedTransport(chunks=[b"{}\n{}\n"])
    client = client_of(transport)
    async with client.watch(WIDGET, resource_version="5", timeout=timedelta(minutes=5)) as lines:
        async for _ in lines:
            break
        assert transport.open_streams == 1
    assert transport.open_streams == 0


@virtual_time
async def test_watch_that_does_not_open_ends_with_the_deadline() -> None:
    with pytest.raises(UnreachableError, match="no answer within 30 s"):
        await _watched(ScriptedTransport(timedelta(hours=1)))
    assert asyncio.get_running_loop().time() == pytest.approx(30)


async def test_watch_is_numbered_and_observed_like_any_call() -> None:
    witness = Witness()
    seen: list[tuple[str, int]] = []
    client = client_of(ScriptedTransport(), witness)
    client.observe = lambda method, status: seen.append((method, status))
    async with client.watch(WIDGET, resource_version="5", timeout=timedelta(minutes=5)):
        assert witness.seen == ["before 1", "after 1"]
    assert [(record.operation, record.mutating) for record in witness.records] == [("WATCH widgets", False)]
    assert seen == [("GET", 200)]


async def test_close_closes_the_transport() -> None:
    transport = ScriptedTransport()
    await client_of(transport).close()
    assert transport.closed
