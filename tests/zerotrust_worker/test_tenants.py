"""The status of tenants: token, tunnel, summary; written only when something has changed."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta

from edgekeeper.controllers.zerotrust.worker import TENANT
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import SECRET, Key
from kubesim.virtual import virtual_time
from tests.zerotrust_worker.test_drift import ACCESS, published
from tests.zerotrust_worker.world import NAMESPACE_NAME, World, add_credential, tenant, working


def _tenant(world: World) -> JsonObject:
    return next(one for one in world.stage.objects() if one["kind"] == TENANT.kind)


def _ready(world: World) -> tuple[str, str, str]:
    conditions = dig(_tenant(world), "status", "conditions") or [{}]
    ready = conditions[0]
    return str(ready.get("status")), str(ready.get("reason")), str(ready.get("message"))


@virtual_time
async def test_tenant_shows_token_and_tunnel() -> None:
    async with working() as world:
        world.cloud.connect(world.account.id, world.estate.tunnel)
        world.estate.token.expires = world.cloud.clock.now() + timedelta(days=90)
        await world.stage.user.create(TENANT, tenant(world.estate))
        await world.until(lambda: _ready(world)[1] == "ReconcileSuccess")
        status = _tenant(world)["status"]
        assert status["token"]["status"] == "active"
        assert status["token"]["expiresAt"].startswith("2026-04-01")
        assert status["tunnel"]["connected"] is True
        assert status["tunnel"]["name"] == "main"
        assert status["tunnel"]["since"]
        assert status["observedGeneration"] == 1
        world.cloud.connect(world.account.id, world.estate.tunnel, connected=False)
        await world.elapse(minutes=11)
        assert _tenant(world)["status"]["tunnel"]["connected"] is False


@virtual_time
async def test_tenant_status_is_written_only_when_something_changes() -> None:
    async with working() as world:
        await world.stage.user.create(TENANT, tenant(world.estate))
        await world.until(lambda: _ready(world)[1] == "ReconcileSuccess")
        version = _tenant(world)["metadata"]["resourceVersion"]
        calls = world.calls()
        await world.elapse(hours=1)
        assert _tenant(world)["metadata"]["resourceVersion"] == version
        assert world.calls() - calls <= 36


@virtual_time
async def test_tenant_without_its_secret_says_so_and_recovers() -> None:
    async with working(credential=False) as world:
        await world.stage.user.create(TENANT, tenant(world.estate))
        await world.until(lambda: _ready(world)[1] == "CredentialNotFound")
        assert "cloudflare-zero-trust/cloudflare" in _ready(world)[2]
        assert not world.calls()
        await add_credential(world.stage, world.estate.token.value)
        await world.until(lambda: _ready(world)[1] == "ReconcileSuccess")
        await world.stage.user.merge_patch(
            SECRET, Key(NAMESPACE_NAME, "cloudflare"), {"data": {"token": None}}
        )
        await world.until(lambda: _ready(world)[1] == "CredentialNotFound")
        assert "token" in _ready(world)[2]


@virtual_time
async def test_tenant_with_a_refused_token_says_so_and_recovers() -> None:
    async with working() as world:
        world.estate.token.status = "disabled"
        await world.stage.user.create(TENANT, tenant(world.estate))
        await world.until(lambda: _ready(world)[1] == "CloudflareAPIError")
        fresh = world.cloud.add_token().value
        data = {"token": b64encode(fresh.encode()).decode()}
        await world.stage.user.merge_patch(SECRET, Key(NAMESPACE_NAME, "cloudflare"), {"data": data})
        await world.until(lambda: _ready(world)[1] == "ReconcileSuccess")


@virtual_time
async def test_tenant_says_that_its_tunnel_does_not_exist() -> None:
    async with working() as world:
        missing = "00000000-0000-0000-0000-000000000000"
        await world.stage.user.create(TENANT, tenant(world.estate, tunnelId=missing))
        await world.until(lambda: _ready(world)[1] == "CloudflareAPIError")
        assert missing in _ready(world)[2]


@virtual_time
async def test_tenant_counts_what_its_routes_have() -> None:
    async with working() as world:
        await world.stage.user.create(TENANT, tenant(world.estate))
        await published(world, "a.example.com", "b.example.com", access=ACCESS, token={})
        await world.elapse(minutes=1)
        assert _tenant(world)["status"]["summary"] == {
            "managedHTTPRoutes": 1,
            "hostnameRoutes": 2,
            "accessApplications": 1,
            "accessPolicies": 2,
            "serviceTokens": 1,
        }
