"""Custom resources in service: from their definition to its end."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request
from packages.kubesim.tests.plane.cluster import (
    DEFINITIONS,
    WIDGETS,
    define,
    definition,
    exists,
    names,
    version,
    widget,
)

PATH = f"{DEFINITIONS}/widgets.example.com"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def conditions(tree: JsonObject) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in dig_list(tree, "status", "conditions")}


async def served(plane: Plane, api_version: str = "v1") -> list[str]:
    response = await plane.handle(Request.of("GET", f"/apis/example.com/{api_version}"))
    return [one["name"] for one in response.json()["resources"]] if response.status == 200 else []


async def table(plane: Plane) -> JsonObject:
    response = await plane.handle(Request.of("GET", WIDGETS, b"", accept=TABLE))
    tree: JsonObject = response.json()
    return tree


async def test_definition_is_established_and_served(plane: Plane) -> None:
    created = await define(plane)
    assert conditions(created) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert await served(plane) == ["widgets", "widgets/status"]
    assert (await plane.client.create(WIDGETS, widget("w", size=1)))["kind"] == "Widget"


async def test_changed_schema_counts_at_once(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w", size=1))
    stricter = version("v1")
    stricter["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]["maximum"] = 5
    await plane.client.merge(PATH, {"spec": {"versions": [stricter]}})
    await plane.settle()
    with pytest.raises(StatusError, match="should be less than or equal to 5"):
        await plane.client.create(WIDGETS, widget("x", size=6))


async def test_versions_come_into_service_and_leave_it(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w", size=1))
    both = [version("v1"), version("v2", storage=False)]
    await plane.client.merge(PATH, {"spec": {"versions": both}})
    await plane.settle()
    other = await plane.client.get(WIDGETS.replace("v1", "v2") + "/w")
    assert (other["apiVersion"], other["spec"]) == ("example.com/v2", {"size": 1})
    await plane.client.merge(PATH, {"spec": {"versions": [version("v1", served=False), both[1]]}})
    await plane.settle()
    assert (await served(plane), await served(plane, "v2")) == ([], ["widgets", "widgets/status"])


async def test_second_definition_of_a_taken_kind_waits_for_it(plane: Plane) -> None:
    await define(plane)
    rival = await define(
        plane, definition("wodgets", names={"plural": "wodgets", "singular": "wodget", "kind": "Widget"})
    )
    assert conditions(rival)["NamesAccepted"] == ("False", "ListKindConflict")
    assert conditions(rival)["Established"] == ("False", "NotAccepted")
    assert "wodgets" not in await served(plane)
    await plane.client.delete(PATH)
    await plane.settle()
    rival = await plane.client.get(f"{DEFINITIONS}/wodgets.example.com")
    assert conditions(rival)["Established"][0] == "True"
    assert "wodgets" in await served(plane)


async def test_taken_short_names_are_refused_to_the_second(plane: Plane) -> None:
    await define(plane, definition(names={"plural": "widgets", "kind": "Widget", "shortNames": ["w", "x"]}))
    taken = {"plural": "wodgets", "kind": "Wodget", "shortNames": ["w", "x", "y"]}
    rival = await define(plane, definition("wodgets", names=taken))
    assert conditions(rival)["NamesAccepted"] == ("False", "ShortNamesConflict")


async def test_deletion_takes_the_instances_first(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w"))
    await plane.client.delete(PATH)
    await plane.settle()
    assert not await exists(plane, PATH)
    assert (await plane.handle(Request.of("GET", WIDGETS))).status == 404
    await define(plane)
    assert names(await plane.client.get(WIDGETS)) == []


async def test_deletion_waits_for_instances_that_are_held(plane: Plane) -> None:
    await define(plane)
    held = widget("w")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await plane.client.create(WIDGETS, held)
    await plane.client.delete(PATH)
    await plane.settle()
    going = await plane.client.get(PATH)
    assert conditions(going)["Terminating"] == ("True", "InstanceDeletionInProgress")
    with pytest.raises(StatusError, match="while custom resource definition is terminating") as refused:
        await plane.client.create(WIDGETS, widget("x"))
    assert refused.value.code == 403
    await plane.client.merge(f"{WIDGETS}/w", {"metadata": {"finalizers": None}})
    await plane.settle()
    assert not await exists(plane, PATH)


async def test_deletion_takes_instances_of_a_resource_that_nobody_serves(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w"))
    await plane.client.merge(PATH, {"spec": {"versions": [version("v1", served=False)]}})
    await plane.settle()
    await plane.client.delete(PATH)
    await plane.settle()
    assert not await exists(plane, PATH)


async def test_cluster_scoped_instances_go_too(plane: Plane) -> None:
    await define(plane, definition(scope="Cluster"))
    await plane.client.create("/apis/example.com/v1/widgets", widget("w"))
    await plane.client.delete(PATH)
    await plane.settle()
    assert not await exists(plane, PATH)


async def test_columns_show_what_their_paths_find(plane: Plane) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Hidden", "type": "string", "jsonPath": ".spec.missing", "priority": 1},
        {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    await define(plane, definition(versions=[version("v1", additionalPrinterColumns=columns)]))
    await plane.client.create(WIDGETS, widget("w", size=3))
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    await plane.client.merge(f"{WIDGETS}/w/status", {"status": status})
    shown = await table(plane)
    assert [one["name"] for one in shown["columnDefinitions"]] == ["Name", "Size", "Ready", "Hidden", "Born"]
    assert shown["rows"][0]["cells"] == ["w", 3, "True", None, "0s"]


async def test_kind_without_columns_shows_its_age(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w"))
    shown = await table(plane)
    assert [one["name"] for one in shown["columnDefinitions"]] == ["Name", "Age"]


async def test_column_whose_path_means_nothing_shows_nothing(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Odd", "type": "string", "jsonPath": ".spec["},
    ]
    await define(plane, definition(versions=[version("v1", additionalPrinterColumns=columns)]))
    await plane.client.create(WIDGETS, widget("w", size=3))
    assert (await table(plane))["rows"][0]["cells"] == ["w", 3, None]
    assert not caplog.records


async def test_deprecated_version_warns(plane: Plane) -> None:
    await define(plane, definition(versions=[version("v1", deprecated=True)]))
    answer = await plane.handle(Request.of("GET", WIDGETS))
    assert answer.warnings == ["example.com/v1 Widget is deprecated"]


async def test_selectable_fields_select(plane: Plane) -> None:
    fields = [{"jsonPath": ".spec.size"}]
    await define(plane, definition(versions=[version("v1", selectableFields=fields)]))
    for number in (1, 2):
        await plane.client.create(WIDGETS, widget(f"w{number}", size=number))
    assert names(await plane.client.get(f"{WIDGETS}?fieldSelector=spec.size%3D2")) == ["w2"]
    with pytest.raises(StatusError, match=r"field label not supported: spec\.replicas"):
        await plane.client.get(f"{WIDGETS}?fieldSelector=spec.replicas%3D2")
