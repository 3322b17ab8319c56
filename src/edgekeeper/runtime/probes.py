"""The liveness and readiness probes, `/healthz` and `/readyz`.

Each probe is a list of named checks, and runs all of them:

    GET /readyz               ok, or 500 with the list
    GET /readyz?verbose       the list
    GET /readyz?exclude=name  without that check
    GET /readyz/name          that check alone

Responses have the format of kube-apiserver's. There is no authentication, so they contain the names of checks only: no
objects and no reasons. Those are in the log.
"""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from edgekeeper.core.log import get_logger
from edgekeeper.runtime.http_server import plain, refusal

log = get_logger(__name__)

Check = Callable[[], bool]


class Checks:
    """The checks of one probe. Without checks it always succeeds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._checks: dict[str, Check] = {}
        self._failing: frozenset[str] = frozenset()

    def add(self, name: str, check: Check) -> None:
        """Add a check. It must return at once, from state that is already in memory."""
        self._checks[name] = check

    def names(self) -> list[str]:
        return list(self._checks)

    def failing(self, excluded: frozenset[str] = frozenset()) -> list[str]:
        """The names of the checks that fail."""
        failing = [
            name for name, check in self._checks.items() if name not in excluded and not _passes(name, check)
        ]
        if not excluded:
            self._log_changes(frozenset(failing))
        return failing

    def passes(self, name: str) -> bool:
        return _passes(name, self._checks[name])

    def _log_changes(self, failing: frozenset[str]) -> None:
        if failing != self._failing:
            self._failing = failing
            log.info("Probe has changed", probe=self.name, failing=sorted(failing))


def _passes(name: str, check: Check) -> bool:
    try:
        return check()
    except Exception:
        log.exception("Health check failed", check=name)
        return False


class Probes:
    """The HTTP handler of both probes."""

    def __init__(self) -> None:
        self.live = Checks("healthz")
        """Liveness: a response shows that the event loop runs; further checks may be added."""
        self.ready = Checks("readyz")
        """Readiness: whether this process can reconcile, or could once it leads."""
        self._checks = {f"/{checks.name}": checks for checks in (self.live, self.ready)}
        self.live.add("ping", lambda: True)

    async def handle(self, request: web.BaseRequest) -> web.Response:
        if request.method not in {"GET", "HEAD"}:
            return refusal(405, "method not allowed")
        path = request.path.rstrip("/")
        if path in self._checks:
            return _report(self._checks[path], request)
        parent, _, name = path.rpartition("/")
        if parent in self._checks and name in self._checks[parent].names():
            return plain("ok") if self._checks[parent].passes(name) else refusal(500, "failed")
        return refusal(404, "not found")


def _report(checks: Checks, request: web.BaseRequest) -> web.Response:
    excluded = frozenset(request.query.getall("exclude", ()))
    failing = checks.failing(excluded)
    if not failing and "verbose" not in request.query:
        return plain("ok")
    lines = [_line(name, excluded, failing) for name in checks.names()]
    verdict = f"{checks.name} check {'failed' if failing else 'passed'}"
    return plain("\n".join([*lines, verdict, ""]), 500 if failing else 200)


def _line(name: str, excluded: frozenset[str], failing: list[str]) -> str:
    if name in excluded:
        return f"[+]{name} excluded: ok"
    return f"[-]{name} failed: reason withheld" if name in failing else f"[+]{name} ok"
