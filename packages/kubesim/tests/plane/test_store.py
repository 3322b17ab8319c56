"""The store: what is, what was, and that every watcher can tell the one from the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Collection, CompactedError, Event, Item, Key, Store

WIDGETS = GroupResource("example.com", "widgets")
GADGETS = GroupResource("example.com", "gadgets")

State = dict[Key, bytes]


def tree(key: Key, value: int = 0) -> JsonObject:
    namespace, name = key
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"namespace": namespace, "name": name, "uid": f"uid-{name}"},
        "spec": {"value": value},
    }


def state(items: Iterable[Item]) -> State:
    return {item.key: item.body for item in items}


@dataclass
class Recorded:
    """A store with some past, and what every moment of it looked like."""

    store: Store
    widgets: list[State] = field(default_factory=list)

    @property
    def collection(self) -> Collection:
        return self.store.collection(WIDGETS)

    def note(self) -> None:
        """Remember the present state under every revision since the last note."""
        present = state(self.collection.items.values())
        self.widgets += [present] * (self.store.revision + 1 - len(self.widgets))


KEYS = st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["x", "y", "y-z", "z"]))
COMMITS = st.lists(st.tuples(st.sampled_from([WIDGETS, WIDGETS, GADGETS]), KEYS, st.booleans()), max_size=24)


def record(commits: list[tuple[GroupResource, Key, bool]], history: int = 1000) -> Recorded:
    """Put, or delete where asked to and possible."""
    recorded = Recorded(Store(history=history))
    recorded.store.collection(WIDGETS)
    recorded.note()
    for number, (resource, key, remove) in enumerate(commits):
        if not remove:
            recorded.store.put(resource, tree(key, number))
        elif key in recorded.store.collection(resource).items:
            recorded.store.delete(resource, key)
        recorded.note()
    return recorded


@given(COMMITS)
def test_collection_at_a_revision_is_what_was_then(commits: list[tuple[GroupResource, Key, bool]]) -> None:
    recorded = record(commits)
    for revision in range(1, recorded.store.revision + 1):
        assert state(recorded.collection.at(revision)) == recorded.widgets[revision]


@given(COMMITS)
def test_collection_lists_in_the_order_of_keys(commits: list[tuple[GroupResource, Key, bool]]) -> None:
    recorded = record(commits)
    for items in (recorded.collection.ordered(), recorded.collection.at(1)):
        assert [item.key for item in items] == sorted(item.key for item in items)
    assert state(recorded.collection.ordered()) == recorded.widgets[-1]


@given(COMMITS, st.lists(KEYS, max_size=8))
def test_collection_order_survives_updates_in_place(
    commits: list[tuple[GroupResource, Key, bool]], touched: list[Key]
) -> None:
    recorded = record(commits)
    recorded.collection.ordered()
    for key in touched:
        recorded.store.put(WIDGETS, tree(key, -1))
        assert recorded.collection.ordered() == [
            recorded.collection.items[one] for one in sorted(recorded.collection.items)
        ]


@given(COMMITS, st.integers(0, 12))
def test_watcher_from_any_remembered_revision_arrives_at_the_present(
    commits: list[tuple[GroupResource, Key, bool]], history: int
) -> None:
    recorded = record(commits, history)
    collection = recorded.collection
    for revision in range(max(collection.compacted, 1), recorded.store.revision + 1):
        seen = dict(recorded.widgets[revision])
        for event in collection.events_from(collection.position_after(revision)) or ():
            follow(seen, event)
        assert seen == recorded.widgets[-1]


def follow(seen: State, event: Event) -> None:
    """Apply an event, and check that it fits what a client has seen so far."""
    assert (event.type == "ADDED") == (event.item.key not in seen)
    if event.type == "DELETED":
        del seen[event.item.key]
    else:
        seen[event.item.key] = event.item.body


@given(COMMITS, st.integers(0, 12))
def test_collection_forgets_only_what_is_older_than_its_history(
    commits: list[tuple[GroupResource, Key, bool]], history: int
) -> None:
    collection = record(commits, history).collection
    assert len(collection.log) <= history + history // 4
    assert collection.end() == collection.dropped + len(collection.log)
    if collection.dropped:
        assert len(collection.log) >= history
        assert collection.events_from(collection.dropped - 1) is None
        with pytest.raises(CompactedError) as refused:
            collection.at(collection.compacted - 1)
        assert (refused.value.requested, refused.value.compacted) == (
            collection.compacted - 1,
            collection.compacted,
        )
        with pytest.raises(CompactedError):
            collection.position_after(collection.compacted - 1)


@given(COMMITS)
def test_revisions_only_grow_and_never_repeat(commits: list[tuple[GroupResource, Key, bool]]) -> None:
    recorded = record(commits)
    events = [event for one in recorded.store.collections() for event in one.log]
    revisions = [event.revision for event in events]
    assert sorted(revisions) == list(range(2, recorded.store.revision + 1))
    for event in events:
        assert event.item.decode()["metadata"]["resourceVersion"] == str(event.revision)


def test_put_keeps_neither_api_version_nor_kind() -> None:
    item = Store().put(WIDGETS, tree(("a", "x"), 1))
    assert set(item.decode()) == {"metadata", "spec"}
    assert (item.key, item.uid, item.revision) == (("a", "x"), "uid-x", 2)


def test_decoded_item_is_the_callers_own() -> None:
    store = Store()
    item = store.put(WIDGETS, tree(("a", "x"), 1))
    item.decode()["spec"]["value"] = 99
    assert store.collection(WIDGETS).items["a", "x"].decode()["spec"] == {"value": 1}


def test_deleted_item_shows_its_last_form_at_the_revision_of_its_end() -> None:
    store = Store()
    store.put(WIDGETS, tree(("a", "x"), 1))
    gone = store.delete(WIDGETS, ("a", "x"), tree(("a", "x"), 2))
    (_, event) = store.collection(WIDGETS).log
    assert gone.decode()["spec"] == {"value": 2}
    assert gone.decode()["metadata"]["resourceVersion"] == "3"
    assert event.previous is not None
    assert event.previous.decode()["spec"] == {"value": 1}


def test_unsaved_item_leaves_the_store_alone() -> None:
    item = Item.unsaved(tree(("a", "x"), 1))
    assert (item.key, item.revision, item.uid) == (("a", "x"), 0, "uid-x")
    assert set(item.decode()) == {"metadata", "spec"}


def test_listener_hears_of_every_commit_after_it_happened() -> None:
    store = Store()
    heard: list[tuple[str, int]] = []

    def listen(resource: GroupResource, event: Event) -> None:
        heard.append((f"{event.type} {resource}", len(store.collection(resource).items)))

    store.listen(listen)
    store.put(WIDGETS, tree(("a", "x")))
    store.put(WIDGETS, tree(("a", "x"), 1))
    store.delete(WIDGETS, ("a", "x"))
    assert heard == [
        ("ADDED widgets.example.com", 1),
        ("MODIFIED widgets.example.com", 1),
        ("DELETED widgets.example.com", 0),
    ]


class FailingJournal:
    """A journal whose disk is full."""

    def put(self, resource: GroupResource, item: Item) -> None:
        raise OSError("no space left")

    def remove(self, resource: GroupResource, key: Key, revision: int) -> None:
        raise OSError("no space left")


def test_commit_that_cannot_be_made_durable_does_not_happen() -> None:
    store = Store(FailingJournal())
    store.restore(WIDGETS, Item(("a", "x"), 1, "uid", b'{"metadata":{}}'))
    with pytest.raises(OSError, match="no space"):
        store.put(WIDGETS, tree(("a", "y")))
    with pytest.raises(OSError, match="no space"):
        store.delete(WIDGETS, ("a", "x"))
    collection = store.collection(WIDGETS)
    assert list(collection.items) == [("a", "x")]
    assert collection.log == []


def test_compaction_forgets_the_past_and_keeps_the_present() -> None:
    store = record([(WIDGETS, ("a", name), False) for name in "xyz"]).store
    collection = store.collection(WIDGETS)
    before = list(collection.ordered())
    store.compact()
    assert collection.at(store.revision) == before
    assert collection.events_from(collection.position_after(store.revision)) == []
    with pytest.raises(CompactedError):
        collection.at(store.revision - 1)


def test_collection_that_comes_late_knows_nothing_of_before() -> None:
    store = Store()
    store.put(WIDGETS, tree(("a", "x")))
    with pytest.raises(CompactedError):
        store.collection(GADGETS).at(1)


async def test_commit_and_end_of_a_resource_wake_its_watchers() -> None:
    store = Store()
    collection = store.collection(WIDGETS)
    waker = collection.subscribe()
    store.put(GADGETS, tree(("a", "x")))
    assert not waker.is_set()
    store.put(WIDGETS, tree(("a", "x")))
    assert waker.is_set()
    waker.clear()
    store.drop(WIDGETS)
    assert waker.is_set()
    assert collection.closed
    assert not store.collection(WIDGETS).closed


async def test_watcher_that_left_is_not_woken() -> None:
    collection = Store().collection(WIDGETS)
    waker = collection.subscribe()
    collection.unsubscribe(waker)
    collection.unsubscribe(asyncio.Event())
    collection.wake()
    assert not waker.is_set()
    assert not collection._wakers
