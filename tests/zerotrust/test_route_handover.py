"""A hostname that goes from one route to another: nobody removes what the other has made, and nobody waits for ever.

Routes differ in their origin and in who may pass, so that every call can be judged: wherever a hostname leads, the policy in
front of it is that of the route whose origin it leads to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from edgekeeper.controllers.zerotrust.route_index import TASK, TEMPLATE
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from edgekeeper.kube.transport import ApiRequest, ApiStream
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport
from kubesim.virtual import run_virtual, virtual_time
from tests.zerotrust.acceptance_world import APPS, AcceptanceWorld, operating, route, template
from tests.zerotrust.route_world import KEY, World, tenant, world
from tests.zerotrust.route_world import route as plain_route

A, B, C = "a.example.com", "b.example.com", "c.example.com"
EXTRA = "x.example.com"


def protected(name: str, *hostnames: str, **annotations: str) -> JsonObject:
    """A route with an origin of its own, for one person of its own."""
    return route(
        name,
        hostname=",".join(hostnames),
        originService=f"http://{name}.internal",
        access__enabled="true",
        access__allowEmails=f"{name}@example.com",
        **annotations,
    )


def watch_policies(here: AcceptanceWorld) -> None:
    """Judge every call: whom does the application in front of a hostname let in, and where does the hostname lead?"""
    look = here.estate.look

    def judge(call: str) -> None:
        look(call)
        for rule in here.estate.rules():
            hostname, owner = rule["hostname"], rule["service"].removeprefix("http://").split(".")[0]
            if here.estate.leads(hostname) and f"{owner}@example.com" not in allowed(here, hostname):
                here.estate.wrongs.append(f"after {call}: {hostname} leads to {owner} past its policy")

    here.estate.guarded |= {A, B, C, EXTRA}
    here.estate.look = judge  # type: ignore[method-assign]


def allowed(here: AcceptanceWorld, hostname: str) -> list[str]:
    """Who may pass the application of a hostname."""
    return [
        rule["email"]["email"]
        for application in here.account.applications.values()
        if hostname in {application["domain"], *application["self_hosted_domains"]}
        for one in application["policies"]
        for rule in here.account.policies[one["id"]]["include"]
        if "email" in rule
    ]


def leads_to(here: AcceptanceWorld, hostname: str) -> str:
    """Which route's origin a hostname leads to; empty where it leads nowhere."""
    rule = here.rule(hostname)
    return rule["service"].removeprefix("http://").split(".")[0] if rule and here.records(hostname) else ""


async def withdrawn(here: AcceptanceWorld, *names: str) -> None:
    """Delete routes, and make sure that nothing is left of them."""
    for name in names:
        await here.delete(name)
    await here.gone(*names)
    await here.until(lambda: not here.all(TASK) and not here.states())
    assert (here.account.applications, here.account.service_tokens, here.records()) == ({}, {}, [])
    assert [rule for rule in here.rules() if "hostname" in rule] == []


async def in_order(first: Awaitable[None], second: Awaitable[None], pause: float) -> None:
    await first
    if pause:
        await asyncio.sleep(pause)
    await second


ORDERS = [(claims_first, pause) for claims_first in (False, True) for pause in (0.0, 0.3, 2.0)]


@pytest.mark.parametrize(("claims_first", "pause"), ORDERS)
@pytest.mark.parametrize("leaving", ["renamed", "disabled", "deleted"])
@pytest.mark.parametrize("heir", ["older", "younger"])
def test_hostname_goes_to_another_route_once_it_is_released(
    leaving: str, heir: str, claims_first: bool, pause: float
) -> None:
    async def scenario() -> None:
        async with operating() as here:
            watch_policies(here)
            names = ("b", "a") if heir == "older" else ("a", "b")
            for name in names:
                await here.create(protected(name, A if name == "a" else B))
                await asyncio.sleep(1)
            await here.ready("a", "b")
            leave: dict[str, Callable[[], Awaitable[None]]] = {
                "renamed": lambda: here.annotate("a", hostname=C),
                "disabled": lambda: here.annotate("a", enabled="false"),
                "deleted": lambda: here.delete("a"),
            }
            claim = here.annotate("b", hostname=A)
            if claims_first:
                await in_order(claim, leave[leaving](), pause)
            else:
                await in_order(leave[leaving](), claim, pause)
            await here.until(lambda: leads_to(here, A) == "b")
            await here.ready("b")
            assert allowed(here, A) == ["b@example.com"]
            assert leads_to(here, B) == ""
            assert leads_to(here, C) == ("a" if leaving == "renamed" else "")
            await here.elapse(minutes=10)
            assert leads_to(here, A) == "b"
            await withdrawn(here, *({"b"} if leaving == "deleted" else {"a", "b"}))

    run_virtual(scenario)


@pytest.mark.parametrize("pause", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("first", ["a", "b"])
def test_routes_that_swap_their_hostnames_do_not_wait_for_each_other(first: str, pause: float) -> None:
    async def scenario() -> None:
        async with operating() as here:
            watch_policies(here)
            await here.create(protected("a", A), protected("b", B))
            await here.ready("a", "b")
            swaps = {"a": here.annotate("a", hostname=B), "b": here.annotate("b", hostname=A)}
            await in_order(swaps.pop(first), swaps.popitem()[1], pause)
            await here.until(lambda: (leads_to(here, A), leads_to(here, B)) == ("b", "a"), minutes=3)
            await here.ready("a", "b")
            await withdrawn(here, "a", "b")

    run_virtual(scenario)


@virtual_time
async def test_three_routes_that_pass_their_hostnames_on_all_get_theirs() -> None:
    async with operating() as here:
        watch_policies(here)
        await here.create(protected("a", A), protected("b", B), protected("c", C))
        await here.ready("a", "b", "c")
        for name, hostname in (("a", B), ("b", C), ("c", A)):
            await here.annotate(name, hostname=hostname)
        await here.until(lambda: [leads_to(here, one) for one in (A, B, C)] == ["c", "a", "b"], minutes=5)
        await here.ready("a", "b", "c")
        await withdrawn(here, "a", "b", "c")


@virtual_time
async def test_route_that_swaps_one_of_its_hostnames_keeps_the_others_reachable() -> None:
    async with operating() as here:
        watch_policies(here)
        await here.create(protected("a", A, EXTRA), protected("b", B))
        await here.ready("a", "b")
        interruptions: list[str] = []
        judge = here.estate.look

        def look(call: str) -> None:
            judge(call)
            if leads_to(here, EXTRA) != "a":
                interruptions.append(call)

        here.estate.look = look  # type: ignore[method-assign]
        await here.annotate("a", hostname=f"{B},{EXTRA}")
        await here.annotate("b", hostname=A)
        await here.until(lambda: (leads_to(here, A), leads_to(here, B)) == ("b", "a"), minutes=3)
        await here.ready("a", "b")
        assert interruptions == []
        here.estate.look = judge  # type: ignore[method-assign]
        await withdrawn(here, "a", "b")


@virtual_time
async def test_route_keeps_its_hostname_until_it_gets_the_new_one_where_nobody_else_asks_for_the_old() -> (
    None
):
    async with operating() as here:
        watch_policies(here)
        await here.create(protected("a", A), protected("b", B))
        await here.ready("a", "b")
        await here.annotate("a", hostname=B)
        assert "served by default/b" in await here.says("DomainConflict", "a")
        await here.elapse(minutes=10)
        assert leads_to(here, A) == "a"
        await here.annotate("b", hostname=C)
        await here.until(lambda: leads_to(here, B) == "a")
        await here.ready("a", "b")
        assert leads_to(here, A) == ""


@virtual_time
async def test_swap_keeps_service_tokens_and_their_secrets() -> None:
    async with operating() as here:
        watch_policies(here)
        for name, hostname in (("a", A), ("b", B)):
            await here.create(protected(name, hostname, serviceToken="true"))
        await here.ready("a", "b")
        tokens = sorted(token["id"] for token in here.tokens())
        secrets = [here.secret(f"{name}-cfzt-service-token") for name in ("a", "b")]
        await here.annotate("a", hostname=B)
        await here.annotate("b", hostname=A)
        await here.until(lambda: (leads_to(here, A), leads_to(here, B)) == ("b", "a"), minutes=3)
        await here.ready("a", "b")
        assert sorted(token["id"] for token in here.tokens()) == tokens
        assert [here.secret(f"{name}-cfzt-service-token") for name in ("a", "b")] == secrets
        await withdrawn(here, "a", "b")


@virtual_time
async def test_swap_removes_no_protection_that_nobody_has_switched_off() -> None:
    access = {"enabled": True, "allowEmails": ["a@example.com"]}
    async with operating() as here:
        watch_policies(here)
        await here.create(template("guard", accessApplication=access), protected("b", B))
        await here.create(route("a", hostname=A, originService="http://a.internal", template="guard"))
        await here.ready("a", "b")
        await here.user.merge_patch(TEMPLATE, Key(APPS, "guard"), {"spec": {"accessApplication": None}})
        await here.annotate("a", hostname=B)
        await here.annotate("b", hostname=A)
        assert "false" in await here.says("ProtectionRemoved", "a")
        await here.until(lambda: leads_to(here, A) == "b", minutes=3)
        await here.elapse(minutes=10)
        assert (leads_to(here, A), leads_to(here, B)) == ("b", "")
        await withdrawn(here, "a", "b")


# The order of tasks


HOST = "shop.web.example.com"
OTHER = Key("other", "shop")


async def held_back(cluster: World, message: str) -> None:
    assert await cluster.says("DomainConflict", OTHER) == message
    assert [dig_list(task, "spec", "hostnames") for task in cluster.tasks_of(OTHER)] == []


@pytest.mark.parametrize("change", [{"enabled": "false"}, {"hostname": "new.example.com"}])
@virtual_time
async def test_claimant_says_for_which_route_it_waits(change: dict[str, str]) -> None:
    async with world() as cluster:
        await cluster.create(tenant(), plain_route(KEY, HOST))
        await cluster.ready()
        cluster.worker.is_running = False
        await cluster.annotate(**change)
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.create(plain_route(OTHER, HOST, tenant="web/main"))
        await held_back(cluster, f"waits until route web/shop has released {HOST}")
        cluster.worker.is_running = True
        await cluster.until(lambda: cluster.said(OTHER)[1] == "Published", minutes=2)
        assert HOST in cluster.published()


@virtual_time
async def test_older_route_does_not_get_a_hostname_that_is_being_published_for_another() -> None:
    """A task counts as much as a state: its worker may be about to write."""
    async with world() as cluster:
        await cluster.create(tenant(), plain_route(OTHER, "old.example.com", tenant="web/main"))
        await cluster.elapse(seconds=2)
        await cluster.ready(OTHER)
        cluster.worker.is_running = False
        await cluster.create(plain_route(KEY, HOST))
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.annotate(OTHER, hostname=HOST)
        assert "web/shop" in await cluster.says("DomainConflict", OTHER)
        cluster.worker.is_running = True
        await cluster.ready(KEY)
        assert cluster.said(OTHER)[1] == "DomainConflict"
        assert {spec.httproute_ref.namespace for spec in cluster.worker.done if HOST in spec.hostnames} == {
            "web"
        }


@virtual_time
async def test_swap_goes_on_although_a_task_has_failed() -> None:
    async with world() as cluster:
        await cluster.create(
            tenant(), plain_route(KEY, HOST), plain_route(OTHER, "o.example.com", tenant="web/main")
        )
        await cluster.ready(KEY, OTHER)
        cluster.worker.failures[KEY] = ("QuotaExceeded", "no")
        await cluster.annotate(access__enabled="true", access__allowEmails="a@example.com")
        await cluster.says("QuotaExceeded")
        await cluster.annotate(KEY, hostname="o.example.com")
        await cluster.annotate(OTHER, hostname=HOST)
        await cluster.says("DomainConflict", OTHER)
        del cluster.worker.failures[KEY]
        await cluster.ready(KEY, OTHER)
        assert cluster.published() == {HOST, "o.example.com"}
        for key in (KEY, OTHER):
            await cluster.delete(HTTP_ROUTE, key)
        await cluster.gone(KEY)
        await cluster.gone(OTHER)
        assert (cluster.worker.cloud, cluster.states()) == ({}, {})


class LateTasks(InProcessTransport):
    """Shows what happens to tasks only when `shown` is set."""

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane)
        self.shown = asyncio.Event()
        self.shown.set()

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        async with super().stream(request) as stream:
            is_late = request.path.endswith(f"/{TASK.plural}")
            yield replace(stream, chunks=self._late(stream.chunks)) if is_late else stream

    async def _late(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            await self.shown.wait()
            yield chunk


@virtual_time
async def test_hostname_of_a_task_that_the_watch_has_not_shown_is_not_free() -> None:
    async with world(start=False) as cluster:
        late = LateTasks(cluster.plane)
        cluster.start(late)
        await cluster.create(tenant())
        late.shown.clear()
        cluster.worker.failures[KEY] = ("QuotaExceeded", "no")
        await cluster.create(plain_route(KEY, HOST))
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.annotate(KEY, hostname="o.example.com")
        await cluster.create(plain_route(OTHER, HOST, tenant="web/main"))
        await cluster.elapse(seconds=3)
        assert len(cluster.all(TASK)) == 1
        assert "has released" in await cluster.says("DomainConflict", OTHER)
        del cluster.worker.failures[KEY]
        late.shown.set()
        await cluster.ready(KEY, OTHER)
        assert cluster.published() == {HOST, "o.example.com"}
