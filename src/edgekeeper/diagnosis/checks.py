"""Checks of an installation, run at the same time, each with a time limit.

    results = await run_checks([Check("definitions", check_definitions), …], tell=progress)

A check returns one result or several. One that takes too long, or fails in a way that it does not expect, has a result
that says so: the others are not affected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.core.redaction import redact_text

TIME_LIMIT: Final = timedelta(seconds=20)


class Verdict(StrEnum):
    """What a check has found."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Result:
    """One finding."""

    check: str
    """What was checked: `definitions`, `aws credentials`."""
    verdict: Verdict
    message: str
    """What was found; of a failure, the cause."""
    remedy: str = ""

    @property
    def tree(self) -> JsonObject:
        """For programs."""
        tree = {"check": self.check, "verdict": str(self.verdict), "message": self.message}
        return {**tree, "remedy": self.remedy} if self.remedy else tree


Findings: TypeAlias = Sequence[Result]


@dataclass(frozen=True, slots=True)
class Check:
    """Something to find out."""

    name: str
    run: Callable[[], Awaitable[Findings]]


def ok(check: str, message: str) -> Result:
    return Result(check, Verdict.OK, message)


def warning(check: str, message: str, remedy: str) -> Result:
    return Result(check, Verdict.WARNING, redact_text(message), remedy)


def failed(check: str, message: str, remedy: str) -> Result:
    return Result(check, Verdict.FAILED, redact_text(message), remedy)


async def run_checks(
    checks: Iterable[Check], *, limit: timedelta = TIME_LIMIT, tell: Callable[[str], None] | None = None
) -> list[Result]:
    """The results in the order of the checks. `tell` is called with the name of each check that is done."""

    async def run(check: Check) -> Findings:
        found = await _findings(check, limit)
        if tell is not None:
            tell(check.name)
        return found

    found = await asyncio.gather(*(run(check) for check in checks))
    return [result for results in found for result in results]


async def _findings(check: Check, limit: timedelta) -> Findings:
    try:
        async with asyncio.timeout(limit.total_seconds()):
            return await check.run()
    except TimeoutError:
        message = f"no result within {limit.total_seconds():g} s"
        return [failed(check.name, message, "check the network, or allow more time with --timeout")]
    except Exception as error:  # noqa: BLE001 - one check must not keep the others from being shown
        message = f"the check failed: {type(error).__name__}: {error}"
        return [
            failed(
                check.name, message, "report this as a bug, with the output of `edgekeeper --debug doctor`"
            )
        ]
