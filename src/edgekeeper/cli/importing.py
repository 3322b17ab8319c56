"""`edgekeeper import`: write manifests for what exists in the clouds, ready to apply with adoption.

    edgekeeper import tenants -n edge --output tenants.yaml
    kubectl apply -f tenants.yaml

There is a subcommand for each kind that can be imported (`ImportableModule`). Clouds and cluster are only read: all clients
are in dry-run mode, and refuse every call that would change something.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from edgekeeper.cli.assembly import OperatorOptions, assembled
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command, SubcommandGroup
from edgekeeper.cli.import_output import (
    Outcome,
    confirm_writable,
    print_report,
    show_progress,
    write_manifests,
)
from edgekeeper.cli.kind_options import KindSettings, Parsed, kind_options, option_of
from edgekeeper.cli.kinds import MODULES, importable
from edgekeeper.cli.proposal import propose
from edgekeeper.cli.reaching import explain, identify
from edgekeeper.cli.terminal import is_interactive, open_console
from edgekeeper.cloud.aws.settings import AwsConfigError
from edgekeeper.cloud.cloudflare.sender import HttpSender, Sender
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.core.names import DNS_LABEL
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.importing import ImportRefusal, ImportRequest, ImportResult
from edgekeeper.lifecycle.module import Cloud, ImportableModule
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.options import RuntimeOptions

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients

_EXAMPLES: Final = (
    ("edgekeeper import tenants -n edge --output tenants.yaml", "write a file"),
    ("edgekeeper plan -f tenants.yaml", "see what applying it would do"),
    ("kubectl apply -f tenants.yaml", "apply it: the objects adopt what exists"),
)
_LONGEST_NAMESPACE: Final = 63
_CLOUD_NAMES: Final = {Cloud.AWS: "AWS", Cloud.CLOUDFLARE: "Cloudflare"}


@click.group(cls=SubcommandGroup, name="import", examples=_EXAMPLES)
def import_() -> None:
    """Write manifests for what exists in the clouds.

    Applying them changes nothing there but ownership marks. What a manifest cannot express is reported on standard
    error, and the resource is left out. The exit code is 0 if everything was imported or has an owner already, and 1
    if something was not importable.
    """


def _command(module: ImportableModule) -> click.Command:
    """The subcommand of a kind."""
    own = [option_of(flag) for flag in module.import_flags]

    def run(  # noqa: PLR0913 - one parameter per option
        *,
        namespace: str | None,
        patterns: tuple[str, ...],
        output: str,
        form: str,
        partial: bool,
        kubeconfig: Path | None,
        context: str | None,
        kinds: KindSettings,
        **given: Any,
    ) -> int:
        configure(level="error")
        confirm_writable(output)
        try:
            cluster = load_config(kubeconfig, context)
        except ConfigError as error:
            raise CommandError(str(error)) from error
        own_namespace = kinds.operator_namespace or cluster.namespace
        chosen = replace(
            kinds,
            common=replace(kinds.common, namespace=own_namespace),
            values={**kinds.values, **given},
        )
        console = open_console(sys.stderr)
        with show_progress(console, interactive=is_interactive(sys.stderr)) as progress:
            request = ImportRequest(namespace or "", cluster.namespace, patterns, progress)
            results = asyncio.run(_reached(module, request, chosen, cluster))
        outcome = Outcome(tuple(results), partial=partial)
        write_manifests(outcome.manifests, output, form)
        print_report(outcome, module.import_marks, console)
        return ExitCode.FAILED if outcome.refused else ExitCode.OK

    run.__doc__ = f"{module.import_summary}\n\n{_HELP}"
    decorated: Any = kind_options(run)
    for decorate in reversed((*_OPTIONS, *(option for _, option in own))):
        decorated = decorate(decorated)
    command = click.command(module.import_name, cls=Command, examples=module.import_examples)(decorated)
    command.short_help = module.import_summary
    return command


def _namespace(text: str) -> str:
    if len(text) > _LONGEST_NAMESPACE or not DNS_LABEL.pattern.fullmatch(text):
        raise ValueError(
            f"{text!r} is not the name of a namespace: lower-case letters, digits and -, at most 63"
        )
    return text


_HELP: Final = (
    "Clouds and cluster are only read. Give it the options of `edgekeeper run`, so that it names and checks things as the "
    "operator does."
)
_OPTIONS: Final = (
    click.option(
        "-n",
        "--namespace",
        type=Parsed("name", _namespace),
        metavar="NAME",
        help="The namespace of the objects.  [default: the context's; of routes that of their Services]",
    ),
    click.option(
        "--select",
        "patterns",
        multiple=True,
        metavar="GLOB",
        help="Import only what has a name or hostname like this, such as '*.example.com'. Repeatable.  [default: everything]",
    ),
    click.option(
        "--output",
        default="-",
        metavar="PATH",
        help="Write to this file, or into this directory, a file for each object; - is standard output.  [default: -]",
    ),
    click.option(
        "-o",
        "--format",
        "form",
        type=click.Choice(["yaml", "json"]),
        default="yaml",
        show_default=True,
        help="The format of the manifests.",
    ),
    click.option(
        "--partial",
        is_flag=True,
        help="Also write manifests that lack something. Applying those may change the cloud.",
    ),
    click.option(
        "--kubeconfig",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Use the cluster of this kubeconfig.  [default: $KUBECONFIG, the pod's cluster, ~/.kube/config]",
    ),
    click.option("--context", metavar="NAME", help="Use this context of the kubeconfig."),
)


async def _reached(
    module: ImportableModule, request: ImportRequest, kinds: KindSettings, cluster: ClusterConfig
) -> list[ImportResult]:
    transport = HttpTransport(cluster)
    clients = None
    if Cloud.AWS in module.import_clouds:
        from edgekeeper.cloud.aws.clients import AwsClients  # noqa: PLC0415 # loads the AWS SDK

        clients = AwsClients(kinds.aws)
    sender = HttpSender() if Cloud.CLOUDFLARE in module.import_clouds else None
    try:
        if clients is not None:
            await clients.confirm()
        return await collect(
            module,
            request,
            kinds,
            transport,
            clients,
            sender=sender,
            identify=lambda: identify(transport, cluster, kinds.common.cluster),
        )
    except AwsConfigError as error:
        raise CommandError(str(error)) from error
    except ApiError as error:
        raise explain(error, cluster) from error
    finally:
        if sender is not None:
            await sender.close()


async def collect(  # noqa: PLR0913 - what is asked for, four things that it needs, and what tests replace
    module: ImportableModule,
    request: ImportRequest,
    kinds: KindSettings,
    transport: Transport,
    clients: AwsClients | None,
    *,
    sender: Sender | None = None,
    clock: Clock | None = None,
    identify: Callable[[], Awaitable[str]] | None = None,
) -> list[ImportResult]:
    """What becomes of the resources of one kind. Closes the transport and the clients at the end.

    Raise ApiError if a call to the cluster fails; `identify` is as for `assembled`.
    """
    options = OperatorOptions(
        RuntimeOptions(dry_run=True),
        kinds.common,
        kinds.rates,
        kinds.values,
        (module,),
        signals=False,
        cloudflare_url=kinds.cloudflare_url,
        cloudflare_sender=sender,
    )
    async with assembled(options, transport, clients, clock=clock, host="", identify=identify) as operator:
        try:
            results = await module.import_resources(operator.preview_process(), kinds.values, request)
        except PassError as error:
            clouds = " and ".join(_CLOUD_NAMES[cloud] for cloud in sorted(module.import_clouds))
            raise CommandError(f"nothing can be imported from {clouds}: {error.message}") from error
    return [_checked(result) for result in results]


def _checked(result: ImportResult) -> ImportResult:
    """The result, with a refusal for each manifest that the API server would not accept."""
    refusals = [refusal for body in result.manifests for refusal in _problems(body)]
    return replace(result, refusals=(*result.refusals, *refusals))


def _problems(body: JsonObject) -> Sequence[ImportRefusal]:
    kind = (body["apiVersion"], body["kind"])
    module = next((one for one in MODULES if (one.kind.api_version, one.kind.kind) == kind), None)
    if module is None:
        return ()
    try:
        propose(module, body, None, datetime.now(UTC))
    except Stall as refusal:
        return [ImportRefusal(body["kind"], refusal.message)]
    return ()


for _module in importable(MODULES):
    import_.add_command(_command(_module))
