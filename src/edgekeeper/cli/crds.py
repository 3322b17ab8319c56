"""`edgekeeper crds`: the CustomResourceDefinitions of all kinds, as YAML.

They are made from the typed kinds. The chart carries a copy, which a test keeps equal to what is printed here.
"""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.help import Command
from edgekeeper.cli.kinds import DEFINITIONS

INSTALL = "edgekeeper crds | kubectl apply -f -"
"""The remedy where a cluster does not know them."""


def render(kind: CustomKind) -> str:
    """One definition as YAML."""
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
    help="Write a file for each kind there, instead of printing them.",
)
def crds(*, directory: Path | None) -> None:
    """Print the CustomResourceDefinitions of all kinds."""
    if directory is None:
        click.echo("---\n".join(map(render, DEFINITIONS)), nl=False)
        return
    directory.mkdir(parents=True, exist_ok=True)
    for kind in DEFINITIONS:
        (directory / file_name(kind)).write_text(render(kind))
