"""What is in the way: things of others are neither changed nor deleted, and the task says what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.faults import Fault
from kubesim.cloudflare.state import PERMISSIONS
from kubesim.virtual import run_virtual, virtual_time
from tests.zerotrust_worker.world import EMAILS, OPTIONS, World, task, working

FOREIGN: JsonObject = {"name": "people", "decision": "allow", "include": [{"everyone": {}}]}


def _foreign_application(world: World, domain: str = "web.example.com", **fields: Any) -> JsonObject:
    body = {"type": "self_hosted", "name": "theirs", "domain": domain, "policies": [FOREIGN], **fields}
    made: JsonObject = world.act("POST", "apps", body)
    return made


@virtual_time
async def test_application_of_others_is_a_conflict_until_adopted() -> None:
    async with working() as world:
        theirs = _foreign_application(world)
        await world.apply(task("web", access=EMAILS))
        message = await world.failed("web", "ApplicationConflict")
        assert theirs["id"] in message
        assert not world.cloud.journal.writes()
        await world.apply(task("web", access=EMAILS, adopt=True))
        await world.completed("web")
        application = world.application("web.example.com")
        assert application is not None
        assert application["id"] == theirs["id"]
        assert application["tags"]
        (policy,) = world.policies("web.example.com")
        assert policy["include"] == [{"email": {"email": "a@example.com"}}]


@virtual_time
async def test_application_that_is_as_wanted_is_adopted_by_its_tag_and_nothing_else() -> None:
    """Not even settings are written that have their defaults, so that nothing of it changes."""
    async with working() as world:
        policy = {"name": "theirs", "decision": "allow", "include": [{"email": {"email": "a@example.com"}}]}
        theirs = _foreign_application(world, policies=[policy], cors_headers={"max_age": 5})
        access = {**EMAILS, "name": "theirs", "policyName": "theirs"}
        await world.apply(task("web", access=access, adopt=True))
        await world.completed("web")
        adopted = world.application("web.example.com")
        assert adopted is not None
        assert adopted["tags"]
        same = {*theirs} - {"tags", "updated_at", "policies"}
        assert {name: adopted.get(name) for name in same} == {name: theirs[name] for name in same}
        assert adopted.keys() == theirs.keys()
        (kept,) = world.policies("web.example.com")
        assert kept["id"] == theirs["policies"][0]["id"]
        assert kept["updated_at"] == kept["created_at"]


@virtual_time
async def test_rule_with_empty_settings_of_its_origin_is_as_wanted() -> None:
    """The dashboard writes them. Nothing is adopted, and nothing is written."""
    async with working() as world:
        path = f"/accounts/{world.account.id}/cfd_tunnel/{world.estate.tunnel}/configurations"
        theirs = {"hostname": "web.example.com", "service": "http://web.shop.svc:80", "originRequest": {}}
        world.cloud.act("PUT", path, {"config": {"ingress": [theirs, {"service": "http_status:404"}]}})
        await world.apply(task("web", cname=False))
        await world.completed("web")
        assert not world.cloud.journal.writes()


@virtual_time
async def test_tunnel_checks_requests_unless_that_is_switched_off() -> None:
    async with working() as world:
        await world.apply(task("web", access=EMAILS))
        await world.apply(task("open", access={**EMAILS, "validateAtTunnel": False}))
        await world.completed("web", "open")
        (locked,), (unlocked,) = world.rules("web.example.com"), world.rules("open.example.com")
        assert locked["originRequest"]["access"]["required"] is True
        assert "originRequest" not in unlocked


@virtual_time
async def test_application_of_others_that_protects_more_is_not_adopted() -> None:
    async with working() as world:
        destinations = [{"type": "public", "uri": uri} for uri in ("web.example.com", "pay.example.com")]
        _foreign_application(world, destinations=destinations)
        await world.apply(task("web", access=EMAILS, adopt=True))
        await world.failed("web", "ApplicationConflict")
        assert not world.cloud.journal.writes()


@virtual_time
async def test_conflict_that_is_over_is_not_reported() -> None:
    async with working() as world:
        theirs = _foreign_application(world)
        await world.apply(task("other", access=EMAILS))
        await world.completed("other")  # the mirror has seen theirs
        world.act("DELETE", f"apps/{theirs['id']}")
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")


@virtual_time
async def test_rule_of_others_is_a_conflict_until_adopted() -> None:
    async with working() as world:
        path = f"/accounts/{world.account.id}/cfd_tunnel/{world.estate.tunnel}/configurations"
        theirs = {"hostname": "web.example.com", "service": "http://theirs"}
        config = {"ingress": [theirs, {"service": "http_status:503"}], "originRequest": {"connectTimeout": 5}}
        world.cloud.act("PUT", path, {"config": config})
        await world.apply(task("web"))
        await world.failed("web", "HostnameConflict")
        assert not world.cloud.journal.writes()
        await world.apply(task("web", adopt=True))
        await world.completed("web")
        config = world.cloud.act("GET", path)["config"]
        assert config["originRequest"] == {"connectTimeout": 5}
        assert config["ingress"][-1] == {"service": "http_status:503"}
        (rule,) = world.rules("web.example.com")
        assert rule["service"] == "http://web.shop.svc:80"


@virtual_time
async def test_foreign_rules_survive_publishing_and_withdrawal() -> None:
    async with working() as world:
        path = f"/accounts/{world.account.id}/cfd_tunnel/{world.estate.tunnel}/configurations"
        ingress = [
            {"hostname": "theirs.example.com", "service": "http://theirs"},
            {"hostname": "*.example.com", "service": "http://rest"},
            {"service": "http_status:404"},
        ]
        world.cloud.act("PUT", path, {"config": {"ingress": ingress, "warp-routing": {"enabled": True}}})
        await world.apply(task("web"))
        await world.completed("web")
        hostnames = [rule["hostname"] for rule in world.estate.rules()]
        assert hostnames == ["theirs.example.com", "web.example.com", "*.example.com"]
        await world.withdraw("web")
        await world.completed("web")
        config = world.cloud.act("GET", path)["config"]
        assert config["ingress"] == ingress
        assert config["warp-routing"] == {"enabled": True}


@virtual_time
async def test_record_of_others_is_a_conflict_before_anything_is_published() -> None:
    async with working() as world:
        body = {"type": "A", "name": "web.example.com", "content": "192.0.2.1", "ttl": 300}
        world.cloud.act("POST", f"/zones/{world.estate.zone.id}/dns_records", body)
        await world.apply(task("web", access=EMAILS))
        message = await world.failed("web", "RecordConflict")
        assert "192.0.2.1" in message
        assert not world.cloud.journal.writes()
        assert not world.account.applications


@virtual_time
async def test_second_cluster_in_an_account_writes_nothing() -> None:
    async with working() as first:
        await first.apply(task("web", access=EMAILS))
        await first.completed("web")
        estate = first.estate
        writes = estate.writes
        async with working(replace(OPTIONS, cluster="another"), outside=lambda _: estate) as second:
            await second.apply(task("web", access=EMAILS))
            await second.failed("web", "OwnedByOther")
            await second.apply(task("bare", "web.example.com"))
            await second.failed("bare", "OwnedByOther")
            await second.apply(task("web", access=EMAILS, adopt=True))
            await second.failed("web", "OwnedByOther")
        assert estate.writes == writes


@virtual_time
async def test_unknown_zone_stalls_before_anything_is_published() -> None:
    async with working() as world:
        await world.apply(task("web", "web.elsewhere.org", access=EMAILS))
        message = await world.failed("web", "ZoneNotFound")
        assert "web.elsewhere.org" in message
        assert not world.cloud.journal.writes()


@virtual_time
async def test_zone_of_the_longest_suffix_is_used_and_guarded() -> None:
    async with working() as world:
        inner = world.cloud.add_zone(world.account.id, "apps.example.com", plan="pro")
        await world.apply(task("web", "web.apps.example.com"))
        await world.completed("web")
        assert [record["name"] for record in inner.records.values()] == ["web.apps.example.com"]
        assert world.status("web")["result"]["resolvedZoneId"] == inner.id
        await world.apply(task("two", "two.apps.example.com", zoneId=world.estate.zone.id))
        await world.failed("two", "ZoneMismatch")


@virtual_time
async def test_zone_of_the_tenant_is_used_where_zones_may_not_be_listed() -> None:
    async with working() as world:
        token = world.cloud.world.tokens[world.estate.token.value]
        token.permissions = PERMISSIONS - {"Zone Read"}
        await world.apply(task("web", zoneId=world.estate.zone.id))
        await world.completed("web")
        assert world.records("web.example.com")


@pytest.mark.parametrize(
    ("access", "reason"),
    [
        ({"allowGroups": ["nobody"]}, "GroupNotFound"),
        ({"allowGroups": ["twins"]}, "AmbiguousGroup"),
        ({"existingPolicyNames": ["nobody"]}, "PolicyNotFound"),
        ({"allowedIdps": ["nobody"], "allowEmails": ["a@example.com"]}, "IdentityProviderNotFound"),
        ({"autoRedirectToIdentity": True, "allowEmails": ["a@example.com"]}, "AmbiguousIdentityProvider"),
        ({"applicationDomain": "*.example.com"}, "ApplicationNotFound"),
        ({}, "NoPolicy"),
    ],
)
def test_settings_that_cannot_be_resolved_publish_nothing(access: JsonObject, reason: str) -> None:
    async def scenario() -> None:
        async with working() as world:
            for _ in range(2):
                world.act("POST", "groups", {"name": "twins", "include": [{"everyone": {}}]})
            await world.apply(task("web", access={"enabled": True, **access}))
            await world.failed("web", reason)
            assert not world.cloud.journal.writes()

    run_virtual(scenario)


@virtual_time
async def test_groups_and_providers_are_resolved_to_ids() -> None:
    async with working() as world:
        group = world.act("POST", "groups", {"name": "staff", "include": [{"everyone": {}}]})
        okta = world.act("POST", "identity_providers", {"name": "Okta", "type": "okta", "config": {}})
        world.act("POST", "identity_providers", {"name": "Azure", "type": "azureAD", "config": {}})
        access = {
            "enabled": True,
            "allowGroups": ["staff"],
            "include": [{"identityProviderGroup": {"provider": "Okta", "group": "engineers"}}],
            "require": [{"country": "DE"}],
            "exclude": [{"ipRange": "192.0.2.0/24"}],
            "allowedIdps": ["Okta"],
            "autoRedirectToIdentity": True,
        }
        await world.apply(task("web", access=access))
        await world.completed("web")
        (policy,) = world.policies("web.example.com")
        rule = {"okta": {"name": "engineers", "identity_provider_id": okta["id"]}}
        assert policy["include"] == [{"group": {"id": group["id"]}}, rule]
        assert policy["require"] == [{"geo": {"country_code": "DE"}}]
        assert policy["exclude"] == [{"ip": {"ip": "192.0.2.0/24"}}]
        application = world.application("web.example.com")
        assert application is not None
        assert application["allowed_idps"] == [okta["id"]]
        writes = len(world.cloud.journal.writes())
        await world.apply(task("web", access=access, adopt=True))
        await world.completed("web")
        assert len(world.cloud.journal.writes()) == writes


@virtual_time
async def test_public_paths_pass_the_application_and_the_lock() -> None:
    async with working() as world:
        rules = [
            {"path": "^/healthz(?:/.*)?$", "service": "http://web.shop.svc:80", "public": True},
            {"path": "", "service": "http://web.shop.svc:80"},
        ]
        access = {**EMAILS, "publicPaths": ["/healthz"]}
        await world.apply(task("web", access=access, tunnel={"rules": rules}))
        await world.completed("web")
        public, locked = world.rules("web.example.com")
        assert public["path"] == "^/healthz(?:/.*)?$"
        assert "access" not in public.get("originRequest", {})
        assert locked["originRequest"]["access"]["required"] is True
        application = world.application("web.example.com")
        assert application is not None
        (destination,) = application["destinations"]
        assert [one["path_pattern"] for one in destination["overrides"]] == ["/healthz", "/healthz/*"]


@virtual_time
async def test_route_under_a_wildcard_application_has_none_of_its_own() -> None:
    async with working() as world:
        world.estate.guarded |= {"a.example.com"}
        await world.apply(task("all", "*.example.com", access=EMAILS))
        await world.completed("all")
        access = {"enabled": True, "applicationDomain": "*.example.com"}
        await world.apply(task("a", access=access))
        await world.completed("a")
        assert len(world.account.applications) == 1
        wildcard = world.application("*.example.com")
        assert wildcard is not None
        (rule,) = world.rules("a.example.com")
        assert rule["originRequest"]["access"]["audTag"] == [wildcard["aud"]]


@virtual_time
async def test_organisation_that_may_not_be_read_leaves_out_the_second_lock() -> None:
    async with working() as world:
        token = world.cloud.world.tokens[world.estate.token.value]
        token.permissions = PERMISSIONS - {"Access: Organizations, Identity Providers, and Groups Write"}
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        (rule,) = world.rules("web.example.com")
        assert "access" not in rule.get("originRequest", {})
        assert world.application("web.example.com")


@virtual_time
async def test_full_account_stalls_one_route_and_no_other() -> None:
    async with working() as world:
        world.account.quotas.applications = 1
        await world.apply(task("one", access=EMAILS))
        await world.completed("one")
        await world.apply(task("two", access=EMAILS))
        await world.apply(task("three"))
        await world.failed("two", "QuotaExceeded")
        await world.completed("three")
        assert not world.rules("two.example.com")
        assert not world.records("two.example.com")
        world.account.quotas.applications = 2
        await world.elapse(minutes=30)
        await world.completed("two")


@virtual_time
async def test_stale_ids_are_recreated() -> None:
    """Ids in the inventory of what is gone do not hold a task up."""
    async with working() as world:
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        (old,) = world.account.applications
        world.account.applications.clear()
        await world.elapse(minutes=10)
        await world.apply(task("web", access={**EMAILS, "sessionDuration": "1h"}))
        await world.completed("web")
        (new,) = world.account.applications
        assert new != old
        assert {item.id for item in world.inventory("web") if item.kind == "AccessApplication"} == {new}
        (rule,) = world.rules("web.example.com")
        assert rule["originRequest"]["access"]["audTag"] == [world.account.applications[new]["aud"]]


@virtual_time
async def test_ids_left_by_another_operator_are_taken_over_and_marked() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        application = _foreign_application(world)
        record = world.cloud.act(
            "POST",
            f"/zones/{world.estate.zone.id}/dns_records",
            {
                "type": "CNAME",
                "name": "web.example.com",
                "content": "old.cfargotunnel.com",
                "ttl": 1,
                "proxied": True,
            },
        )
        path = f"/accounts/{world.account.id}/cfd_tunnel/{world.estate.tunnel}/configurations"
        ingress = [{"hostname": "web.example.com", "service": "http://old"}, {"service": "http_status:404"}]
        world.cloud.act("PUT", path, {"config": {"ingress": ingress}})
        left = [
            InventoryItem("AccessApplication", application["id"], "web.example.com", unconfirmed=True),
            InventoryItem("DnsRecord", record["id"], "web.example.com", "", "CNAME", "", unconfirmed=True),
            InventoryItem("TunnelHostname", "", "web.example.com", world.estate.tunnel, unconfirmed=True),
        ]
        await world.apply(task("web", access=EMAILS, inventory=[_plain(item) for item in left]))
        await world.completed("web")
        live = world.application("web.example.com")
        assert live is not None
        assert live["id"] == application["id"]
        assert live["tags"]
        (changed,) = world.records()
        assert changed["id"] == record["id"]
        assert changed["content"] == f"{world.estate.tunnel}.cfargotunnel.com"
        assert changed["comment"].startswith("edgekeeper ")
        (rule,) = world.rules("web.example.com")
        assert rule["service"] == "http://web.shop.svc:80"
        assert not any(item.unconfirmed for item in world.inventory("web") if item.kind != "TunnelHostname")


@virtual_time
async def test_recorded_application_that_is_another_one_now_is_left_alone() -> None:
    async with working() as world:
        application = _foreign_application(world, "pay.example.com")
        item = InventoryItem("AccessApplication", application["id"], "web.example.com", unconfirmed=True)
        await world.apply(task("web", access=EMAILS, inventory=[_plain(item)]))
        await world.completed("web")
        await world.withdraw("web")
        await world.completed("web")
        assert list(world.account.applications) == [application["id"]]


@virtual_time
async def test_lost_answer_to_a_creation_is_found_again() -> None:
    async with working() as world:
        world.estate.guarded.add("web.example.com")
        world.cloud.faults.add(Fault("lost", method="POST", path="*/apps"))
        world.cloud.faults.add(Fault("lost", method="POST", path="*/batch"))
        world.cloud.faults.add(Fault("lost", method="PUT", path="*/configurations"))
        await world.apply(task("web", access=EMAILS))
        await world.completed("web")
        assert len(world.account.applications) == 1
        assert len(world.records()) == 1


def _plain(item: InventoryItem) -> JsonObject:
    plain: JsonObject = msgspec.to_builtins(item)
    return plain
