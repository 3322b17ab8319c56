"""The provider's own shapes: a JSON Schema made from the types of its SDK, kept outside of the repository.

The schema uses a handful of keywords, so the check is a page: it follows references and says what is wrong where. It is
wrong in one respect itself: the rule of a tunnel for everything else has no `hostname`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
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
    return document


def problems(part: JsonObject, value: Any, where: str = "$") -> Iterator[str]:
    """What is wrong with a value, and where."""
    if "$ref" in part:
        name = part["$ref"].removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        yield from problems(schema()["$defs"][name], value, where)
        return
    if "anyOf" in part:
        found = [list(problems(choice, value, where)) for choice in part["anyOf"]]
        if all(found):
            yield f"{where}: fits none of {len(found)} choices: {min(found, key=len)[0]}"
        return
    if "enum" in part and value not in part["enum"]:
        yield f"{where}: {value!r} is not one of {part['enum']}"
    if "type" in part and not _is_of(part["type"], value):
        yield f"{where}: {value!r} is no {part['type']}"
    elif isinstance(value, dict):
        yield from (f"{where}: {name} is missing" for name in part.get("required", []) if name not in value)
        for name, item in value.items():
            yield from problems(part.get("properties", {}).get(name, {}), item, f"{where}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(part.get("items", {}), item, f"{where}[{index}]")


def _is_of(kind: str, value: Any) -> bool:
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    return isinstance(value, _TYPES[kind])
