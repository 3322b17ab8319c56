"""The provider's own shapes: a JSON Schema made from the types of its SDK, kept outside of the repository.

`EDGEKEEPER_GOLDEN` names the folder that holds `cloudflare-schema.json`; without it, the folder `shared/golden` beside
the checkout is looked at. Where it is missing the tests that need it are skipped, or fail under `EDGEKEEPER_STRICT=1`.

The schema uses a handful of keywords, so the check is a page: it follows references and says what is wrong where. It is
wrong in one respect itself: the rule of a tunnel for everything else has no `hostname`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edgekeeper.core.json import JsonObject

_CHECKOUT = Path(__file__).parents[4]
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
def _document() -> JsonObject | None:
    folder = Path(os.environ.get("EDGEKEEPER_GOLDEN") or _CHECKOUT.parent / "shared" / "golden")
    path = folder / "cloudflare-schema.json"
    if not path.exists():
        return None
    document: JsonObject = msgspec.json.decode(path.read_bytes())
    for name, schema in document["$defs"].items():
        if name.rsplit("/", 1)[-1].endswith("ConfigIngress"):
            schema["required"] = [field for field in schema.get("required", []) if field != "hostname"]
    return document


def schema() -> JsonObject:
    """The whole document, or an end of the test."""
    document = _document()
    if document is None:
        message = "there is no cloudflare-schema.json: set EDGEKEEPER_GOLDEN to the folder that holds it"
        if os.environ.get("EDGEKEEPER_STRICT") == "1":
            pytest.fail(message)
        pytest.skip(message)
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
