"""`format`, in the dialect of the specification and in the one of kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environment import Environment
from kubecel.environments import kro, kubernetes
from kubecel.errors import CompileError, ErrorKind, EvaluationError
from kubecel.library.extensions.strings import format_localized, format_plain
from kubecel.values import Duration, Timestamp, Uint
from packages.kubecel.tests.library.evaluating import failure, in_kro, in_kubernetes

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("text", "arguments", "plain", "localized"),
    [
        ("no clause", [], "no clause", "no clause"),
        ("100%%", [], "100%", "100%"),
        ("%s and %s", ["a", True], "a and true", "a and true"),
        ("%s", [None], "null", "null"),
        ("%s", [7], "7", "7"),
        ("%s", [Uint(7)], "7", "7"),
        ("%s", [1.0], "1", "1"),
        ("%s", [1e21], "1000000000000000000000", "1e+21"),
        ("%s", [1e-7], "0.0000001", "1e-07"),
        ("%s", [NAN], "NaN", "NaN"),
        ("%s", [-INFINITY], "-Infinity", "-Inf"),
        ("%s", [b"xyz"], "xyz", "xyz"),
        ("%s", [Duration(3_601_500_000_000)], "3601.5s", "3601.5s"),
        ("%s", [Timestamp(0)], "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("%s", [["a", 1, 2.5, None]], "[a, 1, 2.5, null]", '["a", 1, 2.500000, null]'),
        ("%s", [[b"x", NAN, INFINITY]], "[x, NaN, Infinity]", '[b"x", "NaN", "+Inf"]'),
        ("%s", [[Timestamp(0)]], "[1970-01-01T00:00:00Z]", '[timestamp("1970-01-01T00:00:00Z")]'),
        ("%s", [[Duration(10**9)]], "[1s]", '[duration("1s")]'),
        ("%s", [{"b": 1, "a": {"c": "d"}}], "{a: {c: d}, b: 1}", '{"a":{"c":"d"}, "b":1}'),
        ("%s", [[]], "[]", "[]"),
        ("%s", [{}], "{}", "{}"),
        ("%d", [-5], "-5", "-5"),
        ("%d", [Uint(5)], "5", "5"),
        ("%f", [2.71828], "2.718280", "2.718280"),
        ("%.3f", [1.2345], "1.234", "1.234"),
        ("%.0f", [2.5], "2", "2"),
        ("%f", [1234567.5], "1234567.500000", "1,234,567.500000"),
        ("%f", [-0.0], "-0.000000", "0.000000"),
        ("%f", [INFINITY], "Infinity", "∞"),
        ("%e", [1234.5], "1.234500e+03", "1.234500×10⁰³"),
        ("%.2e", [0.00015], "1.50e-04", "1.500000×10⁻⁰⁴"),
        ("%.20e|", [0.1], "1.00000000000000005551e-01|", "      1.000000×10⁻⁰¹|"),
        ("%e", [-INFINITY], "-Infinity", "    -∞"),
        ("%b", [5], "101", "101"),
        ("%b", [-5], "-101", "-101"),
        ("%b", [True], "1", "1"),
        ("%o", [8], "10", "10"),
        ("%x", [255], "ff", "ff"),
        ("%X", [Uint(255)], "FF", "FF"),
        ("%x", ["é"], "c3a9", "c3a9"),
        ("%X", [b"\xff"], "FF", "FF"),
        ("%.3d", [1], "1", "1"),
    ],
)
def test_value_is_written_in_each_dialect(
    text: str, arguments: list[Any], plain: str, localized: str
) -> None:
    assert format_plain(text, arguments) == plain
    assert format_localized(text, arguments) == localized


def test_whole_numbers_are_doubles_to_the_plain_dialect_only() -> None:
    assert format_plain("%f %e %d", [2, Uint(3), 2.5]) == "2.000000 3.000000e+00 2.5"
    for clause, argument in (("%f", 2), ("%e", Uint(3)), ("%d", 2.5)):
        with pytest.raises(EvaluationError):
            format_localized(clause, [argument])


def test_words_stand_for_numbers_in_the_localized_dialect_only() -> None:
    assert format_localized("%f %f", ["NaN", "-Infinity"]) == "NaN -∞"
    with pytest.raises(EvaluationError):
        format_plain("%f", ["NaN"])


def test_bytes_that_are_no_text_are_replaced_or_refused() -> None:
    assert format_plain("%s", [b"a\xff"]) == "a\ufffd"
    with pytest.raises(EvaluationError, match="invalid UTF-8 in bytes"):
        format_localized("%s", [b"a\xff"])


def test_keys_of_maps_are_sorted_by_their_text() -> None:
    text = "'%s'.format([{2: 'b', true: 'c', 'k': 1, 10u: 'a'}])"

    assert in_kro(text) == "{10: a, 2: b, k: 1, true: c}"
    assert in_kubernetes(text) == '{"k":1, 10:"a", 2:"b", true:"c"}'


@pytest.mark.parametrize("environment", [kro(), kubernetes()], ids=["kro", "kubernetes"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'%a'", 'could not parse formatting clause: unrecognized formatting clause "a"'),
        ("'%E'", 'could not parse formatting clause: unrecognized formatting clause "E"'),
        ("'%'", "unexpected end of string"),
        ("'%s %s'", "index 1 out of range"),
        ("'%.'", "could not find end of precision specifier"),
        ("'%.f'", 'parsing "": invalid syntax'),
        ("'%.99999999999999999999f'", "value out of range"),
        ("'%b'", "can be formatted as binary, was given null_type"),
        ("'%d'", "decimal clause can only be used on"),
        ("'%x'", "can be formatted as hex, was given null_type"),
        ("'%o'", "octal clause can only be used on"),
        ("'%e'", "scientific clause can only be used on"),
        ("'%f'", "fixed-point clause can only be used on"),
    ],
)
def test_wrong_clause_is_found_early_if_written_out_and_late_otherwise(
    environment: Environment, text: str, problem: str
) -> None:
    with pytest.raises(CompileError) as caught:
        environment.compile(f"{text}.format([null])")

    assert problem in caught.value.message
    assert problem in failure(f"{text}.format(dyn([null]))", environment=environment).message


@pytest.mark.parametrize("environment", [kro(), kubernetes()], ids=["kro", "kubernetes"])
def test_arguments_too_many_are_found_only_if_written_out(environment: Environment) -> None:
    with pytest.raises(CompileError) as caught:
        environment.compile("'%s'.format([1, 2])")

    assert caught.value.render("'%s'.format([1, 2])") == (
        "ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)\n"
        " | '%s'.format([1, 2])\n"
        " | ...........^"
    )
    assert environment.compile("'%s'.format(dyn([1, 2]))").evaluate({}) == "1"


@pytest.mark.parametrize("literal", ["ip('::1')", "[1, ip('::1')]", "{'a': ip('::1')}"])
def test_values_without_a_text_are_found_inside_of_literals(literal: str) -> None:
    with pytest.raises(CompileError) as caught:
        kro().compile(f"'%s'.format([{literal}])")

    assert caught.value.message.endswith("was given net.IP")
    assert caught.value.position is not None
    assert caught.value.position.column == f"'%s'.format([{literal}])".index("(", 12)


def test_value_without_a_text_is_an_error_when_it_turns_up() -> None:
    assert failure("'%s'.format([dyn(ip('::1'))])").message.endswith("was given net.IP")
    assert (
        failure("'%s'.format([dyn([ip('::1')])])", environment=kubernetes()).message
        == "error during formatting: no formatting function for net.IP"
    )


def test_methods_called_format_of_others_are_left_alone() -> None:
    assert in_kubernetes("format.named('uuid').hasValue()") is True


@given(st.floats(), st.integers(min_value=0, max_value=30))
def test_plain_doubles_are_written_as_python_does(value: float, precision: int) -> None:
    if value in (INFINITY, -INFINITY) or value != value:  # noqa: PLR0124 - NaN
        assert format_plain("%f", [value]) in ("Infinity", "-Infinity", "NaN")
    else:
        assert format_plain(f"%.{precision}f", [value]) == f"{value:.{precision}f}"
        assert format_plain(f"%.{precision}e", [value]) == f"{value:.{precision}e}"
        assert float(format_plain("%s", [value])) == value


@given(st.lists(st.text(max_size=10), max_size=5), st.lists(st.text(max_size=5), max_size=5))
def test_texts_between_clauses_stay_as_they_are(arguments: list[str], between: list[str]) -> None:
    pairs = list(zip(between, arguments, strict=False))
    template = "".join(text.replace("%", "%%") + "%s" for text, _ in pairs)

    assert format_plain(template, [argument for _, argument in pairs]) == "".join(
        text + argument for text, argument in pairs
    )


def test_value_that_holds_itself_many_times_is_not_written_out() -> None:
    nested: list[Any] = ["x" * 10_000]
    for _ in range(60):
        nested = [nested, nested]
    for write in (format_plain, format_localized):
        with pytest.raises(EvaluationError) as caught:
            write("%s", [nested])
        assert caught.value.kind is ErrorKind.TOO_LARGE


def test_value_nested_too_deeply_is_refused() -> None:
    nested: Any = []
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(EvaluationError) as caught:
        format_plain("%s", [nested])

    assert caught.value.kind is ErrorKind.TOO_DEEP
