"""Other shapes of the same objects: tables for people, metadata alone for caches, and what cannot be had."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define, version
from tests.conformance.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    SECRETS,
    SERVICES,
    Kind,
    config_map,
    deployment,
    service,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def column_names(table: JsonObject, *, wide: bool = False) -> list[str]:
    columns = table["columnDefinitions"]
    return [column["name"] for column in columns if wide or column["priority"] == 0]


async def test_list_as_table_has_a_row_per_object(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one", a="1", b="2"))
    answer = await api.get(CONFIG_MAPS.path(namespace), accept=TABLE)
    table = answer.expect(200)
    assert answer.content_type == "application/json"
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"]["resourceVersion"]
    assert column_names(table) == ["Name", "Data", "Age"]
    row = next(row for row in table["rows"] if row["cells"][0] == "one")
    assert row["cells"][1] == 2
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "one"


async def test_one_object_as_table_is_one_row(api: Client, namespace: str) -> None:
    await api.create(SECRETS.path(namespace), SECRETS.new("one", stringData={"key": "value"}))
    table = (await api.get(SECRETS.path(namespace, "one"), accept=TABLE)).expect(200)
    assert column_names(table) == ["Name", "Type", "Data", "Age"]
    ((name, kind, count, _),) = [row["cells"] for row in table["rows"]]
    assert (name, kind, count) == ("one", "Opaque", 1)


@pytest.mark.parametrize(
    ("include", "kind"), [("None", None), ("Metadata", "PartialObjectMetadata"), ("Object", "ConfigMap")]
)
async def test_table_rows_carry_as_much_of_the_object_as_asked(
    api: Client, namespace: str, include: str, kind: str | None
) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    table = (await api.get(CONFIG_MAPS.path(namespace, "one"), accept=TABLE, includeObject=include)).expect(
        200
    )
    carried = table["rows"][0].get("object")
    assert (carried["kind"] if carried else None) == kind


async def test_table_columns_beyond_the_narrow_form_have_a_priority(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment(replicas=2))
    table = (await api.get(DEPLOYMENTS.path(namespace), accept=TABLE)).expect(200)
    assert column_names(table) == ["Name", "Ready", "Up-to-date", "Available", "Age"]
    assert column_names(table, wide=True)[5:] == ["Containers", "Images", "Selector"]
    assert table["rows"][0]["cells"][1] == "0/2"
    assert table["rows"][0]["cells"][5:] == ["main", "example/web:1", "app=web"]


async def test_service_table_shows_addresses_and_ports(api: Client, namespace: str) -> None:
    await api.create(SERVICES.path(namespace), service(clusterIP="None"))
    table = (await api.get(SERVICES.path(namespace), accept=TABLE)).expect(200)
    assert column_names(table) == ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"]
    assert table["rows"][0]["cells"][:5] == ["web", "ClusterIP", "None", "<none>", "80/TCP"]


async def test_namespace_table_shows_the_phase(api: Client, namespace: str) -> None:
    table = (await api.get(NAMESPACES.path(name=namespace), accept=TABLE)).expect(200)
    assert column_names(table) == ["Name", "Status", "Age"]
    assert table["rows"][0]["cells"][:2] == [namespace, "Active"]


async def test_kubectl_may_accept_a_table_or_plain_json(api: Client, namespace: str) -> None:
    accept = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
    assert (await api.get(CONFIG_MAPS.path(namespace), accept=accept)).expect(200)["kind"] == "Table"


async def test_custom_columns_come_from_the_definition(api: Client, namespace: str) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large"},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    kind = await define(api, version(additionalPrinterColumns=columns))
    await api.create(kind.path(namespace), kind.new("one", spec={"size": 3}))
    table = (await api.get(kind.path(namespace), accept=TABLE)).expect(200)
    assert column_names(table) == ["Name", "Size", "Age"]
    assert column_names(table, wide=True) == ["Name", "Size", "Colour", "Age"]
    name, size, colour, age = table["rows"][0]["cells"]
    assert (name, size, colour) == ("one", 3, None)
    assert age.endswith("s")


async def test_custom_kind_without_columns_shows_its_age(api: Client, namespace: str) -> None:
    kind = await define(api)
    table = (await api.get(kind.path(namespace), accept=TABLE)).expect(200)
    assert column_names(table) == ["Name", "Age"]
    assert table["rows"] == []


async def test_metadata_alone_can_be_had_of_one_object(api: Client, namespace: str) -> None:
    full = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    answer = await api.get(CONFIG_MAPS.path(namespace, "one"), accept=METADATA)
    assert answer.expect(200) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": full["metadata"],
    }


async def test_metadata_alone_can_be_had_of_a_list(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    body = (await api.get(CONFIG_MAPS.path(namespace), accept=METADATA_LIST)).expect(200)
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert body["metadata"]["resourceVersion"]
    assert {item["metadata"]["name"] for item in body["items"]} >= {"one"}
    assert all("data" not in item for item in body["items"])


async def test_metadata_alone_can_be_watched(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    async with api.watch(CONFIG_MAPS.path(namespace), accept=METADATA) as watch:
        event = await watch.until(lambda event: event["object"]["metadata"]["name"] == "one")
    assert event["type"] == "ADDED"
    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in event["object"]


async def test_write_can_answer_with_metadata_alone(api: Client, namespace: str) -> None:
    answer = await api.request("POST", CONFIG_MAPS.path(namespace), config_map("one"), accept=METADATA)
    assert answer.expect(201)["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize("accept", ["text/plain", "application/xml", "image/png"])
async def test_unknown_representation_is_not_acceptable(api: Client, namespace: str, accept: str) -> None:
    status = (await api.get(CONFIG_MAPS.path(namespace), accept=accept)).refuse(406, "NotAcceptable")
    assert "application/json, application/yaml" in status["message"]


async def test_unknown_transformation_is_not_acceptable(api: Client, namespace: str) -> None:
    accept = "application/json;as=Poster;v=v1;g=meta.k8s.io"
    status = (await api.get(CONFIG_MAPS.path(namespace), accept=accept)).refuse(406, "NotAcceptable")
    assert status["message"].startswith(
        "only the following media types are accepted: application/json, application/yaml"
    )


@pytest.mark.parametrize("accept", ["*/*", "text/html,application/json;q=0.9"])
async def test_general_wishes_are_met_with_json(api: Client, namespace: str, accept: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace), accept=accept)
    assert answer.content_type == "application/json"
    assert answer.expect(200)["kind"] == "ConfigMapList"


async def test_objects_can_be_had_as_yaml(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    answer = await api.get(CONFIG_MAPS.path(namespace, "one"), accept="application/yaml")
    assert (answer.status, answer.content_type) == (200, "application/yaml")
    assert "\nkind: ConfigMap\n" in f"\n{answer.text}"
    assert "\n  colour: green\n" in answer.text


async def test_pretty_json_is_indented(api: Client, namespace: str) -> None:
    path = NAMESPACES.path(name=namespace)
    assert (await api.get(path, pretty="true")).text.startswith('{\n  "kind": "Namespace",\n')
    assert (await api.get(path)).text.startswith('{"kind":"Namespace","apiVersion":"v1",')


async def test_list_is_of_the_kind_that_the_definition_names(api: Client, namespace: str) -> None:
    kind: Kind = await define(api, names={"listKind": "WidgetCollection"})
    body = (await api.get(kind.path(namespace))).expect(200)
    assert (body["kind"], body["apiVersion"]) == ("WidgetCollection", kind.api_version)
    assert body["items"] == []
    assert body["metadata"]["continue"] == ""
