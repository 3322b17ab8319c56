"""What holds for every test: generated cases repeat from run to run, and no verdict depends on the machine's speed.

`EDGEKEEPER_FUZZ=1` draws fresh cases on every run, to look for what nobody has thought of yet. `--suite` chooses a part
of the tests (`tests/suites.py`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.suites import Suite, suite_of

settings.register_profile(
    "edgekeeper",
    deadline=None,
    derandomize=os.environ.get("EDGEKEEPER_FUZZ") != "1",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("edgekeeper")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite", choices=list(Suite), help="run only what is of this suite")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    chosen = config.getoption("--suite")
    is_left_out = chosen and collection_path.suffix == ".py" and suite_of(collection_path) != chosen
    return True if is_left_out else None
