"""The words of type errors. They are cel-go's, because people search for them and tools match them."""

from __future__ import annotations

from collections.abc import Sequence

from kubecel.types import Type


def undeclared_reference(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


def undefined_field(name: str) -> str:
    return f"undefined field '{name}'"


def no_field_selection(operand: Type) -> str:
    return f"type '{operand}' does not support field selection"


def no_matching_overload(name: str, arguments: Sequence[Type], *, member: bool) -> str:
    target = f"{arguments[0]}." if member else ""
    shown = ", ".join(map(str, arguments[1:] if member else arguments))
    return f"found no matching overload for '{name}' applied to '{target}({shown})'"


def type_mismatch(expected: Type, found: Type) -> str:
    return f"expected type '{expected}' but found '{found}'"


def not_a_range(subject: Type) -> str:
    return (
        f"expression of type '{subject}' cannot be range of a comprehension (must be list, map, or dynamic)"
    )


def not_a_type(name: str) -> str:
    return f"'{name}' is not a type"


def not_a_message_type(name: str) -> str:
    return f"'{name}' is not a message type"


def field_type_mismatch(field: str, expected: Type, found: Type) -> str:
    return f"expected type of field '{field}' is '{expected}' but provided type is '{found}'"


def bad_optional_selection() -> str:
    return "unsupported optional field selection"


def invalid_argument(function: str) -> str:
    return f"invalid {function} argument"
