"""ResourceGraphDefinition and GraphRevision: called as kro calls them, and checked by the server as kro's are."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from edgekeeper.api.composition import (
    GRAPH_REVISION,
    RESOURCE_GRAPH_DEFINITION,
    GraphRevision,
    ResourceGraphDefinition,
)
from edgekeeper.api.definition import CustomKind
from edgekeeper.core.json import JsonObject
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.errors import StatusError

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GRAPHS = "/apis/kro.run/v1alpha1/resourcegraphdefinitions"
REVISIONS = "/apis/internal.kro.run/v1alpha1/graphrevisions"

SPEC: JsonObject = {
    "schema": {
        "kind": "WebApp",
        "apiVersion": "v1alpha1",
        "spec": {"name": "string | required=true", "nested": {"port": "integer"}},
        "status": {"ready": "${web.status.ready}"},
        "shortNames": ["wa"],
        "additionalPrinterColumns": [{"name": "Host", "type": "string", "jsonPath": ".spec.host"}],
    },
    "resources": [
        {
            "id": "web",
            "template": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "x"},
                "data": {"a": "b"},
            },
            "forEach": [{"x": "${schema.spec.list}"}],
            "readyWhen": ["${each.data.a == 'b'}"],
            "dependsOn": ["secret"],
            "deletionPolicy": "Orphan",
        },
        {
            "id": "secret",
            "externalRef": {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"selector": {"matchLabels": {"a": "${schema.spec.name}"}}},
            },
        },
    ],
}


def _graph(spec: JsonObject = SPEC) -> JsonObject:
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "webapp"},
        "spec": copy.deepcopy(spec),
    }


def _changed(*steps: str | int, value: Any) -> JsonObject:
    spec: Any = copy.deepcopy(SPEC)
    place = spec
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value
    changed: JsonObject = spec
    return changed


async def _install(plane: Plane, *kinds: CustomKind) -> None:
    for kind in kinds:
        await plane.client.create(DEFINITIONS, kind.definition())
    await plane.settle()


def test_kinds_are_called_as_kro_calls_them() -> None:
    graphs, revisions = (kind.definition()["spec"] for kind in (RESOURCE_GRAPH_DEFINITION, GRAPH_REVISION))
    assert (graphs["group"], graphs["scope"], graphs["names"]["shortNames"]) == (
        "kro.run",
        "Cluster",
        ["rgd"],
    )
    assert [column["name"] for column in graphs["versions"][0]["additionalPrinterColumns"]] == [
        "APIVERSION", "KIND", "STATE", "READY", "TOPOLOGICALORDER", "AGE",
    ]  # fmt: skip
    assert (revisions["group"], revisions["scope"]) == ("internal.kro.run", "Cluster")
    assert revisions["names"]["shortNames"] == ["gr"]
    assert [column["name"] for column in revisions["versions"][0]["additionalPrinterColumns"]] == [
        "RGD", "REVISION", "HASH", "READY", "AGE",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [RESOURCE_GRAPH_DEFINITION, GRAPH_REVISION], ids=lambda kind: kind.kind)
async def test_server_establishes_the_definition(kind: CustomKind) -> None:
    async with Plane(PlaneConfig()) as plane:
        await _install(plane, kind)
        stored = await plane.client.get(f"{DEFINITIONS}/{kind.name}")
    conditions = {one["type"]: one["status"] for one in stored["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert "NonStructuralSchema" not in conditions


async def test_server_keeps_everything_that_is_written_and_fills_in_defaults() -> None:
    async with Plane(PlaneConfig()) as plane:
        await _install(plane, RESOURCE_GRAPH_DEFINITION)
        stored = await plane.client.create(GRAPHS, _graph())
    defaults = {"group": "kro.run", "scope": "Namespaced"}
    assert stored["spec"] == {**SPEC, "schema": {**SPEC["schema"], **defaults}}
    read = msgspec.convert(stored, ResourceGraphDefinition)
    assert read.spec.schema.spec == SPEC["schema"]["spec"]
    assert [one.id for one in read.spec.resources] == ["web", "secret"]
    assert (read.spec.resources[0].depends_on, read.spec.resources[0].deletion_policy) == (
        ["secret"],
        "Orphan",
    )


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (_changed("schema", "kind", value="webApp"), "spec.schema.kind"),
        (_changed("schema", "apiVersion", value="kro.run/v1"), "spec.schema.apiVersion"),
        (_changed("schema", "scope", value="Galaxy"), "spec.schema.scope"),
        (_changed("schema", "shortNames", value=["W A"]), "spec.schema.shortNames"),
        (_changed("schema", "shortNames", value=["wa", "wa"]), "spec.schema.shortNames"),
        (_changed("schema", "categories", value=["x" * 64]), "spec.schema.categories"),
        (_changed("resources", 0, "template", value=None), "exactly one of template or externalRef"),
        (_changed("resources", 0, "externalRef", value=SPEC["resources"][1]["externalRef"]),
         "exactly one of template or externalRef"),
        (_changed("resources", 1, "externalRef", "metadata", "name", value="x"), "exactly one of name or selector"),
        (_changed("resources", 0, "forEach", value=[{"x": "a", "y": "b"}]), "spec.resources[0].forEach[0]"),
        (_changed("resources", 0, "deletionPolicy", value="Burn"), "spec.resources[0].deletionPolicy"),
    ],
)  # fmt: skip
async def test_server_refuses_what_kro_refuses(spec: JsonObject, complaint: str) -> None:
    async with Plane(PlaneConfig()) as plane:
        await _install(plane, RESOURCE_GRAPH_DEFINITION)
        with pytest.raises(StatusError) as refused:
            await plane.client.create(GRAPHS, _graph(spec))
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("kind", "Other"), ("apiVersion", "v1"), ("group", "other.example"), ("scope", "Cluster")],
)
async def test_identity_of_the_kind_cannot_be_changed(field: str, value: str) -> None:
    async with Plane(PlaneConfig()) as plane:
        await _install(plane, RESOURCE_GRAPH_DEFINITION)
        await plane.client.create(GRAPHS, _graph())
        with pytest.raises(StatusError, match=f"{field} is immutable"):
            await plane.client.merge(f"{GRAPHS}/webapp", {"spec": {"schema": {field: value}}})
        await plane.client.merge(f"{GRAPHS}/webapp", {"spec": {"schema": {"spec": {"more": "string"}}}})


async def test_revisions_are_immutable() -> None:
    body: JsonObject = {
        "apiVersion": "internal.kro.run/v1alpha1",
        "kind": "GraphRevision",
        "metadata": {"name": "webapp-r00001"},
        "spec": {"revision": 1, "snapshot": {"name": "webapp", "generation": 2, "spec": SPEC}},
    }
    async with Plane(PlaneConfig()) as plane:
        await _install(plane, GRAPH_REVISION)
        stored = await plane.client.create(REVISIONS, body)
        with pytest.raises(StatusError, match="spec is immutable"):
            await plane.client.merge(f"{REVISIONS}/webapp-r00001", {"spec": {"revision": 2}})
        with pytest.raises(StatusError):
            await plane.client.create(
                REVISIONS, body | {"metadata": {"name": "x"}, "spec": body["spec"] | {"revision": 0}}
            )
    read = msgspec.convert(stored, GraphRevision)
    assert (read.spec.revision, read.spec.snapshot.name, read.spec.snapshot.generation) == (1, "webapp", 2)
    assert read.spec.snapshot.spec.schema.kind == "WebApp"
