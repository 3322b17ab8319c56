"""Reads the variables of `edgekeeper cel` from a YAML or JSON file.

Values are converted to JSON as for an API server: keys become strings, and integers beyond 64 bits become doubles. YAML
values without a JSON equivalent are refused. A value that YAML aliases share is converted once and stays shared, so that
a small file cannot expand into a large object.
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
    documents = (
        [] if file is None else [document for document in read_documents(file) if document is not None]
    )
    if not documents:
        return {}
    if len(documents) > 1 or not isinstance(documents[0], dict):
        raise CommandError(f"{file} must contain a single object", _FORM)
    try:
        context: JsonObject = _Translation().of(documents[0])
    except (_ForeignError, OverflowError) as error:
        raise CommandError(f"{file} cannot be converted to JSON: {error}", _FORM) from error
    except RecursionError as error:
        raise CommandError(f"{file} is nested too deeply", _FORM) from error
    return context


class _ForeignError(Exception):
    """The value has no JSON equivalent."""


class _Translation:
    """Converts each value once, even if aliases refer to it several times."""

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
