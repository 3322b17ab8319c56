"""Decisions about instances, as pure functions of the graph, the instance and the cluster."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest
import yaml

from edgekeeper.cli.built_in import BuiltInSchemas
from edgekeeper.controllers.composition import labels, waves
from edgekeeper.controllers.composition.graph import Graph, compile_definition, read_definition
from edgekeeper.controllers.composition.instance_plan import Address, Desired, Limits, NodeState, Plan, Seen
from edgekeeper.controllers.composition.inventory import GroupKind, Inventory
from edgekeeper.controllers.composition.used_objects import read_nodes
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CONFIG_MAP, Key, Kind
from tests.composition.fake_view import FakeView
from tests.composition.world import instance, rgd

KIND = Kind("kro.run", "v1alpha1", "App", "apps")


def graph_of(resources: str, spec: str = "{text: string | default=a}", status: str = "{}") -> Graph:
    found = compile_definition(read_definition(rgd("apps", "App", spec, resources, status)), BuiltInSchemas())
    assert found.graph is not None, found.problems
    return found.graph


def app(**spec: object) -> JsonObject:
    obj = instance("App", "demo", dict(spec))
    obj["metadata"]["uid"] = "u-1"
    return obj


def decide(graph: Graph, kind: Kind, obj: JsonObject, view: FakeView, limits: Limits | None = None) -> Plan:
    return asyncio.run(waves.decide(graph, kind, obj, view, limits))


def states(plan: Plan) -> dict[str, NodeState]:
    return {name: node.state for name, node in plan.nodes.items()}


CHAIN = graph_of("""
- {id: one, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "${schema.spec.text}"}}}
- {id: two, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: "${one.data.a}"}}}
- {id: three, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: three}, data: {a: x}}}
""")


def test_wave_has_everything_whose_dependencies_are_applied() -> None:
    view = FakeView()
    plan = decide(CHAIN, KIND, app(text="x"), view)
    assert [one.node for one in plan.applies] == ["one", "three"]
    assert states(plan) == {"one": NodeState.APPLY, "three": NodeState.APPLY, "two": NodeState.WAITING}
    for one in plan.applies:
        view.put(one)
    plan = decide(CHAIN, KIND, app(text="x"), view)
    assert [one.node for one in plan.applies] == ["two"]
    assert not plan.is_complete
    view.put(plan.applies[0])
    plan = decide(CHAIN, KIND, app(text="x"), view)
    assert plan.applies == []
    assert plan.is_complete
    assert plan.is_ready


def test_inventory_covers_what_is_wanted_before_it_can_be_named() -> None:
    plan = decide(CHAIN, KIND, app(text="x"), FakeView())
    assert plan.inventory == Inventory(frozenset({GroupKind("ConfigMap", "")}))


def test_object_that_changed_is_read_before_it_is_applied_again() -> None:
    """After a restart nothing is known but the hash on it."""
    view = FakeView()
    for one in decide(CHAIN, KIND, app(text="x"), view).applies:
        view.put(one)
    address = Address(CONFIG_MAP, Key("default", "one"))
    seen = view.objects[address]
    metadata = {"metadata": seen.object["metadata"]}
    view.objects[address] = Seen(metadata, complete=False)
    plan = decide(CHAIN, KIND, app(text="x"), view)
    assert (plan.reads, plan.applies) == ({address}, [])
    view.objects[address] = replace(seen, applied="")
    plan = decide(CHAIN, KIND, app(text="x"), view)
    assert [one.address for one in plan.verified] == [address]
    assert "one" not in {one.node for one in plan.applies}
    view.objects[address] = Seen({**seen.object, "data": {"a": "drift"}})
    plan = decide(CHAIN, KIND, app(text="x"), view)
    assert [(one.node, one.exists) for one in plan.applies] == [("one", True)]


def test_content_is_read_only_of_nodes_whose_content_is_used() -> None:
    graph = graph_of(
        """
- {id: named, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: named}}}
- {id: shown, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${named.metadata.name}"}, data: {a: b}}}
- {id: judged, readyWhen: ["${judged.data.a == 'b'}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: judged}, data: {a: b}}}
- {id: listed, template: {apiVersion: v1, kind: Secret, metadata: {name: listed}, stringData: {a: b}}}
""",
        status='{a: "${shown.data.a}"}',
    )
    assert read_nodes(graph) == {"shown", "judged"}


def test_object_of_another_apply_set_is_refused_with_its_owner() -> None:
    view = FakeView()
    (one, _) = decide(CHAIN, KIND, app(text="x"), view).applies
    marks = {
        labels.PART_OF: "applyset-other-v1",
        labels.INSTANCE_KIND: "Web",
        labels.INSTANCE_NAME: "theirs",
        labels.INSTANCE_NAMESPACE: "team",
    }
    view.objects[one.address] = Seen({"metadata": {"name": "one", "labels": marks}})
    node = decide(CHAIN, KIND, app(text="x"), view).nodes["one"]
    assert (node.state, node.contested) == (NodeState.FAILED, (one.address,))
    assert "belongs to Web team/theirs (applyset-other-v1)" in node.message


def test_obstacle_of_a_kind_concerns_its_nodes_alone() -> None:
    graph = graph_of("""
- {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: s}}}
- {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}
""")
    plan = decide(graph, KIND, app(), FakeView(obstacles={"Secret": ("KindNotPermitted", "no")}))
    assert states(plan) == {"secret": NodeState.FAILED, "config": NodeState.APPLY}
    assert plan.nodes["secret"].reason == "KindNotPermitted"


def test_kind_that_no_schema_is_known_of_is_not_served() -> None:
    graph = graph_of("[{id: x, template: {apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}}]")
    node = decide(graph, KIND, app(), FakeView()).nodes["x"]
    assert (node.state, node.reason) == (NodeState.FAILED, "KindNotServed")


@pytest.mark.parametrize(
    ("limits", "refused"),
    [
        (Limits(), False),
        (Limits(namespaces=frozenset()), True),
        (Limits(namespaces=frozenset({"other"})), False),
    ],
)
def test_limits_decide_which_children_may_be(limits: Limits, refused: bool) -> None:
    graph = graph_of(
        "[{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: other}}}]"
    )
    plan = decide(graph, KIND, app(), FakeView(), limits)
    assert (plan.nodes["x"].state is NodeState.FAILED) is refused
    assert bool(plan.applies) is not refused


def test_same_instance_makes_the_same_hash_and_another_value_another() -> None:
    def hashes(**spec: object) -> list[str]:
        return [one.hash for one in decide(CHAIN, KIND, app(**spec), FakeView()).applies]

    assert hashes(text="x") == hashes(text="x")
    first, second = hashes(text="x"), hashes(text="y")
    assert first[0] != second[0]
    assert first[1] == second[1]


# Random graphs: nothing is applied before what it depends on is ready, and in the end everything is.


def _random_graph(random: Random) -> tuple[Graph, dict[str, list[str]], set[str]]:
    count = random.randint(1, 30)
    needs: dict[str, list[str]] = {}
    excluded: set[str] = set()
    resources = []
    for number in range(count):
        name = f"n{number}"
        needs[name] = [f"n{other}" for other in range(number) if random.random() < 2 / count]
        value = " + ".join(["''", *(f"{other}.data.v" for other in needs[name])])
        template = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"v": "${" + value + "}"},
        }
        resource: JsonObject = {"id": name, "template": template}
        if random.random() < 0.15:
            resource["includeWhen"] = ["${false}"]
        if "includeWhen" in resource or excluded & set(needs[name]):
            excluded.add(name)
        if random.random() < 0.4:
            resource["readyWhen"] = ["${" + name + ".data.?done.orValue('') == 'yes'}"]
        resources.append(resource)
    random.shuffle(resources)
    return graph_of(yaml.safe_dump(resources)), needs, excluded


@pytest.mark.parametrize("seed", range(60))
def test_random_graph_is_applied_in_order_and_completely(seed: int) -> None:
    random = Random(seed)
    graph, needs, excluded = _random_graph(random)
    view = FakeView()
    applied: dict[str, Desired] = {}
    ready: set[str] = set()
    for _ in range(500):
        plan = decide(graph, KIND, app(), view)
        assert {name for name, node in plan.nodes.items() if node.state is NodeState.EXCLUDED} == excluded
        assert plan.is_complete is (set(applied) == set(needs) - excluded)
        for one in plan.applies:
            assert one.node not in applied
            assert set(needs[one.node]) <= ready, f"{one.node} before {needs[one.node]}"
            applied[one.node] = one
            view.put(one)
        ready |= {name for name in applied if not graph.nodes[name].ready_when}
        waiting = sorted(set(applied) - ready)
        if waiting and random.random() < 0.5:
            name = random.choice(waiting)
            data = {**applied[name].object["data"], "done": "yes"}
            view.put(applied[name], data=data)
            ready.add(name)
        if plan.is_ready:
            break
    assert set(applied) == set(needs) - excluded
