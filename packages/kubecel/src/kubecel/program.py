"""A compiled expression, ready to be evaluated any number of times, in any thread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kubecel.dependencies import Path, free_paths
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.evaluation.code import budget_exceeded
from kubecel.evaluation.compiling import Compiled
from kubecel.limits import DEFAULT_BUDGET, check_total_size
from kubecel.standard.indexing import MISSING
from kubecel.syntax import Ast
from kubecel.types import Type
from kubecel.values import Value

if TYPE_CHECKING:
    from kubecel.environment import Environment


class Outcome(NamedTuple):
    """A value, and what it cost to get it."""

    value: Value
    cost: int


class Program:
    """An expression of an environment."""

    def __init__(self, environment: Environment, ast: Ast, kind: Type, compiled: Compiled) -> None:
        self.source: Final = ast.source
        self.ast: Final = ast
        self.type: Final = kind
        """What it evaluates to, as far as the checker could tell."""
        self.identifiers: Final = frozenset(name for name, _ in compiled.inputs)
        """The variables of the environment that it uses."""
        self._environment = environment
        self._run, self._static_cost = compiled.code
        self._inputs = compiled.inputs
        self._blank: list[Any] = [0] + [MISSING] * (compiled.slots - 1)

    @cached_property
    def paths(self) -> frozenset[Path]:
        """The fields that it reads: `("schema", "spec", "name")`."""
        environment = self._environment
        return free_paths(self.ast.root, environment.has_function, environment.is_constant)

    def evaluate(self, variables: Mapping[str, Value], *, budget: int = DEFAULT_BUDGET) -> Value:
        """The value for these variables; raises `EvaluationError`."""
        return self._evaluate(variables, budget)[0]

    def measure(self, variables: Mapping[str, Value], *, budget: int = DEFAULT_BUDGET) -> Outcome:
        """The value for these variables, and what it cost."""
        value, frame = self._evaluate(variables, budget)
        return Outcome(value, budget - frame[0])

    def _evaluate(self, variables: Mapping[str, Value], budget: int) -> tuple[Value, list[Any]]:
        frame = self._blank.copy()
        frame[0] = budget - self._static_cost
        for name, slot in self._inputs:
            if name in variables:
                frame[slot] = variables[name]
        try:
            value = self._run(frame)
            if frame[0] < 0:
                raise budget_exceeded()
            if type(value) is list or type(value) is dict:
                check_total_size(value)
        except EvaluationError as error:
            error.place(self.source)
            error.cost = budget - frame[0]
            raise
        except RecursionError:
            raise EvaluationError(ErrorKind.TOO_DEEP, "values are nested too deeply") from None
        return value, frame
