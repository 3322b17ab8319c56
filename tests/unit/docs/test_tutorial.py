"""docs/tutorial.md as a newcomer follows it: a shell runs every command against a real `edgekeeper up`, with a real kubectl.

Files of the page are written below a folder that has `examples` and, in place of the environment that `make venv` installs,
this one. What a command prints must be what the page shows: `…` stands for any text, ages and the width of columns may differ.
To be quicker than a person, the server asks the clouds for progress more often than it would by itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import pytest

from tests.conformance.servers import give_up
from tools.real_server import find

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "tutorial.md").read_text()
BLOCK: Final = re.compile(
    r'^```(?P<form>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE
)
HASTE: Final = {"EDGEKEEPER_PROGRESS_INTERVAL": "1s"}
START: Final = "edgekeeper up --endpoints up.json --deploy-time 1s"
INSTALL: Final = "make venv"
EXIT_CODES: Final = {"edgekeeper plan -f": 2, "edgekeeper explain ts/press": 1}
"""Codes other than 0, by the beginning of the command; the page says what they mean."""
AGE: Final = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|m)\b")
MARK: Final = "===done==="
PATIENCE: Final = 60.0


@dataclass(frozen=True)
class Example:
    """A file, or a command with what it prints."""

    text: str
    file: str = ""
    command: str = ""


def examples() -> Iterator[Example]:
    """What the page shows, from top to bottom."""
    for block in BLOCK.finditer(PAGE):
        if block["form"] == "yaml":
            yield Example(block["text"], file=block["title"])
            continue
        assert block["form"] == "console", block["form"]
        for step in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
            command, _, printed = step.partition("\n")
            yield Example(printed, command=command)


def agrees(printed: str, shown: str) -> bool:
    """Whether an output is what the page shows."""
    pattern = ".*".join(re.escape(part) for part in _comparable(shown).split("…"))
    return re.fullmatch(pattern, _comparable(printed), re.DOTALL) is not None


def _comparable(text: str) -> str:
    lines = [re.sub(r"(?<=\S) +", " ", AGE.sub("0s", line)).rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n")


class Terminal:
    """A shell that stays, so that what one command exports is there for the next one."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._shell = subprocess.Popen(
            ["timeout", "150", "/bin/sh"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

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
        raise AssertionError(f"the shell ended at: {command}")

    def close(self) -> None:
        self._shell.kill()
        self._shell.communicate()


@contextmanager
def server(folder: Path, environment: dict[str, str]) -> Iterator[Path]:
    """`edgekeeper up` in a terminal of its own. Gives the file with what it prints, and stops it as Ctrl-C does."""
    log = folder / "up.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            START.split(),
            cwd=folder,
            env={**environment, **HASTE},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            deadline = time.monotonic() + PATIENCE
            while not (folder / "up.json").exists():
                assert time.monotonic() < deadline, log.read_text()
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield log
        finally:
            process.send_signal(signal.SIGINT)


def checkout(folder: Path) -> None:
    """What the page uses of a checkout: the examples, and the environment."""
    (folder / "examples").symlink_to(ROOT / "examples")
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "edgekeeper").write_text(
        f"#!{sys.executable}\nfrom edgekeeper.cli.main import main\nmain()\n"
    )
    (programs / "edgekeeper").chmod(0o755)


def program(name: str) -> Path:
    """Find a program that the page uses, or give up."""
    found = shutil.which(name)
    if found is None and name == "kubectl" and (built := find(os.environ)) is not None:
        return built / name
    if found is None:
        give_up(f"{name} is not installed")
    return Path(found)


def environment_of_a_person(folder: Path) -> dict[str, str]:
    """Nothing but programs, a home and where the code under test is."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("kubectl", "curl", "jq"):
        (tools / name).symlink_to(program(name))
    path = os.pathsep.join((str(folder / ".venv" / "bin"), str(tools), os.environ["PATH"]))
    return {"PATH": path, "HOME": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def rows_behind(link: str) -> list[dict[str, Any]]:
    """What a browser reads that opens the link of the status page: the first page of the list."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(link) as page:
        assert b"<title>edgekeeper</title>" in page.read()
    with browser.open(urljoin(link, "/api/objects")) as rows:
        return list(json.load(rows)["items"])


@pytest.mark.parametrize(
    ("printed", "shown", "is_same"),
    [
        ("shop   True   12s\n", "shop True 3s", True),
        ("created dt_abc\n", "created dt_…", True),
        ("shop   False   12s\n", "shop True 3s", False),
        ("created dt_abc\nand more\n", "created dt_abc", False),
        ("", "created", False),
    ],
)
def test_output_that_differs_is_noticed(printed: str, shown: str, is_same: bool) -> None:
    assert agrees(printed, shown) is is_same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkout(tmp_path)
    return tmp_path


def test_tutorial_shows_what_happens(folder: Path) -> None:
    environment = environment_of_a_person(folder)
    shown = list(examples())
    (start,) = [one for one in shown if one.command == START]
    with server(folder, environment) as log:
        terminal = Terminal(folder, environment)
        try:
            for example in shown:
                follow(example, terminal, folder)
        finally:
            terminal.close()
    assert agrees(log.read_text(), start.text), log.read_text()
    assert len([one for one in shown if one.command]) >= 30


def follow(example: Example, terminal: Terminal, folder: Path) -> None:
    """Do what the page says, and compare."""
    if example.file:
        (folder / example.file).write_text(example.text)
        return
    if example.command == START:
        return  # in the first terminal
    command = (
        f"make --dry-run --silent -C {ROOT} venv > /dev/null"
        if example.command == INSTALL
        else example.command
    )
    code, printed = terminal.run(command)
    expected = next((code for start, code in EXIT_CODES.items() if example.command.startswith(start)), 0)
    assert code == expected, f"$ {example.command}\n{printed}"
    assert agrees(printed, example.text), f"$ {example.command}\n{printed}"
    if example.command == "jq -r .page up.json":
        names = {row["name"] for row in rows_behind(printed.strip())}
        assert {"shop", "handbook"} <= names
