"""Exit codes, and the exception for errors that are shown to the user."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, which scripts may rely on; docs/cli.md documents them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CHANGES = 2  # of `edgekeeper plan`, which exits with FAILED on wrong usage
    NOT_READY = 3
    INTERRUPTED = 130
    TERMINATED = 143


class CommandError(Exception):
    """A command failed: the message, what the user can do about it, and the exit code."""

    def __init__(self, message: str, remedy: str = "", code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message
