"""`edgekeeper render`: render the objects of an instance of a ResourceGraphDefinition, without a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import yaml

from edgekeeper.cli.definitions import graph_in
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.manifest import Manifest, load_manifests
from edgekeeper.cli.validate import schemas_option
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance import prepare_instance
from edgekeeper.controllers.composition.names import SCHEMA
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.rendering import (
    NodeState,
    PendingValue,
    RenderedNode,
    Rendering,
)
from edgekeeper.controllers.composition.rendering import render as render_instance
from edgekeeper.core.json import JsonObject


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper render webapp.yaml shop.yaml", "print the objects of an instance"),
        ("edgekeeper render webapp.yaml shop.yaml -o json", "for programs"),
    ],
)
@click.argument("definition", type=click.Path(path_type=Path), metavar="RGD")
@click.argument("instance", type=click.Path(path_type=Path), metavar="INSTANCE")
@schemas_option
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def render(*, definition: Path, instance: Path, schemas: Sequence[Path], output: str) -> int:
    """Render the objects of an instance.

    RGD is the file of a ResourceGraphDefinition, INSTANCE that of an object of its kind. Values that only a cluster
    knows are left as they are written, and comments say what they wait for.
    """
    graph = graph_in(definition, schemas)
    rendering = rendered(graph, instance_in(instance, graph))
    if output == "json":
        click.echo(json.dumps(_details(rendering), indent=2))
    else:
        click.echo("---\n".join(_documents(rendering, graph)), nl=False)
    return ExitCode.FAILED if rendering.failed else ExitCode.OK


def instance_in(path: Path, graph: Graph) -> Manifest:
    """The only object in a file that is of the kind that a definition defines."""
    schema = graph.spec.schema
    found = [manifest for manifest in load_manifests([path]) if manifest.kind == schema.kind]
    if len(found) != 1:
        count = "no" if not found else str(len(found))
        raise CommandError(
            f"{path} holds {count} objects of kind {schema.kind}", "give a file with one instance"
        )
    return found[0]


def rendered(graph: Graph, manifest: Manifest) -> Rendering:
    """What an instance consists of; raises CommandError if it is not valid."""
    try:
        instance = prepare_instance(graph, manifest.body)
    except RejectedError as error:
        raise CommandError(f"{manifest} in {manifest.source} is not valid: {error.message}") from error
    return render_instance(graph, instance)


def _documents(rendering: Rendering, graph: Graph) -> Iterator[str]:
    for node in rendering.nodes:
        heading = [f"# {node.id}: {node.state.lower()}{f': {node.message}' if node.message else ''}"]
        comments = "\n".join([*heading, *map(_comment, node.pending)])
        bodies = [_yaml(body) for body in node.objects] or [""]
        if node.state is NodeState.EXTERNAL:
            bodies = ["".join(f"# {line}\n" for line in body.splitlines()) for body in bodies]
        yield f"{comments}\n{bodies[0]}"
        yield from bodies[1:]
    if graph.status.template or rendering.pending:
        comments = "\n".join([f"# status of the {graph.spec.schema.kind}", *map(_comment, rendering.pending)])
        written = _yaml({"status": rendering.status}) if rendering.status else ""
        yield comments + "\n" + "".join(f"# {line}\n" for line in written.splitlines())


def _comment(pending: PendingValue) -> str:
    """One line, whatever the expression looks like."""
    expression = " ".join(pending.expression.split())
    return f"# pending: {pending.path}: {expression} waits for {', '.join(map(_awaited, pending.waits_for))}"


def _awaited(path: str) -> str:
    return f"{path} (the instance does not set it)" if path.startswith(f"{SCHEMA}.") else path


def _yaml(body: JsonObject) -> str:
    return yaml.safe_dump(body, sort_keys=False, width=110, allow_unicode=True)


def _details(rendering: Rendering) -> JsonObject:
    return {
        "resources": [_node_details(node) for node in rendering.nodes],
        "status": rendering.status,
        "pending": [_pending_details(one) for one in rendering.pending],
    }


def _node_details(node: RenderedNode) -> JsonObject:
    message = {"message": node.message} if node.message else {}
    return {
        "id": node.id,
        "state": str(node.state),
        **message,
        "objects": node.objects,
        "pending": [_pending_details(one) for one in node.pending],
    }


def _pending_details(pending: PendingValue) -> JsonObject:
    return {
        "path": pending.path,
        "expression": pending.expression,
        "waitsFor": list(pending.waits_for),
    }
