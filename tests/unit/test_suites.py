"""The suites together are all tests, and `make test` has a sample of each test bed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites import BEDS, ROOT, SAMPLE, Suite, suite_of


def files(folder: str) -> list[Path]:
    return [path for path in (ROOT / folder).rglob("test_*.py") if "tests" in path.relative_to(ROOT).parts]


@pytest.mark.parametrize("name", sorted(SAMPLE))
def test_sampled_file_exists_in_a_bed(name: str) -> None:
    assert (ROOT / name).is_file()
    assert name.startswith(BEDS)


@pytest.mark.parametrize("folder", ["packages/kubecel", "packages/kubesim", "tests/conformance"])
def test_each_bed_is_sampled_and_the_rest_is_larger(folder: str) -> None:
    sampled = [path for path in files(folder) if suite_of(path) is Suite.PRODUCT]
    assert sampled
    assert len(files(folder)) > 2 * len(sampled)


def test_tests_of_the_operator_are_all_in_the_suite_of_the_product() -> None:
    left_out = {path.parent for path in files("tests") if suite_of(path) is Suite.REST}
    assert left_out == {ROOT / "tests/conformance"}


def test_option_chooses_the_files_of_a_suite() -> None:
    folder = "packages/kubesim/tests/cloudflare"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    for suite in Suite:
        listed = subprocess.run(
            [*command, f"--suite={suite}", folder], cwd=ROOT, check=True, capture_output=True, text=True
        )
        shown = {line.partition("::")[0] for line in listed.stdout.splitlines() if "::" in line}
        expected = {path for path in files(folder) if suite_of(path) is suite}
        assert {ROOT / name for name in shown} == expected
