"""A server that a page starts, in a terminal of its own: `edgekeeper up` and `edgekeeper run`."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = {
    "EDGEKEEPER_PROGRESS_INTERVAL": "1s",
    "EDGEKEEPER_HEALTH_PROBE_BIND_ADDRESS": "0",
}
"""To be quicker than a person, servers ask the clouds for progress more often than they would by themselves. None takes the port
for probes, because sessions run at the same time.
"""
PATIENCE_SECONDS: Final = 60.0
READY: Final = {"up": "Ctrl-C stops the server.", "run": "Starting edgekeeper"}
"""What each server prints when it can be used."""


def is_server(command: str) -> bool:
    """Whether a command runs until it is stopped."""
    words = shlex.split(command, comments=True)
    return words[:1] == ["edgekeeper"] and words[1:2] in (["up"], ["run"]) and "--wait" not in words


class RunningServer:
    """A server that was started and can be used. `stop` it."""

    def __init__(self, command: str, folder: Path, environment: dict[str, str], log: Path) -> None:
        self.command, self._log = command, log
        words = shlex.split(command, comments=True)
        with log.open("w") as output:
            self._process = subprocess.Popen(
                words, cwd=folder, env={**environment, **ENVIRONMENT}, stdout=output, stderr=subprocess.STDOUT
            )
        self._wait_until_it_prints(READY[words[1]])

    def stop(self) -> None:
        """End it as Ctrl-C does. A server that does not end, or not well, is an error."""
        self._process.send_signal(signal.SIGINT)
        try:
            code = self._process.wait(PATIENCE_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
        assert code == 0, f"$ {self.command}\n{self.printed()}"

    def printed(self) -> str:
        return self._log.read_text()

    def _wait_until_it_prints(self, line: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while line not in self.printed():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                self._process.wait()
                raise AssertionError(f"$ {self.command}\n{self.printed()}")
            time.sleep(0.05)
