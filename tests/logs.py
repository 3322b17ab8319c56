"""What tests do about the log, which belongs to the whole process. Unless somebody listens, nothing is written."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import tell


class _Notes:
    """Listens to every word."""

    def __init__(self) -> None:
        self.lines: list[JsonObject] = []

    def wants(self, _level: str) -> bool:
        return True

    def take(self, _logger: str, level: str, message: str, fields: JsonObject) -> None:
        self.lines.append({**fields, "event": message, "log_level": level})


@contextmanager
def capture_logs() -> Iterator[list[JsonObject]]:
    """The lines that are said within, of all levels: their fields, with the message as `event` and the `log_level`."""
    notes = _Notes()
    before = tell(notes)
    try:
        yield notes.lines
    finally:
        tell(before)


@contextmanager
def log_as_it_was() -> Iterator[None]:
    """At first nobody listens; whatever is configured within is put back."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    before = tell(None)
    try:
        yield
    finally:
        tell(before)
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(capture=False)


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """For tests that configure the log, or run commands that do; their `conftest` imports it."""
    with log_as_it_was():
        yield
