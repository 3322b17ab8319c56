"""Cloudflare's own SDK drives the simulation through every operation, and takes every answer as strictly as it can."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from edgekeeper.core.clock import SystemClock
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.faults import Fault
from kubesim.cloudflare.http import serving
from kubesim.cloudflare.operations import ROUTES
from kubesim.cloudflare.state import Account, Zone

# Imported like this for the type checker's sake, which would otherwise read thousands of generated files.
cloudflare: Any = import_module("cloudflare")

_CONFIGURATION_WRITE = "PUT /accounts/{account}/cfd_tunnel/{tunnel}/configurations"
"""Its answer has a test of its own."""
INCLUDE: Any = [{"email": {"email": "a@example.com"}}]


@dataclass
class Bench:
    """The simulation with the SDK in front of it."""

    sdk: Any
    cloud: CloudflareCloud
    account: Account
    zone: Zone


@asynccontextmanager
async def _bench(*, strict: bool = True) -> AsyncIterator[Bench]:
    cloud = CloudflareCloud(SystemClock())
    account = cloud.add_account("acme")
    zone = cloud.add_zone(account.id, "example.com", plan="pro")
    async with (
        serving(cloud) as base_url,
        cloudflare.AsyncCloudflare(
            api_token=cloud.add_token().value,
            base_url=base_url,
            max_retries=0,
            _strict_response_validation=strict,
        ) as sdk,
    ):
        yield Bench(sdk, cloud, account, zone)


async def _all(pages: Any) -> list[Any]:
    return [item async for item in pages]


async def _tokens(bench: Bench) -> None:
    assert (await bench.sdk.user.tokens.verify()).status == "active"
    owned = bench.cloud.add_token(owner=bench.account.id)
    sdk = bench.sdk.with_options(api_token=owned.value)
    assert (await sdk.accounts.tokens.verify(account_id=bench.account.id)).id == owned.id


async def _zones(bench: Bench) -> None:
    assert [zone.name for zone in await _all(bench.sdk.zones.list(name="example.com"))] == ["example.com"]
    assert (await bench.sdk.zones.get(zone_id=bench.zone.id)).name == "example.com"


async def _records(bench: Bench) -> None:
    records = bench.sdk.dns.records
    zone = {"zone_id": bench.zone.id}
    made: Any = await records.create(**zone, type="A", name="a", content="192.0.2.1", ttl=120, comment="ours")
    assert made.name == "a.example.com"
    changed: Any = await records.edit(made.id, **zone, type="A", name="a", ttl=1, content="192.0.2.2")
    assert (changed.content, changed.comment) == ("192.0.2.2", "ours")
    replaced: Any = await records.update(made.id, **zone, type="A", name="a", content="192.0.2.3", ttl=60)
    assert (replaced.content, replaced.comment) == ("192.0.2.3", None)
    assert (await records.get(made.id, **zone)).ttl == 60
    batch: Any = await records.batch(
        **zone,
        deletes=[{"id": made.id}],
        posts=[{"type": "CNAME", "name": "a", "content": "b.example.net", "ttl": 1, "proxied": True}],
    )
    assert [record.type for record in batch.posts] == ["CNAME"]
    listed = await _all(records.list(**zone, name={"exact": "a.example.com"}, per_page=5000))
    assert [record.type for record in listed] == ["CNAME"]
    await records.delete(batch.posts[0].id, **zone)
    assert not bench.zone.records


async def _tunnels(bench: Bench) -> None:
    tunnels = bench.sdk.zero_trust.tunnels.cloudflared
    account = {"account_id": bench.account.id}
    made: Any = await tunnels.create(**account, name="main", config_src="cloudflare")
    fresh: Any = await tunnels.configurations.get(made.id, **account)
    assert (fresh.version, fresh.config) == (0, None)
    assert (await tunnels.get(made.id, **account)).name == "main"
    assert [tunnel.id for tunnel in await _all(tunnels.list(**account, is_deleted=False))] == [made.id]
    await tunnels.delete(made.id, **account)
    assert (await tunnels.get(made.id, **account)).deleted_at is not None


async def _applications(bench: Bench) -> None:
    access = bench.sdk.zero_trust.access
    account = {"account_id": bench.account.id}
    await access.tags.create(**account, name="cfzt")
    policy: Any = await access.policies.create(**account, name="people", decision="allow", include=INCLUDE)
    made: Any = await access.applications.create(
        **account,
        type="self_hosted",
        domain="app.example.com",
        name="app",
        tags=["cfzt"],
        policies=[{"id": policy.id, "precedence": 1}],
    )
    assert made.policies[0].name == "people"
    changed: Any = await access.applications.update(
        made.id, **account, type="self_hosted", domain="app.example.com", session_duration="8h"
    )
    assert (changed.session_duration, len(changed.policies)) == ("8h", 1)
    found = await _all(access.applications.list(**account, domain="app.example.com", exact=True))
    assert [item.id for item in found] == [made.id]
    assert (await access.applications.get(made.id, **account)).aud == made.aud
    await access.applications.delete(made.id, **account)


async def _own_policies(bench: Bench) -> None:
    access = bench.sdk.zero_trust.access
    account = {"account_id": bench.account.id}
    made: Any = await access.applications.create(**account, type="self_hosted", domain="app.example.com")
    inline: Any = {"name": "people", "decision": "allow", "include": INCLUDE}
    policy: Any = await access.applications.policies.create(
        made.id, **account, precedence=1, extra_body=inline
    )
    await access.applications.policies.update(policy.id, **account, app_id=made.id, extra_body=inline)
    assert [item.id for item in await _all(access.applications.policies.list(made.id, **account))] == [
        policy.id
    ]
    shown: Any = await access.applications.policies.get(policy.id, **account, app_id=made.id)
    assert shown.name == "people"
    await access.applications.policies.delete(policy.id, **account, app_id=made.id)


async def _identity_providers(bench: Bench) -> None:
    providers = bench.sdk.zero_trust.identity_providers
    account = {"account_id": bench.account.id}
    made: Any = await providers.create(
        **account, name="Okta", type="okta", config={"okta_account": "https://acme.okta.com"}
    )
    assert [(item.id, item.type) for item in await _all(providers.list(**account))] == [(made.id, "okta")]
    await providers.delete(made.id, **account)


async def _policies(bench: Bench) -> None:
    policies = bench.sdk.zero_trust.access.policies
    account = {"account_id": bench.account.id}
    made: Any = await policies.create(**account, name="people", decision="allow", include=INCLUDE)
    await policies.update(made.id, **account, name="people", decision="deny", include=INCLUDE)
    assert (await policies.get(made.id, **account)).decision == "deny"
    listed = {policy.id: policy.app_count for policy in await _all(policies.list(**account))}
    assert listed[made.id] == 0
    await policies.delete(made.id, **account)


async def _groups_and_tags(bench: Bench) -> None:
    access = bench.sdk.zero_trust.access
    account = {"account_id": bench.account.id}
    group: Any = await access.groups.create(**account, name="engineers", include=INCLUDE)
    assert (await access.groups.get(group.id, **account)).name == "engineers"
    assert [item.id for item in await _all(access.groups.list(**account, name="engineers"))] == [group.id]
    await access.groups.delete(group.id, **account)
    await access.tags.create(**account, name="blue sky")
    assert (await access.tags.get("blue sky", **account)).name == "blue sky"
    assert "blue sky" in [tag.name for tag in await _all(access.tags.list(**account))]
    await access.tags.delete("blue sky", **account)
    assert (await bench.sdk.zero_trust.organizations.list(**account)).auth_domain


async def _service_tokens(bench: Bench) -> None:
    tokens = bench.sdk.zero_trust.access.service_tokens
    account = {"account_id": bench.account.id}
    made: Any = await tokens.create(**account, name="app", duration="60m")
    await tokens.update(made.id, **account, duration="120m")
    await tokens.refresh(made.id, **account)
    rotated: Any = await tokens.rotate(made.id, **account)
    assert rotated.client_secret != made.client_secret
    shown: Any = await tokens.get(made.id, **account)
    assert not hasattr(shown, "client_secret")
    assert [token.duration for token in await _all(tokens.list(**account, name="app"))] == ["120m"]
    await tokens.delete(made.id, **account)


WALKS: list[Callable[[Bench], Awaitable[None]]] = [
    *(_tokens, _zones, _records, _tunnels, _applications, _own_policies),
    *(_policies, _identity_providers, _groups_and_tags, _service_tokens),
]


async def test_sdk_takes_every_answer_of_every_operation() -> None:
    async with _bench() as bench:
        for walk in WALKS:
            await walk(bench)
        walked = bench.cloud.journal.counts().keys() | {_CONFIGURATION_WRITE}
    assert {route.operation for route in ROUTES} == walked


async def test_sdk_takes_configurations_as_it_takes_the_real_ones() -> None:
    """Strictly it would refuse every real one too: it wants a hostname in the rule for everything else."""
    rules: Any = [{"hostname": "a.example.com", "service": "http://a"}, {"service": "http_status:404"}]
    async with _bench(strict=False) as bench:
        tunnel = bench.cloud.add_tunnel(bench.account.id)
        configurations = bench.sdk.zero_trust.tunnels.cloudflared.configurations
        account = {"account_id": bench.account.id}
        stored: Any = await configurations.update(tunnel, **account, config={"ingress": rules})
        assert stored.version == 1
        read: Any = await configurations.get(tunnel, **account)
        assert read.config.ingress[0].hostname == "a.example.com"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("error", status=400, code=9000, message="no"), cloudflare.BadRequestError),
        (Fault("error", status=403, code=10000, message="no"), cloudflare.PermissionDeniedError),
        (Fault("throttle", seconds=300), cloudflare.RateLimitError),
        (Fault("error", status=503), cloudflare.InternalServerError),
        (Fault("lost"), cloudflare.APIConnectionError),
        (Fault("unsent"), cloudflare.APIConnectionError),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else value.__name__,
)
async def test_sdk_meets_faults_as_it_would_meet_real_ones(fault: Fault, error: type[Exception]) -> None:
    async with _bench() as bench:
        bench.cloud.faults.add(fault)
        with pytest.raises(error):
            await bench.sdk.zones.get(zone_id=bench.zone.id)
