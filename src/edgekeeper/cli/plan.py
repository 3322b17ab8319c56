"""`edgekeeper plan`: what would be done, and why, without doing any of it.

It reads the cluster and AWS as the operator does, and takes the same decisions. Both ways out are in dry run, so that
nothing which changes anything can leave this process.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec
from prometheus_client import CollectorRegistry

from edgekeeper.cli.assembly import OperatorOptions, assembled
from edgekeeper.cli.crds import INSTALL
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.manifest import KUBERNETES_FORM, Manifest, load_manifests
from edgekeeper.cli.plan_output import print_text, render_json
from edgekeeper.cli.proposal import names_of_kind, propose
from edgekeeper.cli.reaching import explain, identify
from edgekeeper.cli.tenant_options import TenantSettings, tenant_options
from edgekeeper.cli.terminal import open_console
from edgekeeper.cloud.aws.clients import AwsClients, AwsConfigError
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.preview import preview_tenants
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import ApiError, ForbiddenError, NotFoundError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.preview import Preview, Verdict
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.options import RuntimeOptions

_PLANNED_CODES = {
    Verdict.REFUSED: ExitCode.FAILED,
    Verdict.FAILED: ExitCode.FAILED,
    Verdict.CHANGES: ExitCode.CHANGES,
}


@dataclass(frozen=True)
class Question:
    """What is to be planned."""

    names: tuple[str, ...] = ()
    """Objects of the cluster; all, where neither names nor manifests are given."""
    manifests: tuple[Manifest, ...] = ()
    namespace: str = ""
    """Where names and manifests are that do not say it."""
    only_there: bool = False
    """Of all objects those of the namespace only."""


@click.command(
    cls=Command,
    usage_code=ExitCode.FAILED,
    examples=[
        ("edgekeeper plan", "every object of the cluster"),
        ("edgekeeper plan dt/shop -n edge", "one of them"),
        ("edgekeeper plan -f shop.yaml", "what would come of a manifest"),
        ("edgekeeper plan -o json", "for machines"),
    ],
)
@click.argument("targets", nargs=-1, metavar="[KIND/NAME]...")
@click.option(
    "-f",
    "--filename",
    "paths",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="PATH",
    help="Plan for manifests that are not applied yet: a file, or a directory of them. Repeatable.",
)
@click.option("-n", "--namespace", metavar="NAME", help="Where objects are.  [default: the context's; all]")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The form of the answer.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Ask the cluster of this kubeconfig.  [default: $KUBECONFIG, the cluster around us, ~/.kube/config]",
)
@click.option("--context", metavar="NAME", help="Use this context of the kubeconfig.")
@tenant_options
def plan(  # noqa: PLR0913 - one parameter per option
    *,
    targets: tuple[str, ...],
    paths: tuple[Path, ...],
    namespace: str | None,
    output: str,
    kubeconfig: Path | None,
    context: str | None,
    tenants: TenantSettings,
) -> int:
    """Show what would be done, and change nothing.

    Every step is shown with its reason, and field by field. The cluster and AWS are read as `edgekeeper run` reads them; give it the same options. The exit code is 0 where
    nothing is to be changed, 2 where something is, and 1 where something must be fixed first or could not be found out.
    """
    if targets and paths:
        raise click.UsageError("name objects, or give manifests with -f, but not both")
    names = tuple(map(_name_of, targets))
    manifests = tuple(load_manifests(paths))
    if paths and not manifests:
        raise CommandError(f"nothing is declared in {', '.join(map(str, paths))}", KUBERNETES_FORM)
    configure(level="error")
    try:
        cluster = load_config(kubeconfig, context)
        clients = AwsClients(tenants.aws)
    except (ConfigError, AwsConfigError) as error:
        raise CommandError(str(error)) from error
    question = Question(names, manifests, namespace or cluster.namespace, bool(namespace))
    previews = asyncio.run(_answer(question, tenants, cluster, clients))
    if output == "json":
        click.echo(render_json(previews))
    else:
        print_text(previews, open_console(sys.stdout))
    return exit_code(previews)


def _name_of(target: str) -> str:
    kind, separator, name = target.partition("/")
    if not separator or not name or kind.lower() not in names_of_kind():
        raise click.UsageError(f"{target!r} is not KIND/NAME, such as dt/shop or DistributionTenant/shop")
    return name


def exit_code(previews: Sequence[Preview]) -> ExitCode:
    """The gravest of all objects': what must be fixed, then what is pending."""
    found = {_PLANNED_CODES.get(preview.verdict, ExitCode.OK) for preview in previews}
    return next((code for code in (ExitCode.FAILED, ExitCode.CHANGES) if code in found), ExitCode.OK)


async def _answer(
    question: Question, tenants: TenantSettings, cluster: ClusterConfig, clients: AwsClients
) -> list[Preview]:
    transport = HttpTransport(cluster)
    try:
        return await answer(
            question,
            tenants,
            transport,
            clients,
            identify=lambda: identify(transport, cluster, tenants.tenants.cluster),
        )
    except ApiError as error:
        raise explain(error, cluster) from error


async def answer(
    question: Question,
    tenants: TenantSettings,
    transport: Transport,
    clients: AwsClients,
    *,
    identify: Callable[[], Awaitable[str]] | None = None,
) -> list[Preview]:
    """Everything that was asked about, in the order of its names. Both ways out are closed in the end.

    Raise ApiError where the cluster refuses; `identify` is as for `assembled`.
    """
    options = OperatorOptions(RuntimeOptions(dry_run=True), tenants.tenants, tenants.rates, signals=False)
    try:
        async with assembled(options, transport, clients, host="", identify=identify) as operator:
            live = await _list(operator.client, question)
            objects, refused = _proposed(question, live)
            keys = _chosen(question, live, objects)
            # Its own view of AWS: the operator's would wake passes, and there are none.
            account = Account(operator.access, operator.services.clock, CloudMetrics(CollectorRegistry()))
            previews: list[Preview] = []
            if keys:
                await clients.confirm()
                previews = await preview_tenants(account, operator.options.tenants, objects.values(), keys)
    except AwsConfigError as error:
        raise CommandError(str(error)) from error
    except PassError as error:
        raise CommandError(f"AWS cannot be used: {error.message}") from error
    return sorted([*refused, *previews], key=lambda preview: preview.key)


async def _list(client: KubeClient, question: Question) -> dict[Key, JsonObject]:
    """All objects of the cluster, or of the namespace where we may not see the others."""
    try:
        return await _list_within(client, "")
    except ForbiddenError:
        return await _list_within(client, question.namespace)
    except NotFoundError as error:
        if question.manifests:
            return {}
        raise CommandError(f"the cluster knows no {KIND.qualified_plural}", INSTALL) from error


async def _list_within(client: KubeClient, namespace: str) -> dict[Key, JsonObject]:
    listed: dict[Key, JsonObject] = {}
    async for page in client.pages(KIND, namespace=namespace):
        for raw in page.items:
            obj: JsonObject = msgspec.json.decode(raw)
            listed[Key(obj["metadata"]["namespace"], obj["metadata"]["name"])] = obj
    return listed


def _proposed(question: Question, live: dict[Key, JsonObject]) -> tuple[dict[Key, JsonObject], list[Preview]]:
    """The objects as they would be with the manifests applied, and those manifests that would be refused."""
    objects, refused = dict(live), []
    for number, (key, manifest) in enumerate(_planned(question).items()):
        # They would be created one after the other, and of two that claim the same the elder has it.
        moment = datetime.now(UTC) + timedelta(seconds=number)
        written = {**manifest.body, "metadata": {**manifest.body["metadata"], "namespace": key.namespace}}
        try:
            objects[key] = propose(written, live.get(key), moment)
        except Stall as refusal:
            refused.append(Preview.refused(KIND.kind, key, refusal))
    return objects, refused


def _planned(question: Question) -> dict[Key, Manifest]:
    """The manifests of kinds that we keep. Others may stand beside them."""
    ours = {
        Key(manifest.namespace or question.namespace, manifest.name): manifest
        for manifest in question.manifests
        if (manifest.api_version, manifest.kind) == (KIND.api_version, KIND.kind)
    }
    if question.manifests and not ours:
        raise CommandError(f"there is no {KIND.kind} of {KIND.api_version} among the manifests")
    elsewhere = next(
        (key for key in ours if question.only_there and key.namespace != question.namespace), None
    )
    if elsewhere is not None:
        raise CommandError(f"{KIND.kind} {elsewhere} is not in {question.namespace}", "leave -n out")
    return ours


def _chosen(question: Question, live: dict[Key, JsonObject], objects: dict[Key, JsonObject]) -> list[Key]:
    if question.manifests:
        return [key for key in _planned(question) if key in objects and objects[key] is not live.get(key)]
    if not question.names:
        return [key for key in live if not question.only_there or key.namespace == question.namespace]
    keys = [Key(question.namespace, name) for name in question.names]
    for key in keys:
        if key not in live:
            raise _missing(key, live)
    return keys


def _missing(key: Key, live: dict[Key, JsonObject]) -> CommandError:
    namesakes = sorted(f"-n {other.namespace}" for other in live if other.name == key.name)
    remedy = f"there is one with {' and '.join(namesakes)}" if namesakes else "without a name all are planned"
    return CommandError(f"there is no {KIND.kind} {key}", remedy)
