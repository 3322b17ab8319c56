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

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.status_page import add_status_page, journal_of
from edgekeeper.core.json import dig
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.kube.kinds import NAMESPACE, Key
from edgekeeper.lifecycle.module import CommonOptions, kind_of
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
from tests.unit.diagnosis.explained import domain, permission, route, tenant

TENANT = f"cloudfront-tenant-operator.io/DistributionTenant/{APPS}"
ROUTE = f"gateway.networking.k8s.io/HTTPRoute/{APPS}/web"
WANTED = "resource deployment of the graph wants it"
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
async def showing(**values: Any) -> AsyncIterator[Shown]:
    """An operator at work, with values of flags."""
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset({"workloads"}), gateway_api=True, now=clock.now)
    async with Plane(config) as plane:
        world = World(plane, clock)
        await _furnish(world)
        options = OperatorOptions(
            RuntimeOptions(server=UNHEARD),
            CommonOptions("blue", HOME, pod_name="pod-1"),
            values=values,
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
async def test_route_shows_its_drift_field_by_field_and_what_it_has() -> None:
    async with showing() as shown:
        obj = route("web", accessApp="true", allowEmails="ada@example.com")
        obj["metadata"]["annotations"]["edgekeeper.io/drift-policy"] = "report"
        await shown.world.apply(obj)
        await shown.world.until(lambda: shown.world.cloudflare.account.applications)
        await shown.world.elapse(minutes=1)
        calm = await shown.page("object", ROUTE)
        assert calm["row"]["state"] == "ready"
        account, (application,) = shown.world.cloudflare.account, shown.world.cloudflare.account.applications
        found = {one["kind"]: one["url"] for one in calm["resources"]}
        base = f"https://dash.cloudflare.com/{account.id}"
        assert found["Cloudflare tunnel"] == f"{base}/tunnels"
        assert (
            found["Access application"] == f"{base}/one/access-controls/apps/self-hosted/{application}/edit"
        )
        assert found["DNS record"] == "https://dash.cloudflare.com/?to=/:account/:zone/dns/records"
        account.applications[application] |= {"session_duration": "1h"}
        await shown.world.elapse(minutes=15)
        drifted = await shown.page("object", ROUTE)
        fields = [{"path": "session_duration", "before": '"1h"', "after": '"24h"'}]
        assert (drifted["row"]["state"], drifted["drift"]["fields"]) == ("drifted", fields)
        plan = await shown.page("plan", ROUTE)
        assert (plan["verdict"], plan["drift"]) == ("Drifted", fields)


@virtual_time
async def test_bridge_shows_its_drift_field_by_field() -> None:
    report = {"edgekeeper.io/drift-policy": "report"}
    async with showing() as shown:
        world = shown.world
        allowed = permission("shop", {"functionName": "shop"})
        world.aws.certificates.add_issued("api.example.com")
        named = domain("api", {"apiId": world.aws.api})
        for obj in (allowed, named):
            obj["metadata"]["annotations"] = report
            await world.apply(obj)
        await world.until(lambda: world.aws.statements() and list(world.aws.gateway.domains.values()))
        await world.elapse(minutes=2)
        world.aws.statements().clear()
        world.aws.lose_record("api.example.com.")
        await world.elapse(minutes=20)
        found = {}
        for kind, name in (("LambdaPermission", "shop"), ("APIGatewayDomain", "api")):
            page = await shown.page("object", f"*/{kind}/{APPS}/{name}")
            assert page["row"]["state"] == "drifted", page["row"]
            found[kind] = [one["path"] for one in page["drift"]["fields"]]
            plan = await shown.page("plan", page["row"]["id"])
            assert (plan["verdict"], plan["drift"]) == ("Drifted", page["drift"]["fields"])
        assert found == {
            "LambdaPermission": ["statements[api]"],
            "APIGatewayDomain": ["dns[CNAME api.example.com]"],
        }


@virtual_time
async def test_plans_leave_the_operator_at_work() -> None:
    async with showing() as shown:
        await shown.world.apply(route("web"))
        await shown.world.apply(tenant("docs", "docs.example.com"))
        await shown.ready("docs")
        watches = [one.stale_since for one in shown.operator.services.informers]
        for planned in (ROUTE, f"*/CloudflareZeroTrustTenant/{APPS}/main", f"{TENANT}/docs"):
            await shown.page("plan", planned)
            assert [one.stale_since for one in shown.operator.services.informers] == watches, planned
        await shown.world.apply(tenant("shop", "shop.example.com"))
        await shown.ready("shop")


@virtual_time
async def test_timeline_of_a_route_has_what_its_task_did() -> None:
    async with showing() as shown:
        await shown.world.apply(route("web", accessApp="true", allowEmails="ada@example.com"))
        await shown.world.until(lambda: shown.world.cloudflare.zone.records)
        await shown.world.elapse(minutes=1)
        told = (await shown.page("object", ROUTE))["timeline"]
        first, *rest = reversed(told)
        assert (first["what"], first["who"], first["generation"]) == (
            "created",
            "kubectl apply --server-side",
            1,
        )
        steps = {one["what"]: one["who"] for one in rest}
        assert steps["queue a task to publish web.example.com"] == "httproute controller"
        assert steps["create Access application for web.example.com"] == "cloudflaretask controller"
        batches = [one for one in rest if one["who"] == "a batch writer"]
        assert batches
        assert {tuple(subject) for one in batches for subject in one["subjects"]} == {
            ("HTTPRoute", APPS, "web")
        }
        assert all(one["steps"][0]["why"] == "the changes of 1 object, in one call" for one in batches)


@virtual_time
async def test_change_names_who_made_it() -> None:
    async with showing() as shown:
        world = shown.world
        await world.apply(tenant("shop", "shop.example.com"))
        await shown.ready("shop")
        kind, key = kind_of(DISTRIBUTION_TENANT), Key(APPS, "shop")
        await world.user.merge_patch(
            kind, key, {"metadata": {"annotations": {"edgekeeper.io/paused": "true"}}}
        )
        fields = {"spec": {"enabled": False}}
        await world.elapse(seconds=2)
        await world.user.apply(kind, key, fields, manager="argocd-controller", force=True)
        await world.elapse(seconds=2)
        told = (await shown.page("object", f"{TENANT}/shop"))["timeline"]
        people = [one for one in told if not one["who"].endswith("controller") and "batch" not in one["who"]]
        assert [(one["what"], one["who"]) for one in people] == [
            ("spec changed", "Argo CD"),
            ("annotations changed", "edgekeeper"),
            ("created", "kubectl apply --server-side"),
        ]
        assert people[0]["generation"] == 2
        assert people[1]["steps"][0]["fields"] == [
            {"path": "annotations[edgekeeper.io/paused]", "after": '"true"'}
        ]
        writer = await shown.page("writer", f"{TENANT}/shop")
        assert writer["who"] == "Argo CD"
        assert writer["at"]


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
        assert [one.get("objects") for one in nodes if one["id"] == "deployment"] == [None]
        picture = await shown.page("picture", SERVICE)
        assert picture.startswith("<svg")
        assert "<script" not in picture


@virtual_time
async def test_instance_shows_what_was_done_and_its_plan() -> None:
    async with showing() as shown:
        world = shown.world
        for body in definitions():
            if body["spec"]["schema"]["kind"] == "TubiService":
                await world.define(body)
        await world.apply(instance("TubiService", "wiki", image="wiki:1"))
        await world.active("TubiService", "wiki")
        await world.elapse(seconds=3)
        found = await shown.page("object", SERVICE)
        assert found["plannable"]
        steps = [step for one in found["timeline"] for step in one.get("steps", ())]
        assert {"what": f"create Deployment {APPS}/wiki", "why": WANTED} in steps
        assert (await shown.page("plan", SERVICE))["verdict"] == "Settled"


@pytest.mark.parametrize("is_watched", [False, True], ids=["allowed namespaces", "watched namespaces"])
@virtual_time
async def test_plan_and_graph_of_an_instance_obey_the_limits_of_the_operator(is_watched: bool) -> None:
    values: dict[str, Any] = {} if is_watched else {"composition_allowed_namespaces": (APPS,)}
    elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    schema = {"apiVersion": "v1alpha1", "kind": "Note", "spec": {}}
    resources = [{"id": "config", "template": elsewhere}]
    note = f"kro.run/Note/{APPS}/a"
    async with showing(**values) as shown:
        if is_watched:
            shown.operator.manager.set_namespaces((APPS, HOME))
        await shown.world.define(
            {"metadata": {"name": "notes"}, "spec": {"schema": schema, "resources": resources}}
        )
        await shown.world.apply(instance("Note", "a"))
        await shown.world.elapse(seconds=10)
        plan = await shown.page("plan", note)
        assert (plan["verdict"], plan["cause"]) == ("Refused", "NamespaceNotPermitted")
        (node,) = (await shown.page("graph", note))["nodes"]
        assert node["state"] == "Failed"
        assert "namespace default" in node["message"]


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
