"""Capturing and restoring the log, which belongs to the whole process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import ROOT


class _Collector(logging.Handler):
    """Keeps the fields of each record, with the message as `event` and the `log_level`."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[JsonObject] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields: JsonObject = getattr(record, "fields", {})
        told = {"event": record.getMessage(), "log_level": record.levelname.lower()}
        self.lines.append({**fields, **told})


@contextmanager
def capture_logs() -> Iterator[list[JsonObject]]:
    """The lines that our loggers log within, of all levels. Nobody else gets them: pytest would keep their exceptions."""
    collector, level = _Collector(), ROOT.level
    ROOT.addHandler(collector)
    ROOT.setLevel(logging.DEBUG)
    ROOT.propagate = False
    try:
        yield collector.lines
    finally:
        ROOT.propagate = True
        ROOT.removeHandler(collector)
        ROOT.setLevel(level)


@contextmanager
def log_as_it_was() -> Iterator[None]:
    """Whatever logging is configured within is put back."""
    root = logging.getLogger()
    handlers, level, own = list(root.handlers), root.level, ROOT.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        ROOT.setLevel(own)
        logging.captureWarnings(capture=False)


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """For tests that configure the log, or run commands that do; their `conftest` imports it."""
    with log_as_it_was():
        yield
