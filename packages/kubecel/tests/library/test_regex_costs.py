"""What patterns cost: by what they are once compiled, not by how short they are written."""

from __future__ import annotations

import pytest

from kubecel.environments import kro
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.types import STRING

ENVIRONMENT = kro().extend(variables={"text": STRING})


@pytest.mark.parametrize("function", ["matches", "find", "findAll"])
def test_short_pattern_of_many_states_is_charged_for_its_states(function: str) -> None:
    program = ENVIRONMENT.compile(f"text.{function}('a{{1000}}a{{1000}}a{{1000}}')")
    with pytest.raises(EvaluationError) as refused:
        program.evaluate({"text": "a" * 200_000})
    assert refused.value.kind is ErrorKind.COST_EXCEEDED


def test_broken_pattern_is_an_error_of_its_own() -> None:
    program = ENVIRONMENT.compile("text.matches(text)")
    with pytest.raises(EvaluationError, match="error parsing regexp"):
        program.evaluate({"text": "("})


def test_value_that_is_not_optional_is_told_by_its_type() -> None:
    program = kro().compile("optional.unwrap(dyn([[1, 2]]))")
    with pytest.raises(EvaluationError, match=r"a value of type list.* is not optional"):
        program.evaluate({})
