"""`edgekeeper graph`: the graph of a ResourceGraphDefinition, or of an instance in a cluster, as text, Mermaid or SVG."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from edgekeeper.cli.definitions import graph_in
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.help import Command
from edgekeeper.cli.reaching import ATTEMPT, explain
from edgekeeper.cli.validate import schemas_option
from edgekeeper.controllers.composition.drawing import draw_mermaid, draw_table
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance import DEFAULT_NAMESPACE
from edgekeeper.controllers.composition.live_states import LiveInstance, UnknownInstanceError, read_instance
from edgekeeper.controllers.composition.picture import draw_svg
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import dig, dig_list
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.runtime.logs import configure

Draw = Callable[[Graph, Mapping[str, str] | None], str]

_FORMS: Final[dict[str, Draw]] = {"text": draw_table, "mermaid": draw_mermaid, "svg": draw_svg}


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper graph webapp.yaml", "show what depends on what"),
        ("edgekeeper graph webapp.yaml -o svg > webapp.svg", "draw it"),
        ("edgekeeper graph --live webapp/shop", "show how far the resources of an instance are"),
    ],
)
@click.argument("definition", type=click.Path(path_type=Path), metavar="[RGD]", required=False)
@click.option(
    "--live",
    metavar="KIND/NAME",
    help="Draw an instance of the cluster instead, with the states of its resources.",
)
@click.option(
    "-n", "--namespace", metavar="NAME", help="The namespace of the instance.  [default: the context's]"
)
@schemas_option
@click.option("-o", "--output", type=click.Choice(list(_FORMS)), default="text", show_default=True)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Use the cluster of this kubeconfig.  [default: $KUBECONFIG, the pod's cluster, ~/.kube/config]",
)
@click.option("--context", metavar="NAME", help="Use this context of the kubeconfig.")
def graph(  # noqa: PLR0913 - one parameter per option
    *,
    definition: Path | None,
    live: str | None,
    namespace: str | None,
    schemas: Sequence[Path],
    output: str,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Draw the graph of a ResourceGraphDefinition.

    RGD is its file. With --live the graph is that of an instance in a cluster, which is only read: each resource has the
    state that the operator would find it in, and text says why one is not ready.
    """
    if (definition is None) == (live is None):
        raise click.UsageError("give the file of a ResourceGraphDefinition, or --live KIND/NAME")
    if definition is not None:
        click.echo(_FORMS[output](graph_in(definition, schemas), None), nl=False)
        return
    kind, _, name = str(live).partition("/")
    if not kind or not name:
        raise click.UsageError(f"--live takes KIND/NAME, such as webapp/shop, not {live}")
    configure(level="error")
    try:
        cluster = load_config(kubeconfig, context)
    except ConfigError as error:
        raise CommandError(str(error)) from error
    found = asyncio.run(_read(cluster, kind, name, namespace or cluster.namespace or DEFAULT_NAMESPACE))
    click.echo(drawn(found, output), nl=False)


async def _read(cluster: ClusterConfig, kind: str, name: str, namespace: str) -> LiveInstance:
    client = KubeClient(HttpTransport(cluster), Calls(), SystemClock(), ClientOptions(deadline=ATTEMPT))
    try:
        return await read_instance(client, SystemClock(), kind, name, namespace)
    except UnknownInstanceError as error:
        raise CommandError(str(error), "kubectl get rgd") from error
    except ApiError as error:
        raise explain(error, cluster) from error
    finally:
        await client.close()


def drawn(live: LiveInstance, output: str) -> str:
    """A live graph in one of the forms. Text has the state of the instance and what holds resources up as well."""
    picture = _FORMS[output](live.graph, live.states)
    return picture if output != "text" else picture + "".join(f"{line}\n" for line in _remarks(live))


def _remarks(live: LiveInstance) -> Iterator[str]:
    yield f"{live.kind.kind} {live.key} is {dig(live.object, 'status', 'state') or 'not reconciled yet'}"
    for condition in dig_list(live.object, "status", "conditions"):
        if dig(condition, "type") == "Ready" and dig(condition, "status") != "True":
            yield f"Ready: {dig(condition, 'reason')}: {dig(condition, 'message')}"
    for node, message in live.messages.items():
        yield f"{node}: {message}"
