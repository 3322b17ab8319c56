"""Garbage collection, and what must never be taken for the absence of routes (R-11)."""

from __future__ import annotations

from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, HTTP_ROUTE, Key
from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.unit.kube.faults import FORBIDDEN, FaultyTransport
from tests.zerotrust.route_world import KEY, OPERATOR, World, plain_object, route, tenant, world
from tests.zerotrust.test_route_takeover import g2, left_route


async def forced(cluster: World, key: Key = KEY) -> None:
    """Delete a route without its finalizer, while nobody looks."""
    await cluster.patch(HTTP_ROUTE, key, {"metadata": {"finalizers": None}})
    await cluster.delete(HTTP_ROUTE, key)


async def a_fleet(cluster: World, size: int) -> list[Key]:
    keys = [Key("web", f"n{number:02}") for number in range(size)]
    await cluster.create(tenant(), *(route(key) for key in keys))
    await cluster.ready(*keys)
    return keys


@virtual_time
async def test_state_of_a_route_that_is_gone_is_withdrawn_and_deleted() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.operator.stop()
        await forced(cluster)
        cluster.start()
        await cluster.until(lambda: not cluster.states() and not cluster.all(TASK))
        assert cluster.worker.cloud == {}
        assert [spec.action for spec in cluster.worker.done] == ["reconcile", "delete"]
        names = {dig(task, "metadata", "name") for task in cluster.tasks_of()}
        assert names == {"cfzt-web-shop", "cfzt-delete-web-shop"}


@virtual_time
async def test_route_that_goes_while_the_operator_runs_is_collected() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        cluster.worker.is_running = False
        await forced(cluster)
        if cluster.find(HTTP_ROUTE, KEY) is not None:
            await forced(cluster)
        cluster.worker.is_running = True
        await cluster.until(lambda: not cluster.states() and not cluster.all(TASK))
        assert cluster.worker.cloud == {}


@virtual_time
async def test_legacy_state_without_a_route_is_collected() -> None:
    async with world(start=False) as cluster:
        await cluster.create(tenant(), g2())
        cluster.start()
        await cluster.until(lambda: not cluster.states() and not cluster.all(TASK))
        (spec,) = cluster.worker.done
        assert {"app-1", "token-1", "cname-1"} <= {item.id for item in spec.inventory}


@virtual_time
async def test_state_stays_and_says_so_where_its_tenant_is_gone() -> None:
    async with world(start=False) as cluster:
        await cluster.create(g2())
        cluster.start()
        name = Key(OPERATOR, "cfzt-web-shop")
        await cluster.until(
            lambda: (
                dig(cluster.states()["cfzt-web-shop"], "metadata", "annotations", "edgekeeper.io/reason")
                == "TenantNotFound"
            )
        )
        await cluster.elapse(hours=2)
        assert len(cluster.events("TenantNotFound", name)) == 1
        assert cluster.worker.done == []
        await cluster.create(tenant())
        await cluster.until(lambda: not cluster.states(), minutes=0.5)


@virtual_time
async def test_task_without_a_state_waits_for_its_tenant_and_is_woken_by_it() -> None:
    async with world() as cluster:
        cluster.worker.is_running = False
        await cluster.create(tenant(), route())
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.operator.stop()
        await forced(cluster)
        cluster.worker.is_running = True
        await cluster.until(cluster.published)
        await cluster.delete(TENANT, Key("web", "main"))
        cluster.start()
        (name,) = [dig(task, "metadata", "name") for task in cluster.all(TASK)]
        await cluster.until(lambda: cluster.events("TenantNotFound", Key(OPERATOR, name)))
        await cluster.elapse(minutes=21)
        await cluster.create(tenant())
        await cluster.until(lambda: not cluster.all(TASK), minutes=0.5)
        assert cluster.worker.cloud == {}


@virtual_time
async def test_task_of_a_route_that_never_had_a_state_is_collected() -> None:
    async with world() as cluster:
        cluster.worker.is_running = False
        await cluster.create(tenant(), route())
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.operator.stop()
        await forced(cluster)
        cluster.worker.is_running = True
        await cluster.until(cluster.published)
        cluster.start()
        await cluster.until(lambda: not cluster.all(TASK))
        assert cluster.worker.cloud == {}
        assert cluster.states() == {}


@virtual_time
async def test_route_created_again_takes_over_what_is_being_collected() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.operator.stop()
        await forced(cluster)
        cluster.worker.is_running = False
        cluster.start()
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.create(route())
        await cluster.until(lambda: dig(cluster.all(TASK)[0], "spec", "action") in (None, "reconcile"))
        cluster.worker.is_running = True
        await cluster.ready()
        assert cluster.published() == {"shop.web.example.com"}
        assert cluster.state()["annotation_hash"]
        assert await cluster.quiet(hours=1) == []


#


@virtual_time
async def test_namespace_that_is_no_longer_watched_loses_nothing() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        before = dict(cluster.worker.cloud)
        cluster.operator.manager.set_namespaces(["other"])
        assert await cluster.quiet(hours=2) == []
        await cluster.restart()
        cluster.operator.manager.set_namespaces(["other"])
        assert await cluster.quiet(hours=2) == []
        assert cluster.worker.cloud == before
        cluster.operator.manager.set_namespaces([])
        await cluster.annotate(hostname="new.example.com")
        await cluster.until(lambda: cluster.published() == {"new.example.com"})


@virtual_time
async def test_kind_that_is_no_longer_served_loses_nothing() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.operator.stop()
        await cluster.patch(HTTP_ROUTE, KEY, {"metadata": {"finalizers": None}})
        await cluster.user.delete(CUSTOM_RESOURCE_DEFINITION, Key("", "httproutes.gateway.networking.k8s.io"))
        await cluster.elapse(minutes=1)
        before = dict(cluster.worker.cloud)
        cluster.start()
        assert await cluster.quiet(hours=2) == []
        assert cluster.worker.cloud == before
        assert len(cluster.states()) == 1


def _lists_routes(request: ApiRequest) -> bool:
    return request.method == "GET" and request.path.endswith("/httproutes")


@virtual_time
async def test_routes_that_may_not_be_listed_lose_nothing() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.operator.stop()
        before = dict(cluster.worker.cloud)
        transport = FaultyTransport(InProcessTransport(cluster.plane))
        transport.refuse = lambda request: FORBIDDEN if _lists_routes(request) else None
        cluster.start(transport)
        assert await cluster.quiet(hours=2) == []
        assert cluster.worker.cloud == before


@virtual_time
async def test_empty_list_of_routes_is_confirmed_before_anything_is_collected() -> None:
    """The watch shows no routes; asked for one, the server has it."""

    def nothing() -> ApiResponse:
        body = b'{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRouteList","metadata":{"resourceVersion":"9999"},"items":[]}'
        return ApiResponse(200, {"content-type": "application/json"}, body)

    def is_full_list(request: ApiRequest) -> bool:
        query = dict(request.query)
        return _lists_routes(request) and "fieldSelector" not in query and "watch" not in query

    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.operator.stop()
        before = dict(cluster.worker.cloud)
        transport = FaultyTransport(InProcessTransport(cluster.plane))
        transport.refuse = lambda request: nothing() if is_full_list(request) else None
        cluster.start(transport)
        await cluster.elapse(hours=1)
        assert cluster.worker.cloud == before
        assert [spec.action for spec in cluster.worker.done] == ["reconcile"]


@virtual_time
async def test_many_routes_that_are_gone_at_once_are_not_collected_without_a_word() -> None:
    async with world() as cluster:
        keys = await a_fleet(cluster, 8)
        await cluster.operator.stop()
        for key in keys:
            await forced(cluster, key)
        before = dict(cluster.worker.cloud)
        cluster.start()
        await cluster.elapse(hours=1)
        assert cluster.worker.cloud == before
        state = Key(OPERATOR, "cfzt-web-n00")
        assert len(cluster.events("MassDeletion", state)) == 1
        for key in keys:
            name = Key(OPERATOR, f"cfzt-web-{key.name}")
            await cluster.patch(
                CONFIG_MAP, name, {"metadata": {"annotations": {"edgekeeper.io/confirm-deletion": "true"}}}
            )
        await cluster.until(lambda: not cluster.states() and not cluster.all(TASK))
        assert cluster.worker.cloud == {}


@virtual_time
async def test_few_routes_that_are_gone_are_collected() -> None:
    async with world() as cluster:
        keys = await a_fleet(cluster, 8)
        await cluster.operator.stop()
        for key in keys[:5]:
            await forced(cluster, key)
        cluster.start()
        await cluster.until(lambda: len(cluster.states()) == 3)
        await cluster.until(lambda: not cluster.all(TASK))
        assert cluster.published() == {f"{key.name}.web.example.com" for key in keys[5:]}


@virtual_time
async def test_configmap_that_is_no_state_is_left_alone() -> None:
    async with world() as cluster:
        body = plain_object(CONFIG_MAP, Key(OPERATOR, "notes"), data={"text": "x"})
        body["metadata"]["labels"] = {"cfzt.cloudflare.com/httproute-name": "shop"}
        await cluster.create(tenant(), body, left_route())
        await cluster.ready()
        assert cluster.find(CONFIG_MAP, Key(OPERATOR, "notes")) is not None
        assert cluster.find(TENANT, Key("web", "main")) is not None
