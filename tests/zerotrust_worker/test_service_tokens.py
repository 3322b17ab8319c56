"""Service tokens: one live token, its credentials in the Secret and nowhere else, whatever happens in between."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.core.calls import CallRecord
from edgekeeper.core.clock import parse_timestamp
from edgekeeper.kube.kinds import SECRET, Key
from kubesim.cloudflare.faults import Fault
from kubesim.virtual import run_virtual, virtual_time
from tests.zerotrust_worker.world import EMAILS, World, credentials, task, working

NAME = "web-cfzt-service-token"


async def _settled(world: World) -> dict[str, Any]:
    await world.completed("web")
    (token,) = world.tokens()
    secret = await world.secret(NAME)
    assert secret is not None
    assert credentials(secret)[0] == token["client_id"]
    assert world.opens(secret)
    return secret


@virtual_time
async def test_token_is_stored_before_the_application_exists() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS, token={}))
        secret = await _settled(world)
        names = [one["decision"] for one in world.policies("web.example.com")]
        assert names == ["non_identity", "allow"]
        (token,) = world.tokens()
        include = world.policies("web.example.com")[0]["include"]
        assert include == [{"service_token": {"token_id": token["id"]}}]
        result = world.status("web")["result"]
        assert result["serviceTokenId"] == token["id"]
        assert result["serviceTokenSecretName"] == NAME
        assert secret["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "edgekeeper"


@virtual_time
async def test_token_alone_is_a_policy() -> None:
    async with working() as world:
        await world.apply(task("web", access={"enabled": True}, token={}))
        await _settled(world)
        assert [one["decision"] for one in world.policies("web.example.com")] == ["non_identity"]


@virtual_time
async def test_token_with_existing_policies_gets_a_reusable_policy() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        body = {"name": "staff", "decision": "allow", "include": [{"everyone": {}}]}
        staff = world.act("POST", "policies", body)
        access = {"enabled": True, "existingPolicyNames": ["staff"]}
        await world.apply(task("web", access=access, token={}))
        await _settled(world)
        assert [one["name"] for one in world.policies("web.example.com")] == [
            "web-service-token-policy",
            "staff",
        ]
        await world.apply(task("web", access=access))
        await world.completed("web")
        assert [one["name"] for one in world.policies("web.example.com")] == ["staff"]
        assert not world.tokens()
        await world.withdraw("web")
        await world.completed("web")
        assert list(world.account.policies) == [staff["id"]]


@virtual_time
async def test_secret_of_others_is_neither_used_nor_changed() -> None:
    async with working() as world:
        foreign = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": NAME, "namespace": "shop"},
            "data": {"client_id": "eA=="},
        }
        await world.stage.user.create(SECRET, foreign)
        await world.apply(task("web", access=EMAILS, token={}, adopt=True))
        message = await world.failed("web", "SecretConflict")
        assert NAME in message
        assert not world.tokens()
        assert not world.account.applications
        secret = await world.secret(NAME)
        assert secret is not None
        assert secret["data"] == {"client_id": "eA=="}
        await world.stage.user.delete(SECRET, Key("shop", NAME))
        await _settled(world)


@pytest.mark.parametrize("adopt", [False, True])
@virtual_time
async def test_token_of_others_of_that_name_is_not_taken(adopt: bool) -> None:
    async with working() as world:
        world.act("POST", "service_tokens", {"name": "web-service-token"})
        await world.apply(task("web", access=EMAILS, token={}, adopt=adopt))
        await world.failed("web", "ServiceTokenConflict")
        assert len(world.tokens()) == 1
        assert await world.secret(NAME) is None


@virtual_time
async def test_recorded_token_of_another_name_is_not_taken() -> None:
    async with working() as world:
        other = world.act("POST", "service_tokens", {"name": "somebody-elses"})
        recorded = {
            "kind": "ServiceToken",
            "id": other["id"],
            "name": "web-service-token",
            "unconfirmed": True,
        }
        await world.apply(task("web", access=EMAILS, token={}, inventory=[recorded]))
        await world.completed("web")
        assert {one["name"] for one in world.tokens()} == {"somebody-elses", "web-service-token"}
        secret = await world.secret(NAME)
        assert secret is not None
        assert credentials(secret)[0] != other["client_id"]


@virtual_time
async def test_lost_secret_is_replaced_by_rotation() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS, token={}))
        before = await _settled(world)
        (token,) = world.tokens()
        await world.stage.user.delete(SECRET, Key("shop", NAME))
        await world.apply(task("web", access=EMAILS, token={"rotation": "again"}))
        after = await _settled(world)
        assert [one["id"] for one in world.tokens()] == [token["id"]]
        assert credentials(after) != credentials(before)


@pytest.mark.parametrize(("grace", "hours"), [("", 24), ("2h", 2)])
@pytest.mark.parametrize("loss", ["deleted", "emptied", "overwritten"])
def test_programs_that_have_lost_credentials_work_until_the_grace_period_ends(
    loss: str, grace: str, hours: int
) -> None:
    """A Secret that somebody deletes is no request to lock out whoever has read it."""

    async def scenario() -> None:
        async with working() as world:
            token = {"rotationGrace": grace} if grace else {}
            await world.apply(task("web", access=EMAILS, token=token))
            before, key = await _settled(world), Key("shop", NAME)
            if loss == "deleted":
                await world.stage.user.delete(SECRET, key)
            else:
                lost = None if loss == "emptied" else "b3RoZXI="
                data = {"client_id": lost, "client_secret": lost}
                await world.stage.user.merge_patch(SECRET, key, {"data": data})
            await world.apply(task("web", access=EMAILS, token=token, logLevel="DEBUG"))
            after = await _settled(world)
            assert credentials(after) != credentials(before)
            assert world.opens(before)
            assert world.opens(after)
            await world.elapse(hours=hours - 0.1)
            assert world.opens(before)
            await world.elapse(hours=0.2)
            assert not world.opens(before)
            assert world.opens(after)

    run_virtual(scenario)


@virtual_time
async def test_rotation_that_never_reached_cloudflare_locks_nobody_out_when_it_is_repeated() -> None:
    async with working(start=False) as world:
        crash = _Crash(world, "RotateServiceToken", "before")
        world.stage.start_operator(hooks=(crash,))
        await world.apply(task("web", access=EMAILS, token={}))
        before = await _settled(world)
        await world.apply(task("web", access=EMAILS, token={"rotation": "r1", "rotationGrace": "1h"}))
        await world.until(lambda: crash._is_done)
        await world.until(lambda: world.phase("web") == "Completed")
        assert world.opens(before)
        await world.elapse(hours=2)
        assert not world.opens(before)


@virtual_time
async def test_credentials_that_were_never_stored_are_worthless_at_once() -> None:
    async with working(start=False) as world:
        crash = _Crash(world, "POST secrets", "before")
        world.stage.start_operator(hooks=(crash,))
        await world.apply(task("web", access=EMAILS, token={}))
        await _settled(world)
        assert crash._is_done
        (valid,) = [
            [one for one in secrets if one.until is None or one.until > world.stage.clock.now()]
            for secrets in world.account.secrets.values()
        ]
        assert len(valid) == 1


@virtual_time
async def test_requested_rotation_leaves_the_old_secret_valid_for_the_grace_period() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS, token={}))
        before = await _settled(world)
        await world.apply(task("web", access=EMAILS, token={"rotation": "r1", "rotationGrace": "1h"}))
        after = await _settled(world)
        assert credentials(after) != credentials(before)
        assert world.opens(before)
        await world.elapse(minutes=61)
        assert not world.opens(before)
        assert world.opens(after)
        writes = len(world.cloud.journal.writes())
        await world.apply(task("web", access=EMAILS, token={"rotation": "r1", "rotationGrace": "2h"}))
        await world.completed("web")
        assert len(world.cloud.journal.writes()) == writes


@virtual_time
async def test_token_is_refreshed_before_it_expires() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS, token={"duration": "100h"}))
        await _settled(world)
        await world.elapse(hours=80)
        await world.apply(task("web", access=EMAILS, token={"duration": "100h", "rotationGrace": "1h"}))
        await world.completed("web")
        (token,) = world.tokens()
        assert parse_timestamp(token["expires_at"]) > world.cloud.clock.now() + timedelta(hours=99)


@virtual_time
async def test_changed_duration_moves_the_end_of_the_token() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS, token={}))
        before = await _settled(world)
        await world.apply(task("web", access=EMAILS, token={"duration": "24h"}))
        assert await _settled(world) == before
        (token,) = world.tokens()
        assert token["duration"] == "24h"
        assert parse_timestamp(token["expires_at"]) < world.cloud.clock.now() + timedelta(hours=25)


@virtual_time
async def test_lost_answer_to_the_creation_leads_to_one_token() -> None:
    async with working() as world:
        world.cloud.faults.add(Fault("lost", method="POST", path="*/service_tokens"))
        await world.apply(task("web", access=EMAILS, token={}))
        await _settled(world)
        assert world.cloud.journal.count("POST /accounts/{account}/access/service_tokens") == 1


@virtual_time
async def test_lost_answer_to_a_rotation_leads_to_another_one() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS, token={}))
        await _settled(world)
        world.cloud.faults.add(Fault("lost", method="POST", path="*/rotate"))
        await world.apply(task("web", access=EMAILS, token={"rotation": "r1"}))
        secret = await _settled(world)
        assert "edgekeeper.io/rotating" not in secret["metadata"]["annotations"]


class _Crash:
    """Kills the worker before or after one call of a kind."""

    def __init__(self, world: World, operation: str, moment: str) -> None:
        self._world, self._operation, self._moment, self._is_done = world, operation, moment, False

    async def before(self, call: CallRecord) -> None:
        await self._strike(call, "before")

    async def after(self, call: CallRecord) -> None:
        await self._strike(call, "after")

    async def _strike(self, call: CallRecord, moment: str) -> None:
        if not self._is_done and moment == self._moment and call.operation.startswith(self._operation):
            self._is_done = True
            await self._world.stage.crash()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "operation",
    ["CreateServiceToken", "POST secrets", "CreateApplication", "PutTunnelConfiguration", "ChangeDnsRecords"],
)
def test_crash_leaves_one_live_token_with_its_secret_stored(operation: str, moment: str) -> None:
    async def scenario() -> None:
        async with working(start=False) as world:
            world.estate.guarded.add("web.example.com")
            crash = _Crash(world, operation, moment)
            world.stage.start_operator(hooks=(crash,))
            await world.apply(task("web", access=EMAILS, token={}))
            await _settled(world)
            assert crash._is_done
            assert len(world.stage.lives) == 2
            assert len(world.account.applications) == 1
            assert len(world.records()) == 1

    run_virtual(scenario)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("operation", ["RotateServiceToken", "PATCH secrets"])
def test_crash_around_a_rotation_leaves_a_secret_that_works(operation: str, moment: str) -> None:
    async def scenario() -> None:
        async with working(start=False) as world:
            crash = _Crash(world, operation, moment)
            world.stage.start_operator(hooks=(crash,))
            await world.apply(task("web", access=EMAILS, token={}))
            await _settled(world)
            await world.apply(task("web", access=EMAILS, token={"rotation": "r1", "rotationGrace": "1h"}))
            await world.until(lambda: crash._is_done)
            await world.until(lambda: world.phase("web") == "Completed")
            await world.elapse(hours=2)
            secret = await _settled(world)
            assert secret["metadata"]["annotations"]["edgekeeper.io/rotation"] == "r1"

    run_virtual(scenario)
