"""Errors: their place, how they are drawn, and which of them mean that data is still to come."""

from __future__ import annotations

import pytest

from kubecel.errors import (
    CompileError,
    ErrorKind,
    EvaluationError,
    Issue,
    Position,
    locate,
    no_such_key,
    overflow,
)
from packages.kubecel.tests.engine import failure, refusal


def test_positions_count_lines_from_one_and_columns_from_zero() -> None:
    assert locate("ab\ncd", 4) == Position(4, 2, 1)
    assert locate("ab", 0) == Position(0, 1, 0)
    assert locate("a\n\nb", 3) == Position(3, 3, 0)


def test_rendering_draws_a_caret_below_the_place() -> None:
    source = "1 +\n\t'a' - x"
    issue = Issue("that is wrong", locate(source, 9))
    assert issue.render(source) == "ERROR: <input>:2:6: that is wrong\n |  'a' - x\n | .....^"


def test_rendering_without_a_place_has_no_caret() -> None:
    assert Issue("too long").render("x") == "ERROR: <input>:-1:0: too long"


def test_compile_errors_show_all_their_issues() -> None:
    error = CompileError([Issue("one", locate("ab", 0)), Issue("two", locate("ab", 1))])
    assert error.message == "one; two"
    assert error.position == Position(0, 1, 0)
    assert error.render("ab").count("^") == 2


@pytest.mark.parametrize(
    ("kind", "pending"),
    [
        (ErrorKind.NO_SUCH_KEY, True),
        (ErrorKind.NO_SUCH_FIELD, True),
        (ErrorKind.NO_SUCH_ATTRIBUTE, True),
        (ErrorKind.INDEX_OUT_OF_BOUNDS, True),
        (ErrorKind.NO_SUCH_OVERLOAD, False),
        (ErrorKind.COST_EXCEEDED, False),
        (ErrorKind.OPTIONAL_NONE, False),
    ],
)
def test_only_missing_data_is_pending(kind: ErrorKind, pending: bool) -> None:
    assert EvaluationError(kind, "message").pending is pending


def test_messages_name_what_is_missing() -> None:
    assert str(no_such_key("status")) == "no such key: status"
    assert str(overflow("integer")) == "integer overflow"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("1 + x.y", 5),
        ("1 + x['y']", 5),
        ("1 + 2 / x.zero", 6),
        ("x.list[5]", 6),
        ("x.zero.size()", 11),
        ("{x: 1}", 0),
    ],
)
def test_evaluation_errors_know_their_place(text: str, offset: int) -> None:
    error = failure(text, x={"zero": 0, "list": []})
    assert error.position is not None
    assert error.position.offset == offset


def test_a_place_is_drawn_for_syntax_and_types_alike() -> None:
    assert refusal("1 +").render("1 +").endswith("| ...^")
    assert refusal("1 + 'a'").render("1 + 'a'").endswith("| ..^")
