"""What a run of the tests has shown, written down for docs/guarantees.md (`tools/guarantees.py`).

`pytest --results FILE` writes for each test file which cases passed, and the figures that they declare with the fixture
`figures`: counts, which add up over the cases, and measurements, of which the largest counts. Cases report them as user
properties, so they also arrive from the processes of pytest-xdist. Without the option nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

PROPERTY = "figure"


class Figure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number that a test has found."""

    name: str
    value: float
    unit: str = ""
    limit: float | None = None
    promise: str = ""
    """The only promise that it belongs to, such as `R-17`; without one it belongs to all that name its file."""
    adds_up: bool = False
    """Whether it is a count, which adds up over cases; of others the largest value counts."""

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.promise


class Case(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one test case. One that was skipped has none."""

    passed: bool
    figures: tuple[Figure, ...] = ()


class Results(msgspec.Struct, frozen=True):
    """The results of one run."""

    date: str
    files: dict[str, dict[str, Case]]
    """By the path of a test file, below the root of the repository, and the name of a case."""


class Figures:
    """Takes the figures of one test case."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Figure] = {}

    def count(self, name: str, value: int = 1, *, promise: str = "") -> None:
        """Add to a count, such as `count("fault plans")`."""
        self._add(Figure(name, value, promise=promise, adds_up=True))

    def measure(
        self, name: str, value: float, unit: str, *, limit: float | None = None, promise: str = ""
    ) -> None:
        """Note a measurement: `measure("new leader after", 16.2, "s", limit=20)`. The test itself asserts the limit."""
        self._add(Figure(name, value, unit, limit, promise))

    def _add(self, figure: Figure) -> None:
        self._found[figure.key] = joined(self._found.get(figure.key), figure)

    def __iter__(self) -> Iterator[Figure]:
        return iter(self._found.values())


def joined(one: Figure | None, other: Figure) -> Figure:
    """Two figures of the same name as one."""
    if one is None:
        return other
    value = one.value + other.value if other.adds_up else max(one.value, other.value)
    return msgspec.structs.replace(other, value=value)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[Figures]:
    """Takes figures that docs/guarantees.md may show."""
    found = Figures()
    yield found
    request.node.user_properties += [(PROPERTY, msgspec.to_builtins(figure)) for figure in found]


class Collector:
    """Gathers the results of a run, and writes them when it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: defaultdict[str, dict[str, Case]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Fixtures report their figures when they are torn down: the last report of a case has them."""
        file, _, name = report.nodeid.partition("::")
        cases = self._files[file]
        if report.failed:
            cases[name] = Case(passed=False)
        elif report.when == "call" and report.passed:
            cases[name] = Case(passed=True)
        elif report.when == "teardown" and name in cases and cases[name].passed:
            found = [value for key, value in report.user_properties if key == PROPERTY]
            cases[name] = Case(passed=True, figures=msgspec.convert(found, tuple[Figure, ...]))

    def pytest_sessionfinish(self) -> None:
        write(self._path, {file: cases for file, cases in sorted(self._files.items()) if cases})


def write(path: Path, files: dict[str, dict[str, Case]]) -> None:
    """Write results with the date of today."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = Results(datetime.now(UTC).date().isoformat(), files)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--results", type=Path, metavar="FILE", help="write which cases passed, with their figures"
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--results")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Collector(path), "results")
