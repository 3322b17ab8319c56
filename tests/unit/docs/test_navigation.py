"""mkdocs.yml leads to every page, in five sections, and the first page leads on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[3]
DOCS: Final = ROOT / "docs"
SITE: Final = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
SECTIONS: Final = {name: entries for section in SITE["nav"] for name, entries in section.items()}


def pages(entries: Any) -> Iterator[str]:
    """The files below an entry of the navigation."""
    if isinstance(entries, str):
        yield entries
        return
    for entry in entries.values() if isinstance(entries, dict) else entries:
        yield from pages(entry)


def test_navigation_has_each_page_once() -> None:
    there = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    assert sorted(pages(SITE["nav"])) == there


def test_navigation_begins_with_what_a_newcomer_needs() -> None:
    assert list(SECTIONS) == ["Start", "Use", "Operate", "Understand", "Contribute"]
    assert list(pages(SECTIONS["Start"])) == ["index.md", "tutorial.md", "install.md"]


@pytest.mark.parametrize("page", ["tutorial.md", "concepts.md", "glossary.md"])
def test_first_page_leads_to(page: str) -> None:
    assert f"]({page})" in (DOCS / "index.md").read_text()
