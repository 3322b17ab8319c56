"""edgekeeper as a plugin of kubectl: `kubectl edge get` is `edgekeeper get`.

kubectl runs `kubectl-edge` for `kubectl edge`, and `kubectl_complete-edge` to complete its arguments, which prints a
proposal per line and then a directive, as programs written with cobra do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click
from click.shell_completion import ShellComplete

from edgekeeper.cli.main import PROGRAM, cli, run
from edgekeeper.cli.process import settle_garbage_collection

NAME: Final = "kubectl edge"
_FILES: Final = 0
"""The directive of cobra to complete names of files."""
_NO_FILES: Final = 4
"""The directive of cobra to propose nothing else."""


def proposals(arguments: Sequence[str]) -> list[str]:
    """The lines for kubectl. The last argument is the word to be completed."""
    *before, incomplete = arguments or [""]
    items = ShellComplete(cli, {}, PROGRAM, "").get_completions(list(before), incomplete)
    plain = [item for item in items if item.type == "plain"]
    directive = _FILES if len(plain) < len(items) else _NO_FILES
    texts = [f"{item.value}\t{item.help}" if item.help else str(item.value) for item in plain]
    return [*texts, f":{directive}"]


def main() -> NoReturn:
    settle_garbage_collection()
    sys.exit(run(program=NAME))


def complete() -> None:
    for line in proposals(sys.argv[1:]):
        click.echo(line)
