"""Which news are news."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.ledger import MOST_TOMBSTONES, Ledger, StaleViewError
from edgekeeper.kube.lines import Bookmark, Deletion, Failure, Upsert, parse_line
from edgekeeper.kube.raw import MalformedObjectError, peek
from edgekeeper.kube.store import Change, NotSyncedError, Store
from tests.unit.kube.faults import event, status

WIDGET = Kind("example.com", "v1", "Widget", "widgets")


def widget(name: str, version: int | str, uid: str = "") -> bytes:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    return msgspec.json.encode({"kind": "Widget", "metadata": metadata})


@dataclass
class Told:
    """A ledger, and what it told."""

    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = Store(WIDGET)
        self.ledger = Ledger(self.store, self.changes.append)

    def listed(self, version: int | str, *items: bytes, trusted: bool = False) -> Told:
        self.ledger.begin_list()
        self.ledger.add_page(items, str(version), trusted=trusted)
        self.ledger.end_list(str(version))
        return self

    @property
    def known(self) -> dict[str, tuple[str, str]]:
        """Uid and version by name."""
        return {key.name: (peek(raw).uid, peek(raw).resource_version) for key, raw in self.store.snapshot()}

    def news(self) -> list[str]:
        """What was told since the last time: `+a`, `~a`, `-a`."""
        told = [
            ("-" if change.new is None else "~" if change.old is not None else "+") + change.key.name
            for change in self.changes
        ]
        self.changes.clear()
        return told


def listed(version: int, *items: bytes) -> Told:
    told = Told().listed(version, *items)
    told.changes.clear()
    return told


def test_first_list_is_initial_and_makes_the_store_synced() -> None:
    told = Told()
    told.ledger.begin_list()
    told.ledger.add_page([widget("a", 3)], "10")
    synced_within = told.store.synced
    told.ledger.add_page([widget("b", 4)], "10")
    told.ledger.end_list("10")
    assert (synced_within, told.store.synced) == (False, True)
    assert [change.initial for change in told.changes] == [True, True]
    assert told.ledger.position == "10"


def test_later_list_tells_only_the_differences() -> None:
    told = listed(10, widget("a", 3), widget("b", 4), widget("c", 5))
    told.listed(20, widget("a", 3), widget("b", 14), widget("d", 15))
    assert told.news() == ["~b", "+d", "-c"]
    assert told.ledger.position == "20"


def test_list_that_is_not_completed_deletes_nothing() -> None:
    told = listed(10, widget("a", 3), widget("b", 4))
    told.ledger.begin_list()
    told.ledger.add_page([widget("c", 12)], "20")
    told.listed(30, widget("a", 3), widget("b", 4), widget("c", 12))
    assert told.news() == ["+c"]


def test_list_shows_that_a_name_passed_to_another_object() -> None:
    told = listed(10, widget("a", 3, "one"))
    told.listed(20, widget("a", 15, "two"))
    assert [(change.old is None, change.new is None) for change in told.changes] == [
        (False, True),
        (True, False),
    ]


def test_list_of_the_past_is_refused_before_it_changes_anything() -> None:
    told = listed(20, widget("a", 15))
    with pytest.raises(StaleViewError):
        told.listed(10, widget("b", 3))
    assert told.news() == []
    assert told.ledger.position == "20"


def test_list_of_the_past_is_the_truth_where_it_is_trusted() -> None:
    told = listed(20, widget("a", 15), widget("b", 16), widget("same", 4))
    told.ledger.delete(widget("b", 21))
    told.news()
    told.listed(10, widget("a", 3), widget("b", 5), widget("same", 4), trusted=True)
    assert told.news() == ["~a", "+b"]
    assert told.ledger.position == "10"
    told.ledger.upsert(widget("b", 11))
    assert told.news() == ["~b"]


def test_deletions_that_a_restored_server_knows_nothing_of_are_forgotten() -> None:
    told = listed(20, widget("a", 15))
    told.ledger.delete(widget("a", 21))
    told.listed(10, trusted=True)
    told.news()
    told.ledger.upsert(widget("a", 11, "another"))
    assert told.news() == ["+a"]


@pytest.mark.parametrize(
    ("event_", "news"),
    [
        (widget("new", 11), ["+new"]),
        (widget("a", 11), ["~a"]),
        (widget("a", 5), []),
        (widget("a", 3), []),
        (widget("a", 11, "other"), ["-a", "+a"]),
        (widget("a", 3, "other"), []),
    ],
    ids=["new", "newer", "duplicate", "replay", "successor", "predecessor"],
)
def test_object_is_believed_where_it_is_news(event_: bytes, news: list[str]) -> None:
    told = listed(10, widget("a", 5))
    told.ledger.upsert(event_)
    assert told.news() == news


@pytest.mark.parametrize(
    ("event_", "news"),
    [
        (widget("a", 11), ["-a"]),
        (widget("a", 5), ["-a"]),
        (widget("a", 3), []),
        (widget("a", 3, "predecessor"), []),
        (widget("a", 11, "successor"), ["-a"]),
        (widget("stranger", 11), []),
    ],
    ids=["newer", "same version", "replay", "of a predecessor", "of a successor", "of nobody"],
)
def test_deletion_is_believed_where_it_is_of_this_object(event_: bytes, news: list[str]) -> None:
    told = listed(10, widget("a", 5))
    told.ledger.delete(event_)
    assert told.news() == news


def test_deletion_of_another_uid_is_nothing_where_versions_cannot_be_compared() -> None:
    told = Told().listed("x", widget("a", "five", "one"))
    told.news()
    told.ledger.delete(widget("a", "six", "two"))
    assert told.news() == []
    told.ledger.delete(widget("a", "seven", "one"))
    assert told.news() == ["-a"]


def test_deleted_object_does_not_come_back_by_a_replay() -> None:
    told = listed(10, widget("a", 5))
    told.ledger.delete(widget("a", 12))
    told.ledger.upsert(widget("a", 5))
    told.ledger.upsert(widget("a", 11))
    assert told.news() == ["-a"]


def test_object_that_left_the_selection_may_come_back() -> None:
    told = listed(10, widget("a", 5))
    told.ledger.delete(widget("a", 12))
    told.ledger.upsert(widget("a", 13))
    assert told.news() == ["-a", "+a"]


def test_deletion_that_arrives_before_its_object_is_remembered() -> None:
    told = listed(10)
    told.ledger.delete(widget("a", 12))
    told.ledger.upsert(widget("a", 11))
    assert told.news() == []


def test_deletions_are_not_remembered_for_ever() -> None:
    told = listed(10)
    for number in range(MOST_TOMBSTONES + 100):
        told.ledger.delete(widget(f"a{number}", 11 + number))
    assert len(told.ledger._tombstones) == MOST_TOMBSTONES


def test_object_from_before_a_deletion_of_its_name_does_not_come_back() -> None:
    told = listed(10, widget("a", 5, "one"))
    told.ledger.delete(widget("a", 15, "three"))
    told.ledger.upsert(widget("a", 12, "two"))
    told.ledger.delete(widget("a", 11, "one"))
    told.ledger.upsert(widget("a", 13, "two"))
    assert told.news() == ["-a"]


def test_position_only_moves_forward() -> None:
    told = listed(10, widget("a", 5))
    told.ledger.upsert(widget("a", 15))
    told.ledger.upsert(widget("b", 12))
    told.ledger.advance("14")
    assert told.ledger.position == "15"
    told.ledger.advance("20")
    assert told.ledger.position == "20"
    assert told.known == {"a": ("uid-a", "15"), "b": ("uid-b", "12")}


def test_kind_that_is_not_served_is_forgotten_and_nothing_is_deleted() -> None:
    told = listed(10, widget("a", 5), widget("b", 6))
    told.ledger.forget()
    assert told.news() == []
    assert told.ledger.position == ""
    with pytest.raises(NotSyncedError, match="not served"):
        told.store.keys()
    told.listed(7, widget("a", 3))
    assert told.news() == ["+a"], "an older server may be another one"
    assert [key.name for key in told.store.keys()] == ["a"]  # noqa: SIM118 - a store is no dict


Step = tuple[str, str]


@given(
    history=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["write", "delete"])), max_size=30),
    data=st.data(),
)
def test_ledger_converges_however_often_lines_are_repeated(history: list[Step], data: st.DataObject) -> None:
    """The lines of a watch in order, with any of the earlier ones thrown in between, lead to the same end."""
    lines, truth = _lines_of(history)
    told = listed(1)
    for number, line in enumerate(lines):
        _take(told, line)
        for again in data.draw(st.lists(st.integers(0, number), max_size=3)):
            _take(told, lines[again])
    assert told.known == truth
    _confirm_chain(told.changes)


@given(
    history=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["write", "delete"])), max_size=12),
    data=st.data(),
)
def test_ledger_converges_whatever_the_order_of_lines(history: list[Step], data: st.DataObject) -> None:
    lines, truth = _lines_of(history)
    told = listed(1)
    for line in data.draw(st.permutations(lines)):
        _take(told, line)
    assert told.known == truth
    _confirm_chain(told.changes)


def _lines_of(history: list[Step]) -> tuple[list[tuple[str, bytes]], dict[str, tuple[str, str]]]:
    """What a server would tell of a history, and what is at its end."""
    lines: list[tuple[str, bytes]] = []
    truth: dict[str, tuple[str, str]] = {}
    for revision, (name, verb) in enumerate(history, start=2):
        if verb == "write":
            uid = truth[name][0] if name in truth else f"{name}-{revision}"
            truth[name] = uid, str(revision)
            lines.append(("upsert", widget(name, revision, uid)))
        elif name in truth:
            uid, _ = truth.pop(name)
            lines.append(("delete", widget(name, revision, uid)))
    return lines, truth


def _take(told: Told, line: tuple[str, bytes]) -> None:
    verb, raw = line
    (told.ledger.upsert if verb == "upsert" else told.ledger.delete)(raw)


def _confirm_chain(changes: list[Change]) -> None:
    """Each change begins where the last one of its key ended, and nobody rises from the dead."""
    state: dict[Key, bytes | None] = {}
    dead: set[str] = set()
    for change in changes:
        assert state.get(change.key) == change.old
        state[change.key] = change.new
        if change.new is None:
            assert change.old is not None
            dead.add(peek(change.old).uid)
        else:
            assert peek(change.new).uid not in dead


# Lines


def test_lines_say_what_happened() -> None:
    tree = msgspec.json.decode(widget("a", 5))
    assert parse_line(event("ADDED", tree)) == parse_line(event("MODIFIED", tree)) == Upsert(widget("a", 5))
    assert parse_line(event("DELETED", tree)) == Deletion(widget("a", 5))
    assert parse_line(event("BOOKMARK", {"metadata": {"resourceVersion": "7"}})) == Bookmark("7", False)
    last = {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}
    assert parse_line(event("BOOKMARK", last)) == Bookmark("7", True)
    failure = parse_line(event("ERROR", status(410, "Expired", "too old")))
    assert isinstance(failure, Failure)
    assert failure.error.status == 410


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"\xff",
        b'{"type":"ADDED"}',
        b'{"object":{}}',
        b'{"type":"RENAMED","object":{}}',
        b'{"type":"BOOKMARK","object":{}}',
        b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":""}}}',
        b'{"type":"ERROR","object":[]}',
        b'{"type":5,"object":{}}',
    ],
)
def test_lines_that_make_no_sense_are_refused(line: bytes) -> None:
    with pytest.raises(MalformedObjectError):
        parse_line(line)
