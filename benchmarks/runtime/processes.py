"""The parent's half of the talk with servers and operators, and what the system knows about a process (Linux)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from benchmarks.runtime.commands import Figures

PATIENCE_SECONDS = 20.0
"""How long a child may take to end."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Child:
    """A process that takes commands."""

    process: subprocess.Popen[bytes]
    log: Path
    started: float
    """When it was started, by the monotonic clock, which all processes share."""

    def ask(self, command: str, *arguments: float) -> None:
        """Send a command without waiting for its answer."""
        pipe = _opened(self.process.stdin)
        pipe.write(msgspec.json.encode([command, *arguments]) + b"\n")
        pipe.flush()

    def hear(self) -> bytes:
        """The next line that it says."""
        line = _opened(self.process.stdout).readline()
        if not line:
            raise RuntimeError(f"a process ended without an answer; its last words:\n{self._last_words()}")
        return line

    def answer(self) -> Figures:
        return msgspec.json.decode(self.hear(), type=Figures)

    def call(self, command: str, *arguments: float) -> Figures:
        self.ask(command, *arguments)
        return self.answer()

    def cpu_seconds(self) -> float:
        """What it has used of the processor so far, its start included."""
        return parse_cpu_seconds(self._proc("stat"))

    def peak_megabytes(self) -> float:
        """The most memory that it has ever held."""
        return parse_peak_megabytes(self._proc("status"))

    def _proc(self, name: str) -> str:
        return Path(f"/proc/{self.process.pid}/{name}").read_text()

    def _last_words(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]


@contextmanager
def run_child(
    module: str, directory: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Start a module as a process that logs into a file of `directory`, and end it."""
    log = directory / f"{module}.log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **(environment or {})},
        ) as process,
    ):
        try:
            yield Child(process, log, time.monotonic())
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a child in order, for it may have children of its own; where it does not listen, at once."""
    _opened(process.stdin).close()
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def parse_cpu_seconds(stat: str) -> float:
    """User and system time from `/proc/PID/stat`. The name of the program, in parentheses, may contain anything."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def parse_peak_megabytes(status: str) -> float:
    """The largest resident size from `/proc/PID/status`, in MiB."""
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise ValueError("no VmHWM in the status of a process")


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe
    return pipe
