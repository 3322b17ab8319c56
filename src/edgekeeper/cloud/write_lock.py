"""Locks for remote documents that several writers of this process write with different credentials.

A writer is bound to a credential, so that permissions of one credential are never used for another. If several credentials
are used for the same document, there are several writers: they write one at a time, in the order of their requests, and
each is notified of what the others have written.
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
    """The lock of a document, and its writers."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.writers: list[W] = []
        """All writers of the document that are running."""

    @contextmanager
    def joined(self, writer: W) -> Iterator[None]:
        """Register a writer for the duration of the block."""
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
        """The lock of a document. It exists as long as a writer refers to it."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = WriteLock()
        return lock
