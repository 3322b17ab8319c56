"""docs/compare.md: what it says of edgekeeper is shown by a page, a test or a published figure that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.plots import Figures, published_figures
from edgekeeper import __version__

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGE = (DOCS / "compare.md").read_text()
FIGURES = published_figures((DOCS / "benchmarks.md").read_text())
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_TEST = re.compile(r"`((?:tests|packages)/[\w/.]+)`")


def links(text: str) -> list[tuple[str, str]]:
    return [(name, target) for name, target in _LINK.findall(text) if not target.startswith("https://")]


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as MkDocs makes them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def unproven(page: str) -> list[str]:
    """Rows of comparisons that claim something of edgekeeper and show nothing for it."""
    found = []
    for row in re.findall(r"^\|.*\|$", page.partition("## CloudFront")[2], re.MULTILINE):
        name, ours, *_ = (cell.strip() for cell in row[1:-1].split("|"))
        is_claim = bool(name.strip("-")) and ours not in ("no", "edgekeeper")
        if is_claim and not links(ours) and not _TEST.search(ours):
            found.append(name)
    return found


def wrong_figures(page: str, figures: Figures) -> list[str]:
    """Figures with a link to the benchmarks that are not published there with that unit."""
    published = {(value, unit) for value, unit in figures.values()}
    cited = [name for name, target in links(page) if target == "benchmarks.md#figures" and name[0].isdigit()]
    return [
        name
        for name, (value, _, unit) in ((name, name.partition(" ")) for name in cited)
        if (float(value.replace(",", "")), unit) not in published
    ]


@pytest.mark.parametrize("target", sorted({target for _, target in links(PAGE)}))
def test_linked_page_and_section_exist(target: str) -> None:
    name, _, anchor = target.partition("#")
    assert (DOCS / name).exists()
    assert not anchor or anchor in anchors(DOCS / name)


@pytest.mark.parametrize("path", sorted(set(_TEST.findall(PAGE))))
def test_named_test_exists(path: str) -> None:
    assert "def test_" in (ROOT / path).read_text()


def test_every_claim_about_edgekeeper_is_shown() -> None:
    assert unproven(PAGE) == []


def test_claim_without_a_page_or_test_is_found() -> None:
    table = "## CloudFront\n\n| | edgekeeper | x |\n|---|---|---|\n| speed | yes | no |\n| drift | [drift](drift.md) | no |\n| c | no | yes |\n"
    assert unproven(table) == ["speed"]


def test_figures_are_those_of_the_benchmarks() -> None:
    assert wrong_figures(PAGE, FIGURES) == []
    assert len(re.findall(r"\[\d[^\]]*\]\(benchmarks.md#figures\)", PAGE)) >= 5


def test_figure_that_is_not_published_is_found() -> None:
    text = "[1 calls](benchmarks.md#figures) and [2 calls](benchmarks.md#figures)"
    assert wrong_figures(text, {("a", "b"): (2.0, "calls")}) == ["1 calls"]


def test_version_of_edgekeeper_is_the_current_one() -> None:
    assert f"| edgekeeper | {__version__} | this repository |" in PAGE


def test_page_says_what_was_never_tried() -> None:
    assert "never been run against a live account" in PAGE
