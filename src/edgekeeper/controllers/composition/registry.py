"""The graphs that are in force: what the definitions' controller publishes and the instances' controllers use.

graphs.publish(ServedGraph("web-apps", uid, 3, kind, graph))       a definition was accepted
graphs.find("web-apps")                                            what its instances are reconciled with
graphs.withdraw("web-apps")                                        the definition is gone, and so are its instances
graphs.subscribe(lambda name: …)                                   called after every change, with the definition's name
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.kube.kinds import Kind


@dataclass(frozen=True, slots=True)
class ServedGraph:
    """What the instances of a definition are reconciled with: its newest revision."""

    definition: str
    """The name of the ResourceGraphDefinition."""
    uid: str
    """The UID of the ResourceGraphDefinition."""
    revision: int
    kind: Kind
    """The kind of the instances."""
    graph: Graph | None
    """None if the newest revision cannot be compiled any more: then instances are left as they are."""
    error: str = ""
    """Why there is no graph."""


class GraphRegistry:
    """The graphs in force, by the name of their definition."""

    def __init__(self) -> None:
        self._served: dict[str, ServedGraph] = {}
        self._handlers: list[Callable[[str], None]] = []

    def __iter__(self) -> Iterator[ServedGraph]:
        return iter(list(self._served.values()))

    def find(self, definition: str) -> ServedGraph | None:
        """The graph of a definition; None before it is accepted and after it is gone."""
        return self._served.get(definition)

    def publish(self, served: ServedGraph) -> None:
        """Put a graph in force. Does nothing where the same one is in force already."""
        if self._served.get(served.definition) == served:
            return
        self._served[served.definition] = served
        self._notify(served.definition)

    def withdraw(self, definition: str) -> None:
        """Take a graph out of force. Does nothing where there is none."""
        if self._served.pop(definition, None) is not None:
            self._notify(definition)

    def subscribe(self, handler: Callable[[str], None]) -> Callable[[], None]:
        """Call a handler with the name of the definition after every change; returns how to end that."""
        self._handlers.append(handler)
        return lambda: self._handlers.remove(handler)

    def _notify(self, definition: str) -> None:
        for handler in tuple(self._handlers):
            handler(definition)
