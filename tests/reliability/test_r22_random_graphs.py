"""R-22: random definitions of up to fifty resources, with cycles, flags that flip, type errors and expensive expressions.

At no moment is an object created before all that it depends on is there and ready, or removed while something that is
wanted is missing, or deleted before what depends on it; and a deletion evaluates no expression.

Decisions alone are taken for 10,000 graphs in `make crash`, and whole lives on the server played for 200 of them; in `make
test` for a few.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from edgekeeper.cli.built_in import BuiltInSchemas
from edgekeeper.controllers.composition.graph import Compilation, Graph, compile_definition, read_definition
from edgekeeper.controllers.composition.instance_plan import Desired, NodeState
from edgekeeper.controllers.composition.labels import INSTANCE_NAME, NODE_ID, label_of
from edgekeeper.controllers.composition.waves import decide
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.kinds import Kind
from kubecel.program import Program
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from kubesim.virtual import virtual_time
from tests.composition.cluster import plane_of
from tests.composition.fake_view import FakeView
from tests.composition.random_graphs import GATE, OPEN, GeneratedGraph, generate
from tests.composition.world import World, composing, instance
from tests.crash.sampling import ALL, WHOLE
from tests.results import Figures

DECIDED = range(10_000 if WHOLE else 1_000 if ALL else 10)
PLAYED = range(200 if WHOLE else 40 if ALL else 8)
AT_ONCE = 500 if ALL else 10
FLIPS = 2
CONFIG_MAPS = GroupResource("", "configmaps")
NAME = "demo"
MOST_SECONDS = 10.0
"""Of processor time, for an expression that is stopped by its budget."""


def compiled(graph: GeneratedGraph) -> Compilation:
    return compile_definition(read_definition(graph.definition()), BuiltInSchemas())


def accepted(definition: JsonObject) -> Graph:
    found = compile_definition(read_definition(definition), BuiltInSchemas())
    assert found.graph is not None, found.problems
    return found.graph


# Decisions


class Decisions:
    """An instance in a cluster without a server, in which objects become ready one wave late."""

    def __init__(self, generated: GeneratedGraph, graph: Graph) -> None:
        self.generated = generated
        self.graph = graph
        self.kind = Kind("kro.run", "v1alpha1", generated.kind, f"{generated.kind.lower()}s")
        self.view = FakeView()
        self.random = Random(generated.seed)

    async def converge(self, spec: JsonObject) -> None:
        """Apply wave after wave until nothing is left to do; check each."""
        body: JsonObject = instance(self.generated.kind, NAME, spec)
        body["metadata"]["uid"] = "uid"
        for _ in range(3 * len(self.generated.nodes) + 3):
            plan = await decide(self.graph, self.kind, body, self.view)
            assert not any(node.state is NodeState.FAILED for node in plan.nodes.values())
            if not plan.applies and not self.open_gates():
                break
            assert not (plan.applies and plan.is_complete), "something would be removed before all is applied"
            for one in plan.applies:
                states = {need: plan.nodes[need].state for need in self.generated.nodes[one.node].needs}
                assert set(states.values()) <= {NodeState.READY}, (one.node, states)
                self.put(one)
        assert plan.is_ready
        wanted = self.generated.wanted(NAME, spec)
        assert {key.name for keys in plan.wanted.values() for key in keys} == set(wanted)
        for address in [one for one in self.view.objects if one.key.name not in wanted]:
            del self.view.objects[address]
        assert {one.key.name: _data(seen.object) for one, seen in self.view.objects.items()} == wanted

    def put(self, one: Desired) -> None:
        live = self.view.objects.get(one.address)
        opened = dig(live.object, "data", GATE) if live is not None else None
        self.view.put(one)
        if opened:
            self.view.objects[one.address].object["data"][GATE] = opened

    def open_gates(self) -> bool:
        """Open the gates of all objects that have one; whether there was any to open."""
        closed = [
            seen.object["data"]
            for seen in self.view.objects.values()
            if self.generated.nodes[label_of(seen.object, NODE_ID)].is_gated
            and seen.object["data"].get(GATE) != OPEN
        ]
        for data in closed:
            data[GATE] = OPEN
        return bool(closed)


def _data(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in dig_object(obj, "data").items() if name != GATE}


@pytest.mark.parametrize("first", DECIDED[::AT_ONCE])
def test_waves_of_random_graphs_are_in_order_and_reach_all_that_is_wanted(
    first: int, figures: Figures
) -> None:
    for seed in range(first, first + AT_ONCE):
        generated = generate(seed)
        found = compiled(generated)
        assert found.graph is not None, (seed, found.problems)
        place = {name: number for number, name in enumerate(found.graph.order)}
        for node in generated.nodes.values():
            assert set(found.graph.dependencies[node.id]) == set(node.needs)
            assert all(place[need] < place[node.id] for need in node.needs)
        decisions = Decisions(generated, found.graph)
        for _ in range(1 + FLIPS):
            asyncio.run(decisions.converge(generated.spec(decisions.random)))
        figures.count("graphs")


@pytest.mark.parametrize("first", DECIDED[::AT_ONCE])
def test_random_graph_with_a_cycle_is_rejected_with_the_cycle(first: int) -> None:
    seen = 0
    for seed in range(first, first + AT_ONCE):
        cyclic = generate(seed).with_cycle()
        if cyclic is None:
            continue
        seen += 1
        found = compiled(cyclic)
        assert found.graph is None
        message = found.problems[0].message
        words = message.partition("graph contains a cycle: ")[2].split(" -> ")
        assert words[0] == words[-1]
        for one, other in pairwise(words):
            assert other in cyclic.nodes[one].needs, message
    assert seen > AT_ONCE / 2


@pytest.mark.parametrize("first", DECIDED[::AT_ONCE])
def test_random_graph_with_a_type_error_is_rejected_with_its_field(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        definition = generate(seed).definition()
        chosen = Random(seed).randrange(len(definition["spec"]["resources"]))
        definition["spec"]["resources"][chosen]["template"]["data"]["own"] = "${size(schema.spec.values)}"
        found = compile_definition(read_definition(definition), BuiltInSchemas())
        assert found.graph is None
        problem = found.problems[0]
        assert problem.path.startswith(f"spec.resources[{chosen}]"), problem
        assert "data.own" in problem.message, problem
        assert "type mismatch" in problem.message, problem


# Whole lives


class Lookout:
    """Looks at every change of an object, and notes what must not be."""

    def __init__(self, world: World, graph: GeneratedGraph) -> None:
        self.world = world
        self.graph = graph
        self.spec: JsonObject = {}
        self.deleting = False
        self.violations: list[str] = []
        self.created = self.removed = 0
        plane_of(world.cluster).store.listen(self._observe)

    def objects(self) -> dict[str, JsonObject]:
        """The data of all objects of the instance, by their names."""
        items = plane_of(self.world.cluster).store.collection(CONFIG_MAPS).ordered()
        found = [item.decode() for item in items]
        return {
            obj["metadata"]["name"]: dig_object(obj, "data")
            for obj in found
            if label_of(obj, INSTANCE_NAME) == NAME
        }

    def settled(self) -> dict[str, JsonObject]:
        """The same without what others have added."""
        return {name: _data({"data": data}) for name, data in self.objects().items()}

    async def open_gates(self) -> None:
        """Open every gate, some time after its object came to be."""
        while True:
            await asyncio.sleep(2)
            for node in self.graph.nodes.values():
                name = f"{NAME}-{node.id}"
                if node.is_gated and self.objects().get(name, {GATE: OPEN}).get(GATE) != OPEN:
                    await self.world.patch("ConfigMap", name, {"data": {GATE: OPEN}})

    def _observe(self, resource: GroupResource, event: Event) -> None:
        obj = event.item.decode()
        if resource != CONFIG_MAPS or label_of(obj, INSTANCE_NAME) != NAME:
            return
        node, name = self.graph.nodes[label_of(obj, NODE_ID)], obj["metadata"]["name"]
        if event.type == "ADDED":
            self.created += 1
            for need in node.needs:
                self._require_ready(name, need)
        elif event.type == "DELETED":
            self.removed += 1
            (self._require_nothing_above if self.deleting else self._require_complete)(name, node.id)

    def _require_ready(self, name: str, need: str) -> None:
        objects = self.objects()
        for needed in self.graph.names(NAME, need, self.spec):
            data = objects.get(needed)
            if data is None or (self.graph.nodes[need].is_gated and data.get(GATE) != OPEN):
                self.violations.append(f"{name} was created before {needed} was ready")

    def _require_complete(self, name: str, _: str) -> None:
        settled = self.settled()
        for wanted, data in self.graph.wanted(NAME, self.spec).items():
            if settled.get(wanted) != data:
                self.violations.append(f"{name} was removed before {wanted} was applied")

    def _require_nothing_above(self, name: str, node: str) -> None:
        objects = self.objects()
        for other in self.graph.nodes.values():
            for above in self.graph.names(NAME, other.id, self.spec) if node in other.needs else ():
                if above in objects:
                    self.violations.append(f"{name} was deleted before {above}")


@pytest.mark.parametrize("seed", PLAYED)
def test_lives_of_random_graphs_are_in_order(
    seed: int, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    _play(seed, monkeypatch)
    figures.count("graphs played on a cluster")


@virtual_time
async def _play(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, random = generate(seed), Random(seed)
    async with composing() as world:
        await world.define(graph.definition())
        lookout = Lookout(world, graph)
        gates = asyncio.create_task(lookout.open_gates())
        for _ in range(1 + FLIPS):
            lookout.spec = graph.spec(random)
            await world.apply(instance(graph.kind, NAME, lookout.spec))
            await world.settle(5 * len(graph.nodes) + 10)
            assert await world.state(graph.kind, NAME) == "ACTIVE"
            assert lookout.settled() == graph.wanted(NAME, lookout.spec)
        lookout.deleting = True
        evaluated = _evaluations(monkeypatch)
        await world.delete(graph.kind, NAME)
        await world.settle(5 * len(graph.nodes) + 10)
        gates.cancel()
        assert not await world.exists(graph.kind, NAME)
        assert lookout.objects() == {}
        assert evaluated == []
        assert lookout.violations == []
        assert lookout.created == lookout.removed


def _evaluations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that are evaluated from now on."""
    evaluated: list[str] = []

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(program: Program, *arguments: Any, **more: Any) -> Any:
            evaluated.append(str(program))
            return method(program, *arguments, **more)

        return noted

    for name in ("evaluate", "measure"):
        monkeypatch.setattr(Program, name, noting(getattr(Program, name)))
    return evaluated


# Expensive expressions


def _costly(expressions: Mapping[str, str]) -> JsonObject:
    """A definition of two resources, one of which has these expressions."""
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "costly"},
        "spec": {
            "schema": {"apiVersion": "v1alpha1", "kind": "Costly", "spec": {"values": "[]string"}},
            "resources": [
                {"id": "cheap", "template": {**config, "metadata": {"name": "cheap"}}},
                {
                    "id": "costly",
                    "template": {**config, "metadata": {"name": "costly"}, "data": dict(expressions)},
                },
            ],
        },
    }


def _squared(power: int) -> str:
    """An expression whose cost grows with so many powers of the number of values."""
    names = [f"v{number}" for number in range(power)]
    inner = "true"
    for name in names:
        inner = f"schema.spec.values.all({name}, {inner})"
    return f"${{string({inner})}}"


COSTLY = [pytest.param({"one": _squared(5)}, id="more than a million for one expression")]
if ALL:
    many = {f"field{number}": _squared(2) for number in range(60)}
    COSTLY.append(pytest.param(many, id="more than ten million for one object"))


@pytest.mark.parametrize("expressions", COSTLY)
@virtual_time
async def test_expression_above_its_budget_fails_its_resource_and_no_other(
    expressions: dict[str, str],
) -> None:
    async with composing() as world:
        await world.define(_costly(expressions))
        began = time.process_time()
        await world.apply(instance("Costly", NAME, {"values": [str(number) for number in range(250)]}))
        await world.settle()
        assert time.process_time() - began < MOST_SECONDS
        assert await world.exists("ConfigMap", "cheap")
        assert not await world.exists("ConfigMap", "costly")
        found = (await world.conditions("Costly", NAME))["Ready"]
        assert found["message"].startswith("resource costly: ")
        assert "cost" in found["message"]
        await world.apply(instance("Costly", NAME, {"values": ["1"]}))
        await world.settle()
        assert await world.state("Costly", NAME) == "ACTIVE"
