"""Requests of our client and answers of the simulation have the shapes that the provider declares."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.access import Access
from edgekeeper.cloud.cloudflare.client import CloudflareClient
from edgekeeper.cloud.cloudflare.models import DnsRecord
from edgekeeper.cloud.cloudflare.operations import Endpoint
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, WantedRecord, plan_change
from edgekeeper.cloud.cloudflare.records import Records
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange, merge
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.core.json import JsonObject
from packages.kubesim.tests.cloudflare.golden import Exchange, problems, request_schema, schema
from tests.unit.cloud.cloudflare.world import World, in_virtual_time

_TUNNEL_RULES = (
    TunnelRule("a.example.com", "https://origin:8443", "^/api", {"noTLSVerify": True, "tlsTimeout": 10}),
    TunnelRule(
        "a.example.com",
        "http://origin:80",
        "",
        {"access": {"required": True, "teamName": "t", "audTag": ["x"]}},
    ),
)
_MARK = "cfzt:v1 o=0123456789ab"


async def _use_everything(world: World) -> Exchange:
    """Our client through all that it can do, with every field that it can set."""
    recorder = Exchange(world.cloud)
    client = CloudflareClient(world.transport, recorder, world.credential, world.base_url)
    world.cloudflare._sender = recorder
    account = world.cloudflare.account(world.credential, world.owner.id)
    await account.verify()
    await account.zones.refresh()
    await _use_records(Records(client, world.zone.id))
    config = merge(None, [HostnameChange("a.example.com", _TUNNEL_RULES)]).config
    assert config is not None
    await account.tunnels.put_configuration(world.tunnel, config)
    await account.tunnels.configuration(world.tunnel)
    await account.tunnels.get(world.tunnel)
    await account.tunnels.all()
    await _use_access(world)
    await _use_service_tokens(world)
    return recorder


async def _use_records(records: Records) -> None:
    wanted = (WantedRecord("A", "192.0.2.1", ttl=120), WantedRecord("AAAA", "2001:db8::1", proxied=True))
    await records.change([plan_change(RecordChange("a.example.com", _MARK, wanted), [])])
    there: list[DnsRecord] = list((await records.all()).values())
    cname = RecordChange("b.example.com", _MARK, (WantedRecord("CNAME", "t.cfargotunnel.com", proxied=True),))
    moved = RecordChange("a.example.com", _MARK, (WantedRecord("A", "192.0.2.2", ttl=60),))
    await records.change([plan_change(cname, []), plan_change(moved, there)])


async def _use_access(world: World) -> None:
    access = world.account.access
    await access.organization()
    await access.ensure_tag("cfzt")
    include = [
        {"email": {"email": "a@example.com"}},
        {"email_domain": {"domain": "example.com"}},
        {"everyone": {}},
    ]
    fields: JsonObject = {"name": "people", "decision": "allow", "include": include, "session_duration": "1h"}
    policy = await access.create_policy(fields)
    await access.put_policy(policy.id, {**fields, "exclude": [{"ip": {"ip": "192.0.2.0/24"}}]})
    settings: JsonObject = {
        "name": "app",
        "domain": "app.example.com",
        "destinations": [{"type": "public", "uri": "app.example.com"}],
        "session_duration": "8h",
        "tags": ["cfzt"],
        "http_only_cookie_attribute": True,
        "same_site_cookie_attribute": "lax",
        "app_launcher_visible": False,
        "custom_deny_message": "no",
    }
    made = await access.create_application(settings, [{"id": policy.id, "precedence": 1}])
    await access.put_application(made.id, settings, [policy.id])
    await access.application(made.id)
    await access.policy(policy.id)
    [page async for page in access.policy_pages()]
    world.cloud.act(
        "POST", f"/accounts/{world.owner.id}/access/groups", {"name": "engineers", "include": include}
    )
    [page async for page in access.group_pages()]
    provider = {"name": "okta", "type": "okta", "config": {}}
    world.cloud.act("POST", f"/accounts/{world.owner.id}/access/identity_providers", provider)
    [page async for page in access.identity_provider_pages()]
    [page async for page in access.application_pages()]
    await _use_application_policies(access, settings, fields)
    await access.delete_application(made.id)
    await access.delete_policy(policy.id)


async def _use_application_policies(access: Access, settings: JsonObject, fields: JsonObject) -> None:
    own = {
        **settings,
        "domain": "own.example.com",
        "destinations": [{"type": "public", "uri": "own.example.com"}],
    }
    made = await access.create_application(own, [{**fields, "precedence": 1}])
    made = await access.create_application_policy(made, {**fields, "name": "more", "precedence": 2})
    first, second = made.policies
    made = await access.put_application_policy(made, first.id, {**fields, "name": "renamed", "precedence": 1})
    await access.delete_application_policy(made, second.id)


async def _use_service_tokens(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("app", "8760h")
    await tokens.refresh(made.id)
    await tokens.rotate(made.id, old_until=world.cloud.clock.now() + timedelta(hours=1))
    await tokens.get(made.id)
    await tokens.find("app")
    await tokens.update(made.id, "renamed", "24h")
    [page async for page in tokens.pages()]
    await tokens.delete(made.id)


@in_virtual_time
async def test_requests_and_answers_of_all_operations_fit_the_providers_schema(world: World) -> None:
    exchange = await _use_everything(world)
    assert exchange.refused() == []


@in_virtual_time
async def test_schema_is_checked_for_every_operation_that_the_client_has(world: World) -> None:
    endpoints = [one for one in vars(operations).values() if isinstance(one, Endpoint)]
    declared = {f"{one.method} {one.template}" for one in endpoints}
    # A token verifies itself in one of two places, by its kind.
    declared.discard("GET /accounts/{account}/tokens/verify")
    schema()
    assert declared - (await _use_everything(world)).operations == set()


@pytest.mark.parametrize(
    ("operation", "spoil"),
    [
        ("POST /accounts/{account_id}/access/apps#self_hosted", lambda body: body.pop("domain")),
        ("POST /accounts/{account_id}/access/policies", lambda body: body.update(decision="maybe")),
        ("POST /accounts/{account_id}/access/policies", lambda body: body.update(name=5)),
        ("POST /zones/{zone_id}/dns_records", lambda body: body.pop("ttl")),
    ],
    ids=["missing", "enumeration", "type", "ttl"],
)
def test_check_finds_what_is_wrong(operation: str, spoil: Callable[[JsonObject], object]) -> None:
    """Or the tests above would prove nothing."""
    bodies: dict[str, JsonObject] = {
        "apps#self_hosted": {"type": "self_hosted", "domain": "a.example.com"},
        "policies": {"name": "n", "decision": "allow", "include": [{"everyone": {}}]},
        "dns_records": {"type": "A", "name": "a", "content": "192.0.2.1", "ttl": 1},
    }
    part = schema()["requests"][operation]
    body = bodies[operation.rsplit("/", 1)[-1]]
    assert not list(problems(part, body))
    spoil(body)
    assert list(problems(part, body))


@pytest.mark.parametrize(
    ("operation", "body", "problem"),
    [
        (
            "PUT /accounts/{}/access/apps/{}/policies/{}",
            {"name": "n", "decision": "allow"},
            "include is missing",
        ),
        (
            "POST /accounts/{}/access/apps/{}/policies",
            {"name": "n", "decision": "allow", "include": [{"email": {"mail": "x"}}]},
            "include[0]",
        ),
        ("PUT /accounts/{}/access/service_tokens/{}", {"nam": "x"}, "nam is not declared"),
        ("POST /accounts/{}/access/tags", {"name": 5}, "is no string"),
        (
            "POST /zones/{}/dns_records/batch",
            {"puts": [{"type": "A", "name": "a", "content": "192.0.2.1", "ttl": 1}]},
            "id is missing",
        ),
        ("POST /zones/{}/dns_records/batch", {"deletes": [{}]}, "id is missing"),
        (
            "POST /accounts/{}/access/apps",
            {
                "type": "self_hosted",
                "domain": "a.example.com",
                "policies": [{"name": "n", "decision": "allow"}],
            },
            "policies[0]",
        ),
    ],
)
def test_check_finds_what_is_wrong_with_a_request(operation: str, body: JsonObject, problem: str) -> None:
    method, path = operation.split(" ")
    found = list(problems(request_schema(method, path), body, strict=True))
    assert len(found) == 1
    assert problem in found[0]
