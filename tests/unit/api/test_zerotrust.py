"""Misspelt fields of tenants and templates are stored and refused: dropped, they would be settings that are not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from edgekeeper.api.shared import StrictStruct
from edgekeeper.api.zerotrust import (
    GROUP,
    VERSION,
    ZERO_TRUST_TEMPLATE,
    ZERO_TRUST_TENANT,
    TemplateSpec,
    TenantSpec,
    ZeroTrustTemplate,
    ZeroTrustTenant,
)
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, virtual_time

TENANT: JsonObject = {
    "accountId": "0" * 32,
    "tunnelId": "00000000-0000-0000-0000-000000000000",
    "credentialRef": {"name": "token"},
}
TEMPLATES = Kind(GROUP, VERSION, ZERO_TRUST_TEMPLATE.kind, ZERO_TRUST_TEMPLATE.plural)


def fields_of(struct: type[msgspec.Struct], *above: Any) -> Iterator[tuple[Any, ...]]:
    """The path of every field of a struct; `0` stands for an item of a list."""
    for field in msgspec.structs.fields(struct):
        path = (*above, field.encode_name)
        yield path
        for nested, is_listed in _structs_in(inspect.type_info(field.type)):
            yield from fields_of(nested, *path, *([0] if is_listed else []))


def _structs_in(info: inspect.Type) -> Iterator[tuple[type[msgspec.Struct], bool]]:
    match info:
        case inspect.Metadata():
            yield from _structs_in(info.type)
        case inspect.UnionType():
            for one in info.types:
                yield from _structs_in(one)
        case inspect.ListType():
            yield from ((struct, True) for struct, _ in _structs_in(info.item_type))
        case inspect.StructType():
            yield info.cls, False


def misspellings(name: str) -> set[str]:
    """A letter dropped, two swapped, and another case."""
    middle = len(name) // 2
    swapped = name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]
    return {name[:middle] + name[middle + 1 :], swapped, name[0].upper() + name[1:]} - {name}


def nested(path: tuple[Any, ...], value: Any) -> Any:
    for part in reversed(path):
        value = [value] if part == 0 else {part: value}
    return value


CASES = [
    pytest.param(
        kind, {**given, **nested((*path[:-1], wrong), {})}, wrong, id=".".join(map(str, (*path[:-1], wrong)))
    )
    for kind, spec, given in ((ZeroTrustTemplate, TemplateSpec, {}), (ZeroTrustTenant, TenantSpec, TENANT))
    for path in fields_of(spec)
    for wrong in sorted(misspellings(str(path[-1])))
]


@pytest.mark.parametrize(("kind", "spec", "wrong"), CASES)
def test_misspelt_field_is_refused_by_its_name(
    kind: type[msgspec.Struct], spec: JsonObject, wrong: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"unknown field `{wrong}`"):
        msgspec.convert({"spec": spec}, kind)


def test_every_struct_of_a_template_is_strict() -> None:
    for definition in (ZERO_TRUST_TEMPLATE, ZERO_TRUST_TENANT):
        assert issubclass(definition.spec, StrictStruct)
        schema = definition.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert list(_pruned(schema["properties"]["spec"], "spec")) == []


def _pruned(schema: JsonObject, path: str) -> Iterator[str]:
    """Objects of a schema in which unknown fields are dropped."""
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield path
    for name, below in schema.get("properties", {}).items():
        yield from _pruned(below, f"{path}.{name}")
    if "items" in schema:
        yield from _pruned(schema["items"], f"{path}[]")


@virtual_time
async def test_server_keeps_misspelt_sections_of_clients_that_are_not_strict() -> None:
    clock = LoopClock()
    async with Plane(PlaneConfig(simulators=frozenset(), gateway_api=False, now=clock.now)) as plane:
        client = KubeClient(InProcessTransport(plane), Calls(), clock)
        await client.create(CUSTOM_RESOURCE_DEFINITION, ZERO_TRUST_TEMPLATE.definition())
        await plane.settle()
        spec = {"accessAplication": {"enabled": True}, "serviceToken": {"enabeld": True}}
        template = {
            "apiVersion": TEMPLATES.api_version,
            "kind": TEMPLATES.kind,
            "metadata": {"name": "web", "namespace": "default"},
            "spec": spec,
        }
        await client.create(TEMPLATES, template)
        assert (await client.get(TEMPLATES, Key("default", "web")))["spec"] == spec
