"""Which tests `make test` runs, and which only `make test-all`.

The product's own tests run in `make test`, but for a few slow ones, and of the tables that are played on a whole cluster
the first and the last case. What stands below them as a test bed (the embedded API server, the simulated clouds, the
expression engine) has exhaustive tables of its own; a change to the product passes a sample of those, and continuous
integration all of them. `pytest` without `--suite` runs whatever it is asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
BEDS = ("packages", "tests/conformance")
"""Where the exhaustive tests are."""
SAMPLE = frozenset(
    {
        "packages/kubecel/tests/test_evaluation.py",
        "packages/kubecel/tests/test_expressions_of_rules.py",
        "packages/kubecel/tests/test_limits.py",
        "packages/kubecel/tests/test_readme.py",
        "packages/kubesim/tests/aws/test_boto3.py",
        "packages/kubesim/tests/cloudflare/test_sdk.py",
        "packages/kubesim/tests/plane/test_concurrent_writes.py",
        "packages/kubesim/tests/plane/test_crd_controller.py",
        "packages/kubesim/tests/plane/test_garbage.py",
        "packages/kubesim/tests/plane/test_plane.py",
        "packages/kubesim/tests/test_serving.py",
        "packages/kubesim/tests/test_virtual.py",
        "tests/conformance/test_informers.py",
        "tests/conformance/test_leadership.py",
        "tests/conformance/test_manager.py",
        "tests/conformance/test_our_definitions.py",
    }
)
"""Of these the files that show that the bed stands, and those that show the operator on it."""


PLAYED = (
    "tests/bridge",
    "tests/composition",
    "tests/platform",
    "tests/reliability",
    "tests/security",
    "tests/tenants",
    "tests/zerotrust",
    "tests/zerotrust_worker",
)
"""Where each case of a test is a cluster of its own: `make test` runs two cases of each test, `make test-rest` the others."""

SLOW = frozenset({"tests/unit/cli/test_roles.py"})
"""Tests of the product that are left to continuous integration: they wait in real time, for processes and Leases."""


class Suite(StrEnum):
    """`product` is what `make test` runs, `rest` everything else, so that each test is in one of them."""

    PRODUCT = "product"
    REST = "rest"


def suite_of(path: Path) -> Suite:
    """The suite that a file of tests belongs to; of one that is `divided` only some cases."""
    within = _within(path)
    is_bed = any(within.is_relative_to(bed) for bed in BEDS)
    is_left_out = (is_bed and str(within) not in SAMPLE) or str(within) in SLOW
    return Suite.REST if is_left_out else Suite.PRODUCT


def is_divided(path: Path) -> bool:
    """Whether both suites have cases of the file."""
    within = _within(path)
    return str(within) not in SLOW and any(within.is_relative_to(folder) for folder in PLAYED)


def cases_of(suite: Suite, names: Sequence[str]) -> frozenset[str]:
    """The cases that a suite has of a divided file, given the names of all, such as `test_outage[throttled]`."""
    by_test: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        by_test[name.partition("[")[0]].append(name)
    sample = frozenset(name for cases in by_test.values() for name in (cases[0], cases[-1]))
    return sample if suite is Suite.PRODUCT else frozenset(names) - sample


def _within(path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(ROOT).as_posix())
