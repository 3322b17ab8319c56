"""A route becomes a task, its result a state and annotations; and nothing else happens."""

from __future__ import annotations

from edgekeeper.api.zerotrust import FINALIZER, PREFIX
from edgekeeper.controllers.zerotrust.route_index import TASK
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from kubesim.virtual import virtual_time
from tests.zerotrust.route_world import ACCOUNT, KEY, TUNNEL, World, route, tenant, world


@virtual_time
async def test_new_route_queues_exactly_one_pending_task() -> None:
    async with world() as cluster:
        cluster.worker.is_running = False
        await cluster.create(tenant(), route())
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.elapse(minutes=10)
        (task,) = cluster.all(TASK)
        assert dig(task, "metadata", "name") == "cfzt-web-shop"
        assert dig(task, "status", "phase") == "Pending"
        assert dig(task, "spec", "accountId") == ACCOUNT
        assert dig(task, "spec", "hostnames") == ["shop.web.example.com"]
        assert cluster.finalizers() == [FINALIZER]
        assert cluster.said()[:2] == ("False", "Progressing")
        assert dig(task, "metadata", "generation") == 1, "nothing rewrites it while it waits"


@virtual_time
async def test_completed_task_is_recorded_shown_and_deleted() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        state = cluster.state()
        assert state["hostname"] == "shop.web.example.com"
        assert state["tunnel_id"] == TUNNEL
        assert state["account_id"] == ACCOUNT
        assert cluster.annotations()[f"{PREFIX}hostnameRouteId"] == TUNNEL
        assert f"{PREFIX}lastReconcile" in cluster.annotations()
        assert f"{PREFIX}accessAppId" not in cluster.annotations()
        assert cluster.all(TASK) == []
        assert cluster.events("Published") == ["published as shop.web.example.com"]


@virtual_time
async def test_settled_route_causes_no_task_and_no_write() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        assert await cluster.quiet(hours=30) == []
        assert len(cluster.tasks_of()) == 1
        assert len(cluster.worker.done) == 1


@virtual_time
async def test_annotations_of_the_operator_are_no_part_of_the_hash() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        before = cluster.state()["annotation_hash"]
        await cluster.annotate(lastReconcile="2020-01-01T00:00:00Z")
        assert await cluster.quiet(hours=1) == [], "somebody else's time is not worth a write"
        assert cluster.state()["annotation_hash"] == before
        assert len(cluster.worker.done) == 1


@virtual_time
async def test_restart_of_the_operator_writes_nothing() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.restart()
        assert await cluster.quiet(hours=1) == []


@virtual_time
async def test_changed_annotation_is_one_task_with_what_exists() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(accessApp="true", allowEmails="a@example.com"))
        await cluster.ready()
        before = cluster.annotations()[f"{PREFIX}accessAppId"]
        await cluster.annotate(allowEmails="a@example.com,b@example.com")
        await cluster.until(lambda: len(cluster.worker.done) == 2)
        await cluster.ready()
        task = cluster.worker.done[-1]
        assert {item.kind for item in task.inventory} >= {"TunnelHostname", "DnsRecord", "AccessApplication"}
        assert task.operations.access_app.allow_emails == ["a@example.com", "b@example.com"]
        assert cluster.annotations()[f"{PREFIX}accessAppId"] == before
        assert len(cluster.cloud("AccessApplication")) == 1


@virtual_time
async def test_change_while_a_task_is_queued_changes_the_task() -> None:
    async with world() as cluster:
        cluster.worker.is_running = False
        await cluster.create(tenant(), route())
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.annotate(hostname="new.example.com")
        await cluster.until(lambda: dig(cluster.all(TASK)[0], "spec", "hostname") == "new.example.com")
        cluster.worker.is_running = True
        await cluster.ready()
        assert len(cluster.tasks_of()) == 1
        assert cluster.published() == {"new.example.com"}


@virtual_time
async def test_failing_route_and_tenant_stop_no_other() -> None:
    bad, good = Key("web", "bad"), Key("web", "good")
    async with world() as cluster:
        cluster.worker.failures[bad] = ("CloudflareAPIError", "the zone is not there")
        await cluster.create(tenant(), route(bad), route(good), route(Key("other", "lost"), tenant="nowhere"))
        await cluster.until(lambda: cluster.said(good)[1] == "Published")
        assert await cluster.says("CloudflareAPIError", bad) == "the zone is not there"
        await cluster.says("TenantNotFound", Key("other", "lost"))
        assert len(cluster.events("CloudflareAPIError", bad)) == 1
        assert await cluster.quiet(hours=1) == []
        del cluster.worker.failures[bad]
        await cluster.ready(bad)


@virtual_time
async def test_routes_of_the_same_name_in_two_namespaces_keep_separate_states_and_tokens() -> None:
    one, two = Key("web", "shop"), Key("other", "shop")
    settings = {"accessApp": "true", "serviceToken": "true", "tenant": "web/main"}
    async with world() as cluster:
        await cluster.create(tenant(), route(one, **settings), route(two, **settings))
        await cluster.ready(one, two)
        assert set(cluster.states()) == {"cfzt-web-shop", "cfzt-other-shop"}
        names = [item.name for item in cluster.cloud("ServiceToken")]
        assert len(names) == 2
        assert len(set(names)) == 2
        assert "shop-service-token" in names
        assert {item.name for item in cluster.cloud("Secret")} == {
            "web/shop-cfzt-service-token",
            "other/shop-cfzt-service-token",
        }


async def _two_that_collide(cluster: World) -> tuple[Key, Key]:
    one, two = Key("a-b", "c"), Key("a", "b-c")
    await cluster.create(tenant(), route(one, tenant="web/main"), route(two, tenant="web/main"))
    await cluster.ready(one, two)
    return one, two


@virtual_time
async def test_names_that_collide_get_a_hash() -> None:
    async with world(namespaces=("web", "a-b", "a")) as cluster:
        one, two = await _two_that_collide(cluster)
        assert len(cluster.states()) == 2
        assert "cfzt-a-b-c" in cluster.states()
        assert cluster.state(one)["hostname"] == "c.a-b.example.com"
        assert cluster.state(two)["hostname"] == "b-c.a.example.com"
        assert await cluster.quiet(hours=1) == []


@virtual_time
async def test_withdrawal_of_one_of_two_that_collide_leaves_the_other() -> None:
    async with world(namespaces=("web", "a-b", "a")) as cluster:
        one, two = await _two_that_collide(cluster)
        await cluster.delete(HTTP_ROUTE, two)
        await cluster.gone(two)
        assert cluster.published() == {"c.a-b.example.com"}
        assert cluster.state(one)["hostname"] == "c.a-b.example.com"


@virtual_time
async def test_state_name_of_a_stranger_is_left_alone() -> None:
    async with world() as cluster:
        stranger = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "cfzt-web-shop", "namespace": "cloudflare-zero-trust"},
            "data": {"mine": "yes"},
        }
        await cluster.create(tenant(), stranger, route())
        await cluster.ready()
        (name,) = cluster.states()
        assert name.startswith("cfzt-web-shop-")
        kept = [one for one in cluster.versions if dig(one[1], "metadata", "name") == "cfzt-web-shop"]
        assert [one[1]["data"] for one in kept if one[0] == "configmaps"] == [{"mine": "yes"}]


@virtual_time
async def test_names_beyond_all_limits_are_shortened() -> None:
    long = Key("web", "x" * 250)
    async with world() as cluster:
        await cluster.create(tenant(), route(long, "long.example.com", accessApp="true", serviceToken="true"))
        await cluster.ready(long)
        (name,) = cluster.states()
        assert len(name) <= 253
        labels = dig(cluster.states()[name], "metadata", "labels")
        assert len(labels[f"{PREFIX}httproute-name"]) <= 63
        assert cluster.state(long)["httproute_name"] == long.name
        (secret,) = cluster.cloud("Secret")
        assert len(secret.name.partition("/")[2]) <= 253


@virtual_time
async def test_route_without_annotations_is_never_written() -> None:
    async with world() as cluster:
        plain = route()
        plain["metadata"]["annotations"] = {"edgekeeper.io/paused": "perhaps"}
        await cluster.create(tenant(), plain)
        assert await cluster.quiet(hours=1) == []
        assert cluster.finalizers() == []


@virtual_time
async def test_paused_route_is_left_alone_and_says_so() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.annotate(**{"edgekeeper.io/paused": "true", "hostname": "new.example.com"})
        await cluster.until(lambda: cluster.said()[:2] == ("True", "Paused"))
        assert await cluster.quiet(hours=1) == []
        await cluster.annotate(**{"edgekeeper.io/paused": None})
        await cluster.until(lambda: cluster.published() == {"new.example.com"})


@virtual_time
async def test_adoption_reaches_a_failed_task() -> None:
    async with world() as cluster:
        cluster.worker.failures[KEY] = ("ApplicationConflict", "there is one already")
        await cluster.create(tenant(), route())
        await cluster.says("ApplicationConflict")
        del cluster.worker.failures[KEY]
        cluster.worker.is_running = False
        await cluster.annotate(**{"edgekeeper.io/adopt": "true"})
        await cluster.until(lambda: dig(cluster.all(TASK)[0], "spec", "adopt") is True)
        cluster.worker.is_running = True
        await cluster.ready()
        await cluster.annotate(**{"edgekeeper.io/adopt": None})
        await cluster.elapse(minutes=5)
        assert len(cluster.worker.done) == 1, "what was adopted stays adopted"
