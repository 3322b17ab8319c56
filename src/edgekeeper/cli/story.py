"""The story that the demo tells once everything is ready: what happens, what it costs, and that nobody had to act.

    drift        somebody edits a tenant in AWS; it is found and repaired
    change       a spec changes; DNS goes first, then the tenant
    deletion     records go, then the tenant is disabled, then deleted

Each chapter is done through the same doors that people use: the AWS API and the Kubernetes API. The calls are counted at
the simulated AWS, so they are all that there were.
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
from edgekeeper.core.json import dig_list
from kubesim.plane.errors import StatusError

TENANTS = "/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/edge/distributiontenants"
SHOP, INTRANET = f"{TENANTS}/shop", f"{TENANTS}/intranet"
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Chapter:
    """Something that happens, and how to see that it has been dealt with."""

    title: str
    begin: Callable[[], Awaitable[str]]
    """Makes it happen, and says what."""
    is_over: Callable[[], Awaitable[str]]
    """What has become of it, in words; empty while it goes on."""


class Story:
    """Tells the chapters, one after the other."""

    def __init__(self, server: LocalServer, simulation: Simulation, console: Console) -> None:
        self._server = server
        self._simulation = simulation
        self._console = console

    async def tell(self) -> None:
        await self._await("tenants come to rest", self._is_quiet)
        self._console.print("\n[bold]And now the story[/]: what an operator is for.\n")
        for number, chapter in enumerate(self._chapters(), start=1):
            await self._tell(number, chapter)

    def _chapters(self) -> tuple[Chapter, ...]:
        return (
            Chapter("Somebody edits a tenant in AWS", self._edit_in_aws, self._is_repaired),
            Chapter("A spec changes", self._change_spec, self._is_rolled_out),
            Chapter("A tenant is deleted", self._delete, self._is_gone),
        )

    async def _tell(self, number: int, chapter: Chapter) -> None:
        before, started = self._calls(), time.monotonic()
        self._console.print(Text(f"{number}. {chapter.title}", "bold"))
        self._say(Text(await chapter.begin(), "yellow"))
        outcome = await self._await(chapter.title.lower(), chapter.is_over)
        seconds = time.monotonic() - started
        self._say(Text.assemble((outcome, "green"), f" after {seconds:.1f} s"))
        self._say(Text(_told(self._calls() - before), "dim"))
        self._console.print()

    def _say(self, text: Text) -> None:
        """Below the title, also where a narrow terminal breaks the line."""
        indented = Text("   ").append_text(text) if self._console.soft_wrap else Padding(text, (0, 0, 0, 3))
        self._console.print(indented)

    async def _await(self, what: str, is_over: Callable[[], Awaitable[str]]) -> str:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not (outcome := await is_over()):  # noqa: ASYNC110 - AWS tells nobody
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as error:
            raise CommandError(f"the story has no end: {what}", "", ExitCode.NOT_READY) from error
        return outcome

    async def _is_quiet(self) -> str:
        """A tenant is ready before its managed certificate is: what that still costs belongs to no chapter."""
        tenants = (await self._server.get(TENANTS))["items"]
        conditions = [one for tenant in tenants for one in dig_list(tenant, "status", "conditions")]
        return "" if any(one["status"] != "True" for one in conditions) else "nothing is left to do"

    def _calls(self) -> Counter[str]:
        return Counter(self._simulation.cloud.journal.counts)

    # Drift

    async def _edit_in_aws(self) -> str:
        self._simulation.cloud.cloudfront.change_tenant("shop", enabled=False)
        self._simulation.cloud.changed()
        return "in the console, somebody switches the tenant shop off"

    async def _is_repaired(self) -> str:
        tenant = self._simulation.cloud.cloudfront.tenant("shop")
        is_ready = assess(await self._server.get(SHOP)).ready
        return "edgekeeper has found it, and switched it on again" if tenant.enabled and is_ready else ""

    # A change

    async def _change_spec(self) -> str:
        domains = [{"domain": "shop.example.com"}, {"domain": "sale.example.com"}]
        await self._server.plane.client.merge(SHOP, {"spec": {"domains": domains}})
        return "kubectl patch: shop gives up store.example.com and gets sale.example.com"

    async def _is_rolled_out(self) -> str:
        tenant = self._simulation.cloud.cloudfront.tenant("shop")
        is_there = sorted(tenant.domains) == ["sale.example.com", "shop.example.com"]
        if not is_there or not assess(await self._server.get(SHOP)).ready:
            return ""
        return "the record of the old domain is gone, the new one leads to CloudFront, the tenant serves it"

    # A deletion

    async def _delete(self) -> str:
        await self._server.plane.client.delete(INTRANET)
        return "kubectl delete: intranet is not needed any more"

    async def _is_gone(self) -> str:
        try:
            await self._server.plane.client.get(INTRANET)
        except StatusError:
            return "disabled, deleted, and nothing is left of it"
        return ""


def _told(calls: Counter[str]) -> str:
    """Calls by operation, the rarest first: those that changed something."""
    changing = {
        name: count for name, count in calls.items() if not name.startswith(("List", "Get", "Describe"))
    }
    reading = sum(calls.values()) - sum(changing.values())
    told = [f"{count} × {name}" for name, count in sorted(changing.items())]
    return f"calls to AWS: {', '.join(told) or 'no change'}, and {reading} reads"
