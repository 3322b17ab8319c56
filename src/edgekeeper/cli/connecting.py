"""Connect commands that only read to a cluster: their options, and a client that lives as long as the command."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import click

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.reaching import ATTEMPT, explain
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.runtime.logs import configure

Command: TypeAlias = Callable[..., Any]
READING = ClientOptions(deadline=ATTEMPT, retries=False, dry_run=True)
"""Of the client of a command that only reads: one attempt, and a write would not be sent."""


def cluster_options(command: Command) -> Command:
    """Add `--kubeconfig` and `--context` to a command."""
    context = click.option("--context", metavar="NAME", help="Use this context of the kubeconfig.")
    file = click.option(
        "--kubeconfig",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Use the cluster of this kubeconfig.  [default: $KUBECONFIG, the pod's cluster, ~/.kube/config]",
    )
    decorated: Command = file(context(command))
    return decorated


def namespace_options(command: Command) -> Command:
    """Add `--namespace` and `--all-namespaces` to a command."""
    everywhere = click.option("-A", "--all-namespaces", is_flag=True, help="Objects of all namespaces.")
    one = click.option(
        "-n", "--namespace", metavar="NAME", help="The namespace of the objects.  [default: the context's]"
    )
    decorated: Command = one(everywhere(command))
    return decorated


def chosen_cluster(kubeconfig: Path | None, context: str | None) -> ClusterConfig:
    """The cluster of the options. Raise CommandError if there is none. Logs only errors from now on."""
    configure(level="error")
    try:
        return load_config(kubeconfig, context)
    except ConfigError as error:
        raise CommandError(str(error)) from error


def chosen_namespace(cluster: ClusterConfig, namespace: str | None, *, everywhere: bool) -> str:
    """The namespace to look in; empty for all."""
    if everywhere and namespace:
        raise click.UsageError("give --namespace or --all-namespaces, but not both")
    return "" if everywhere else namespace or cluster.namespace


@asynccontextmanager
async def reading(cluster: ClusterConfig) -> AsyncIterator[KubeClient]:
    """A client that only reads. Errors of the API server become messages for people."""
    client = KubeClient(HttpTransport(cluster), Calls(), SystemClock(), READING)
    try:
        yield client
    except ApiError as error:
        raise explain(error, cluster) from error
    finally:
        await client.close()
