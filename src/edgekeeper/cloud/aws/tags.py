"""The rules of AWS for tags, checked before a call: for every kind whose spec has tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol
from unicodedata import category

from edgekeeper.core.aws_identifiers import MOST_TAGS
from edgekeeper.core.ownership import TAG_PREFIX, Owner
from edgekeeper.core.problems import repeated

_PUNCTUATION: Final = frozenset("_.:/=+-@")
_CATEGORIES: Final = frozenset("LNZ")
"""Unicode categories of letters, numbers and separators."""


class Tag(Protocol):
    """A tag of a spec."""

    @property
    def key(self) -> str: ...

    @property
    def value(self) -> str: ...


def tag_problems(tags: Sequence[Tag], path: str = "spec.tags") -> Iterator[str]:
    """Keys that are repeated or reserved, and characters that AWS does not accept."""
    yield from repeated(path, (tag.key for tag in tags))
    for tag in tags:
        if tag.key.lower().startswith(("aws:", TAG_PREFIX)):
            yield f"{path}: the key {tag.key!r} is reserved"
        for text in (tag.key, tag.value):
            if not all(map(_is_accepted, text)):
                yield f"{path}: {text!r} has characters other than letters, digits, spaces and _ . : / = + - @"


def tag_count_problems(
    tags: Iterable[Tag], owner: Owner, present: Mapping[str, str], path: str = "spec.tags"
) -> Iterator[str]:
    """Check the limit of AWS: tags of the spec, ownership tags, and tags that others have set on the resource."""
    keys, mark = [tag.key for tag in tags], owner.tags()
    others = present.keys() - mark.keys() - set(keys)
    total = len(set(keys)) + len(mark) + len(others)
    if total > MOST_TAGS:
        extra = f" plus {len(others)} set by others" if others else ""
        yield (
            f"{path}: {len(keys)} tags plus {len(mark)} ownership tags{extra} are {total}, "
            f"and AWS allows {MOST_TAGS}: remove {total - MOST_TAGS}"
        )


def _is_accepted(character: str) -> bool:
    return character in _PUNCTUATION or category(character)[0] in _CATEGORIES
