"""`edgekeeper graph`: the graph of a ResourceGraphDefinition as text, Mermaid or SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from edgekeeper.cli.definitions import graph_in
from edgekeeper.cli.help import Command
from edgekeeper.cli.validate import schemas_option
from edgekeeper.controllers.composition.drawing import draw_mermaid, draw_table
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.picture import draw_svg

_FORMS: Final[dict[str, Callable[[Graph], str]]] = {
    "text": draw_table,
    "mermaid": draw_mermaid,
    "svg": draw_svg,
}


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper graph webapp.yaml", "show what depends on what"),
        ("edgekeeper graph webapp.yaml -o svg > webapp.svg", "draw it"),
    ],
)
@click.argument("definition", type=click.Path(path_type=Path), metavar="RGD")
@schemas_option
@click.option("-o", "--output", type=click.Choice(list(_FORMS)), default="text", show_default=True)
def graph(*, definition: Path, schemas: Sequence[Path], output: str) -> None:
    """Draw the graph of a ResourceGraphDefinition."""
    click.echo(_FORMS[output](graph_in(definition, schemas)), nl=False)
