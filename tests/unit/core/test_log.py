"""Loggers: records of the standard library, with fields that hold no secret."""

from __future__ import annotations

import logging

import pytest

from edgekeeper.core.log import ROOT, get_logger, threshold
from tests.logs import capture_logs, log_as_it_was

NAME = "edgekeeper.module"


def _fields(record: logging.LogRecord) -> object:
    return getattr(record, "fields", None)


def test_lines_are_records_of_the_standard_library(caplog: pytest.LogCaptureFixture) -> None:
    """So handlers of other libraries get them too."""
    with caplog.at_level(logging.WARNING, "edgekeeper"):
        log = get_logger(NAME)
        log.info("one")
        log.warning("two", reason="cold")
    (record,) = caplog.records
    assert (record.name, record.levelno, record.getMessage()) == (NAME, logging.WARNING, "two")
    assert _fields(record) == {"reason": "cold"}
    assert (record.filename, record.funcName) == (
        "test_log.py",
        "test_lines_are_records_of_the_standard_library",
    )


def test_handlers_of_others_see_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "edgekeeper"):
        get_logger(NAME).info("one", token="abc123", password="hunter2")
    assert "abc123" not in str(caplog.records[0].__dict__)
    assert "hunter2" not in str(caplog.records[0].__dict__)


def test_level_of_a_context_overrides_that_of_the_logger() -> None:
    with capture_logs() as lines:
        ROOT.setLevel(logging.WARNING)
        log = get_logger(NAME)
        log.debug("hidden")
        token = threshold.set(logging.DEBUG)
        log.debug("shown")
        threshold.reset(token)
        token = threshold.set(logging.ERROR)
        log.warning("hidden")
        threshold.reset(token)
    assert [line["event"] for line in lines] == ["shown"]


def test_bound_fields_are_told_in_each_line_unless_it_knows_better() -> None:
    log = get_logger(NAME).bind(lease="a/b", identity="x")
    with capture_logs() as lines:
        log.info("one", identity="y", message="names")
        log.bind(more=1).debug("two")
    assert lines == [
        {"lease": "a/b", "identity": "y", "message": "names", "event": "one", "log_level": "info"},
        {"lease": "a/b", "identity": "x", "more": 1, "event": "two", "log_level": "debug"},
    ]


def test_exception_has_its_traceback() -> None:
    with capture_logs() as lines:
        try:
            int("oops")
        except ValueError:
            get_logger(NAME).exception("failed", name="x")
    assert lines[0]["log_level"] == "error"
    assert "oops" in lines[0]["error"]
    assert "ValueError: invalid literal" in lines[0]["stack"]


def test_nothing_is_written_before_logging_is_configured(capsys: pytest.CaptureFixture[str]) -> None:
    with log_as_it_was():
        logging.getLogger().handlers[:] = []
        get_logger(NAME).critical("unheard")
    assert capsys.readouterr() == ("", "")
