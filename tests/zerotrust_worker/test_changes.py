"""Changes of a task: what is changed in place, what is withdrawn, and when."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.zerotrust_worker.world import EMAILS, task, working

TWO: JsonObject = {"enabled": True, "allowEmails": ["a@example.com", "b@example.com"]}


@virtual_time
async def test_changed_policy_is_written_in_place_with_unchanged_ids() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        before = world.status("web")["result"]
        calls = world.calls()
        await world.apply(task("web", access=TWO))
        await world.completed("web")
        after = world.status("web")["result"]
        assert after == before
        (policy,) = world.policies("web.example.com")
        assert policy["include"] == [{"email": {"email": address}} for address in TWO["allowEmails"]]
        assert world.calls() - calls == 2  # one to look, one to write


@virtual_time
async def test_changed_setting_is_written_with_the_policies_as_they_are() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        before = world.status("web")["result"]
        calls = world.calls()
        await world.apply(task("web", access={**EMAILS, "sessionDuration": "8h"}))
        await world.completed("web")
        application = world.application("web.example.com")
        assert application is not None
        assert application["session_duration"] == "8h"
        assert world.status("web")["result"] == before
        assert world.calls() - calls == 2


@virtual_time
async def test_unchanged_task_costs_no_call() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        calls = world.cloud.journal.writes()
        await world.apply(task("web", access=EMAILS, adopt=True))  # another generation that asks for the same
        await world.completed("web")
        assert world.cloud.journal.writes() == calls


@virtual_time
async def test_renamed_hostname_is_published_before_the_old_one_is_withdrawn() -> None:
    async with working() as world:
        world.estate.guarded |= {"web.example.com", "shop.example.com"}
        await world.apply(task("web", "web.example.com", access=EMAILS))
        await world.completed("web")
        before = world.status("web")["result"]
        await world.apply(task("web", "shop.example.com", access=EMAILS))
        await world.completed("web")
        assert world.application("web.example.com") is None
        application = world.application("shop.example.com")
        assert application is not None
        assert application["self_hosted_domains"] == ["shop.example.com"]
        assert not world.rules("web.example.com")
        assert not world.records("web.example.com")
        assert world.rules("shop.example.com")
        assert world.records("shop.example.com")
        after = world.status("web")["result"]
        assert after["accessAppId"] == before["accessAppId"]
        assert {item.name for item in world.inventory("web") if item.kind == "TunnelHostname"} == {
            "shop.example.com"
        }


@virtual_time
async def test_all_of_five_hostnames_can_be_renamed() -> None:
    old = [f"a{n}.example.com" for n in range(5)]
    new = [f"b{n}.example.com" for n in range(5)]
    async with working() as world:
        world.estate.guarded |= {*old, *new}
        await world.apply(task("web", *old, access=EMAILS))
        await world.completed("web")
        await world.apply(task("web", *new, access=EMAILS))
        await world.completed("web")
        assert {rule["hostname"] for rule in world.estate.rules()} == set(new)
        assert {record["name"] for record in world.records()} == set(new)


@virtual_time
async def test_several_hostnames_share_an_application() -> None:
    async with working() as world:
        world.estate.guarded |= {"a.example.com", "b.example.com", "c.example.com"}
        await world.apply(task("web", "a.example.com", "b.example.com", access=EMAILS))
        await world.completed("web")
        assert len(world.account.applications) == 1
        await world.apply(task("web", "a.example.com", "c.example.com", access=EMAILS))
        await world.completed("web")
        application = world.application("a.example.com")
        assert application is not None
        assert application["self_hosted_domains"] == ["a.example.com", "c.example.com"]
        assert not world.rules("b.example.com")
        assert not world.records("b.example.com")


@virtual_time
async def test_changed_tunnel_moves_the_hostname() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        other = world.cloud.add_tunnel(world.account.id, "other")
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        await world.apply(task("web", access=EMAILS, tunnelId=other))
        await world.completed("web")
        assert not world.rules("web.example.com", world.estate.tunnel)
        assert world.rules("web.example.com", other)
        assert [record["content"] for record in world.records()] == [f"{other}.cfargotunnel.com"]


@virtual_time
async def test_switched_off_access_removes_the_lock_before_the_application() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        world.cloud.journal.clear()
        await world.apply(task("web", access={"enabled": False}))
        await world.completed("web")
        assert not world.account.applications
        (rule,) = world.rules("web.example.com")
        assert "access" not in rule.get("originRequest", {})
        operations = [entry.operation.split("/")[-1] for entry in world.cloud.journal.writes()]
        assert operations == ["configurations", "{application}"]
        assert not [item for item in world.inventory("web") if item.kind.startswith("Access")]


@virtual_time
async def test_change_to_dns_only_replaces_the_record_and_removes_the_rule() -> None:
    async with working() as world:
        await world.apply(task("web"))
        await world.completed("web")
        records = {"enabled": True, "targets": [{"type": "A", "content": "10.0.0.1"}], "ttl": 120}
        await world.apply(task("web", tunnel={"enabled": False}, cname=False, records=records))
        await world.completed("web")
        assert not world.rules("web.example.com")
        assert [(one["type"], one["content"]) for one in world.records()] == [("A", "10.0.0.1")]
        assert world.status("web")["result"]["dnsRecordIp"] == "10.0.0.1"


@virtual_time
async def test_external_dns_writes_no_record() -> None:
    async with working() as world:
        await world.apply(task("web", "web.elsewhere.org", cname=False))
        await world.completed("web")
        assert world.rules("web.elsewhere.org")
        assert not world.records()


@virtual_time
async def test_new_generation_while_a_task_is_carried_out_is_what_counts() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS))
        await world.until(lambda: bool(world.account.applications))
        await world.apply(task("web", access=TWO))
        await world.completed("web")
        (policy,) = world.policies("web.example.com")
        assert len(policy["include"]) == 2
        assert len(world.account.applications) == 1


@virtual_time
async def test_withdrawn_task_leaves_nothing() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        await world.apply(task("web", access=EMAILS, token={}))
        await world.completed("web")
        world.cloud.journal.clear()
        await world.withdraw("web")
        await world.completed("web")
        assert not world.account.applications
        assert not world.account.policies
        assert not world.tokens()
        assert not world.records()
        assert not world.estate.rules()
        assert await world.secret("web-cfzt-service-token") is None
        assert not world.inventory("web")
        order = [entry.operation.split("/")[-1] for entry in world.cloud.journal.writes()]
        assert order == ["batch", "configurations", "{application}", "{token}"]


@virtual_time
async def test_withdrawal_of_what_is_gone_succeeds() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS, token={}))
        await world.completed("web")
        world.account.applications.clear()
        world.account.service_tokens.clear()
        world.estate.zone.records.clear()
        path = f"/accounts/{world.account.id}/cfd_tunnel/{world.estate.tunnel}/configurations"
        world.cloud.act("PUT", path, {"config": {"ingress": [{"service": "http_status:404"}]}})
        await world.withdraw("web")
        await world.completed("web")
        assert not world.inventory("web")


@virtual_time
async def test_orphaned_task_leaves_everything_without_our_marks() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        await world.apply(task("web", access=EMAILS, token={}))
        await world.completed("web")
        await world.withdraw("web", orphan=True)
        await world.completed("web")
        application = world.application("web.example.com")
        assert application is not None
        assert application["tags"] == []
        assert world.policies("web.example.com")
        (record,) = world.records()
        assert not record["comment"]
        assert world.rules("web.example.com")
        assert world.tokens()
        secret = await world.secret("web-cfzt-service-token")
        assert secret is not None
        assert "edgekeeper.io/owner" not in secret["metadata"].get("annotations", {})
        assert world.opens(secret)
        assert not world.inventory("web")
