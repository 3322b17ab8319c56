"""What macros become, and what a comprehension is recognised as."""

from __future__ import annotations

import pytest

from kubecel.errors import CompileError, ErrorKind, EvaluationError
from kubecel.evaluation.shapes import (
    Binding,
    Collection,
    Count,
    Insertion,
    Quantifier,
    Shape,
    shape_of,
)
from kubecel.functions import Library
from kubecel.macros import Builder, Fold, Macro
from kubecel.syntax import ACCUMULATOR, Comprehension, Expr, Operator, Select, walk
from kubecel.types import DYN
from packages.kubecel.tests.engine import ENVIRONMENT


def folds(text: str) -> list[Comprehension]:
    return [node for node in walk(ENVIRONMENT.parse(text).root) if isinstance(node, Comprehension)]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x.all(e, e)", Quantifier),
        ("x.exists(e, e)", Quantifier),
        ("x.exists_one(e, e)", Count),
        ("x.map(e, e)", Collection),
        ("x.map(e, e, e)", Collection),
        ("x.filter(e, e)", Collection),
        ("x.all(i, v, v)", Quantifier),
        ("x.exists(i, v, v)", Quantifier),
        ("x.existsOne(i, v, v)", Count),
        ("x.transformList(i, v, v)", Collection),
        ("x.transformMap(i, v, v)", Insertion),
        ("x.transformMap(i, v, v, v)", Insertion),
        ("x.transformMapEntry(i, v, {v: i})", Insertion),
        ("cel.bind(a, x, a)", Binding),
    ],
)
def test_every_macro_runs_as_the_loop_it_stands_for(text: str, shape: type[Shape]) -> None:
    (fold,) = folds(text)
    assert isinstance(shape_of(fold), shape)


def test_presence_is_a_selection_that_tests() -> None:
    root = ENVIRONMENT.parse("has(a.b)").root
    assert isinstance(root, Select)
    assert root.test


@pytest.mark.parametrize(
    "text", ["other.bind(a, 1, a)", "bind(a, 1, a)", "x.map(e)", "x.transformMap(a, b)", "map(x, y)"]
)
def test_calls_that_only_look_like_macros_stay_calls(text: str) -> None:
    assert folds(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "cel.bind(1, 2, 3)",
        "x.all(i, i, true)",
        "x.all(1, v, true)",
        "x.optMap(a.b, 1)",
        "x.optFlatMap(1, 1)",
        "has(has(a.b))",
    ],
)
def test_macros_refuse_arguments_that_do_not_fit(text: str) -> None:
    with pytest.raises(CompileError):
        ENVIRONMENT.parse(text)


def test_chains_of_mapped_optionals_grow_linearly() -> None:
    def nodes(links: int) -> int:
        return sum(1 for _ in walk(ENVIRONMENT.parse("x" + ".optMap(e, e)" * links).root))

    assert nodes(10) - nodes(5) == nodes(15) - nodes(10)


def _expand_total(builder: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`x.total(limit)`: the sum of numbers, until it is not below the limit."""
    if target is None:
        return None
    below = builder.call(Operator.LESS, builder.ident(ACCUMULATOR), args[0])
    return builder.fold(
        Fold(
            range=target,
            variable="@number",
            initial=builder.literal(0),
            condition=builder.call(Operator.NOT_STRICTLY_FALSE, below),
            step=builder.call(Operator.ADD, builder.ident(ACCUMULATOR), builder.ident("@number")),
            result=builder.ident(ACCUMULATOR),
        )
    )


def test_a_fold_like_no_other_runs_as_it_is_written() -> None:
    environment = ENVIRONMENT.extend(
        libraries=[Library("totals", macros=(Macro("total", 1, _expand_total),))], variables={"x": DYN}
    )
    (fold,) = [node for node in walk(environment.parse("x.total(5)").root) if isinstance(node, Comprehension)]
    assert shape_of(fold) is None
    assert environment.compile("[1, 2, 3].total(100)").evaluate({}) == 6
    assert environment.compile("[1, 2, 3, 4].total(3)").evaluate({}) == 3
    assert environment.compile("x.total(dyn('not a limit'))").evaluate({"x": [1, 2]}) == 3
    with pytest.raises(EvaluationError) as caught:
        environment.compile("x.total(1000000)").evaluate({"x": [1] * 1000}, budget=3000)
    assert caught.value.kind is ErrorKind.COST_EXCEEDED
