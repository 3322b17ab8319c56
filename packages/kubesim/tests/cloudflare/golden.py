"""The provider's own shapes: a JSON Schema made from the types of its SDK, kept outside of the repository.

The schema uses a handful of keywords, so the check is a page: it follows references and says what is wrong where. It is
wrong in two respects itself: the rule of a tunnel for everything else has no `hostname`, and a configuration that was read,
and is written back, has `warp-routing`. What it lacks, it says nothing
about: those shapes are written down here, after the provider's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.cloud import CloudflareCloud
from tests.golden.reading import golden_file

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


@cache
def schema() -> JsonObject:
    """The whole document, or an end of the test."""
    document: JsonObject = msgspec.json.decode(golden_file("cloudflare-schema.json").read_bytes())
    for name, part in document["$defs"].items():
        if name.endswith("ConfigIngress"):
            part["required"] = [field for field in part.get("required", []) if field != "hostname"]
        if "ingress" in part.get("properties", {}):
            part["properties"]["warp-routing"] = {"type": "object"}
    return document


def _anonymous(template: str) -> str:
    """A path without the names of its ids, which differ."""
    return re.sub(r"\{\w+\}", "{}", template.partition("#")[0])


def request_schema(method: str, path: str) -> JsonObject:
    """The schema of a request body. Raise KeyError for an operation without one."""
    declared = {_anonymous(name): part for name, part in schema()["requests"].items()}
    name = _anonymous(f"{method} {path}")
    if name in _OWN_REQUESTS:
        return _OWN_REQUESTS[name](declared)
    part = declared[name]
    return _with_inline_policies(part) if name.split("/")[-1] == "apps" or "/apps/" in name else part


def response_schema(method: str, path: str) -> JsonObject:
    """The schema of what an operation answers with: of one object, where it answers with many."""
    if method == "DELETE":
        return _fields("id")
    if path.endswith("/service_tokens"):
        part: JsonObject = schema()["responses"][
            "service token create" if method == "POST" else "service token"
        ]
        return part
    if path in _OWN_RESPONSES:
        return _OWN_RESPONSES[path]
    found: JsonObject = schema()["responses"][_OBJECTS[path]]
    return found


def _fields(*required: str, **kinds: str) -> JsonObject:
    """An object with these texts, and fields of other types."""
    texts = {name: {"type": "string"} for name in required}
    return {
        "type": "object",
        "required": [*required, *kinds],
        "properties": texts | {name: {"type": kind} for name, kind in kinds.items()},
    }


def _extended(part: JsonObject, **properties: JsonObject) -> JsonObject:
    """A schema with further properties."""
    resolved = _resolved(part)
    return {**resolved, "properties": {**resolved.get("properties", {}), **properties}}


def _with_inline_policies(part: JsonObject) -> JsonObject:
    """Applications take policies by id, and policies of their own."""
    link = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string"}, "precedence": {"type": "integer"}},
    }
    own = _extended(
        schema()["requests"]["POST /accounts/{account_id}/access/policies"], precedence={"type": "integer"}
    )
    return _extended(part, policies={"type": "array", "items": {"anyOf": [{"type": "string"}, link, own]}})


def _application_policy(declared: dict[str, JsonObject]) -> JsonObject:
    return _extended(declared["POST /accounts/{}/access/policies"], precedence={"type": "integer"})


def _batch(declared: dict[str, JsonObject]) -> JsonObject:
    """Posts are new records, puts whole ones with their ids, patches parts, deletes ids."""
    record = declared["POST /zones/{}/dns_records"]
    whole = {"anyOf": [_with_id(choice) for choice in record["anyOf"]]}
    part = {"anyOf": [{**_with_id(choice), "required": ["id"]} for choice in record["anyOf"]]}
    shapes = {"posts": record, "puts": whole, "patches": part, "deletes": _fields("id")}
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": shape} for name, shape in shapes.items()},
    }


def _with_id(part: JsonObject) -> JsonObject:
    extended = _extended(part, id={"type": "string"})
    return {**extended, "required": [*extended.get("required", []), "id"]}


_OWN_REQUESTS: dict[str, Callable[[dict[str, JsonObject]], JsonObject]] = {
    "POST /zones/{}/dns_records/batch": _batch,
    "POST /accounts/{}/access/apps/{}/policies": _application_policy,
    "PUT /accounts/{}/access/apps/{}/policies/{}": _application_policy,
    "POST /accounts/{}/access/tags": lambda _: _fields("name"),
}
_OWN_RESPONSES: dict[str, JsonObject] = {
    "/user/tokens/verify": _fields("id", "status"),
    "/accounts/{account}/tokens/verify": _fields("id", "status"),
    "/accounts/{account}/access/organizations": _fields("name", "auth_domain"),
    "/accounts/{account}/access/tags": _fields("name"),
    "/accounts/{account}/access/identity_providers": _fields("id", "name", "type", config="object"),
    "/accounts/{account}/access/apps/{application}/policies": _fields(
        "id", "name", "decision", include="array", precedence="integer"
    ),
    "/accounts/{account}/access/apps/{application}/policies/{policy}": _fields(
        "id", "name", "decision", include="array", precedence="integer"
    ),
}
_OBJECTS = {
    "/zones": "zone",
    "/zones/{zone}/dns_records": "dns record",
    "/zones/{zone}/dns_records/batch": "dns record",
    "/accounts/{account}/cfd_tunnel/{tunnel}/configurations": "tunnel configuration",
    "/accounts/{account}/cfd_tunnel/{tunnel}": "tunnel",
    "/accounts/{account}/cfd_tunnel": "tunnel",
    "/accounts/{account}/access/apps": "access app self_hosted",
    "/accounts/{account}/access/apps/{application}": "access app self_hosted",
    "/accounts/{account}/access/policies": "access policy",
    "/accounts/{account}/access/policies/{policy}": "access policy",
    "/accounts/{account}/access/groups": "access group",
    "/accounts/{account}/access/service_tokens/{token}": "service token",
    "/accounts/{account}/access/service_tokens/{token}/refresh": "service token",
    "/accounts/{account}/access/service_tokens/{token}/rotate": "service token rotate",
}


@dataclass
class Exchange:
    """A sender that hands on to the simulation and keeps what it saw, by operation."""

    cloud: CloudflareCloud
    operations: set[str] = field(default_factory=set)
    """Method and path of every call."""
    requests: list[tuple[str, str, JsonObject]] = field(default_factory=list)
    answers: list[tuple[str, str, Any]] = field(default_factory=list)

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        status, sent, answer = await self.cloud.send(method, url, headers, body)
        path = self.cloud.journal.entries[-1].operation.partition(" ")[2]
        self.operations.add(f"{method} {path}")
        if body:
            self.requests.append((method, path, msgspec.json.decode(body)))
        if status == 200:
            self.answers.append((method, path, msgspec.json.decode(answer)["result"]))
        return status, sent, answer

    def refused(self) -> list[str]:
        """What the provider would refuse of what was sent, or would never have answered."""
        sent = [
            f"{method} {path} {problem}"
            for method, path, body in self.requests
            for problem in problems(request_schema(method, path), body, strict=True)
        ]
        received = [
            f"{method} {path} answers {problem}"
            for method, path, result in self.answers
            for one in _objects(path, result)
            for problem in problems(response_schema(method, path), one)
        ]
        return [*sent, *received]


def _objects(path: str, result: Any) -> list[Any]:
    if path.endswith("/batch"):
        return [item for items in result.values() for item in items or []]
    return result if isinstance(result, list) else [result]


def _resolved(part: JsonObject) -> JsonObject:
    if "$ref" not in part:
        return part
    name = part["$ref"].removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
    found: JsonObject = schema()["$defs"][name]
    return found


def problems(part: JsonObject, value: Any, where: str = "$", *, strict: bool = False) -> Iterator[str]:
    """What is wrong with a value, and where. If strict, so is a field that is not declared."""
    if "$ref" in part:
        yield from problems(_resolved(part), value, where, strict=strict)
        return
    if "anyOf" in part:
        found = [list(problems(choice, value, where, strict=strict)) for choice in part["anyOf"]]
        if all(found):
            yield f"{where}: fits none of {len(found)} choices: {min(found, key=len)[0]}"
        return
    if "enum" in part and value not in part["enum"]:
        yield f"{where}: {value!r} is not one of {part['enum']}"
    if "type" in part and not _is_of(part["type"], value):
        yield f"{where}: {value!r} is no {part['type']}"
    elif isinstance(value, dict):
        yield from (f"{where}: {name} is missing" for name in part.get("required", []) if name not in value)
        declared = part.get("properties", {})
        for name, item in value.items():
            if strict and declared and name not in declared:
                yield f"{where}: {name} is not declared"
            yield from problems(declared.get(name, {}), item, f"{where}.{name}", strict=strict)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(part.get("items", {}), item, f"{where}[{index}]", strict=strict)


def _is_of(kind: str, value: Any) -> bool:
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    return isinstance(value, _TYPES[kind])
