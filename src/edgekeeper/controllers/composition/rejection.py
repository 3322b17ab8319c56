"""Why a ResourceGraphDefinition is rejected, and the path of the invalid field.

Messages are kro's, because people search for them and tools match them: each layer puts its own words in front of those
of the layer below it (`failed to build resource "web": …`). The path of the field is an addition and stands beside the
message, as in the errors of an API server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager


class RejectedError(Exception):
    """A definition is wrong: the message, and the path of the field below the place that is being looked at."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def below(self, words: str = "", path: str = "") -> RejectedError:
        """The same, seen from further out: with more words in front, and a longer path."""
        message = f"{words}: {self.message}" if words else self.message
        return RejectedError(message, join_paths(path, self.path))


@contextmanager
def rejected_below(words: str = "", path: str = "") -> Iterator[None]:
    """Say of rejections inside where they were met."""
    try:
        yield
    except RejectedError as error:
        raise error.below(words, path) from error


def join_paths(outer: str, inner: str) -> str:
    if not outer or not inner:
        return outer or inner
    return f"{outer}{inner}" if inner.startswith("[") else f"{outer}.{inner}"


def quoted(text: str) -> str:
    """A text in double quotes, with the escapes that messages use."""
    return json.dumps(text, ensure_ascii=False)
