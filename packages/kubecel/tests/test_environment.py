"""Environments: what they add up to, how they are extended, and how they refuse."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kubecel.checker import CheckOptions
from kubecel.environment import Environment
from kubecel.errors import CompileError, ErrorKind, EvaluationError
from kubecel.functions import Function, Library, Overload
from kubecel.limits import Limits
from kubecel.macros import Builder, Macro
from kubecel.standard import STANDARD
from kubecel.syntax import Expr
from kubecel.types import BOOL, DYN, INT, STRING, list_of, type_of
from packages.kubecel.tests.engine import ENVIRONMENT, refusal


def _twice(builder: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    assert target is None
    return builder.bind("@once", args[0], builder.call("_+_", builder.ident("@once"), builder.ident("@once")))


def _total(numbers: list[int]) -> int:
    return sum(numbers)


def _joined(parts: list[str]) -> str:
    return "".join(parts)


EXTRA = Library(
    "extra",
    (
        Function(
            "shout", (Overload("shout_string", (STRING,), STRING, lambda text: text + "!", member=True),)
        ),
        Function("math.next", (Overload("next_int", (INT,), INT, lambda number: number + 1),)),
        Function(
            "total",
            (
                Overload("total_ints", (list_of(INT),), INT, _total),
                Overload("total_strings", (list_of(STRING),), STRING, _joined, cost=len),
            ),
        ),
        Function("zero", (Overload("zero", (), INT, lambda: 0),)),
        Function(
            "three", (Overload("three", (INT, INT, INT), INT, lambda a, b, c: a + b + c, cost=lambda *_: 7),)
        ),
    ),
    (Macro("twice", 1, _twice, member=False), Macro("never", None, lambda *_: None)),
    {"extra.ANSWER": (INT, 42), "kind": (type_of(INT), INT)},
)
EXTENDED = Environment([STANDARD, EXTRA])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'.shout()", "a!"),
        ("math.next(1)", 2),
        ("total([1, 2])", 3),
        ("total(['a', 'b'])", "ab"),
        ("total(dyn(['a', 'b']))", "ab"),
        ("zero()", 0),
        ("three(1, 2, 3)", 6),
        ("twice(2)", 4),
        ("twice(twice('a'))", "aaaa"),
        ("extra.ANSWER", 42),
        ("kind == int", True),
    ],
)
def test_libraries_bring_functions_macros_and_constants(text: str, value: Any) -> None:
    assert EXTENDED.compile(text).evaluate({}) == value


def test_content_decides_between_lists_of_different_things() -> None:
    with pytest.raises(EvaluationError) as caught:
        EXTENDED.compile("total(dyn([true]))").evaluate({})
    assert caught.value.kind is ErrorKind.NO_SUCH_OVERLOAD


def test_functions_of_several_libraries_add_up() -> None:
    more = Library(
        "more", (Function("shout", (Overload("shout_int", (INT,), INT, lambda n: n * 2, member=True),)),)
    )
    both = EXTENDED.extend(libraries=[more])
    assert both.compile("['a'.shout(), string(2.shout())]").evaluate({}) == ["a!", "4"]
    with pytest.raises(CompileError):
        EXTENDED.compile("2.shout()")


def test_a_later_declaration_of_an_overload_counts() -> None:
    quiet = Library(
        "quiet", (Function("shout", (Overload("shout_string", (STRING,), STRING, str, member=True),)),)
    )
    assert EXTENDED.extend(libraries=[quiet]).compile("'a'.shout()").evaluate({}) == "a"


def test_extending_leaves_the_original_alone() -> None:
    extended = ENVIRONMENT.extend(variables={"x": INT})
    assert extended.compile("x + 1").type is INT
    with pytest.raises(CompileError, match="undeclared reference to 'x'"):
        ENVIRONMENT.compile("x + 1")
    assert extended.extend(variables={"x": STRING}).compile("x + 'a'").type is STRING


def test_limits_and_options_are_handed_on() -> None:
    strict = Environment(
        [STANDARD], limits=Limits(source=20), options=CheckOptions(cross_type_comparisons=True)
    )
    extended = strict.extend(variables={"x": DYN}, libraries=[EXTRA])
    assert extended.compile("1 < 1.5").evaluate({}) is True
    with pytest.raises(CompileError, match="exceeds limit"):
        extended.compile("1 + 1 + 1 + 1 + 1 + 1 + 1")


def test_a_type_may_be_expected() -> None:
    assert ENVIRONMENT.compile("1 == 1", expected=BOOL).type is BOOL
    with pytest.raises(CompileError):
        ENVIRONMENT.compile("1 + 1", expected=BOOL)


def test_issues_are_reported_together() -> None:
    assert len(refusal("x + y + z").issues) == 3


@pytest.mark.parametrize(
    "text", ["1 == 1.0", "1 + 'a'", "'a'.size(1)", "unknown(1)", "a.b.C{}", "[1].map(x, y)"]
)
def test_unsound_expressions_do_not_compile(text: str) -> None:
    assert refusal(text).position is not None


def test_programs_may_be_shared_by_threads() -> None:
    program = ENVIRONMENT.extend(variables={"x": DYN}).compile(
        "x.map(e, cel.bind(d, e * 2, d + d)).filter(e, e > 0)"
    )
    failures: list[int] = []

    def work(factor: int) -> None:
        expected = [factor * 4 * number for number in range(1, 50)]
        given = {"x": [factor * number for number in range(50)]}
        failures.extend(factor for _ in range(50) if program.evaluate(given) != expected)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
