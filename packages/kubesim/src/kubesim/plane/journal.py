"""The SQLite journal: what lets the embedded server survive a restart.

One row per object, and the newest revision. Each commit is a transaction; in WAL mode that costs some tens of
microseconds and survives the death of the process. History is not kept: after a restart a watch from an earlier
revision is told to list again, just as after etcd's compaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Item, Key, Store

_SCHEMA = """
CREATE TABLE IF NOT EXISTS object (
    grp TEXT NOT NULL, plural TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    revision INTEGER NOT NULL, uid TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (grp, plural, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
INSERT OR IGNORE INTO counter VALUES (1, 1);
"""


class DataDirectoryInUseError(OSError):
    """Another server works in the data directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"{directory} is in use by another server; stop that one, or choose another directory"
        )


class SqliteJournal:
    """Makes every commit durable before it is acknowledged."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=0)
        # Two servers on one file would undo each other's work: the first one keeps it to itself until it ends.
        self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(_SCHEMA)
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise DataDirectoryInUseError(path.parent) from error

    def put(self, resource: GroupResource, item: Item) -> None:
        namespace, name = item.key
        row = (resource.group, resource.plural, namespace, name, item.revision, item.uid, item.body)
        with self._transaction(item.revision):
            self._connection.execute("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def remove(self, resource: GroupResource, key: Key, revision: int) -> None:
        statement = "DELETE FROM object WHERE grp = ? AND plural = ? AND namespace = ? AND name = ?"
        with self._transaction(revision):
            self._connection.execute(statement, (resource.group, resource.plural, *key))

    def replay(self, store: Store) -> None:
        """Fill an empty store with what was kept."""
        query = "SELECT grp, plural, namespace, name, revision, uid, body FROM object"
        for group, plural, namespace, name, revision, uid, body in self._connection.execute(query):
            store.restore(GroupResource(group, plural), Item((namespace, name), revision, uid, body))
        (revision,) = self._connection.execute("SELECT revision FROM counter").fetchone()
        store.restored(revision)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _transaction(self, revision: int) -> Iterator[None]:
        with self._connection:  # commits, or rolls back what failed half way
            self._connection.execute("BEGIN")
            self._connection.execute("UPDATE counter SET revision = ?", (revision,))
            yield
