"""Definitions of custom resources: what is filled in, what is refused, what cannot be changed."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import DEFINITIONS, define, definition, version

APPROVAL = "api-approved.kubernetes.io"


async def refusal(plane: Plane, tree: JsonObject) -> str:
    """Why a definition is not accepted."""
    with pytest.raises(StatusError) as refused:
        await plane.client.create(DEFINITIONS, tree)
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    return refused.value.message


def named(**names: Any) -> JsonObject:
    return definition(names={"plural": "widgets", "kind": "Widget", **names})


async def test_names_that_were_left_out_are_derived(plane: Plane) -> None:
    created = await define(plane)
    assert created["spec"]["names"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    assert created["spec"]["conversion"] == {"strategy": "None"}
    assert created["status"]["storedVersions"] == ["v1"]


async def test_names_that_were_given_are_kept(plane: Plane) -> None:
    created = await define(
        plane, named(singular="wid", listKind="Wids", shortNames=["w"], categories=["all"])
    )
    accepted = created["status"]["acceptedNames"]
    assert accepted == created["spec"]["names"]
    assert (accepted["singular"], accepted["listKind"], accepted["shortNames"]) == ("wid", "Wids", ["w"])


REFUSED: dict[str, tuple[JsonObject, str]] = {
    "name": ({**definition(), "metadata": {"name": "other.example.com"}}, 'must be spec.names.plural+"."+spec.group'),
    "no-group": (definition(group=""), "spec.group: Required value"),
    "odd-group": (definition(group="UPPER.example.com"), "spec.group: Invalid value"),
    "dotless-group": (definition(group="example"), "should be a domain with at least one dot"),
    "no-scope": (definition(scope=""), "spec.scope: Required value"),
    "odd-scope": (definition(scope="Galaxy"), 'supported values: "Cluster", "Namespaced"'),
    "no-kind": (named(kind=""), "spec.names.kind: Required value"),
    "odd-kind": (named(kind="Wid get"), "spec.names.kind: Invalid value"),
    "odd-short-name": (named(shortNames=["W"]), "spec.names.shortNames[0]: Invalid value"),
    "list-kind-is-kind": (named(listKind="Widget"), "kind and listKind may not be the same"),
    "odd-version": (definition(versions=[version("1")]), "spec.versions[0].name: Invalid value"),
    "same-version-twice": (definition(versions=[version("v1"), version("v1", storage=False)]), "must contain unique version names"),
    "no-storage": (definition(versions=[version("v1", storage=False)]), "exactly one version marked as storage version"),
    "two-storages": (definition(versions=[version("v1"), version("v2")]), "exactly one version marked as storage version"),
    "no-schema": (definition(versions=[version("v1", schema={})]), "openAPIV3Schema: Required value"),
    "unstructured": (definition(versions=[version("v1", schema={"openAPIV3Schema": {"properties": {}}})]), "type: Required value"),
    "warning-without-deprecation": (definition(versions=[version("v1", deprecationWarning="x")]), "can only be set for deprecated versions"),
    "scale-without-paths": (definition(versions=[version("v1", subresources={"scale": {}})]), "specReplicasPath: Required value"),
    "scale-elsewhere": (definition(versions=[version("v1", subresources={"scale": {"specReplicasPath": ".status.x", "statusReplicasPath": ".status.x"}})]), "should be a json path under .spec"),
    "column-type": (definition(versions=[version("v1", additionalPrinterColumns=[{"name": "A", "type": "blob", "jsonPath": ".a"}])]), "must be one of boolean,date,integer,number,string"),
    "column-format": (definition(versions=[version("v1", additionalPrinterColumns=[{"name": "A", "type": "string", "format": "x", "jsonPath": ".a"}])]), "format: Invalid value"),
    "column-path": (definition(versions=[version("v1", additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": "a"}])]), "must be a simple json path starting with ."),
    "selectable-unknown": (definition(versions=[version("v1", selectableFields=[{"jsonPath": ".spec.none"}])]), "does not refer to a valid field"),
    "selectable-object": (definition(versions=[version("v1", selectableFields=[{"jsonPath": ".spec"}])]), "must point to a field of type string, boolean or integer"),
    "selectable-metadata": (definition(versions=[version("v1", selectableFields=[{"jsonPath": ".metadata.name"}])]), "must not point to fields in metadata"),
    "selectable-twice": (definition(versions=[version("v1", selectableFields=[{"jsonPath": ".spec.size"}] * 2)]), "Duplicate value"),
    "preserve": (definition(preserveUnknownFields=True), "spec.preserveUnknownFields: Invalid value"),
}  # fmt: skip


@pytest.mark.parametrize(("tree", "why"), REFUSED.values(), ids=REFUSED.keys())
async def test_definition_that_cannot_be_is_refused(
    plane: Plane, tree: JsonObject, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert why in await refusal(plane, tree)
    assert not caplog.records


def protected(**annotations: str) -> JsonObject:
    tree = definition(group="things.k8s.io")
    tree["metadata"] = {"name": "widgets.things.k8s.io", "annotations": annotations}
    return tree


async def test_groups_of_the_project_need_an_approval(plane: Plane) -> None:
    assert "protected groups must have approval annotation" in await refusal(plane, protected())
    assert "either a URL or a reason" in await refusal(plane, protected(**{APPROVAL: "sure"}))
    await define(plane, protected(**{APPROVAL: "unapproved, experimental-only"}))


IMMUTABLE: dict[str, JsonObject] = {
    "scope": {"scope": "Cluster"},
    "kind": {"names": {"kind": "Gadget", "listKind": "GadgetList", "singular": "gadget"}},
}


@pytest.mark.parametrize("change", IMMUTABLE.values(), ids=IMMUTABLE.keys())
async def test_established_definition_keeps_its_identity(plane: Plane, change: JsonObject) -> None:
    await define(plane)
    with pytest.raises(StatusError, match="field is immutable"):
        await plane.client.merge(f"{DEFINITIONS}/widgets.example.com", {"spec": change})


async def test_version_that_was_stored_cannot_be_dropped(plane: Plane) -> None:
    await define(plane)
    path = f"{DEFINITIONS}/widgets.example.com"
    moved = await plane.client.merge(
        path, {"spec": {"versions": [version("v1", storage=False), version("v2")]}}
    )
    assert moved["status"]["storedVersions"] == ["v1", "v2"]
    with pytest.raises(StatusError, match="v1 was previously a storage version"):
        await plane.client.merge(path, {"spec": {"versions": [version("v2")]}})
    await plane.client.merge(f"{path}/status", {"status": {"storedVersions": ["v2"]}})
    left = await plane.client.merge(path, {"spec": {"versions": [version("v2")]}})
    assert [one["name"] for one in left["spec"]["versions"]] == ["v2"]
