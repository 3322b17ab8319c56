"""The life of a task: claims, outages, credentials, and workers that die."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.controllers.zerotrust.worker import TASK
from edgekeeper.core.calls import CallRecord
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import SECRET, Key
from kubesim.cloudflare.faults import Fault
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from kubesim.virtual import run_virtual, virtual_time
from tests.zerotrust_worker.world import (
    EMAILS,
    NAMESPACE_NAME,
    OPTIONS,
    Estate,
    World,
    add_credential,
    task,
    working,
)


@virtual_time
async def test_task_is_claimed_before_the_first_change() -> None:
    async with working() as world:
        written: dict[str, int] = {}
        """How many writes Cloudflare had seen when a phase was first stored."""

        def note(resource: GroupResource, event: Event) -> None:
            phase = dig(event.item.decode(), "status", "phase")
            if resource == GroupResource(TASK.group, TASK.plural) and phase:
                written.setdefault(str(phase), len(world.cloud.journal.writes()))

        world.stage.plane.store.listen(note)
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        assert list(written) == ["InProgress", "Completed"]
        assert written["InProgress"] == 0 < written["Completed"]
        assert world.status("web")["workerPod"] == "worker-1"


@virtual_time
async def test_claim_of_a_dead_worker_is_taken_over() -> None:
    async with working(replace(OPTIONS, worker="worker-2")) as world:
        await world.stage.operator.stop()
        await world.apply(task("web", access=EMAILS))
        status = {"phase": "InProgress", "workerPod": "worker-1", "observedGeneration": 1}
        await world.stage.user.merge_patch(
            TASK, Key(NAMESPACE_NAME, "web"), {"status": status}, subresource="status"
        )
        world.stage.start_operator()
        await world.completed("web")
        assert world.status("web")["workerPod"] == "worker-2"


@virtual_time
async def test_missing_credential_fails_the_task_until_the_secret_comes() -> None:
    async with working(credential=False) as world:
        await world.apply(task("web"))
        message = await world.failed("web", "CredentialNotFound")
        assert f"{NAMESPACE_NAME}/cloudflare" in message
        began = world.stage.clock.monotonic()
        await add_credential(world.stage, world.estate.token.value)
        await world.completed("web")
        assert world.stage.clock.monotonic() - began < 60


@virtual_time
async def test_refused_token_fails_the_task_until_the_secret_changes() -> None:
    async with working(credential=False) as world:
        await add_credential(world.stage, "not-a-token-of-this-account")
        await world.apply(task("web"))
        await world.failed("web", "AuthFailed")
        data = {"token": b64encode(world.estate.token.value.encode()).decode()}
        await world.stage.user.merge_patch(SECRET, Key(NAMESPACE_NAME, "cloudflare"), {"data": data})
        await world.completed("web")


@virtual_time
async def test_outage_is_told_within_a_minute_and_survived() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        world.cloud.faults.outage(timedelta(minutes=20))
        await world.apply(task("web", access=EMAILS))
        await world.elapse(seconds=62)
        assert world.phase("web") == "Failed"
        synced = {one["type"]: one["reason"] for one in world.status("web")["conditions"]}
        assert synced["Synced"] == "CloudUnavailable"
        await world.elapse(minutes=30)
        assert world.phase("web") == "Completed"


@virtual_time
async def test_throttling_delays_and_loses_nothing() -> None:
    async with working() as world:
        world.cloud.faults.add(
            Fault("throttle", probability=0.3, times=None, seconds=30, lasting=timedelta(minutes=10))
        )
        for number in range(10):
            await world.apply(task(f"r{number}", access=EMAILS))
        await world.completed(*(f"r{number}" for number in range(10)))
        assert len(world.account.applications) == 10
        assert len(world.records()) == 10


@virtual_time
async def test_completed_task_is_left_alone() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        version = world.task("web")["metadata"]["resourceVersion"]
        world.account.applications.clear()
        await world.elapse(hours=1)
        assert world.task("web")["metadata"]["resourceVersion"] == version
        assert not world.account.applications


@virtual_time
async def test_bad_account_id_names_the_remedy() -> None:
    async with working() as world:
        await world.apply(task("web", accountId="../zones", cname=False))
        message = await world.failed("web", "InvalidSpec")
        assert "../zones" in message


class _Stubborn(Estate):
    """Keeps another session duration than the one that is written."""

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        return await super().send(method, url, headers, body.replace(b'"8h"', b'"7h"'))


@virtual_time
async def test_setting_that_cloudflare_does_not_keep_ends_in_no_loop() -> None:
    async with working(outside=_Stubborn) as world:
        await world.apply(task("web", access={**EMAILS, "sessionDuration": "8h"}))
        await world.failed("web", "NotConverging")
        puts = "PUT /accounts/{account}/access/apps/{application}"
        assert world.cloud.journal.count(puts) == 4
        await world.elapse(minutes=30)
        assert world.cloud.journal.count(puts) <= 11


class _CrashAt:
    """Kills the worker at the call of a number."""

    def __init__(self, world: World, number: int, moment: str) -> None:
        self._world, self._number, self._moment = world, number, moment
        self.is_done = False

    async def before(self, call: CallRecord) -> None:
        await self._strike(call, "before")

    async def after(self, call: CallRecord) -> None:
        await self._strike(call, "after")

    async def _strike(self, call: CallRecord, moment: str) -> None:
        if call.number == self._number and moment == self._moment and not self.is_done:
            self.is_done = True
            await self._world.stage.crash()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", range(10, 46, 3))
def test_crash_at_any_call_exposes_and_loses_nothing(number: int, moment: str) -> None:
    """A protected route is published, renamed, and withdrawn, with a death somewhere on the way."""

    async def scenario() -> None:
        async with working(start=False) as world:
            world.estate.guarded |= {"web.example.com", "shop.example.com"}
            crash = _CrashAt(world, number, moment)
            world.stage.start_operator(hooks=(crash,))
            await world.apply(task("web", access=EMAILS, token={}))
            await world.completed("web")
            await world.apply(task("web", "shop.example.com", access=EMAILS, token={}))
            await world.completed("web")
            assert len(world.account.applications) == 1
            assert len(world.tokens()) == 1
            assert [record["name"] for record in world.records()] == ["shop.example.com"]
            assert [rule["hostname"] for rule in world.estate.rules()] == ["shop.example.com"]
            secret = await world.secret("web-cfzt-service-token")
            assert secret is not None
            assert world.opens(secret)
            await world.withdraw("web")
            await world.completed("web")
            assert not world.account.applications
            assert not world.tokens()
            assert not world.records()
            assert not world.estate.rules()
            assert await world.secret("web-cfzt-service-token") is None
            assert not dig(world.status("web"), "inventory")
            assert crash.is_done

    run_virtual(scenario)
