"""Making optionals, and what counts as zero."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.errors import ErrorKind
from kubecel.standard.optional import is_zero
from kubecel.values import NONE, Duration, Optional, Timestamp, Uint
from packages.kubecel.tests.engine import evaluate, failure


@pytest.mark.parametrize("value", [None, False, 0, Uint(0), 0.0, "", b"", [], (), {}, Duration(0)])
def test_empty_values_are_zero(value: Any) -> None:
    assert is_zero(value)
    assert evaluate("optional.ofNonZeroValue(x)", x=value) is NONE


@pytest.mark.parametrize(
    "value", [True, 1, Uint(1), 0.1, "a", b"a", [None], {"a": None}, Duration(1), Timestamp(0)]
)
def test_other_values_are_not(value: Any) -> None:
    assert not is_zero(value)
    assert evaluate("optional.ofNonZeroValue(x).value()", x=value) == value


def test_lists_have_a_first_and_a_last_or_neither() -> None:
    assert evaluate("[[1, 2].first().value(), [1, 2].last().value()]") == [1, 2]
    assert evaluate("[].first()") is NONE
    assert evaluate("[].last()") is NONE


def test_lists_of_optionals_are_unwrapped() -> None:
    assert evaluate("optional.unwrap([optional.of(1), optional.none()])") == [1]
    assert evaluate("[optional.none(), optional.of(2)].unwrapOpt()") == [2]
    assert failure("x.unwrapOpt()", x=[Optional.of(1), 2]).kind is ErrorKind.INVALID_ARGUMENT
