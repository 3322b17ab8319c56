"""A shell that stays, as the one in which a reader pastes a page's commands."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final, Self

MARK: Final = "===done==="
LIMIT_SECONDS: Final = 600
"""The shell and what it runs are ended after this time, so that no command hangs for ever."""


class Terminal:
    """A shell that stays, so that what one command exports is there for the next one. Closed when its block ends."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._shell = subprocess.Popen(
            ["timeout", str(LIMIT_SECONDS), "/bin/sh"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, command: str) -> tuple[int, str]:
        """The exit code of a command, and what it prints on both streams."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{{ {command}\n}} </dev/null; echo {MARK} $?\n")
        self._shell.stdin.flush()
        printed = []
        for line in self._shell.stdout:
            before, mark, code = line.partition(MARK)
            printed.append(before)
            if mark:
                return int(code), "".join(printed)
        raise AssertionError(f"the shell ended at: {command}\n{''.join(printed)}")

    def environment(self) -> dict[str, str]:
        """What commands of this shell see, for a program that runs in a terminal of its own."""
        code, printed = self.run("env -0 | tr '\\0\\n' '\\n\\1'")
        assert code == 0, printed
        pairs = (line.replace("\1", "\n").partition("=") for line in printed.splitlines())
        return {name: value for name, _, value in pairs}

    def close(self) -> None:
        self._shell.kill()
        self._shell.communicate()
