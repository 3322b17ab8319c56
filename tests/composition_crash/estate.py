"""What instances have made in the cluster, as an outside that remembers every change."""

from __future__ import annotations

import base64
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from edgekeeper.controllers.composition import labels
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, SECRET, Kind
from kubesim.plane.plane import Plane
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.composition_crash.definitions import INSTANCES

BYSTANDERS: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    ("ConfigMap", "bystander", {}),
    ("ConfigMap", "impostor", {labels.OWNED: "true", labels.PART_OF: "applyset-of-somebody-else-v1"}),
    ("Secret", "bystander", {}),
)
"""Objects of others, one of which looks like the child of an instance of another operator."""
_CONTENT: Final = (CONFIG_MAP, SECRET)
_MADE: Final = (*_CONTENT, *INSTANCES, CUSTOM_RESOURCE_DEFINITION)
_DIFFERENT: Final = frozenset({labels.INSTANCE_ID, labels.DEFINITION_ID})
"""Labels whose values are UIDs."""


class Estate:
    """Children, generated definitions, and objects of others."""

    def __init__(self, _: Clock) -> None:
        self.writes = 0
        self.plane: Plane | None = None
        self.versions: dict[str, str] = {}
        """Of the bystanders, as they were at the start."""
        self._kinds = {GroupResource(kind.group, kind.plural): kind for kind in _MADE}
        self._created: Counter[str] = Counter()
        self._deleted: Counter[str] = Counter()
        self._uids: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """By owner and name, the UIDs that a child has had."""

    def watch(self, plane: Plane) -> None:
        """Remember every change from now on."""
        self.plane = plane
        self.versions = self.bystanders()
        plane.store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        kind = self._kinds.get(resource)
        if kind is None:
            return
        obj = event.item.decode()
        name = _name(kind, obj)
        self.writes += kind in _CONTENT
        self._created[name] += event.previous is None
        self._deleted[name] += event.type == "DELETED"
        if owner := labels.label_of(obj, labels.INSTANCE_ID):
            self._uids[owner, name].add(obj["metadata"]["uid"])

    # What the oracles ask

    def state(self) -> JsonObject:
        found = {_name(kind, obj): _comparable(obj) for kind in _CONTENT for obj in self.objects(kind)}
        for obj in self.objects(CUSTOM_RESOURCE_DEFINITION):
            if labels.label_of(obj, labels.OWNED):
                found[_name(CUSTOM_RESOURCE_DEFINITION, obj)] = {"spec": obj["spec"]}
        return found

    def tally(self) -> Mapping[str, tuple[int, int]]:
        return {name: (count, self._deleted[name]) for name, count in sorted(self._created.items()) if count}

    def repeated(self) -> Sequence[str]:
        return [name for (_, name), uids in self._uids.items() if len(uids) > 1]

    def owners(self) -> Mapping[str, tuple[str, str]]:
        return {
            _name(kind, obj): (owner, _role(obj))
            for kind, obj in self.children()
            if (owner := labels.label_of(obj, labels.INSTANCE_ID))
        }

    # What is there

    def objects(self, kind: Kind) -> Iterator[JsonObject]:
        assert self.plane is not None
        for item in self.plane.store.collection(GroupResource(kind.group, kind.plural)).ordered():
            yield item.decode()

    def children(self) -> Iterator[tuple[Kind, JsonObject]]:
        for kind in (*_CONTENT, *INSTANCES):
            for obj in self.objects(kind):
                if labels.label_of(obj, labels.PART_OF):
                    yield kind, obj

    def by_name(self) -> dict[str, JsonObject]:
        """ConfigMaps, Secrets and instances, by kind and name."""
        return {_name(kind, obj): obj for kind in (*_CONTENT, *INSTANCES) for obj in self.objects(kind)}

    def children_of(self, instance: JsonObject) -> JsonObject:
        """The data of an instance's children, by kind and name."""
        uid = instance["metadata"]["uid"]
        return {
            _name(kind, obj): _content(kind, obj)
            for kind, obj in self.children()
            if labels.label_of(obj, labels.INSTANCE_ID) == uid
        }

    def bystanders(self) -> dict[str, str]:
        """The versions of objects that are nobody's business."""
        there = self.by_name()
        named = (f"{kind} {name}" for kind, name, _ in BYSTANDERS)
        return {name: str(dig(there.get(name), "metadata", "resourceVersion")) for name in named}


def _content(kind: Kind, obj: JsonObject) -> JsonObject:
    if kind == SECRET:
        return {name: base64.b64decode(value).decode() for name, value in dig_object(obj, "data").items()}
    if kind == CONFIG_MAP:
        return dig_object(obj, "data")
    return {"text": dig(obj, "spec", "text")}


def _role(obj: JsonObject) -> str:
    return f"{labels.label_of(obj, labels.NODE_ID)} {labels.label_of(obj, labels.COLLECTION_INDEX)}"


def _comparable(obj: JsonObject) -> JsonObject:
    metadata = dig_object(obj, "metadata")
    marks = {name: value for name, value in dig_object(metadata, "labels").items() if name not in _DIFFERENT}
    notes = {
        name: value
        for name, value in dig_object(metadata, "annotations").items()
        if name != labels.APPLIED_HASH  # which covers the UID of the instance
    }
    finalizers = dig_list(metadata, "finalizers")
    return {"data": obj.get("data"), "labels": marks, "annotations": notes, "finalizers": finalizers}


def _name(kind: Kind, obj: JsonObject) -> str:
    return f"{kind.kind} {obj['metadata']['name']}"
