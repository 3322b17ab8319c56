"""What `edgekeeper up` does once its command line is understood.

start  →  write the kubeconfig  →  apply, follow until ready  →  tell how to use it  →  stay, or leave (--wait)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.text import Text

from edgekeeper import __version__
from edgekeeper.cli import kubeconfig
from edgekeeper.cli.applying import Applier
from edgekeeper.cli.embedded import LocalServer, PlaneOptions, open_server
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.manifest import Manifest
from edgekeeper.cli.progress import show_progress
from edgekeeper.cli.stopping import StopRequest, stop_on_signals
from edgekeeper.core.json import dig


@dataclass(frozen=True)
class UpSettings:
    """Everything `edgekeeper up` was told."""

    plane: PlaneOptions
    kubeconfig: Path
    manifests: Sequence[Manifest]
    wait: bool
    timeout: timedelta


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
    console.print("Use it from another terminal while it runs:\n")
    for command in commands:
        console.print(Text(f"  {command}", "cyan"))
    console.print()


async def stay(settings: UpSettings, stop: StopRequest, console: Console) -> None:
    if settings.wait:
        console.print("Stopping now, as --wait asks.")
        return
    console.print("Ctrl-C stops the server.")
    number = await stop.wait()
    console.print(f"Stopped by {number.name}.")


def _short(path: Path) -> str:
    """Absolute, because kubectl may run anywhere; short, because people read it."""
    absolute = path.absolute()
    home = Path.home()
    return f"~/{absolute.relative_to(home)}" if absolute.is_relative_to(home) else str(absolute)
