"""What an expression may cost at least and at most, worked out before it runs.

The method is cel-go's: walk the tree, add up the cost of each node, multiply the steps of a comprehension by the size
of its range, and let each function say what it costs for arguments of the sizes that are known. Sizes come from literals,
from what functions say about their results, and from the schema: a value that is reached by fields, indices and loop
variables has a path (`self`, `ports`, `@items`, `name`), and `SizeLookup` knows what can be at a path.

The figures are compatible with those of an API server, which refuses rules whose worst case exceeds its budget; that
includes places where a better estimate would be possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from edgekeeper.cel.checker import CheckedAst
from edgekeeper.cel.functions import Overload
from edgekeeper.cel.paths import NO_PATH, Path
from edgekeeper.cel.sizes import (
    LARGEST,
    NOTHING,
    ONE,
    UNKNOWN,
    CallEstimate,
    CostEstimate,
    Estimate,
    Operand,
    SizeEstimate,
    exactly,
)
from edgekeeper.cel.standard_estimates import STANDARD_RULES
from edgekeeper.cel.syntax import (
    ACCUMULATOR,
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
)
from edgekeeper.cel.types import Kind, Type

SizeLookup: TypeAlias = Callable[[Sequence[str]], SizeEstimate | None]
"""Knows the size of what is at a path, or nothing about it.

A path begins with a variable and goes on with names of fields, `@items`, `@indices`, `@keys` and `@values`.
"""

_SELECT_COST: Final = ONE
_LIST_COST: Final = exactly(10)
_MAP_COST: Final = exactly(30)
_STRUCT_COST: Final = exactly(40)
_NO_RANGE: Final = Estimate(LARGEST, 0)
"""The union of no estimates."""

_SCALARS: Final = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
_CHARGED_SELECTIONS: Final = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAM})
_CONCATENATIONS: Final = frozenset({"add_string", "add_bytes", "add_list"})
_INDEX_STEPS: Final = {"index_list": "@items", "index_map": "@values"}


def estimate(
    checked: CheckedAst, sizes: SizeLookup, *, presence_test_cost: CostEstimate = ONE
) -> CostEstimate:
    """The cost of a checked expression. API servers take presence tests for free (`presence_test_cost=NOTHING`)."""
    return _Estimator(checked, sizes, presence_test_cost).cost(checked.ast.root)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of what is inside a list or map."""

    kind: Kind
    key: SizeEstimate
    value: SizeEstimate

    def union(self, other: _Entries | None) -> _Entries | None:
        return None if other is None else _Entries(self.kind, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class _Local:
    """What is known of a loop variable, an accumulator or a bound name."""

    path: Path
    size: SizeEstimate | None
    entries: _Entries | None = None


@dataclass(frozen=True, slots=True)
class _Operand:
    """An argument, as rules see it."""

    type: Type
    path: Path
    known_size: SizeEstimate | None
    literal: Any
    sizes: SizeLookup

    @property
    def size(self) -> SizeEstimate:
        return self.known_size or UNKNOWN

    @property
    def element(self) -> Operand | None:
        if not self.type.params:
            return None
        path = self.path.element() if self.path else NO_PATH
        size = self.sizes(path.steps) if path else None
        return _Operand(self.type.params[0], path, size, None, self.sizes)


class _Estimator:
    """The state of one walk."""

    def __init__(self, checked: CheckedAst, sizes: SizeLookup, presence_test_cost: CostEstimate) -> None:
        self._checked = checked
        self._sizes = sizes
        self._presence_test_cost = presence_test_cost
        self._paths: dict[int, Path] = {}
        self._locals: dict[str, _Local] = {}
        self._computed: dict[int, SizeEstimate] = {}
        self._entries: dict[int, _Entries] = {}

    def cost(self, node: Expr) -> CostEstimate:
        return _COSTS[type(node)](self, node)

    # --- nodes ---------------------------------------------------------------------------------------------------

    def literal(self, _: Literal) -> CostEstimate:
        return NOTHING

    def ident(self, node: Ident) -> CostEstimate:
        local = self._locals.get(node.name)
        self._paths[node.id] = Path.of(node.name) if local is None else local.path
        return _SELECT_COST

    def select(self, node: Select) -> CostEstimate:
        if node.id in self._checked.names:
            self._paths[node.id] = Path.of(self._checked.names[node.id])
            return _SELECT_COST
        total = _COSTS[type(node.operand)](self, node.operand)
        if node.test:
            return total + self._presence_test_cost
        self._paths[node.id] = self._path(node.operand).then(node.field)
        charged = self._checked.types[node.operand.id].kind in _CHARGED_SELECTIONS
        return total + _SELECT_COST if charged else total

    def list_literal(self, node: ListLiteral) -> CostEstimate:
        total = _LIST_COST
        element = _NO_RANGE if node.elements else NOTHING
        for item in node.elements:
            total = total + _COSTS[type(item)](self, item)
            element = element | self._size_or_unknown(item)
        self._entries[node.id] = _Entries(Kind.LIST, ONE, element)
        return total

    def map_literal(self, node: MapLiteral) -> CostEstimate:
        total = _MAP_COST
        key = value = _NO_RANGE if node.entries else NOTHING
        for entry in node.entries:
            total = (
                total
                + _COSTS[type(entry.key)](self, entry.key)
                + _COSTS[type(entry.value)](self, entry.value)
            )
            key = key | self._size_or_unknown(entry.key)
            value = value | self._size_or_unknown(entry.value)
        self._entries[node.id] = _Entries(Kind.MAP, key, value)
        return total

    def struct_literal(self, node: StructLiteral) -> CostEstimate:
        total = _STRUCT_COST
        for init in node.fields:
            total = total + _COSTS[type(init.value)](self, init.value)
        return total

    # --- comprehensions ------------------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> CostEstimate:
        total = _COSTS[type(node.range)](self, node.range) + _COSTS[type(node.initial)](self, node.initial)
        initial = _Local(self._path(node.initial), self._size(node.initial), self._entries_of(node.initial))
        binding = _is_binding(node)
        with self._scope({node.accumulator: initial}):
            each = NOTHING if binding else self._step(node)
            total = total + _COSTS[type(node.result)](self, node.result)
        if binding:
            self._copy_sizes(node.result, node)
            return total
        count = self._size_or_unknown(node.range)
        self._note_result(node, count)
        return total + count * each

    def _step(self, node: Comprehension) -> CostEstimate:
        """What one turn of the loop costs."""
        with self._scope(self._loop_variables(node)):
            cost = _COSTS[type(node.condition)](self, node.condition)
            return cost + _COSTS[type(node.step)](self, node.step)

    @contextmanager
    def _scope(self, variables: dict[str, _Local]) -> Iterator[None]:
        outer = self._locals
        self._locals = {**outer, **variables}
        yield
        self._locals = outer

    def _loop_variables(self, node: Comprehension) -> dict[str, _Local]:
        entries = self._entries_of(node.range)
        is_list = (entries.kind if entries else self._checked.types[node.range.id].kind) is Kind.LIST
        path = self._path(node.range)

        def key() -> _Local:
            return _Local(path.then("@indices" if is_list else "@keys"), entries.key if entries else None)

        def value() -> _Local:
            return _Local(path.then("@items" if is_list else "@values"), entries.value if entries else None)

        if node.second is None:
            return {node.variable: value() if is_list else key()}
        return {node.variable: key(), node.second: value()}

    def _note_result(self, node: Comprehension, count: SizeEstimate) -> None:
        """A fold that starts from a container grows by at most one element per step."""
        if isinstance(node.initial, Literal):
            self._note_size(node, self._size(node.initial))
        elif isinstance(node.initial, ListLiteral | MapLiteral):
            self._computed[node.id] = count
            self._note_entries(node, self._entries_of(node.step))

    # --- calls ---------------------------------------------------------------------------------------------------

    def call(self, node: Call) -> CostEstimate:
        if node.function == "dyn" and len(node.args) == 1:
            total = _COSTS[type(node.args[0])](self, node.args[0]) + ONE
            self._copy_sizes(node.args[0], node)
            return total
        costs = []
        operands = []
        for argument in node.args:
            costs.append(_COSTS[type(argument)](self, argument))
            operands.append(self._operand(argument))
        if node.function == Operator.OPTIONAL_SELECT:
            return sum(costs, ONE)
        total = NOTHING
        if node.target is not None and node.id not in self._checked.functions:
            total = _COSTS[type(node.target)](self, node.target)
            operands.insert(0, self._operand(node.target))
        return total + self._call_cost(node, operands, costs)

    def _call_cost(self, node: Call, operands: list[_Operand], costs: list[CostEstimate]) -> CostEstimate:
        """The range that covers all overloads which may apply."""
        overloads = self._checked.overloads.get(node.id, ())
        result: SizeEstimate | None = None
        cost = _NO_RANGE if overloads else NOTHING
        for overload in overloads:
            called = self._overload_cost(node, overload, operands, costs)
            cost = cost | called.cost
            if called.result_size is not None:
                result = called.result_size if result is None else result | called.result_size
            if (step := _INDEX_STEPS.get(overload.id)) is not None:
                entries = self._entries_of(node.args[0])
                result = entries.value if entries else None
                self._paths[node.id] = self._path(node.args[0]).then(step)
            if result is None:
                result = self._size(node)
        self._note_size(node, result)
        return cost

    def _overload_cost(
        self, node: Call, overload: Overload, operands: list[_Operand], costs: list[CostEstimate]
    ) -> CallEstimate:
        if node.function in (Operator.AND, Operator.OR):
            return CallEstimate(Estimate(costs[0].min, sum(costs, NOTHING).max))
        if node.function == Operator.CONDITIONAL:
            self._note_common_entries(node, node.args[1], node.args[2])
            return CallEstimate(costs[0] + (costs[1] | costs[2]), operands[1].size | operands[2].size)
        if overload.id in _CONCATENATIONS:
            self._note_common_entries(node, *node.args)
        rule = overload.estimate or STANDARD_RULES.get(overload.id)
        called = rule(operands) if rule is not None else None
        if called is None:
            called = CallEstimate(ONE)
        return CallEstimate(sum(costs, called.cost), called.result_size)

    def _operand(self, node: Expr) -> _Operand:
        return _Operand(
            type=self._checked.types[node.id],
            path=self._path(node),
            known_size=self._size(node),
            literal=node.value if isinstance(node, Literal) else None,
            sizes=self._sizes,
        )

    # --- paths and sizes -----------------------------------------------------------------------------------------

    def _path(self, node: Expr) -> Path:
        if isinstance(node, Ident) and (local := self._locals.get(node.name)) is not None:
            return local.path
        return self._paths.get(node.id, NO_PATH)

    def _size_or_unknown(self, node: Expr) -> SizeEstimate:
        return self._size(node) or UNKNOWN

    def _size(self, node: Expr) -> SizeEstimate | None:
        found = self._computed.get(node.id) or _written_size(node)
        if found is not None:
            return found
        path = self._path(node)
        if path and (found := self._sizes(path.steps)) is not None:
            self._computed[node.id] = found
            return found
        if _is_scalar(self._checked.types[node.id]):
            return ONE
        local = self._locals.get(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.size

    def _note_size(self, node: Expr, size: SizeEstimate | None) -> None:
        if size is not None:
            self._computed[node.id] = size

    def _entries_of(self, node: Expr) -> _Entries | None:
        found = self._entries.get(node.id)
        if found is None and isinstance(node, Ident) and (local := self._locals.get(node.name)) is not None:
            return local.entries
        return found

    def _note_entries(self, node: Expr, entries: _Entries | None) -> None:
        if entries is not None:
            self._entries[node.id] = entries

    def _note_common_entries(self, node: Expr, one: Expr, other: Expr) -> None:
        entries = self._entries_of(one)
        self._note_entries(node, None if entries is None else entries.union(self._entries_of(other)))

    def _copy_sizes(self, source: Expr, target: Expr) -> None:
        self._note_size(target, self._size(source))
        self._note_entries(target, self._entries_of(source))


def _is_binding(node: Comprehension) -> bool:
    """Whether it only gives a name to a value, as `cel.bind` does, and never loops."""
    return (
        isinstance(node.range, ListLiteral)
        and not node.range.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
        and node.accumulator != ACCUMULATOR
    )


def _written_size(node: Expr) -> SizeEstimate | None:
    """The size of what is written out in the expression."""
    match node:
        case Literal(value=str() | bytes() as value):
            return exactly(len(value))
        case Literal():
            return ONE
        case ListLiteral():
            return exactly(len(node.elements))
        case MapLiteral():
            return exactly(len(node.entries))
    return None


def _is_scalar(subject: Type) -> bool:
    if subject.kind is Kind.OPTIONAL:
        return _is_scalar(subject.params[0])
    return subject.kind in _SCALARS


_COSTS: Final[dict[type, Callable[[_Estimator, Any], CostEstimate]]] = {
    Literal: _Estimator.literal,
    Ident: _Estimator.ident,
    Select: _Estimator.select,
    Call: _Estimator.call,
    ListLiteral: _Estimator.list_literal,
    MapLiteral: _Estimator.map_literal,
    StructLiteral: _Estimator.struct_literal,
    Comprehension: _Estimator.comprehension,
}
