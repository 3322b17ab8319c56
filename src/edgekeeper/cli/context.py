"""The variables of `edgekeeper cel`: a YAML or JSON file, read as an API server would read it.

YAML knows more than JSON. What an API server could be sent is translated (keys become strings, numbers beyond 64 bits
become doubles), everything else is refused. Parts that YAML shares by aliases stay shared, so that a small file cannot
grow into a large object.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import read_documents
from edgekeeper.core.json import JsonObject

_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1
_FORM: Final = "its top-level keys are the variables"


def load_context(file: Path | None) -> JsonObject:
    """The variables in a file, by name."""
    documents = [] if file is None else [found for found in read_documents(file) if found is not None]
    if not documents:
        return {}
    if len(documents) > 1 or not isinstance(documents[0], dict):
        raise CommandError(f"{file} is not one object", _FORM)
    try:
        context: JsonObject = _Translation().of(documents[0])
    except (_ForeignError, OverflowError) as error:
        raise CommandError(f"{file} is not JSON in another form: {error}", _FORM) from error
    except RecursionError as error:
        raise CommandError(f"{file} is nested too deeply", _FORM) from error
    return context


class _ForeignError(Exception):
    """Something that JSON does not have."""


class _Translation:
    """Translates each part once, however often it occurs."""

    def __init__(self) -> None:
        self._translated: dict[int, Any] = {}
        self._open: set[int] = set()

    def of(self, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return value if _SMALLEST <= value <= _LARGEST else float(value)
        if value is None or isinstance(value, bool | float | str):
            return value
        if not isinstance(value, dict | list):
            raise _ForeignError(f"it has a value of type {type(value).__name__}")
        if id(value) in self._open:
            raise _ForeignError("it contains itself")
        if id(value) not in self._translated:
            self._open.add(id(value))
            self._translated[id(value)] = self._container(value)
            self._open.discard(id(value))
        return self._translated[id(value)]

    def _container(self, value: dict[Any, Any] | list[Any]) -> Any:
        if isinstance(value, list):
            return [self.of(element) for element in value]
        return {_key(key): self.of(element) for key, element in value.items()}


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, int | float):
        return str(key)
    raise _ForeignError(f"it has a key of type {type(key).__name__}")
