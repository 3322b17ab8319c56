"""What nodes come to: values in their places, collections, conditions, and values that no field can hold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from edgekeeper.controllers.composition import evaluation
from edgekeeper.controllers.composition.checking import CompiledNode
from edgekeeper.controllers.composition.evaluation import MOST_OBJECTS, Allowance, Bindings, combine, holds
from edgekeeper.controllers.composition.graph import Graph, Options
from edgekeeper.controllers.composition.values import as_field
from edgekeeper.core.json import JsonObject
from kubecel import environments
from kubecel.errors import ErrorKind, EvaluationError
from tests.unit.controllers.composition.cases import config, definition, graph_of, workload

LISTS: JsonObject = {"l": "[]string", "n": "[]integer"}


def _bound(graph: Graph, spec: JsonObject, **observed: Any) -> Bindings:
    bindings = Bindings(graph)
    metadata = {"name": "shop", "namespace": "default"}
    instance = {"apiVersion": "kro.run/v1alpha1", "kind": "App", "metadata": metadata, "spec": spec}
    bindings.bind_instance(instance | {"status": {"state": "ACTIVE"}})
    for name, value in observed.items():
        bindings.bind(name, value)
    return bindings


def resolve(
    node: CompiledNode, variables: Mapping[str, Any], allowance: Allowance | None = None
) -> JsonObject:
    return asyncio.run(evaluation.resolve(node, variables, allowance or Allowance()))


def combinations(
    node: CompiledNode, variables: Mapping[str, Any], most: int = MOST_OBJECTS
) -> list[dict[str, Any]]:
    allowance = Allowance()
    lists = [evaluation.iterator_values(one, variables, allowance) for one in node.for_each]
    return combine(node, lists, most)


def first_unmet(node: CompiledNode, observed: JsonObject) -> str:
    """What is written in the first condition that does not hold; empty if all do."""
    found = asyncio.run(evaluation.first_unmet(node, observed, Allowance()))
    return "" if found is None else found.expression.written


def _collection(*dimensions: dict[str, str], name: str) -> JsonObject:
    resource = config("c", forEach=list(dimensions))
    resource["template"]["metadata"]["name"] = name
    return resource


def test_values_take_the_places_of_expressions_with_their_types() -> None:
    spec = {"replicas": "${schema.spec.n}", "args": ["a", "${schema.spec.s}-x"], "labels": "${schema.spec.m}"}
    graph = graph_of(
        definition(workload("p", spec), spec={"n": "integer", "s": "string", "m": "map[string]string"})
    )
    node = graph.nodes["p"]
    found = resolve(node, _bound(graph, {"n": 3, "s": "b", "m": {"k": "v"}}).variables)
    assert found["spec"] == {"replicas": 3, "args": ["a", "b-x"], "labels": {"k": "v"}}
    assert node.node.template["spec"] == spec


def test_values_of_instances_are_data_and_never_evaluated() -> None:
    graph = graph_of(definition(config("a", value="${schema.spec.s}"), spec={"s": "string"}))
    found = resolve(graph.nodes["a"], _bound(graph, {"s": "${schema.metadata.name}"}).variables)
    assert found["data"] == {"key": "${schema.metadata.name}"}


def test_secrets_are_bytes_for_templates() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    graph = graph_of(
        definition({"id": "s", "externalRef": secret}, config("a", value="${string(s.data.password)}"))
    )
    found = resolve(graph.nodes["a"], _bound(graph, {}, s={**secret, "data": {"password": "aGk="}}).variables)
    assert found["data"] == {"key": "hi"}


def test_whole_objects_are_copied_as_they_were() -> None:
    graph = graph_of(definition(workload("p"), workload("q", {"anything": "${p.status}"})))
    status = {"ready": 1, "since": "2026-01-01T00:00:00Z"}
    found = resolve(graph.nodes["q"], _bound(graph, {}, p={"status": status}).variables)
    assert found["spec"]["anything"] == status


def test_missing_data_is_pending_and_anything_else_is_not() -> None:
    graph = graph_of(
        definition(
            workload("p"),
            workload("q", {"replicas": "${p.status.ready}"}),
            workload("r", {"replicas": "${10 / p.status.ready}"}),
        )
    )
    with pytest.raises(EvaluationError) as missing:
        resolve(graph.nodes["q"], _bound(graph, {}, p={}).variables)
    assert missing.value.pending
    with pytest.raises(EvaluationError) as wrong:
        resolve(graph.nodes["r"], _bound(graph, {}, p={"status": {"ready": 0}}).variables)
    assert not wrong.value.pending


def test_fields_and_elements_that_are_omitted_are_not_there() -> None:
    resource = workload(
        "p",
        {
            "replicas": "${omit()}",
            "args": ["a", "${omit()}", "b", "${schema.spec.on ? 'c' : omit()}"],
            "anything": "${{'x': omit(), 'y': [1, omit()]}}",
        },
    )
    graph = graph_of(definition(resource, spec={"on": "boolean"}), Options(omit_allowed=True))
    found = resolve(graph.nodes["p"], _bound(graph, {"on": False}).variables)
    assert found["spec"] == {"args": ["a", "b"], "anything": {"y": [1]}}


def test_combinations_are_the_product_with_the_last_iterator_fastest() -> None:
    body = definition(
        _collection({"a": "${schema.spec.l}"}, {"b": "${schema.spec.n}"}, name="${a}-${string(b)}"),
        spec=LISTS,
    )
    graph = graph_of(body)
    bindings = _bound(graph, {"l": ["x", "y"], "n": [1, 2]})
    node = graph.nodes["c"]
    found = combinations(node, bindings.variables)
    names = [resolve(node, bindings.with_iterators(one))["metadata"]["name"] for one in found]
    assert names == ["x-1", "x-2", "y-1", "y-2"]


@pytest.mark.parametrize(("count", "most"), [(0, 1000), (7, 7)])
def test_collection_may_have_so_many_objects(count: int, most: int) -> None:
    graph = graph_of(definition(_collection({"x": "${schema.spec.l}"}, name="${x}"), spec=LISTS))
    variables = _bound(graph, {"l": [str(number) for number in range(count)]}).variables
    assert len(combinations(graph.nodes["c"], variables, most)) == count


def test_collection_that_is_too_large_fails_before_it_is_built() -> None:
    body = definition(
        _collection({"x": "${schema.spec.l}"}, {"y": "${schema.spec.l}"}, name="${x}-${y}"), spec=LISTS
    )
    graph = graph_of(body)
    variables = _bound(graph, {"l": [str(number) for number in range(40)]}).variables
    with pytest.raises(
        EvaluationError, match="a collection may have 1000 objects at most, not 1600"
    ) as failed:
        combinations(graph.nodes["c"], variables)
    assert not failed.value.pending


def test_node_that_is_no_collection_has_one_object() -> None:
    graph = graph_of(definition(config("a")))
    assert combinations(graph.nodes["a"], {}) == [{}]


def test_others_see_a_collection_as_a_list() -> None:
    graph = graph_of(
        definition(
            _collection({"x": "${schema.spec.l}"}, name="${x}"),
            config("a", value="${c.map(one, one.metadata.name).join(',')}"),
            spec=LISTS,
        )
    )
    objects = [{"metadata": {"name": "x"}}, {"metadata": {"name": "y"}}]
    found = resolve(graph.nodes["a"], _bound(graph, {}, c=objects).variables)
    assert found["data"] == {"key": "x,y"}
    assert resolve(graph.nodes["a"], _bound(graph, {}, c=[]).variables)["data"] == {"key": ""}


@pytest.mark.parametrize(
    ("condition", "included"),
    [
        ("${schema.spec.on}", True),
        ("${!schema.spec.on}", False),
        ("${optional.none()}", False),
        ("${optional.of(true)}", True),
        ("${dyn(null)}", False),
    ],
)
def test_nothing_does_not_hold(condition: str, included: bool) -> None:
    graph = graph_of(definition(config("a", includeWhen=[condition]), spec={"on": "boolean"}))
    (compiled,) = graph.nodes["a"].include_when
    assert holds(compiled, _bound(graph, {"on": True}).variables, Allowance()) is included


def test_condition_that_is_no_boolean_fails() -> None:
    graph = graph_of(definition(config("a", includeWhen=["${dyn(1)}"])))
    with pytest.raises(EvaluationError, match='expression "dyn\\(1\\)" must return bool'):
        holds(graph.nodes["a"].include_when[0], {}, Allowance())


def test_condition_that_keeps_an_object_from_being_ready_is_named() -> None:
    graph = graph_of(
        definition(workload("p", readyWhen=["${p.status.ready > 0}", "${p.metadata.name == 'p'}"]))
    )
    observed: JsonObject = {"metadata": {"name": "p"}, "status": {"ready": 0}}
    assert first_unmet(graph.nodes["p"], observed) == "p.status.ready > 0"
    assert first_unmet(graph.nodes["p"], {**observed, "status": {"ready": 1}}) == ""


def test_objects_of_a_collection_are_judged_one_by_one() -> None:
    resource = _collection({"x": "${schema.spec.l}"}, name="${x}") | {
        "readyWhen": ["${each.data.key == 'x'}"]
    }
    graph = graph_of(definition(resource, spec=LISTS))
    assert first_unmet(graph.nodes["c"], {"data": {"key": "x"}}) == ""
    assert first_unmet(graph.nodes["c"], {"data": {"key": "y"}}) == "each.data.key == 'x'"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1u", 1),
        ("1.0", 1),
        ("1.5", 1.5),
        ("timestamp('2026-01-01T00:00:00Z')", "2026-01-01T00:00:00Z"),
        ("duration('90s')", "90s"),
        ("optional.none()", None),
        ("optional.of([optional.of(1)])", [1]),
        ("null", None),
        ("quantity('1Gi')", "1Gi"),
        ("{'a': [1, {'b': true}]}", {"a": [1, {"b": True}]}),
    ],
)
def test_values_become_json(expression: str, value: Any) -> None:
    assert as_field(environments.kro().compile(expression).evaluate({})) == value


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("b'abc'", "bytes cannot be put into a field: encode it explicitly"),
        ("[b'abc']", "bytes cannot be put into a field: encode it explicitly"),
        ("9223372036854775808u", "9223372036854775808 is too large for a field"),
        ("{1: 'a'}", "keys of an object must be strings, not 1"),
    ],
)
def test_values_that_no_field_can_hold_are_refused(expression: str, complaint: str) -> None:
    value = environments.kro().compile(expression).evaluate({})
    with pytest.raises(EvaluationError, match=complaint) as refused:
        as_field(value)
    assert not refused.value.pending


def test_expressions_of_one_object_share_a_budget() -> None:
    costly = "${string(size(lists.range(300).map(x, lists.range(300))))}"
    resource = config("a")
    resource["template"]["data"] = {f"k{number}": costly for number in range(20)}
    graph = graph_of(definition(resource))
    node = graph.nodes["a"]
    cost = node.variables[0].program.measure({}).cost
    assert resolve(node, {}, Allowance(20 * cost))["data"]["k19"] == "300"
    with pytest.raises(EvaluationError) as stopped:
        resolve(node, {}, Allowance(20 * cost - 1))
    assert (stopped.value.kind, stopped.value.pending) == (ErrorKind.COST_EXCEEDED, False)


def test_expressions_that_fail_use_up_the_budget_too() -> None:
    bomb = "${string(size(schema.spec.l.map(a, schema.spec.l.map(b, schema.spec.l.map(c, a + b + c)))))}"
    graph = graph_of(definition(config("a", value=bomb), spec=LISTS))
    variables = _bound(graph, {"l": ["x"] * 1_000, "n": []}).variables
    allowance = Allowance(150_000)
    with pytest.raises(EvaluationError):
        resolve(graph.nodes["a"], variables, allowance)
    with pytest.raises(EvaluationError):
        resolve(graph.nodes["a"], variables, allowance)
    cheap = graph_of(definition(config("a", value="${string(1 + 1)}"))).nodes["a"]
    with pytest.raises(EvaluationError) as stopped:
        resolve(cheap, {}, allowance)
    assert stopped.value.kind is ErrorKind.COST_EXCEEDED


def test_one_expression_cannot_spend_the_budget_of_an_object() -> None:
    bomb = "${string(size(schema.spec.l.map(a, schema.spec.l.map(b, schema.spec.l.map(c, a + b + c)))))}"
    graph = graph_of(definition(config("a", value=bomb), spec=LISTS))
    variables = _bound(graph, {"l": ["x"] * 1_000, "n": []}).variables
    with pytest.raises(EvaluationError) as stopped:
        resolve(graph.nodes["a"], variables)
    assert (stopped.value.kind, stopped.value.pending) == (ErrorKind.COST_EXCEEDED, False)


def test_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(EvaluationError, match="nested too deeply"):
        as_field(endless)
