"""The platform APIs on `edgekeeper up`: what the README of the examples says a newcomer does."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from edgekeeper.cli.applying import Applier
from edgekeeper.cli.embedded import PlaneOptions, open_server
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.cli.simulated import SimulationOptions, simulating
from edgekeeper.core.json import dig

EXAMPLES = Path(__file__).parents[3] / "examples"
APPLIED = ("zero-trust/10-tenant.yaml", "platform", "platform/instances")
HURRIED = SimulationOptions(
    deploy_time=timedelta(milliseconds=50),
    poll_interval=timedelta(milliseconds=100),
    drift_interval=timedelta(milliseconds=500),
)
INSTANCES = "/apis/kro.run/v1alpha1/namespaces/apps"


def test_readme_says_what_is_applied_here() -> None:
    command = " ".join(("edgekeeper up", *(f"--apply examples/{one}" for one in APPLIED)))
    assert command in (EXAMPLES / "platform" / "README.md").read_text()


async def test_examples_of_the_platform_become_ready_on_the_embedded_server() -> None:
    manifests = load_manifests([EXAMPLES / one for one in APPLIED])
    async with open_server(PlaneOptions()) as server, simulating(server, HURRIED) as simulation:
        async with asyncio.timeout(120):
            await Applier(server, manifests, lambda _: None).run()
        for plural, name in (
            ("tubilambdaservices", "checkout"),
            ("tubiservices", "handbook"),
            ("tubipostgres", "ledger"),
        ):
            found = await server.get(f"{INSTANCES}/{plural}/{name}")
            assert dig(found, "status", "state") == "ACTIVE"
        gateway = simulation.cloud.account().apigateway(simulation.region)
        assert [one.name for one in gateway.domains.values()] == ["checkout.example.com"]
