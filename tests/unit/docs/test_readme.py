"""README.md: one screen, whose links, commands and figures are good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.plots import published_figures
from edgekeeper.cli.main import SECTIONS

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()
PICTURES = re.findall(r'<img src="([^"]+)" width="\d+%" alt="[^"]+">', README)
SCREEN = 50
"""Lines."""


def test_readme_fits_on_a_screen() -> None:
    assert len(README.splitlines()) <= SCREEN


@pytest.mark.parametrize("target", sorted({*re.findall(r"\]\(([^)\s]+)\)", README), *PICTURES}))
def test_target_of_a_link_exists(target: str) -> None:
    assert (ROOT / target).exists()


def test_readme_shows_the_story_and_the_page() -> None:
    assert PICTURES == ["docs/img/demo.svg", "docs/img/status-overview-light.png"]


@pytest.mark.parametrize("target", ["demo", "test"])
def test_targets_of_make_exist(target: str) -> None:
    assert re.search(rf"^\$ make {target} ", README, re.MULTILINE)
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_commands_exist() -> None:
    named = set(re.findall(r"^\$ edgekeeper (\w+)", README, re.MULTILINE))
    assert named == {"plan", "doctor", "explain"}
    assert named <= {entry.name for section in SECTIONS for entry in section.entries}


def test_readme_says_what_is_not_proven() -> None:
    assert "never been run against a live AWS or Cloudflare account" in README


def test_calls_at_rest_are_the_published_ones() -> None:
    figures = published_figures((ROOT / "docs/benchmarks.md").read_text())
    value, unit = figures["cloudfront", "1,000 tenants, own certificate: steady calls per day"]
    assert f"1,000 tenants at rest cost {value:,.0f} {unit} a day" in README
