"""Structured loggers: a constant message, with the variable parts as key/values.

    log = get_logger(__name__)
    log.info("Tenant created", tenant=tenant_id)

They are the standard library's loggers underneath: a line is a `logging.LogRecord` whose `fields` attribute holds the
key/values. Handlers of other libraries (OpenTelemetry, Sentry, pytest's caplog) receive it like any other record.
`runtime.logs` installs the handler that renders lines as JSON or text; until a program configures logging, nothing is
written.

Two things hold for a context, that is, for a function and whatever it calls or starts as a task: `scope`, fields that
all lines have, and `threshold`, a level in place of the logger's, so that one object's passes can be logged at another
level than the rest of the process.

Guarantees
    - Secrets are redacted in the message, the fields and the text of the traceback when the record is made, before any
      handler sees it. The exception object itself (`exc_info`) is passed on unchanged, for error collectors.
    - A call never raises, whatever is logged.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from edgekeeper.core.json import JsonObject
from edgekeeper.core.logline import clean, clean_message, clean_within

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""The levels by name, with the numbers of the standard library."""
ROOT = logging.getLogger("edgekeeper")
"""The parent of all loggers of this package. Its level is the level of the process."""
ROOT.addHandler(logging.NullHandler())

threshold: ContextVar[int | None] = ContextVar("log threshold", default=None)
"""The level of the current context; None for the level of the logger."""


class Fields(dict[str, Any]):
    """Fields of a record that are redacted. Libraries may give their records an attribute of the same name."""


class Scope:
    """The fields that all lines of a context have."""

    __slots__ = ("_fields", "_given", "_outer")

    def __init__(self, outer: Scope | None, given: Mapping[str, Any]) -> None:
        self._outer = outer
        self._given = given
        self._fields: JsonObject | None = None

    @property
    def fields(self) -> JsonObject:
        """The redacted fields. They are computed for the first line that needs them: most passes log nothing."""
        if self._fields is None:
            inherited = self._outer.fields if self._outer is not None else {}
            self._fields = {**inherited, **clean(self._given)}
        return self._fields


scope: ContextVar[Scope] = ContextVar("log scope", default=Scope(None, {}))  # noqa: B039 - never changed


class Logger:
    """The logger of one module. A line below the level costs one comparison."""

    __slots__ = ("_fields", "_logger")

    def __init__(self, logger: logging.Logger, fields: JsonObject) -> None:
        self._logger = logger
        self._fields = fields

    @property
    def name(self) -> str:
        return self._logger.name

    def bind(self, **fields: Any) -> Logger:
        """The same logger with fields that are added to each of its lines."""
        return Logger(self._logger, {**self._fields, **fields})

    @property
    def shows_debug(self) -> bool:
        """Whether debug lines are written at present, for lines whose fields are expensive to compute."""
        override = threshold.get()
        return override <= logging.DEBUG if override is not None else self._logger.isEnabledFor(logging.DEBUG)

    def debug(self, message: str, /, **fields: Any) -> None:
        self._log(logging.DEBUG, message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        self._log(logging.INFO, message, fields)

    def warning(self, message: str, /, **fields: Any) -> None:
        self._log(logging.WARNING, message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        self._log(logging.ERROR, message, fields)

    def critical(self, message: str, /, **fields: Any) -> None:
        self._log(logging.CRITICAL, message, fields)

    def exception(self, message: str, /, **fields: Any) -> None:
        """Log an error with the traceback of the exception that is being handled."""
        self._log(logging.ERROR, message, {"exc_info": True, **fields})

    def _log(self, level: int, message: str, fields: JsonObject) -> None:
        override = threshold.get()
        if level < override if override is not None else not self._logger.isEnabledFor(level):
            return
        caller = sys._getframe(2)  # noqa: SLF001 - as `logging` finds the caller
        cleaned = _cleaned({**self._fields, **fields} if self._fields else fields)
        record = self._logger.makeRecord(
            self._logger.name,
            level,
            caller.f_code.co_filename,
            caller.f_lineno,
            clean_message(message),
            (),
            _exc_info(fields.get("exc_info")),
            caller.f_code.co_name,
        )
        record.fields = Fields(cleaned)
        record.exc_text = cleaned.get(
            "stack"
        )  # formatters use it instead of formatting `exc_info`, unredacted
        self._logger.handle(record)


def get_logger(name: str) -> Logger:
    """The logger of a module, by the module's name."""
    return Logger(logging.getLogger(name), {})


def _cleaned(fields: JsonObject) -> JsonObject:
    """The fields and those of the scope, redacted. Never raises."""
    try:
        return clean_within(scope.get().fields, fields)
    except Exception as error:  # noqa: BLE001 - logging must not fail its caller
        return {"unreadable": type(error).__name__}


def _exc_info(given: object) -> Any:
    """The `exc_info` of a LogRecord, a triple or None, for an exception or True."""
    if isinstance(given, BaseException):
        return type(given), given, given.__traceback__
    return sys.exc_info() if given is True else None
