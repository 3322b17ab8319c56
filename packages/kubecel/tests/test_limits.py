"""Expressions written to do harm: each is refused, or ends soon."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from kubecel.errors import CompileError, ErrorKind, EvaluationError
from kubecel.limits import MAX_SIZE, check_size, check_total_size
from kubecel.types import DYN
from packages.kubecel.tests.engine import ENVIRONMENT, evaluate, failure

SECONDS = 10
"""Generous: none of these takes one on a machine that has nothing else to do."""


def chain(length: int, seed: str, link: str, result: str) -> str:
    """`length` names, each bound to something made of the one before."""
    text = result.format(last=f"a{length}")
    for number in range(length, 0, -1):
        text = f"cel.bind(a{number}, {link.format(before=f'a{number - 1}')}, {text})"
    return f"cel.bind(a0, {seed}, {text})"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (chain(60, "'a'", "{before} + {before}", "{last}"), {ErrorKind.COST_EXCEEDED, ErrorKind.TOO_LARGE}),
        (chain(60, "b'a'", "{before} + {before}", "{last}"), {ErrorKind.COST_EXCEEDED, ErrorKind.TOO_LARGE}),
        (chain(60, "[1]", "{before} + {before}", "{last}"), {ErrorKind.COST_EXCEEDED, ErrorKind.TOO_LARGE}),
        (chain(60, "[1]", "[{before}, {before}]", "{last}"), {ErrorKind.TOO_LARGE}),
        (chain(60, "{}", "{{'a': {before}, 'b': {before}}}", "{last}"), {ErrorKind.TOO_LARGE}),
        (chain(40, "[1]", "[{before}, {before}]", "{last} == {last}"), {ErrorKind.COST_EXCEEDED}),
        (chain(60, "1 / 0 == 1", "{before} || {before}", "{last}"), {ErrorKind.DIVISION_BY_ZERO}),
        ("big.all(a, big.all(b, big.all(c, true)))", {ErrorKind.COST_EXCEEDED}),
        ("big.map(a, big.map(b, big))", {ErrorKind.COST_EXCEEDED}),
        ("big.filter(a, big.exists(b, b < 0)).size()", {ErrorKind.COST_EXCEEDED}),
        ("big.map(a, text).size() + big.map(a, text + text).size()", {ErrorKind.COST_EXCEEDED}),
        ("big.exists(a, text.contains(text + 'b'))", {ErrorKind.COST_EXCEEDED}),
        ("big.exists(a, text.matches(text))", {ErrorKind.COST_EXCEEDED}),
    ],
    ids=[
        "doubled string",
        "doubled bytes",
        "doubled list",
        "shared lists",
        "shared maps",
        "comparison of shared lists",
        "error asked for again and again",
        "nested quantifiers",
        "nested maps",
        "nested filters",
        "long strings",
        "long searches",
        "long patterns",
    ],
)
def test_growth_is_stopped(text: str, kinds: set[ErrorKind]) -> None:
    started = time.process_time()
    error = failure(text, big=list(range(10_000)), text="a" * 10_000)
    assert error.kind in kinds
    assert time.process_time() - started < SECONDS


def deeper(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_deep_values_are_no_danger() -> None:
    deep = deeper(20_000)
    assert evaluate("x == x && x in [x] && has({'a': x}.a) && size(x) == 1", x=deep) is True
    assert evaluate("[x]", x=deep) == [deep]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 119 + "1" + ")" * 119,
        "[" * 118 + "1" + "]" * 118,
        "int(" * 118 + "1" + ")" * 118,
        "{1: " * 118 + "1" + "}" * 118,
        " + ".join("1" * 240),
        "true ? 1 : " * 240 + "1",
        "x" + ".a" * 240,
        "x" + "[0]" * 240,
        "x" + ".?a" * 240,
        "'a'" + ".size().value()" * 110,
        "[1].map(e, " * 60 + "e" + ")" * 60,
        "cel.bind(a, 1, " * 115 + "a" + ")" * 115,
        "optional.of(1)" + ".optMap(e, e)" * 100,
        "!(" * 110 + "true" + ")" * 110,
        "has(x.a) && (" * 100 + "true" + ")" * 100,
    ],
    ids=[
        "brackets",
        "lists",
        "calls",
        "maps",
        "sums",
        "conditions",
        "fields",
        "indices",
        "optionals",
        "methods",
        "macros",
        "bindings",
        "mapped optionals",
        "negations",
        "junctions",
    ],
)
def test_what_the_parser_lets_through_fits_the_stack(text: str) -> None:
    """With as many frames below as a test has, or an event loop in a thread."""
    program = ENVIRONMENT.extend(variables={"x": DYN}).compile(text, checked=False)
    try:
        program.evaluate({"x": {}})
    except EvaluationError as error:
        assert error.kind is not ErrorKind.TOO_DEEP  # noqa: PT017


def below(frames: int, act: Callable[[], object]) -> object:
    return act() if frames == 0 else below(frames - 1, act)


def test_callers_with_a_deep_stack_of_their_own_get_an_error_of_the_language() -> None:
    text = " + ".join("1" * 240)
    frames = sys.getrecursionlimit() - 300
    with pytest.raises(CompileError, match="nested too deeply"):
        below(frames, lambda: ENVIRONMENT.compile(text))
    program = ENVIRONMENT.compile(text)
    with pytest.raises(EvaluationError) as caught:
        below(sys.getrecursionlimit() - 200, lambda: program.evaluate({}))
    assert caught.value.kind is ErrorKind.TOO_DEEP


def test_sizes_are_checked_before_anything_is_built() -> None:
    check_size(MAX_SIZE)
    with pytest.raises(EvaluationError) as caught:
        check_size(MAX_SIZE + 1)
    assert caught.value.kind is ErrorKind.TOO_LARGE


def test_total_size_counts_what_is_shared_as_often_as_it_occurs() -> None:
    text = "a" * 1_000_000
    check_total_size({"a": [text] * 9})
    with pytest.raises(EvaluationError):
        check_total_size({"a": [text] * 10})
