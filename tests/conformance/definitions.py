"""Custom kinds for tests: each gets a group of its own, so that tests never meet on the server they share."""

from __future__ import annotations

import json
import secrets
from typing import Any

from edgekeeper.core.json import JsonObject, dig_list
from tests.conformance.client import Client, eventually
from tests.conformance.kinds import DEFINITIONS, Kind

SIZED: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer"}, "colour": {"type": "string"}},
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
"""A small schema for tests that are about something else."""


def widget(group: str = "", *, namespaced: bool = True) -> Kind:
    """A new custom kind, not known to any server yet."""
    return Kind(
        group or f"g{secrets.token_hex(4)}.conformance.example", "v1", "widgets", "Widget", namespaced
    )


def version(name: str = "v1", schema: JsonObject | None = None, **extra: Any) -> JsonObject:
    """One version of a definition: served, and stored unless `extra` says otherwise."""
    return {
        "name": name,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SIZED if schema is None else schema},
        **extra,
    }


def definition(kind: Kind, *versions: JsonObject, **spec: Any) -> JsonObject:
    """The CustomResourceDefinition of `kind`."""
    names = {
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
    }
    names.update(spec.pop("names", {}))
    return DEFINITIONS.new(
        definition_name(kind),
        spec={
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": names,
            "versions": list(versions) or [version()],
            **spec,
        },
    )


def definition_name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}"


def condition(obj: JsonObject, kind: str) -> JsonObject | None:
    """The status condition of this type, if there is one."""
    return next((item for item in dig_list(obj, "status", "conditions") if item["type"] == kind), None)


async def established(api: Client, kind: Kind) -> JsonObject:
    """Wait until the server says that the kind can be used, and lists it; return its definition."""

    async def attempt() -> JsonObject | None:
        found = (await api.get(DEFINITIONS.path(name=definition_name(kind)))).expect(200)
        ready = condition(found, "Established")
        if ready is None or ready["status"] != "True":
            return None
        return found if (await api.get(kind.path())).status == 200 else None

    return await eventually(attempt, what=f"{definition_name(kind)} is established")


async def define(api: Client, *versions: JsonObject, **spec: Any) -> Kind:
    """Return a namespaced kind with such a definition, creating it unless an earlier test asked for the same.

    Tests that only use a kind share it: a real server makes the first writer of each new kind wait for two seconds.
    """
    content = json.dumps([versions, spec], sort_keys=True)
    shared = _shared.setdefault(api.server.url, {})
    if content not in shared:
        shared[content] = await define_afresh(api, *versions, **spec)
    return shared[content]


_shared: dict[str, dict[str, Kind]] = {}


async def define_afresh(api: Client, *versions: JsonObject, kind: Kind | None = None, **spec: Any) -> Kind:
    """Create a kind for one test alone, which may change or delete its definition."""
    chosen = kind or widget()
    (await api.create(DEFINITIONS.path(), definition(chosen, *versions, **spec))).expect(201)
    await established(api, chosen)
    return chosen


async def define_schema(api: Client, schema: JsonObject, **extra: Any) -> Kind:
    """Return a kind whose only version has this schema for `spec`."""
    whole = {"type": "object", "properties": {"spec": schema}}
    return await define(api, version(schema=whole, **extra))
