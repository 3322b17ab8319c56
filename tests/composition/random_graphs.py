"""Random definitions of up to fifty resources, from a seed, and what their instances must consist of.

    graph = generate(seed)
    graph.definition()                          a ResourceGraphDefinition
    spec = graph.spec(random)                   the spec of an instance
    graph.wanted("demo", spec)                  by name, the data of every object that the instance must have

Every resource is a ConfigMap, or a collection of them. It reads a field of each one that it depends on, or names it in
`dependsOn`. Some are included by a flag of the instance; what depends on an excluded one is excluded too. Some are ready
only when somebody has opened their gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from edgekeeper.core.json import JsonObject

FLAGS = ("red", "green", "blue")
GATE, OPEN = "gate", "open"
LARGEST = 50
MOST_NEEDS = 3


@dataclass(frozen=True)
class GeneratedNode:
    """One resource."""

    id: str
    reads: tuple[str, ...] = ()
    """The resources of which it reads a field."""
    follows: tuple[str, ...] = ()
    """The resources that it names in `dependsOn`."""
    flag: str = ""
    """The flag of the instance that includes it; empty if it is always included."""
    is_collection: bool = False
    is_gated: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        return (*self.reads, *self.follows)


@dataclass(frozen=True)
class GeneratedGraph:
    """A definition."""

    seed: int
    nodes: Mapping[str, GeneratedNode]
    """In an order in which each comes after what it needs; the definition has another."""

    @property
    def kind(self) -> str:
        return f"Random{self.seed}"

    def definition(self) -> JsonObject:
        nodes = list(self.nodes.values())
        Random(self.seed).shuffle(nodes)
        fields = dict.fromkeys(FLAGS, "boolean | default=true")
        return {
            "apiVersion": "kro.run/v1alpha1",
            "kind": "ResourceGraphDefinition",
            "metadata": {"name": f"random-{self.seed}"},
            "spec": {
                "schema": {
                    "apiVersion": "v1alpha1",
                    "kind": self.kind,
                    "spec": {"text": "string | default=a", "values": "[]string", **fields},
                },
                "resources": [self._resource(node) for node in nodes],
            },
        }

    def _resource(self, node: GeneratedNode) -> JsonObject:
        suffix = "-${value}" if node.is_collection else ""
        data = {"own": "${schema.spec.text}", **{need: self._reading(need) for need in node.reads}}
        template = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"${{schema.metadata.name}}-{node.id}{suffix}"},
            "data": data,
        }
        resource: JsonObject = {"id": node.id, "template": template}
        if node.is_collection:
            resource["forEach"] = [{"value": "${schema.spec.values}"}]
        if node.flag:
            resource["includeWhen"] = [f"${{schema.spec.{node.flag}}}"]
        if node.is_gated:
            resource["readyWhen"] = [f'${{{node.id}.data.?{GATE}.orValue("") == "{OPEN}"}}']
        if node.follows:
            resource["dependsOn"] = list(node.follows)
        return resource

    def _reading(self, need: str) -> str:
        if self.nodes[need].is_collection:
            return f"${{string(size({need}))}}"
        return f"${{{need}.data.own}}"

    def spec(self, random: Random) -> JsonObject:
        """A random spec of an instance."""
        return {
            "text": random.choice("abc"),
            "values": random.sample("uvwxyz", random.randint(0, 3)),
            **{name: random.random() < 0.7 for name in FLAGS},
        }

    def included(self, spec: JsonObject) -> set[str]:
        """The ids of the resources that an instance has."""
        found: set[str] = set()
        for node in self.nodes.values():
            if (not node.flag or spec[node.flag]) and found.issuperset(node.needs):
                found.add(node.id)
        return found

    def names(self, instance: str, node: str, spec: JsonObject) -> list[str]:
        """The names of the objects of a resource."""
        name = f"{instance}-{node}"
        return [f"{name}-{value}" for value in spec["values"]] if self.nodes[node].is_collection else [name]

    def wanted(self, instance: str, spec: JsonObject) -> dict[str, JsonObject]:
        """The data of all objects that an instance must have, by their names, without what others add."""
        wanted: dict[str, JsonObject] = {}
        for node in self.included(spec):
            read = {need: self._read(need, spec) for need in self.nodes[node].reads}
            for name in self.names(instance, node, spec):
                wanted[name] = {"own": spec["text"], **read}
        return wanted

    def _read(self, need: str, spec: JsonObject) -> str:
        return str(len(spec["values"])) if self.nodes[need].is_collection else str(spec["text"])

    def with_cycle(self) -> GeneratedGraph | None:
        """The same with one dependency more, which closes a cycle; None where nothing depends on anything."""
        reading = [node for node in self.nodes.values() if node.reads]
        if not reading:
            return None
        last = Random(self.seed).choice(reading)
        first = self.nodes[last.reads[0]]
        return replace(self, nodes={**self.nodes, first.id: replace(first, reads=(*first.reads, last.id))})


def generate(seed: int, largest: int = LARGEST) -> GeneratedGraph:
    random = Random(seed)
    nodes: dict[str, GeneratedNode] = {}
    for number in range(random.randint(1, largest)):
        nodes[f"n{number}"] = _node(random, f"n{number}", list(nodes))
    return GeneratedGraph(seed, nodes)


def _node(random: Random, id_: str, others: list[str]) -> GeneratedNode:
    needs: list[Any] = random.sample(others, min(len(others), random.randint(0, MOST_NEEDS)))
    cut = random.randint(0, len(needs))
    is_collection = random.random() < 0.2
    return GeneratedNode(
        id_,
        reads=tuple(needs[cut:]),
        follows=tuple(needs[:cut]),
        flag=random.choice(FLAGS) if random.random() < 0.25 else "",
        is_collection=is_collection,
        is_gated=not is_collection and random.random() < 0.2,
    )
