"""Tasks that publish: what exists then, and in which order it came to be."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.zerotrust_worker.world import EMAILS, task, working


@virtual_time
async def test_task_publishes_a_hostname_with_its_record() -> None:
    async with working() as world:
        await world.apply(task("web"))
        await world.completed("web")
        (rule,) = world.rules("web.example.com")
        (record,) = world.records("web.example.com")
        assert rule["service"] == "http://web.shop.svc:80"
        assert (record["type"], record["content"]) == ("CNAME", f"{world.estate.tunnel}.cfargotunnel.com")
        assert record["comment"].startswith("edgekeeper ")
        assert record["comment"].endswith(" shop/web")
        status = world.status("web")
        assert status["message"] == "All Cloudflare operations succeeded"
        assert status["workerPod"] == "worker-1"
        assert status["result"]["hostnameRouteId"] == world.estate.tunnel
        assert status["result"]["cnameRecordId"] == record["id"]


@virtual_time
async def test_task_protects_a_hostname_before_it_is_reachable() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        application = world.application("web.example.com")
        assert application is not None
        (policy,) = world.policies("web.example.com")
        assert policy["include"] == [{"email": {"email": "a@example.com"}}]
        (rule,) = world.rules("web.example.com")
        lock = {"required": True, "teamName": "acme", "audTag": [application["aud"]]}
        assert rule["originRequest"]["access"] == lock
        order = [
            entry.operation.partition(" ")[2].rpartition("/")[2] for entry in world.cloud.journal.writes()
        ]
        assert order == ["tags", "apps", "configurations", "batch"]
