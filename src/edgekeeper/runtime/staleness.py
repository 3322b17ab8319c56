"""Keys whose object in the store is known to be out of date: nobody looks at them until the store has caught up.

Watches lag. After a write of ours, or after one that was refused because somebody else had been quicker, the store
still shows a version that is certainly not the latest. A pass that started from it would do its work twice, or run
into the same refusal. So the key waits until the store shows anything newer, and no longer than `patience`, since a
watch may be broken: what a pass does then carries preconditions and does no harm.

    refused or written      behind: the key is not looked at
    the store shows news    looked at again, if somebody wanted to meanwhile
    patience is over        looked at all the same
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.views import View

PATIENCE = timedelta(seconds=10)
"""How long a key waits for its own write: a watch tells of it within milliseconds, or something is broken."""


@dataclass(slots=True)
class _Outdated:
    raw: bytes
    until: float
    wanted: bool = False


class OutdatedViews:
    """Which keys wait for the store, by the loop's clock."""

    def __init__(self, store: View, patience: timedelta = PATIENCE) -> None:
        self._store = store
        self._patience = patience.total_seconds()
        self._outdated: dict[Key, _Outdated] = {}

    def __len__(self) -> int:
        return len(self._outdated)

    def mark(self, key: Key, raw: bytes) -> None:
        """The object was like this when it was read, and is not any more."""
        if self._store.raw(key) == raw:
            self._outdated[key] = _Outdated(raw, _now() + self._patience)

    def wait_for(self, key: Key) -> timedelta | None:
        """How long the key may have to wait for the store, or None where there is no need. It counts as wanted."""
        outdated = self._outdated.get(key)
        if outdated is None:
            return None
        # What is left of a microsecond is nothing: a pause of it would end before it began, again and again.
        left = timedelta(seconds=outdated.until - _now())
        if left <= timedelta(0) or self._store.raw(key) != outdated.raw:
            del self._outdated[key]
            return None
        outdated.wanted = True
        return left

    def caught_up(self, key: Key) -> bool:
        """The store has news of the key. Return whether somebody wanted to look at it meanwhile."""
        outdated = self._outdated.pop(key, None)
        return outdated is not None and outdated.wanted


def _now() -> float:
    return asyncio.get_running_loop().time()
