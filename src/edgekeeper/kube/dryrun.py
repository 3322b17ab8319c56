"""Simulates the results of writes for dry runs.

Callers use the object that a write returns, so a dry run computes it: the live object with the change applied locally,
without the defaults, webhooks and field owners of the server. The resourceVersion of a patched object stays that of the
live one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from typing import Any
from uuid import UUID

from edgekeeper.core.clock import timestamp
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.errors import InvalidError, StaleError
from edgekeeper.kube.kinds import Key, Kind


def simulate_create(kind: Kind, tree: JsonObject, namespace: str, number: int, now: datetime) -> JsonObject:
    """The object after its creation. `number` is used for the values that the server would generate."""
    metadata = deepcopy(tree.get("metadata") or {})
    if namespace:
        metadata["namespace"] = namespace
    metadata.setdefault("name", f"{metadata.get('generateName', '')}{number:05d}")
    generated = {
        "uid": str(UUID(int=number)),
        "resourceVersion": str(number),
        "generation": 1,
        "creationTimestamp": timestamp(now),
    }
    body = {name: deepcopy(value) for name, value in tree.items() if name not in _IDENTITY}
    return {**_typed(kind), "metadata": {**metadata, **generated}, **body}


def simulate_merge(live: JsonObject, patch: JsonObject) -> JsonObject:
    """The object after a JSON merge patch. Raise StaleError if the patch has another resourceVersion."""
    expected = dig(patch, "metadata", "resourceVersion")
    if expected is not None and expected != dig(live, "metadata", "resourceVersion"):
        raise StaleError(409, "Conflict", "the object has been modified")
    merged: JsonObject = _merge(deepcopy(live), patch)
    return merged


def simulate_patch(live: JsonObject, operations: list[JsonObject]) -> JsonObject:
    """The object after a JSON patch. Raise InvalidError if it does not apply."""
    root = {"": deepcopy(live)}
    for operation in operations:
        try:
            _OPERATIONS[operation["op"]](root, operation)
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidError(422, "Invalid", f"the patch does not apply: {error}") from error
    return root[""]


def simulate_apply(
    kind: Kind, key: Key, live: JsonObject | None, fields: JsonObject, number: int, now: datetime
) -> JsonObject:
    """The object after server-side apply: lists are replaced as a whole, and no fields are removed."""
    if live is None:
        named = {**fields, "metadata": {**fields.get("metadata", {}), "name": key.name}}
        return simulate_create(kind, named, key.namespace, number, now)
    return simulate_merge(live, fields)


_IDENTITY = frozenset({"apiVersion", "kind", "metadata"})


def _typed(kind: Kind) -> JsonObject:
    return {"apiVersion": kind.api_version, "kind": kind.kind}


def _merge(target: Any, patch: Any) -> Any:
    """RFC 7386: objects are merged, null removes, anything else replaces."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    merged = target if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged


def _place(root: Any, pointer: str) -> tuple[Any, str]:
    """The container and the last step of a JSON pointer. The root of the document is the member named ""."""
    first, *steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]
    if first:
        raise ValueError(f"{pointer} is no JSON pointer")
    container, last = root, ""
    for step in steps:
        container, last = _member(container, last), step
    if not isinstance(container, dict | list):
        raise TypeError(f"nothing can be below {pointer.rpartition('/')[0]}")
    return container, last


def _member(container: Any, step: str) -> Any:
    return container[_index(step, len(container) - 1)] if isinstance(container, list) else container[step]


def _index(step: str, last: int) -> int:
    """The index of an item: digits only, and not beyond the end, unlike Python's indexes."""
    if not (step.isascii() and step.isdigit()) or int(step) > last:
        raise ValueError(f"there is no item {step}")
    return int(step)


def _read(root: Any, pointer: str) -> Any:
    return _member(*_place(root, pointer))


def _write(root: Any, pointer: str, value: Any) -> None:
    container, step = _place(root, pointer)
    if isinstance(container, list):
        container.insert(len(container) if step == "-" else _index(step, len(container)), value)
    else:
        container[step] = value


def _remove(root: Any, pointer: str) -> Any:
    container, step = _place(root, pointer)
    return container.pop(_index(step, len(container) - 1) if isinstance(container, list) else step)


def _test(root: Any, operation: JsonObject) -> None:
    if _read(root, operation["path"]) != operation["value"]:
        raise ValueError(f"the test of {operation['path']} failed")


def _replace(root: Any, operation: JsonObject) -> None:
    _remove(root, operation["path"])
    _write(root, operation["path"], deepcopy(operation["value"]))


def _move(root: Any, operation: JsonObject) -> None:
    _write(root, operation["path"], _remove(root, operation["from"]))


_OPERATIONS: dict[str, Callable[[Any, JsonObject], object]] = {
    "add": lambda root, operation: _write(root, operation["path"], deepcopy(operation["value"])),
    "copy": lambda root, operation: _write(root, operation["path"], deepcopy(_read(root, operation["from"]))),
    "move": _move,
    "remove": lambda root, operation: _remove(root, operation["path"]),
    "replace": _replace,
    "test": _test,
}
