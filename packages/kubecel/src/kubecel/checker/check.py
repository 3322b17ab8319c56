"""The type checker: gives each node a type, each name a declaration and each call its overloads, or says what is wrong.

It is one pass over the tree, from the inside to the outside, as cel-go does it. Errors do not stop it: a node that
cannot be typed has the type `ERROR`, which goes with everything, so that one mistake is reported once.

Handlers call one another directly, one frame per level of the tree (two for selections): the parser's limit of depth
is thereby the checker's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kubecel.checker import messages
from kubecel.checker.checked import CheckedAst
from kubecel.checker.declarations import Declarations
from kubecel.checker.resolve import Resolver
from kubecel.checker.unify import Substitution, more_general
from kubecel.errors import CompileError, Issue, locate
from kubecel.functions import Overload
from kubecel.syntax import (
    Ast,
    Call,
    Comprehension,
    Expr,
    FieldInit,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Operator,
    Select,
    StructLiteral,
    qualified_name,
)
from kubecel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Kind,
    ObjectType,
    Type,
    list_of,
    map_of,
    optional_of,
)
from kubecel.values import Uint

_LITERAL_TYPES: Final[dict[type, Type]] = {
    type(None): NULL,
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
}
_LOGICAL: Final = frozenset({Operator.AND, Operator.OR})
_WILD: Final = frozenset({Kind.DYN, Kind.ERROR})


def check(ast: Ast, declarations: Declarations, *, expected: Type | None = None) -> CheckedAst:
    """Check an expression; raises `CompileError` with everything that is wrong.

    With `expected`, the whole expression must also be usable as that type.
    """
    checker = _Checker(ast, declarations)
    outcome = checker.expression(ast.root)
    if expected is not None and not checker.known.assignable(outcome, expected):
        checker.report(ast.root, messages.type_mismatch(expected, checker.known.settle(outcome)))
    checked = checker.finish()
    for validator in declarations.options.validators:
        for node, message in validator(checked):
            checker.report(node, message)
    checker.raise_problems()
    return checked


class _Checker:
    """The state of one pass."""

    def __init__(self, ast: Ast, declarations: Declarations) -> None:
        self.known = Substitution()
        self._ast = ast
        self._declarations = declarations
        self._functions = declarations.functions
        self._resolver = Resolver(declarations, self.known)
        self._locals: dict[str, Type] = {}
        self._types: dict[int, Type] = {}
        self._overloads: dict[int, tuple[Overload, ...]] = {}
        self._names: dict[int, str] = {}
        self._qualified: dict[int, str] = {}
        self._properties: dict[int, str] = {}
        self._problems: list[tuple[int, str]] = []

    def raise_problems(self) -> None:
        if self._problems:
            source = self._ast.source
            ordered = sorted(dict.fromkeys(self._problems), key=lambda problem: problem[0])
            raise CompileError([Issue(message, locate(source, offset)) for offset, message in ordered])

    def finish(self) -> CheckedAst:
        """Settle all type parameters, or raise."""
        self.raise_problems()
        types = self._types
        settle = self.known.settle
        for node_id, subject in types.items():
            if subject.generic:
                types[node_id] = settle(subject)
        return CheckedAst(
            ast=self._ast,
            type=types[self._ast.root.id],
            types=types,
            overloads=self._overloads,
            names=self._names,
            functions=self._qualified,
            properties=self._properties,
        )

    def report(self, node: Node, message: str) -> None:
        self._problems.append((node.offset, message))

    def expression(self, node: Expr) -> Type:
        """Check any node. Handlers use `_HANDLERS` directly instead, to spare a frame."""
        return _HANDLERS[type(node)](self, node)

    # --- names ---------------------------------------------------------------------------------------------------

    def literal(self, node: Literal) -> Type:
        found = self._types[node.id] = _LITERAL_TYPES[type(node.value)]
        return found

    def ident(self, node: Ident) -> Type:
        name = node.name
        found = self._locals.get(name)
        if found is None:
            name = name.removeprefix(".")
            found = self._declarations.lookup(name)
            if found is None:
                self.report(node, messages.undeclared_reference(name))
                found = ERROR
        self._names[node.id] = name
        self._types[node.id] = found
        return found

    def select(self, node: Select) -> Type:
        found = self._declared(node) if self._declarations.dotted_roots else None
        if found is None:
            found = self._field(node, node.operand, node.field)
            if node.test:
                found = BOOL
        self._types[node.id] = found
        return found

    def _declared(self, node: Select) -> Type | None:
        """A selection may spell the name of a variable or type; the longest such name wins."""
        name = qualified_name(node) if not node.test else None
        if name is None:
            return None
        root = name.partition(".")[0] or name[1:].partition(".")[0]
        if root not in self._declarations.dotted_roots or root in self._locals:
            return None
        name = name.removeprefix(".")
        found = self._declarations.lookup(name)
        if found is not None:
            self._names[node.id] = name
        return found

    def _field(self, node: Expr, operand: Expr, field: str, *, optional: bool = False) -> Type:
        whole = self.known.apply(_HANDLERS[type(operand)](self, operand))
        target = whole.params[0] if whole.kind is Kind.OPTIONAL else whole
        found = DYN
        if target.kind is Kind.MAP:
            found = self.known.apply(target.params[1])
        elif isinstance(target, ObjectType):
            found = self._object_field(node, target, field)
        elif target.kind is Kind.PARAM:
            self.known.assignable(DYN, target)
        elif target.kind not in _WILD:
            self.report(node, messages.no_field_selection(target))
        return optional_of(found) if optional or target is not whole else found

    def _object_field(self, node: Expr, target: ObjectType, field: str) -> Type:
        found = target.field(field)
        if found is None:
            self.report(node, messages.undefined_field(field))
            return ERROR
        if (key := target.keys.get(field)) is not None:
            self._properties[node.id] = key
        return found

    # --- calls ---------------------------------------------------------------------------------------------------

    def call(self, node: Call) -> Type:
        if node.function == Operator.OPTIONAL_SELECT:
            found = self._optional_select(node)
        else:
            arguments = [_HANDLERS[type(argument)](self, argument) for argument in node.args]
            found = (
                self._logical(node, arguments) if node.function in _LOGICAL else self._apply(node, arguments)
            )
        self._types[node.id] = found
        return found

    def _optional_select(self, node: Call) -> Type:
        operand, field = node.args
        if not isinstance(field, Literal) or not isinstance(field.value, str):
            self.report(field, messages.bad_optional_selection())
            return ERROR
        self._types[field.id] = STRING
        return self._field(node, operand, field.value, optional=True)

    def _logical(self, node: Call, arguments: Sequence[Type]) -> Type:
        fine = True
        for argument, found in zip(node.args, arguments, strict=True):
            if not self.known.assignable(found, BOOL):
                self.report(argument, messages.type_mismatch(BOOL, self.known.settle(found)))
                fine = False
        candidates = self._functions.candidates(node.function, member=False)
        self._overloads[node.id] = tuple([candidate.overload for candidate in candidates])
        return BOOL if fine else ERROR

    def _apply(self, node: Call, arguments: list[Type]) -> Type:
        if node.target is None:
            return self._resolved(node, node.function.removeprefix("."), arguments, member=False)
        prefix = qualified_name(node.target)
        if prefix is not None:
            name = f"{prefix.removeprefix('.')}.{node.function}"
            if name in self._functions:
                self._qualified[node.id] = name
                return self._resolved(node, name, arguments, member=False)
        arguments.insert(0, _HANDLERS[type(node.target)](self, node.target))
        return self._resolved(node, node.function, arguments, member=True)

    def _resolved(self, node: Call, name: str, arguments: list[Type], *, member: bool) -> Type:
        outcome = self._resolver.resolve(name, arguments, member=member)
        if outcome is None:
            self.report(node, self._why_not(name, arguments, member=member))
            return ERROR
        self._overloads[node.id] = outcome.overloads
        return outcome.result

    def _why_not(self, name: str, arguments: list[Type], *, member: bool) -> str:
        if name not in self._functions:
            return messages.undeclared_reference(name)
        shown = [self.known.settle(argument) for argument in arguments]
        return messages.no_matching_overload(name, shown, member=member)

    # --- literals of containers ----------------------------------------------------------------------------------

    def list_literal(self, node: ListLiteral) -> Type:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            found = _HANDLERS[type(element)](self, element)
            if index in node.optional:
                found = self._unwrapped(element, found)
            joined = found if joined is None else self._join(joined, found)
        outcome = self._types[node.id] = list_of(joined or self._resolver.new_parameter())
        return outcome

    def map_literal(self, node: MapLiteral) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            key = _HANDLERS[type(entry.key)](self, entry.key)
            keys = key if keys is None else self._join(keys, key)
            value = _HANDLERS[type(entry.value)](self, entry.value)
            if entry.optional:
                value = self._unwrapped(entry.value, value)
            values = value if values is None else self._join(values, value)
        outcome = map_of(keys or self._resolver.new_parameter(), values or self._resolver.new_parameter())
        self._types[node.id] = outcome
        return outcome

    def _unwrapped(self, node: Expr, found: Type) -> Type:
        """The value of an element that may be absent."""
        if found.kind is Kind.OPTIONAL:
            return found.params[0]
        if found.kind is not Kind.DYN:
            settled = self.known.settle(found)
            self.report(node, messages.type_mismatch(optional_of(settled), settled))
        return found

    def _join(self, joined: Type, found: Type) -> Type:
        """The common type of the elements so far and one more."""
        if self.known.assignable(joined, found):
            return more_general(joined, found)
        return DYN

    def struct_literal(self, node: StructLiteral) -> Type:
        outcome = self._message_type(node)
        for init in node.fields:
            self._init(outcome, init)
        self._types[node.id] = outcome
        return outcome

    def _message_type(self, node: StructLiteral) -> Type:
        name = node.name.removeprefix(".")
        declared = self._declarations.lookup(name)
        if declared is None:
            self.report(node, messages.undeclared_reference(name))
        elif declared.kind is not Kind.TYPE or not declared.params:
            self.report(node, messages.not_a_type(declared.name))
        elif not isinstance(declared.params[0], ObjectType):
            self.report(node, messages.not_a_message_type(declared.params[0].name))
        else:
            self._names[node.id] = name
            return declared.params[0]
        return ERROR

    def _init(self, message: Type, init: FieldInit) -> None:
        found = _HANDLERS[type(init.value)](self, init.value)
        if not isinstance(message, ObjectType):
            return
        if init.optional:
            found = self._unwrapped(init.value, found)
        expected = message.field(init.name)
        if expected is None:
            self.report(init, messages.undefined_field(init.name))
        elif not self.known.assignable(expected, found):
            self.report(init, messages.field_type_mismatch(init.name, expected, self.known.settle(found)))

    # --- comprehensions ------------------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> Type:
        ranged = self.known.apply(_HANDLERS[type(node.range)](self, node.range))
        collected = _HANDLERS[type(node.initial)](self, node.initial)
        # Like cel-go: from the first comprehension on, numbers of different types may be compared.
        self._resolver.cross_type = True
        outer = self._locals
        first, second = self._variables(node, ranged)
        with_result = {**outer, node.accumulator: collected}
        inner = {**with_result, node.variable: first}
        if node.second is not None:
            inner[node.second] = second
        self._locals = inner
        self._expect(node.condition, BOOL)
        self._expect(node.step, collected)
        self._locals = with_result
        outcome = self.known.apply(_HANDLERS[type(node.result)](self, node.result))
        self._locals = outer
        self._types[node.id] = outcome
        return outcome

    def _variables(self, node: Comprehension, ranged: Type) -> tuple[Type, Type]:
        """The types of the variables: element, or index and element, of a list; key, or key and value, of a map."""
        if ranged.kind is Kind.LIST:
            element = ranged.params[0]
            return (element, element) if node.second is None else (INT, element)
        if ranged.kind is Kind.MAP:
            return ranged.params[0], ranged.params[1]
        if ranged.kind in _WILD or ranged.kind is Kind.PARAM:
            self.known.assignable(DYN, ranged)
            return DYN, DYN
        self.report(node.range, messages.not_a_range(ranged))
        return ERROR, ERROR

    def _expect(self, node: Expr, expected: Type) -> None:
        found = _HANDLERS[type(node)](self, node)
        if not self.known.assignable(expected, found):
            self.report(node, messages.type_mismatch(self.known.settle(expected), self.known.settle(found)))


_HANDLERS: Final[dict[type, Callable[[_Checker, Any], Type]]] = {
    Literal: _Checker.literal,
    Ident: _Checker.ident,
    Select: _Checker.select,
    Call: _Checker.call,
    ListLiteral: _Checker.list_literal,
    MapLiteral: _Checker.map_literal,
    StructLiteral: _Checker.struct_literal,
    Comprehension: _Checker.comprehension,
}
