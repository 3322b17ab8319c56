from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import pty
import timeit
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.delta import compare
from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import get_logger
from edgekeeper.core.logline import clean, render_json, render_text
from edgekeeper.runtime import logs
from edgekeeper.runtime.logs import COMPLETED, FAILED, STARTED, about, configure
from tests.logs import capture_logs, logs_as_before

__all__ = ["logs_as_before"]

NOW = datetime(2026, 3, 1, 12, 34, 56, 789012, tzinfo=UTC)
CANARY = "c4n4ry-s3cr3t-9f8e7d6c"


class Screen(io.StringIO):
    """Something to write to, that may say of itself that it is a terminal."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()

    def tree(self) -> JsonObject:
        (line,) = self.lines
        tree: JsonObject = json.loads(line)
        return tree


def screen(terminal: bool = False, environ: dict[str, str] | None = None, **settings: Any) -> Screen:
    stream = Screen(terminal=terminal)
    configure(stream=stream, clock=VirtualClock(NOW), environ=environ or {}, **settings)
    return stream


def log() -> Any:
    return get_logger("edgekeeper.test")


# JSON


def test_json_line_has_the_names_that_go_controllers_use() -> None:
    out = screen(format="json")
    log().info(COMPLETED, kind="Widget", namespace="a", name="b", generation=7, reconcile_id="x")
    assert out.getvalue() == (
        '{"ts":"2026-03-01T12:34:56.789012Z","level":"info","logger":"edgekeeper.test","msg":"Reconciliation completed",'
        '"kind":"Widget","namespace":"a","name":"b","generation":7,"reconcile_id":"x"}\n'
    )


def test_bound_values_are_in_every_line() -> None:
    out = screen(format="json")
    bound = log().bind(lease="a/b")
    bound.info("one", x=1)
    bound.bind(more=2).warning("two")
    first, second = map(json.loads, out.lines)
    assert (first["lease"], first["x"]) == ("a/b", 1)
    assert (second["lease"], second["more"], second["level"]) == ("a/b", 2, "warning")


def test_line_is_one_line_whatever_is_in_it() -> None:
    out = screen(format="json")
    log().info("two\nlines", value="a\r\nb\u2028c\x1b[31m\x9b31m", **{"ke\ny": "v"})
    (line,) = out.lines
    assert "\x1b" not in line
    assert "\x9b" not in line
    assert json.loads(line)["value"] == "a\r\nb\u2028c\x1b[31m\x9b31m"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (timedelta(seconds=1.5), 1.5),
        (NOW, "2026-03-01T12:34:56.789012Z"),
        (ValueError("no such thing"), "no such thing"),
        (TimeoutError(), "TimeoutError"),
        (b"\x00\x01", "[2 bytes]"),
        (2**80, 2**80),
        ("half \ud800 character", "half \ud800 character"),
        (float("nan"), None),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ((1, 2), [1, 2]),
        (object, "<class 'object'>"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_value_can_be_logged(value: Any, shown: Any) -> None:
    out = screen(format="json")
    log().info("hello", value_of=value)
    assert out.tree()["value_of"] == shown


def test_fields_never_replace_what_the_line_says_of_itself() -> None:
    out = screen(format="json")
    log().info("hello", level="fatal", ts=0, msg="forged", logger="x", event="e")
    tree = out.tree()
    assert (tree["level"], tree["msg"], tree["logger"]) == ("info", "hello", "edgekeeper.test")
    assert (tree["level_"], tree["ts_"], tree["msg_"], tree["logger_"]) == ("fatal", 0, "forged", "x")


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def test_logging_never_raises() -> None:
    out = screen(format="json")
    cycle: list[Any] = []
    cycle.append(cycle)
    log().info("hello", hostile=Hostile(), cycle=cycle, changes=Hostile(), exc_info=(1, 2))
    log().info("hello", error=OSError(Hostile()))
    assert len(out.lines) == 2


def test_closed_stream_is_no_reason_to_fail() -> None:
    out = screen(format="json")
    out.close()
    log().info("nobody reads this")


# Levels


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error", "critical"]),
        ("INFO", ["info", "warning", "error", "critical"]),
        ("Warn", ["warning", "error", "critical"]),
        ("error", ["error", "critical"]),
    ],
    ids=["debug", "info", "warning", "error"],
)
def test_level_hides_what_is_below_it(level: str, shown: list[str]) -> None:
    out = screen(format="json", level=level)
    for name in logs.LEVELS:
        getattr(log(), name)("hello")
    assert [json.loads(line)["level"] for line in out.lines] == shown


def test_object_may_ask_for_a_level_of_its_own() -> None:
    out = screen(format="json", level="info")
    with about(kind="Widget", name="chatty", level="DEBUG"):
        log().debug("shown")
    with about(kind="Widget", name="silent", level="error"):
        log().warning("hidden")
    log().debug("hidden")
    assert [json.loads(line)["name"] for line in out.lines] == ["chatty"]


@pytest.mark.parametrize("level", ["loud", "", None, "10"])
def test_level_of_an_object_that_is_not_known_is_ignored(level: str | None) -> None:
    out = screen(format="json", level="info")
    with about(level=level):
        log().debug("hidden")
        log().info("shown")
    assert len(out.lines) == 1


def test_scopes_nest_and_end() -> None:
    out = screen(format="json")
    with about(kind="Widget", name="a", level="debug"):
        with about(step="create"):
            log().debug("inner")
        log().info("outer", name="mine")
    log().info("outside")
    inner, outer, outside = map(json.loads, out.lines)
    assert (inner["name"], inner["step"]) == ("a", "create")
    assert outer["name"] == "mine"
    assert "step" not in outer
    assert "name" not in outside


async def test_scope_holds_for_tasks_begun_within_and_no_others() -> None:
    out = screen(format="json")

    async def work(number: int) -> None:
        with about(name=f"w-{number}"):
            await asyncio.sleep(0)
            async with asyncio.TaskGroup() as group:
                group.create_task(step(number))

    async def step(number: int) -> None:
        await asyncio.sleep(0)
        log().info("step", number=number)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(work(number))
    assert {json.loads(line)["name"] for line in out.lines} == {f"w-{number}" for number in range(5)}
    assert all(json.loads(line)["name"] == f"w-{json.loads(line)['number']}" for line in out.lines)


# Secrets

SECRETS: dict[str, JsonObject] = {
    "by_name": {"client_secret": CANARY},
    "by_name_nested": {"request": {"headers": {"Authorization": f"Bearer {CANARY}"}}},
    "in_a_secret": {"object": {"kind": "Secret", "data": {"key": CANARY}}},
    "in_a_change_that_its_name_makes_secret": {
        "changes": compare([{"name": "TOKEN", "value": CANARY}], [{"name": "TOKEN", "value": "old"}])
    },
    "in_a_secret_spread_over_the_line": {"kind": "Secret", "name": "s", "data": {"key": CANARY}},
    "in_a_text": {"why": f"request failed: token={CANARY}"},
    "in_an_address": {"url": f"https://user:{CANARY}@example.com/"},
    "in_an_exception": {"error": RuntimeError(f"password={CANARY}")},
    "in_a_change_by_path": {"changes": [("spec.clientSecret", CANARY, CANARY + "1")]},
    "in_a_change_by_a_path_in_brackets": {"changes": [("annotations[example.com/token]", CANARY, None)]},
    "in_a_change_by_value": {"changes": [("spec.x", {"password": CANARY}, f"Bearer {CANARY}1")]},
    "in_changes_that_are_none": {"changes": {"token": CANARY}},
    "in_a_pair": {"headers": [["X-Api-Key", CANARY]]},
    "in_bytes": {"body": CANARY.encode()},
    "beside_its_name": {"name": "API_TOKEN", "value": CANARY},
}


@pytest.mark.parametrize("shape", ["json", "text"])
@pytest.mark.parametrize("fields", SECRETS.values(), ids=SECRETS.keys())
def test_secret_never_reaches_a_line(fields: JsonObject, shape: str) -> None:
    out = screen(format=shape, color="always", level="debug")
    for _ in range(3):  # what is remembered of the first line must not let the second one through
        log().debug("hello", **fields)
    with about(**fields):
        log().info("hello", more=1)
    assert CANARY not in out.getvalue()
    assert len(out.lines) >= 4


@pytest.mark.parametrize("shape", ["json", "text"])
def test_secret_in_a_scope_and_beside_it_stays_hidden(shape: str) -> None:
    out = screen(format=shape)
    with about(kind="Secret", name="s"):
        log().info("hello", data={"key": CANARY})
    assert CANARY not in out.getvalue()


@pytest.mark.parametrize("shape", ["json", "text"])
def test_secret_in_a_message_stays_hidden(shape: str) -> None:
    out = screen(format=shape)
    log().info(f"token={CANARY}")
    logging.getLogger("library").warning("calling with password=%s", CANARY)
    assert CANARY not in out.getvalue()


def test_text_that_was_harmless_under_one_name_is_secret_under_another() -> None:
    out = screen(format="json")
    log().info("hello", colour="blue-canary")
    log().info("hello", colour="blue-canary")
    log().info("hello", password="blue-canary")
    assert [line.count("blue-canary") for line in out.lines] == [1, 1, 0]


def test_memory_of_harmless_texts_is_bounded() -> None:
    out = screen(format="json")
    for number in range(10_000):
        log().info("hello", reconcile_id=f"id-{number}", **{f"key-{number}": number})
    assert len(out.lines) == 10_000
    assert len(logs_memory()[0]) <= 4096
    assert len(logs_memory()[1]) <= 4096


def logs_memory() -> tuple[set[str], set[str]]:
    from edgekeeper.core import logline  # noqa: PLC0415 - looks behind the scenes, here only

    return logline._clean_texts, logline._clean_keys


# Exceptions


@pytest.mark.parametrize("shape", ["json", "text"])
def test_exception_is_shown_with_its_way_and_without_locals(shape: str) -> None:
    out = screen(format=shape)
    try:
        go_wrong(CANARY)
    except ValueError:
        log().exception(FAILED, name="a")
    written = out.getvalue()
    assert "this went wrong" in written
    assert "test_logs.py" in written
    assert CANARY not in written


def go_wrong(local: str) -> None:
    raise ValueError("this went wrong" if local else "")


def test_exception_is_told_in_words_and_as_a_stack() -> None:
    out = screen(format="json")
    log().error(FAILED, exc_info=ValueError("no"))
    tree = out.tree()
    assert tree["error"] == "no"
    assert tree["stack"] == "ValueError: no"
    assert "exc_info" not in tree


def test_exception_that_is_asked_for_outside_of_any_is_nothing() -> None:
    out = screen(format="json")
    log().error("hello", exc_info=True)
    assert "stack" not in out.tree()


# The standard library


def test_standard_logging_takes_the_same_way() -> None:
    out = screen(format="json", level="debug")
    logging.getLogger("aiohttp.server").warning("cannot %s", "serve")
    logging.getLogger("aiohttp.server").debug("whole requests, with everything in them")
    tree = out.tree()
    assert (tree["level"], tree["logger"], tree["msg"]) == ("warning", "aiohttp.server", "cannot serve")


def test_standard_logging_follows_the_level() -> None:
    out = screen(format="json", level="error")
    logging.getLogger("asyncio").warning("slow")
    logging.getLogger("asyncio").error("failed", exc_info=ValueError("no"))
    assert out.tree()["error"] == "no"


def test_standard_logging_belongs_to_the_object_in_hand() -> None:
    out = screen(format="json")
    with about(name="shop"):
        logging.getLogger("botocore").warning("retrying")
    assert out.tree()["name"] == "shop"


def test_standard_logging_of_unknown_levels_is_shown() -> None:
    out = screen(format="json")
    logging.getLogger("odd").log(35, "hello")
    assert out.tree()["level"] == "info"


def test_standard_logging_of_a_library_with_fields_of_its_own_is_shown_without_them() -> None:
    out = screen(format="json")
    logging.getLogger("library").warning("one", extra={"fields": {"password": CANARY}})
    logging.getLogger("library").warning("two", extra={"fields": [CANARY]})
    assert [json.loads(line)["msg"] for line in out.lines] == ["one", "two"]
    assert CANARY not in out.getvalue()


# Handlers of others


class Collecting(logging.Handler):
    """What a user's handler gets: the records, and what a usual formatter makes of them."""

    def __init__(self, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.records: list[logging.LogRecord] = []
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.texts.append(self.format(record))


@pytest.fixture(params=["", "edgekeeper", "edgekeeper.test"], ids=["root", "package", "module"])
def theirs(request: pytest.FixtureRequest) -> Iterator[Collecting]:
    handler, logger = Collecting(), logging.getLogger(request.param)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.mark.parametrize("configured_after", [True, False], ids=["added before", "added after"])
def test_handler_of_a_user_gets_records_with_fields_of_the_line_and_its_object(
    theirs: Collecting, configured_after: bool
) -> None:
    out = screen(format="json")
    if configured_after:
        out = screen(format="json")
    with about(kind="Widget", namespace="a", name="b", reconcile_id="x"):
        log().bind(step="create").warning("Widget is slow", seconds=3)
    (record,) = theirs.records
    assert (record.name, record.levelname, record.getMessage()) == (
        "edgekeeper.test",
        "WARNING",
        "Widget is slow",
    )
    told = {
        "kind": "Widget",
        "namespace": "a",
        "name": "b",
        "reconcile_id": "x",
        "step": "create",
        "seconds": 3,
    }
    assert record.fields == told  # type: ignore[attr-defined] # ours
    assert (record.filename, record.funcName[:15]) == ("test_logs.py", "test_handler_of")
    assert out.tree()["msg"] == "Widget is slow", "and ours gets it as well"


@pytest.mark.parametrize("fields", SECRETS.values(), ids=SECRETS.keys())
def test_handler_of_a_user_gets_no_secret(theirs: Collecting, fields: JsonObject) -> None:
    screen(format="json")
    log().info("hello", **fields)
    with about(**fields):
        log().info("hello")
        log().info("hello", **fields)
    assert len(theirs.records) == 3
    assert CANARY not in str([vars(record) for record in theirs.records])


def test_handler_of_a_user_gets_no_secret_of_a_message_or_an_exception(theirs: Collecting) -> None:
    screen(format="json")

    def refuse() -> None:
        raise RuntimeError(f"refused: password={CANARY}")

    try:
        refuse()
    except RuntimeError as error:
        log().exception(f"failed: token={CANARY}")
        log().warning("failed", exc_info=error)
    assert [record.exc_info and record.exc_info[0] for record in theirs.records] == [RuntimeError] * 2
    assert all("RuntimeError: refused: " in text for text in theirs.texts)
    assert all("in test_handler_of_a_user" in text for text in theirs.texts)
    assert CANARY not in "".join(theirs.texts)


def test_handler_of_a_user_follows_the_level_of_an_object_and_its_own(theirs: Collecting) -> None:
    screen(format="json", level="info")
    with about(name="chatty", level="debug"):
        log().debug("shown")
    with about(name="silent", level="error"):
        log().warning("hidden")
    log().debug("hidden")
    assert [record.getMessage() for record in theirs.records] == ["shown"]
    theirs.setLevel(logging.ERROR)
    log().warning("hidden")
    log().error("shown")
    assert len(theirs.records) == 2


def test_record_factory_of_a_user_is_used() -> None:
    """OpenTelemetry puts the ids of traces into records that way."""
    screen(format="json")
    handler, factory = Collecting(), logging.getLogRecordFactory()

    def traced(*arguments: Any, **more: Any) -> logging.LogRecord:
        record = factory(*arguments, **more)
        record.trace = "4bf92f35"
        return record

    logging.getLogger().addHandler(handler)
    logging.setLogRecordFactory(traced)
    try:
        log().info("hello")
    finally:
        logging.setLogRecordFactory(factory)
    assert handler.records[0].trace == "4bf92f35"  # type: ignore[attr-defined] # as above


def test_configuring_again_does_not_double_lines() -> None:
    screen(format="json")
    out = screen(format="json")
    logging.getLogger("x").warning("once")
    log().info("once")
    assert len(out.lines) == 2


def test_warnings_are_lines_too() -> None:
    out = screen(format="json")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("this is old", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(capture=False)
    assert "this is old" in out.tree()["msg"]


def test_loggers_made_before_follow_the_configuration() -> None:
    early = get_logger("early")
    first = screen(format="json")
    early.info("one")
    second = screen(format="text")
    early.info("two")
    assert '"msg":"one"' in first.getvalue()
    assert second.lines == ["12:34:56.789 INFO    two"]


# Text


def text(level: str = "info", message: str = "hello", /, *, colour: bool = False, **fields: Any) -> str:
    head = {"ts": NOW, "level": level, "logger": "edgekeeper.test", "msg": message}
    return render_text({**head, **clean(fields)}, colour=colour)


def test_text_line_reads_from_left_to_right() -> None:
    line = text(
        "info", COMPLETED, kind="Widget", namespace="a", name="b", generation=7, took=0.5, why="no reason"
    )
    assert (
        line
        == '12:34:56.789 INFO    Reconciliation completed Widget a/b generation=7 took=0.5 why="no reason"'
    )


def test_text_shows_before_and_after_of_every_change() -> None:
    differences = compare({"size": 2, "tags": ["a"], "name": "x"}, {"size": 1, "name": "x", "old": True})
    assert text("info", COMPLETED, changes=differences).splitlines()[1:] == [
        "    size: 1 → 2",
        '    tags: ∅ → ["a"]',
        "    old: true → ∅",
    ]
    assert text(changes=[("spec.a", "one\ntwo", None)]).splitlines()[1:] == ['    spec.a: "one\\ntwo" → null']


@pytest.mark.parametrize(
    ("line", "colour"),
    [
        (text("info", COMPLETED, colour=True), "32"),
        (text("info", COMPLETED, colour=True, changes=[("a", 1, 2)]), "33"),
        (text("warning", FAILED, colour=True), "31"),
        (text("error", "hello", colour=True), "31"),
        (text("info", STARTED, colour=True), "36"),
        (text("warning", "hello", colour=True), "35"),
    ],
    ids=[
        "ok_is_green",
        "changed_is_yellow",
        "failed_is_red",
        "error_is_red",
        "start_is_cyan",
        "warning_is_magenta",
    ],
)
def test_colours_have_meanings(line: str, colour: str) -> None:
    assert (
        f"\x1b[{colour}m{'WARNING' if 'WARNING' in line else 'ERROR' if 'ERROR' in line else 'INFO'}" in line
    )


def test_object_is_a_heading() -> None:
    assert "\x1b[36mWidget a/b\x1b[0m" in text(colour=True, kind="Widget", namespace="a", name="b")


EVIL = {
    "forged_line": "x\n12:34:56.789 INFO    Reconciliation completed",
    "carriage_return": "x\r12:34:56.789 ERROR",
    "colour": "\x1b[32mok\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "c1": "\x9b31m",
    "line_separator": "a\u2028b\u2029c\x85d",
    "right_to_left": "\u202etxt.exe",
    "isolate": "\u2066x\u2069",
    "half_character": "\udc80",
    "backspace": "abc\x08\x08\x08xyz\x7f",
}


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL.keys())
def test_nothing_that_is_logged_can_forge_a_line_or_paint(evil: str) -> None:
    fields: JsonObject = {
        "value_of": evil,
        "tree": {evil: [evil]},
        evil: 1,
        "name": evil,
        "namespace": evil,
        "kind": evil,
    }
    changes = [(evil, evil, {evil: evil})]
    line = text("info", evil, **fields, changes=changes, exc_info=ValueError(evil))
    first, *below = line.split("\n")
    assert all(row.startswith("    ") for row in below)
    assert not any(
        letter in line for letter in "\r\x1b\x07\x08\x7f\x85\x9b\u2028\u2029\u202e\u2066\u2069\udc80"
    )
    assert first.isprintable()


@given(st.text(), st.dictionaries(st.text(max_size=5), st.text(max_size=50)))
def test_any_text_is_rendered_on_one_line(message: str, fields: dict[str, str]) -> None:
    head = {"ts": NOW, "level": "info", "logger": "l", "msg": message}
    line = {**head, **{f"k{key}": value for key, value in fields.items()}}
    assert len(render_text(line, colour=False).splitlines()) == 1
    assert len(render_json(line).splitlines()) == 1


# Settings


@pytest.mark.parametrize(
    ("terminal", "environ", "settings", "expected"),
    [
        (False, {}, {}, "json"),
        (True, {}, {}, "text"),
        (True, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {}, "json"),
        (True, {"LOG_FORMAT": "json"}, {}, "json"),
        (False, {"LOG_FORMAT": "TEXT"}, {}, "text"),
        (False, {"LOG_FORMAT": "json"}, {"format": "text"}, "text"),
    ],
    ids=["pipe", "terminal", "cluster", "variable_json", "variable_text", "parameter_wins"],
)
def test_format_is_chosen(
    terminal: bool, environ: dict[str, str], settings: dict[str, Any], expected: str
) -> None:
    out = screen(terminal, environ, **settings)
    log().info("hello")
    assert out.getvalue().startswith("{") == (expected == "json")


@pytest.mark.parametrize(
    ("terminal", "environ", "settings", "expected"),
    [
        (False, {}, {}, False),
        (True, {}, {}, True),
        (True, {"TERM": "dumb"}, {}, False),
        (True, {"NO_COLOR": "1"}, {}, False),
        (True, {"NO_COLOR": ""}, {}, True),
        (True, {"NO_COLOR": "1", "LOG_COLOR": "always"}, {}, True),
        (False, {"FORCE_COLOR": "1"}, {}, True),
        (False, {"LOG_COLOR": "always"}, {}, True),
        (True, {"LOG_COLOR": "never"}, {}, False),
        (True, {"LOG_COLOR": "never"}, {"color": "always"}, True),
    ],
    ids=str,
)
def test_colour_is_chosen(
    terminal: bool, environ: dict[str, str], settings: dict[str, Any], expected: bool
) -> None:
    out = screen(terminal, environ, format="text", **settings)
    log().info("hello")
    assert ("\x1b" in out.getvalue()) == expected


def test_level_comes_from_the_environment_unless_said_otherwise() -> None:
    assert not logged_debug({"LOG_LEVEL": ""})
    assert logged_debug({"LOG_LEVEL": "DEBUG"})
    assert not logged_debug({"LOG_LEVEL": "DEBUG"}, level="info")


def logged_debug(environ: dict[str, str], **settings: Any) -> bool:
    out = screen(environ=environ, **settings)
    log().debug("hello")
    return bool(out.lines)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": "loud"}, "unknown log level 'loud', known are debug, info, warning, error, critical"),
        ({"format": "xml"}, "unknown log format 'xml', known are json, text"),
        ({"color": "blue"}, "unknown log color 'blue', known are auto, always, never"),
    ],
    ids=["level", "format", "colour"],
)
def test_unknown_words_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        screen(**settings)


def test_a_real_terminal_gets_text_in_colour() -> None:
    controller, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stream:
        configure(stream=stream, environ={"TERM": "xterm"})
        log().info(COMPLETED)
        written = os.read(controller, 1000).decode()
    os.close(controller)
    assert "\x1b[32mReconciliation completed\x1b[0m" in written


def test_capture_logs_sees_lines_at_any_time() -> None:
    screen(format="json", level="debug")
    early = log().bind(a=1)
    with capture_logs() as captured:
        early.info("hello", b=2)
        log().debug("there")
    assert captured == [
        {"a": 1, "b": 2, "event": "hello", "log_level": "info"},
        {"event": "there", "log_level": "debug"},
    ]


def test_json_line_costs_about_as_much_as_a_plain_one_of_the_standard_library() -> None:
    """About 7 µs on an idle machine; a comparison holds on busy ones, too."""
    with open(os.devnull, "w") as stream:
        logging.getLogger().handlers.clear()  # those of pytest render every line as well
        configure(format="json", stream=stream, environ={})
        ours, theirs = log(), logging.getLogger("theirs")
        handler = logging.StreamHandler(stream)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        theirs.handlers, theirs.propagate = [handler], False
        with about(controller="w", kind="Widget", namespace="a", name="b", generation=7, reconcile_id="6f1c"):
            ratio = cost_ratio(
                lambda: ours.info(COMPLETED, took=0.01, result="done"),
                lambda: theirs.info("completed %s %s took %s", "a", "b", 0.01),
            )
        assert ratio < 2


def cost_ratio(action: Callable[[], object], other: Callable[[], object]) -> float:
    """How much more an action costs than another. Measured in turns, so that a busy machine slows both of them."""
    turns = [(timeit.timeit(action, number=100), timeit.timeit(other, number=100)) for _ in range(60)]
    return min(mine for mine, _ in turns) / min(theirs for _, theirs in turns)


def test_mistaken_calls_of_libraries_are_shown_without_their_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logging.getLogger().handlers.clear()  # those of pytest insist on correct calls
    out = screen(format="json")
    logging.getLogger("library").warning("%d things", CANARY)
    assert out.tree()["msg"] == "%d things"
    assert capsys.readouterr().err == ""


def test_line_that_cannot_be_rendered_says_so() -> None:
    cycle: JsonObject = {}
    cycle["cycle"] = cycle
    assert json.loads(render_json(cycle))["msg"] == "Cannot render log line"


def test_clean_leaves_ordinary_fields_as_they_are() -> None:
    fields = {"a": 1, "b": "text", "c": [1, 2], "d": {"e": None}}
    assert clean(fields) == fields
    assert clean(fields) == fields
