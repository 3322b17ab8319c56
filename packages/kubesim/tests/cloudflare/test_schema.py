"""Requests of our client and answers of the simulation have the shapes that the provider declares."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from edgekeeper.cloud.cloudflare.client import CloudflareClient
from edgekeeper.cloud.cloudflare.models import DnsRecord
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, WantedRecord, plan_change
from edgekeeper.cloud.cloudflare.records import Records
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange, merge
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.core.json import JsonObject
from packages.kubesim.tests.cloudflare.golden import problems, schema
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


@dataclass
class Recorder:
    """A sender that hands on to the simulation and keeps what it saw."""

    world: World
    requests: list[tuple[str, str, JsonObject]] = field(default_factory=list)
    answers: list[tuple[str, str, Any]] = field(default_factory=list)

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        status, sent, answer = await self.world.cloud.send(method, url, headers, body)
        path = self.world.cloud.journal.entries[-1].operation.partition(" ")[2]
        if body:
            self.requests.append((method, path, msgspec.json.decode(body)))
        if status == 200:
            self.answers.append((method, path, msgspec.json.decode(answer)["result"]))
        return status, sent, answer


async def _use_everything(world: World) -> Recorder:
    """Our client through all that it can do, with every field that it can set."""
    recorder = Recorder(world)
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
    await access.applications_of("app.example.com")
    await access.policy(policy.id)
    [page async for page in access.policy_pages()]
    world.cloud.act(
        "POST", f"/accounts/{world.owner.id}/access/groups", {"name": "engineers", "include": include}
    )
    [page async for page in access.group_pages()]


async def _use_service_tokens(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("app", "8760h")
    await tokens.refresh(made.id)
    await tokens.rotate(made.id, old_until=world.cloud.clock.now() + timedelta(hours=1))
    await tokens.get(made.id)
    await tokens.find("app")


def _anonymous(template: str) -> str:
    """A path without the names of its ids, which differ."""
    return re.sub(r"\{\w+\}", "{}", template.partition("#")[0])


_OBJECTS = {
    "/zones": "zone",
    "/zones/{zone}/dns_records": "dns record",
    "/accounts/{account}/cfd_tunnel/{tunnel}/configurations": "tunnel configuration",
    "/accounts/{account}/cfd_tunnel/{tunnel}": "tunnel",
    "/accounts/{account}/access/apps": "access app self_hosted",
    "/accounts/{account}/access/apps/{application}": "access app self_hosted",
    "/accounts/{account}/access/policies": "access policy",
    "/accounts/{account}/access/policies/{policy}": "access policy",
    "/accounts/{account}/access/groups": "access group",
    "/accounts/{account}/access/service_tokens/{token}": "service token",
    "/accounts/{account}/access/service_tokens/{token}/refresh": "service token",
    "/accounts/{account}/access/service_tokens/{token}/rotate": "service token rotate",
}
_WITHOUT_SCHEMA = {
    *("/user/tokens/verify", "/accounts/{account}/tokens/verify", "/accounts/{account}/access/organizations"),
    "/accounts/{account}/access/tags",
}


def _object_name(method: str, path: str) -> str:
    if path.endswith("/service_tokens"):
        return "service token create" if method == "POST" else "service token"
    return _OBJECTS[path]


@in_virtual_time
async def test_requests_of_the_client_fit_the_providers_schema(world: World) -> None:
    declared = {_anonymous(name): part for name, part in schema()["requests"].items()}
    recorder = await _use_everything(world)
    checked = 0
    for method, path, body in recorder.requests:
        if path.endswith("/batch"):
            part = declared["POST /zones/{}/dns_records"]
            bodies = body.get("posts", [])
        elif path in _WITHOUT_SCHEMA:
            continue
        else:
            part, bodies = declared[_anonymous(f"{method} {path}")], [body]
        for one in bodies:
            checked += 1
            assert not list(problems(part, one)), (method, path, one)
    assert checked >= 10


@in_virtual_time
async def test_answers_of_the_simulation_fit_the_providers_schema(world: World) -> None:
    declared = schema()["responses"]
    recorder = await _use_everything(world)
    seen: set[str] = set()
    for method, path, result in recorder.answers:
        if path in _WITHOUT_SCHEMA:
            continue
        if path.endswith("/batch"):
            name, results = "dns record", [item for items in result.values() for item in items]
        else:
            name, results = _object_name(method, path), result if isinstance(result, list) else [result]
        seen.add(name)
        for one in results:
            assert not list(problems(declared[name], one)), (method, path, one)
    assert seen == declared.keys()


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
