"""What an expression may cost at least and at most, worked out before it runs.

The method is cel-go's: walk the tree, add up the cost of each node, multiply the steps of a comprehension by the size
of its range, and let each function say what it costs for arguments of the sizes that are known. Sizes come from literals,
from what functions say about their results, and from the schema: a value that is reached by fields, indices and loop
variables has a path (`self`, `ports`, `@items`, `name`), and `SizeLookup` knows what can be at a path.

The figures are compatible with those of an API server, which refuses rules whose worst case exceeds its budget; that
includes places where a better estimate would be possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kubecel.checker import CheckedAst
from kubecel.functions import Overload
from kubecel.known_sizes import (
    SELECT_COST,
    Entries,
    KnownOperand,
    Local,
    SizeLookup,
    is_binding,
    is_copy,
    is_scalar,
    written_size,
)
from kubecel.paths import NO_PATH, Path
from kubecel.sizes import (
    LARGEST,
    NOTHING,
    ONE,
    UNKNOWN,
    CallEstimate,
    CostEstimate,
    Estimate,
    SizeEstimate,
    exactly,
)
from kubecel.standard_estimates import STANDARD_RULES
from kubecel.syntax import (
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
from kubecel.types import Kind

_LIST_COST: Final = exactly(10)
_MAP_COST: Final = exactly(30)
_STRUCT_COST: Final = exactly(40)
_NO_RANGE: Final = Estimate(LARGEST, 0)
"""The union of no estimates."""

_CHARGED_SELECTIONS: Final = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAM})
_CONCATENATIONS: Final = frozenset({"add_string", "add_bytes", "add_list"})
_INDEX_STEPS: Final = {"index_list": "@items", "index_map": "@values"}


def estimate(
    checked: CheckedAst, sizes: SizeLookup, *, presence_test_cost: CostEstimate = ONE
) -> CostEstimate:
    """The cost of a checked expression. API servers take presence tests for free (`presence_test_cost=NOTHING`)."""
    return _Estimator(checked, sizes, presence_test_cost).cost(checked.ast.root)


class _Estimator:
    """The state of one walk."""

    def __init__(self, checked: CheckedAst, sizes: SizeLookup, presence_test_cost: CostEstimate) -> None:
        self._checked = checked
        self._sizes = sizes
        self._presence_test_cost = presence_test_cost
        self._paths: dict[int, Path] = {}
        self._locals: dict[str, Local] = {}
        self._computed: dict[int, SizeEstimate] = {}
        self._entries: dict[int, Entries] = {}

    def cost(self, node: Expr) -> CostEstimate:
        return _COSTS[type(node)](self, node)

    # --- nodes ---------------------------------------------------------------------------------------------------

    def literal(self, _: Literal) -> CostEstimate:
        return NOTHING

    def ident(self, node: Ident) -> CostEstimate:
        local = self._locals.get(node.name)
        self._paths[node.id] = Path.of(node.name) if local is None else local.path
        return SELECT_COST if local is None else local.cost

    def select(self, node: Select) -> CostEstimate:
        if node.id in self._checked.names:
            self._paths[node.id] = Path.of(self._checked.names[node.id])
            return SELECT_COST
        total = _COSTS[type(node.operand)](self, node.operand)
        if node.test:
            return total + self._presence_test_cost
        self._paths[node.id] = self._path(node.operand).then(node.field)
        charged = self._checked.types[node.operand.id].kind in _CHARGED_SELECTIONS
        return total + SELECT_COST if charged else total

    def list_literal(self, node: ListLiteral) -> CostEstimate:
        total = _LIST_COST
        element = _NO_RANGE if node.elements else NOTHING
        for item in node.elements:
            total = total + _COSTS[type(item)](self, item)
            element = element | self._size_or_unknown(item)
        self._entries[node.id] = Entries(Kind.LIST, ONE, element)
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
        self._entries[node.id] = Entries(Kind.MAP, key, value)
        return total

    def struct_literal(self, node: StructLiteral) -> CostEstimate:
        total = _STRUCT_COST
        for init in node.fields:
            total = total + _COSTS[type(init.value)](self, init.value)
        return total

    # --- comprehensions ------------------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> CostEstimate:
        if is_copy(node):
            return self._copied(node)
        total = _COSTS[type(node.range)](self, node.range) + _COSTS[type(node.initial)](self, node.initial)
        initial = Local(self._path(node.initial), self._size(node.initial), self._entries_of(node.initial))
        binding = is_binding(node)
        with self._scope({node.accumulator: initial}):
            each = NOTHING if binding else self._step(node)
            total = total + _COSTS[type(node.result)](self, node.result)
        if binding:
            self._copy_sizes(node.result, node)
            return total
        count = self._size_or_unknown(node.range)
        self._note_result(node, count)
        return total + count * each

    def _copied(self, node: Comprehension) -> CostEstimate:
        """Each use of the name costs what its value costs, as if the value stood there instead."""
        each = _COSTS[type(node.initial)](self, node.initial)
        place = self._path(node.initial), self._size(node.initial), self._entries_of(node.initial)
        with self._scope({node.accumulator: Local(*place, each)}):
            total = _COSTS[type(node.result)](self, node.result)
        self._copy_sizes(node.result, node)
        return total

    def _step(self, node: Comprehension) -> CostEstimate:
        """What one turn of the loop costs."""
        with self._scope(self._loop_variables(node)):
            cost = _COSTS[type(node.condition)](self, node.condition)
            return cost + _COSTS[type(node.step)](self, node.step)

    @contextmanager
    def _scope(self, variables: dict[str, Local]) -> Iterator[None]:
        outer = self._locals
        self._locals = {**outer, **variables}
        yield
        self._locals = outer

    def _loop_variables(self, node: Comprehension) -> dict[str, Local]:
        entries = self._entries_of(node.range)
        is_list = (entries.kind if entries else self._checked.types[node.range.id].kind) is Kind.LIST
        path = self._path(node.range)

        def key() -> Local:
            return Local(path.then("@indices" if is_list else "@keys"), entries.key if entries else None)

        def value() -> Local:
            return Local(path.then("@items" if is_list else "@values"), entries.value if entries else None)

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

    def _call_cost(self, node: Call, operands: list[KnownOperand], costs: list[CostEstimate]) -> CostEstimate:
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
        self, node: Call, overload: Overload, operands: list[KnownOperand], costs: list[CostEstimate]
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

    def _operand(self, node: Expr) -> KnownOperand:
        return KnownOperand(
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
        found = self._computed.get(node.id) or written_size(node)
        if found is not None:
            return found
        path = self._path(node)
        if path and (found := self._sizes(path.steps)) is not None:
            self._computed[node.id] = found
            return found
        if is_scalar(self._checked.types[node.id]):
            return ONE
        local = self._locals.get(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.size

    def _note_size(self, node: Expr, size: SizeEstimate | None) -> None:
        if size is not None:
            self._computed[node.id] = size

    def _entries_of(self, node: Expr) -> Entries | None:
        found = self._entries.get(node.id)
        if found is None and isinstance(node, Ident) and (local := self._locals.get(node.name)) is not None:
            return local.entries
        return found

    def _note_entries(self, node: Expr, entries: Entries | None) -> None:
        if entries is not None:
            self._entries[node.id] = entries

    def _note_common_entries(self, node: Expr, one: Expr, other: Expr) -> None:
        entries = self._entries_of(one)
        self._note_entries(node, None if entries is None else entries.union(self._entries_of(other)))

    def _copy_sizes(self, source: Expr, target: Expr) -> None:
        self._note_size(target, self._size(source))
        self._note_entries(target, self._entries_of(source))


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
