"""How a command ends: the exit codes, and the one exception that carries a message meant for a person."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script may rely on; docs/cli.md explains each code to users."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CHANGES = 2  # of `edgekeeper plan`, whose wrong usage is therefore a plain failure
    NOT_READY = 3
    INTERRUPTED = 130
    TERMINATED = 143


class CommandError(Exception):
    """A command cannot do what it was asked: why, what the user can do about it, and the exit code."""

    def __init__(self, message: str, remedy: str = "", code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message
