"""Expressions evaluated in one line, for tests of libraries."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.environment import Environment
from kubecel.environments import kro, kubernetes
from kubecel.errors import CompileError, EvaluationError
from kubecel.types import DYN


def in_kro(text: str, /, **variables: Any) -> Any:
    """The value of an expression in the environment `kro`, its variables being of any type."""
    return _evaluate(kro(), text, variables)


def in_kubernetes(text: str, /, **variables: Any) -> Any:
    return _evaluate(kubernetes(), text, variables)


def _evaluate(environment: Environment, text: str, variables: dict[str, Any]) -> Any:
    declared = environment.extend(variables=dict.fromkeys(variables, DYN))
    return declared.compile(text).evaluate(variables)


def failure(text: str, /, *, environment: Environment | None = None, **variables: Any) -> EvaluationError:
    """The error with which an expression ends when it is evaluated."""
    with pytest.raises(EvaluationError) as caught:
        _evaluate(environment or kro(), text, variables)
    return caught.value


def refusal(text: str, environment: Environment) -> str:
    """What the compiler has against an expression."""
    with pytest.raises(CompileError) as caught:
        environment.compile(text)
    return caught.value.message


def cost(text: str, environment: Environment, /, **variables: Any) -> int:
    """What the evaluation of an expression costs."""
    declared = environment.extend(variables=dict.fromkeys(variables, DYN))
    return declared.compile(text).measure(variables, budget=10**9).cost
