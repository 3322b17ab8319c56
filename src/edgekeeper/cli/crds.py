"""`edgekeeper crds`: prints the CustomResourceDefinitions of all kinds as YAML.

The chart contains a copy; a test checks that it is up to date.
"""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.help import Command
from edgekeeper.cli.kinds import DEFINITIONS

INSTALL = "edgekeeper crds | kubectl apply -f -"
"""How to install the definitions, for messages."""


def render(kind: CustomKind) -> str:
    """A definition as YAML."""
    return yaml.safe_dump(kind.definition(), sort_keys=False, width=110, allow_unicode=True)


def file_name(kind: CustomKind) -> str:
    return f"{kind.group}_{kind.plural}.yaml"


@click.command(
    cls=Command,
    examples=[
        (INSTALL, "install them"),
        ("edgekeeper crds --directory charts/edgekeeper/crds", "write a file for each"),
    ],
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a file for each kind into DIR instead of printing them.",
)
def crds(*, directory: Path | None) -> None:
    """Print the CustomResourceDefinitions of all kinds."""
    if directory is None:
        click.echo("---\n".join(map(render, DEFINITIONS)), nl=False)
        return
    directory.mkdir(parents=True, exist_ok=True)
    for kind in DEFINITIONS:
        (directory / file_name(kind)).write_text(render(kind))
