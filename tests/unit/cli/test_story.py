"""The demo, faster than people would like it: the quickstart becomes ready, and the story is told to its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from edgekeeper.cli import story
from edgekeeper.cli.applying import Applier
from edgekeeper.cli.embedded import PlaneOptions, open_server
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.cli.simulated import SimulationOptions, simulating
from edgekeeper.cli.story import Scenario, ScenarioRunner
from edgekeeper.cli.story_platform import service

EXAMPLES = Path(__file__).parents[3] / "examples"
QUICKSTART = EXAMPLES / "quickstart"
HURRIED = SimulationOptions(
    deploy_time=timedelta(milliseconds=50),
    poll_interval=timedelta(milliseconds=100),
    drift_interval=timedelta(milliseconds=300),
)


async def test_story_of_the_quickstart_is_told_to_its_end() -> None:
    told = StringIO()
    async with open_server(PlaneOptions()) as server, simulating(server, HURRIED) as simulation:
        async with asyncio.timeout(60):
            await Applier(server, load_manifests([QUICKSTART]), lambda _: None).run()
        await ScenarioRunner(server, simulation, Console(file=told, width=80)).run()
        cloudfront, route53 = simulation.cloud.cloudfront, simulation.cloud.route53
        assert sorted(one.name for one in cloudfront.tenants.values()) == ["docs", "shop"]
        assert cloudfront.tenant("shop").enabled
        names = {record.name.rstrip(".") for record in route53.zone("Z0EXAMPLE").records.values()}
        assert {"shop.example.com", "sale.example.com"} <= names
        assert "store.example.com" not in names
    shown = [line for line in told.getvalue().splitlines() if line.strip()]
    assert all(line.startswith(("   ", "Three scenarios", "1. ", "2. ", "3. ")) for line in shown)
    lines = [line.strip() for line in shown]
    assert [line for line in lines if line[:2] in {"1.", "2.", "3."}] == [
        "1. Somebody edits a tenant in AWS",
        "2. A spec changes",
        "3. A tenant is deleted",
    ]
    repair = next(line for line in lines if line.startswith("calls to AWS"))
    assert repair.startswith("calls to AWS: 1 × UpdateDistributionTenant, and ")


async def test_story_of_a_route_is_told_with_what_happened_at_cloudflare() -> None:
    told = StringIO()
    async with open_server(PlaneOptions()) as server, simulating(server, HURRIED) as simulation:
        async with asyncio.timeout(60):
            await Applier(
                server, load_manifests([EXAMPLES / "zero-trust" / "10-tenant.yaml"]), lambda _: None
            ).run()

        class Routes(ScenarioRunner):
            def _scenarios(self) -> tuple[Scenario, ...]:
                return ()

        await Routes(server, simulation, Console(file=told, width=200)).run()
    text = told.getvalue()
    titles = [line for line in text.splitlines() if line[:2] in {"1.", "2.", "3.", "4."}]
    assert titles == [
        "1. A route is published",
        "2. It is protected",
        "3. Somebody else is let in",
        "4. It is withdrawn",
    ]
    assert "1 × PUT /accounts/{account}/access/apps/{application}/policies/{policy}, and" in text
    assert "application and policy have kept their ids" in text
    assert "DNS record, tunnel rule and application are gone" in text


async def test_story_of_ten_lines_is_told_with_what_is_in_both_clouds() -> None:
    told = StringIO()
    tenant, definition = (
        EXAMPLES / "zero-trust" / "10-tenant.yaml",
        EXAMPLES / "platform" / "tubi-service.yaml",
    )
    async with open_server(PlaneOptions()) as server, simulating(server, HURRIED) as simulation:
        async with asyncio.timeout(60):
            await Applier(server, load_manifests([tenant, definition]), lambda _: None).run()

        class Platform(ScenarioRunner):
            def _scenarios(self) -> tuple[Scenario, ...]:
                return ()

            async def _route_scenarios(self) -> tuple[Scenario, ...]:
                return ()

        await Platform(server, simulation, Console(file=told, width=300)).run()
        assert not list(simulation.cloud.cloudfront.tenants.values())
    text = told.getvalue()
    titles = [line for line in text.splitlines() if line[:2] in {"1.", "2.", "3."}]
    assert titles == ["1. A person applies ten lines", "2. The person deletes them"]
    assert "1 × CreateDistributionTenant" in text
    assert "1 × POST /accounts/{account}/access/apps" in text
    assert "nothing is left in either cloud" in text


def test_what_the_person_applies_takes_ten_lines() -> None:
    assert len(yaml.safe_dump(service(), default_flow_style=None, width=120).splitlines()) <= 10


async def test_scenario_without_an_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "PATIENCE_SECONDS", 0.01)

    async def begin() -> str:
        return "nothing happens"

    async def is_over() -> str:
        return ""

    class Endless(ScenarioRunner):
        def _scenarios(self) -> tuple[Scenario, ...]:
            return (Scenario("Waiting", begin, is_over),)

        async def _route_scenarios(self) -> tuple[Scenario, ...]:
            return ()

        async def _platform_scenarios(self) -> tuple[Scenario, ...]:
            return ()

        def _calls(self) -> Counter[str]:
            return Counter()

        async def _is_quiet(self) -> str:
            return "nothing is left to do"

    async with open_server(PlaneOptions()) as server:
        with pytest.raises(CommandError, match="timed out: waiting") as failure:
            await Endless(server, None, Console(file=StringIO())).run()  # type: ignore[arg-type] # not looked at
    assert failure.value.code is ExitCode.NOT_READY
