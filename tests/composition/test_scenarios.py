"""The tables of scenarios name tests that exist and run on each server, and leave no scenario out."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from tests.composition.scenarios import DEFINITIONS, INSTANCES

_HERE = Path(__file__).parent
_ALL = 130
"""Scenarios that kro's suite has."""


def _tests(files: Iterable[Path], *, decorated: str = "") -> set[str]:
    """The tests in files, all or those with a decorator."""
    return {
        f"{file.stem}::{node.name}"
        for file in files
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not decorated or decorated in map(ast.unparse, node.decorator_list)
    }


def test_table_of_instances_names_tests_that_exist() -> None:
    assert set(INSTANCES.values()) - _tests((_HERE / "instances").glob("test_*.py")) == set()


def test_table_of_definitions_names_tests_that_exist() -> None:
    files = [*(_HERE / "definitions").glob("test_*.py"), _HERE / "test_together.py"]
    assert set(DEFINITIONS.values()) - _tests(files) == set()


def test_every_scenario_has_a_test() -> None:
    assert set(range(1, _ALL + 1)) - {*DEFINITIONS, *INSTANCES} == set()
    assert set(DEFINITIONS) & set(INSTANCES) == set()


def test_every_scenario_is_shown_on_each_server() -> None:
    tests = _tests(_HERE.rglob("test_*.py"), decorated="each_server")
    assert {*DEFINITIONS.values(), *INSTANCES.values()} - tests == set()
