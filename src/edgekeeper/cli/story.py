"""The scenarios that the demo shows once everything is ready, each with its duration and the calls that it took.

    drift        somebody edits a tenant in AWS; the operator detects and corrects it
    change       a spec changes; DNS records are changed first, then the tenant
    deletion     the tenant is disabled, then deleted
    routes       an HTTPRoute is published, protected, changed and withdrawn at Cloudflare (`cli.story_routes`)
    platform     ten lines become a service with everything around it, and go again (`cli.story_platform`)

Changes are made in the simulated AWS and through the Kubernetes API. Calls are counted by the simulated clouds, so the count
is complete.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from edgekeeper.cli.embedded import LocalServer
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.readiness import assess
from edgekeeper.cli.simulated import Simulation
from edgekeeper.cli.story_platform import PlatformScenes
from edgekeeper.cli.story_routes import RouteScenes
from edgekeeper.core.json import dig_list
from kubesim.plane.errors import StatusError

TENANTS = "/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/edge/distributiontenants"
SHOP, INTRANET = f"{TENANTS}/shop", f"{TENANTS}/intranet"
AWS, CLOUDFLARE = "AWS", "Cloudflare"
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Scenario:
    """One scenario: a change, and how to see that the operator has handled it."""

    title: str
    begin: Callable[[], Awaitable[str]]
    """Makes the change, and returns a description of it."""
    is_over: Callable[[], Awaitable[str]]
    """Returns a description of the outcome; empty while it is in progress."""
    providers: tuple[str, ...] = (AWS,)
    """The clouds whose calls are counted."""


class ScenarioRunner:
    """Runs the scenarios one after the other, and prints what happens."""

    def __init__(self, server: LocalServer, simulation: Simulation, console: Console) -> None:
        self._server = server
        self._simulation = simulation
        self._console = console

    async def run(self) -> None:
        await self._await("tenants come to rest", self._is_quiet)
        scenarios = [*self._scenarios(), *await self._route_scenarios(), *await self._platform_scenarios()]
        self._console.print(
            f"\n[bold]{_words(len(scenarios))}[/]: what happens in the clouds when something changes.\n"
        )
        for number, scenario in enumerate(scenarios, start=1):
            await self._run(number, scenario)

    def _scenarios(self) -> tuple[Scenario, ...]:
        return (
            Scenario("Somebody edits a tenant in AWS", self._edit_in_aws, self._is_repaired),
            Scenario("A spec changes", self._change_spec, self._is_rolled_out),
            Scenario("A tenant is deleted", self._delete, self._is_gone),
        )

    async def _route_scenarios(self) -> tuple[Scenario, ...]:
        """Those about Cloudflare, where there is a tenant."""
        scenes = RouteScenes(self._server, self._simulation.cloudflare)
        if not await scenes.is_possible():
            return ()
        return (
            Scenario("A route is published", scenes.publish, scenes.is_published, (CLOUDFLARE,)),
            Scenario("It is protected", scenes.protect, scenes.is_protected, (CLOUDFLARE,)),
            Scenario("Somebody else is let in", scenes.change, scenes.is_changed, (CLOUDFLARE,)),
            Scenario("It is withdrawn", scenes.withdraw, scenes.is_withdrawn, (CLOUDFLARE,)),
        )

    async def _platform_scenarios(self) -> tuple[Scenario, ...]:
        """Those about the API of a platform, where it was defined."""
        scenes = PlatformScenes(self._server, self._simulation)
        if not await scenes.is_possible():
            return ()
        both = (AWS, CLOUDFLARE)
        return (
            Scenario("A person applies ten lines", scenes.apply, scenes.is_running, both),
            Scenario("The person deletes them", scenes.delete, scenes.is_gone, both),
        )

    async def _run(self, number: int, scenario: Scenario) -> None:
        before, started = {one: self._calls_of(one) for one in scenario.providers}, time.monotonic()
        self._console.print(Text(f"{number}. {scenario.title}", "bold"))
        self._print(Text(await scenario.begin(), "yellow"))
        outcome = await self._await(scenario.title.lower(), scenario.is_over)
        seconds = time.monotonic() - started
        self._print(Text.assemble((outcome, "green"), f" after {seconds:.1f} s"))
        for provider, calls in before.items():
            self._print(Text(_summary(provider, self._calls_of(provider) - calls), "dim"))
        self._console.print()

    def _print(self, text: Text) -> None:
        """Print indented below the title, also if a narrow terminal wraps the line."""
        indented = Text("   ").append_text(text) if self._console.soft_wrap else Padding(text, (0, 0, 0, 3))
        self._console.print(indented)

    async def _await(self, what: str, is_over: Callable[[], Awaitable[str]]) -> str:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not (outcome := await is_over()):  # noqa: ASYNC110 - AWS sends no notifications
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as error:
            raise CommandError(f"timed out: {what}", "", ExitCode.NOT_READY) from error
        return outcome

    async def _is_quiet(self) -> str:
        """Wait for managed certificates too, which are issued after Ready: their calls belong to no scenario."""
        tenants = (await self._server.get(TENANTS))["items"]
        conditions = [entry for tenant in tenants for entry in dig_list(tenant, "status", "conditions")]
        return "" if any(entry["status"] != "True" for entry in conditions) else "nothing is left to do"

    def _calls_of(self, provider: str) -> Counter[str]:
        if provider == CLOUDFLARE:
            return Counter(self._simulation.cloudflare.cloud.journal.counts())
        return self._calls()

    def _calls(self) -> Counter[str]:
        return Counter(self._simulation.cloud.journal.counts)

    # Drift

    async def _edit_in_aws(self) -> str:
        self._simulation.cloud.cloudfront.change_tenant("shop", enabled=False)
        self._simulation.cloud.changed()
        return "the tenant shop is disabled in the AWS console"

    async def _is_repaired(self) -> str:
        tenant = self._simulation.cloud.cloudfront.tenant("shop")
        is_ready = assess(await self._server.get(SHOP)).ready
        return "edgekeeper detected the drift and enabled it again" if tenant.enabled and is_ready else ""

    # A change

    async def _change_spec(self) -> str:
        domains = [{"domain": "shop.example.com"}, {"domain": "sale.example.com"}]
        await self._server.plane.client.merge(SHOP, {"spec": {"domains": domains}})
        return "kubectl patch: in shop, sale.example.com replaces store.example.com"

    async def _is_rolled_out(self) -> str:
        tenant = self._simulation.cloud.cloudfront.tenant("shop")
        is_there = sorted(tenant.domains) == ["sale.example.com", "shop.example.com"]
        if not is_there or not assess(await self._server.get(SHOP)).ready:
            return ""
        return "the old record is removed, the new one points to CloudFront, the tenant serves the new domain"

    # A deletion

    async def _delete(self) -> str:
        await self._server.plane.client.delete(INTRANET)
        return "kubectl delete: the object intranet is deleted"

    async def _is_gone(self) -> str:
        try:
            await self._server.plane.client.get(INTRANET)
        except StatusError:
            return "the tenant is disabled in AWS, then deleted"
        return ""


def _words(count: int) -> str:
    return {3: "Three scenarios", 7: "Seven scenarios", 9: "Nine scenarios"}.get(count, f"{count} scenarios")


def _summary(provider: str, calls: Counter[str]) -> str:
    """The calls that changed something, by operation, and the number of reads."""
    changing = {
        name: count
        for name, count in calls.items()
        if not name.startswith(("List", "Get", "Describe", "GET "))
    }
    reading = sum(calls.values()) - sum(changing.values())
    writes = [f"{count} × {name}" for name, count in sorted(changing.items())]
    read = "1 read" if reading == 1 else f"{reading} reads"
    return f"calls to {provider}: {', '.join(writes) or 'no change'}, and {read}"
