"""A page as a reader follows it: its files are written, its commands run in one shell, and what those print is compared.

Servers run in terminals of their own, one operator beside one `edgekeeper up`: `edgekeeper run` ends the operator before, and
`edgekeeper up` everything, as does the end of the page. The output of a server is compared then.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.comparison import agrees
from tests.docs.page import Example, examples, read
from tests.docs.server import RunningServer, is_server
from tests.docs.terminal import Terminal


@dataclass(frozen=True)
class Session:
    """How a page is followed."""

    page: str
    """The page's path in the checkout."""
    exit_codes: Mapping[str, int] = field(default_factory=dict)
    """Codes other than 0, by the beginning of the command; the page says what they mean."""
    files_of: str = ""
    """Another page whose files this one uses."""
    before: tuple[str, ...] = ()
    """Commands that make what the page presupposes: a server, objects of which it tells. They are not counted."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """What is run in place of a command that would do too much here, by the command without its comment."""
    elsewhere: tuple[str, ...] = ()
    """Targets of make that continuous integration runs, and this session does not."""
    only: tuple[str, ...] = ()
    """The sections that are followed, if not all are."""
    without: tuple[str, ...] = ()
    """The sections that are not followed."""

    def examples(self) -> list[Example]:
        return [one for one in examples(read(self.page)) if self.includes(one.section)]

    def includes(self, section: str) -> bool:
        """Whether the session follows a section of its page."""
        return section not in self.without and (not self.only or section in self.only)

    def commands(self) -> list[Example]:
        return [one for one in self.examples() if one.command]

    def executed(self) -> list[Example]:
        """The commands that the session runs."""
        return [one for one in self.commands() if not self.is_elsewhere(one.command)]

    def run_for(self, command: str) -> str:
        """What is run where the page has a command."""
        return self.replaced.get(without_comment(command), command)

    def is_elsewhere(self, command: str) -> bool:
        words = shlex.split(command, comments=True)
        return words[:1] == ["make"] and set(words[1:]) <= set(self.elsewhere)


class Follower:
    """Somebody who follows a page, in a folder and with an environment."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.executed = 0
        """Commands of the page that were run, and whose output was what the page shows."""
        self._folder = folder
        self._terminal = Terminal(folder, environment)
        self._servers: list[tuple[RunningServer, str | None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as ending:
            ending.callback(self._terminal.close)
            for _ in self._servers:
                ending.callback(self._stop, compare=error is None)

    def follow(
        self, session: Session, look: Callable[[Example, str], None] = lambda example, printed: None
    ) -> None:
        """Do everything that the page says. `look` is told what each command has printed."""
        self._prepare(session)
        for example in session.examples():
            if example.file:
                self._write(example)
            elif session.is_elsewhere(example.command):
                continue
            elif is_server(example.command):
                self._start(session.run_for(example.command), example.text)
            else:
                look(example, self._run(example, session))
                self.executed += 1

    def run(self, command: str) -> tuple[int, str]:
        """Run what the page does not show."""
        return self._terminal.run(command)

    def _stop(self, *, compare: bool = True) -> None:
        """End the server that was started last."""
        server, shown = self._servers.pop()
        server.stop()
        if compare and shown is not None:
            assert agrees(server.printed(), shown), f"$ {server.command}\n{server.printed()}"
            self.executed += 1

    def _prepare(self, session: Session) -> None:
        for file in examples(read(session.files_of)) if session.files_of else ():
            if file.file:
                self._write(file)
        for command in session.before:
            if is_server(command):
                self._start(command, None)
                continue
            code, printed = self._terminal.run(command)
            assert code == 0, f"$ {command}\n{printed}"

    def _write(self, example: Example) -> None:
        path = self._folder / example.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.text)

    def _start(self, command: str, shown: str | None) -> None:
        while self._servers and not (
            _is_operator(command) and not _is_operator(self._servers[-1][0].command)
        ):
            self._stop()
        log = self._folder / f"server-{len(list(self._folder.glob('server-*.log')))}.log"
        server = RunningServer(command, self._folder, self._terminal.environment(), log)
        self._servers.append((server, shown))

    def _run(self, example: Example, session: Session) -> str:
        code, printed = self._terminal.run(session.run_for(example.command))
        expected = next(
            (code for start, code in session.exit_codes.items() if example.command.startswith(start)), 0
        )
        told = f"{session.page}:{example.line}\n$ {example.command}\n{printed}"
        assert code == expected, f"exit code {code}: {told}"
        assert agrees(printed, example.text), told
        return printed


def without_comment(command: str) -> str:
    """A command as it is typed by who knows what it does."""
    return re.sub(r"\s+# .*$", "", command)


def _is_operator(command: str) -> bool:
    return command.startswith("edgekeeper run")
