"""Problems of a manifest that are found in the same way for every kind: messages that name the field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator


def repeated(path: str, values: Iterable[str]) -> Iterator[str]:
    """A message for each value that a list has more than once."""
    for value, count in Counter(values).items():
        if count > 1:
            yield f"{path}: {value!r} is listed {count} times"
