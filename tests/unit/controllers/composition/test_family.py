"""Definitions that use each other's kinds, and schemas from CustomResourceDefinitions."""

from __future__ import annotations

from edgekeeper.api.composition import DefinitionSpec
from edgekeeper.controllers.composition.family import Family
from edgekeeper.controllers.composition.graph import compile_definition, read_definition
from edgekeeper.controllers.composition.schemas import FirstOf, KindSchema, KnownSchemas
from edgekeeper.core.json import JsonObject
from tests.unit.controllers.composition.cases import KNOWN, config, definition, workload


def _use(kind: str, name: str, spec: JsonObject) -> JsonObject:
    template = {"apiVersion": "kro.run/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    return {"id": name, "template": template}


def _specs(*bodies: JsonObject) -> list[DefinitionSpec]:
    return [read_definition(body) for body in bodies]


INNER = definition(
    workload("p"), kind="Inner", spec={"n": "integer | default=1"}, status={"ready": "${p.status.ready}"}
)


def test_kind_of_another_definition_is_known_by_its_schema() -> None:
    outer, inner = _specs(
        definition(
            _use("Inner", "one", {"n": "${schema.spec.n}"}),
            workload("q", {"replicas": "${one.status.ready}"}),
            kind="Outer",
            spec={"n": "integer"},
        ),
        INNER,
    )
    found = Family([outer, inner], KNOWN).compile(outer)
    assert found.problems == []
    assert found.warnings == []


def test_mistakes_about_a_kind_of_another_definition_are_found() -> None:
    outer, inner = _specs(
        definition(_use("Inner", "one", {"n": "text", "m": 1}), config("c", value="${one.status.redy}"), kind="Outer"),
        INNER,
    )  # fmt: skip
    messages = [problem.message for problem in Family([outer, inner], KNOWN).compile(outer).problems]
    assert "expected integer type for path spec.n, got string" in messages[0]
    fields = _specs(
        definition(_use("Inner", "one", {}), config("c", value="${one.status.redy}"), kind="Outer")
    )
    (problem,) = Family([*fields, inner], KNOWN).compile(fields[0]).problems
    assert "undefined field 'redy'" in problem.message


def test_definitions_in_a_circle_know_each_other_by_name() -> None:
    one, two = _specs(
        definition(_use("Two", "two", {"x": "y"}), kind="One", spec={"x": "string"}),
        definition(_use("One", "one", {"x": "y"}), kind="Two", spec={"x": "string"}),
    )
    family = Family([one, two], KNOWN)
    assert family.compile(one).problems == []
    assert family.compile(two).problems == []


def test_kind_of_a_wrong_definition_is_dynamic() -> None:
    outer, wrong = _specs(
        definition(_use("Inner", "one", {"whatever": 1}), kind="Outer"),
        definition(kind="Inner", spec={"n": "nonsense"}),
    )
    family = Family([outer, wrong], KNOWN)
    assert family.compile(outer).problems == []
    assert family.compile(wrong).graph is None


def test_two_definitions_of_one_kind_are_both_compiled() -> None:
    first, second = _specs(definition(config("a")), definition(config("b")))
    family = Family([first, second], KNOWN)
    assert [family.compile(spec).order for spec in (first, second)] == [["a"], ["b"]]


def _custom(scope: str = "Namespaced") -> JsonObject:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    return {
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "things.example",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": scope,
            "versions": [
                {"name": "v1", "schema": {"openAPIV3Schema": schema}},
                {"name": "v2"},
            ],
        },
    }


def test_custom_kinds_have_the_metadata_of_every_object() -> None:
    known = KnownSchemas()
    known.add_definition(_custom())
    thing = {
        "id": "thing",
        "template": {
            "apiVersion": "things.example/v1",
            "kind": "Thing",
            "metadata": {"name": "t", "labels": {"a": "${schema.metadata.name}"}},
            "spec": {"size": 5},
        },
    }
    body = definition(thing, config("c", value="${thing.metadata.uid + thing.metadata.labels['a']}"))
    found = compile_definition(read_definition(body), FirstOf((known, KNOWN)))
    assert found.problems == []


def test_kind_without_a_schema_and_cluster_scope_are_known_as_such() -> None:
    known = KnownSchemas()
    known.add_definition(_custom("Cluster"))
    assert known.find("things.example/v2", "Thing") == KindSchema(None, namespaced=False, plural="things")
    found = known.find("things.example/v1", "Thing")
    assert found is not None
    assert found.schema is not None
    assert "namespace" not in found.schema["properties"]["metadata"]["properties"]
    assert known.find("things.example/v3", "Thing") is None
