"""`edgekeeper cel`: evaluates a CEL expression, or a batch of expressions.

Results are printed to standard output, as text or as JSON. The error of a single expression is printed to standard error
with its position; with `-o json` and in a batch it is part of the result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

import click
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.text import Text

from edgekeeper.cli.context import load_context
from edgekeeper.cli.expression import Answer, evaluate
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.terminal import open_console
from kubecel import environments
from kubecel.environment import Environment
from kubecel.errors import CelError, CompileError, EvaluationError
from kubecel.types import DYN

STDIN: Final = "-"
ENVIRONMENTS: Final = {"kro": environments.kro, "kubernetes": environments.kubernetes}
WIDTH: Final = 80
"""Values that do not fit into a line of this width are indented over several lines."""
_LINE_FORM: Final = 'each line is an object such as {"id": "a", "expr": "1 + 1"}'


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper cel '1 + 1'", "evaluate an expression"),
        ("edgekeeper cel '${schema.spec.name}' --context shop.yaml", "with variables from a file"),
        (
            "edgekeeper cel - --context shop.yaml -o json < expression",
            "read it from standard input, print JSON",
        ),
        ("edgekeeper cel --batch expressions.jsonl --context shop.yaml", "many expressions"),
    ],
)
@click.argument("expression", metavar="[EXPR]", required=False)
@click.option(
    "--context",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A YAML or JSON file; each key at the top is a variable.",
)
@click.option(
    "--environment",
    type=click.Choice(list(ENVIRONMENTS)),
    default="kro",
    show_default=True,
    help="The functions and variables to use: those of compositions (kro), or of rules in CustomResourceDefinitions.",
)
@click.option(
    "--batch",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Evaluate each line {id, expr} of FILE, and print a line {id, value or error, type, deps} for it.",
)
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print the result as JSON.")
def cel(
    *,
    expression: str | None,
    context: Path | None,
    environment: str,
    batch: TextIO | None,
    output: str | None,
) -> int:
    """Evaluate an expression, and show what it depends on.

    EXPR may be enclosed in ${…}, as in a ResourceGraphDefinition; - reads it from standard input.
    """
    if (expression is None) == (batch is None):
        raise click.UsageError("Give either an expression or --batch.")
    variables = load_context(context)
    prepared = ENVIRONMENTS[environment]().extend(variables=dict.fromkeys(variables, DYN))
    if batch is not None:
        for line in _answers(prepared, variables, batch):
            click.echo(line)
        return ExitCode.OK
    text = sys.stdin.read() if expression == STDIN else expression or ""
    return _report(evaluate(prepared, text, variables), as_json=output == "json")


def _answers(environment: Environment, variables: Mapping[str, Any], lines: TextIO) -> Iterator[str]:
    """The results of a batch, one JSON object per line. Empty lines are skipped."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match _parsed(line):
            case {"id": identity, "expr": str(text)}:
                yield json.dumps({"id": identity, **evaluate(environment, text, variables).summary()})
            case _:
                raise CommandError(f"line {number} of {lines.name} is not a valid entry", _LINE_FORM)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _report(answer: Answer, *, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(answer.details(), indent=2))
        return ExitCode.OK if answer.error is None else ExitCode.FAILED
    if answer.error is not None:
        open_console(sys.stderr).print(_drawn(answer.error, answer.source), soft_wrap=True)
        raise CommandError(_complaint(answer.error), _advice(answer.error))
    _show(open_console(sys.stdout), answer)
    return ExitCode.OK


def _show(console: Console, answer: Answer) -> None:
    rows = (
        ("value", JSONHighlighter()(_printable(_written(answer.value)))),
        ("type", Text(answer.type)),
        ("deps", Text(_printable(", ".join(answer.deps)))),
        ("reads", Text(_printable(", ".join(answer.paths)))),
        ("cost", Text(str(answer.cost))),
    )
    for label, content in rows:
        if content.plain:
            console.print(Text.assemble((f"{label:<7}", "bold"), *_indented(content)), soft_wrap=True)


def _written(value: Any) -> str:
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= WIDTH else json.dumps(value, ensure_ascii=False, indent=2)


def _indented(content: Text) -> Iterator[Text]:
    for number, line in enumerate(content.split("\n")):
        yield Text("\n" + " " * 7) + line if number else line


def _printable(text: str) -> str:
    """Escape characters that would control the terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\u{ord(character):04x}"
        for character in text
    )


def _drawn(error: CelError, source: str) -> Text:
    """The expression with a caret below the position of the error."""
    drawing = Text(_printable(error.render(source.replace("\t", " "))))
    drawing.highlight_regex(r"(?m)^ \| \.*\^$", "red")
    return drawing


def _complaint(error: CelError) -> str:
    if isinstance(error, CompileError):
        first, *others = error.issues
        more = f" (and {len(others)} more)" if others else ""
        return f"the expression does not compile: {_printable(first.message)}{more}"
    return f"the evaluation failed: {_printable(error.message)}"


def _advice(error: CelError) -> str:
    """Whether the evaluation may succeed with later data; empty for an expression that does not compile."""
    if not isinstance(error, EvaluationError):
        return ""
    return (
        "it depends on data that may still arrive"
        if error.pending
        else "it will fail with any further data, too"
    )
