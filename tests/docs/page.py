"""A page of the documentation as what a reader finds in it: blocks of code, and in those the files and commands of a session.

The convention of all pages: a command that can be pasted stands behind `$ ` in a block of the form `console`, with what it
prints below it; a line that ends with a backslash goes on in the next one. A block that shows no output at all is a list of
commands, of which only the exit codes count. A file has its name in the title of its block. What is not to be pasted (a
synopsis, a diagram, an output) is `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parents[2]
INDENTED: Final = "indented"
"""The form of a block that has no fence, and so cannot say what it is."""
ANYTHING: Final = "…"
"""In an output: any text, also none."""
_STEP: Final = re.compile(r"((?:.*\\\n)*.*)\n?((?s:.*))")
"""A command, on as many lines as it has, and its output."""
_TITLE: Final = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """A block of code, whatever it is."""

    form: str
    text: str
    line: int
    """Where it begins, counted from 1."""
    title: str = ""
    section: str = ""
    """The title of the section that it is in."""


@dataclass(frozen=True)
class Example:
    """A file, or a command with what it prints."""

    text: str
    line: int
    section: str = ""
    file: str = ""
    command: str = ""


@cache
def blocks(markdown: str) -> tuple[Block, ...]:
    """All blocks of code of a page, from top to bottom, also those within lists and quotes."""
    found, section = [], ""
    tokens = MarkdownIt("commonmark").parse(markdown)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and token.tag == "h2" and following is not None:
            section = following.content
        if token.type not in {"fence", "code_block"}:
            continue
        form, _, rest = token.info.partition(" ")
        title = _TITLE.search(rest)
        start = token.map[0] + 1 if token.map else 0
        found.append(Block(form or INDENTED, token.content, start, title[1] if title else "", section))
    return tuple(found)


def examples(markdown: str) -> Iterator[Example]:
    """What a session of the page consists of, from top to bottom: its commands, and the files that have a name."""
    for block in blocks(markdown):
        if block.form == "console":
            yield from commands(block)
        elif block.title:
            yield Example(block.text, block.line, block.section, file=block.title)


def commands(block: Block) -> Iterator[Example]:
    """The commands of a block, each with what it prints."""
    steps = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not steps[0].strip(), f"line {block.line}: a block begins with what no command has printed"
    parted = [_STEP.fullmatch(step).groups() for step in steps[1:]]  # type: ignore[union-attr] # matches anything
    shows_output = any(printed.strip() for _, printed in parted)
    for command, printed in parted:
        shown = printed if shows_output else ANYTHING
        yield Example(shown, block.line, block.section, command=command)


def read(name: str) -> str:
    """The text of a page, by its path in the checkout."""
    return (ROOT / name).read_text()
