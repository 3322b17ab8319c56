"""docs/glossary.md defines words that the other pages use, and the pages use its spelling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

DOCS: Final = Path(__file__).parents[3] / "docs"
GLOSSARY: Final = DOCS / "glossary.md"
FENCED: Final = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
INDENTED: Final = re.compile(r"^ {4}.*$", re.MULTILINE)
CODE: Final = re.compile(r"`[^`\n]*`|\]\([^)]*\)")
"""Code, and the targets of links."""
PAGES: Final = {
    str(path.relative_to(DOCS)): INDENTED.sub("", FENCED.sub("", path.read_text()))
    for path in sorted(DOCS.rglob("*.md"))
}
"""The text of all pages, without examples."""
PROSE: Final = {name: CODE.sub("", text) for name, text in PAGES.items()}


@dataclass(frozen=True)
class Term:
    """A row of the glossary."""

    name: str
    meaning: str
    avoided: tuple[str, ...]
    """Spellings that no page has."""


def glossary(text: str) -> list[Term]:
    """The rows of the table; each must have its three cells."""
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| term |")]
    cells = [[cell.strip() for cell in row.removeprefix("|").removesuffix("|").split("|")] for row in rows]
    return [
        Term(name, meaning, tuple(word.strip() for word in avoided.split(",") if word.strip()))
        for name, meaning, avoided in cells
    ]


def uses(text: str, word: str) -> bool:
    """Whether a text has a word, in any inflection that only appends letters."""
    return re.search(rf"(?<![\w-]){re.escape(word)}", text, re.IGNORECASE) is not None


def spells(text: str, word: str) -> bool:
    """Whether a text has exactly this spelling, possibly in the plural, or at the beginning of a sentence."""
    spelling = f"[{word[0]}{word[0].upper()}]{re.escape(word[1:])}"
    return re.search(rf"(?<![\w/-]){spelling}s?(?![\w/])", text) is not None


TERMS: Final = glossary(GLOSSARY.read_text())
AVOIDED: Final = [(term.name, word) for term in TERMS for word in term.avoided]


def test_glossary_has_each_term_once_and_in_order() -> None:
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(set(names))
    assert len(names) > 40


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_term_is_explained_and_used_by_another_page(term: Term) -> None:
    assert term.meaning
    assert [name for name, text in PAGES.items() if name != GLOSSARY.name and uses(text, term.name)]


def test_pages_spell_terms_as_the_glossary_does() -> None:
    found = [
        f"{page}: {word!r}, and the glossary has {name!r}"
        for page, text in PROSE.items()
        for name, word in AVOIDED
        if page != GLOSSARY.name and spells(text, word)
    ]
    assert len(AVOIDED) > 10
    assert found == []


@pytest.mark.parametrize(
    ("text", "word", "is_spelt"),
    [
        ("Host names are checked", "host name", True),
        ("The host name is", "host name", True),
        ("Host name:", "host name", True),
        ("in Route53.", "Route53", True),
        ("see Route53Zone", "Route53", False),
    ],
)
def test_other_spelling_is_found(text: str, word: str, is_spelt: bool) -> None:
    assert spells(text, word) is is_spelt
