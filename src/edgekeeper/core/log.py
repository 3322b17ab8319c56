"""Saying what happens: a constant message, and what it is about as key/values.

    log = get_logger(__name__)
    log.info("Tenant created", tenant=tenant_id)

Whoever says something does not know what becomes of it. `runtime.logs` decides that for the whole process; until
somebody has decided, nobody listens.
"""

from __future__ import annotations

from typing import Any, Protocol

from edgekeeper.core.json import JsonObject

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""The levels by name, numbered as in the standard library."""


class Listener(Protocol):
    """Takes what is said."""

    def wants(self, level: str) -> bool:
        """Whether lines of this level are of interest, here and now."""

    def take(self, logger: str, level: str, message: str, fields: JsonObject) -> None:
        """A line, and by which logger it was said. Never raises: nobody must suffer from having said something."""


class _Outlet:
    """Where the lines of all loggers go, whenever they were made."""

    listener: Listener | None = None


def tell(listener: Listener | None) -> Listener | None:
    """Let `listener` have what is said from now on. Return who had it until now; None means nobody."""
    before, _Outlet.listener = _Outlet.listener, listener
    return before


class Logger:
    """One module's voice. A line that nobody wants costs next to nothing."""

    __slots__ = ("_fields", "name")

    def __init__(self, name: str, fields: JsonObject) -> None:
        self.name = name
        self._fields = fields

    def bind(self, **fields: Any) -> Logger:
        """The same voice, with more to tell in each line."""
        return Logger(self.name, {**self._fields, **fields})

    def debug(self, message: str, /, **fields: Any) -> None:
        self._say("debug", message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        self._say("info", message, fields)

    def warning(self, message: str, /, **fields: Any) -> None:
        self._say("warning", message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        self._say("error", message, fields)

    def critical(self, message: str, /, **fields: Any) -> None:
        self._say("critical", message, fields)

    def exception(self, message: str, /, **fields: Any) -> None:
        """An error with the traceback of the exception that is being handled."""
        self._say("error", message, {"exc_info": True, **fields})

    def _say(self, level: str, message: str, fields: JsonObject) -> None:
        listener = _Outlet.listener
        if listener is not None and listener.wants(level):
            listener.take(self.name, level, message, {**self._fields, **fields} if self._fields else fields)


def get_logger(name: str) -> Logger:
    return Logger(name, {})
