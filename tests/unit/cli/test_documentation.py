"""docs/cli.md says everything that the command line can do; what controllers have in common is in docs/runtime.md."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import cli
from tests.docs.page import blocks

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "cli.md").read_text()
SHARED = (DOCS / "runtime.md").read_text()
COMMANDS = [entry.load() for entry in cli.entries()]
SUBCOMMANDS = [one for group in COMMANDS if isinstance(group, click.Group) for one in group.commands.values()]
OPTIONS = [
    option
    for command in [cli, *COMMANDS, *SUBCOMMANDS]
    for parameter in command.params
    if isinstance(parameter, click.Option)
    for option in parameter.opts
    if option not in {"--help", "--version"}
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_page_has_a_section_for_each_command(command: click.Command) -> None:
    assert f"\n## edgekeeper {command.name}\n" in PAGE


@pytest.mark.parametrize("option", sorted(set(OPTIONS)))
def test_page_names_each_option(option: str) -> None:
    assert f"`{option}" in PAGE + SHARED


def synopses() -> list[str]:
    """The lines with placeholders that say how a command is called. Lines without any are run: see tests/docs."""
    lines = [line for block in blocks(PAGE) if block.form == "text" for line in block.text.splitlines()]
    return [line for line in lines if re.match(r"edgekeeper [a-z]+ ", line)]


@pytest.mark.parametrize("line", synopses())
def test_synopsis_names_options_that_exist(line: str) -> None:
    _, name, *words = line.split()
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"there is no command {name}"
    named = words[0].split("|") if isinstance(command, click.Group) else []
    called = [command.commands[one] for one in named] if isinstance(command, click.Group) else [command]
    for one in called:
        known = {option for parameter in one.params for option in parameter.opts}
        assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", line)) <= known


def test_page_has_a_synopsis_of_most_commands() -> None:
    assert len({line.split()[1] for line in synopses()}) >= 10


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: code.name)
def test_page_explains_each_exit_code(code: ExitCode) -> None:
    assert f"\n| {code} | " in PAGE
