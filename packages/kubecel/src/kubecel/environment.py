"""An environment: which functions, macros, constants and variables expressions may use.

Environments are immutable. Libraries are worked up once into a `_Vocabulary`, which all environments that extend one
another by variables share, so that an environment per schema costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kubecel.checker import CheckedAst, CheckOptions, Declarations, FunctionTable, check
from kubecel.errors import CompileError, Issue
from kubecel.evaluation.compiling import UNRESOLVED, Resolved, compile_code
from kubecel.evaluation.dispatch import Dispatcher
from kubecel.functions import Library, Overload
from kubecel.limits import DEFAULT_LIMITS, Limits
from kubecel.parser import MacroTable, parse
from kubecel.program import Program
from kubecel.syntax import Ast
from kubecel.types import DYN, Type


class _Vocabulary:
    """What a set of libraries adds up to."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        self.libraries: Final = tuple(libraries)
        self.functions: Final = _collect_overloads(libraries)
        self.table: Final = FunctionTable(self.functions)
        self.macros: Final[MacroTable] = {
            (macro.name, macro.arity, macro.member): macro
            for library in libraries
            for macro in library.macros
        }
        self.constants: Final[dict[str, tuple[Type, Any]]] = {
            name: declared for library in libraries for name, declared in library.constants.items()
        }
        self._dispatchers: dict[tuple[str, bool, int], Dispatcher | None] = {}

    def dispatcher(self, name: str, *, member: bool, arity: int) -> Dispatcher | None:
        key = (name, member, arity)
        if key not in self._dispatchers:
            overloads = [
                overload
                for overload in self.functions.get(name, ())
                if overload.member == member and len(overload.params) == arity
            ]
            self._dispatchers[key] = Dispatcher(overloads) if overloads else None
        return self._dispatchers[key]


def _collect_overloads(libraries: Iterable[Library]) -> dict[str, tuple[Overload, ...]]:
    """Overloads by name of function. Libraries may repeat one another; the last declaration of an overload counts."""
    collected: dict[str, dict[str, Overload]] = {}
    for library in libraries:
        for function in library.functions:
            by_id = collected.setdefault(function.name, {})
            by_id.update({overload.id: overload for overload in function.overloads})
    return {name: tuple(by_id.values()) for name, by_id in collected.items()}


class Environment:
    """The names that expressions may use, and how strictly they are checked."""

    def __init__(
        self,
        libraries: Sequence[Library],
        variables: Mapping[str, Type] | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        options: CheckOptions | None = None,
    ) -> None:
        vocabulary = _Vocabulary(libraries)
        self._set(
            vocabulary, Declarations(vocabulary.table, variables, vocabulary.constants, options), limits
        )

    def _set(self, vocabulary: _Vocabulary, declarations: Declarations, limits: Limits) -> None:
        self._vocabulary = vocabulary
        self.declarations = declarations
        self.limits = limits

    def extend(
        self, *, variables: Mapping[str, Type] | None = None, libraries: Sequence[Library] = ()
    ) -> Environment:
        """The same with more variables or libraries. New variables hide old ones."""
        declared = {**self.declarations.variables, **(variables or {})}
        options = self.declarations.options
        if libraries:
            together = (*self._vocabulary.libraries, *libraries)
            return Environment(together, declared, limits=self.limits, options=options)
        extended = object.__new__(Environment)
        extended._set(self._vocabulary, self.declarations.extend(declared), self.limits)
        return extended

    def parse(self, text: str) -> Ast:
        """The syntax tree of a text, macros expanded; raises `CompileError`."""
        try:
            return parse(text, self._vocabulary.macros, self.limits)
        except RecursionError:
            raise _too_deep() from None

    def check(self, text: str, *, expected: Type | None = None) -> CheckedAst:
        """Parse and check a text; raises `CompileError`. For those who want to know about it, not to evaluate it."""
        ast = self.parse(text)
        try:
            return check(ast, self.declarations, expected=expected)
        except RecursionError:
            raise _too_deep() from None

    def compile(self, text: str, *, expected: Type | None = None, checked: bool = True) -> Program:
        """Parse, check and compile a text; raises `CompileError`.

        Without the check, whatever it would have found shows when the program is evaluated.
        """
        if not checked:
            return self._program(self.parse(text), DYN, UNRESOLVED)
        return self.program(self.check(text, expected=expected))

    def program(self, checked: CheckedAst) -> Program:
        """Compile what this environment has checked."""
        return self._program(checked.ast, checked.type, Resolved(checked.properties, checked.overloads))

    def _program(self, ast: Ast, kind: Type, resolved: Resolved) -> Program:
        try:
            return Program(self, ast, kind, compile_code(ast, self, resolved))
        except RecursionError:
            raise _too_deep() from None

    # What the compiler asks

    def dispatcher(self, name: str, *, member: bool, arity: int) -> Dispatcher | None:
        return self._vocabulary.dispatcher(name, member=member, arity=arity)

    def has_function(self, name: str) -> bool:
        return name in self._vocabulary.functions

    def constant(self, name: str) -> tuple[Type, Any] | None:
        return self._vocabulary.constants.get(name)

    def is_constant(self, name: str) -> bool:
        return name in self._vocabulary.constants and not self.is_variable(name)

    def is_variable(self, name: str) -> bool:
        return name in self.declarations.variables

    def is_dotted(self, root: str) -> bool:
        return root in self.declarations.dotted_roots


def _too_deep() -> CompileError:
    return CompileError([Issue("expression is nested too deeply")])
