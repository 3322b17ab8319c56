"""The built-in kinds as a whole: names, schemas, fields, the Gateway API."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import check_structural
from kubesim.plane.kinds import builtin_resources, definitions, gateway_crds
from kubesim.plane.kinds.catalogue import ROWS
from kubesim.plane.kinds.fields import field_text
from kubesim.plane.resource import Resource

RECORDED = msgspec.json.decode((Path(__file__).parent / "builtin" / "accepted.json").read_bytes())
REVIEWS = {one.kind for one in ROWS if one.verbs == ("create",)}

every_resource = pytest.mark.parametrize(
    "resource", builtin_resources(), ids=lambda one: f"{one.qualified_plural}-{one.version}"
)


def test_no_two_resources_share_a_place() -> None:
    places = Counter((one.group, one.version, one.plural) for one in builtin_resources())
    assert places.most_common(1)[0][1] == 1


def test_short_names_are_unambiguous() -> None:
    owners: dict[str, set[str]] = {}
    for one in builtin_resources():
        for short in one.short_names:
            owners.setdefault(short, set()).add(one.plural)
    assert all(len(plurals) == 1 for plurals in owners.values())


@every_resource
def test_schema_is_that_of_the_kind(resource: Resource) -> None:
    [kind] = resource.schema.source["x-kubernetes-group-version-kind"]
    assert kind == {"group": resource.group, "version": resource.version, "kind": resource.kind}


@every_resource
def test_every_stored_kind_was_recorded(resource: Resource) -> None:
    if resource.kind in REVIEWS or resource.kind == "PersistentVolumeClaim":
        # Reviews are answered and forgotten; claims carry a finalizer that only a controller removes.
        return
    assert any(
        (one["sent"]["apiVersion"], one["sent"]["kind"]) == (resource.api_version, resource.kind)
        for one in RECORDED
    )


@every_resource
def test_unknown_fields_are_pruned_and_named(resource: Resource) -> None:
    tree: JsonObject = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "x", "nmae": "y"},
        "sepc": {},
    }
    assert sorted(resource.schema.prune(tree)) == ["metadata.nmae", "sepc"]
    assert tree == {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}}


@every_resource
def test_columns_of_an_empty_object_can_be_shown(resource: Resource) -> None:
    tree: JsonObject = {"metadata": {"name": "x"}}
    resource.schema.default(tree)
    assert "Name" in [column.name for column in resource.columns]
    for column in resource.columns:
        column.cell(tree)


def test_references_between_definitions_lead_somewhere() -> None:
    known = definitions()
    for name, schema in known.items():
        for reference in _references(schema):
            assert reference in known, name


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"].removeprefix("#/definitions/")] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    if isinstance(node, list):
        return [found for value in node for found in _references(value)]
    return []


def test_definitions_carry_no_prose() -> None:
    assert not any("description" in schema for schema in definitions().values())


@pytest.mark.parametrize(
    ("kind", "tree", "path", "text"),
    [
        ("Pod", {"status": {"phase": "Running"}}, "status.phase", "Running"),
        ("Pod", {"spec": {}}, "spec.hostNetwork", "false"),
        ("Pod", {"spec": {"hostNetwork": True}}, "spec.hostNetwork", "true"),
        ("Pod", {"status": {"podIPs": [{"ip": "1.2.3.4"}]}}, "status.podIP", "1.2.3.4"),
        ("Pod", {}, "spec.nodeName", ""),
        ("Job", {}, "status.successful", "0"),
        ("Job", {"status": {"succeeded": 2}}, "status.successful", "2"),
        ("Node", {"spec": {}}, "spec.unschedulable", "false"),
        ("Event", {"source": {"component": "a"}, "reportingComponent": "b"}, "source", "a"),
        ("Event", {"source": {}, "reportingComponent": "b"}, "source", "b"),
        ("ReplicaSet", {"status": {}}, "status.replicas", "0"),
        ("Secret", {"type": "Opaque"}, "type", "Opaque"),
    ],
)
def test_field_selectors_compare_the_text_of_a_field(
    kind: str, tree: JsonObject, path: str, text: str
) -> None:
    assert field_text(kind, tree, path) == text


every_definition = pytest.mark.parametrize(
    "crd", gateway_crds(), ids=lambda crd: crd["spec"]["names"]["kind"]
)


@every_definition
def test_gateway_schema_is_structural(crd: JsonObject) -> None:
    for version in crd["spec"]["versions"]:
        schema, status = version["schema"]["openAPIV3Schema"], "subresources" in version
        assert check_structural(schema, "openAPIV3Schema", status=status) == []


@every_definition
def test_gateway_definition_stores_one_version(crd: JsonObject) -> None:
    assert [one["storage"] for one in crd["spec"]["versions"]].count(True) == 1
    assert crd["metadata"]["name"] == f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"


def test_gateway_kinds_come_in_the_versions_people_write() -> None:
    served = {
        crd["spec"]["names"]["kind"]: [one["name"] for one in crd["spec"]["versions"]]
        for crd in gateway_crds()
    }
    assert served == {
        "GatewayClass": ["v1", "v1beta1"],
        "Gateway": ["v1", "v1beta1"],
        "HTTPRoute": ["v1", "v1beta1"],
        "ReferenceGrant": ["v1beta1"],
    }


def test_gateway_class_may_describe_itself() -> None:
    [gateway_class] = [crd for crd in gateway_crds() if crd["spec"]["names"]["kind"] == "GatewayClass"]
    schema = gateway_class["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["description"]["type"] == "string"
