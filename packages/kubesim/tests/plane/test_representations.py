"""Objects in the forms that clients ask for: JSON, YAML, tables, metadata alone; and how bodies become objects."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from edgekeeper.core.json import JsonObject
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request, Response
from packages.kubesim.tests.plane.cluster import CONFIG_MAPS, WIDGETS, config_map, define, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture
async def filled(plane: Plane) -> Plane:
    await define(plane)
    for name in "ab":
        await plane.client.create(CONFIG_MAPS, config_map(name, k="v", other="w"))
        await plane.client.create(WIDGETS, widget(name, size=1))
    return plane


async def fetch(plane: Plane, target: str, accept: str = "") -> Response:
    response = await plane.handle(Request.of("GET", target, b"", accept=accept))
    assert response.status == 200, response.body
    return response


@pytest.mark.parametrize("target", [CONFIG_MAPS, WIDGETS, f"{CONFIG_MAPS}/a", f"{WIDGETS}/a"])
async def test_yaml_says_the_same_as_json(filled: Plane, target: str) -> None:
    as_yaml = await fetch(filled, target, "application/yaml")
    assert as_yaml.content_type == "application/yaml"
    from_yaml, from_json = yaml.safe_load(as_yaml.body), (await fetch(filled, target)).json()
    for item in [*from_yaml.get("items", []), *from_json.get("items", [])]:
        item.pop("apiVersion", None)
        item.pop("kind", None)
    from_json["metadata"] = {key: value for key, value in from_json["metadata"].items() if value != ""}
    assert from_yaml == from_json


async def test_list_items_of_built_in_kinds_do_not_repeat_their_kind(filled: Plane) -> None:
    listed = (await fetch(filled, CONFIG_MAPS)).json()
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert all("kind" not in item for item in listed["items"])


async def test_list_items_of_custom_kinds_repeat_their_kind(filled: Plane) -> None:
    listed = (await fetch(filled, WIDGETS)).json()
    assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", "example.com/v1")
    assert {item["kind"] for item in listed["items"]} == {"Widget"}


@pytest.mark.parametrize("target", [CONFIG_MAPS, f"{CONFIG_MAPS}/a"])
async def test_table_has_a_row_for_each_object(filled: Plane, target: str) -> None:
    table = (await fetch(filled, target, TABLE)).json()
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"] == ["a", 2, "0s"]
    assert len(table["rows"]) == (2 if target == CONFIG_MAPS else 1)


@pytest.mark.parametrize(
    ("include", "kind"), [("", "PartialObjectMetadata"), ("Metadata", "PartialObjectMetadata"), ("Object", "ConfigMap"), ("None", None)]
)  # fmt: skip
async def test_rows_carry_as_much_of_the_object_as_asked(
    filled: Plane, include: str, kind: str | None
) -> None:
    query = f"?includeObject={include}" if include else ""
    (row, _) = (await fetch(filled, f"{CONFIG_MAPS}{query}", TABLE)).json()["rows"]
    assert row.get("object", {}).get("kind") == kind


async def test_rows_cannot_carry_anything_else(filled: Plane) -> None:
    response = await filled.handle(Request.of("GET", f"{CONFIG_MAPS}?includeObject=All", b"", accept=TABLE))
    assert response.status == 400


async def test_metadata_alone(filled: Plane) -> None:
    one = (await fetch(filled, f"{CONFIG_MAPS}/a", PARTIAL)).json()
    assert set(one) == {"kind", "apiVersion", "metadata"}
    assert one["metadata"] == (await fetch(filled, f"{CONFIG_MAPS}/a")).json()["metadata"]
    listed = (await fetch(filled, CONFIG_MAPS, PARTIAL_LIST)).json()
    assert listed["kind"] == "PartialObjectMetadataList"
    assert all(set(item) == {"kind", "apiVersion", "metadata"} for item in listed["items"])


async def test_answer_to_a_write_has_the_wanted_form_too(plane: Plane) -> None:
    request = Request.of("POST", CONFIG_MAPS, config_map("a"), accept=TABLE)
    assert (await plane.handle(request)).json()["kind"] == "Table"


async def test_form_that_cannot_be_had_is_refused(plane: Plane) -> None:
    response = await plane.handle(Request.of("GET", CONFIG_MAPS, b"", accept="text/html"))
    assert (response.status, response.json()["reason"]) == (406, "NotAcceptable")


async def post(plane: Plane, body: bytes, validation: str, target: str = CONFIG_MAPS) -> Response:
    return await plane.handle(Request.of("POST", f"{target}?fieldValidation={validation}&dryRun=All", body))


UNKNOWN = msgspec.json.encode({**config_map("x"), "nonsense": 1})
TWICE = b'{"metadata":{"name":"x"},"data":{"k":"1","k":"2"}}'


@pytest.mark.parametrize(
    ("body", "complaint"),
    [(UNKNOWN, 'unknown field "nonsense"'), (TWICE, 'duplicate field "data.k"')],
    ids=["unknown", "duplicate"],
)
async def test_field_validation_decides_on_odd_fields(plane: Plane, body: bytes, complaint: str) -> None:
    refused = await post(plane, body, "Strict")
    assert refused.status == 400
    assert f"strict decoding error: {complaint}" in refused.json()["message"]
    warned = await post(plane, body, "Warn")
    assert (warned.status, warned.warnings) == (201, [complaint])
    silent = await post(plane, body, "Ignore")
    assert (silent.status, silent.warnings) == (201, [])
    assert "nonsense" not in silent.json()
    assert (await post(plane, body, "Perhaps")).status == 422


async def test_unknown_fields_of_custom_kinds_are_pruned(filled: Plane) -> None:
    tree: JsonObject = widget("x", size=1, colour="red")
    tree["metadata"]["nonsense"] = 1
    answer = await post(filled, msgspec.json.encode(tree), "Warn", WIDGETS)
    assert answer.json()["spec"] == {"size": 1}
    assert "nonsense" not in answer.json()["metadata"]
    assert sorted(answer.warnings) == ['unknown field "metadata.nonsense"', 'unknown field "spec.colour"']


async def test_kind_may_be_left_unsaid_for_built_in_kinds_only(filled: Plane) -> None:
    bare: JsonObject = {"metadata": {"name": "x"}}
    assert (await filled.handle(Request.of("POST", CONFIG_MAPS, bare))).status == 201
    refused = await filled.handle(Request.of("POST", WIDGETS, bare))
    assert refused.status == 400
    assert "Object 'Kind' is missing" in refused.json()["message"]


async def test_empty_metadata_leaves_no_trace(plane: Plane) -> None:
    tree = config_map("x")
    tree["metadata"] |= {"labels": {}, "annotations": None, "ownerReferences": [], "finalizers": []}
    stored = await plane.client.create(CONFIG_MAPS, tree)
    assert not {"labels", "annotations", "ownerReferences", "finalizers"} & set(stored["metadata"])
