"""What holds for every test: generated cases repeat from run to run, and no verdict depends on the machine's speed.

`EDGEKEEPER_FUZZ=1` draws fresh cases on every run, to look for what nobody has thought of yet. `--suite` chooses a part
of the tests (`tests/suites.py`), `--servers` the API servers of those that run on several, and `--results` a file for what
the run has shown (`tests/results.py`).
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.suites import Suite, cases_of, is_divided, suite_of

pytest_plugins = ["tests.results"]

settings.register_profile(
    "edgekeeper",
    deadline=None,
    derandomize=os.environ.get("EDGEKEEPER_FUZZ") != "1",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("edgekeeper")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite", choices=list(Suite), help="run only what is of this suite")
    parser.addoption(
        "--servers", default="embedded", help="which API servers to test, separated by commas: embedded, real"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    chosen = config.getoption("--suite")
    if not chosen or collection_path.suffix != ".py" or is_divided(collection_path):
        return None
    return True if suite_of(collection_path) != chosen else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("--suite")
    if not chosen:
        return
    by_file: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if is_divided(item.path):
            by_file[item.path].append(item)
    left_out: set[pytest.Item] = set()
    for path, found in by_file.items():
        names = cases_of(Suite(chosen), path, [item.name for item in found])
        left_out.update(item for item in found if item.name not in names)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))
