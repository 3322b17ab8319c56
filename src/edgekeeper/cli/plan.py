"""`edgekeeper plan`: show what the operator would do, and why, without doing it.

It reads the cluster and the clouds as the operator does, and makes the same decisions. All clients are in dry-run mode and
refuse every call that would change something.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgekeeper.cli.assembly import OperatorOptions, assembled
from edgekeeper.cli.crds import INSTALL
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.kind_options import KindSettings, kind_options
from edgekeeper.cli.kinds import module_of, plannable
from edgekeeper.cli.manifest import KUBERNETES_FORM, load_manifests
from edgekeeper.cli.plan_instances import InstancePlanner, list_objects
from edgekeeper.cli.plan_output import print_text, render_json
from edgekeeper.cli.plan_request import PlanRequest
from edgekeeper.cli.proposal import propose
from edgekeeper.cli.reaching import explain, identify
from edgekeeper.cli.terminal import open_console
from edgekeeper.cloud.aws.settings import AwsConfigError
from edgekeeper.controllers.composition.module import DefinitionModule, composition_options
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import ApiError, ForbiddenError, NotFoundError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.module import Cloud, FlagValues, PlannableModule, Process
from edgekeeper.lifecycle.preview import Preview, Verdict
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.options import RuntimeOptions

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients

_PLANNED_CODES = {
    Verdict.REFUSED: ExitCode.FAILED,
    Verdict.FAILED: ExitCode.FAILED,
    Verdict.CHANGES: ExitCode.CHANGES,
}
_CLOUD_NAMES = {Cloud.AWS: "AWS", Cloud.CLOUDFLARE: "Cloudflare"}


@click.command(
    cls=Command,
    usage_code=ExitCode.FAILED,
    examples=[
        ("edgekeeper plan", "every object of the cluster"),
        ("edgekeeper plan dt/shop -n edge", "one of them"),
        ("edgekeeper plan webapp/shop", "an instance of a composed kind"),
        ("edgekeeper plan -f shop.yaml", "a manifest that is not applied yet, of these kinds too"),
        ("edgekeeper plan -o json", "as JSON, for scripts"),
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
@click.option(
    "-n", "--namespace", metavar="NAME", help="The namespace of objects.  [default: the context's; all]"
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The output format.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Use the cluster of this kubeconfig.  [default: $KUBECONFIG, the pod's cluster, ~/.kube/config]",
)
@click.option("--context", metavar="NAME", help="Use this context of the kubeconfig.")
@kind_options
def plan(  # noqa: PLR0913 - one parameter per option
    *,
    targets: tuple[str, ...],
    paths: tuple[Path, ...],
    namespace: str | None,
    output: str,
    kubeconfig: Path | None,
    context: str | None,
    kinds: KindSettings,
) -> int:
    """Show what would be done, and change nothing.

    Every step is shown with its reason and the fields that it changes. Cluster and clouds are read as `edgekeeper run`
    reads them; give it the same options. The exit code is 0 if nothing is to be changed, 2 if something is, and 1 if
    something must be fixed first or could not be read.
    """
    if targets and paths:
        raise click.UsageError("name objects, or give manifests with -f, but not both")
    named, instances = _targets_of(targets)
    manifests = tuple(load_manifests(paths))
    if paths and not manifests:
        raise CommandError(f"nothing is declared in {', '.join(map(str, paths))}", KUBERNETES_FORM)
    configure(level="error")
    try:
        cluster = load_config(kubeconfig, context)
        clients = kinds.aws_clients()
    except (ConfigError, AwsConfigError) as error:
        raise CommandError(str(error)) from error
    request = PlanRequest(named, manifests, namespace or cluster.namespace, bool(namespace), instances)
    own_namespace = kinds.operator_namespace or cluster.namespace
    kinds = replace(kinds, common=replace(kinds.common, namespace=own_namespace))
    previews = asyncio.run(_answer(request, kinds, cluster, clients))
    if output == "json":
        click.echo(render_json(previews))
    else:
        print_text(previews, open_console(sys.stdout))
    return exit_code(previews)


def _targets_of(
    targets: Sequence[str],
) -> tuple[tuple[tuple[PlannableModule, str], ...], tuple[tuple[str, str], ...]]:
    """Objects of our kinds, and of others, which definitions of the cluster may define."""
    named: list[tuple[PlannableModule, str]] = []
    others: list[tuple[str, str]] = []
    for target in targets:
        kind, _, name = target.partition("/")
        if not kind or not name:
            raise click.UsageError(f"{target!r} is not KIND/NAME, such as dt/shop or DistributionTenant/shop")
        module = module_of(kind)
        if module is not None:
            named.append((module, name))
        else:
            others.append((kind, name))
    return tuple(named), tuple(others)


def exit_code(previews: Sequence[Preview]) -> ExitCode:
    """The exit code for all previews: failures take precedence over pending changes."""
    codes = {_PLANNED_CODES.get(preview.verdict, ExitCode.OK) for preview in previews}
    return next((code for code in (ExitCode.FAILED, ExitCode.CHANGES) if code in codes), ExitCode.OK)


async def _answer(
    request: PlanRequest, kinds: KindSettings, cluster: ClusterConfig, clients: AwsClients | None
) -> list[Preview]:
    transport = HttpTransport(cluster)
    try:
        return await answer(
            request,
            kinds,
            transport,
            clients,
            identify=lambda: identify(transport, cluster, kinds.common.cluster),
        )
    except ApiError as error:
        raise explain(error, cluster) from error


async def answer(
    request: PlanRequest,
    kinds: KindSettings,
    transport: Transport,
    clients: AwsClients | None,
    *,
    identify: Callable[[], Awaitable[str]] | None = None,
) -> list[Preview]:
    """Preview the requested objects, sorted by kind and name. Closes the transport and the clients at the end.

    Raise ApiError if a call to the cluster fails; `identify` is as for `assembled`.
    """
    runtime = RuntimeOptions(dry_run=True)
    options = OperatorOptions(
        runtime,
        kinds.common,
        kinds.rates,
        kinds.values,
        kinds.modules,
        kinds.role,
        signals=False,
        cloudflare_url=kinds.cloudflare_url,
    )
    try:
        async with assembled(options, transport, clients, host="", identify=identify) as operator:
            process = operator.preview_process()
            drafts = await _drafts(request, kinds, operator.client)
            if clients is not None and any(
                draft.keys and Cloud.AWS in draft.module.clouds for draft in drafts
            ):
                await clients.confirm()
            previews = [
                preview
                for draft in drafts
                for preview in (*draft.refused, *await _previews(draft, process, kinds.values))
            ]
            if request.instances or (_has_compositions(kinds) and not request.targets):
                planner = InstancePlanner(operator.services, composition_options(kinds.common, kinds.values))
                previews += await planner.previews(request)
            if request.manifests and not (drafts or previews):
                raise _unknown(plannable(kinds.modules))
    except AwsConfigError as error:
        raise CommandError(str(error)) from error
    return sorted(previews, key=lambda preview: (preview.kind, preview.key))


def _has_compositions(kinds: KindSettings) -> bool:
    return any(isinstance(module, DefinitionModule) for module in kinds.modules)


@dataclass(frozen=True)
class _Draft:
    """All objects of one kind with the manifests applied, and the keys of those to preview."""

    module: PlannableModule
    objects: dict[Key, JsonObject]
    keys: list[Key]
    refused: list[Preview]


def _requested_modules(request: PlanRequest, kinds: KindSettings) -> Iterator[PlannableModule]:
    """The kinds of the targets or manifests; all kinds if there are neither."""
    named = {module.name for module, _ in request.targets}
    for module in plannable(kinds.modules):
        if (request.targets or request.instances) and module.name not in named:
            continue
        if request.manifests and not request.manifests_of(module.kind):
            continue
        yield module


def _unknown(modules: Sequence[PlannableModule]) -> CommandError:
    """The error if no manifest is of a kind that is planned for. Manifests of other kinds are ignored beside such ones."""
    names = ", ".join(f"{module.kind.kind} of {module.kind.api_version}" for module in modules)
    return CommandError(
        f"there is no {names} among the manifests, and no instance of a kind that the cluster defines"
    )


async def _previews(draft: _Draft, process: Process, values: FlagValues) -> list[Preview]:
    """The previews of one kind. Raise CommandError if a cloud of it cannot be used."""
    if not draft.keys:
        return []
    try:
        return await draft.module.preview(process, values, draft.objects.values(), draft.keys)
    except PassError as error:
        clouds = " or ".join(_CLOUD_NAMES[cloud] for cloud in sorted(draft.module.clouds)) or "the cluster"
        raise CommandError(f"{clouds} cannot be used: {error.message}") from error


async def _drafts(request: PlanRequest, kinds: KindSettings, client: KubeClient) -> list[_Draft]:
    """A draft for each kind in request. Kinds that the cluster does not serve are left out, unless they are asked for.

    Raise CommandError if no kind is left, and there are no compositions either.
    """
    drafts: list[_Draft] = []
    missing: list[Kind] = []
    for module in _requested_modules(request, kinds):
        try:
            live = await _list(module, client, request)
        except NotFoundError:
            missing.append(module.kind)
            live = {}
            if not request.manifests:
                continue
        objects, refused = _proposed(module, request, live)
        drafts.append(_Draft(module, objects, _chosen(module, request, live, objects), refused))
    is_nothing = not (drafts or request.instances)
    if missing and (request.targets or (is_nothing and not await _has_definitions(kinds, client))):
        raise CommandError(f"the cluster does not serve {missing[0].qualified_plural}", INSTALL)
    return drafts


async def _has_definitions(kinds: KindSettings, client: KubeClient) -> bool:
    """Whether compositions are planned for, and definitions of them can be listed."""
    if not _has_compositions(kinds):
        return False
    try:
        async for _ in client.pages(DEFINITION_KIND, metadata_only=True):
            break
    except (NotFoundError, ForbiddenError):
        return False
    return True


async def _list(module: PlannableModule, client: KubeClient, request: PlanRequest) -> dict[Key, JsonObject]:
    """All objects of the cluster, or only those of the namespace if RBAC denies listing all."""
    try:
        return await list_objects(client, module.kind, "")
    except ForbiddenError:
        return await list_objects(client, module.kind, request.namespace)


def _proposed(
    module: PlannableModule, request: PlanRequest, live: dict[Key, JsonObject]
) -> tuple[dict[Key, JsonObject], list[Preview]]:
    """The objects with the manifests applied, and a preview for each manifest that the server would refuse."""
    objects, refused = dict(live), []
    for number, (key, manifest) in enumerate(request.manifests_of(module.kind).items()):
        # Manifests are created one after the other, and of two objects with the same claim the older one wins.
        moment = datetime.now(UTC) + timedelta(seconds=number)
        written = {**manifest.body, "metadata": {**manifest.body["metadata"], "namespace": key.namespace}}
        try:
            objects[key] = propose(module, written, live.get(key), moment)
        except Stall as refusal:
            refused.append(Preview.refused(module.kind.kind, key, refusal))
    return objects, refused


def _chosen(
    module: PlannableModule, request: PlanRequest, live: dict[Key, JsonObject], objects: dict[Key, JsonObject]
) -> list[Key]:
    if request.manifests:
        planned = request.manifests_of(module.kind)
        return [key for key in planned if key in objects and objects[key] is not live.get(key)]
    if not request.targets:
        return [key for key in live if not request.only_namespace or key.namespace == request.namespace]
    keys = [Key(request.namespace, name) for target, name in request.targets if target is module]
    for key in keys:
        if key not in live:
            raise _missing(module, key, live)
    return keys


def _missing(module: PlannableModule, key: Key, live: dict[Key, JsonObject]) -> CommandError:
    namesakes = sorted(f"-n {other.namespace}" for other in live if other.name == key.name)
    remedy = f"there is one with {' and '.join(namesakes)}" if namesakes else "without a name all are planned"
    return CommandError(f"there is no {module.kind.kind} {key}", remedy)
