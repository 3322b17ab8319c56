"""The objects that a node of an instance wants: where they go, whether they may be, and the marks that they bear.

Every object has, besides what its template says, the labels and annotations of `labels`, and the hash of all of that as one
more annotation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.checking import CompiledNode
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_plan import (
    Address,
    Desired,
    Limits,
    NodeResult,
    NodeState,
)
from edgekeeper.controllers.composition.inventory import GroupKind, Inventory, apply_set_id
from edgekeeper.controllers.composition.node import NodeKind
from edgekeeper.controllers.composition.readiness import shown
from edgekeeper.controllers.composition.used_objects import read_nodes
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.kinds import Key, Kind


class ChildObjects:
    """The objects of one instance, as they are rendered."""

    def __init__(self, graph: Graph, kind: Kind, instance: JsonObject, limits: Limits) -> None:
        self._graph = graph
        self._kind = kind
        self._instance = instance
        self._limits = limits
        self.namespace = str(dig(instance, "metadata", "namespace") or "")
        self.apply_set = apply_set_id(kind, Key(self.namespace, str(dig(instance, "metadata", "name"))))
        self.read_nodes = read_nodes(graph)
        """The nodes of whose objects the content is needed."""
        self._taken: dict[tuple[GroupKind, Key], str] = {}
        """The node that wants an object."""
        self._kinds: set[GroupKind] = set()
        self._namespaces: set[str] = set()

    @property
    def inventory(self) -> Inventory:
        """What covers all objects that are known to be wanted."""
        return Inventory(frozenset(self._kinds), frozenset(self._namespaces))

    def expect(self, kind: Kind) -> None:
        """There will be objects of a kind, though it is not known which."""
        self._kinds.add(GroupKind.of(kind))

    def place(self, kind: Kind, obj: JsonObject) -> Key:
        """Where an object is. Without a namespace it is where the instance is."""
        namespace = str(dig(obj, "metadata", "namespace") or self.namespace) if kind.namespaced else ""
        return Key(namespace, str(dig(obj, "metadata", "name") or ""))

    def nameless(self, node: CompiledNode, kind: Kind, key: Key) -> NodeResult | None:
        """That the name or the namespace of an object is missing; None if it is not."""
        if key.name and (key.namespace or not kind.namespaced):
            return None
        missing = "metadata.namespace" if key.name else "metadata.name"
        written = dig(node.node.template, *missing.split("."))
        source = f" ({written})" if isinstance(written, str) and written else ""
        message = f"resource {node.id}: {missing} of {kind.kind}{source} is empty"
        return NodeResult(node.id, NodeState.FAILED, message)

    def refusal(self, node: CompiledNode, kind: Kind, key: Key) -> NodeResult | None:
        """Why a child may not be; None if it may."""
        if nameless := self.nameless(node, kind, key):
            return nameless
        if refusal := self._limits.refusal(kind, key.namespace, self.namespace):
            return NodeResult(node.id, NodeState.FAILED, f"resource {node.id}: {refusal[1]}", refusal[0])
        other = self._taken.get((GroupKind.of(kind), key))
        if other is not None:
            message = f"resource {node.id} and resource {other} are the same object, {shown(kind, key)}"
            return NodeResult(node.id, NodeState.FAILED, message, "DuplicateResource")
        return None

    def want(self, node: CompiledNode, kind: Kind, obj: JsonObject, position: tuple[int, int]) -> Desired:
        """An object with all marks. `position` is its index in the collection, and how many there are."""
        key = self.place(kind, obj)
        self._taken[GroupKind.of(kind), key] = node.id
        if kind.namespaced and key.namespace != self.namespace:
            self._namespaces.add(key.namespace)
        marked = self._marked(node, obj, key.namespace, position)
        digest = _hash(marked)
        marked["metadata"]["annotations"][labels.APPLIED_HASH] = digest
        return Desired(node.id, Address(kind, key), marked, digest, keep=node.id in self.read_nodes)

    def _marked(
        self, node: CompiledNode, obj: JsonObject, namespace: str, position: tuple[int, int]
    ) -> JsonObject:
        marks = labels.child_labels(self._kind, self._instance, node.id, self.apply_set)
        if node.node.kind is NodeKind.COLLECTION:
            marks[labels.COLLECTION_INDEX], marks[labels.COLLECTION_SIZE] = map(str, position)
        notes = {labels.APPLY_ORDER: str(self._graph.apply_orders[node.id])}
        if node.node.orphaned:
            notes[labels.DELETION_POLICY] = labels.ORPHAN
        metadata = {name: value for name, value in dig_object(obj, "metadata").items() if value is not None}
        return {
            **obj,
            "metadata": {
                **metadata,
                **({"namespace": namespace} if namespace else {}),
                "labels": {**dig_object(metadata, "labels"), **marks},
                "annotations": {**dig_object(metadata, "annotations"), **notes},
            },
        }


def _hash(obj: Mapping[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(obj, order="sorted")).hexdigest()[:32]
