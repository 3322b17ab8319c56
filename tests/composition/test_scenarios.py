"""The table of scenarios names tests that exist."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.composition.scenarios import INSTANCES

_FOLDER = Path(__file__).parent / "instances"


def test_table_names_tests_that_exist() -> None:
    tests: set[str] = set()
    for file in _FOLDER.glob("test_*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                tests.add(f"{file.stem}::{node.name}")
    assert {name for name in INSTANCES.values() if name not in tests} == set()
