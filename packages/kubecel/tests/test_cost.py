"""What evaluations cost, and that nothing goes on beyond its budget.

The figures are cel-go's, measured by running it on variables of the right types; where it knows types only as `dyn` it
charges 1 for sums and searches of any size, which we do not.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubecel import environments
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.types import DYN
from packages.kubecel.tests.engine import ENVIRONMENT, cost, evaluate

VARIABLES: dict[str, Any] = {
    "x": {
        "name": "web",
        "n": 3,
        "list": [1, 2, 3],
        "map": {"a": {"b": 1}},
        "text": "a" * 95,
        "bytes": b"a" * 25,
    }
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 0),
        ("1 + 2", 1),
        ("x", 1),
        ("x.name", 2),
        ("x.map.a.b", 4),
        ("x.list[0]", 3),
        ("x.list[x.n - 3]", 6),
        ("has(x.map.a)", 3),
        ("[1, 2, 3]", 10),
        ("{'a': 1}", 30),
        ("[1, 2, 3][0]", 12),
        ("{'a': 1}.a", 32),
        ("(x.n > 1 ? x : x).name", 4),
        ("x.n > 1 ? x.name : x.map.a", 4),
        ("x.n > 1 ? 'a' + 'b' : 'c'", 4),
        ("true ? int : string", 0),
        ("x.n > 1 ? type(1) : google.protobuf.Duration", 4),
        ("x.name == 'web'", 3),
        ("x.text == x.text", 14),
        ("x.text + x.text", 23),
        ("x.bytes + x.bytes", 9),
        ("x.list == [1, 2, 3]", 13),
        ("2 in x.list", 5),
        ("'a' in x.map", 3),
        ("x.name.startsWith('w')", 3),
        ("x.text.contains('aaaaaaaaaaaa')", 22),
        ("x.text.matches('a{3}b')", 22),
        ("x.name.size()", 3),
        ("true || x.n > 1", 0),
        ("x.n > 5 && x.n > 6", 3),
        ("x.n > 1 && x.n > 2", 6),
        ("!true", 1),
        ("x.list.all(e, e > 0)", 18),
        ("x.list.all(e, e > 1)", 10),
        ("x.list.exists(e, e > 2)", 21),
        ("x.list.exists(e, e == 1)", 12),
        ("x.list.exists_one(e, e > 2)", 12),
        ("x.list.map(e, e)", 52),
        ("x.list.filter(e, e > 2)", 32),
        ("x.list.map(e, e > 2, e * 2)", 33),
        ("x.list.transformList(i, v, v)", 52),
        ("x.list.transformMap(i, v, v)", 45),
        ("cel.bind(a, x.n, a + a)", 15),
        ("cel.bind(a, x.n, 1)", 10),
        ("x.?name.orValue('a')", 2),
        ("optional.of(1).hasValue()", 2),
    ],
)
def test_costs_are_those_of_the_reference(text: str, expected: int) -> None:
    assert cost(text, **VARIABLES) == expected


def test_comparisons_of_nothing_are_not_for_free_here() -> None:
    assert cost("'' == ''") == 1
    assert cost("[] == []") == 21


@pytest.mark.parametrize(
    "text", ["''.contains('')", "''.matches('')", "[].map(e, e).sum()", "url('/p').getPort()", "1 in []"]
)
def test_calls_on_nothing_need_no_more_than_they_cost(text: str) -> None:
    program = environments.kro().compile(text)
    needed = program.measure({}).cost
    assert needed > 0
    assert program.measure({}, budget=needed).cost == needed
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({}, budget=needed - 1)
    assert caught.value.kind is ErrorKind.COST_EXCEEDED


def test_a_budget_is_enough_to_the_unit() -> None:
    program = ENVIRONMENT.extend(variables={"x": DYN}).compile("x.list.map(e, e + 1).filter(e, e > 2)")
    needed = program.measure(VARIABLES).cost
    assert program.evaluate(VARIABLES, budget=needed) == [3, 4]
    with pytest.raises(EvaluationError) as caught:
        program.evaluate(VARIABLES, budget=needed - 1)
    assert caught.value.kind is ErrorKind.COST_EXCEEDED
    assert not caught.value.pending


@pytest.mark.parametrize(
    "text", ["x.all(a, x.all(b, x.all(c, true))) || true", "x.exists(a, x.map(b, x) == []) || true"]
)
def test_nothing_absorbs_an_exhausted_budget(text: str) -> None:
    program = ENVIRONMENT.extend(variables={"x": DYN}).compile(text)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"x": list(range(1000))}, budget=10_000)
    assert caught.value.kind is ErrorKind.COST_EXCEEDED


def test_evaluations_do_not_share_a_budget() -> None:
    program = ENVIRONMENT.extend(variables={"x": DYN}).compile("x.all(e, e > 0)")
    for _ in range(3):
        assert program.evaluate({"x": [1] * 100}, budget=600) is True


def test_filtered_maps_pay_for_what_passes() -> None:
    assert evaluate("[1, 2].transformMap(i, v, v > 1, v)") == {1: 2}
    assert cost("[1, 2].transformMap(i, v, v > 1, v)") == 10 + 30 + 1 + 2 * 2 + 4
