"""What oracles say."""

from __future__ import annotations

from typing import NamedTuple


class Violation(NamedTuple):
    """A law that a run broke."""

    law: str
    """Which: a word, by which failures are grouped and shrunk."""
    text: str
    """How, in words."""

    def __str__(self) -> str:
        return f"{self.law}: {self.text}"
