"""Logs: a constant message, what it is about as key/values, and no secrets.

Every module says `structlog.get_logger(__name__)` and knows nothing of this one. `configure` decides what becomes of
the lines: JSON for machines (in a cluster) or text for people (on a terminal), and from which level on. Lines of the
standard library's `logging`, which the libraries below us use, take the same way out.

    configure(format="text", level="info")
    with about(level="debug", kind="Widget", namespace="team-a", name="shop", reconcile_id="6f1c…"):
        log.debug("Read remote object", etag=etag)      # shown, and tells which object it is about
        log.info(COMPLETED, changes=[("spec.size", 1, 2)])

`about` holds for everything that runs inside it, also for functions and tasks that have never heard of the object; so
every line of an object's work carries its name, and an object may ask for a level of its own.

`LOG_FORMAT`, `LOG_COLOR` and `LOG_LEVEL` mean the same as the parameters, which win. `NO_COLOR` and `FORCE_COLOR` are
honoured where colour is `auto`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TextIO

import structlog

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.runtime.logline import COMPLETED, FAILED, STARTED, clean, compose, render_json, render_text

__all__ = ["COMPLETED", "FAILED", "LEVELS", "STARTED", "about", "configure", "parse_level"]

Format = Literal["json", "text"]
Colour = Literal["auto", "always", "never"]

LEVELS: Mapping[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_ALIASES = {"warn": "warning", "fatal": "critical"}


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the lines of the present task are about."""

    fields: JsonObject = field(default_factory=dict)
    threshold: int | None = None


_scope: ContextVar[_Scope] = ContextVar("log scope", default=_Scope())  # noqa: B039 - frozen, and never written to


@dataclass(slots=True)
class _Settings:
    """What `configure` has decided, for the whole process."""

    threshold: int = LEVELS["info"]
    render: Callable[[JsonObject], str] = render_json
    stream: TextIO = sys.stderr
    clock: Clock = field(default_factory=SystemClock)


_settings = _Settings()


def configure(
    *,
    format: Format | None = None,  # noqa: A002 - the word of the flag
    color: Colour | None = None,
    level: str | None = None,
    stream: TextIO | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Decide what becomes of log lines. May be called again. Raise ValueError for a word that is not known."""
    stream = sys.stderr if stream is None else stream
    threshold = parse_level(level or environ.get("LOG_LEVEL") or "info")
    shape = _one_of(
        "log format", format or environ.get("LOG_FORMAT") or _usual_format(stream, environ), "json", "text"
    )
    colour = _one_of("log color", color or environ.get("LOG_COLOR") or "auto", "auto", "always", "never")
    paint = colour == "always" or (colour == "auto" and _wants_colour(stream, environ))
    _settings.threshold = threshold
    _settings.render = partial(render_text, colour=paint) if shape == "text" else render_json
    _settings.stream = stream
    _settings.clock = clock or SystemClock()
    # Loggers are not kept by structlog: a logger that outlives its configuration would surprise whoever tests with it.
    structlog.configure(
        processors=[_process], wrapper_class=Logger, logger_factory=_Output, cache_logger_on_first_use=False
    )
    _bridge_standard_logging(threshold)


@contextmanager
def about(*, level: str | None = None, **fields: Any) -> Iterator[None]:
    """Say what all lines within are about, and from which level on they are wanted, if not from the usual one.

    The level may come from an object that a user wrote, so one that is not known is ignored.
    """
    outer = _scope.get()
    threshold = LEVELS.get(_canonical(level)) if level else None
    inner = _Scope({**outer.fields, **clean(fields)}, outer.threshold if threshold is None else threshold)
    token = _scope.set(inner)
    try:
        yield
    finally:
        _scope.reset(token)


def parse_level(text: str) -> int:
    """The level that a word means, as numbers of the standard library."""
    return LEVELS[_one_of("log level", _canonical(text), *LEVELS)]


def is_enabled(level: int) -> bool:
    """Whether a line of this level would be shown here."""
    threshold = _scope.get().threshold
    return level >= (_settings.threshold if threshold is None else threshold)


class Logger(structlog.BoundLoggerBase):
    """What `structlog.get_logger` gives once logs are configured. A line that is not wanted costs next to nothing."""

    def debug(self, event: str, /, **fields: Any) -> None:
        if is_enabled(10):
            self._emit("debug", event, fields)

    def info(self, event: str, /, **fields: Any) -> None:
        if is_enabled(20):
            self._emit("info", event, fields)

    def warning(self, event: str, /, **fields: Any) -> None:
        if is_enabled(30):
            self._emit("warning", event, fields)

    def error(self, event: str, /, **fields: Any) -> None:
        if is_enabled(40):
            self._emit("error", event, fields)

    def critical(self, event: str, /, **fields: Any) -> None:
        if is_enabled(50):
            self._emit("critical", event, fields)

    def exception(self, event: str, /, **fields: Any) -> None:
        """An error with the traceback of the exception that is being handled."""
        self.error(event, **{"exc_info": True, **fields})

    def _emit(self, level: str, event: str, fields: JsonObject) -> None:
        """As the base class has it, for one kind of processors and outputs, and in half the time."""
        line: Any = {**self._context, **fields, "event": event}
        try:
            for processor in self._processors:
                line = processor(self._logger, level, line)
        except structlog.DropEvent:
            return
        self._logger.write(line)


class _Output:
    """Where a logger's finished lines go. It only knows its name; where that is, is settled at the time of writing."""

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name

    def write(self, text: str) -> None:
        """One write per line, so that lines of several threads do not mix."""
        stream = _settings.stream
        try:
            stream.write(f"{text}\n")
            stream.flush()
        except (OSError, ValueError):
            # Nobody reads what we say, or the stream is closed: there is no way left to tell.
            return


def _process(output: _Output, level: str, line: MutableMapping[str, Any]) -> str:
    """The finished line. Whatever is wrong with it, its caller must not suffer from having said something."""
    message = line.pop("event")
    head = {"ts": _settings.clock.now(), "level": level, "logger": output.name, "msg": message}
    try:
        return _settings.render(compose(head, _scope.get().fields, line))
    except Exception as error:  # noqa: BLE001 - see above
        return _settings.render({**head, "msg": "Cannot render log line", "error": type(error).__name__})


class _StandardBridge(logging.Handler):
    """Takes the lines of `logging` into ours."""

    def emit(self, record: logging.LogRecord) -> None:
        output = _Output(record.name)
        level = _canonical(record.levelname)
        line = {"event": _message(record), "exc_info": record.exc_info}
        output.write(_process(output, level if level in LEVELS else "info", line))


def _message(record: logging.LogRecord) -> str:
    """What a library said; where it made a mistake in saying so, what it would have filled in stays away."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - the mistake is not ours, and its arguments may be secret
        return str(record.msg)


def _bridge_standard_logging(threshold: int) -> None:
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _StandardBridge)]:
        root.removeHandler(handler)
    root.addHandler(_StandardBridge())
    # Libraries show whole requests when asked for debug lines. Ours say what is needed, without secrets.
    root.setLevel(max(threshold, logging.INFO))
    logging.captureWarnings(capture=True)


def _usual_format(stream: TextIO, environ: Mapping[str, str]) -> str:
    in_cluster = "KUBERNETES_SERVICE_HOST" in environ
    return "text" if stream.isatty() and not in_cluster else "json"


def _wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """As https://no-color.org asks."""
    if environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (stream.isatty() and environ.get("TERM") != "dumb")


def _canonical(level: str) -> str:
    word = str(level).strip().lower()
    return _ALIASES.get(word, word)


def _one_of(what: str, word: str, *known: str) -> str:
    if word.lower() not in known:
        raise ValueError(f"unknown {what} {word!r}, known are {', '.join(known)}")
    return word.lower()
