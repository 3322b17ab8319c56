"""What is wrong with one field of an object, in kube-apiserver's words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import msgspec

from edgekeeper.schema.gotext import quote, show_number

_REASON_OF_PROBLEM = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Not found": "FieldValueNotFound",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Type invalid": "FieldValueTypeInvalid",
    "Internal error": "InternalError",
}

NO_VALUE = object()
"""Marks a field error whose message shows no value."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field. `problem` is a key of the table above."""

    field: str
    problem: str
    detail: str = ""
    value: Any = NO_VALUE
    _: KW_ONLY
    tolerated: bool = False
    """Told to the client, but no reason to refuse: it was wrong before."""

    @property
    def reason(self) -> str:
        return _REASON_OF_PROBLEM[self.problem]

    @property
    def body(self) -> str:
        """The message without the field path, as it appears in a status cause."""
        text = "Invalid value" if self.problem == "Type invalid" else self.problem
        if self.value is not NO_VALUE:
            text = f"{text}: {_show(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(field, "Required value", detail)


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(field, "Invalid value", detail, value)


def unsupported_value(field: str, value: Any, supported: Iterable[Any]) -> FieldError:
    shown = ", ".join(_show(choice) for choice in supported)
    return FieldError(field, "Unsupported value", f"supported values: {shown}", value)


def duplicate_value(field: str, value: Any) -> FieldError:
    return FieldError(field, "Duplicate value", "", value)


def forbidden_field(field: str, detail: str) -> FieldError:
    return FieldError(field, "Forbidden", detail)


def internal_problem(field: str, detail: str) -> FieldError:
    return FieldError(field, "Internal error", detail)


def too_long(field: str, limit: int) -> FieldError:
    return FieldError(field, "Too long", f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    return FieldError(
        field, "Too many", f"must have at most {limit} {'item' if limit == 1 else 'items'}", actual
    )


def _show(value: Any) -> str:
    """Render a value as Go's field errors do: strings quoted, objects and lists as compact JSON, keys in order."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return show_number(value)
    return _escaped(msgspec.json.encode(value, order="deterministic").decode())


def _escaped(text: str) -> str:
    """JSON as Go writes it: harmless inside of HTML."""
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
