"""Lists and their pages: one snapshot, whatever happens between two of them."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.read import decode_continue, encode_continue
from kubesim.plane.request import Request
from packages.kubesim.tests.plane.cluster import CONFIG_MAPS, config_map, names, running

NAME = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,8}[a-z0-9])?", fullmatch=True)
CHANGES = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=6)


@given(st.integers(-1, 2**53), st.tuples(st.just("") | NAME, NAME))
def test_continue_token_round_trips(revision: int, key: tuple[str, str]) -> None:
    assert decode_continue(encode_continue(revision, key)) == (revision, key)


def token(tree: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(tree)).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x", id="no-base64"),
        pytest.param("é", id="no-ascii"),
        pytest.param("eA", id="no-json"),
        pytest.param(token([]), id="no-object"),
        pytest.param(token({"rv": 1}), id="no-start"),
        pytest.param(token({"start": "a/b"}), id="no-revision"),
        pytest.param(token({"rv": "x", "start": "a/b"}), id="revision-of-letters"),
        pytest.param(token({"rv": None, "start": "a/b"}), id="revision-null"),
        pytest.param(token({"rv": 1, "start": 5}), id="start-of-digits"),
    ],
)
def test_forged_continue_token_is_refused(text: str) -> None:
    with pytest.raises(StatusError, match="continue key is not valid") as refused:
        decode_continue(text)
    assert refused.value.code == 400


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30) | st.binary(max_size=30))
def test_any_continue_token_is_either_read_or_refused(raw: str | bytes) -> None:
    text = raw if isinstance(raw, str) else base64.urlsafe_b64encode(raw).decode()
    with suppress(StatusError):
        assert len(decode_continue(text)) == 2


async def change(plane: Plane, name: str, *, remove: bool) -> None:
    """Bring an object to life, or change it, or remove it if it is there."""
    target = f"{CONFIG_MAPS}/{name}"
    response = await plane.handle(Request.of("GET", target))
    if response.status == 404:
        if not remove:
            await plane.client.create(CONFIG_MAPS, config_map(name))
    elif remove:
        await plane.client.delete(target)
    else:
        await plane.client.merge(target, {"data": {"revision": str(plane.store.revision)}})


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.sampled_from("abcdefgh"), max_size=8),
    st.integers(1, 4),
    st.lists(CHANGES, min_size=1, max_size=8),
)
def test_pages_are_one_snapshot_whatever_happens_between_them(
    present: set[str], limit: int, rounds: list[list[tuple[str, bool]]]
) -> None:
    async def scenario() -> None:
        async with running() as plane:
            for name in sorted(present):
                await plane.client.create(CONFIG_MAPS, config_map(name))
            snapshot = await plane.client.get(CONFIG_MAPS)
            assert await paged(plane, limit, rounds) == snapshot["items"]

    asyncio.run(scenario())


async def paged(plane: Plane, limit: int, rounds: list[list[tuple[str, bool]]]) -> list[JsonObject]:
    """All items of a list by pages, with changes after each of them."""
    items: list[JsonObject] = []
    query, number, revision = "", 0, plane.store.revision
    while True:
        page = await plane.client.get(f"{CONFIG_MAPS}?limit={limit}{query}")
        assert page["metadata"]["resourceVersion"] == str(revision)
        items += page["items"]
        following = page["metadata"].get("continue")
        if not following:
            return items
        assert len(page["items"]) == limit
        query = f"&continue={following}"
        for name, remove in rounds[number % len(rounds)]:
            await change(plane, name, remove=remove)
        number += 1


async def filled(plane: Plane) -> None:
    for name in "abcde":
        tree = config_map(name)
        tree["metadata"]["labels"] = {"odd": str(name in "ace").lower()}
        await plane.client.create(CONFIG_MAPS, tree)


async def test_page_tells_how_many_items_remain(plane: Plane) -> None:
    await filled(plane)
    page = await plane.client.get(f"{CONFIG_MAPS}?limit=2")
    assert page["metadata"]["remainingItemCount"] == 3
    last = await plane.client.get(f"{CONFIG_MAPS}?limit=3&continue={page['metadata']['continue']}")
    assert names(last) == ["c", "d", "e"]
    assert set(last["metadata"]) == {"resourceVersion"}


async def test_page_of_a_selection_does_not_count_what_remains(plane: Plane) -> None:
    await filled(plane)
    page = await plane.client.get(f"{CONFIG_MAPS}?limit=2&labelSelector=odd%3Dtrue")
    assert names(page) == ["a", "c"]
    assert "remainingItemCount" not in page["metadata"]
    rest = await plane.client.get(
        f"{CONFIG_MAPS}?limit=2&labelSelector=odd%3Dtrue&continue={page['metadata']['continue']}"
    )
    assert names(rest) == ["e"]


async def test_page_whose_past_is_forgotten_goes_on_from_its_key(plane: Plane) -> None:
    await filled(plane)
    page = await plane.client.get(f"{CONFIG_MAPS}?limit=2")
    await plane.client.create(CONFIG_MAPS, config_map("bb"))
    plane.store.compact()
    with pytest.raises(StatusError, match="continue parameter is too old") as refused:
        await plane.client.get(f"{CONFIG_MAPS}?limit=2&continue={page['metadata']['continue']}")
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    fresh = refused.value.metadata["continue"]
    assert names(await plane.client.get(f"{CONFIG_MAPS}?continue={fresh}")) == ["bb", "c", "d", "e"]


async def test_exact_revision_is_served_as_it_was(plane: Plane) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    revision = plane.store.revision
    await plane.client.create(CONFIG_MAPS, config_map("b"))
    exact = f"{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact"
    assert names(await plane.client.get(exact)) == ["a"]
    assert names(await plane.client.get(f"{CONFIG_MAPS}?resourceVersion={revision}")) == ["a", "b"]
    assert names(await plane.client.get(f"{CONFIG_MAPS}?resourceVersion={revision}&limit=9")) == ["a"]
    plane.store.compact()
    with pytest.raises(StatusError, match="too old") as refused:
        await plane.client.get(exact)
    assert refused.value.code == 410


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("resourceVersion=x", 400),
        ("resourceVersion=" + "9" * 5000, 400),
        ("resourceVersion=99999999", 504),
        ("limit=x", 400),
        ("limit=" + "9" * 5000, 400),
        ("continue=x", 400),
        ("continue=x&resourceVersion=5", 400),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Sometime&resourceVersion=1", 422),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422),
        ("resourceVersionMatch=Exact&resourceVersion=1&continue=x", 422),
        ("sendInitialEvents=true", 422),
        ("labelSelector=%28", 400),
        ("fieldSelector=spec.foo%3D1", 400),
        ("fieldSelector=%3D", 400),
    ],
)
async def test_list_with_bad_options_is_refused(
    plane: Plane, query: str, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await plane.handle(Request.of("GET", f"{CONFIG_MAPS}?{query}"))
    assert (answer.status, answer.json()["kind"]) == (code, "Status")
    assert not caplog.records


@pytest.mark.parametrize("limit", ["-1", "0", "5", "99"])
async def test_limit_that_limits_nothing(plane: Plane, limit: str) -> None:
    await filled(plane)
    page = await plane.client.get(f"{CONFIG_MAPS}?limit={limit}")
    assert len(page["items"]) == 5
    assert "continue" not in page["metadata"]


async def test_get_waits_for_no_revision_that_nobody_has_written(plane: Plane) -> None:
    await filled(plane)
    answer = await plane.handle(Request.of("GET", f"{CONFIG_MAPS}/a?resourceVersion=99999999"))
    assert (answer.status, answer.json()["details"]["retryAfterSeconds"]) == (504, 1)


async def test_deleting_a_collection_keeps_the_pages_of_a_list(plane: Plane) -> None:
    await filled(plane)
    page = await plane.client.get(f"{CONFIG_MAPS}?limit=1")
    await plane.client.delete(CONFIG_MAPS)
    rest = await plane.client.get(f"{CONFIG_MAPS}?continue={page['metadata']['continue']}")
    assert names(rest) == ["b", "c", "d", "e"]
