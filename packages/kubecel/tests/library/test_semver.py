"""Semantic versions: strict and normalised reading, and their order."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kubecel.environments import kro, kubernetes
from kubecel.errors import EvaluationError
from kubecel.library.kubernetes.semver import is_semver, parse_normalized, parse_semver
from packages.kubecel.tests.library.evaluating import in_kro, in_kubernetes, refusal

ASCENDING = [
    "0.0.0",
    "0.0.1",
    "0.9.9",
    "0.10.0",
    "1.0.0-0",
    "1.0.0-1",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.1.x",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-rc.2",
    "1.0.0-rc.11",
    "1.0.0",
    "18446744073709551615.0.0",
]


@pytest.mark.parametrize("text", [*ASCENDING, "1.2.3+build.7", "1.2.3-a-b.c--d+e-f.01"])
def test_version_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_semver(text)) == text


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(ASCENDING)))
def test_versions_are_ordered_as_semver_org_says(lower: str, higher: str) -> None:
    assert parse_semver(lower) < parse_semver(higher)
    assert parse_semver(lower) != parse_semver(higher)


def test_build_metadata_does_not_count() -> None:
    assert parse_semver("1.2.3+a") == parse_semver("1.2.3+b")
    assert hash(parse_semver("1.2.3+a")) == hash(parse_semver("1.2.3+b"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.x.3", 'Invalid character(s) found in minor number "x"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a..b", "Prerelease is empty"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-é", 'Invalid character(s) found in prerelease "é"'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
        ("..1", 'strconv.ParseUint: parsing "": invalid syntax'),
        (
            "1.2.99999999999999999999",
            'strconv.ParseUint: parsing "99999999999999999999": value out of range',
        ),
    ],
)
def test_text_that_is_no_version_is_refused(text: str, problem: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_semver(text)

    assert caught.value.message == problem
    assert not is_semver(text)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.2.3", "1.2.3"),
        ("1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("01.02.03", "1.2.3"),
        ("00.0.0", "0.0.0"),
        ("1.2.3-rc.1", "1.2.3-rc.1"),
    ],
)
def test_normalizing_fills_in_and_tidies_up(text: str, version: str) -> None:
    assert str(parse_normalized(text)) == version
    assert is_semver(text, normalize=True)


@pytest.mark.parametrize("text", ["", "vv1", "1.0-rc", "1+b", " 1.0.0", "one"])
def test_normalizing_does_not_make_a_version_of_anything(text: str) -> None:
    assert not is_semver(text, normalize=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('semver("1.2.3").major()', 1),
        ('semver("1.2.3").minor()', 2),
        ('semver("1.2.3").patch()', 3),
        ('semver("1.2.3").compareTo(semver("1.10.0"))', -1),
        ('semver("2.0.0").isGreaterThan(semver("1.10.0"))', True),
        ('semver("2.0.0").isLessThan(semver("1.10.0"))', False),
        ('semver("1.0.0") == semver("1.0.0+x")', True),
        ('isSemver("1.0.0")', True),
        ('isSemver("v1.0.0")', False),
        ('semver("18446744073709551615.0.0").major()', -1),
    ],
)
def test_expressions_compare_versions(text: str, value: object) -> None:
    assert in_kro(text) == in_kubernetes(text) == value


def test_normalizing_is_for_kubernetes_only() -> None:
    assert in_kubernetes('semver("v1.2", true).minor()') == 2
    assert in_kubernetes('isSemver("v1.2", true) && !isSemver("v1.2", false)') is True
    assert "found no matching overload for 'isSemver'" in refusal('isSemver("v1.0", true)', kro())
    assert kubernetes().compile('isSemver("v1.0", true)').type.name == "bool"
