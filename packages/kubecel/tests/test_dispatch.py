"""Which overload a call means: values decide, and what the checker knows decides where values do not tell."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel import environments
from kubecel.types import DYN
from kubecel.values import Duration, Uint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1].filter(e, false).sum()", 0),
        ("[1u].filter(e, false).sum()", Uint(0)),
        ("[1.5].filter(e, false).sum()", 0.0),
        ("[duration('1s')].filter(e, false).sum()", Duration(0)),
        ("items.map(e, duration(e)).sum()", Duration(0)),
        ("items.sum()", 0),
    ],
)
def test_sum_of_no_elements_has_the_type_of_the_elements(text: str, expected: Any) -> None:
    program = environments.kubernetes().extend(variables={"items": DYN}).compile(text)
    found = program.evaluate({"items": []})
    assert found == expected
    assert type(found) is type(expected)


def test_without_a_check_the_first_element_decides() -> None:
    environment = environments.kro().extend(variables={"items": DYN})
    program = environment.compile("items.sum()", checked=False)
    assert program.evaluate({"items": [Duration(1), Duration(2)]}) == Duration(3)
    assert program.evaluate({"items": [1.5, 2.5]}) == 4.0
