"""A route that is deleted, disabled or moved leaves nothing behind; and what cannot be removed is listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.api.zerotrust import FINALIZER, PREFIX
from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, Key
from kubesim.virtual import virtual_time
from tests.zerotrust.route_world import (
    ACCOUNT,
    KEY,
    OPERATOR,
    OPTIONS,
    OTHER_ACCOUNT,
    World,
    route,
    tenant,
    world,
)

PROTECTED = {"accessApp": "true", "allowEmails": "a@example.com", "serviceToken": "true"}
MAIN = Key("web", "main")


def nothing_left(cluster: World) -> bool:
    return cluster.worker.cloud == {} and cluster.states() == {} and cluster.all(TASK) == []


@virtual_time
async def test_deleted_route_leaves_nothing() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(**PROTECTED))
        await cluster.ready()
        await cluster.delete()
        await cluster.gone()
        assert nothing_left(cluster)
        assert [spec.action for spec in cluster.worker.done] == ["reconcile", "delete"]
        assert await cluster.quiet(hours=1) == []


@virtual_time
async def test_route_deleted_while_its_task_is_at_work_leaves_nothing() -> None:
    async with world() as cluster:
        cluster.worker.is_running = False
        await cluster.create(tenant(), route(**PROTECTED))
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.delete()
        await cluster.until(lambda: dig(cluster.all(TASK)[0], "spec", "action") == "delete")
        assert cluster.find(HTTP_ROUTE, KEY) is not None
        cluster.worker.is_running = True
        await cluster.gone()
        assert nothing_left(cluster)


@pytest.mark.parametrize("value", ["false", None])
@virtual_time
async def test_disabled_route_is_withdrawn_and_let_go(value: str | None) -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(**PROTECTED))
        await cluster.ready()
        await cluster.annotate(enabled=value)
        await cluster.until(lambda: cluster.finalizers() == [])
        assert nothing_left(cluster)
        left = {
            name for name in cluster.annotations() if name.startswith("edgekeeper.io/") or name.endswith("Id")
        }
        assert left == set()
        assert f"{PREFIX}hostname" in cluster.annotations(), "what the user wrote stays"
        assert await cluster.quiet(hours=1) == []
        await cluster.annotate(enabled="true")
        await cluster.ready()
        assert cluster.published() == {"shop.web.example.com"}


@pytest.mark.parametrize("value", ["ture", "", " "])
@virtual_time
async def test_value_of_enabled_that_does_not_parse_neither_publishes_nor_withdraws(value: str) -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.patch(HTTP_ROUTE, KEY, {"metadata": {"annotations": {f"{PREFIX}enabled": value}}})
        message = await cluster.says("InvalidAnnotation")
        assert f"{PREFIX}enabled" in message
        assert cluster.published() == {"shop.web.example.com"}
        assert FINALIZER in cluster.finalizers()
        fresh = route(Key("web", "fresh"))
        fresh["metadata"]["annotations"][f"{PREFIX}enabled"] = value
        await cluster.create(fresh)
        await cluster.says("InvalidAnnotation", Key("web", "fresh"))
        assert cluster.finalizers(Key("web", "fresh")) == []
        assert len(cluster.worker.done) == 1


@virtual_time
async def test_renamed_hostname_withdraws_the_old_one_in_the_same_task() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.annotate(hostname="new.example.com")
        await cluster.until(lambda: cluster.published() == {"new.example.com"})
        await cluster.ready()
        assert [spec.action for spec in cluster.worker.done] == ["reconcile", "reconcile"]
        assert {item.name for item in cluster.worker.done[-1].inventory} == {"shop.web.example.com"}
        assert cluster.state()["hostname"] == "new.example.com"


@virtual_time
async def test_move_to_another_account_leaves_the_old_one_first() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), tenant(Key("web", "second"), OTHER_ACCOUNT), route(tenant="main"))
        await cluster.ready()
        await cluster.annotate(tenant="second")
        await cluster.until(lambda: len(cluster.worker.done) == 3)
        await cluster.ready()
        steps = [(spec.action, spec.account_id) for spec in cluster.worker.done]
        assert steps == [("reconcile", ACCOUNT), ("delete", ACCOUNT), ("reconcile", OTHER_ACCOUNT)]
        assert cluster.state()["account_id"] == OTHER_ACCOUNT
        assert cluster.published() == {"shop.web.example.com"}
        assert await cluster.quiet(hours=1) == []


@virtual_time
async def test_changed_tunnel_of_a_tenant_moves_its_routes_in_one_task() -> None:
    other = "22222222-2222-2222-2222-222222222222"
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.patch(TENANT, MAIN, {"spec": {"tunnelId": other}})
        await cluster.until(lambda: len(cluster.worker.done) == 2)
        await cluster.ready()
        assert [item.parent for item in cluster.cloud("TunnelHostname")] == [other]
        assert cluster.annotations()[f"{PREFIX}hostnameRouteId"] == other


@virtual_time
async def test_status_of_a_tenant_wakes_no_route() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        passes = cluster.operator.metrics.registry
        labels = {"controller": "httproute"}

        def count() -> float:
            return passes.get_sample_value("controller_runtime_reconcile_time_seconds_count", labels) or 0

        before = count()
        await cluster.user.merge_patch(
            TENANT, MAIN, {"status": {"summary": {"managedHTTPRoutes": 1}}}, subresource="status"
        )
        await cluster.elapse(minutes=1)
        assert count() == before


@virtual_time
async def test_deletion_without_its_tenant_keeps_the_state_and_says_so() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(**PROTECTED))
        await cluster.ready()
        await cluster.delete(TENANT, MAIN)
        await cluster.delete()
        message = await cluster.says("TenantNotFound")
        assert "web/main" in message
        assert "tunnel hostname shop.web.example.com" in message
        assert cluster.state()["hostname"] == "shop.web.example.com"
        await cluster.create(tenant())
        await cluster.until(lambda: nothing_left(cluster), minutes=0.5)


@virtual_time
async def test_withdrawal_from_a_tenant_that_the_route_no_longer_names_is_woken_by_it() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), tenant(Key("web", "second"), OTHER_ACCOUNT), route(tenant="main"))
        await cluster.ready()
        await cluster.delete(TENANT, MAIN)
        await cluster.annotate(tenant="second")
        await cluster.delete()
        await cluster.says("TenantNotFound")
        await cluster.elapse(seconds=90)
        await cluster.create(tenant())
        await cluster.until(lambda: nothing_left(cluster), minutes=0.5)


@virtual_time
async def test_deletion_that_keeps_failing_is_given_up_and_its_state_stays() -> None:
    options = replace(OPTIONS, cleanup_timeout=timedelta(minutes=30))
    async with world(options) as cluster:
        await cluster.create(tenant(), route(**PROTECTED))
        await cluster.ready()
        await cluster.delete(TENANT, MAIN)
        await cluster.delete()
        await cluster.elapse(minutes=20)
        assert cluster.find(HTTP_ROUTE, KEY) is not None
        await cluster.until(lambda: cluster.find(HTTP_ROUTE, KEY) is None, minutes=30)
        await cluster.until(lambda: cluster.events("CleanupAbandoned"))
        (event,) = cluster.events("CleanupAbandoned")
        assert "Access application shop.web.example.com" in event
        assert "DNS record CNAME shop.web.example.com" in event
        assert list(cluster.states()) == ["cfzt-web-shop"]
        await cluster.elapse(minutes=5)
        annotations = dig(cluster.states()["cfzt-web-shop"], "metadata", "annotations")
        assert annotations["edgekeeper.io/reason"] == "TenantNotFound"
        await cluster.create(tenant())
        await cluster.until(lambda: nothing_left(cluster), minutes=0.5)


@virtual_time
async def test_failing_withdrawal_is_told_and_its_success_ends_it() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        cluster.worker.failures[KEY] = ("CredentialNotFound", "Secret web/token does not exist")
        await cluster.delete()
        assert await cluster.says("CredentialNotFound") == "Secret web/token does not exist"
        assert len(cluster.states()) == 1
        del cluster.worker.failures[KEY]
        await cluster.gone()
        assert nothing_left(cluster)


@virtual_time
async def test_orphaned_route_leaves_everything_at_cloudflare_and_no_state() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(**PROTECTED, **{"edgekeeper.io/deletion-policy": "Orphan"}))
        await cluster.ready()
        before = dict(cluster.worker.cloud)
        await cluster.delete()
        await cluster.gone()
        assert cluster.worker.cloud == before
        assert cluster.states() == {}
        assert cluster.all(TASK) == []
        assert cluster.worker.done[-1].orphan
        await cluster.until(lambda: len(cluster.events("Orphaned")) == 1)


@virtual_time
async def test_orphaned_route_without_its_tenant_goes_and_says_what_could_not_be_done() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(**{"edgekeeper.io/deletion-policy": "orphan"}))
        await cluster.ready()
        await cluster.delete(TENANT, MAIN)
        await cluster.delete()
        await cluster.gone()
        assert cluster.states() == {}
        await cluster.until(lambda: cluster.events("Orphaned"))
        (event,) = cluster.events("Orphaned")
        assert "could not be removed" in event


@virtual_time
async def test_crash_after_the_state_was_dropped_ends_in_the_same() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        cluster.worker.is_running = False
        await cluster.delete()
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.operator.stop()
        cluster.worker.is_running = True
        await cluster.until(lambda: cluster.worker.cloud == {})
        await cluster.delete(CONFIG_MAP, Key(OPERATOR, "cfzt-web-shop"))
        cluster.start()
        await cluster.gone()
        assert nothing_left(cluster)
