"""`edgekeeper explain`: why an object is not ready, down to the cause, and what to do."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from edgekeeper.cli.connecting import chosen_cluster, cluster_options, reading
from edgekeeper.cli.crds import INSTALL
from edgekeeper.cli.explain_output import Printer, render
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.object_completion import complete_object
from edgekeeper.cli.terminal import open_console
from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.diagnosis.catalog import KnownKind, UnknownKindError, read_catalog
from edgekeeper.diagnosis.explaining import Explainer, Explanation
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.kinds import Key


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper explain dt/shop -n edge", "why a DistributionTenant is not ready"),
        ("edgekeeper explain httproute/wiki", "from the route to its task, tenant and token"),
        (
            "edgekeeper explain webapp/shop",
            "an instance of a composition, down to the resource that blocks it",
        ),
        ("edgekeeper explain dt/shop -o json", "for scripts"),
    ],
)
@click.argument("target", metavar="KIND/NAME", shell_complete=complete_object)
@click.option(
    "-n", "--namespace", metavar="NAME", help="The namespace of the object.  [default: the context's]"
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
    help="The output format.",
)
@cluster_options
def explain(
    *, target: str, namespace: str | None, output: str, kubeconfig: Path | None, context: str | None
) -> int:
    """Say why an object is not ready, and what to do.

    From the conditions of the object the causes are followed through what it depends on to the message of the cloud. The
    cluster is only read, and no cloud is called. The exit code is 0 if the object is ready, and 1 if it is not.
    """
    kind, slash, name = target.partition("/")
    if not (kind and slash and name):
        raise click.UsageError(f"{target!r} is not KIND/NAME, such as dt/shop or httproute/wiki")
    cluster = chosen_cluster(kubeconfig, context)
    explanation = asyncio.run(_answer(cluster, kind, name, namespace or cluster.namespace))
    if output == "text":
        Printer(open_console(sys.stdout), datetime.now(UTC)).print(explanation)
    else:
        click.echo(render(explanation, output), nl=False)
    return ExitCode.OK if explanation.is_ready else ExitCode.FAILED


async def _answer(cluster: ClusterConfig, kind: str, name: str, namespace: str) -> Explanation:
    async with reading(cluster) as client:
        return await answer(client, SystemClock(), kind, name, namespace)


async def answer(client: KubeClient, clock: Clock, kind: str, name: str, namespace: str) -> Explanation:
    """Explain an object. Raise CommandError if there is no such kind or object."""
    catalog = await read_catalog(MODULES, ClusterReader(client))
    try:
        chosen = catalog.find(kind)
    except UnknownKindError as error:
        raise CommandError(str(error)) from error
    explainer = Explainer(client, catalog, clock)
    for known in chosen:
        key = Key(namespace if known.kind.namespaced else "", name)
        explanation = await explainer.explain(known, key)
        if explanation is not None:
            return explanation
    raise await _missing(explainer, chosen[0], Key(namespace, name))


async def _missing(explainer: Explainer, known: KnownKind, key: Key) -> CommandError:
    reader, kind = explainer.reader, known.kind
    if (message := reader.denial(kind, key.namespace)) is not None:
        return CommandError(
            f"the API server does not allow it: {message}", "grant the permission to this user"
        )
    everywhere = await reader.select(kind)
    if kind in reader.unserved:
        return CommandError(f"the cluster does not serve {kind.qualified_plural}", INSTALL)
    namesakes = [obj["metadata"]["namespace"] for obj in everywhere if obj["metadata"]["name"] == key.name]
    remedy = (
        f"there is one with -n {namesakes[0]}" if namesakes else f"edgekeeper get {kind.plural} -A lists all"
    )
    return CommandError(f"there is no {kind.kind} {key}", remedy)
