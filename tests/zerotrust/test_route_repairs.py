"""Drift by policy, the brake of corrections, tokens that are due, logs, and what a fleet costs at rest."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.core.clock import timestamp
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from kubesim.virtual import virtual_time
from tests.zerotrust.route_world import KEY, OPERATOR, OPTIONS, World, route, tenant, world

STATE = Key(OPERATOR, "cfzt-web-shop")


async def note_drift(cluster: World, words: str = "write the DNS record") -> None:
    await cluster.patch(CONFIG_MAP, STATE, {"metadata": {"annotations": {"edgekeeper.io/drift": words}}})


def drift_noted(cluster: World) -> str | None:
    found = dig(cluster.states()["cfzt-web-shop"], "metadata", "annotations", "edgekeeper.io/drift")
    return found if isinstance(found, str) else None


@virtual_time
async def test_drift_is_repaired_by_a_task_and_its_note_goes() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await note_drift(cluster)
        await cluster.until(lambda: len(cluster.worker.done) == 2, minutes=1)
        await cluster.ready()
        assert drift_noted(cluster) is None
        await cluster.until(lambda: cluster.events("DriftCorrected") == ["write the DNS record"])
        assert await cluster.quiet(hours=1) == []


@virtual_time
async def test_drift_is_reported_once_and_left_alone_under_report() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(**{"edgekeeper.io/drift-policy": "report"}))
        await cluster.ready()
        await note_drift(cluster)
        await cluster.until(lambda: cluster.said()[:2] == ("True", "DriftDetected"))
        assert "write the DNS record" in cluster.said()[2]
        assert await cluster.quiet(hours=12) == []
        assert len(cluster.events("DriftDetected")) == 1
        assert len(cluster.worker.done) == 1
        await cluster.patch(CONFIG_MAP, STATE, {"metadata": {"annotations": {"edgekeeper.io/drift": None}}})
        await cluster.until(lambda: cluster.said()[1] == "Published")


@virtual_time
async def test_drift_is_not_mentioned_under_suspend() -> None:
    options = replace(OPTIONS, drift_policy=Policy.SUSPEND)
    async with world(options) as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await note_drift(cluster)
        assert await cluster.quiet(hours=1) == []
        assert cluster.said()[1] == "Published"
        await cluster.annotate(**{"edgekeeper.io/drift-policy": "enforce"})
        await cluster.until(lambda: len(cluster.worker.done) == 2)


@virtual_time
async def test_corrections_do_not_become_a_fight() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        until = cluster.clock.monotonic() + 3600
        while cluster.clock.monotonic() < until:
            await note_drift(cluster)
            await cluster.elapse(seconds=10)
        assert 10 <= len(cluster.worker.done) <= 20
        assert cluster.said()[:2] == ("False", "DriftDetected")


@virtual_time
async def test_token_is_looked_at_before_it_expires() -> None:
    settings = {"accessApp": "true", "serviceToken": "true", "serviceTokenDuration": "24h"}
    async with world() as cluster:
        cluster.worker.token_expires_at = timestamp(cluster.clock.now() + timedelta(hours=24))
        await cluster.create(tenant(), route(**settings))
        await cluster.ready()
        assert await cluster.quiet(hours=17) == []
        assert len(cluster.worker.done) == 1
        cluster.worker.token_expires_at = timestamp(cluster.clock.now() + timedelta(hours=24))
        await cluster.elapse(hours=2)
        assert len(cluster.worker.done) == 2
        assert cluster.said()[:2] == ("True", "Published")
        assert await cluster.quiet(hours=15) == []


@virtual_time
async def test_token_that_the_worker_does_not_refresh_is_asked_for_once_a_day() -> None:
    settings = {"accessApp": "true", "serviceToken": "true", "serviceTokenDuration": "24h"}
    async with world() as cluster:
        cluster.worker.token_expires_at = timestamp(cluster.clock.now() + timedelta(hours=10))
        await cluster.create(tenant(), route(**settings))
        await cluster.ready()
        await cluster.elapse(days=3)
        assert 3 <= len(cluster.worker.done) <= 5


@virtual_time
async def test_token_is_rotated_at_its_interval_and_by_request() -> None:
    settings = {
        "accessApp": "true",
        "serviceToken": "true",
        "serviceToken__rotationInterval": "12h",
        "serviceToken__rotationGrace": "1h",
    }
    async with world() as cluster:
        await cluster.create(tenant(), route(**settings))
        await cluster.ready()
        await cluster.elapse(hours=30)
        assert len(cluster.worker.done) == 3
        await cluster.annotate(serviceToken__rotate="now")
        await cluster.until(lambda: len(cluster.worker.done) == 4, minutes=1)
        assert cluster.worker.done[-1].operations.service_token.rotation == "now"


@virtual_time
async def test_log_level_of_the_tenant_is_that_of_its_routes() -> None:
    async with world() as cluster:
        await cluster.create(tenant(logLevel="DEBUG"), route(), route(Key("other", "lost")))
        await cluster.ready()
        controller = cluster.operator.controllers[0]
        levels = {}
        for key in (KEY, Key("other", "lost")):
            raw = controller._view.raw(key)
            assert raw is not None
            levels[key.name] = controller._log_level(controller._request(key, raw))
        assert levels == {"shop": "DEBUG", "lost": None}
        assert cluster.worker.done[0].log_level == "DEBUG"


@virtual_time
async def test_changed_log_level_of_a_tenant_queues_no_task() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route())
        await cluster.ready()
        await cluster.patch(TENANT, Key("web", "main"), {"spec": {"logLevel": "DEBUG"}})
        assert await cluster.quiet(hours=1) == []


@virtual_time
async def test_invalid_annotation_keeps_what_is_published_and_collects_what_is_done() -> None:
    async with world() as cluster:
        cluster.worker.is_running = False
        await cluster.create(tenant(), route())
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.annotate(acessApp="true")
        message = await cluster.says("InvalidAnnotation")
        assert f"did you mean {PREFIX}accessApp?" in message
        cluster.worker.is_running = True
        await cluster.until(lambda: not cluster.all(TASK))
        assert cluster.state()["hostname"] == "shop.web.example.com", "its result is recorded"
        assert await cluster.quiet(hours=1) == []
        await cluster.annotate(acessApp=None)
        await cluster.ready()
        assert len(cluster.worker.done) == 1


@virtual_time
async def test_message_with_anything_in_it_is_shown_as_one_line() -> None:
    async with world() as cluster:
        cluster.worker.failures[KEY] = ("CloudflareAPIError", "a\r\n\x1b[31mb" + "x" * 5000)
        await cluster.create(tenant(), route())
        message = await cluster.says("CloudflareAPIError")
        assert message.isprintable()
        assert len(message) <= 1024


@virtual_time
async def test_settled_fleet_writes_nothing_on_restart() -> None:
    count = 300
    async with world() as cluster:
        await cluster.create(tenant())
        for number in range(count):
            await cluster.create(route(Key("web", f"n{number:04}")))
        await cluster.until(lambda: len(cluster.states()) == count and not cluster.all(TASK), minutes=60)
        await cluster.elapse(minutes=1)
        assert all(
            cluster.said(Key("web", f"n{number:04}"))[0] == "True" for number in (0, count // 2, count - 1)
        )
        began = time.process_time()
        await cluster.restart()
        assert await cluster.quiet(minutes=30) == []
        assert time.process_time() - began < 60
        assert len(cluster.worker.done) == count
