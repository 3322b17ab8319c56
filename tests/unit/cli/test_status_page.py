"""The status page of an operator at work, in virtual time: what it shows is what is there."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.status_page import add_status_page, journal_of
from edgekeeper.core.json import dig
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.kube.kinds import NAMESPACE
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.options import RuntimeOptions
from edgekeeper.web.access import LinkGate, ReviewGate
from edgekeeper.web.journal import Journal
from edgekeeper.web.server import StatusPage
from edgekeeper.web.site import Site
from kubesim.ack.controller import acting
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, virtual_time
from tests.bridge.estate import REGION
from tests.platform.world import APPS, HOME, UNHEARD, World, _furnish, definitions, instance
from tests.unit.diagnosis.explained import route, tenant

TENANT = f"cloudfront-tenant-operator.io/DistributionTenant/{APPS}"
SERVICE = f"kro.run/TubiService/{APPS}/wiki"


class Shown:
    """A world with an operator that has a status page."""

    def __init__(self, world: World, operator: Operator, site: Site) -> None:
        self.world = world
        self.operator = operator
        self._site = site

    async def page(self, name: str, path: str = "", **query: str) -> Any:
        """A page as a browser reads it."""
        answer = await getattr(self._site, name)(path, query)
        return answer if isinstance(answer, str) else msgspec.json.decode(msgspec.json.encode(answer))

    async def ready(self, name: str) -> None:
        def is_ready() -> bool:
            obj = self.world.find("DistributionTenant", name)
            conditions = dig(obj, "status", "conditions") or []
            return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

        await self.world.until(is_ready)
        await self.world.elapse(seconds=2)


@asynccontextmanager
async def showing() -> AsyncIterator[Shown]:
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset({"workloads"}), gateway_api=True, now=clock.now)
    async with Plane(config) as plane:
        world = World(plane, clock)
        await _furnish(world)
        options = OperatorOptions(
            RuntimeOptions(server=UNHEARD),
            CommonOptions("blue", HOME, pod_name="pod-1"),
            signals=False,
            cloudflare_url="https://cloudflare.test/client/v4",
            cloudflare_sender=world.cloudflare.send,
        )
        clients = world.aws.clients()
        journal = journal_of(NO_TRACES, clock)
        operator = Operator(options, InProcessTransport(plane), clients, clock, "plane", journal)
        page = add_status_page(operator)
        async with acting(plane, world.aws.cloud, REGION) as world.ack:
            tasks = [asyncio.create_task(one) for one in (operator.manager.run(), page.run())]
            try:
                await world.elapse(seconds=2)
                yield Shown(world, operator, page.site)
            finally:
                operator.manager.stop()
                await tasks[0]
                tasks[1].cancel()
                await asyncio.gather(tasks[1], return_exceptions=True)
                await clients.close()


@virtual_time
async def test_page_shows_what_was_created_and_how() -> None:
    async with showing() as shown:
        await shown.world.apply(tenant("shop", "shop.example.com"))
        await shown.ready("shop")
        found = await shown.page("object", f"{TENANT}/shop")
        assert found["row"]["state"] == "ready"
        assert found["resources"][0]["id"].startswith("dt_")
        assert found["resources"][0]["url"].startswith("https://console.aws.amazon.com/cloudfront/")
        told = [one["what"] for one in found["timeline"]]
        assert told[-1] == "created"
        assert "create tenant shop" in told
        creation = next(one for one in found["timeline"] if one["what"] == "create tenant shop")
        assert {
            "target": "cloudfront",
            "operation": "CreateDistributionTenant",
            "count": 1,
            "writes": True,
        } in creation["calls"]
        assert found["nextPass"] > 0


@virtual_time
async def test_page_shows_drift_field_by_field_and_the_plan() -> None:
    async with showing() as shown:
        obj = tenant("shop", "shop.example.com")
        obj["metadata"]["annotations"] = {"edgekeeper.io/drift-policy": "report"}
        await shown.world.apply(obj)
        await shown.ready("shop")
        calm = await shown.page("plan", f"{TENANT}/shop")
        assert calm["verdict"] == "Settled"
        cloud = shown.world.aws.cloud
        cloud.cloudfront.change_tenant("shop", enabled=False)
        cloud.changed()
        await shown.world.elapse(minutes=6)
        found = await shown.page("object", f"{TENANT}/shop")
        assert found["row"]["state"] == "drifted"
        assert found["drift"]["fields"] == [{"path": "enabled", "before": "false", "after": "true"}]
        plan = await shown.page("plan", f"{TENANT}/shop")
        assert (plan["verdict"], plan["drift"]) == ("Drifted", found["drift"]["fields"])
        assert cloud.cloudfront.tenant("shop").enabled is False


@virtual_time
async def test_page_shows_no_secret() -> None:
    async with showing() as shown:
        await shown.world.apply(
            route("api", accessApp="true", serviceToken="true", allowEmails="ada@example.com")
        )
        await shown.world.until(lambda: len(secrets_of(shown.world)) > 1)
        await shown.world.elapse(minutes=1)
        listed = (await shown.page("objects", size="200"))["items"]
        assert {"HTTPRoute", "CloudflareZeroTrustTenant"} <= {one["kind"] for one in listed}
        pages = [await shown.page("overview"), await shown.page("changes")]
        pages += [await shown.page("object", one["id"]) for one in listed]
        pages.append(await shown.page("plan", f"gateway.networking.k8s.io/HTTPRoute/{APPS}/api"))
        text = repr(pages)
        assert [one for one in secrets_of(shown.world) if one in text] == []


def secrets_of(world: World) -> list[str]:
    """All values in Secrets that are long enough to be secret, but for ids."""
    found = [
        b64decode(value).decode()
        for secret in world.all("Secret")
        for key, value in (secret.get("data") or {}).items()
        if key != "client_id"
    ]
    return [one for one in found if len(one) > 8]


@virtual_time
async def test_page_draws_instances_with_live_states() -> None:
    async with showing() as shown:
        for body in definitions():
            if body["spec"]["schema"]["kind"] == "TubiService":
                await shown.world.define(body)
        await shown.world.apply(instance("TubiService", "wiki", image="wiki:1"))
        await shown.world.active("TubiService", "wiki")
        await shown.world.elapse(seconds=3)
        found = await shown.page("object", SERVICE)
        assert (found["row"]["state"], found["hasGraph"]) == ("ready", True)
        nodes = (await shown.page("graph", SERVICE))["nodes"]
        assert {"Ready", "Excluded"} >= {one["state"] for one in nodes}
        picture = await shown.page("picture", SERVICE)
        assert picture.startswith("<svg")
        assert "<script" not in picture


@pytest.mark.parametrize(("link", "gate"), [("", ReviewGate), ("link-token", LinkGate)])
async def test_process_has_the_page_that_its_options_ask_for(link: str, gate: type) -> None:
    async with Plane(PlaneConfig()) as plane:
        address = Address("127.0.0.1", 0)
        runtime = RuntimeOptions(server=replace(UNHEARD, web_address=address))
        options = OperatorOptions(
            runtime, CommonOptions("blue", HOME), modules=(), signals=False, link_token=link
        )
        async with assembled(options, InProcessTransport(plane), None, host="plane") as operator:
            page = operator.server.page
            assert isinstance(page, StatusPage)
            assert isinstance(page.gate, gate)
            assert isinstance(operator.services.tracer, Journal)
        plain = replace(options, runtime=RuntimeOptions(server=UNHEARD))
        async with assembled(plain, InProcessTransport(plane), None, host="plane") as operator:
            assert operator.server.page is None
            assert operator.services.tracer is NO_TRACES


@virtual_time
async def test_previews_cannot_write() -> None:
    async with showing() as shown:
        process = shown.operator.preview_process()
        with pytest.raises(RuntimeError, match="a preview writes nothing"):
            await process.services.client.create(NAMESPACE, {"metadata": {"name": "new"}})
        assert process.aws.access.transport.dry_run
