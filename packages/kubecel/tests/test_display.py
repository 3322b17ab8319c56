"""Results as JSON: every type of the language has a form, and what would be ambiguous is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubecel import environments
from kubecel.display import as_json
from kubecel.environment import Environment
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.types import DYN


def shown(text: str, environment: Environment | None = None) -> Any:
    return as_json((environment or environments.kro()).compile(text).evaluate({}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("null", None),
        ("true", True),
        ("-7", -7),
        ("7u", 7),
        ("1.5", 1.5),
        ("3.0", 3),
        ("1e300", 1e300),
        ("0.0 / 0.0", "NaN"),
        ("-1.0 / 0.0", "-Infinity"),
        ("'é'", "é"),
        ("b'\\xff\\x00'", "/wA="),
        ("[1, [2.0], {'a': 1u}]", [1, [2], {"a": 1}]),
        ("{1: 'a', true: 'b', 'c': 'd'}", {"1": "a", "true": "b", "c": "d"}),
        ("optional.of([optional.none()])", [None]),
        ("timestamp('2026-01-02T03:04:05.5Z')", "2026-01-02T03:04:05.5Z"),
        ("duration('90m')", "5400s"),
        ("type(1)", "int"),
        ("quantity('1024Mi')", "1Gi"),
        ("url('https://a.example/b?c=d')", "https://a.example/b?c=d"),
        ("[ip('::1')]", ["::1"]),
        ("cidr('10.0.0.0/8')", "10.0.0.0/8"),
        ("semver('1.2.3-rc.1')", "1.2.3-rc.1"),
        ("omit()", {}),
    ],
)
def test_each_type_has_a_form_in_json(text: str, expected: Any) -> None:
    found = shown(text)
    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found, allow_nan=False)


def test_named_formats_show_their_name() -> None:
    assert shown("format.dns1123Label()", environments.kubernetes()) == "DNS1123Label"


@pytest.mark.parametrize("text", ["{1: 'a', '1': 'b'}", "{true: 1, 'true': 2}"])
def test_keys_that_would_fall_together_are_refused(text: str) -> None:
    with pytest.raises(EvaluationError, match="two keys") as caught:
        shown(text)
    assert caught.value.kind is ErrorKind.CONVERSION


def test_values_that_are_too_deep_are_refused() -> None:
    deep: Any = []
    for _ in range(1000):
        deep = [deep]
    environment = environments.kro().extend(variables={"deep": DYN})
    with pytest.raises(EvaluationError) as caught:
        as_json(environment.compile("[deep]").evaluate({"deep": deep}))
    assert caught.value.kind is ErrorKind.TOO_DEEP
