"""The walk over the tree: resolves names, picks the closure for each node, and adds up static costs.

Handlers look up one another in tables and call directly, two frames per level of the tree, so that the parser's limit of
depth keeps this walk within the interpreter's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from kubecel.evaluation import access, calls, construction, logic, loops, operations
from kubecel.evaluation.code import IDENT_COST, LIST_COST, Code, constant
from kubecel.evaluation.dispatch import Dispatcher
from kubecel.evaluation.loops import Parts, Range
from kubecel.evaluation.shapes import Binding, Collection, Count, Insertion, Quantifier, shape_of
from kubecel.functions import Overload
from kubecel.syntax import (
    Ast,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Operator,
    Select,
    StructLiteral,
    qualified_name,
)

_OPTIONAL_CHOICES: Final = ("or", "orValue")
_LOOK_UPS: Final = (Operator.INDEX, Operator.OPTIONAL_INDEX, Operator.OPTIONAL_SELECT)


class Names(Protocol):
    """What the compiler must know of an environment."""

    def dispatcher(self, name: str, *, member: bool, arity: int) -> Dispatcher | None: ...

    def has_function(self, name: str) -> bool: ...

    def constant(self, name: str) -> tuple[Any, Any] | None: ...

    def is_variable(self, name: str) -> bool: ...

    def is_dotted(self, root: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression that is ready to run in a frame."""

    code: Code
    inputs: tuple[tuple[str, int], ...]
    """Variables of the environment that occur, with their slots."""
    slots: int
    """How many slots a frame needs."""


class Resolved(NamedTuple):
    """What the checker found out and values do not tell, by node."""

    properties: Mapping[int, str]
    """Keys that differ from the names of the fields."""
    overloads: Mapping[int, tuple[Overload, ...]]
    """Those that a call may mean."""


UNRESOLVED: Final = Resolved({}, {})
"""Of an expression that was not checked."""


def compile_code(ast: Ast, names: Names, resolved: Resolved) -> Compiled:
    """Compile a tree."""
    compiler = _Compiler(names, resolved)
    code = compiler.expression(ast.root)
    return Compiled(code, tuple(compiler.inputs.items()), compiler.slots)


class _Local(NamedTuple):
    """A variable that a macro has introduced."""

    code: Code
    slot: int | None
    """Where its value is, unless that is found out only when it is needed."""


class _Compiler:
    """The state of one walk."""

    def __init__(self, names: Names, resolved: Resolved) -> None:
        self._names = names
        self._properties = resolved.properties
        self._overloads = resolved.overloads
        self._locals: dict[str, _Local] = {}
        self.inputs: dict[str, int] = {}
        self.slots = 1

    def _new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def expression(self, node: Expr) -> Code:
        """Compile any node. Handlers use `_HANDLERS` directly instead, to spare a frame."""
        return _HANDLERS[type(node)](self, node)

    def _maybe(self, node: Expr | None) -> Code | None:
        return None if node is None else _HANDLERS[type(node)](self, node)

    # Names

    def ident(self, node: Ident) -> Code:
        found = self._locals.get(node.name)
        return found.code if found is not None else self._global(node.name.removeprefix("."), node.offset)

    def _global(self, name: str, offset: int) -> Code:
        if not self._names.is_variable(name) and (found := self._names.constant(name)) is not None:
            return constant(found[1])
        return access.variable(name, self._input(name), offset)

    def _input(self, name: str) -> int:
        slot = self.inputs.get(name)
        if slot is None:
            slot = self.inputs[name] = self._new_slot()
        return slot

    # Fields

    def select(self, node: Select) -> Code:
        if node.test:
            return access.presence(self._attribute(node.operand), self._key(node))
        steps: list[access.Step] = []
        root: Expr = node
        while isinstance(root, Select) and not root.test:
            steps.append((self._key(root), root.offset))
            root = root.operand
        if not isinstance(root, Ident):
            return access.path_of_value(self._attribute(root), tuple(reversed(steps)))
        if root.name not in self._locals and self._names.is_dotted(root.name.removeprefix(".")):
            return self._dotted(node, steps)
        return self._path(self.ident(root), root.name, steps)

    def _dotted(self, node: Select, steps: list[access.Step]) -> Code:
        """A selection may spell the name of a variable or constant; the longest such name wins."""
        current: Expr = node
        for length in range(len(steps)):
            name = (qualified_name(current) or "").removeprefix(".")
            if self._names.is_variable(name) or self._names.constant(name) is not None:
                return self._path(self._global(name, current.offset), name, steps[:length])
            if isinstance(current, Select):
                current = current.operand
        root = (qualified_name(current) or "").removeprefix(".")
        return self._path(self._global(root, current.offset), root, steps)

    def _path(self, root: Code, name: str, steps: list[access.Step]) -> Code:
        """Steps are given from the last to the first."""
        if not steps:
            return root
        ordered = tuple(reversed(steps))
        found = self._locals.get(name)
        slot = self.inputs.get(name.removeprefix(".")) if found is None else found.slot
        if slot is None:
            return access.path_of_value(root, ordered)
        return access.path_of_slot(name, slot, ordered)

    def _attribute(self, node: Expr) -> Code:
        """Something that is looked into. cel-go charges for anything but variables as if it were one."""
        run, cost = _HANDLERS[type(node)](self, node)
        return Code(run, cost if _is_attribute(node) else cost + IDENT_COST)

    def _key(self, node: Select) -> str:
        return self._properties.get(node.id, node.field)

    # Calls

    def call(self, node: Call) -> Code:
        if node.target is None:
            special = _OPERATORS.get(node.function, _Compiler.function)
            return special(self, node)
        prefix = qualified_name(node.target)
        if prefix is not None:
            name = f"{prefix.removeprefix('.')}.{node.function}"
            if self._names.has_function(name):
                return self._dispatched(node, name, node.args)
        if node.function in _OPTIONAL_CHOICES and len(node.args) == 1:
            optional, alternative = self._pair((node.target, node.args[0]))
            return logic.optional_or(optional, alternative, unwrap=node.function == "orValue")
        return self._dispatched(node, node.function, (node.target, *node.args), member=True)

    def function(self, node: Call) -> Code:
        return self._dispatched(node, node.function.removeprefix("."), node.args)

    def _dispatched(self, node: Call, name: str, args: tuple[Expr, ...], *, member: bool = False) -> Code:
        dispatcher = self._names.dispatcher(name, member=member, arity=len(args))
        if dispatcher is None:
            return calls.unknown_function(name, node.offset)
        if dispatcher.ambiguous and node.id in self._overloads:
            dispatcher = Dispatcher(self._overloads[node.id])
        codes: list[Code] = []
        for arg in args:  # not a comprehension, which would be a frame of its own
            codes.append(_HANDLERS[type(arg)](self, arg))  # noqa: PERF401
        return calls.call(dispatcher, tuple(codes), node.offset)

    def _pair(self, args: tuple[Expr, ...]) -> tuple[Code, Code]:
        left, right = args
        return _HANDLERS[type(left)](self, left), _HANDLERS[type(right)](self, right)

    # Operators with closures of their own

    def junction(self, node: Call) -> Code:
        terms = [self.expression(term) for term in _terms(node)]
        return logic.junction(terms, node.function == Operator.OR, node.offset)

    def conditional(self, node: Call) -> Code:
        condition, truth, falsity = node.args
        return logic.conditional(
            _HANDLERS[type(condition)](self, condition),
            self._branch(truth),
            self._branch(falsity),
            node.offset,
        )

    def _branch(self, node: Expr) -> Code:
        """A branch of a conditional. Where it is a variable or part of one, cel-go does not charge for the variable.

        Names of types look like variables, but cost nothing anyway.
        """
        run, cost = _HANDLERS[type(node)](self, node)
        is_free = _is_attribute(node) and not _is_conditional(node)
        return Code(run, max(cost - IDENT_COST, 0) if is_free else cost)

    def negation(self, node: Call) -> Code:
        return logic.negation(self.expression(node.args[0]), node.offset)

    def not_strictly_false(self, node: Call) -> Code:
        return logic.not_strictly_false(self.expression(node.args[0]))

    def equality(self, node: Call) -> Code:
        return operations.equality(*self._pair(node.args), negated=node.function == Operator.NOT_EQUALS)

    def relation(self, node: Call) -> Code:
        return operations.relation(node.function, *self._pair(node.args), node.offset)

    def element(self, node: Call) -> Code:
        container, key = node.args
        return access.element(self._attribute(container), _HANDLERS[type(key)](self, key), node.offset)

    def optional_element(self, node: Call) -> Code:
        container, key = node.args
        renamed = self._properties.get(node.id)
        code = _HANDLERS[type(key)](self, key) if renamed is None else constant(renamed)
        return access.optional_element(self._attribute(container), code, node.offset)

    def addition(self, node: Call) -> Code:
        return operations.addition(*self._pair(node.args), self._invocation(node))

    def membership(self, node: Call) -> Code:
        return operations.membership(*self._pair(node.args), self._invocation(node))

    def _invocation(self, node: Call) -> calls.Invoke:
        dispatcher = self._names.dispatcher(node.function, member=False, arity=len(node.args))
        return calls.invocation(dispatcher or Dispatcher(()), node.offset)

    # Literals

    def literal(self, node: Literal) -> Code:
        return constant(node.value)

    def list_literal(self, node: ListLiteral) -> Code:
        elements = [self.expression(element) for element in node.elements]
        return construction.list_of(elements, node.optional, node.offset)

    def map_literal(self, node: MapLiteral) -> Code:
        entries = [
            (self.expression(entry.key), self.expression(entry.value), entry.optional)
            for entry in node.entries
        ]
        return construction.map_of(entries, node.offset)

    def struct_literal(self, node: StructLiteral) -> Code:
        return construction.unknown_type(node.name, node.offset)

    # Macros

    def comprehension(self, node: Comprehension) -> Code:
        outer = self._locals
        shape = shape_of(node)
        if isinstance(shape, Binding):
            code = self._binding(node)
        elif shape is None:
            code = self._fold(node)
        else:
            range_ = self._enter(node)
            match shape:
                case Quantifier():
                    code = loops.quantifier(range_, self.expression(shape.predicate), shape.decisive)
                case Count():
                    code = loops.count(range_, self.expression(shape.predicate))
                case Collection():
                    condition = self._maybe(shape.condition)
                    code = loops.collection(range_, condition, self.expression(shape.element))
                case Insertion():
                    condition, key = self._maybe(shape.condition), self._maybe(shape.key)
                    code = loops.insertion(range_, condition, key, self.expression(shape.value))
        self._locals = outer
        return code

    def _binding(self, node: Comprehension) -> Code:
        value, slot = self.expression(node.initial), self._new_slot()
        self._locals = {**self._locals, node.accumulator: _Local(loops.bound(slot, value), None)}
        is_ours = node.accumulator.startswith("@")  # made by a macro that copies its argument in cel-go
        return loops.binding(slot, self.expression(node.result), 0 if is_ours else LIST_COST)

    def _fold(self, node: Comprehension) -> Code:
        initial, accumulator = self.expression(node.initial), self._new_slot()
        collected = _Local(access.local(accumulator), accumulator)
        with_result = {**self._locals, node.accumulator: collected}
        range_ = self._enter(node)
        self._locals[node.accumulator] = collected
        condition, step = self.expression(node.condition), self.expression(node.step)
        self._locals = with_result
        parts = Parts(accumulator, initial, condition, step, self.expression(node.result))
        return loops.fold(range_, parts)

    def _enter(self, node: Comprehension) -> Range:
        """Compile the range, then open a scope with the variables of the loop."""
        source, first = self.expression(node.range), self._new_slot()
        self._locals = {**self._locals, node.variable: _Local(access.local(first), first)}
        second = None
        if node.second is not None:
            second = self._new_slot()
            self._locals[node.second] = _Local(access.local(second), second)
        return Range(source, first, second, node.range.offset)


def _is_attribute(node: Expr) -> bool:
    """Whether an expression is a variable or a part of one, or a choice of such."""
    match node:
        case Ident():
            return True
        case Select():
            return not node.test
        case Call():
            return node.function in _LOOK_UPS or _is_conditional(node)
    return False


def _is_conditional(node: Expr) -> bool:
    return isinstance(node, Call) and node.function == Operator.CONDITIONAL


def _terms(node: Call) -> list[Expr]:
    """The operands of a balanced tree of one logical operator, in order."""
    terms: list[Expr] = []
    waiting: list[Expr] = [node]
    while waiting:
        term = waiting.pop()
        if isinstance(term, Call) and term.function == node.function and term.target is None:
            waiting.extend(reversed(term.args))
        else:
            terms.append(term)
    return terms


_HANDLERS: Final[dict[type, Callable[[_Compiler, Any], Code]]] = {
    Literal: _Compiler.literal,
    Ident: _Compiler.ident,
    Select: _Compiler.select,
    Call: _Compiler.call,
    ListLiteral: _Compiler.list_literal,
    MapLiteral: _Compiler.map_literal,
    StructLiteral: _Compiler.struct_literal,
    Comprehension: _Compiler.comprehension,
}

_OPERATORS: Final[dict[str, Callable[[_Compiler, Call], Code]]] = {
    Operator.AND: _Compiler.junction,
    Operator.OR: _Compiler.junction,
    Operator.CONDITIONAL: _Compiler.conditional,
    Operator.NOT: _Compiler.negation,
    Operator.NOT_STRICTLY_FALSE: _Compiler.not_strictly_false,
    Operator.EQUALS: _Compiler.equality,
    Operator.NOT_EQUALS: _Compiler.equality,
    Operator.LESS: _Compiler.relation,
    Operator.LESS_EQUALS: _Compiler.relation,
    Operator.GREATER: _Compiler.relation,
    Operator.GREATER_EQUALS: _Compiler.relation,
    Operator.INDEX: _Compiler.element,
    Operator.OPTIONAL_INDEX: _Compiler.optional_element,
    Operator.OPTIONAL_SELECT: _Compiler.optional_element,
    Operator.ADD: _Compiler.addition,
    Operator.IN: _Compiler.membership,
}
