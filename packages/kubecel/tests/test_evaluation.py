"""What expressions evaluate to: operators, fields, macros, optionals, and which errors come of them."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.errors import ErrorKind
from kubecel.types import DYN
from kubecel.values import NONE, BoolKey, Optional, Timestamp, Uint
from packages.kubecel.tests.engine import ENVIRONMENT, evaluate, failure

OBJECT: dict[str, Any] = {
    "name": "web",
    "replicas": 3,
    "ratio": 0.5,
    "none": None,
    "ports": [80, 443],
    "labels": {"app": "web", "a.b/c": "x"},
    "deep": {"a": {"b": {"c": {"d": 1}}}},
    "containers": [{"name": "a", "ready": True}, {"name": "b", "ready": False}],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x.name", "web"),
        ("x.labels.app", "web"),
        ("x.deep.a.b", {"c": {"d": 1}}),
        ("x.deep.a.b.c.d", 1),
        ("x.labels['a.b/c']", "x"),
        ("x['name']", "web"),
        ("x.ports[1]", 443),
        ("x.ports[1u]", 443),
        ("x.ports[dyn(1.0)]", 443),
        ("x.containers[0].name", "a"),
        ("x.none", None),
        ("has(x.none)", True),
        ("has(x.nothing)", False),
        ("has(x.labels.app)", True),
        ("has(x.name.first)", False),
        ("{1: 'a', true: 'b'}[true]", "b"),
        ("{1: 'a', 2u: 'b'}[dyn(2.0)]", "b"),
        ("[x.name][0]", "web"),
    ],
)
def test_fields_and_elements_are_found(text: str, value: Any) -> None:
    assert evaluate(text, x=OBJECT) == value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x.nothing", ErrorKind.NO_SUCH_KEY),
        ("x.labels.nothing", ErrorKind.NO_SUCH_KEY),
        ("x.nothing.more", ErrorKind.NO_SUCH_KEY),
        ("x.deep.a.b.x.d", ErrorKind.NO_SUCH_KEY),
        ("x.none.field", ErrorKind.NO_SUCH_KEY),
        ("x.name.field", ErrorKind.NO_SUCH_KEY),
        ("x['nothing']", ErrorKind.NO_SUCH_KEY),
        ("x.name[0]", ErrorKind.NO_SUCH_KEY),
        ("has(x.nothing.more)", ErrorKind.NO_SUCH_KEY),
        ("x.ports[2]", ErrorKind.INDEX_OUT_OF_BOUNDS),
        ("x.ports[-1]", ErrorKind.INDEX_OUT_OF_BOUNDS),
        ("x.ports[dyn(0.5)]", ErrorKind.INVALID_ARGUMENT),
        ("x.ports[18446744073709551615u]", ErrorKind.INVALID_ARGUMENT),
        ("x.ports.field", ErrorKind.INVALID_ARGUMENT),
        ("x.labels[[1]]", ErrorKind.UNSUPPORTED_KEY),
        ("x.name + 1", ErrorKind.NO_SUCH_OVERLOAD),
        ("x.name < 1", ErrorKind.NO_SUCH_OVERLOAD),
        ("x.ratio < double('nan')", ErrorKind.INVALID_ARGUMENT),
        ("!x.name", ErrorKind.NO_SUCH_OVERLOAD),
        ("x.name ? 1 : 2", ErrorKind.NO_SUCH_OVERLOAD),
        ("1 in x.name", ErrorKind.NO_SUCH_OVERLOAD),
        ("x.replicas.all(e, true)", ErrorKind.NO_SUCH_OVERLOAD),
        ("x.ports.map(p, p, 1)", ErrorKind.NO_SUCH_OVERLOAD),
        ("x.ports.exists_one(p, p)", ErrorKind.NO_SUCH_OVERLOAD),
        ("x.size(1)", ErrorKind.NO_SUCH_OVERLOAD),
    ],
)
def test_errors_are_of_a_kind(text: str, kind: ErrorKind) -> None:
    assert failure(text, x=OBJECT, checked=False).kind is kind


def test_variables_that_nobody_provides_are_missing() -> None:
    program = ENVIRONMENT.extend(variables={"x": DYN}).compile("x.a == 1 || x == 2 || true")
    assert program.evaluate({}) is True
    assert failure("y.z", checked=False).kind is ErrorKind.NO_SUCH_ATTRIBUTE
    assert failure("y", checked=False).pending


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true && true", True),
        ("false && x.e", False),
        ("x.e && false", False),
        ("x.name && false", False),
        ("true || x.e", True),
        ("x.e || true", True),
        ("x.name || true", True),
        ("false || false || true", True),
        ("true && true && false", False),
        ("x.e || x.f || true", True),
        ("x.replicas > 5 ? x.e : 'fine'", "fine"),
        ("x.replicas > 1 ? 'fine' : x.e", "fine"),
        ("!(x.replicas == 3)", False),
    ],
)
def test_logic_needs_only_what_decides(text: str, value: Any) -> None:
    assert evaluate(text, x=OBJECT) == value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x.e && true", ErrorKind.NO_SUCH_KEY),
        ("true && x.e", ErrorKind.NO_SUCH_KEY),
        ("x.e || false", ErrorKind.NO_SUCH_KEY),
        ("x.name && true", ErrorKind.NO_SUCH_OVERLOAD),
        ("1 / 0 == 1 || x.e", ErrorKind.DIVISION_BY_ZERO),
    ],
)
def test_logic_without_a_decision_fails_with_the_first_error(text: str, kind: ErrorKind) -> None:
    assert failure(text, x=OBJECT, checked=False).kind is kind


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x.name == 'web'", True),
        ("x.name != 'web'", False),
        ("x.replicas == 3.0", True),
        ("x.replicas == '3'", False),
        ("x.ports == [80, 443]", True),
        ("x.labels != {'app': 'web'}", True),
        ("x.none == null", True),
        ("x.replicas == 3u", True),
        ("dyn(true) == dyn(1)", False),
        ("x.replicas < 3.5", True),
        ("x.replicas >= 3u", True),
        ("'a' < 'b' && b'a' <= b'a' && true > false", True),
        ("443 in x.ports", True),
        ("'443' in x.ports", False),
        ("'app' in x.labels", True),
        ("null in x.labels", False),
        ("[80, 443] in [x.ports]", True),
        ("1.0 in {1: 2}", True),
    ],
)
def test_comparisons_span_types(text: str, value: bool) -> None:
    assert evaluate(text, x=OBJECT, checked=False) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x.ports.all(p, p > 0)", True),
        ("x.ports.all(p, p > 100)", False),
        ("x.ports.exists(p, p == 443)", True),
        ("x.ports.exists(p, p == 1)", False),
        ("x.ports.exists_one(p, p > 100)", True),
        ("x.ports.existsOne(p, p > 0)", False),
        ("x.ports.map(p, p + 1)", [81, 444]),
        ("x.ports.map(p, p > 100, string(p))", ["443"]),
        ("x.ports.filter(p, p < 100)", [80]),
        ("x.labels.map(k, k)", ["app", "a.b/c"]),
        ("x.labels.exists(k, k == 'app')", True),
        ("{true: 1}.map(k, k)", [True]),
        ("x.containers.filter(c, c.ready).map(c, c.name)", ["a"]),
        ("x.ports.map(p, x.ports.map(q, p * q))", [[6400, 35440], [35440, 196249]]),
        ("x.ports.all(i, p, i < 2 && p > 0)", True),
        ("x.labels.exists(k, v, v == 'web')", True),
        ("x.ports.existsOne(i, p, p == 80)", True),
        ("x.ports.transformList(i, p, i + p)", [80, 444]),
        ("x.ports.transformList(i, p, i > 0, p)", [443]),
        ("x.ports.transformMap(i, p, p * 2)", {0: 160, 1: 886}),
        ("x.labels.transformMap(k, v, k == 'app', v + '!')", {"app": "web!"}),
        ("x.ports.transformMapEntry(i, p, {string(p): i})", {"80": 0, "443": 1}),
        ("x.labels.transformMapEntry(k, v, v == 'x', {v: k})", {"x": "a.b/c"}),
        ("{true: 1}.transformMap(k, v, v)", {BoolKey.TRUE: 1}),
        ("[].all(e, e)", True),
        ("[].exists(e, e)", False),
    ],
)
def test_macros_loop(text: str, value: Any) -> None:
    assert evaluate(text, x=OBJECT) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 0, 2].all(e, 4 / e == 9)", False),
        ("[1, 0, 2].exists(e, 4 / e == 2)", True),
        ("['a', 2].exists(e, e == 2)", True),
    ],
)
def test_quantifiers_decide_in_spite_of_errors(text: str, value: bool) -> None:
    assert evaluate(text) is value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1, 0].all(e, 4 / e > 0)", ErrorKind.DIVISION_BY_ZERO),
        ("[1, 0].exists_one(e, 4 / e == 4)", ErrorKind.DIVISION_BY_ZERO),
        ("[1, 0].map(e, 4 / e)", ErrorKind.DIVISION_BY_ZERO),
        ("[1, 1].transformMapEntry(i, v, {v: i})", ErrorKind.DUPLICATE_KEY),
        ("[1].transformMapEntry(i, v, {dyn([]): i})", ErrorKind.UNSUPPORTED_KEY),
    ],
)
def test_other_macros_let_errors_out(text: str, kind: ErrorKind) -> None:
    assert failure(text).kind is kind


def test_variables_of_macros_hide_others_for_their_scope_only() -> None:
    assert evaluate("[1, 2].map(x, x)[0] + x", x=10) == 11
    assert evaluate("[[1, 2], [3]].map(x, x.map(x, x * 2))") == [[2, 4], [6]]
    assert evaluate("cel.bind(x, x + 1, x + 1)", x=1) == 3


def test_bound_names_are_evaluated_once_and_only_if_used() -> None:
    assert evaluate("cel.bind(a, 1 / 0, 5)") == 5
    assert evaluate("cel.bind(a, 1 / 0, a == 1 || true)") is True
    assert evaluate("cel.bind(a, x.b, a.c + a.d)", x={"b": {"c": 1, "d": 2}}) == 3
    assert evaluate("[1, 2].map(e, cel.bind(twice, e * 2, twice + twice))") == [4, 8]
    assert failure("cel.bind(a, 1 / 0, a || a)", checked=False).kind is ErrorKind.DIVISION_BY_ZERO


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x.?name", "web"),
        ("x.?nothing", None),
        ("x.?nothing.more", None),
        ("x.?labels.app", "web"),
        ("x.?labels.?app", "web"),
        ("x.?labels.nothing", None),
        ("x[?'name']", "web"),
        ("x.ports[?0]", 80),
        ("x.ports[?5]", None),
        ("x.?ports[1]", 443),
        ("x.?ports[?5]", None),
        ("x.?name.field", None),
        ("x.?name.optMap(n, n + '!')", "web!"),
        ("x.?nothing.optMap(n, n + '!')", None),
        ("x.?labels.optFlatMap(l, l.?app)", "web"),
        ("x.?nothing.or(x.?name)", "web"),
        ("x.?name.or(1 / 0)", "web"),
    ],
)
def test_optional_look_ups_find_or_do_not(text: str, value: Any) -> None:
    found = evaluate(text, x=OBJECT, checked=False)
    assert isinstance(found, Optional)
    assert found.value == value
    assert found.present is (value is not None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x.?nothing.orValue('default')", "default"),
        ("x.?name.orValue(1 / 0)", "web"),
        ("x.?name.hasValue()", True),
        ("x.?name.value()", "web"),
        ("[?x.?name, ?x.?nothing, 'z']", ["web", "z"]),
        ("{?'a': x.?name, ?'b': x.?nothing, 'c': 1}", {"a": "web", "c": 1}),
        ("optional.of(1) == optional.of(1)", True),
        ("optional.none() == optional.of(1)", False),
        ("has(x.?labels.app)", True),
        ("has(x.?nothing.app)", False),
        ("'not an optional'.orValue(1)", "not an optional"),
    ],
)
def test_optionals_are_resolved(text: str, value: Any) -> None:
    assert evaluate(text, x=OBJECT, checked=False) == value


def test_absent_optionals_have_no_value() -> None:
    assert failure("optional.none().value()").kind is ErrorKind.OPTIONAL_NONE
    assert failure("[?x]", x=1, checked=False).kind is ErrorKind.NO_SUCH_OVERLOAD
    assert evaluate("optional.none()") is NONE


def test_literals_of_maps_refuse_repeated_and_odd_keys() -> None:
    assert evaluate("{1: 'a', true: 'b', '1': 'c'}") == {1: "a", BoolKey.TRUE: "b", "1": "c"}
    assert failure("{1: 'a', 1u: 'b'}", checked=False).kind is ErrorKind.DUPLICATE_KEY
    assert failure("{1.5: 'a'}", checked=False).kind is ErrorKind.UNSUPPORTED_KEY
    assert failure("{null: 'a'}", checked=False).kind is ErrorKind.UNSUPPORTED_KEY


def test_names_with_dots_are_found_longest_first() -> None:
    environment = ENVIRONMENT.extend(variables={"a.b": DYN, "a.b.c": DYN, "d.e": DYN})
    variables = {"a.b": {"c": "short"}, "a.b.c": "long", "d.e": {"f": {"g": 1}}}
    assert environment.compile("a.b.c").evaluate(variables) == "long"
    assert environment.compile("d.e.f.g").evaluate(variables) == 1
    assert environment.compile("[{'b': 5}].map(a, a.b)").evaluate(variables) == [5]
    assert environment.compile("a.b.c").identifiers == {"a.b.c"}


def test_a_leading_dot_asks_for_the_outermost_name() -> None:
    assert evaluate("[1].map(x, .x)", x=5, checked=False) == [5]


def test_types_are_values() -> None:
    assert evaluate("type(1) == int && type(type(1)) == type && type([]) == list") is True
    assert evaluate("type(x) == google.protobuf.Timestamp", x=Timestamp(0)) is True
    assert evaluate("type(optional.none()) == optional_type") is True
    assert evaluate("int", int=5) == 5


def test_sums_wrap_nothing() -> None:
    assert evaluate("x + y", x=Uint(1), y=Uint(2)) == 3
    assert type(evaluate("x + y", x=Uint(1), y=Uint(2))) is Uint
    assert evaluate("x + y", x=(1,), y=[2]) == [1, 2]
    assert failure("x + 1", x=2**63 - 1).kind is ErrorKind.OVERFLOW


def test_what_is_given_is_never_changed() -> None:
    given = {"a": [1, 2], "b": {"c": 1}}
    evaluate("x.a + [3] == [] || x.b.transformMap(k, v, v + 1) == {} || x.a.map(e, e * 2) == []", x=given)
    assert given == {"a": [1, 2], "b": {"c": 1}}


def test_unknown_functions_and_types_fail_only_when_they_are_reached() -> None:
    assert evaluate("true || f(1)", checked=False) is True
    assert failure("f(1)", checked=False).kind is ErrorKind.NO_SUCH_OVERLOAD
    assert failure("x.f()", x=1, checked=False).kind is ErrorKind.NO_SUCH_OVERLOAD
    assert failure("a.Message{field: 1}", checked=False).kind is ErrorKind.NO_SUCH_OVERLOAD
