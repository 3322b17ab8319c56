"""docs/cli.md says everything that the command line can do; what controllers have in common is in docs/runtime.md."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import cli

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


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: code.name)
def test_page_explains_each_exit_code(code: ExitCode) -> None:
    assert f"\n| {code} | " in PAGE
