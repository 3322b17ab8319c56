"""Definitions that are right: what depends on what, and which types fit where."""

from __future__ import annotations

import random
from typing import Any

import pytest

from edgekeeper.controllers.composition.graph import Options
from edgekeeper.controllers.composition.node import NodeKind
from edgekeeper.core.json import JsonObject
from tests.unit.controllers.composition.cases import compiled, config, definition, graph_of, workload

LIST: JsonObject = {"l": "[]string"}


def _named(resource: JsonObject, name: str, **metadata: str) -> JsonObject:
    return {**resource, "template": {**resource["template"], "metadata": {"name": name, **metadata}}}


def test_dependencies_come_from_templates_iterators_and_conditions() -> None:
    graph = graph_of(
        definition(
            _named(
                config(
                    "all",
                    value="${inTemplate.data.key}",
                    forEach=[{"x": "${[inForEach.data.key]}"}],
                    includeWhen=["${inCondition.data.key == 'x'}", "${schema.spec.on}"],
                    readyWhen=["${each.data.key != ''}"],
                    dependsOn=["named"],
                ),
                "${x}",
            ),
            config("inTemplate"),
            config("inForEach"),
            config("inCondition"),
            config("named"),
            config("free"),
            spec={"on": "boolean"},
        )
    )
    assert graph.dependencies["all"] == ("inCondition", "inForEach", "inTemplate", "named")
    assert graph.order == ["inTemplate", "inForEach", "inCondition", "named", "all", "free"]
    assert graph.apply_orders == {
        "inTemplate": 1, "inForEach": 1, "inCondition": 1, "named": 1, "all": 2, "free": 2,
    }  # fmt: skip


def test_names_within_macros_are_no_dependencies() -> None:
    graph = graph_of(
        definition(
            config("a"),
            config("x", value="${['1'].map(a, a + '!')[0]}"),
            config("y", value="${cel.bind(a, '1', a)}"),
            config("z", value="${schema.spec.l.filter(l, l == a.data.key)[0]}"),
            spec=LIST,
        )
    )
    assert graph.dependencies == {"a": (), "x": (), "y": (), "z": ("a",)}


def test_ids_may_be_called_like_types_and_functions() -> None:
    graph = graph_of(
        definition(
            config("string"), config("size"), config("b", value="${string.data.key + size.metadata.name}")
        )
    )
    assert graph.dependencies["b"] == ("size", "string")


def test_keys_and_literal_texts_are_no_expressions() -> None:
    resource = config("a", value='${"${X}"}')
    resource["template"]["data"]["${nothing.here}"] = "$(ENV) ${unfinished"
    graph = graph_of(definition(resource))
    assert [one.variable.path for one in graph.nodes["a"].variables] == ["data.key"]
    assert graph.nodes["a"].variables[0].program.evaluate({}) == "${X}"


def test_kinds_of_nodes() -> None:
    by_name = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "${schema.spec.n}"}}
    selector = {"matchLabels": {"app": "${schema.spec.n}"}}
    by_label = {"apiVersion": "v1", "kind": "Secret", "metadata": {"selector": selector}}
    graph = graph_of(
        definition(
            config("one"),
            _named(config("many", forEach=[{"x": "${schema.spec.l}"}]), "${x}"),
            {"id": "there", "externalRef": by_name},
            {"id": "all", "externalRef": by_label},
            config("user", value="${there.metadata.uid + all[0].metadata.name + many[0].data.key}"),
            spec={**LIST, "n": "string"},
        )
    )
    assert {node.id: node.node.kind for node in graph.nodes.values()} == {
        "one": NodeKind.RESOURCE,
        "many": NodeKind.COLLECTION,
        "there": NodeKind.EXTERNAL,
        "all": NodeKind.EXTERNAL_COLLECTION,
        "user": NodeKind.RESOURCE,
    }
    assert graph.dependencies["user"] == ("all", "many", "there")


def test_selectors_consist_of_strings() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["${schema.spec.n}"]}]}
    reference = {"apiVersion": "v1", "kind": "Secret", "metadata": {"selector": selector}}
    body = definition({"id": "all", "externalRef": reference}, spec={"n": "integer"})
    (problem,) = compiled(body).problems
    assert problem.path == "spec.resources[0].externalRef.metadata.selector.matchExpressions[0].values[0]"
    assert 'returns type "int" but expected "string"' in problem.message


def test_additions_are_optional_and_kept() -> None:
    graph = graph_of(definition(config("a"), config("b", deletionPolicy="Orphan", dependsOn=["a"])))
    assert [node.node.orphaned for node in graph.nodes.values()] == [False, True]
    assert graph.dependencies["b"] == ("a",)


@pytest.mark.parametrize(
    ("field", "expression"),
    [
        ("replicas", "${schema.spec.n}"),
        ("replicas", "${schema.spec.?n}"),
        ("replicas", "${dyn('3')}"),
        ("replicas", "${size(schema.spec.l)}"),
        ("ratio", "${schema.spec.f}"),
        ("paused", "${schema.spec.n > 1}"),
        ("port", "${schema.spec.n}"),
        ("port", "${schema.spec.s}"),
        ("args", "${schema.spec.l.map(x, x + '!')}"),
        ("args", "${[schema.spec.s]}"),
        ("labels", "${schema.spec.m}"),
        ("labels", "${{'a': schema.spec.s}}"),
        ("owner", "${schema.spec.owner}"),
        ("owner", "${schema.spec.m}"),
        ("owner", "${{'name': schema.spec.s}}"),
        ("labels", "${schema.spec.owner}"),
        ("anything", "${schema.spec.o}"),
        ("owner", "${schema.spec.o}"),
    ],
)
def test_types_that_fit_are_accepted(field: str, expression: str) -> None:
    spec: JsonObject = {
        "n": "integer",
        "f": "float",
        "s": "string",
        "l": "[]string",
        "m": "map[string]string",
        "o": "object",
        "owner": {"name": "string"},
    }
    graph_of(definition(workload("p", {field: expression}), spec=spec))


def test_expressions_within_free_fields_are_found() -> None:
    graph = graph_of(
        definition(workload("p", {"anything": {"deep": [{"x": "${schema.metadata.name}"}], "n": 5}}))
    )
    assert [one.variable.path for one in graph.nodes["p"].variables] == ["spec.anything.deep[0].x"]


def test_keys_with_dots_are_spelled_in_brackets() -> None:
    resource = config("a")
    resource["template"]["data"] = {"a.b/c": "${schema.metadata.name}"}
    graph = graph_of(definition(resource))
    assert graph.nodes["a"].variables[0].variable.path == 'data["a.b/c"]'


def test_words_of_the_language_are_fields() -> None:
    graph_of(
        definition(
            config("a", value="${schema.metadata.namespace}"),
            config("b", value="${schema.spec.package + schema.spec.for}"),
            spec={"package": "string", "for": "string"},
        )
    )


@pytest.mark.parametrize(
    "condition",
    [
        "${p.status.ready == p.spec.replicas}",
        "${p.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')}",
        "${p.?status.?ready.hasValue()}",
        "${has(p.status) ? optional.of(true) : optional.none()}",
        "${p.spec.anything.ready}",
    ],
)
def test_conditions_are_of_type_bool_or_optional_bool(condition: str) -> None:
    graph_of(definition(workload("p", readyWhen=[condition])))


def test_collection_is_judged_by_each_of_its_objects() -> None:
    graph_of(
        definition(
            _named(
                workload("p", forEach=[{"x": "${schema.spec.l}"}], readyWhen=["${each.status.ready > 0}"]),
                "${x}",
            ),
            spec=LIST,
        )
    )


def test_iterators_have_the_type_of_the_elements() -> None:
    resource = _named(
        workload("p", {"replicas": "${s.n}"}, forEach=[{"s": "${schema.spec.sizes}"}]), "${s.name}"
    )
    spec = {"sizes": "[]Size"}
    types = {"Size": {"name": "string", "n": "integer"}}
    graph_of(definition(resource, spec=spec, types=types))
    wrong = {"Size": {"name": "string", "n": "string"}}
    (problem,) = compiled(definition(resource, spec=spec, types=wrong)).problems
    assert 'returns type "string" but expected "int"' in problem.message


def test_iterators_may_be_part_of_the_namespace() -> None:
    graph_of(definition(_named(config("a", forEach=[{"x": "${['1']}"}]), "a", namespace="ns-${x}")))


def test_fields_may_be_left_out_where_it_is_allowed() -> None:
    body = definition(config("a", value="${schema.spec.on ? 'x' : omit()}"), spec={"on": "boolean"})
    graph_of(body, Options(omit_allowed=True))


def test_bytes_do_not_fit_where_text_is_expected() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    there = {"id": "s", "externalRef": secret}
    graph_of(definition(there, config("a", value="${string(s.data.password)}")))
    (problem,) = compiled(definition(there, config("a", value="${s.data.password}"))).problems
    assert 'returns type "bytes" but expected "string"' in problem.message


def test_definition_without_resources_is_a_graph() -> None:
    graph = graph_of(definition(spec={"a": "string"}))
    assert graph.order == []
    assert graph.apply_orders == {}


def test_random_graphs_compile_to_their_dependencies() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        names = [f"n{number}" for number in range(chance.randrange(1, 50))]
        edges = {
            name: sorted(chance.sample(names[:place], min(place, chance.randrange(4))))
            for place, name in enumerate(names)
        }
        chance.shuffle(names)
        resources = [_reading(name, edges[name], chance) for name in names]
        found = compiled(definition(*resources))
        assert found.problems == [], seed
        assert found.dependencies == {name: edges[name] for name in names}, seed


def _reading(name: str, needed: list[str], chance: random.Random) -> JsonObject:
    """A resource that needs others in one way or another."""
    resource: dict[str, Any] = config(name)
    for one in needed:
        match chance.randrange(4):
            case 0:
                resource["template"]["data"][one] = f"${{{one}.data.key}}"
            case 1:
                resource["template"]["data"][one] = f"x-${{{one}.metadata.name}}-y"
            case 2:
                resource.setdefault("includeWhen", []).append(f"${{{one}.data.key != ''}}")
            case _:
                resource.setdefault("dependsOn", []).append(one)
    return resource


def test_template_that_is_too_deep_or_too_large_is_rejected() -> None:
    deep: Any = "${schema.metadata.name}"
    for _ in range(5_000):
        deep = [deep]
    wide: Any = ["x"]
    for _ in range(40):
        wide = [wide, wide]
    for value, complaint in ((deep, "the object is nested too deeply"), (wide, "the object is too large")):
        (problem,) = compiled(definition(workload("p", {"anything": value}))).problems
        assert complaint in problem.message
        assert problem.path.startswith("spec.resources[0].template.spec.anything[0]")
        (problem,) = compiled(definition(status={"a": value})).problems
        assert complaint in problem.message
