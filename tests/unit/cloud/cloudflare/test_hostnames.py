"""Hostnames have one spelling, and belong to the zone with the longest name that fits."""

from __future__ import annotations

import pytest

from edgekeeper.cloud.cloudflare.hostnames import covers, normalise, zone_of
from edgekeeper.cloud.cloudflare.models import AccountRef, Zone
from edgekeeper.core.errors import Stall


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("App.Example.com", "app.example.com"),
        ("app.example.com.", "app.example.com"),
        (" app.example.com\n", "app.example.com"),
        ("*.example.com", "*.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("_acme.example.com", "_acme.example.com"),
    ],
)
def test_hostname_has_one_spelling(written: str, spelled: str) -> None:
    assert normalise(written) == spelled


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "com",
            "-a.example.com",
            "a..example.com",
            "a b.example.com",
            "a.example.com/x",
            "a.example.com:80",
        ),
        *(
            "*",
            "a.*.example.com",
            "**.example.com",
            "x" * 64 + ".example.com",
            "a." * 130 + "com",
            "ä" * 80 + ".de",
        ),
        "a.example.com\r\nX-Header: 1",
    ],
)
def test_hostname_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Stall) as caught:
        normalise(text)
    assert caught.value.reason == "InvalidSpec"


def _zones(*names: str) -> list[Zone]:
    return [Zone(name, name, AccountRef("a"), "active") for name in names]


@pytest.mark.parametrize(
    ("hostname", "zones", "expected"),
    [
        pytest.param("a.example.com", ["example.com"], "example.com", id="two-labels"),
        pytest.param("a.b.co.uk", ["b.co.uk"], "b.co.uk", id="three-labels"),
        pytest.param(
            "x.dev.example.com", ["example.com", "dev.example.com"], "dev.example.com", id="sub-zone"
        ),
        pytest.param("dev.example.com", ["example.com", "dev.example.com"], "dev.example.com", id="apex"),
        pytest.param("*.example.com", ["example.com"], "example.com", id="wildcard"),
        pytest.param("notexample.com", ["example.com"], None, id="only-the-same-letters"),
        pytest.param("a.example.com", [], None, id="no-zone"),
    ],
)
def test_zone_with_the_longest_fitting_name_holds_a_hostname(
    hostname: str, zones: list[str], expected: str | None
) -> None:
    found = zone_of(hostname, _zones(*zones))
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("pattern", "hostname", "matches"),
    [
        ("a.example.com", "a.example.com", True),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "*.dev.example.com", True),
        ("*.dev.example.com", "*.example.com", False),
        ("", "a.example.com", True),
        ("b.example.com", "a.example.com", False),
    ],
)
def test_pattern_covers_as_cloudflared_matches(pattern: str, hostname: str, matches: bool) -> None:
    assert covers(pattern, hostname) is matches
