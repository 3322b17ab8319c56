"""What rules in schemas ask of the language: names, lists without order, and costs that are known."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.environments import kubernetes
from kubecel.errors import CompileError, EvaluationError
from kubecel.native import converter_for
from kubecel.schema import declare
from kubecel.types import BOOL

TEXTS = {"type": "array", "items": {"type": "string"}}
PAIRS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "my-port": {"type": "integer"},
        "set": {**TEXTS, "x-kubernetes-list-type": "set"},
        "list": TEXTS,
        "pairs": PAIRS,
    },
}
VALUE = {
    "my-port": 3,
    "set": ["b", "a"],
    "list": ["b", "a"],
    "pairs": [{"name": "x", "n": 1}, {"name": "y", "n": 2}],
}


def evaluated(text: str, **other: Any) -> Any:
    declared = declare(SCHEMA, "app")
    assert declared is not None
    environment = kubernetes().extend(variables={"app": declared.type, "other": declared.type})
    convert = converter_for(SCHEMA)
    return environment.compile(text).evaluate({"app": convert(VALUE), "other": convert(other)})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("app.?my__dash__port.orValue(0)", 3),
        ("app.?my__dash__port.hasValue() && app.my__dash__port == 3", True),
        ("app.set == ['a', 'b']", True),
        ("app.set != ['a', 'b']", False),
        ("app.set == ['a', 'c']", False),
        ("app.list == ['a', 'b']", False),
        ("['a', 'b'] == app.set", False),
        ("[app.set] == [['a', 'b']]", True),
        ("app.set + ['c', 'a'] == ['c', 'b', 'a']", True),
        ("size(app.list + ['c', 'a'])", 4),
        ("(app.pairs + app.pairs) == app.pairs", True),
    ],
)
def test_values_are_as_their_schema_means_them(text: str, value: Any) -> None:
    assert evaluated(text) == value


@pytest.mark.parametrize(
    ("pairs", "same"),
    [
        ([{"name": "y", "n": 2}, {"name": "x", "n": 1}], True),
        ([{"name": "y", "n": 2}, {"name": "x", "n": 2}], False),
        ([{"name": "y", "n": 2}, {"name": "z", "n": 1}], False),
        ([{"name": "x", "n": 1}], False),
    ],
)
def test_objects_with_keys_are_compared_by_key(pairs: list[Any], same: bool) -> None:
    assert evaluated("app.pairs == other.pairs", pairs=pairs) is same


def test_objects_with_keys_replace_one_another() -> None:
    added = evaluated(
        "(app.pairs + other.pairs).map(p, p.n)", pairs=[{"name": "z", "n": 3}, {"name": "x", "n": 7}]
    )
    assert added == [7, 2, 3]


@pytest.mark.parametrize("text", ["!-1", "!-1.5", "!!!-1"])
def test_sign_belongs_to_the_number_after_a_negation(text: str) -> None:
    with pytest.raises(CompileError, match="found no matching overload"):
        kubernetes().check(text)


@pytest.mark.parametrize("text", ["!-x", "-!true"])
def test_prefix_operators_do_not_mix(text: str) -> None:
    with pytest.raises(CompileError, match="Syntax error"):
        kubernetes().check(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1].all(a.b, true)", "argument must be a simple name"),
        ("[1].exists(1, true)", "argument must be a simple name"),
        ("[1].map(a.b, true)", "argument is not an identifier"),
        ("[1].filter(a.b, true)", "argument is not an identifier"),
    ],
)
def test_loop_variables_must_be_names(text: str, problem: str) -> None:
    with pytest.raises(CompileError, match=problem):
        kubernetes().check(text)


def test_failed_evaluation_knows_its_cost() -> None:
    program = kubernetes().compile("[1, 2, 3].all(x, x / 0 == 1)")
    with pytest.raises(EvaluationError) as failure:
        program.evaluate({})
    assert 10 < failure.value.cost < 100


def test_checked_expression_can_be_compiled_later() -> None:
    environment = kubernetes()
    checked = environment.check("1 + 1 == 2")
    assert checked.type == BOOL
    assert environment.program(checked).evaluate({}) is True
