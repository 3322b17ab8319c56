"""docs/cli.md says everything that the command line can do; what controllers have in common is in docs/runtime.md."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import cli

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "cli.md").read_text()
SHARED = (DOCS / "runtime.md").read_text()
COMMANDS = [entry.load() for entry in cli.entries()]
OPTIONS = [
    option
    for command in [cli, *COMMANDS]
    for parameter in command.params
    if isinstance(parameter, click.Option)
    for option in parameter.opts
    if option not in {"--help", "--version"}
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_page_has_a_section_for_each_command(command: click.Command) -> None:
    assert f"\n## edgekeeper {command.name}\n" in PAGE


@pytest.mark.parametrize("option", OPTIONS)
def test_page_names_each_option(option: str) -> None:
    assert f"`{option}" in PAGE + SHARED


def command_lines() -> list[str]:
    """The commands of edgekeeper and its plugin in examples, as they are typed."""
    pages = [(DOCS / name).read_text() for name in ("cli.md", "troubleshooting.md", "platform-apis.md")]
    lines = [
        line.strip().removeprefix("$ ") for page in pages for line in page.splitlines() if line[:4] == "    "
    ]
    typed = [line.replace("kubectl edge ", "edgekeeper ") for line in lines]
    commands = [line.partition("  #")[0] for line in typed if re.match(r"edgekeeper [a-z]+( |$)", line)]
    return [line.strip() for line in commands if not re.search(r"[\[…|&]", line)]


@pytest.mark.parametrize("line", sorted(set(command_lines())))
def test_documented_command_line_is_accepted(line: str) -> None:
    """Files need not exist, and nothing is run."""
    _, name, *arguments = shlex.split(line)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"there is no command {name}"
    try:
        command.make_context(name, arguments)
    except click.BadParameter as error:
        if "does not exist" not in error.message:
            raise


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: code.name)
def test_page_explains_each_exit_code(code: ExitCode) -> None:
    assert f"\n| {code} | " in PAGE
