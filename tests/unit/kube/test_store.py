"""What a store answers, and that it does not answer before it knows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from edgekeeper.kube import store as store_module
from edgekeeper.kube.kinds import CONFIG_MAP, Key, Kind
from edgekeeper.kube.ledger import Ledger
from edgekeeper.kube.raw import MalformedObjectError, compact, is_older, peek
from edgekeeper.kube.store import NotSyncedError, Store

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
A = Key("default", "a")
B = Key("default", "b")


class Metadata(msgspec.Struct):
    name: str


class Widget(msgspec.Struct):
    metadata: Metadata


def raw(name: str = "a", **more: Any) -> bytes:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "5"}
    return msgspec.json.encode(
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, **more}
    )


def colours(of: JsonObject) -> list[str]:
    return list(of.get("colours", []))


def store_of(*names: str) -> Store:
    store = Store(WIDGET)
    for name in names:
        store.put(Key("default", name), raw(name))
    store.mark_synced()
    return store


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.raw(A),
        lambda store: store.get(A),
        lambda store: store.decode(A, dict),
        lambda store: store.resource_version(A),
        lambda store: store.keys(),
        lambda store: store.by_index("colour", "red"),
    ],
    ids=["raw", "get", "decode", "resource_version", "keys", "by_index"],
)
def test_store_that_is_not_synced_answers_nothing(ask: Callable[[Store], object]) -> None:
    store = Store(WIDGET)
    store.add_index("colour", colours)
    store.put(A, raw())
    with pytest.raises(NotSyncedError, match=r"widgets\.example\.com are not synced"):
        ask(store)


def test_store_hands_out_a_tree_of_the_callers_own() -> None:
    store = store_of("a")
    tree = store.get(A)
    assert tree is not None
    tree["metadata"]["name"] = "spoilt"
    assert store.get(A) != tree


def test_store_decodes_into_types() -> None:
    assert store_of("a").decode(A, Widget) == Widget(Metadata("a"))


def test_store_says_none_for_what_is_absent() -> None:
    store = store_of("a")
    assert (store.raw(B), store.get(B), store.decode(B, dict), store.resource_version(B)) == (None,) * 4


def test_store_tells_versions_and_keys() -> None:
    store = store_of("a", "b")
    assert store.resource_version(A) == "5"
    assert store.keys() == [A, B]
    assert len(store) == 2


def test_index_finds_objects_by_each_of_their_values() -> None:
    store = store_of()
    store.put(A, raw("a", colours=["red"]))
    store.add_index("colour", colours)
    store.put(B, raw("b", colours=["red", "blue"]))
    assert store.by_index("colour", "red") == [A, B]
    assert store.by_index("colour", "blue") == [B]
    assert store.by_index("colour", "green") == []


def test_index_forgets_values_that_an_object_no_longer_has() -> None:
    store = store_of()
    store.add_index("colour", colours)
    store.put(A, raw("a", colours=["red", "blue"]))
    store.put(A, raw("a", colours=["blue", "green"]))
    assert [store.by_index("colour", value) for value in ("red", "blue", "green")] == [[], [A], [A]]
    store.remove(A)
    assert [store.by_index("colour", value) for value in ("red", "blue", "green")] == [[], [], []]


def test_index_can_be_added_again_but_not_replaced() -> None:
    store = store_of()
    store.add_index("colour", colours)
    store.add_index("colour", colours)
    with pytest.raises(ValueError, match="another index 'colour'"):
        store.add_index("colour", lambda _: [])


def test_index_that_nobody_added_is_an_error() -> None:
    with pytest.raises(KeyError):
        store_of().by_index("colour", "red")


def test_indexes_decode_an_object_once_for_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def decode(of: bytes) -> JsonObject:
        decoded.append(of)
        return decode_tree(of)

    decode_tree = store_module._decode_tree
    monkeypatch.setattr(store_module, "_decode_tree", decode)
    store = store_of()
    store.put(A, raw("a", colours=["red"]))
    assert decoded == [], "nobody needs the tree"
    store.remove(A)
    trees: list[JsonObject] = []

    def seen(tree: JsonObject) -> list[str]:
        trees.append(tree)
        return colours(tree)

    for name in ("zeroth", "first", "second", "third"):
        store.add_index(name, seen)
    one, other = raw("a", colours=["red"]), raw("a", colours=["blue"])
    store.put(A, one)
    store.put(A, other)
    assert decoded == [one, other]
    assert [id(tree) for tree in trees] == [id(trees[0])] * 4 + [id(trees[4])] * 4
    assert (store.by_index("third", "red"), store.by_index("third", "blue")) == ([], [A])
    store.remove(A)
    assert decoded == [one, other], "what is gone need not be read again"
    assert store.by_index("third", "blue") == []


def test_index_keeps_nothing_of_objects_that_are_gone() -> None:
    store = store_of()
    store.add_index("colour", colours)
    for number in range(100):
        key = Key("default", f"widget-{number}")
        store.put(key, raw(key.name, colours=["red", "red", f"colour-{number}"]))
        store.remove(key)
    index = store._indexes["colour"]
    assert (index._keys, index._filed) == ({}, {})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(["red", "blue"]), max_size=2))))
def test_index_equals_a_search_through_everything(history: list[tuple[str, list[str]]]) -> None:
    store = store_of()
    store.add_index("colour", colours)
    for name, values in history:
        if values:
            store.put(Key("default", name), raw(name, colours=values))
        else:
            store.remove(Key("default", name))
    for value in ("red", "blue"):
        found = {key for key, of in store.snapshot() if value in colours(msgspec.json.decode(of))}
        assert set(store.by_index("colour", value)) == found


def test_store_takes_little_more_memory_than_its_bytes() -> None:
    """Ten thousand objects of 2.4 KB within 30 MB: at most 600 bytes beside the JSON of each."""
    count = 1000
    store = Store(WIDGET)
    ledger = Ledger(store, lambda _: None)
    tracemalloc.start()
    try:
        ledger.begin_list()
        for number in range(count):
            # Copied, as the client copies items out of pages: what an encoder returns has room to spare.
            item = bytes(memoryview(raw(f"name-{number}", spec="x" * 2400)))
            ledger.add_page([item], "1")
        ledger.end_list("1")
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    sizes = sum(len(kept) for _, kept in store.snapshot())
    assert used - sizes < 600 * count


# Bytes


MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {'k:{"a":"]"}': {}}}}]


def managed_object(**metadata: Any) -> dict[str, Any]:
    return {"kind": "Widget", "metadata": {"name": "a", "resourceVersion": "5", **metadata}, "spec": {"x": 1}}


@pytest.mark.parametrize(
    "tree",
    [
        managed_object(managedFields=MANAGED),
        {"metadata": {"managedFields": MANAGED, "name": "a", "resourceVersion": "5"}, "kind": "Widget"},
        {"kind": "Widget", "metadata": {"name": "a", "managedFields": MANAGED, "resourceVersion": "5"}},
        managed_object(managedFields=[]),
        managed_object(managedFields=None),
        {"data": {"metadata": {"managedFields": MANAGED}}, **managed_object(managedFields=MANAGED)},
        {"data": {"metadata": {"managedFields": MANAGED}}, **managed_object()},
        managed_object(annotations={"copy": msgspec.json.encode(managed_object(managedFields=MANAGED)).decode()}),
        managed_object(annotations={"greeting": "grüß Gott, 世界"}, managedFields=MANAGED),
        managed_object(),
    ],
    ids=["last", "first", "within", "empty", "null", "copied elsewhere", "only elsewhere", "in a string", "unicode", "none"],
)  # fmt: skip
@pytest.mark.parametrize("indent", [0, 2])
def test_compact_removes_managed_fields_and_nothing_else(tree: dict[str, Any], indent: int) -> None:
    encoded = msgspec.json.encode(tree)
    sent = msgspec.json.format(encoded, indent=indent) if indent else encoded
    _, kept = compact(sent, WIDGET)
    expected = {**tree, "metadata": {k: v for k, v in tree["metadata"].items() if k != "managedFields"}}
    assert msgspec.json.decode(kept) == expected


def test_compact_adds_the_type_that_items_of_lists_lack() -> None:
    _, kept = compact(b' {"metadata":{"name":"a","resourceVersion":"5"}}', CONFIG_MAP)
    assert msgspec.json.decode(kept) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "resourceVersion": "5"},
    }


def test_peek_reads_who_an_object_is() -> None:
    header = peek(raw("a", metadata={"name": "a", "uid": "u", "resourceVersion": "7"}))
    assert (header.key, header.uid, header.resource_version) == (Key("", "a"), "u", "7")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"metadata":null}',
        b'{"metadata":{"name":"a"}}',
        b'{"metadata":{"resourceVersion":"5"}}',
        b'{"metadata":{"name":5,"resourceVersion":"5"}}',
        b'{"metadata":{"name":"a","resourceVersion":"5"}',
        b'{"metadata":{"name":"a","resourceVersion":"5"}} {}',
        b'{"metadata":{"name":"a","resourceVersion":"5"},"spec":tru}',
        b'{"metadata":{"name":"a","resourceVersion":"5"},"spec":"\xff"}',
    ],
)
def test_compact_refuses_what_is_no_object(sent: bytes) -> None:
    with pytest.raises(MalformedObjectError):
        compact(sent, WIDGET)


@pytest.mark.parametrize(
    ("version", "other", "expected"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("99999999999999999999", "100000000000000000000", True),
        ("9", "", False),
        ("", "9", False),
        ("0", "9", False),
        ("09", "10", False),
        ("a", "b", False),
        ("9", "x10", False),
        ("²", "10", False),
    ],
)
def test_version_is_older_only_where_that_is_certain(version: str, other: str, expected: bool) -> None:
    assert is_older(version, other) is expected
