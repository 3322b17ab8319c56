"""JSON patch (RFC 6902), with the habits of the library inside kube-apiserver.

It departs from the RFC in a few places that clients have come to rely on: `replace` of a missing object member adds
it, `test` of a missing member succeeds against null, negative array indices count from the end. Whatever goes wrong
while applying is answered with one and the same 422, without a word about the operation at fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import invalid_value
from kubesim.plane.errors import StatusError, bad_request, invalid
from kubesim.plane.json_syntax import MOST_NESTED
from kubesim.plane.json_text import nesting
from kubesim.plane.patch.golang import json_name
from kubesim.plane.patch.tree import clone, same

MOST_OPERATIONS = 10_000
MOST_COPIED_BYTES = 3 * 1024 * 1024
"""What `copy` may add in total; without it a short patch that doubles the document fills the memory."""

_FIELDS = ("op", "path", "from", "value")
_INDEX = re.compile(r"[+-]?[0-9]{1,18}")
_ESCAPE = re.compile("~[01]")

Container: TypeAlias = JsonObject | list[Any]


class _DoesNotApplyError(Exception):
    """The operation meets a document that it was not made for."""


def json_patch(document: JsonObject, patch: Any) -> JsonObject:
    """Return `document` with the decoded list of operations applied."""
    operations = _operations(patch)
    session = _Session(clone(document))
    try:
        for operation in operations:
            session.perform(operation)
        session.check_depth()
    except (_DoesNotApplyError, RecursionError) as failure:
        raise rejected() from failure
    if not isinstance(session.root, dict):
        raise _not_an_object(session.root)
    return session.root


def json_patch_complaints(patch: Any) -> list[str]:
    """Return what strict field validation reports: members of operations that mean nothing."""
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(_operations(patch))
        for name in operation
        if name not in _FIELDS
    ]


def rejected() -> StatusError:
    """The server's answer to any patch that is well formed but does not apply."""
    message = "the server rejected our request due to an error in our request"
    return StatusError(422, "Invalid", message, details={})


def _not_an_object(root: Container) -> StatusError:
    problem = (
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type"
        ' struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    )
    return invalid("", "", "", [invalid_value("patch", msgspec.json.encode(root).decode(), problem)])


def _operations(patch: Any) -> list[JsonObject]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "Go value of type []handlers.jsonPatchOp")
    for operation in patch:
        _check_types(operation)
    if len(patch) > MOST_OPERATIONS:
        limit = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(patch)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {limit}")
    return [operation or {} for operation in patch]


def _check_types(operation: Any) -> None:
    if operation is None:
        return
    if not isinstance(operation, dict):
        raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            raise _undecodable(value, f"Go struct field jsonPatchOp.{name} of type string")


def _undecodable(value: Any, target: str) -> StatusError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {json_name(value)} into {target}")


class _Session:
    """A document under change. It belongs to the session alone, so operations alter it in place."""

    def __init__(self, root: Container) -> None:
        self.root = root
        self._copied_bytes = 0
        self._verbs: dict[str, Callable[[JsonObject], None]] = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }

    def perform(self, operation: JsonObject) -> None:
        verb = self._verbs.get(operation.get("op") or "")
        if verb is None:
            raise _DoesNotApplyError("unknown operation")
        verb(operation)

    def check_depth(self) -> None:
        """Refuse a document that operations have stacked deeper than any body may be."""
        if nesting(self.root) > MOST_NESTED:
            raise _DoesNotApplyError("the document nests too deeply")

    def _add(self, operation: JsonObject) -> None:
        _insert(*self._locate(_pointer(operation, "path")), clone(operation.get("value")))

    def _remove(self, operation: JsonObject) -> None:
        _delete(*self._locate(_pointer(operation, "path")))

    def _replace(self, operation: JsonObject) -> None:
        path, value = _pointer(operation, "path"), clone(operation.get("value"))
        if path:
            container, key = self._locate(path)
            if isinstance(container, dict):
                container[key] = value
            else:
                container[_index(key, len(container))] = value
        elif isinstance(value, dict | list):
            self.root = value
        else:
            raise _DoesNotApplyError("the whole document can only become an object or an array")

    def _move(self, operation: JsonObject) -> None:
        container, key = self._locate(_pointer(operation, "from"))
        value = _member(container, key)
        _delete(container, key)
        _insert(*self._locate(_pointer(operation, "path")), value)

    def _copy(self, operation: JsonObject) -> None:
        value = _member(*self._locate(_pointer(operation, "from")))
        container, key = self._locate(_pointer(operation, "path"))
        self._copied_bytes += len(msgspec.json.encode(value))
        if self._copied_bytes > MOST_COPIED_BYTES:
            raise _DoesNotApplyError("the patch copies too much")
        _insert(container, key, clone(value))

    def _test(self, operation: JsonObject) -> None:
        path = _pointer(operation, "path")
        present = _member(*self._locate(path)) if path else self.root
        if not same(present, operation.get("value")):
            raise _DoesNotApplyError("the value is another")

    def _locate(self, path: str) -> tuple[Container, str]:
        """Return the container that holds the last step of `path`, and that step."""
        first, *steps = path.split("/")
        if not steps:
            raise _DoesNotApplyError(f"not a path below the root: {first}")
        *parents, last = (_ESCAPE.sub(_unescaped, step) for step in steps)
        container = self.root
        for step in parents:
            value = _member(container, step)
            if not isinstance(value, dict | list):
                raise _DoesNotApplyError(f"no container at {step}")
            container = value
        return container, last


def _unescaped(found: re.Match[str]) -> str:
    return "/" if found.group() == "~1" else "~"


def _pointer(operation: JsonObject, name: str) -> str:
    path = operation.get(name)
    if not isinstance(path, str):
        raise _DoesNotApplyError(f"the operation has no {name}")
    return path


def _member(container: Container, key: str) -> Any:
    """Return an item of a list, which must exist, or a member of an object, where absent means null."""
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _insert(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _delete(container: Container, key: str) -> None:
    if isinstance(container, list):
        del container[_index(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise _DoesNotApplyError(f"nothing to remove at {key}")


def _index(step: str, length: int) -> int:
    if not _INDEX.fullmatch(step):
        raise _DoesNotApplyError(f"not an index: {step}")
    index = int(step)
    if not -length <= index < length:
        raise _DoesNotApplyError(f"index out of range: {step}")
    return index + length if index < 0 else index
