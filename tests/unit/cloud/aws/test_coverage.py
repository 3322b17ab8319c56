"""Certificates cover what browsers would accept them for."""

from __future__ import annotations

import pytest

from edgekeeper.cloud.aws.coverage import covers, uncovered


@pytest.mark.parametrize(
    ("name", "domain", "covered"),
    [
        pytest.param("example.com", "example.com", True, id="equal"),
        pytest.param("Example.com", "eXample.COM.", True, id="whatever the case"),
        pytest.param("*.example.com", "shop.example.com", True, id="one label"),
        pytest.param("*.example.com", "example.com", False, id="not the apex"),
        pytest.param("*.example.com", "a.b.example.com", False, id="not two labels"),
        pytest.param("*.example.com", "*.example.com", True, id="the wildcard itself"),
        pytest.param("*.example.com", "*.b.example.com", False, id="not a wildcard below"),
        pytest.param("example.com", "shop.example.com", False, id="no name covers what is below"),
        pytest.param("*.com", "badexample.com", True, id="odd, but one label it is"),
        pytest.param("*.example.com", "shop.badexample.com", False, id="not a lookalike"),
        pytest.param("*.example.com", ".example.com", False, id="not an empty label"),
        pytest.param("", "", False, id="nothing covers nothing"),
        pytest.param("*", "com", False, id="not a bare star"),
    ],
)
def test_name_covers(name: str, domain: str, covered: bool) -> None:
    assert covers(name, domain) is covered


def test_uncovered_domains_are_named_in_order() -> None:
    names = ("*.example.com", "example.com")
    assert uncovered(["b.a.example.com", "example.com", "x.org"], names) == ("b.a.example.com", "x.org")
    assert uncovered(["shop.example.com"], names) == ()
    assert uncovered(["shop.example.com"], ()) == ("shop.example.com",)
