"""What all writers of one remote document share in this process, whatever credentials they use.

A writer is bound to a credential, so that nobody reads or changes through another's credential what its own would not
allow. Where several credentials reach the same document there are several writers: they write one at a time, in the
order in which they ask for the lock, and each learns what the others have written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
W = TypeVar("W")


class WriteLock(Generic[W]):
    """Held by whoever writes the document."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.writers: list[W] = []
        """All writers of the document that are running."""

    @contextmanager
    def joined(self, writer: W) -> Iterator[None]:
        """Be one of the writers."""
        self.writers.append(writer)
        try:
            yield
        finally:
            self.writers.remove(writer)


class WriteLocks(Generic[K, W]):
    """The lock of each document that has a writer."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[K, WriteLock[W]] = WeakValueDictionary()

    def of(self, key: K) -> WriteLock[W]:
        """The one lock of a document. It lives as long as a writer refers to it."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = WriteLock()
        return lock
