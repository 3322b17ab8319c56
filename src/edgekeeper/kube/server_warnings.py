"""Logs the `Warning` headers of the API server: deprecated versions, unknown fields, risky values.

The server sends them with every response. Each text is logged once, because a controller repeats its requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from edgekeeper.core.log import get_logger

log = get_logger(__name__)

_MOST_REMEMBERED = 256
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


def warnings_in(headers: Mapping[str, str]) -> list[str]:
    """The texts of the warnings in the headers of a response."""
    return [_ESCAPED.sub(r"\1", text) for text in _WARNING.findall(headers.get("warning", ""))]


class ServerWarnings:
    """Logs every warning once."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def log(self, headers: Mapping[str, str], operation: str) -> None:
        if "warning" not in headers:
            return
        for text in warnings_in(headers):
            if text in self._known:
                continue
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known.add(text)
            log.warning("the API server warns", warning=text, operation=operation)
