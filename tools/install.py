"""Install hashed requirements, then the packages of this checkout, into the environment that runs this, with progress.

    .venv/bin/python tools/install.py edgekeeper -r requirements/local.txt -e . -e packages/kubecel

pip alone is either silent for a minute or prints a page. On a terminal this is one line that counts; elsewhere it is a
line for each stage. What pip says is shown when it fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TextIO

PIP = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off")
REDRAWN_EVERY = 0.2
COLLECTING = "Collecting "
INSTALLING = "Installing collected packages: "
_CLEAR_LINE = "\r\x1b[2K"


class Progress:
    """Follows pip's output, and counts what has arrived in `site`."""

    def __init__(self, site: Path, stream: TextIO) -> None:
        self._site = site
        self._stream = stream
        self._before = self._present()
        self._collected = 0
        self._to_install = 0

    def follow(self, line: str) -> None:
        """Take a line of pip's output into account."""
        if line.startswith(COLLECTING):
            self._collected += 1
            if self._collected == 1:
                self._announce("Downloading")
        elif line.startswith(INSTALLING):
            self._to_install = line.count(",") + 1
            self._announce(f"Installing {self._to_install} packages")

    def text(self) -> str:
        if self._to_install:
            return f"Installing {self._present() - self._before} of {self._to_install} packages"
        return f"Downloading {self._collected} packages" if self._collected else "Looking for packages"

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Redraw the line while this runs, if somebody is watching."""
        if not self._stream.isatty():
            yield
            return
        done = Event()
        painter = Thread(target=self._paint, args=(done,), daemon=True)
        painter.start()
        try:
            yield
        finally:
            done.set()
            painter.join()
            self._write(_CLEAR_LINE)

    def _paint(self, done: Event) -> None:
        while not done.wait(REDRAWN_EVERY):
            self._write(f"{_CLEAR_LINE}  {self.text()} …")

    def _announce(self, text: str) -> None:
        if not self._stream.isatty():
            self._write(f"  {text} …\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _present(self) -> int:
        return sum(1 for _ in self._site.glob("*.dist-info"))


def install(arguments: Sequence[str], progress: Progress) -> int:
    """Run pip with `arguments`; its output is shown only if it fails. Return its exit code."""
    output: list[str] = []
    command = [*PIP, *arguments]
    with (
        progress.shown(),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip,
    ):
        assert pip.stdout is not None  # noqa: S101 - it was asked for
        for line in pip.stdout:
            output.append(line)
            progress.follow(line)
    if pip.returncode:
        print("".join(output), file=sys.stderr)
    return pip.returncode


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("title", help="what is installed, for people")
    parser.add_argument("-r", dest="requirements", action="append", default=[], metavar="FILE")
    parser.add_argument("-e", dest="projects", action="append", default=[], metavar="DIR")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    started = time.monotonic()
    where = os.path.relpath(sys.prefix)
    print(f"Installing {chosen.title} into {where} (first run, or dependencies have changed)", flush=True)
    hashed = ["--require-hashes", *(f"-r{path}" for path in chosen.requirements)]
    editable = ["--no-deps", "--no-build-isolation", *(f"-e{path}" for path in chosen.projects)]
    site = Path(sysconfig.get_paths()["purelib"])
    for step in [hashed] * bool(chosen.requirements) + [editable] * bool(chosen.projects):
        if code := install(step, Progress(site, sys.stdout)):
            return code
    print(f"  Done after {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
