"""docs/cel.md names every function, and its examples are true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubecel import environments
from kubecel.display import as_json
from kubecel.environment import Environment
from kubecel.limits import DEFAULT_BUDGET, DEFAULT_LIMITS, MAX_SIZE
from packages.kubecel.tests.golden.test_cel_spec import KNOWN_MISSES

PAGE = (Path(__file__).parents[3] / "docs" / "cel.md").read_text()
EXAMPLES = re.findall(
    r"^\| `(.+)` \| `(.+)` \|$", PAGE.partition("### Examples")[2].partition("\n## ")[0], re.MULTILINE
)


def words(environment: Environment) -> set[str]:
    """What users can call by name."""
    vocabulary = environment._vocabulary
    functions = {name for name in vocabulary.functions if re.fullmatch(r"[a-z][\w.]*", name, re.IGNORECASE)}
    macros = {"cel.bind" if macro == "bind" else macro for macro, _, _ in vocabulary.macros}
    return functions | macros


@pytest.mark.parametrize(
    "environment", [environments.kro(), environments.kubernetes()], ids=["kro", "kubernetes"]
)
def test_page_names_every_function_and_macro(environment: Environment) -> None:
    assert not {word for word in words(environment) if f"`{word}`" not in PAGE}


def test_page_has_examples() -> None:
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize(("text", "value"), EXAMPLES)
def test_examples_of_the_page_have_the_values_that_it_says(text: str, value: str) -> None:
    found: Any = as_json(environments.kro().compile(text).evaluate({}))
    assert found == json.loads(value)


@pytest.mark.parametrize(
    "limit",
    [
        *(DEFAULT_LIMITS.source, DEFAULT_LIMITS.depth, DEFAULT_LIMITS.nesting, DEFAULT_LIMITS.nodes),
        *(DEFAULT_BUDGET, MAX_SIZE),
    ],
)
def test_page_has_the_limits(limit: int) -> None:
    assert re.search(rf"\| {limit:,}(?: |$)", PAGE, re.MULTILINE)


@pytest.mark.parametrize("case", KNOWN_MISSES)
def test_page_lists_every_case_of_the_specification_that_differs(case: str) -> None:
    assert f"`{case}`" in PAGE
