"""The entry point: declares the commands, and converts errors into a message and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import click

from edgekeeper import __version__
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command, CommandEntry, CommandGroup, Extra, Section
from edgekeeper.cli.process import settle_garbage_collection
from edgekeeper.cli.terminal import wants_colour

PROGRAM = "edgekeeper"
LOCAL = Extra("local", package="kubesim")
SECTIONS = (
    Section(
        "Run it on this machine",
        (
            CommandEntry(
                "up",
                "edgekeeper.cli.up:up",
                "Start a cluster, clouds and the operator on this machine.",
                extra=LOCAL,
            ),
        ),
    ),
    Section(
        "Run it in a cluster",
        (
            CommandEntry("run", "edgekeeper.cli.run:run", "Keep the edge as declared, until stopped."),
            CommandEntry("plan", "edgekeeper.cli.plan:plan", "Show what would be done, and change nothing."),
            CommandEntry(
                "crds", "edgekeeper.cli.crds:crds", "Print the CustomResourceDefinitions of all kinds."
            ),
        ),
    ),
    Section(
        "Look at it",
        (
            CommandEntry("get", "edgekeeper.cli.get:get", "List objects of all kinds in one table."),
            CommandEntry(
                "explain", "edgekeeper.cli.explain:explain", "Say why an object is not ready, and what to do."
            ),
            CommandEntry(
                "events", "edgekeeper.cli.events:events", "Show events about objects, in the order of time."
            ),
            CommandEntry(
                "doctor",
                "edgekeeper.cli.doctor:doctor",
                "Check credentials, rights, definitions, clocks and connections.",
            ),
        ),
    ),
    Section(
        "Write compositions",
        (
            CommandEntry(
                "validate",
                "edgekeeper.cli.validate:validate",
                "Check ResourceGraphDefinitions: schema, graph and the types of all expressions.",
            ),
            CommandEntry("render", "edgekeeper.cli.render:render", "Render the objects of an instance."),
            CommandEntry(
                "diff", "edgekeeper.cli.diff:diff", "Show what a definition and an instance would change."
            ),
            CommandEntry(
                "graph", "edgekeeper.cli.graph:graph", "Draw the graph of a ResourceGraphDefinition."
            ),
            CommandEntry(
                "cel", "edgekeeper.cli.cel:cel", "Evaluate an expression, and show what it depends on."
            ),
        ),
    ),
    Section(
        "Set up your shell",
        (
            CommandEntry(
                "completion",
                "edgekeeper.cli.completion:completion",
                "Print a script that completes commands and options in SHELL.",
            ),
        ),
    ),
)
EXAMPLES = (
    ("edgekeeper up", "run the embedded control plane until Ctrl-C"),
    ("edgekeeper up --apply examples/quickstart --wait", "apply manifests, exit when all objects are ready"),
    ("edgekeeper plan -f shop.yaml", "show what a manifest would change"),
    ("edgekeeper explain dt/shop -n edge", "say why an object is not ready, and what to do"),
)
EXIT_CODES = (
    ("0", "done; a server that was asked to stop has stopped"),
    (
        "1",
        "failed; the last line on standard error says why; of diff: something differs; of explain: not ready",
    ),
    ("2", "wrong usage; of plan: changes are pending; of diff: failed"),
    ("3", "not everything became ready in time"),
    ("130, 143", "interrupted (Ctrl-C), terminated before the work was done"),
)


@dataclass
class Invocation:
    """Options before the command, which the entry point reads after the command has ended."""

    debug: bool = False


@click.group(
    cls=CommandGroup,
    sections=SECTIONS,
    examples=EXAMPLES,
    exit_codes=EXIT_CODES,
    invoke_without_command=True,
)
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Keep a company's edge as declared: a Kubernetes operator that also runs without a cluster."""
    ctx.ensure_object(Invocation).debug = debug
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Run a command line and return its exit code. Errors are printed, with `--debug` including the traceback.

    `program` is what people have typed to start it.
    """
    invocation = Invocation()
    try:
        outcome = cli.main(
            arguments,
            prog_name=program,
            obj=invocation,
            color=wants_colour(sys.stdout),
            max_content_width=110,
            standalone_mode=False,
        )
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost boundary: users get one line, not a traceback
        if invocation.debug:
            traceback.print_exc()
        return _report(error, program)
    return outcome if isinstance(outcome, int) else ExitCode.OK


def _report(error: Exception, program: str) -> int:
    """Print the error and its remedy as one line on standard error, and return the exit code."""
    message, code = _explain(error, program)
    prefix = click.style("error:", fg="red", bold=True)
    click.echo(f"{program}: {prefix} {message}", err=True, color=wants_colour(sys.stderr))
    return code


def _explain(error: Exception, program: str) -> tuple[str, int]:
    match error:
        case CommandError():
            return str(error), error.code
        case click.UsageError():
            path, command = (error.ctx.command_path, error.ctx.command) if error.ctx else (program, cli)
            code = command.usage_code if isinstance(command, Command) else ExitCode.USAGE
            return f"{_one_line(error.format_message())}; see '{path} --help'", code
        case click.ClickException():
            return _one_line(error.format_message()), ExitCode.FAILED
        case OSError():
            return _one_line(str(error)), ExitCode.FAILED
        case _:
            description = f"{type(error).__name__}: {_one_line(str(error))}"
            return f"unexpected {description}; '{program} --debug …' shows where", ExitCode.FAILED


def _one_line(text: str) -> str:
    """The text in one line and without a full stop, so that a remedy can be appended."""
    return " ".join(text.split()).rstrip(".")


def main() -> NoReturn:
    settle_garbage_collection()
    sys.exit(run())
