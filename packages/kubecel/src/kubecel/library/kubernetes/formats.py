"""`format.dns1123Label().validate(name)`: what is wrong with a name, as an optional list of complaints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubecel.functions import Function, Library
from kubecel.library import costs, estimates
from kubecel.library.declaring import LIST_OF_STRINGS, function, on_call, on_target
from kubecel.library.kubernetes.named_format import FORMATS as NAMED_FORMATS
from kubecel.library.kubernetes.named_format import NamedFormat
from kubecel.types import STRING, optional_of
from kubecel.values import NONE, Optional

_FORMAT: Final = NamedFormat.cel_type


def validate(named: NamedFormat, text: str) -> Optional:
    problems = named.check(text)
    return Optional.of(problems) if problems else NONE


def _validate_cost(named: NamedFormat, text: str) -> int:
    return costs.match_cost(len(text), named.pattern_length)


def by_name(name: str) -> Optional:
    found = NAMED_FORMATS.get(name)
    return NONE if found is None else Optional.of(found)


def _returning(named: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: named


def _constant(name: str, named: NamedFormat) -> Function:
    qualified = f"format.{name}"
    return function(qualified, on_call(qualified, (), _FORMAT, _returning(named)))


FORMATS: Final = Library(
    "kubernetes.format",
    (
        function("format.named", on_call("format-named", (STRING,), optional_of(_FORMAT), by_name)),
        function(
            "validate",
            on_target(
                "format-validate",
                (_FORMAT, STRING),
                optional_of(LIST_OF_STRINGS),
                validate,
                _validate_cost,
                estimates.validate_format,
            ),
        ),
        *(_constant(name, named) for name, named in NAMED_FORMATS.items()),
    ),
)
