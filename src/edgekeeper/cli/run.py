"""`edgekeeper run`: the operator, against a cluster and against clouds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from edgekeeper.cli.announcing import announce
from edgekeeper.cli.assembly import OperatorOptions, assembled
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.kind_options import KindSettings, kind_options
from edgekeeper.cli.operator_options import operator_options
from edgekeeper.cli.reaching import await_cluster, explain
from edgekeeper.cli.stopping import interruptible
from edgekeeper.cloud.aws.settings import AwsConfigError
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.lease import LostLeadershipError
from edgekeeper.runtime import event_loop
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.options import RuntimeOptions

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper run", "in a pod, or against the current context"),
        ("edgekeeper run --leader-elect --metrics-bind-address :8443", "as one of several replicas"),
        ("edgekeeper run --dry-run", "change nothing, and log what would be changed"),
        ("edgekeeper run --role cloudflare-worker", "only what calls Cloudflare"),
    ],
)
@operator_options
@kind_options
def run(*, options: RuntimeOptions, kinds: KindSettings) -> int:
    """Keep the edge as declared, until stopped.

    Reads the objects of a cluster (this pod's, or a kubeconfig's) and makes AWS and Cloudflare match them. AWS credentials
    come from the default chain of the AWS SDK: IRSA, Pod Identity, the environment; API tokens of Cloudflare from Secrets.
    """
    log = options.log
    configure(format=log.format, color=log.color, level=log.level)
    try:
        cluster = load_config(options.kubeconfig, options.context)
        clients = kinds.aws_clients()
    except (ConfigError, AwsConfigError) as error:
        raise CommandError(str(error)) from error
    return event_loop.run(_run(options, kinds, cluster, clients))


async def _run(
    options: RuntimeOptions, kinds: KindSettings, cluster: ClusterConfig, clients: AwsClients | None
) -> int:
    transport = HttpTransport(cluster)
    common = replace(kinds.common, namespace=kinds.operator_namespace or cluster.namespace)
    chosen = OperatorOptions(
        options,
        common,
        kinds.rates,
        kinds.values,
        kinds.modules,
        kinds.role,
        cloudflare_url=kinds.cloudflare_url,
    )

    async def identify() -> str:
        return await interruptible(await_cluster(transport, cluster, kinds.common.cluster))

    try:
        async with assembled(chosen, transport, clients, host=transport.host, identify=identify) as operator:
            if clients is not None:
                await clients.confirm()
            await interruptible(announce(operator, cluster))
            await operator.manager.run()
    except LostLeadershipError as error:
        raise CommandError(f"lost the leadership: {error}", "another replica takes over") from error
    except AwsConfigError as error:
        raise CommandError(str(error)) from error
    except ApiError as error:
        raise explain(error, cluster) from error
    return ExitCode.OK
