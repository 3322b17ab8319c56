"""Run `edgekeeper up` after its command line was parsed.

start  →  write the kubeconfig  →  apply, wait until ready  →  print how to use it  →  serve until stopped, or exit (--wait)
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from edgekeeper import __version__
from edgekeeper.cli.applying import Applier
from edgekeeper.cli.embedded import LocalServer, PlaneOptions, open_server
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.kubeconfig import kubeconfig_file
from edgekeeper.cli.manifest import Manifest
from edgekeeper.cli.progress import show_progress
from edgekeeper.cli.stopping import StopRequest, stop_on_signals
from edgekeeper.core.duration import format_duration
from edgekeeper.core.json import dig
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.options import LogOptions, RuntimeOptions

if TYPE_CHECKING:
    from edgekeeper.cli.kind_options import KindSettings
    from edgekeeper.cli.simulated import Simulation

_PLAIN = re.compile(r"[\w@%+=:,./ -]+", re.ASCII).fullmatch
"""Matches text without characters that are special to a shell within double quotes."""


@dataclass(frozen=True)
class UpSettings:
    """All settings of `edgekeeper up`."""

    plane: PlaneOptions
    kubeconfig: Path | None
    """Where to write the kubeconfig; None for the default path."""
    manifests: Sequence[Manifest]
    wait: bool
    timeout: timedelta
    controllers: bool = True
    """Whether to start the simulated clouds and the operator."""
    operator: bool = True
    """Whether to start the operator besides the clouds."""
    endpoints: Path | None = None
    """Where to write the addresses of all servers when they are ready."""
    runtime: RuntimeOptions | None = None
    kinds: KindSettings | None = None
    deploy_time: timedelta = timedelta(seconds=5)
    story: bool = False


async def serve(settings: UpSettings, console: Console, *, interactive: bool) -> ExitCode:
    """Run the servers, apply the manifests, then serve until stopped."""
    started = time.monotonic()
    with stop_on_signals() as stop, ExitStack() as stack:
        async with open_server(settings.plane) as server:
            with kubeconfig_file(settings.kubeconfig, settings.plane.data_dir, server.kubeconfig) as path:
                console.print(f"edgekeeper {__version__} serves Kubernetes at [bold]{server.url}[/]")
                async with clouds(server, settings, console) as simulation:
                    stack.enter_context(endpoints_file(settings.endpoints, path, server.url, simulation))
                    if settings.manifests:
                        await stop.unless_stopped(apply_manifests(server, settings, console, interactive))
                        console.print(
                            f"[green]Everything is ready[/] after {time.monotonic() - started:.1f} s."
                        )
                    if settings.story and simulation is not None:
                        await stop.unless_stopped(run_scenarios(server, simulation, console))
                    if not settings.wait:
                        explain_use(settings, path, console, simulation)
                    await stay(settings, stop, console)
    return ExitCode.OK


@asynccontextmanager
async def clouds(
    server: LocalServer, settings: UpSettings, console: Console
) -> AsyncIterator[Simulation | None]:
    """Run the simulated clouds and the operator; None if the settings exclude them."""
    if not settings.controllers:
        yield None
        return
    # Imported here, because importing the AWS SDK takes a second and the API server does not need it.
    from edgekeeper.cli.kind_options import KindSettings  # noqa: PLC0415
    from edgekeeper.cli.simulated import SILENT, SimulationOptions, simulating  # noqa: PLC0415

    log = settings.runtime.log if settings.runtime else LogOptions()
    configure(format=log.format, color=log.color, level=log.level or "warning")
    options = SimulationOptions(
        settings.deploy_time,
        data_dir=settings.plane.data_dir,
        operator=settings.operator,
        runtime=settings.runtime or RuntimeOptions(server=SILENT),
        kinds=settings.kinds or KindSettings(),
    )
    async with simulating(server, options) as simulation:
        console.print(f"A simulated AWS is at [bold]{simulation.url}[/]")
        console.print(f"A simulated Cloudflare is at [bold]{simulation.cloudflare.url}[/]")
        if simulation.page_url:
            console.print("The status page is at", Text(simulation.page_url, "bold"), soft_wrap=True)
        yield simulation


@contextmanager
def endpoints_file(
    path: Path | None, kubeconfig: Path, kubernetes: str, simulation: Simulation | None
) -> Iterator[None]:
    """Write the addresses of all servers as JSON, and remove the file at the end."""
    if path is None:
        yield
        return
    endpoints = {"kubeconfig": str(kubeconfig.absolute()), "kubernetes": kubernetes}
    if simulation is not None:
        endpoints |= {"aws": simulation.url, "cloudflare": simulation.cloudflare.url}
        if simulation.page_url:
            endpoints["page"] = simulation.page_url
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(0o600)  # the link to the status page has its token
    draft.write_text(f"{json.dumps(endpoints, indent=2)}\n")
    draft.replace(path)  # atomic: a reader never sees an incomplete file
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def run_scenarios(server: LocalServer, simulation: Simulation, console: Console) -> None:
    from edgekeeper.cli.story import ScenarioRunner  # noqa: PLC0415 - as above

    await ScenarioRunner(server, simulation, console).run()


async def apply_manifests(
    server: LocalServer, settings: UpSettings, console: Console, interactive: bool
) -> None:
    """Apply the manifests and wait until they are ready; with `--wait`, at most for `--timeout`."""
    with show_progress(console, interactive=interactive) as observe:
        applier = Applier(server, settings.manifests, observe)
        try:
            async with asyncio.timeout(settings.timeout.total_seconds() if settings.wait else None):
                await applier.run()
        except TimeoutError as error:
            late = ", ".join(str(item) for item in applier.tracked if not item.readiness.ready)
            raise CommandError(
                f"not ready after {format_duration(settings.timeout)}: {late}",
                "increase --timeout to wait longer",
                ExitCode.NOT_READY,
            ) from error


def explain_use(settings: UpSettings, path: Path, console: Console, simulation: Simulation | None) -> None:
    """Print the link to the status page, and commands for kubectl and the AWS CLI. Lines are not wrapped, so that they can be pasted."""
    if simulation is not None and simulation.page_url:
        console.print("Look at it in a browser:\n")
        console.print(Text(f"  {simulation.page_url}\n", "cyan"), soft_wrap=True)
    console.print("Use it from another terminal while it runs:\n")
    for command in _commands(settings, path, simulation):
        console.print(Text(f"  {command}" if command else "", "cyan"), soft_wrap=True)
    console.print()


def _commands(settings: UpSettings, path: Path, aws: Simulation | None) -> list[str]:
    """Shell commands to use the cluster and, if it runs, the simulated AWS."""
    plurals = [
        dig(manifest.body, "spec", "names", "plural")
        for manifest in settings.manifests
        if manifest.kind == "CustomResourceDefinition"
    ]
    ours = ["edge"] if aws else []
    kinds = ",".join(["all", *ours, *filter(None, plurals)])
    what = f"{kinds} --all-namespaces" if settings.manifests else "namespaces"
    cluster = [f"export KUBECONFIG={_quoted(path)}", f"kubectl get {what}"]
    if aws is None:
        return cluster
    return [
        *cluster,
        "",
        f"export AWS_ENDPOINT_URL={aws.url} AWS_DEFAULT_REGION={aws.region}",
        "export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any",
        "aws --endpoint-url $AWS_ENDPOINT_URL cloudfront list-distribution-tenants",
    ]


async def stay(settings: UpSettings, stop: StopRequest, console: Console) -> None:
    if settings.wait:
        console.print("Stopping now because of --wait; without it the server keeps running.")
        return
    console.print("Ctrl-C stops the server.")
    number = await stop.wait()
    console.print(f"Stopped by {number.name}.")


def _quoted(path: Path) -> str:
    """The absolute path, quoted for a shell, and relative to $HOME if it is below."""
    absolute, home = path.absolute(), Path.home()
    if absolute.is_relative_to(home) and absolute != home:
        below = str(absolute.relative_to(home))
        if _PLAIN(below):
            return f'"$HOME/{below}"'
    return shlex.quote(str(absolute))
