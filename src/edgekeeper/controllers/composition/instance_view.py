"""The cluster as one pass of an instance sees it; notes on the way which objects of others the instance refers to."""

from __future__ import annotations

from edgekeeper.controllers.composition.children import Children
from edgekeeper.controllers.composition.instance_plan import Address, Seen
from edgekeeper.controllers.composition.selectors import Interest, matches
from edgekeeper.controllers.composition.watched import Watched
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.kube.kinds import Key, Kind


class InstanceView:
    """Implements `instance_plan.View`."""

    def __init__(self, children: Children, others: Watched) -> None:
        self._children = children
        self._others = others
        self.interests: set[Interest] = set()

    def find(self, address: Address) -> Seen | None:
        return self._children.find(address)

    def find_external(self, address: Address) -> Seen | None:
        self.interests.add(Interest(address.kind, address.key.namespace, address.key.name))
        return self._others.find(address)

    def select(self, kind: Kind, namespace: str, selector: JsonObject) -> list[tuple[Key, Seen]]:
        self.interests.add(Interest.in_matching(kind, namespace, selector))
        found: list[tuple[Key, Seen]] = []
        for key in sorted(self._others.keys(kind)):
            seen = self._others.find(Address(kind, key)) if namespace in ("", key.namespace) else None
            if seen is not None and matches(selector, dig_object(seen.object, "metadata", "labels")):
                found.append((key, seen))
        return found

    def obstacle(self, kind: Kind, *, external: bool) -> tuple[str, str] | None:
        return (self._others if external else self._children).watches.obstacle(kind)

    def is_watched(self, kind: Kind, namespace: str) -> bool:
        return self._others.watches.covers(kind, namespace)
