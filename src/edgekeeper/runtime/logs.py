"""Logs: a constant message, what it is about as key/values, and no secrets.

Every module says `get_logger(__name__)` (`core.log`) and knows nothing of this one. `configure` decides what becomes of
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TextIO

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import LEVELS, tell
from edgekeeper.runtime.logline import COMPLETED, FAILED, STARTED, clean, compose, render_json, render_text

__all__ = ["COMPLETED", "FAILED", "LEVELS", "STARTED", "about", "configure", "parse_level", "set_level"]

Format = Literal["json", "text"]
Colour = Literal["auto", "always", "never"]

_ALIASES = {"warn": "warning", "fatal": "critical"}


class _Scope:
    """What the lines of the present task are about."""

    __slots__ = ("_fields", "_outer", "_told", "threshold")

    def __init__(self, outer: _Scope | None, told: Mapping[str, Any], threshold: int | None) -> None:
        self._outer = outer
        self._told = told
        self.threshold = threshold
        self._fields: JsonObject | None = None

    @property
    def fields(self) -> JsonObject:
        """Cleaned for the first line that needs them: most passes have nothing to say."""
        if self._fields is None:
            beyond = self._outer.fields if self._outer is not None else {}
            self._fields = {**beyond, **clean(self._told)}
        return self._fields


_scope: ContextVar[_Scope] = ContextVar("log scope", default=_Scope(None, {}, None))  # noqa: B039 - says nothing, for ever


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
    tell(_Lines())
    _bridge_standard_logging(threshold)


def set_level(level: str) -> None:
    """Log from this level on, and leave everything else as `configure` decided. Raise ValueError for one not known."""
    _settings.threshold = parse_level(level)
    logging.getLogger().setLevel(max(_settings.threshold, logging.INFO))


@contextmanager
def about(*, level: str | None = None, **fields: Any) -> Iterator[None]:
    """Say what all lines within are about, and from which level on they are wanted, if not from the usual one.

    The level may come from an object that a user wrote, so one that is not known is ignored.
    """
    outer = _scope.get()
    threshold = LEVELS.get(_canonical(level)) if level else None
    token = _scope.set(_Scope(outer, fields, outer.threshold if threshold is None else threshold))
    try:
        yield
    finally:
        _scope.reset(token)


def parse_level(text: str) -> int:
    """The level that a word means, as numbers of the standard library."""
    return LEVELS[_one_of("log level", _canonical(text), *LEVELS)]


class _Lines:
    """Listens to all loggers of ours, and writes what they say."""

    def wants(self, level: str) -> bool:
        threshold = _scope.get().threshold
        return LEVELS[level] >= (_settings.threshold if threshold is None else threshold)

    def take(self, logger: str, level: str, message: str, fields: JsonObject) -> None:
        _write(_rendered(logger, level, message, fields))


def _rendered(logger: str, level: str, message: str, fields: JsonObject) -> str:
    """The finished line. Whatever is wrong with it, its caller must not suffer from having said something."""
    head = {"ts": _settings.clock.now(), "level": level, "logger": logger, "msg": message}
    try:
        return _settings.render(compose(head, _scope.get().fields, fields))
    except Exception as error:  # noqa: BLE001 - see above
        return _settings.render({**head, "msg": "Cannot render log line", "error": type(error).__name__})


def _write(text: str) -> None:
    """One write per line, so that lines of several threads do not mix."""
    stream = _settings.stream
    try:
        stream.write(f"{text}\n")
        stream.flush()
    except (OSError, ValueError):
        # Nobody reads what we say, or the stream is closed: there is no way left to tell.
        return


class _StandardBridge(logging.Handler):
    """Takes the lines of `logging` into ours."""

    def emit(self, record: logging.LogRecord) -> None:
        level = _canonical(record.levelname)
        fields = {"exc_info": record.exc_info}
        _write(_rendered(record.name, level if level in LEVELS else "info", _message(record), fields))


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
