"""Fleets that earlier operators left behind are taken over without an edit, and with what exists."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from edgekeeper.api.zerotrust import FINALIZER, PREFIX
from edgekeeper.controllers.zerotrust.route_index import TASK
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import DEPLOYMENT, Key
from kubesim.virtual import virtual_time
from tests.zerotrust.route_world import (
    KEY,
    OPERATOR,
    OPTIONS,
    TUNNEL,
    ZONE,
    World,
    plain_object,
    route,
    state_object,
    tenant,
    world,
)

HOST = "shop.web.example.com"
KOPF = "kopf.zalando.org/KopfFinalizerMarker"
_ROUTE = {"httproute_namespace": "web", "httproute_name": "shop"}
_LABELS = {f"{PREFIX}httproute-namespace": "web", f"{PREFIX}httproute-name": "shop"}
_TRACKER = {
    "app.kubernetes.io/name": "cloudflare-zero-trust-operator",
    "app.kubernetes.io/component": "state-tracker",
    **_LABELS,
}
IDS = {"access_app_id": "app-1", "access_policy_ids": "policy-1", "service_token_id": "token-1"}


def g1() -> JsonObject:
    """The single pod."""
    ids = {"tunnel_id": TUNNEL, "hostname": HOST, **IDS, "access_policy_ids": ["policy-1"]}
    data = {
        "annotation_hash": "old",
        "cloudflare_ids": json.dumps(ids),
        "last_sync_time": "2026-02-18",
        **_ROUTE,
    }
    return state_object("cfzt-web-shop", data, _TRACKER)


def g2() -> JsonObject:
    """Three tiers, v0.1.31 and later."""
    ids = {
        "hostnameRouteId": TUNNEL,
        "cnameRecordId": "cname-1",
        "accessAppId": "app-1",
        "accessPolicyIds": "policy-1",
        "serviceTokenId": "token-1",
        "serviceTokenSecretName": "shop-cfzt-service-token",
        "serviceTokenClientSecret": "canary",
    }
    data = {
        "annotation_hash": "old",
        "cloudflare_ids": json.dumps(ids),
        "last_sync_time": "2026-02-20T10:00:00Z",
        "hostname": HOST,
        "tunnel_id": TUNNEL,
        "zone_id": ZONE,
        "tenant_name": "main",
        **_ROUTE,
    }
    return state_object("cfzt-web-shop", data, {**_TRACKER, f"{PREFIX}tenant": "main"})


def g3() -> JsonObject:
    """The operator built on kopf."""
    data = {
        "annotation_hash": "old",
        "hostname": HOST,
        "tenant_name": "main",
        "tunnel_id": TUNNEL,
        "zone_id": ZONE,
        "hostname_route_id": TUNNEL,
        "cname_record_id": "cname-1",
        "service_token_secret_name": "cfzt-svctoken-shop",
        "last_reconcile": "2026-03-01T00:00:00Z",
        **IDS,
        **_ROUTE,
    }
    labels = {"app.kubernetes.io/managed-by": "cfzt-operator", f"{PREFIX}tenant": "main", **_LABELS}
    return state_object("cfzt-web-shop", data, labels)


PROTECTED = {"accessApp": "true", "allowEmails": "a@example.com", "serviceToken": "true"}


def left_route(*finalizers: str) -> JsonObject:
    left = route(KEY, HOST, **PROTECTED)
    left["metadata"]["finalizers"] = list(finalizers)
    return left


@pytest.mark.parametrize("left", [g1(), g2(), g3()], ids=["G1", "G2", "G3"])
@virtual_time
async def test_state_of_every_generation_is_taken_over_with_what_exists(left: JsonObject) -> None:
    async with world(start=False) as cluster:
        await cluster.create(tenant(), left_route(), left)
        cluster.start()
        await cluster.ready()
        (spec,) = cluster.worker.done
        known = {(item.kind, item.id or item.name) for item in spec.inventory}
        assert known >= {
            ("TunnelHostname", HOST),
            ("AccessApplication", "app-1"),
            ("AccessPolicy", "policy-1"),
            ("ServiceToken", "token-1"),
        }
        assert all(item.unconfirmed for item in spec.inventory)
        assert [item.name for item in spec.inventory if item.kind == "AccessApplication"] == [HOST]
        assert list(cluster.states()) == ["cfzt-web-shop"], "the same ConfigMap, not a second one"
        assert cluster.annotations()[f"{PREFIX}accessAppId"] == "app-1"
        assert "canary" not in msgspec.json.encode(cluster.states()).decode()
        assert await cluster.quiet(hours=1) == []
        await cluster.delete()
        await cluster.gone()
        assert cluster.states() == {}


@virtual_time
async def test_route_of_v0_2_keeps_origin_secret_and_keys_and_loses_its_finalizer() -> None:
    async with world(start=False) as cluster:
        await cluster.create(tenant(), left_route(KOPF), g3())
        cluster.start()
        await cluster.ready()
        (spec,) = cluster.worker.done
        assert spec.operations.tunnel_route.origin_service == "http://app.web.svc.cluster.local:8080"
        token = spec.operations.service_token
        assert (token.secret_name, token.client_id_key) == ("cfzt-svctoken-shop", "CF_ACCESS_CLIENT_ID")
        assert token.client_secret_key == "CF_ACCESS_CLIENT_SECRET"
        assert token.name == f"cfzt-{HOST}"
        await cluster.until(lambda: cluster.finalizers() == [FINALIZER])
        await cluster.annotate(allowEmails="b@example.com")
        await cluster.until(lambda: len(cluster.worker.done) == 2)
        await cluster.ready()
        again = cluster.worker.done[-1].operations
        assert again.service_token.secret_name == "cfzt-svctoken-shop"
        assert again.tunnel_route == spec.operations.tunnel_route, "also after it became ours"


@virtual_time
async def test_finalizer_of_another_kopf_operator_stays() -> None:
    async with world(start=False) as cluster:
        await cluster.create(tenant(), left_route(KOPF))
        cluster.start()
        await cluster.ready()
        assert cluster.finalizers() == [KOPF, FINALIZER]


@virtual_time
async def test_route_of_v0_2_that_is_being_deleted_goes_and_leaves_nothing() -> None:
    async with world(start=False) as cluster:
        await cluster.create(tenant(), left_route(KOPF), g3())
        await cluster.delete()
        cluster.start()
        await cluster.gone()
        await cluster.until(lambda: not cluster.states() and not cluster.all(TASK))
        (spec,) = cluster.worker.done
        assert spec.action == "delete"
        assert {"app-1", "token-1", "cname-1"} <= {item.id for item in spec.inventory}


@virtual_time
async def test_ids_on_a_route_are_evidence_until_there_is_a_state() -> None:
    ids = {"accessAppId": "app-1", "hostnameRouteId": TUNNEL, "serviceTokenId": "token-1"}
    async with world() as cluster:
        await cluster.create(tenant(), route(KEY, HOST, **PROTECTED, **ids))
        await cluster.ready()
        (spec,) = cluster.worker.done
        assert {"app-1", "token-1"} <= {item.id for item in spec.inventory}
        assert all(
            item.unconfirmed and item.name != "" for item in spec.inventory if item.kind != "AccessPolicy"
        )
        await cluster.annotate(accessAppId="somebody-elses", allowEmails="b@example.com")
        await cluster.until(lambda: len(cluster.worker.done) == 2)
        assert "somebody-elses" not in {item.id for item in cluster.worker.done[-1].inventory}
        await cluster.ready()
        assert cluster.annotations()[f"{PREFIX}accessAppId"] == "app-1"


@virtual_time
async def test_forged_ids_on_a_route_that_is_not_published_are_ignored() -> None:
    forged = route(KEY, HOST, accessAppId="somebody-elses")
    forged["metadata"]["annotations"][f"{PREFIX}enabled"] = "false"
    async with world() as cluster:
        await cluster.create(tenant(), forged)
        await cluster.elapse(minutes=5)
        assert cluster.all(TASK) == []
        await cluster.delete()
        await cluster.gone()
        assert cluster.worker.done == []


@virtual_time
async def test_task_of_the_described_operator_is_used_for_its_route() -> None:
    spec = {
        "httprouteRef": {"name": "shop", "namespace": "web", "uid": "x"},
        "tenantRef": {"name": "main", "namespace": "web"},
        "hostname": HOST,
        "operations": {"tunnelRoute": {"enabled": True}},
    }
    async with world(start=False) as cluster:
        await cluster.create(
            tenant(), left_route(), plain_object(TASK, Key(OPERATOR, "cfzt-web-shop"), spec=spec)
        )
        cluster.worker.is_running = False
        cluster.start()
        await cluster.until(lambda: dig(cluster.all(TASK)[0], "spec", "accountId"))
        cluster.worker.is_running = True
        await cluster.ready()
        assert len(cluster.tasks_of()) == 1


@virtual_time
async def test_unreadable_state_is_told_and_nothing_is_done() -> None:
    broken = g2()
    broken["data"]["cloudflare_ids"] = "{"
    async with world(start=False) as cluster:
        await cluster.create(tenant(), left_route(), broken)
        cluster.start()
        message = await cluster.says("StateUnreadable")
        assert "cfzt-web-shop" in message
        assert cluster.all(TASK) == []


def _deployment(image: str) -> JsonObject:
    labels = {"app": "x"}
    container = {"name": "operator", "image": image}
    return plain_object(
        DEPLOYMENT,
        Key(OPERATOR, "cloudflare-zero-trust-operator"),
        spec={
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    )


async def _available(cluster: World, image: str) -> None:
    await cluster.user.create(DEPLOYMENT, _deployment(image))
    await cluster.user.merge_patch(
        DEPLOYMENT,
        Key(OPERATOR, "cloudflare-zero-trust-operator"),
        {"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}},
        subresource="status",
    )


@virtual_time
async def test_nothing_is_written_while_the_described_operator_runs() -> None:
    options = replace(OPTIONS, predecessor_namespace=OPERATOR)
    async with world(options, start=False) as cluster:
        await _available(cluster, "ghcr.io/wheetazlab/cloudflare-zero-trust-operator:v0.2.3")
        await cluster.create(tenant(), left_route(), g2())
        cluster.start()
        assert await cluster.quiet(minutes=30) == []
        await cluster.user.delete(DEPLOYMENT, Key(OPERATOR, "cloudflare-zero-trust-operator"))
        await cluster.ready()


@virtual_time
async def test_own_deployment_of_the_same_name_is_not_taken_for_the_described_operator() -> None:
    options = replace(OPTIONS, predecessor_namespace=OPERATOR)
    async with world(options, start=False) as cluster:
        await _available(cluster, "registry.example.com/edgekeeper:1.0")
        await cluster.create(tenant(), left_route())
        cluster.start()
        await cluster.ready()
