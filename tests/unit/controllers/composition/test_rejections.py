"""Each way in which a definition is rejected, in kro's words and with the field that is at fault."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.controllers.composition.graph import Options, read_definition
from edgekeeper.controllers.composition.names import RESERVED
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.core.json import JsonObject
from tests.unit.controllers.composition.cases import (
    compiled,
    config,
    definition,
    from_yaml,
    graph_of,
    problem_of,
    workload,
)

NAMES = "failed to validate resourcegraphdefinition"
EXTERNAL: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there"}}


def _templated(resource: JsonObject, **template: Any) -> JsonObject:
    """A resource with other fields in its template; None takes a field away."""
    changed = {**resource["template"], **template}
    return {**resource, "template": {name: value for name, value in changed.items() if value is not None}}


def _named(resource: JsonObject, **metadata: Any) -> JsonObject:
    return _templated(resource, metadata={**resource["template"]["metadata"], **metadata})


REJECTIONS: dict[str, tuple[JsonObject, str, str]] = {
    "id in another case": (
        definition(config("My-Config")),
        "spec.resources[0].id",
        f"{NAMES}: naming convention violation: id My-Config is not a valid KRO resource id: must be lower camelCase",
    ),
    "id twice": (
        definition(config("a"), config("b"), config("a")),
        "spec.resources[2].id",
        f"{NAMES}: naming convention violation: found duplicate resource IDs a",
    ),
    "kind in another case": (
        definition(kind="webApp"),
        "spec.schema.kind",
        f"{NAMES}: naming convention violation: kind 'webApp' is not a valid KRO kind name: must be UpperCamelCase",
    ),
    "version that is none": (
        definition(apiVersion="kro.run/v1"),
        "spec.schema.apiVersion",
        f"{NAMES}: version kro.run/v1 is not a valid Kubernetes version",
    ),
    "no metadata": (
        definition(_templated(config("a"), metadata=None)),
        "spec.resources[0].template",
        'failed to build resource "a": resource a is not a valid Kubernetes object: metadata field not found',
    ),
    "kind that is no string": (
        definition(_templated(config("a"), kind=5)),
        "spec.resources[0].template",
        'failed to build resource "a": resource a is not a valid Kubernetes object: kind field is not a string',
    ),
    "apiVersion that is none": (
        definition(_templated(config("a"), apiVersion="a/b/c")),
        "spec.resources[0].template.apiVersion",
        'failed to build resource "a": failed to extract GVK from resource a: invalid apiVersion format: a/b/c',
    ),
    "apiVersion that is computed": (
        definition(_templated(config("a"), apiVersion="${schema.spec.v}"), spec={"v": "string"}),
        "spec.resources[0].template.apiVersion",
        (
            'failed to build resource "a": failed to extract GVK from resource a: '
            "invalid apiVersion format: ${schema.spec.v}"
        ),
    ),
    "kind that is computed": (
        definition(_templated(config("a"), kind="${schema.spec.k}"), spec={"k": "string"}),
        "spec.resources[0].template.kind",
        'failed to build resource "a": failed to extract GVK from resource a: invalid kind "${schema.spec.k}"',
    ),
    "neither template nor reference": (
        definition({"id": "a"}),
        "spec.resources[0]",
        (
            'failed to build resource "a": invalid combination of resource fields: '
            'resource "a": exactly one of template or externalRef must be provided'
        ),
    ),
    "template and reference": (
        definition({**config("a"), "externalRef": EXTERNAL}),
        "spec.resources[0]",
        (
            'failed to build resource "a": invalid combination of resource fields: '
            'resource "a": cannot use externalRef with template'
        ),
    ),
    "reference with forEach": (
        definition({"id": "a", "externalRef": EXTERNAL, "forEach": [{"x": "${['1']}"}]}),
        "spec.resources[0]",
        (
            'failed to build resource "a": invalid combination of resource fields: '
            'resource "a": cannot use externalRef with forEach'
        ),
    ),
    "reference to nothing": (
        definition({"id": "a", "externalRef": {**EXTERNAL, "metadata": {}}}),
        "spec.resources[0].externalRef.metadata",
        (
            'failed to build resource "a": invalid external ref metadata for resource a: '
            "exactly one of name or selector must be provided"
        ),
    ),
    "reference by name and selector": (
        definition({"id": "a", "externalRef": {**EXTERNAL, "metadata": {"name": "x", "selector": {}}}}),
        "spec.resources[0].externalRef.metadata",
        (
            'failed to build resource "a": invalid external ref metadata for resource a: '
            "exactly one of name or selector must be provided"
        ),
    ),
    "namespace of a cluster-scoped kind": (
        definition(
            {
                "id": "ns",
                "template": {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": "a", "namespace": "b"},
                },
            }
        ),
        "spec.resources[0].template.metadata.namespace",
        'failed to build resource "ns": resource "ns" is cluster-scoped and must not set metadata.namespace',
    ),
    "no namespace below a cluster-scoped instance": (
        definition(config("a"), scope="Cluster"),
        "spec.resources[0].template.metadata.namespace",
        (
            'failed to build resource "a": resource "a" is namespaced and must set metadata.namespace '
            "when the instance CRD is cluster-scoped"
        ),
    ),
    "label of ours": (
        definition(_named(config("a"), labels={"kro.run/owned": "true"})),
        "spec.resources[0].template.metadata.labels",
        (
            'failed to build resource "a": invalid label for resource "a". '
            'labels with prefix "kro.run/" are reserved for internal use'
        ),
    ),
    "annotation of ours": (
        definition(_named(config("a"), annotations={"internal.kro.run/apply-order": "1"})),
        "spec.resources[0].template.metadata.annotations",
        (
            'failed to build resource "a": invalid annotation for resource "a". '
            'annotations with prefix "internal.kro.run/" are reserved for internal use'
        ),
    ),
    "name that nothing has": (
        definition(config("a", value="${nothing.metadata.name}")),
        "spec.resources[0].template.data.key",
        "failed to build dependency graph: failed to extract dependencies: references unknown identifiers: [nothing]",
    ),
    "each in a template": (
        definition(config("a", value="${each.metadata.name}")),
        "spec.resources[0].template.data.key",
        "failed to build dependency graph: failed to extract dependencies: references unknown identifiers: [each]",
    ),
    "function that nobody has": (
        definition(config("a", value="${frobnicate(schema.metadata.name)}")),
        "spec.resources[0].template.data.key",
        "failed to build dependency graph: failed to extract dependencies: uses unknown functions: [{frobnicate}]",
    ),
    "cycle": (
        definition(
            config("a", value="${b.metadata.name}"),
            config("b", value="${c.metadata.name}"),
            config("c", value="${a.metadata.name}"),
        ),
        "spec.resources",
        "failed to build dependency graph: graph contains a cycle: a -> b -> c -> a",
    ),
    "cycle through includeWhen": (
        definition(
            config("a", value="${b.metadata.name}"),
            config("b", includeWhen=["${a.data.key == 'x'}"]),
        ),
        "spec.resources",
        "failed to build dependency graph: graph contains a cycle: a -> b -> a",
    ),
    "cycle through dependsOn": (
        definition(config("a", value="${b.metadata.name}"), config("b", dependsOn=["a"])),
        "spec.resources",
        "failed to build dependency graph: graph contains a cycle: a -> b -> a",
    ),
    "reference to itself": (
        definition(config("a", value="${a.metadata.name}")),
        "spec.resources[0]",
        "failed to build dependency graph: self references are not allowed",
    ),
    "includeWhen about itself": (
        definition(config("a", includeWhen=["${a.data.key == 'x'}"])),
        "spec.resources[0]",
        "failed to build dependency graph: self references are not allowed",
    ),
    "dependsOn nothing": (
        definition(config("a", dependsOn=["nothing"])),
        "spec.resources[0].dependsOn[0]",
        'failed to build dependency graph: resource "a": dependsOn refers to unknown resource "nothing"',
    ),
    "readyWhen with text around": (
        definition(config("a", readyWhen=["${a.data.key == 'x'}\n"])),
        "spec.resources[0].readyWhen[0]",
        'failed to build resource "a": failed to parse readyWhen expressions: only standalone expressions are allowed',
    ),
    "includeWhen without brackets": (
        definition(config("a", includeWhen=["${true}", "schema.spec.on"])),
        "spec.resources[0].includeWhen[1]",
        (
            'failed to build resource "a": failed to parse includeWhen expressions: '
            "only standalone expressions are allowed"
        ),
    ),
    "forEach without brackets": (
        definition(_named(config("a", forEach=[{"x": "schema.spec.list"}]), name="${x}")),
        "spec.resources[0].forEach[0]",
        (
            'failed to build resource "a": failed to parse forEach dimensions: '
            'invalid forEach expression for dimension "x": only standalone expressions are allowed'
        ),
    ),
    "expression within an expression": (
        definition(config("a", value="${x(${y})}")),
        "spec.resources[0].template.data.key",
        (
            'failed to build resource "a": failed to extract CEL expressions from schema for resource a: '
            "nested expressions are not allowed unless inside string literals"
        ),
    ),
    "expression that cannot be parsed": (
        definition(config("a", value="${schema.spec.}")),
        "spec.resources[0].template.data.key",
        (
            "failed to build dependency graph: failed to extract dependencies: "
            "failed to inspect expression: failed to parse expression: "
        ),
    ),
    "forEach of something else": (
        definition(
            _named(config("a", forEach=[{"x": "${schema.spec.n}"}]), name="${string(x)}"),
            spec={"n": "integer"},
        ),
        "spec.resources[0].forEach[0]",
        'failed to validate resource "a": node "a": forEach iterator "x" must return a list, got "int"',
    ),
    "iterator that refers to another": (
        definition(
            _named(config("a", forEach=[{"x": "${schema.spec.l}"}, {"y": "${[x]}"}]), name="${x}-${y}"),
            spec={"l": "[]string"},
        ),
        "spec.resources[0].forEach[1]",
        (
            'failed to build dependency graph: node "a": forEach iterator "y" cannot reference other iterators [x] - '
            "forEach iterators are independent (cartesian product)"
        ),
    ),
    "iterator that is not part of the name": (
        definition(
            _named(
                config("a", forEach=[{"x": "${schema.spec.l}"}, {"y": "${schema.spec.l}"}], value="${y}"),
                name="a-${x}",
            ),
            spec={"l": "[]string"},
        ),
        "spec.resources[0].template.metadata.name",
        (
            'failed to build dependency graph: node "a": all forEach dimensions must be used to produce a unique '
            "resource identity, missing: [y]"
        ),
    ),
    "iterator that is called like a resource": (
        definition(config("b"), _named(config("a", forEach=[{"b": "${['1']}"}]), name="${b}")),
        "spec.resources[1].forEach[0]",
        f'{NAMES}: resource "a": forEach iterator name "b" conflicts with resource ID',
    ),
    "iterator twice": (
        definition(_named(config("a", forEach=[{"x": "${['1']}"}, {"x": "${['1']}"}]), name="${x}")),
        "spec.resources[0].forEach[1]",
        f'{NAMES}: resource "a": duplicate forEach iterator name "x"',
    ),
    "iterator with a reserved name": (
        definition(config("a", forEach=[{"item": "${['1']}"}])),
        "spec.resources[0].forEach[0]",
        f'{NAMES}: resource "a": forEach iterator name "item" is a reserved keyword',
    ),
    "iterator in another case": (
        definition(config("a", forEach=[{"My_x": "${['1']}"}])),
        "spec.resources[0].forEach[0]",
        f'{NAMES}: resource "a": forEach iterator name "My_x" is not valid: must be lowerCamelCase',
    ),
    "too many iterators": (
        definition(config("a", forEach=[{f"x{number}": "${['1']}"} for number in range(11)])),
        "spec.resources[0].forEach",
        f'{NAMES}: resource "a": forEach cannot have more than 10 dimensions, got 11',
    ),
    "readyWhen about others": (
        definition(config("a"), workload("p", readyWhen=["${a.data.key == 'x'}"])),
        "spec.resources[1].readyWhen[0]",
        'failed to validate resource "p": resource "p" readyWhen: references unknown identifiers: [a]',
    ),
    "readyWhen about the instance": (
        definition(workload("p", readyWhen=["${schema.spec.on}"]), spec={"on": "boolean"}),
        "spec.resources[0].readyWhen[0]",
        'failed to validate resource "p": resource "p" readyWhen: references unknown identifiers: [schema]',
    ),
    "readyWhen of a collection about all of it": (
        definition(
            _named(workload("p", forEach=[{"x": "${['1']}"}], readyWhen=["${size(p) > 0}"]), name="${x}")
        ),
        "spec.resources[0].readyWhen[0]",
        'failed to validate resource "p": resource "p" readyWhen: references unknown identifiers: [p]',
    ),
    "readyWhen that is no condition": (
        definition(workload("p", readyWhen=["${p.status.ready}"])),
        "spec.resources[0].readyWhen[0]",
        (
            'failed to validate resource "p": readyWhen expression "p.status.ready" in resource "p" '
            'must return bool or optional_type(bool), but returns "int"'
        ),
    ),
    "includeWhen that is no condition": (
        definition(config("a", includeWhen=["${schema.spec.mode}"]), spec={"mode": "string"}),
        "spec.resources[0].includeWhen[0]",
        (
            'failed to validate resource "a": includeWhen expression "schema.spec.mode" in resource "a" '
            'must return bool or optional_type(bool), but returns "string"'
        ),
    ),
    "field that the instance does not have": (
        definition(config("a", value="${schema.spec.nmae}"), spec={"name": "string"}),
        "spec.resources[0].template.data.key",
        (
            'failed to validate resource "a": failed to compile template expression "schema.spec.nmae" '
            "at path \"data.key\": undefined field 'nmae'"
        ),
    ),
    "status of the instance": (
        definition(config("a", value="${schema.status.state}")),
        "spec.resources[0].template.data.key",
        (
            'failed to validate resource "a": failed to compile template expression "schema.status.state" '
            "at path \"data.key\": undefined field 'status'"
        ),
    ),
    "namespace of a cluster-scoped instance": (
        definition(_named(config("a", value="x"), namespace="${schema.metadata.namespace}"), scope="Cluster"),
        "spec.resources[0].template.metadata.namespace",
        (
            'failed to validate resource "a": failed to compile template expression "schema.metadata.namespace" '
            "at path \"metadata.namespace\": undefined field 'namespace'"
        ),
    ),
    "field that a kind does not have": (
        definition(workload("p"), config("a", value="${p.status.redy}")),
        "spec.resources[1].template.data.key",
        (
            'failed to validate resource "a": failed to compile template expression "p.status.redy" '
            "at path \"data.key\": undefined field 'redy'"
        ),
    ),
    "field of a scalar": (
        definition(workload("p"), config("a", value="${p.status.ready.count}")),
        "spec.resources[1].template.data.key",
        (
            'failed to validate resource "a": failed to compile template expression "p.status.ready.count" '
            "at path \"data.key\": type 'int' does not support field selection"
        ),
    ),
    "collection as if it were one object": (
        definition(
            _named(config("c", forEach=[{"x": "${['1']}"}]), name="${x}"),
            config("a", value="${c.metadata.name}"),
        ),
        "spec.resources[1].template.data.key",
        (
            'failed to validate resource "a": failed to compile template expression "c.metadata.name" '
            "at path \"data.key\": type 'list(__type_c)' does not support field selection"
        ),
    ),
    "number in a template": (
        definition(config("a", value="n-${schema.spec.n}"), spec={"n": "integer"}),
        "spec.resources[0].template.data.key",
        (
            'failed to validate resource "a": failed to compile template expression "n-${schema.spec.n}" '
            "at path \"data.key\": found no matching overload for '_+_' applied to '(string, int)'"
        ),
    ),
    "string for a number": (
        definition(workload("p", {"replicas": "${schema.spec.name}"}), spec={"name": "string"}),
        "spec.resources[0].template.spec.replicas",
        (
            'failed to validate resource "p": type mismatch in resource "p" at path "spec.replicas": '
            'expression "schema.spec.name" returns type "string" but expected "int": '
            'type kind mismatch: got "string", expected "int"'
        ),
    ),
    "object with too much": (
        definition(
            workload("p", {"owner": "${schema.spec.owner}"}),
            spec={"owner": {"name": "string", "mail": "string"}},
        ),
        "spec.resources[0].template.spec.owner",
        (
            'failed to validate resource "p": type mismatch in resource "p" at path "spec.owner": '
            'expression "schema.spec.owner" returns type "__type_schema.spec.owner" but expected "__type_p.spec.owner": '
            'field "mail" exists in output but not in expected type'
        ),
    ),
    "list of something else": (
        definition(workload("p", {"args": "${schema.spec.ports}"}), spec={"ports": "[]integer"}),
        "spec.resources[0].template.spec.args",
        (
            'failed to validate resource "p": type mismatch in resource "p" at path "spec.args": '
            'expression "schema.spec.ports" returns type "list(int)" but expected "list(string)": '
            'list element type incompatible: type kind mismatch: got "int", expected "string"'
        ),
    ),
    "text for a list": (
        definition(workload("p", {"args": "one"})),
        "spec.resources[0].template.spec.args",
        (
            'failed to build resource "p": failed to extract CEL expressions from schema for resource p: '
            "expected array type for path spec.args, got string"
        ),
    ),
    "template for a number": (
        definition(workload("p", {"replicas": "1${schema.spec.name}"}), spec={"name": "string"}),
        "spec.resources[0].template.spec.replicas",
        (
            'failed to build resource "p": failed to extract CEL expressions from schema for resource p: '
            "expected integer type for path spec.replicas, got string"
        ),
    ),
    "number for a boolean": (
        definition(workload("p", {"paused": 1})),
        "spec.resources[0].template.spec.paused",
        (
            'failed to build resource "p": failed to extract CEL expressions from schema for resource p: '
            "expected boolean type for path spec.paused, got integer"
        ),
    ),
    "object for a string": (
        definition(_templated(config("a"), data={"key": {"a": "b"}})),
        "spec.resources[0].template.data.key",
        (
            'failed to build resource "a": failed to extract CEL expressions from schema for resource a: '
            "expected string type for path data.key, got object"
        ),
    ),
    "list for an object": (
        definition(workload("p", {"labels": ["a"]})),
        "spec.resources[0].template.spec.labels",
        (
            'failed to build resource "p": failed to extract CEL expressions from schema for resource p: '
            "expected object type for path spec.labels, got array"
        ),
    ),
    "field that the kind does not have": (
        definition(workload("p", {"owner": {"name": "x", "mail": "y"}})),
        "spec.resources[0].template.spec.owner.mail",
        (
            'failed to build resource "p": failed to extract CEL expressions from schema for resource p: '
            "error getting field schema for path spec.owner.mail: schema not found for field mail"
        ),
    ),
    "expression in a CustomResourceDefinition": (
        definition(
            {
                "id": "crd",
                "template": {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": {"name": "${schema.metadata.name}"},
                    "spec": {"group": "${schema.spec.group}"},
                },
            },
            spec={"group": "string"},
        ),
        "spec.resources[0].template.spec.group",
        (
            'failed to build resource "crd": CEL expressions in CRDs are only supported for metadata fields, '
            'found in path "spec.group", resource crd'
        ),
    ),
    "status without an expression": (
        definition(status={"a": {"b": "text", "c": 5}}),
        "spec.schema.status.a.b",
        "failed to build instance status schema: status fields without expressions are not supported: [a.b a.c]",
    ),
    "status about nothing": (
        definition(status={"a": "${1 + 1}"}),
        "spec.schema.status.a",
        "failed to create instance node: instance status field must refer to a resource or schema: status.a",
    ),
    "status about somebody else": (
        definition(status={"a": "${nothing.status.x}"}),
        "spec.schema.status.a",
        (
            'failed to build instance status schema: status field "a" expression "nothing.status.x": '
            "references unknown identifiers: [nothing]"
        ),
    ),
    "status that reads what is not there": (
        definition(workload("p"), status={"a": ["${p.status.redy}"]}),
        "spec.schema.status.a[0]",
        (
            'failed to build instance status schema: failed to type-check status expression "p.status.redy" '
            "at path \"a[0]\": undefined field 'redy'"
        ),
    ),
    "schema that is none": (
        definition(spec={"a": {"b": "strnig"}}),
        "spec.schema.spec.a.b",
        "failed to build OpenAPI schema for instance: field a: field b: unknown type: strnig",
    ),
    "type that is none": (
        definition(types={"Port": "intger"}),
        "spec.schema.types.Port",
        "failed to build OpenAPI schema for instance: building schema for Port: unknown type: intger",
    ),
    "runtime in a template": (
        definition(config("a", value="${runtime.condition(schema, 'Ready').status}")),
        "spec.resources[0].template.data.key",
        (
            "failed to build dependency graph: failed to extract dependencies: "
            "runtime is only available in status.conditions expressions"
        ),
    ),
    "omit without the gate": (
        definition(config("a", value="${omit()}")),
        "spec.resources[0].template.data.key",
        (
            "failed to build dependency graph: failed to extract dependencies: "
            "omit() requires the CELOmitFunction feature gate to be enabled"
        ),
    ),
    "omit in includeWhen": (
        definition(config("a", includeWhen=["${omit()}"])),
        "spec.resources[0].includeWhen[0]",
        (
            "failed to build dependency graph: failed to extract dependencies from includeWhen: "
            "omit() can only be used in resource template expressions"
        ),
    ),
    "omit in readyWhen": (
        definition(config("a", readyWhen=["${omit()}"])),
        "spec.resources[0].readyWhen[0]",
        (
            'failed to validate resource "a": resource "a" readyWhen: '
            "omit() can only be used in resource template expressions"
        ),
    ),
    "omit in forEach": (
        definition(_named(config("a", forEach=[{"x": "${omit()}"}]), name="${x}")),
        "spec.resources[0].forEach[0]",
        (
            'failed to build dependency graph: node "a": forEach iterator "x": '
            "omit() can only be used in resource template expressions"
        ),
    ),
}


@pytest.mark.parametrize(("body", "path", "message"), REJECTIONS.values(), ids=REJECTIONS.keys())
def test_definition_is_rejected_with_kros_words_and_the_path(
    body: JsonObject, path: str, message: str
) -> None:
    found_path, found = problem_of(body)
    assert found_path == path
    assert found == message or (message.endswith(": ") and found.startswith(message))


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_words_are_no_ids(name: str) -> None:
    path, message = problem_of(definition(config(name)))
    assert path == "spec.resources[0].id"
    assert message == f"{NAMES}: naming convention violation: id {name} is a reserved keyword in KRO"


def test_kind_that_nobody_serves_is_rejected_where_kinds_must_be_known() -> None:
    body = definition(_templated(config("a"), kind="Unheard"))
    path, message = problem_of(body, Options(kinds_must_be_known=True))
    assert path == "spec.resources[0].template"
    assert message == (
        'failed to build resource "a": failed to get schema for resource a: schema not found: v1 Unheard'
    )


def test_kind_without_a_schema_is_dynamic_and_said_so() -> None:
    body = definition(
        _templated(config("a"), kind="Unheard", spec={"any": 5}),
        config("b", value="${a.spec.whatever[0].it.is}"),
    )
    found = compiled(body)
    assert found.graph is not None
    assert [(one.path, one.message) for one in found.warnings] == [
        (
            "spec.resources[0]",
            'no schema of v1 Unheard is known: fields of resource "a" are not checked',
        )
    ]


@pytest.mark.parametrize("field", ["name", "namespace"])
def test_omit_may_not_take_an_object_its_name(field: str) -> None:
    body = definition(_named(config("a"), **{field: "${omit()}"}))
    path, message = problem_of(body, Options(omit_allowed=True))
    assert path == f"spec.resources[0].template.metadata.{field}"
    assert f'omit() cannot be used at path "metadata.{field}"' in message


def test_problems_of_one_resource_do_not_hide_those_of_another() -> None:
    body = definition(
        config("a", value="${nothing.x}"),
        workload("p", {"replicas": "${schema.spec.name}"}),
        _templated(config("c"), metadata=None),
        config("d", value="${p.status.redy}"),
        config("e", value="${c.data.key}"),
        spec={"name": "string", "bad": "text"},
        status={"x": "${p.status.nope}"},
    )
    assert [problem.path for problem in compiled(body).problems] == [
        "spec.schema.spec.bad",
        "spec.resources[2].template",
        "spec.resources[0].template.data.key",
        "spec.resources[3].template.data.key",
        "spec.schema.status.x",
    ]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ("spec: 5", "spec"),
        ("spec: {}", "spec"),
        ("spec: {schema: text}", "spec.schema"),
        ("spec: {schema: {kind: App, apiVersion: v1}, resources: 5}", "spec.resources"),
        ("spec: {schema: {kind: App, apiVersion: v1}, resources: {a: b}}", "spec.resources"),
        ("spec: {schema: {kind: App}}", "spec.schema"),
        ("spec: {schema: {kind: App, apiVersion: 5}}", "spec.schema.apiVersion"),
        ("spec: {schema: {kind: App, apiVersion: v1, scope: Galaxy}}", "spec.schema.scope"),
        ("spec: {schema: {kind: App, apiVersion: v1, spec: text}}", "spec.schema.spec"),
        ("spec: {schema: {kind: App, apiVersion: v1}, resources: [5]}", "spec.resources[0]"),
        ("spec: {schema: {kind: App, apiVersion: v1}, resources: [{id: a, forEach: [5]}]}",
         "spec.resources[0].forEach[0]"),
        ("spec: {schema: {kind: App, apiVersion: v1}, resources: [{id: a, deletionPolicy: Burn}]}",
         "spec.resources[0].deletionPolicy"),
    ],
)  # fmt: skip
def test_field_of_another_type_is_refused_with_its_path(change: str, path: str) -> None:
    with pytest.raises(RejectedError) as refused:
        read_definition(from_yaml(change))
    assert refused.value.path == path


def test_fields_that_are_null_are_not_there() -> None:
    body = from_yaml("""
        spec:
          schema: {kind: App, apiVersion: v1, spec: null, status: null, types: null, group: null}
          resources: [{id: a, readyWhen: null, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]
    """)
    graph = graph_of(body)
    assert graph.definition["metadata"]["name"] == "apps.kro.run"
