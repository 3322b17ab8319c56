"""`edgekeeper up`: a Kubernetes API server on this machine, filled with manifests if you like.

    read the manifests  →  start  →  write the kubeconfig  →  apply, follow until ready  →  stay, or leave (--wait)

Nothing is started, written or replaced before everything on the command line has been found good.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from edgekeeper import __version__
from edgekeeper.cli import kubeconfig
from edgekeeper.cli.applying import Applier
from edgekeeper.cli.duration import Duration
from edgekeeper.cli.embedded import SIMULATOR_NAMES, LocalServer, PlaneOptions, open_server
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.manifest import Manifest, load_manifests
from edgekeeper.cli.progress import show_progress
from edgekeeper.cli.stopping import StopRequest, stop_on_signals
from edgekeeper.cli.terminal import is_interactive, open_console
from edgekeeper.core.json import dig

PATH = click.Path(path_type=Path)


@dataclass(frozen=True)
class UpSettings:
    """Everything `edgekeeper up` was told."""

    plane: PlaneOptions
    kubeconfig: Path
    manifests: Sequence[Manifest]
    wait: bool
    timeout: timedelta


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper up", "stay until Ctrl-C; forget everything then"),
        ("edgekeeper up --data-dir ./state --port 6443", "keep the objects over restarts"),
        ("edgekeeper up --apply crds/ --apply site.yaml", "apply manifests first, in this order"),
        ("edgekeeper up --apply site.yaml --wait", "leave as soon as all of it is ready"),
        ("edgekeeper up --simulate workloads", "only Deployments and the like come alive by themselves"),
    ],
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Listen here; 0 takes any free port.",
    show_default=True,
)
@click.option(
    "--data-dir", type=PATH, help="Keep all objects in this directory; without it they live in memory."
)
@click.option(
    "--kubeconfig",
    "kubeconfig_path",
    type=PATH,
    help="Where to write the kubeconfig.  [default: in the data directory, else in the user's state directory]",
)
@click.option(
    "--apply",
    "apply_paths",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="PATH",
    help="Apply a manifest, or all of a directory; may be given again.",
)
@click.option("--wait", is_flag=True, help="Leave as soon as everything applied is ready.")
@click.option("--timeout", type=Duration(), default="60s", show_default=True, help="How long --wait waits.")
@click.option(
    "--simulate",
    "simulated",
    type=click.Choice(SIMULATOR_NAMES),
    multiple=True,
    help="Run this simulator only; may be given again.  [default: all]",
)
@click.option("--no-simulators", is_flag=True, help="Let nothing come alive by itself.")
@click.option("--auth", is_flag=True, help="Ask for credentials, and allow what RBAC allows.")
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
    auth: bool,
) -> int:
    """Start a Kubernetes API server that needs no cluster.

    It speaks the real protocol over HTTPS on the loopback interface, so kubectl and controllers work with it. Small
    simulators make Deployments available, give load balancers an address and complete Jobs.
    """
    if no_simulators and simulated:
        raise click.UsageError("--simulate and --no-simulators exclude each other")
    chosen = frozenset(simulated or (() if no_simulators else SIMULATOR_NAMES))
    settings = UpSettings(
        plane=PlaneOptions(port, data_dir, chosen, auth),
        kubeconfig=kubeconfig_path or kubeconfig.default_path(data_dir),
        manifests=load_manifests(apply_paths),
        wait=wait,
        timeout=timeout,
    )
    kubeconfig.ensure_replaceable(settings.kubeconfig)
    return asyncio.run(serve(settings, open_console(sys.stdout), interactive=is_interactive(sys.stdout)))


async def serve(settings: UpSettings, console: Console, *, interactive: bool) -> ExitCode:
    """Run the server, first for the manifests, then for as long as nobody stops it."""
    started = time.monotonic()
    with stop_on_signals() as stop:
        async with open_server(settings.plane) as server:
            with kubeconfig_file(settings, server.kubeconfig):
                console.print(f"edgekeeper {__version__} serves Kubernetes at [bold]{server.url}[/]")
                if settings.manifests:
                    await stop.unless_stopped(apply_manifests(server, settings, console, interactive))
                    console.print(f"[green]Everything is ready[/] after {time.monotonic() - started:.1f} s.")
                explain_use(settings, console)
                await stay(settings, stop, console)
    return ExitCode.OK


@contextmanager
def kubeconfig_file(settings: UpSettings, text: str) -> Iterator[None]:
    """Write the kubeconfig for as long as it is of use: for good beside data that stays, else until we stop."""
    kubeconfig.write_kubeconfig(settings.kubeconfig, text)
    try:
        yield
    finally:
        if settings.plane.data_dir is None:
            kubeconfig.remove_kubeconfig(settings.kubeconfig, text)


async def apply_manifests(
    server: LocalServer, settings: UpSettings, console: Console, interactive: bool
) -> None:
    """Apply and follow; with `--wait` somebody depends on an end, so then patience is limited."""
    with show_progress(console, interactive=interactive) as observe:
        applier = Applier(server, settings.manifests, observe)
        try:
            async with asyncio.timeout(settings.timeout.total_seconds() if settings.wait else None):
                await applier.run()
        except TimeoutError as error:
            late = ", ".join(str(item) for item in applier.tracked if not item.readiness.ready)
            raise CommandError(
                f"not ready after {settings.timeout.total_seconds():g} s: {late}",
                "--timeout waits longer",
                ExitCode.NOT_READY,
            ) from error


def explain_use(settings: UpSettings, console: Console) -> None:
    """Tell how to go on with kubectl, from what was applied."""
    commands = [f"export KUBECONFIG={_short(settings.kubeconfig)}", "kubectl get namespaces"]
    plurals = [
        dig(manifest.body, "spec", "names", "plural")
        for manifest in settings.manifests
        if manifest.kind == "CustomResourceDefinition"
    ]
    if settings.manifests:
        commands[1] = f"kubectl get {','.join(['all', *filter(None, plurals)])} --all-namespaces"
    console.print("Use it from another terminal:\n")
    for command in commands:
        console.print(Text(f"  {command}", "cyan"))
    console.print()


async def stay(settings: UpSettings, stop: StopRequest, console: Console) -> None:
    if settings.wait:
        console.print("Stopping now, as --wait asks; leave it out to keep the server.")
        return
    console.print("Ctrl-C stops the server.")
    number = await stop.wait()
    console.print(f"Stopped by {number.name}.")


def _short(path: Path) -> str:
    """Absolute, because kubectl may run anywhere; short, because people read it."""
    absolute = path.absolute()
    home = Path.home()
    return f"~/{absolute.relative_to(home)}" if absolute.is_relative_to(home) else str(absolute)
