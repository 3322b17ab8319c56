"""The status of instances: its schema follows from the types of expressions; conditions are checked."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.composition.definition import CONDITIONS_SCHEMA
from edgekeeper.core.json import JsonObject
from tests.unit.controllers.composition.cases import config, definition, graph_of, problem_of, workload

NEW = "${{runtime.newCondition({{{}}})}}"


def _status_schema(status: JsonObject, spec: JsonObject | None = None) -> JsonObject:
    graph = graph_of(definition(workload("p"), config("c"), status=status, spec=spec))
    version = graph.definition["spec"]["versions"][0]
    schema: JsonObject = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    return schema


@pytest.mark.parametrize(
    ("expression", "schema"),
    [
        ("${p.status.ready}", {"type": "integer"}),
        ("${p.spec.ratio}", {"type": "number"}),
        ("${p.spec.paused}", {"type": "boolean"}),
        ("${p.metadata.name}", {"type": "string"}),
        ("http://${p.metadata.name}", {"type": "string"}),
        ("${p.status.since}", {"type": "string", "format": "date-time"}),
        ("${bytes(p.metadata.name)}", {"type": "string", "format": "byte"}),
        ("${p.spec.args}", {"type": "array", "items": {"type": "string"}}),
        ("${p.spec.labels}", {"type": "object", "additionalProperties": {"type": "string"}}),
        (
            "${p.spec.owner}",
            {"type": "object", "properties": {"name": {"type": "string"}, "team": {"type": "string"}}},
        ),
        ("${p.spec.anything}",
         {"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": True}),
        ("${p.spec.anything.deep}", {"x-kubernetes-preserve-unknown-fields": True}),
        ("${p.status.?ready}", {"x-kubernetes-preserve-unknown-fields": True}),
        ("${p.spec.port}", {"x-kubernetes-preserve-unknown-fields": True}),
        ("${schema.spec.n}", {"type": "integer"}),
    ],
)  # fmt: skip
def test_schema_of_a_field_follows_from_its_type(expression: str, schema: JsonObject) -> None:
    found = _status_schema({"field": expression}, {"n": "integer"})
    assert found["properties"]["field"] == schema


def test_schema_has_the_shape_of_the_status() -> None:
    found = _status_schema(
        {"a": {"b": "${p.status.ready}", "l": ["${p.metadata.name}", "${c.metadata.name}"]},
         "objects": [{"x": "${p.status.ready}"}, {"y": "${c.metadata.name}"}]}
    )  # fmt: skip
    assert found["properties"]["a"] == {
        "type": "object",
        "properties": {
            "b": {"type": "integer"},
            "l": {"type": "array", "items": {"type": "string"}},
        },
    }
    assert found["properties"]["objects"] == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "string"}},
        },
    }


def test_state_and_conditions_are_always_there() -> None:
    found = _status_schema({"state": "${p.status.ready}"})
    assert found["properties"] == {"conditions": CONDITIONS_SCHEMA, "state": {"type": "string"}}


def test_names_that_cannot_be_written_keep_their_keys() -> None:
    spec = {"outer": {"my-key": "string", "namespace": "string"}}
    found = _status_schema({"copy": "${schema.spec.outer}"}, spec)
    assert set(found["properties"]["copy"]["properties"]) == {"my-key", "namespace"}


def test_custom_conditions_are_compiled_and_no_fields() -> None:
    status = {
        "ready": "${p.status.ready}",
        "conditions": [
            NEW.format("type: 'Up', status: p.status.ready > 0 ? 'True' : 'False', reason: 'R', message: ''"),
            "${runtime.newCondition({type: 'Ready', status: runtime.condition(schema, 'ResourcesReady').status})}",
            "${p.status.conditions.map(c, runtime.newCondition({type: c.type, status: c.status}))}",
        ],
    }
    graph = graph_of(definition(workload("p"), status=status))
    assert len(graph.status.conditions) == 3
    assert [one.variable.path for one in graph.status.variables] == ["ready"]
    up = graph.status.conditions[0].program
    assert up.evaluate({"p": {"status": {"ready": 1}}}) == {
        "type": "Up",
        "status": "True",
        "reason": "R",
        "message": "",
    }


@pytest.mark.parametrize(
    ("conditions", "place", "message"),
    [
        ({"a": 1}, "", "failed to extract conditions block: status.conditions must be a list, got object"),
        ([{"type": "x"}], "[0]",
         "failed to extract conditions block: status.conditions[0] must be a CEL expression string, got object"),
        (["text"], "[0]", "invalid conditions block: only standalone expressions are allowed"),
        ([NEW.format("type: 'A', status: 'True'"), NEW.format("type: 'A', status: 'False'")], "[1]",
         'condition type "A" is declared by more than one conditions entry'),
        ([NEW.format("type: 'A', status: 'Maybe'")], "[0]",
         'runtime.newCondition: status must be one of True, False, Unknown (got "Maybe") in expression '),
        ([NEW.format("type: '', status: 'True'")], "[0]",
         "runtime.newCondition: type must not be empty in expression "),
        ([NEW.format("type: 'A'")], "",
         "failed to inspect expression: failed to parse expression: runtime.newCondition: 'status' is required"),
        ([NEW.format("type: 'A', status: 'True', why: 'x'")], "",
         ("failed to inspect expression: failed to parse expression: "
         'runtime.newCondition: unknown key "why" (allowed: type, status, reason, message)')),
        ([NEW.format("type: 'A', status: runtime.condition(schema, 'Redy').status")], "[0]",
         'runtime.condition(schema, "Redy"): unknown condition type; only kro\'s built-in types '),
        ([NEW.format("type: 'A', status: 'True'"),
          NEW.format("type: 'B', status: runtime.condition(schema, 'A').status")], "[1]",
         'runtime.condition(schema, "A"): custom conditions cannot reference each other in expression '),
        (["${p.status.ready}"], "[0]",
         ('condition "p.status.ready": condition expressions must return runtime.newCondition(...) '
         'or a list of them, got "int"')),
        (["${nothing.x}"], "[0]", 'condition "nothing.x": references unknown identifiers: [nothing]'),
        ([NEW.format("type: 'A', status: p.status.redy")], "[0]", "failed to type-check condition "),
    ],
)  # fmt: skip
def test_conditions_that_are_none_are_rejected(conditions: object, place: str, message: str) -> None:
    path, found = problem_of(definition(workload("p"), status={"conditions": conditions}))
    assert path == f"spec.schema.status.conditions{place}"
    assert found.startswith(f"failed to build instance conditions: {message}")
