"""`edgekeeper validate`: validate ResourceGraphDefinitions without a cluster."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.text import Text

from edgekeeper.cli.definitions import Examined, examine
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.terminal import open_console
from edgekeeper.controllers.composition.graph import Problem
from edgekeeper.core.json import JsonObject

schemas_option = click.option(
    "--schemas",
    "schemas",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="PATH",
    help="CustomResourceDefinitions or OpenAPI documents of the kinds that definitions use; may be repeated.",
)


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper validate webapp.yaml", "check a definition"),
        ("edgekeeper validate platform/ --schemas crds/", "many, against the schemas of custom kinds"),
        ("edgekeeper validate platform/ -o json", "for programs, one line for each definition"),
    ],
)
@click.argument("files", type=click.Path(path_type=Path), metavar="FILE...", nargs=-1, required=True)
@schemas_option
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print the answer for programs.")
def validate(*, files: Sequence[Path], schemas: Sequence[Path], output: str | None) -> int:
    """Check ResourceGraphDefinitions: schema, graph and the types of all expressions.

    FILE is a file or a directory of them. CustomResourceDefinitions among them are used as schemas.
    """
    examined, others = examine(files, schemas)
    if output == "json":
        for one in examined:
            click.echo(json.dumps(summary(one)))
    else:
        console = open_console(sys.stdout)
        for line in _lines(examined, others):
            console.print(line, soft_wrap=True)
    return ExitCode.FAILED if any(one.compilation.problems for one in examined) else ExitCode.OK


def summary(examined: Examined) -> JsonObject:
    """The result for one definition, for programs. Unknown values are left out."""
    found = examined.compilation
    known: JsonObject = {
        "openapi": found.spec_schema,
        "schemaError": found.schema_error or None,
        "deps": found.dependencies,
        "topologicalOrder": found.order,
        "applyOrder": found.apply_orders,
    }
    return {
        "path": str(examined.manifest.source),
        "name": examined.manifest.name,
        "valid": not found.problems,
        **{name: value for name, value in known.items() if value is not None},
        "errors": [_described(problem) for problem in found.problems],
        "warnings": [_described(problem) for problem in found.warnings],
    }


def _described(problem: Problem) -> JsonObject:
    return {"path": problem.path, "message": problem.message}


def _lines(examined: Sequence[Examined], others: int) -> Iterator[Text]:
    for one in examined:
        yield _verdict(one)
        for problem in one.compilation.problems:
            yield Text.assemble(("  error    ", "red"), f"{problem.path}: {problem.message}")
        for problem in one.compilation.warnings:
            yield Text.assemble(("  warning  ", "yellow"), f"{problem.path}: {problem.message}")
    if others:
        noun = "object is" if others == 1 else "objects are"
        yield Text(f"{others} other {noun} not looked at", "dim")


def _verdict(examined: Examined) -> Text:
    found = examined.compilation
    heading = f"{examined.manifest.source}: {examined.manifest.name}: "
    if not found.problems:
        order = " → ".join(found.order or ()) or "no resources"
        return Text.assemble(heading, ("valid", "green"), f" ({order})")
    count = len(found.problems)
    return Text.assemble(heading, (f"{count} problem{'s' if count > 1 else ''}", "red"))
