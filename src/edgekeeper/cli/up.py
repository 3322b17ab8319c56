"""`edgekeeper up`: a local Kubernetes API server with simulated clouds and the operator.

This module parses and validates the whole command line before anything is started or written; `serving` does the work.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import click

from edgekeeper.cli.duration import Duration
from edgekeeper.cli.embedded import SIMULATOR_NAMES, PlaneOptions
from edgekeeper.cli.help import Command
from edgekeeper.cli.kind_options import KindSettings, kind_options
from edgekeeper.cli.kubeconfig import InUseError, default_path, ensure_replaceable
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.cli.operator_options import embedded_operator_options
from edgekeeper.cli.serving import UpSettings, serve
from edgekeeper.cli.terminal import is_interactive, open_console
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.cloudflare.client import BASE_URL
from edgekeeper.runtime.options import RuntimeOptions

PATH = click.Path(path_type=Path)


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper up", "run until Ctrl-C, in memory only"),
        ("edgekeeper up --data-dir ./state", "keep all data over restarts"),
        ("edgekeeper up --apply crds/ --apply a.yaml", "apply manifests first"),
        ("edgekeeper up --apply a.yaml --wait", "exit when all is ready"),
        ("edgekeeper up --no-operator --endpoints e.json", "clouds and cluster for an operator elsewhere"),
    ],
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="PORT",
    help="Listen here; 0 takes any free port.",
)
@click.option(
    "--data-dir",
    type=PATH,
    metavar="DIR",
    help="Keep all objects and the simulated AWS there.  [default: in memory only]",
)
@click.option(
    "--kubeconfig",
    "kubeconfig_path",
    type=PATH,
    metavar="FILE",
    help="Write the kubeconfig there.  [default: in the data directory, or the user's state directory]",
)
@click.option(
    "--apply",
    "apply_paths",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="PATH",
    help="Apply a manifest, or a directory of them. Repeatable.",
)
@click.option("--wait", is_flag=True, help="Exit when everything applied is ready.")
@click.option("--timeout", type=Duration(), default="60s", show_default=True, help="How long --wait waits.")
@click.option(
    "--simulate",
    "simulated",
    type=click.Choice(SIMULATOR_NAMES),
    multiple=True,
    metavar="NAME",
    help=f"Run only this simulator: {', '.join(SIMULATOR_NAMES)}. Repeatable.  [default: all]",
)
@click.option(
    "--no-simulators", is_flag=True, help="Run no simulators of workloads, load balancers and Jobs."
)
@click.option("--no-controllers", is_flag=True, help="Start neither the simulated clouds nor the operator.")
@click.option(
    "--no-operator",
    is_flag=True,
    help="Start the simulated clouds, but not the operator: `edgekeeper run` may run elsewhere.",
)
@click.option(
    "--endpoints",
    "endpoints_path",
    type=PATH,
    metavar="FILE",
    help="Write the addresses of all servers there, as JSON, when they are ready; removed at the end.",
)
@click.option(
    "--deploy-time",
    type=Duration(),
    default="3s",
    show_default=True,
    help="How long deployments and propagation take in the simulated clouds.",
)
@click.option(
    "--story",
    is_flag=True,
    help="Show drift, a change and a deletion with the objects of examples/quickstart, a route of examples/zero-trust, and"
    " a service of examples/platform.",
)
@click.option("--auth", is_flag=True, help="Require credentials, and enforce RBAC.")
@embedded_operator_options
@kind_options
def up(  # noqa: PLR0913 - one parameter per option
    *,
    port: int,
    data_dir: Path | None,
    kubeconfig_path: Path | None,
    apply_paths: tuple[Path, ...],
    wait: bool,
    timeout: timedelta,
    simulated: tuple[str, ...],
    no_simulators: bool,
    no_controllers: bool,
    no_operator: bool,
    endpoints_path: Path | None,
    deploy_time: timedelta,
    story: bool,
    auth: bool,
    options: RuntimeOptions,
    kinds: KindSettings,
) -> int:
    """Start a cluster, clouds and the operator on this machine.

    The Kubernetes API server speaks the real protocol over HTTPS on the loopback interface, so kubectl and controllers
    work with it; the simulated clouds speak theirs, so the AWS CLI does. Small simulators make Deployments available,
    give load balancers an address and complete Jobs.
    """
    if no_simulators and simulated:
        raise click.UsageError("--simulate and --no-simulators exclude each other")
    if kinds.aws != AwsSettings():
        raise click.UsageError("--aws-region and --aws-endpoint-url are for a real AWS: `up` has its own")
    if kinds.cloudflare_url != BASE_URL:
        raise click.UsageError("--cloudflare-api-base is for a real Cloudflare: `up` has its own")
    chosen = frozenset(simulated or (() if no_simulators else SIMULATOR_NAMES))
    settings = UpSettings(
        plane=PlaneOptions(port, data_dir, chosen, auth),
        kubeconfig=kubeconfig_path,
        manifests=load_manifests(apply_paths),
        wait=wait,
        timeout=timeout,
        controllers=not no_controllers,
        operator=not no_operator,
        endpoints=endpoints_path,
        runtime=options,
        kinds=kinds,
        deploy_time=deploy_time,
        story=story,
    )
    if kubeconfig_path:
        ensure_replaceable(kubeconfig_path)
    elif data_dir:
        with suppress(InUseError):  # so is the directory, which says so itself when it is opened
            ensure_replaceable(default_path(data_dir))
    return asyncio.run(serve(settings, open_console(sys.stdout), interactive=is_interactive(sys.stdout)))
