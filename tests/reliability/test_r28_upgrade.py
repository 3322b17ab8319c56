"""R-28: what earlier versions have written is understood, and causes no write; what later ones have added is kept.

The portraits in `golden_r28/` show what each version writes (`tests.reliability.formats`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key, Kind
from kubesim.virtual import virtual_time
from tests.recovery.world import Clouds, Cluster
from tests.reliability.formats import (
    FOLDER,
    cloud_names,
    filled,
    golden_file,
    portrait,
    settled_fleet,
    states,
)

VERSIONS = sorted(FOLDER.glob("*.json"))
EXTERNAL = ("DistributionTenant", "APIGatewayDomain", "LambdaPermission")
"""The kinds of ours whose status has an inventory. That of a composed object is as its definition says."""
REMEDY = "if that is meant, run `python -m tests.reliability.formats` and review the difference"


def _read(path: Path) -> JsonObject:
    golden: JsonObject = json.loads(path.read_text())
    return golden


@virtual_time
async def test_formats_are_those_of_the_golden_file() -> None:
    async with settled_fleet(Clouds()) as found:
        shown, golden = portrait(found), _read(golden_file())
    for part, expected in golden.items():
        for name, content in expected.items():
            assert shown[part].get(name) == content, f"{part}: {name}: {REMEDY}"
        assert shown[part].keys() == expected.keys(), f"{part}: {REMEDY}"
    assert shown.keys() == golden.keys()


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.stem)
@virtual_time
async def test_objects_of_an_earlier_version_are_served_without_a_cloud_write(version: Path) -> None:
    clouds, golden = Clouds(), _read(version)
    async with settled_fleet(clouds) as found:
        assert portrait(found)["clouds"] == golden["clouds"], "names and marks never change"
        names = cloud_names(found)
        for kind, obj in found.ours():
            await _put_back(found, kind, obj, golden["objects"][f"{kind}/{obj['metadata']['name']}"], names)
        for obj in states(found):
            written = golden["states"][obj["metadata"]["name"]]
            data = filled(written["data"], names, obj["data"])
            await found.user.merge_patch(CONFIG_MAP, key_of(obj), {"data": _replacing(obj["data"], data)})
        clouds.forget_writes()
        await found.start()
        await found.elapse(hours=2)
        assert not clouds.writes()
        assert not found.unready()
        await found.stop()


async def _put_back(
    found: Cluster, kind: str, obj: JsonObject, written: JsonObject, names: dict[str, str]
) -> None:
    """Replace what this version has written on an object by what an earlier one would have."""
    served, present = await served_kind(found, kind), obj["metadata"]
    metadata = {
        "finalizers": written["finalizers"],
        "labels": _replacing(present.get("labels", {}), filled(written["labels"], names)),
        "annotations": _replacing(
            present.get("annotations", {}),
            filled(written["annotations"], names, present.get("annotations", {})),
        ),
    }
    await found.user.merge_patch(served, key_of(obj), {"metadata": metadata})
    status = dig_object(obj, "status")
    if status:
        facts = {name: value for name, value in written["status"].items() if name != "conditions"}
        patch = _replacing({**status, "conditions": None}, filled(facts, names, status))
        patch.pop("conditions")
        await found.user.merge_patch(served, key_of(obj), {"status": patch}, subresource="status")


def _replacing(present: JsonObject, wanted: JsonObject) -> JsonObject:
    """A merge patch that leaves nothing of what is there."""
    return {**dict.fromkeys(present), **wanted}


@virtual_time
async def test_fields_of_a_later_version_are_kept_and_cause_no_write() -> None:
    """After a rollback: the definitions of the later version stay, and the objects have what it has written."""
    clouds = Clouds()
    async with settled_fleet(clouds) as found:
        await _allow_unknown_fields(found)
        for kind, obj in found.ours():
            await _extend(found, kind, obj)
        for obj in states(found):
            await found.user.merge_patch(CONFIG_MAP, key_of(obj), {"data": {"future": "value"}})
        clouds.forget_writes()
        await found.start()
        await found.elapse(hours=2)
        assert not clouds.writes()
        assert not found.unready()
        for kind, obj in found.ours():
            assert obj["metadata"]["annotations"]["edgekeeper.io/future"] == "value", kind
            if kind in EXTERNAL:
                assert obj["status"]["future"] == {"field": "value"}, f"{kind} {obj['metadata']['name']}"
        assert all(obj["data"]["future"] == "value" for obj in states(found))
        await found.stop()


async def _allow_unknown_fields(found: Cluster) -> None:
    for definition in found.all(CUSTOM_RESOURCE_DEFINITION.kind):
        versions = definition["spec"]["versions"]
        for version in versions:
            _open(dig_object(version, "schema", "openAPIV3Schema", "properties", "status"))
        key = Key("", definition["metadata"]["name"])
        await found.user.merge_patch(CUSTOM_RESOURCE_DEFINITION, key, {"spec": {"versions": versions}})
    await found.plane.settle()


def _open(schema: JsonObject) -> None:
    """Let objects have fields that a schema does not name, at any depth."""
    if schema.get("type") == "object":
        schema["x-kubernetes-preserve-unknown-fields"] = True
    inner = [*dig_object(schema, "properties").values(), dig_object(schema, "items")]
    for one in filter(None, inner):
        _open(one)


async def _extend(found: Cluster, kind: str, obj: JsonObject) -> None:
    served = await served_kind(found, kind)
    patch = {"metadata": {"annotations": {"edgekeeper.io/future": "value"}}}
    await found.user.merge_patch(served, key_of(obj), patch)
    if kind in EXTERNAL:
        entries = [{**entry, "future": "value"} for entry in dig_list(obj, "status", "inventory")]
        status = {"status": {"future": {"field": "value"}, "inventory": entries}}
        await found.user.merge_patch(served, key_of(obj), status, subresource="status")


async def served_kind(found: Cluster, kind: str) -> Kind:
    resource = next(one for one in found.plane.registry.all() if one.kind == kind)
    return Kind(resource.group, resource.version, resource.kind, resource.plural, resource.namespaced)


def key_of(obj: JsonObject) -> Key:
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


@pytest.mark.parametrize("kind", DEFINITIONS, ids=lambda kind: kind.kind)
def test_definition_has_one_version_that_is_stored(kind: CustomKind) -> None:
    """The policy of docs/upgrade.md: a second version comes with a conversion, and changes this test."""
    versions = kind.definition()["spec"]["versions"]
    assert [(one["name"], one["served"], one["storage"]) for one in versions] == [(kind.version, True, True)]
