"""The graphs of composed instances with the states of their resources.

The graph is the one that the operator reconciles with, which is in memory. The states are judged as `edgekeeper graph --live`
does, from the API server; a result is kept for two seconds, so that many browsers cost what one does.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

import msgspec

from edgekeeper.controllers.composition.drawing import kind_of
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_plan import Limits
from edgekeeper.controllers.composition.instance_preview import InstancePreviewer
from edgekeeper.controllers.composition.live_states import NO_LIMITS, LiveInstance, judge_instance
from edgekeeper.controllers.composition.picture import DARK, LIGHT, draw_svg
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.web.rows import object_id

KEPT_SECONDS: Final = 2.0
MOST_KEPT: Final = 50
LIMIT_SECONDS: Final = 20.0


class Served(Protocol):
    """A graph in force."""

    @property
    def kind(self) -> Kind: ...

    @property
    def graph(self) -> Graph | None: ...


class NodeView(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A resource of an instance."""

    id: str
    kind: str
    state: str
    message: str = ""
    needs: list[str] = []
    objects: list[str] = []
    """The ids of the objects that it consists of, as far as they have a page."""


class GraphView(msgspec.Struct, frozen=True):
    """The graph of an instance."""

    nodes: list[NodeView]


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    live: LiveInstance


class Graphs:
    """Draws the graphs of instances."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        served: Iterable[Served],
        has_page: Callable[[str], bool],
        limits: Limits = NO_LIMITS,
    ) -> None:
        """`served` are the graphs in force, and may change. `has_page` tells by its id whether an object is shown.

        `limits` are those of the installation, in whatever namespaces it watches.
        """
        self._has_page = has_page
        self._client = client
        self._clock = clock
        self._served = served
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._turn = asyncio.Lock()
        self._limits = limits
        self._previewer = InstancePreviewer(client, Discovery(client, clock), limits)

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """The operator watches these namespaces from now on; empty for all."""
        self._previewer = replace(self._previewer, limits=self._limits.within(namespaces))
        self._kept.clear()

    def graph_of(self, kind: Kind) -> Graph | None:
        """The graph that instances of a kind are reconciled with."""
        return next((one.graph for one in self._served if one.kind == kind and one.graph is not None), None)

    async def view(self, kind: Kind, key: Key, obj: JsonObject) -> GraphView:
        """The resources of an instance. Raise ApiError, TimeoutError."""
        live = await self._live(kind, key, obj)
        return GraphView(
            [
                NodeView(
                    node.id,
                    kind_of(node),
                    live.states.get(node.id, ""),
                    redact_text(live.messages.get(node.id, "")),
                    list(node.dependencies),
                    [
                        id_
                        for one in live.objects.get(node.id, ())
                        if self._has_page(id_ := object_id(one.kind, one.key))
                    ],
                )
                for node in live.graph.nodes.values()
            ]
        )

    async def preview(self, kind: Kind, key: Key, obj: JsonObject) -> Preview:
        """What would be done for an instance. Raise ApiError."""
        return await self._previewer.preview(self._graph(kind), kind, key, obj)

    async def picture(self, kind: Kind, key: Key, obj: JsonObject, *, dark: bool) -> str:
        """The same as an SVG picture, on light or dark paper. Raise ApiError, TimeoutError."""
        live = await self._live(kind, key, obj)
        return draw_svg(live.graph, live.states, DARK if dark else LIGHT)

    def _graph(self, kind: Kind) -> Graph:
        graph = self.graph_of(kind)
        if graph is None:
            raise LookupError(f"no graph of {kind.kind} is in force")
        return graph

    async def _live(self, kind: Kind, key: Key, obj: JsonObject) -> LiveInstance:
        graph = self._graph(kind)
        id_ = object_id(kind, key)
        async with asyncio.timeout(LIMIT_SECONDS), self._turn:
            kept = self._kept.get(id_)
            if kept is not None and self._clock.monotonic() - kept.at < KEPT_SECONDS:
                return kept.live
            live = await judge_instance(self._client, graph, kind, key, obj, self._previewer.limits)
        self._kept[id_] = _Kept(self._clock.monotonic(), live)
        self._kept.move_to_end(id_)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return live
