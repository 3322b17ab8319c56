"""A cluster without a server, for decisions: objects that a test has put there."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

from edgekeeper.controllers.composition.instance_plan import Address, Desired, Seen
from edgekeeper.controllers.composition.selectors import matches
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.kube.kinds import Key, Kind


@dataclass
class FakeView:
    """Implements `instance_plan.View`."""

    objects: dict[Address, Seen] = field(default_factory=dict)
    others: dict[Address, Seen] = field(default_factory=dict)
    obstacles: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By kind."""

    def find(self, address: Address) -> Seen | None:
        return self.objects.get(address)

    def find_external(self, address: Address) -> Seen | None:
        return self.others.get(address)

    def select(self, kind: Kind, namespace: str, selector: JsonObject) -> list[tuple[Key, Seen]]:
        return [
            (address.key, seen)
            for address, seen in sorted(self.others.items(), key=str)
            if address.kind == kind
            and namespace in ("", address.key.namespace)
            and matches(selector, dig_object(seen.object, "metadata", "labels"))
        ]

    def obstacle(self, kind: Kind, *, external: bool) -> tuple[str, str] | None:
        return self.obstacles.get(kind.kind)

    def is_watched(self, kind: Kind, namespace: str) -> bool:
        return True

    def put(self, desired: Desired, **more: JsonObject) -> None:
        """The server has applied an object, and others have added something."""
        self.objects[desired.address] = Seen({**deepcopy(desired.object), **more}, True, desired.hash)
