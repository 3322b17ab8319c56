"""`edgekeeper doctor`: check what the operator needs in the cluster and the clouds, and what to do where it is missing."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import click
import msgspec
import yaml
from prometheus_client import CollectorRegistry
from rich.console import Console
from rich.text import Text

from edgekeeper.cli.connecting import READING
from edgekeeper.cli.duration import Duration
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.kind_options import KindSettings, kind_options
from edgekeeper.cli.kinds import DEFINITIONS, uses
from edgekeeper.cli.operator_options import operator_options
from edgekeeper.cli.rbac import ALL, all_rules_of
from edgekeeper.cli.reaching import explain
from edgekeeper.cli.terminal import is_interactive, open_console
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.settings import AwsConfigError
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.cloudflare.accounts import Cloudflare, CloudflareOptions
from edgekeeper.cloud.cloudflare.sender import HttpSender
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.cloud.transport import Transport as CloudTransport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.diagnosis.aws_checks import SERVICES
from edgekeeper.diagnosis.checks import TIME_LIMIT, Result, Verdict
from edgekeeper.diagnosis.dated import DatedTransport
from edgekeeper.diagnosis.doctor import Installation, examine
from edgekeeper.diagnosis.right_checks import Surroundings
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.module import Cloud
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.options import RuntimeOptions

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients

_STYLES = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.FAILED: "red"}


@click.command(
    cls=Command,
    examples=[
        ("kubectl exec deploy/edgekeeper -- python3 -m edgekeeper.cli doctor", "as the operator itself"),
        (
            "edgekeeper doctor --service-account edgekeeper-system/edgekeeper",
            "the rights of a ServiceAccount",
        ),
        ("edgekeeper doctor -o json", "for scripts"),
    ],
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
    help="The output format.",
)
@click.option(
    "--service-account",
    metavar="NAMESPACE/NAME",
    help="Check the rights of this ServiceAccount.  [default: those of whoever runs it]",
)
@click.option(
    "--timeout",
    type=Duration(),
    default=TIME_LIMIT,
    metavar="DURATION",
    help="The time limit of each check.  [default: 20s]",
)
@operator_options
@kind_options
def doctor(
    *,
    output: str,
    service_account: str | None,
    timeout: timedelta,
    options: RuntimeOptions,
    kinds: KindSettings,
) -> int:
    """Check credentials, rights, definitions, clocks and connections.

    Give it the options of `edgekeeper run`, so that it checks what that needs. Nothing is written anywhere. The exit code is
    1 if a check failed, and 0 if there are only warnings.
    """
    configure(level="error")
    try:
        cluster = load_config(options.kubeconfig, options.context)
        clients = kinds.aws_clients()
    except (ConfigError, AwsConfigError) as error:
        raise CommandError(str(error)) from error
    subject = parse_account(service_account) if service_account else None
    results = asyncio.run(_examine(options, kinds, cluster, clients, subject, timeout))
    if output == "text":
        print_results(results, open_console(sys.stdout))
    else:
        click.echo(render(results, output), nl=False)
    return exit_code(results)


def parse_account(text: str) -> Key:
    """A ServiceAccount. Raise UsageError for anything else."""
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name):
        raise click.UsageError(f"--service-account takes NAMESPACE/NAME, not {text!r}")
    return Key(namespace, name)


async def _examine(
    options: RuntimeOptions,
    kinds: KindSettings,
    cluster: ClusterConfig,
    clients: AwsClients | None,
    subject: Key | None,
    limit: timedelta,
) -> list[Result]:
    transport, sender = DatedTransport(HttpTransport(cluster)), HttpSender()
    try:
        installation = assembled_installation(options, kinds, cluster, transport, clients, sender)
        around = replace(installation.around, subject=subject)
        with progress() as tell:
            return await examine(replace(installation, around=around), limit=limit, tell=tell)
    finally:
        await sender.close()
        if clients is not None:
            await clients.close()
        await transport.close()


def assembled_installation(
    options: RuntimeOptions,
    kinds: KindSettings,
    cluster: ClusterConfig,
    transport: DatedTransport,
    clients: AwsClients | None,
    sender: HttpSender,
) -> Installation:
    """What the options of `run` say is to be checked. All clients only read."""
    clock, metrics = SystemClock(), CloudMetrics(CollectorRegistry())
    cloud = CloudTransport(Calls(), clock, Budget({**DEFAULT_RATES, **kinds.rates}), metrics, dry_run=True)
    cloudflare = None
    if uses(Cloud.CLOUDFLARE, kinds.modules):
        cloudflare = Cloudflare(cloud, sender, clock, metrics, CloudflareOptions(kinds.cloudflare_url))
    return Installation(
        KubeClient(transport, Calls(), clock, READING),
        clock,
        kinds.modules,
        DEFINITIONS,
        all_rules_of(kinds.role or ALL, kinds.modules),
        surroundings(options, kinds, cluster),
        lambda error: _described(error, cluster),
        transport,
        None if clients is None else (AwsAccess(cloud, clients, clock), clients),
        cloudflare,
        dict(_endpoints(kinds, clients)),
    )


def surroundings(options: RuntimeOptions, kinds: KindSettings, cluster: ClusterConfig) -> Surroundings:
    """What the rights depend on that an operator with these options needs."""
    enabled = {
        "leaderElection.enabled": options.leader_elect,
        "metrics.enabled": options.server.metrics_address is not None and options.server.metrics_secure,
        "statusPage.enabled": options.server.web_address is not None,
        "webhooks.enabled": bool(options.server.webhook_service),
        "composition.allowCrdDeletion": bool(kinds.values.get("allow_crd_deletion")),
    }
    return Surroundings(
        kinds.operator_namespace or cluster.namespace,
        options.namespaces,
        frozenset(name for name, is_enabled in enabled.items() if is_enabled),
        options.server.webhook_service,
        str(kinds.values.get("kro_namespace") or ""),
    )


def _endpoints(kinds: KindSettings, clients: AwsClients | None) -> Iterator[tuple[str, str]]:
    if clients is not None:
        from edgekeeper.cloud.aws.endpoints import endpoint_of  # noqa: PLC0415 # loads the AWS SDK

        names = {module.name for module in kinds.modules}
        services = [service for name in names for service in SERVICES.get(name, ())]
        for service in sorted(set(services)):
            yield f"aws {service}", endpoint_of(service, clients.region_of(service), kinds.aws.endpoint_url)
    if uses(Cloud.CLOUDFLARE, kinds.modules):
        yield "cloudflare", kinds.cloudflare_url


def _described(error: ApiError, cluster: ClusterConfig) -> tuple[str, str]:
    explained = explain(error, cluster)
    return explained.message, explained.remedy or "see the message of the API server"


# Output


@contextmanager
def progress() -> Iterator[Callable[[str], None] | None]:
    """Show which checks are done, while they run, on a terminal."""
    if not is_interactive(sys.stderr):
        yield None
        return
    done: list[str] = []
    console = open_console(sys.stderr)
    with console.status("checking the cluster") as status:

        def tell(name: str) -> None:
            done.append(name)
            status.update(f"{len(done)} checks done, last: {name}")

        yield tell


def print_results(results: Sequence[Result], console: Console) -> None:
    """Print a line for each result, with the remedy below those that need one, and a summary."""
    width = max((len(result.check) for result in results), default=0)
    for result in results:
        line = Text(f"{result.verdict:<8}", _STYLES[result.verdict]).append(
            f"  {result.check:<{width}}  ", "bold"
        )
        console.print(line.append(" ".join(result.message.split())), soft_wrap=True)
        if result.remedy and result.verdict is not Verdict.OK:
            console.print(Text(f"{'':<{width + 12}}do: {result.remedy}"), soft_wrap=True)
    counts = Counter(result.verdict for result in results)
    totals = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    console.print(Text(f"Checks: {totals}.", "bold"), soft_wrap=True)


def render(results: Sequence[Result], form: str) -> str:
    """One document with all results."""
    tree = {"healthy": exit_code(results) == ExitCode.OK, "checks": [result.tree for result in results]}
    if form == "yaml":
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    return msgspec.json.format(msgspec.json.encode(tree), indent=2).decode() + "\n"


def exit_code(results: Sequence[Result]) -> ExitCode:
    return ExitCode.FAILED if any(one.verdict is Verdict.FAILED for one in results) else ExitCode.OK
