"""Whether an output is what a page shows: `…` stands for any text, ages and the width of columns may differ."""

from __future__ import annotations

import re
from typing import Final

from tests.docs.page import ANYTHING

_AGE: Final = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|m)\b")


def agrees(printed: str, shown: str) -> bool:
    """Whether an output is what the page shows."""
    pattern = ".*".join(re.escape(part) for part in _comparable(shown).split(ANYTHING))
    return re.fullmatch(pattern, _comparable(printed), re.DOTALL) is not None


def _comparable(text: str) -> str:
    lines = [re.sub(r"(?<=\S) +", " ", _AGE.sub("0s", line)).rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n")
