"""The tables of scenarios name tests that exist, and leave no scenario out."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from tests.composition.scenarios import DEFINITIONS, INSTANCES

_HERE = Path(__file__).parent
_ALL = 130
"""Scenarios that kro's suite has."""


def _tests(files: Iterable[Path]) -> set[str]:
    return {
        f"{file.stem}::{node.name}"
        for file in files
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_table_of_instances_names_tests_that_exist() -> None:
    assert set(INSTANCES.values()) - _tests((_HERE / "instances").glob("test_*.py")) == set()


def test_table_of_definitions_names_tests_that_exist() -> None:
    files = [*(_HERE / "definitions").glob("test_*.py"), _HERE / "test_together.py"]
    assert set(DEFINITIONS.values()) - _tests(files) == set()


def test_every_scenario_has_a_test() -> None:
    assert set(range(1, _ALL + 1)) - {*DEFINITIONS, *INSTANCES} == set()
