"""Help texts with sections of commands, examples, exit codes and bold headings.

Commands are declared by import path and imported when they are used, so that `edgekeeper --help`, `--version` and shell
completion do not import the libraries of `edgekeeper up`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from edgekeeper.cli.failure import CommandError, ExitCode

Pairs = Sequence[tuple[str, str]]
"""Examples or exit codes, each with its description."""


@dataclass(frozen=True)
class Extra:
    """An optional dependency (extra) of the distribution, and the import package that it installs."""

    name: str
    package: str


@dataclass(frozen=True)
class CommandEntry:
    """A command: its name, the import path `module:attribute`, and a summary."""

    name: str
    target: str
    summary: str
    extra: Extra | None = None
    """The extra that the command needs, if any."""

    def load(self) -> click.Command:
        """Import the command. Raise CommandError if its extra is not installed."""
        module, _, attribute = self.target.partition(":")
        try:
            command = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            if self.extra is None or error.name != self.extra.package:
                raise
            raise CommandError(
                f"'edgekeeper {self.name}' needs the package {self.extra.package}, which is not installed",
                f"pip install 'edgekeeper[{self.extra.name}]'",
                ExitCode.USAGE,
            ) from error
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.target} is not a command")
        return command


@dataclass(frozen=True)
class Section:
    """A heading in the overview, and its commands."""

    title: str
    entries: tuple[CommandEntry, ...]


class HeadingFormatter(click.HelpFormatter):
    """Click's formatter with bold headings. `click.echo` removes the style if colour is off."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or click.style("Usage: ", bold=True))

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{click.style(f'{heading}:', bold=True)}\n")


class HelpContext(click.Context):
    formatter_class = HeadingFormatter


def write_pairs(formatter: click.HelpFormatter, heading: str, pairs: Pairs) -> None:
    if pairs:
        with formatter.section(heading):
            formatter.write_dl(pairs, col_max=formatter.width)


class Command(click.Command):
    """A command with examples in its help, and an exit code for wrong usage."""

    context_class = HelpContext

    def __init__(
        self, *args: Any, examples: Pairs = (), usage_code: ExitCode = ExitCode.USAGE, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.usage_code = usage_code

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # the parser does not set the context
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_pairs(formatter, "Examples", self.examples)


class CommandGroup(click.Group):
    """The top-level command: sections of lazily loaded commands, examples and exit codes."""

    context_class = HelpContext
    command_class = Command

    def __init__(
        self,
        *args: Any,
        sections: Sequence[Section] = (),
        examples: Pairs = (),
        exit_codes: Pairs = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections
        self.examples = examples
        self.exit_codes = exit_codes

    def entries(self) -> Iterator[CommandEntry]:
        for section in self.sections:
            yield from section.entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [entry.name for entry in self.entries()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return next((entry.load() for entry in self.entries() if entry.name == cmd_name), None)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in self.sections:
            write_pairs(formatter, section.title, [(entry.name, entry.summary) for entry in section.entries])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_pairs(formatter, "Examples", self.examples)
        write_pairs(formatter, "Exit codes", self.exit_codes)


class SubcommandGroup(click.Group):
    """A command with subcommands and examples."""

    context_class = HelpContext

    def __init__(self, *args: Any, examples: Pairs = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_pairs(formatter, "Examples", self.examples)
