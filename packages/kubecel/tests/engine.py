"""Expressions of the language itself, evaluated in one line."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kubecel.environment import Environment
from kubecel.errors import CompileError, EvaluationError
from kubecel.standard import BINDINGS, OPTIONALS, STANDARD, TWO_VARIABLE_COMPREHENSIONS
from kubecel.types import DYN

ENVIRONMENT: Final = Environment([STANDARD, OPTIONALS, BINDINGS, TWO_VARIABLE_COMPREHENSIONS])


def evaluate(text: str, /, *, checked: bool = True, **variables: Any) -> Any:
    """The value of an expression, its variables being of any type."""
    environment = ENVIRONMENT.extend(variables=dict.fromkeys(variables, DYN))
    return environment.compile(text, checked=checked).evaluate(variables)


def failure(text: str, /, *, checked: bool = True, **variables: Any) -> EvaluationError:
    """The error with which an expression ends when it is evaluated."""
    with pytest.raises(EvaluationError) as caught:
        evaluate(text, checked=checked, **variables)
    return caught.value


def refusal(text: str) -> CompileError:
    """Why an expression does not compile."""
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile(text)
    return caught.value


def cost(text: str, /, **variables: Any) -> int:
    """What the evaluation of an expression costs."""
    environment = ENVIRONMENT.extend(variables=dict.fromkeys(variables, DYN))
    return environment.compile(text).measure(variables, budget=10**9).cost
