"""Tasks that were written, and that the watch has not shown yet.

Between the two, no store tells that a route is about to be published. Another route that asked for its hostname in that
moment would find it free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from edgekeeper.controllers.zerotrust.route_index import key_of, task_hostnames, task_route_key
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.read_your_writes import PATIENCE


@dataclass(frozen=True, slots=True)
class _Written:
    task: JsonObject
    until: float
    """When it no longer counts: a task that was deleted while the watch was interrupted is never shown."""


class UnseenTasks:
    """The tasks of this process that are ahead of the watch."""

    def __init__(self) -> None:
        self._written: dict[Key, _Written] = {}

    def note(self, task: JsonObject) -> None:
        """A task was written, and is this by the server's answer."""
        until = asyncio.get_running_loop().time() + PATIENCE.total_seconds()
        self._written[key_of(task)] = _Written(task, until)

    def show(self, task: JsonObject) -> None:
        """The watch has shown a task, or its deletion."""
        written = self._written.get(key_of(task))
        if written is not None and _version(task) >= _version(written.task):
            del self._written[key_of(task)]

    def routes(self, hostname: str) -> Iterator[Key]:
        """The routes whose unseen tasks list a hostname."""
        now = asyncio.get_running_loop().time()
        for key, written in list(self._written.items()):
            if written.until <= now:
                del self._written[key]
                continue
            route = task_route_key(written.task)
            if route is not None and hostname in task_hostnames(written.task):
                yield route


def _version(task: JsonObject) -> int:
    """The server counts its versions."""
    version = str(dig(task, "metadata", "resourceVersion") or "")
    return int(version) if version.isdecimal() else 0
