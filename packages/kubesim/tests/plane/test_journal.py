"""The journal: a restart finds what was acknowledged before it, however the process ended."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.journal import DataDirectoryInUseError, SqliteJournal
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import CompactedError, Key, Store

WIDGETS = GroupResource("example.com", "widgets")
EVENTS = GroupResource("", "events")

KEYS = st.tuples(st.sampled_from(["", "a"]), st.sampled_from(["x", "y", "z"]))
COMMITS = st.lists(st.tuples(st.sampled_from([WIDGETS, EVENTS]), KEYS, st.booleans()), max_size=20)


def tree(key: Key, value: int = 0) -> JsonObject:
    return {"metadata": {"namespace": key[0], "name": key[1], "uid": f"uid-{value}"}, "spec": {"v": value}}


def reopened(path: Path) -> Store:
    """What a new process would find."""
    journal = SqliteJournal(path)
    store = Store(journal)
    journal.replay(store)
    journal.close()
    return store


@settings(max_examples=25, deadline=None)
@given(COMMITS)
def test_replay_finds_the_same_objects_at_the_same_revision(
    commits: list[tuple[GroupResource, Key, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "plane.db"
        journal = SqliteJournal(path)
        store = Store(journal)
        for number, (resource, key, remove) in enumerate(commits):
            if not remove:
                store.put(resource, tree(key, number))
            elif key in store.collection(resource).items:
                store.delete(resource, key)
        journal.close()
        found = reopened(path)
    assert found.revision == store.revision
    for resource in (WIDGETS, EVENTS):
        assert found.collection(resource).items == store.collection(resource).items


def test_revision_never_goes_back_over_restarts(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "plane.db"
    revisions = []
    for round_number in range(3):
        journal = SqliteJournal(path)
        store = Store(journal)
        journal.replay(store)
        revisions.append(store.revision)
        store.put(WIDGETS, tree(("a", "x"), round_number))
        store.delete(WIDGETS, ("a", "x"))
        journal.close()
    assert revisions == [1, 3, 5]


def test_replayed_store_knows_nothing_of_the_past(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "plane.db")
    store = Store(journal)
    for number in range(3):
        store.put(WIDGETS, tree(("a", "x"), number))
    journal.close()
    collection = reopened(tmp_path / "plane.db").collection(WIDGETS)
    assert [item.revision for item in collection.at(4)] == [4]
    with pytest.raises(CompactedError):
        collection.at(3)


WRITER = """
import sys
from pathlib import Path
from kubesim.plane.journal import DataDirectoryInUseError, SqliteJournal
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Store

store = Store(SqliteJournal(Path(sys.argv[1])))
number = 0
while True:
    number += 1
    store.put(GroupResource("", "things"), {"metadata": {"name": f"n{number}", "uid": "u"}, "spec": "x" * 2000})
    print(number, flush=True)
"""


def test_everything_acknowledged_survives_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "plane.db"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(200)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [
            int(line) for line in writer.stdout.read().splitlines(keepends=True) if line[-1:] == b"\n"
        ]
    assert writer.returncode == -signal.SIGKILL
    found = reopened(path)
    names = set(found.collection(GroupResource("", "things")).items)
    assert {("", f"n{number}") for number in acknowledged} <= names
    assert found.revision == len(names) + 1
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_journal_goes_on_after_a_write_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "plane.db"
    journal = SqliteJournal(path)
    store = Store(journal)
    full = "CREATE TEMP TRIGGER full BEFORE INSERT ON object BEGIN SELECT RAISE(FAIL, 'disk full'); END"
    journal._connection.execute(full)
    with pytest.raises(sqlite3.IntegrityError, match="disk full"):
        store.put(WIDGETS, tree(("a", "x")))
    journal._connection.execute("DROP TRIGGER full")
    store.put(WIDGETS, tree(("a", "y")))
    journal.close()
    assert list(reopened(path).collection(WIDGETS).items) == [("a", "y")]


def test_journal_belongs_to_one_server_at_a_time(tmp_path: Path) -> None:
    first = SqliteJournal(tmp_path / "plane.db")
    with pytest.raises(DataDirectoryInUseError, match="in use by another server"):
        SqliteJournal(tmp_path / "plane.db")
    first.close()
    SqliteJournal(tmp_path / "plane.db").close()
