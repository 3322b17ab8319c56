"""A server that counts requests by what they are for, and knows which instances are ready."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from benchmarks.composition.workload import WEB_APP
from benchmarks.runtime.commands import Figures
from edgekeeper.core.json import dig
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.request import Request, Response
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event, Key

READING: Final = frozenset({"GET", "HEAD"})
INSTANCES: Final = GroupResource(WEB_APP.group, WEB_APP.plural)
_REVIEWS: Final = "/apis/authorization.k8s.io/"


class Tally(msgspec.Struct, frozen=True):
    """The requests of some time. Watches are not among them: one of them lasts for many minutes."""

    writes: dict[str, int] = {}
    """By the plural of the kind, with `/status` where that was written."""
    reads: dict[str, int] = {}
    """Of single objects, in the same way; what is not about a kind, such as schemas, as an empty text."""
    lists: int = 0
    reviews: int = 0
    """Questions about rights, which change nothing."""

    @property
    def written(self) -> int:
        return sum(self.writes.values())

    @property
    def requests(self) -> int:
        return self.written + sum(self.reads.values()) + self.lists + self.reviews

    def about(self, *plurals: str) -> int:
        """How many of these kinds' objects were read or written, lists aside."""
        every = Counter(self.writes) + Counter(self.reads)
        return sum(number for name, number in every.items() if name.partition("/")[0] in plurals)


class CountingPlane(Plane):
    """Counts what is asked of it over the wire or by an operator in the same process; its own client is not counted."""

    def __init__(self, config: PlaneConfig) -> None:
        super().__init__(config)
        self.ready: dict[Key, int] = {}
        """The generation that each instance was ready in last."""
        self._writes: Counter[str] = Counter()
        self._reads: Counter[str] = Counter()
        self._lists = self._reviews = 0
        self.store.listen(self._observe)

    async def handle(self, request: Request) -> Response:
        response = await super().handle(request)
        plural, has_name, subresource = parse_path(request.path)
        if request.path.startswith(_REVIEWS):
            self._reviews += 1
        elif request.method not in READING:
            self._writes[plural + subresource] += 1
        elif plural and not has_name:
            self._lists += "watch" not in request.query
        else:
            self._reads[plural + subresource] += 1
        return response

    def tally(self) -> Tally:
        """What was counted since the last time; then start anew."""
        tally = Tally(dict(self._writes), dict(self._reads), self._lists, self._reviews)
        self._writes.clear()
        self._reads.clear()
        self._lists = self._reviews = 0
        return tally

    async def figures(self) -> Figures:
        """Writes and requests since the last time."""
        tally = self.tally()
        return {"writes": float(tally.written), "requests": float(tally.requests)}

    def count_ready(self) -> int:
        return len(self.ready)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if resource != INSTANCES:
            return
        obj = event.item.decode()
        if event.type != "DELETED" and dig(obj, "status", "state") == "ACTIVE":
            self.ready[event.item.key] = int(dig(obj, "metadata", "generation") or 0)
        else:
            self.ready.pop(event.item.key, None)


def parse_path(path: str) -> tuple[str, bool, str]:
    """Plural, whether one object is named, and subresource of a path; all empty where it is about no kind.

    `/apis/apps/v1/namespaces/web/deployments/shop/status` is about `deployments`, names one, and its `/status`.
    """
    parts = path.strip("/").split("/")
    if parts[0] not in ("api", "apis"):
        return "", False, ""
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if not parts:
        return "", False, ""
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    return parts[0], len(parts) > 1, f"/{parts[2]}" if len(parts) > 2 else ""
