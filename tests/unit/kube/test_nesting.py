"""An object that is nested too deeply to be decoded does not hide those beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.ledger import Ledger
from edgekeeper.kube.lines import Deletion, Upsert, parse_line
from edgekeeper.kube.nesting import CUT, MOST_LEVELS, cut, is_cut
from edgekeeper.kube.pages import parse_page
from edgekeeper.kube.raw import MalformedObjectError, peek
from edgekeeper.kube.store import Store

KIND = Kind("example.com", "v1", "Widget", "widgets")
DEPTHS = (1_500, 9_000)
LIMIT = 1_000
"""Of recursion, as processes have it; generated tests raise it for a while."""
OPENINGS = [pytest.param(b'{"a":', b"}", id="objects"), pytest.param(b"[", b"]", id="arrays")]
VALUES = st.recursive(
    st.none() | st.booleans() | st.text() | st.sampled_from(['"', "\\", "{[", '\\"}]']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@pytest.fixture(autouse=True)
def usual_limit() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(LIMIT)
    yield
    sys.setrecursionlimit(before)


def _widget(name: str, spec: bytes, version: int = 1) -> bytes:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return b'{"metadata":%s,"spec":{"deep":%s,"after":"}"}}' % (json.dumps(metadata).encode(), spec)


def _deep(depth: int, opening: bytes, closing: bytes) -> bytes:
    return opening * depth + b"1" + closing * depth


@given(VALUES)
def test_document_within_the_limit_stays_as_it_is(value: Any) -> None:
    document = json.dumps(value).encode()
    assert cut(document) == document


@given(VALUES, st.integers(1, 5))
def test_cut_is_exactly_below_the_limit(value: Any, further: int) -> None:
    inner = json.dumps([value]).encode()
    document = b"[" * (MOST_LEVELS - 1) + b"[1]," * 2 + b"[%s]" * 1 % inner + b"]" * (MOST_LEVELS - 1)
    shallow = b"[" * (MOST_LEVELS - 1) + b"[1]," * 2 + b"[" + CUT + b"]" + b"]" * (MOST_LEVELS - 1)
    assert cut(document) == shallow
    assert cut(b"[" * further + b"]" * further) == b"[" * further + b"]" * further


@pytest.mark.parametrize(("opening", "closing"), OPENINGS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_page_has_all_objects(depth: int, opening: bytes, closing: bytes) -> None:
    items = [_widget("a", b"1"), _widget("deep", _deep(depth, opening, closing)), _widget("z", b"{}")]
    body = b'{"items":[%s],"metadata":{"resourceVersion":"7","continue":"next"}}' % b",".join(items)
    with pytest.raises(RecursionError):
        msgspec.json.decode(body)
    page, token = parse_page(body)
    assert (page.resource_version, token) == ("7", "next")
    assert [peek(item).key.name for item in page.items] == ["a", "deep", "z"]
    assert [is_cut(item) for item in page.items] == [False, True, False]
    assert (page.items[0], page.items[2]) == (items[0], items[2])
    assert msgspec.json.decode(page.items[1])["spec"]["after"] == "}"


@pytest.mark.parametrize("depth", DEPTHS)
def test_events_keep_the_store_up_to_date(depth: int) -> None:
    ledger = Ledger(Store(KIND), lambda change: None)
    ledger.add_page([_widget("a", b"1")], "1")
    ledger.end_list("1")
    deep = _widget("deep", _deep(depth, b"[", b"]"), 2)
    added = parse_line(b'{"type":"ADDED","object":%s}' % deep)
    assert isinstance(added, Upsert)
    ledger.upsert(added.object)
    ledger.upsert(_widget("a", b"2", 3))
    assert set(ledger.store.keys()) == {Key("shop", "a"), Key("shop", "deep")}
    assert ledger.store.get(Key("shop", "a")) == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "shop", "uid": "uid-a", "resourceVersion": "3"},
        "spec": {"deep": 2, "after": "}"},
    }
    assert is_cut(ledger.store.raw(Key("shop", "deep")) or b"")
    deleted = parse_line(b'{"type":"DELETED","object":%s}' % deep)
    assert isinstance(deleted, Deletion)
    ledger.delete(deleted.object)
    assert ledger.store.keys() == [Key("shop", "a")]


def test_header_of_a_deep_object_is_read() -> None:
    assert peek(_widget("deep", _deep(9_000, b"[", b"]"), 4)).resource_version == "4"


@pytest.mark.parametrize(
    "document",
    [b'{"a":' * 2_000, b"[" * 2_000 + b'"\\', b"]" * 500 + b"[" * 2_000, b"[" * 2_000 + b"}" * 1_000 + b'"x'],
)
def test_what_is_broken_and_deep_is_refused(document: bytes) -> None:
    with pytest.raises(MalformedObjectError):
        peek(document)
