"""Loggers: what they hand on, to whom, and when."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import LEVELS, get_logger, tell
from tests.logs import capture_logs, log_as_it_was


class Picky:
    """Wants warnings and worse."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, str, JsonObject]] = []

    def wants(self, level: str) -> bool:
        return LEVELS[level] >= LEVELS["warning"]

    def take(self, logger: str, level: str, message: str, fields: JsonObject) -> None:
        self.heard.append((logger, level, message, fields))


def test_listener_gets_what_it_wants_and_nothing_else() -> None:
    picky, log = Picky(), get_logger("module")
    with log_as_it_was():
        tell(picky)
        log.debug("one")
        log.info("two")
        log.warning("three", reason="cold")
        log.error("four")
        log.critical("five")
    assert picky.heard == [
        ("module", "warning", "three", {"reason": "cold"}),
        ("module", "error", "four", {}),
        ("module", "critical", "five", {}),
    ]


def test_bound_fields_are_told_in_each_line_unless_it_knows_better() -> None:
    log = get_logger("module").bind(lease="a/b", identity="x")
    with capture_logs() as lines:
        log.info("one", identity="y", event="odd", message="names", level="allowed")
        log.bind(more=1).debug("two")
    assert lines == [
        {
            "lease": "a/b",
            "identity": "y",
            "message": "names",
            "level": "allowed",
            "event": "one",
            "log_level": "info",
        },
        {"lease": "a/b", "identity": "x", "more": 1, "event": "two", "log_level": "debug"},
    ]


def test_exception_asks_for_the_traceback() -> None:
    with capture_logs() as lines:
        get_logger("module").exception("failed", name="x")
    assert lines == [{"exc_info": True, "name": "x", "event": "failed", "log_level": "error"}]


def test_listeners_follow_one_another() -> None:
    first, second, log = Picky(), Picky(), get_logger("module")
    with log_as_it_was():
        tell(first)
        log.error("one")
        assert tell(second) is first
        log.error("two")
        assert tell(None) is second
        log.error("three")
    assert [line[2] for line in first.heard + second.heard] == ["one", "two"]
