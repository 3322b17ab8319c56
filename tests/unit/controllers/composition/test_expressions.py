"""Expressions in texts: where they are, and what one text is compiled to."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.composition.expressions import find_expressions, read_expression, read_standalone
from edgekeeper.controllers.composition.rejection import RejectedError
from kubecel import environments
from kubecel.errors import CompileError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", []),
        ("${a.b}", ["a.b"]),
        ("x-${a}-${b}-y", ["a", "b"]),
        ("${a}${b}", ["a", "b"]),
        ("${{'a': {'b': 1}}}", ["{'a': {'b': 1}}"]),
        ('${"}"}', ['"}"']),
        ('${"\\"}"}', ['"\\"}"']),
        ("${open", []),
        ("${open ${a}", None),
        ("${outer(${inner})}", None),
        ('${"${X}"}', ['"${X}"']),
        ("$a {b} $", []),
        ("${}", [""]),
    ],
)
def test_expressions_are_found_between_their_brackets(text: str, found: list[str] | None) -> None:
    if found is None:
        with pytest.raises(
            RejectedError, match="nested expressions are not allowed unless inside string literals"
        ):
            find_expressions(text)
    else:
        assert [one.text for one in find_expressions(text)] == found


def test_brackets_in_single_quotes_count_as_in_kro() -> None:
    expression = read_expression("${'}'}")
    assert expression is not None
    with pytest.raises(CompileError):
        environments.kro().compile(expression.source)


def test_whole_text_is_standalone() -> None:
    expression = read_expression("${schema.spec.a}")
    assert expression is not None
    assert (expression.source, expression.template) == ("schema.spec.a", "")
    assert expression.in_place == "${schema.spec.a}"


@pytest.mark.parametrize("text", ["a-${'b'}-c", "say \"${'x'}\"\n\t\\ é \x7f", "${'a'}${'b'}", "${'a'} "])
def test_template_is_a_concatenation_with_the_same_text(text: str) -> None:
    expression = read_expression(text)
    assert expression is not None
    assert expression.written == expression.in_place == text
    expected = text
    for one in reversed(find_expressions(text)):
        expected = expected[: one.start] + one.text.strip("'") + expected[one.end :]
    assert environments.kro().compile(expression.source).evaluate({}) == expected


@pytest.mark.parametrize("text", ["plain", "a ${b}", "${a}\n", "${a}${b}", ""])
def test_conditions_must_be_standalone(text: str) -> None:
    with pytest.raises(RejectedError, match="only standalone expressions are allowed"):
        read_standalone(text)
