"""What each generation of the described operator leaves behind: manifests, states, Secrets, and things at Cloudflare.

single pod    flat annotations; ids in snake case; DNS is not its business
v0.1          dotted annotations and templates; ids as in the result of tasks, in camel case; a CNAME record
v0.2          kopf: its finalizer, a state of single values, names with the prefix `cfzt-`, origins of backends
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from tests.zerotrust.acceptance_world import APPS, HOME, AcceptanceWorld, route, template

TRAEFIK = "http://traefik.traefik.svc:80"
KOPF_FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
_HASH = "5f" * 32


@dataclass
class Left:
    """What there is for one route."""

    name: str
    hostname: str
    ids: dict[str, str] = field(default_factory=dict)
    """By annotation."""
    secret: str = ""


def add_rule(world: AcceptanceWorld, hostname: str, service: str) -> None:
    """A new rule comes first."""
    path = f"cfd_tunnel/{world.estate.tunnel}/configurations"
    rest = [one for one in world.rules() if "hostname" in one]
    rules = [{"hostname": hostname, "service": service}, *rest, {"service": "http_status:404"}]
    world.act("PUT", path, {"config": {"ingress": rules}})


def add_record(world: AcceptanceWorld, hostname: str, **fields: Any) -> str:
    target = f"{world.estate.tunnel}.cfargotunnel.com"
    body = {"type": "CNAME", "name": hostname, "content": target, "ttl": 1, "proxied": True, **fields}
    return str(world.cloud.act("POST", f"/zones/{world.estate.zone.id}/dns_records", body)["id"])


def add_application(
    world: AcceptanceWorld, name: str, hostname: str, policy: str, *include: JsonObject, **settings: Any
) -> tuple[str, str]:
    """An application with a policy; their ids."""
    application = {"name": name, "domain": hostname, "type": "self_hosted", "session_duration": "24h"}
    app_id = world.act("POST", "access/apps", {**application, **settings})["id"]
    body = {"name": policy, "decision": "allow", "include": list(include), "precedence": 1}
    return str(app_id), str(world.act("POST", f"access/apps/{app_id}/policies", body)["id"])


def add_token(world: AcceptanceWorld, name: str) -> JsonObject:
    created: JsonObject = world.act("POST", "access/service_tokens", {"name": name, "duration": "8760h"})
    return created


def email(address: str) -> JsonObject:
    return {"email": {"email": address}}


def secret_of(name: str, **data: str) -> JsonObject:
    metadata = {"name": name, "namespace": APPS}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


def described_labels(name: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "cloudflare-zero-trust-operator",
        "app.kubernetes.io/component": "state-tracker",
        f"{PREFIX}httproute-namespace": APPS,
        f"{PREFIX}httproute-name": name,
    }


async def add_state(world: AcceptanceWorld, left: Left, labels: dict[str, str], data: dict[str, str]) -> None:
    uid = world.get(HTTP_ROUTE, left.name)["metadata"]["uid"]
    base = {"httproute_namespace": APPS, "httproute_name": left.name, "annotation_hash": _HASH}
    await world.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"cfzt-{APPS}-{left.name}",
                "namespace": HOME,
                "labels": labels,
                "annotations": {f"{PREFIX}httproute-uid": uid},
            },
            "data": {**base, **data},
        }
    )


async def show_ids(world: AcceptanceWorld, left: Left) -> None:
    """The annotations that the operator wrote."""
    await world.annotate(left.name, **left.ids, lastReconcile="2026-02-20T10:00:00Z")


# The single pod


async def single_pod(world: AcceptanceWorld) -> list[Left]:
    plain, admin, api = (Left(name, f"{name}.example.com") for name in ("plain", "admin", "api"))
    for left in (plain, admin, api):
        add_rule(world, left.hostname, TRAEFIK)
        add_record(world, left.hostname)  # by the users themselves
        left.ids["hostnameRouteId"] = world.estate.tunnel
    app, policy = add_application(
        world, "admin", admin.hostname, "admin-allow-policy", email("boss@example.com")
    )
    admin.ids |= {"accessAppId": app, "accessPolicyIds": policy}
    app, policy = add_application(world, "api", api.hostname, "api-allow-policy", email("boss@example.com"))
    token = add_token(world, "api-service-token")
    api.secret = "api-cfzt-service-token"
    api.ids |= {
        "accessAppId": app,
        "accessPolicyIds": policy,
        "serviceTokenId": token["id"],
        "serviceTokenSecretName": api.secret,
    }
    access = {"accessApp": "true", "allowEmails": "boss@example.com"}
    await world.create(
        secret_of(api.secret, client_id=token["client_id"], client_secret=token["client_secret"]),
        route("plain", hostname=plain.hostname),
        route("admin", hostname=admin.hostname, **access),
        route("api", hostname=api.hostname, serviceToken="true", **access),
    )
    for left in (plain, admin, api):
        await show_ids(world, left)
        ids = {
            "tunnel_id": world.estate.tunnel,
            "hostname": left.hostname,
            "access_app_id": left.ids.get("accessAppId", ""),
            "access_policy_id": left.ids.get("accessPolicyIds", ""),
            "service_token_id": left.ids.get("serviceTokenId", ""),
        }
        data = {"cloudflare_ids": json.dumps(ids), "last_sync_time": "2026-02-20T10:00:00Z"}
        await add_state(world, left, described_labels(left.name), data)
    return [plain, admin, api]


# v0.1


async def three_tiers(world: AcceptanceWorld) -> list[Left]:
    names = ("plain", "admin", "api", "inside")
    plain, admin, api, inside = fleet = [Left(name, f"{name}.example.com") for name in names]
    for left in (plain, admin, api):
        add_rule(world, left.hostname, TRAEFIK)
        left.ids["cnameRecordId"] = add_record(world, left.hostname)
        left.ids["hostnameRouteId"] = world.estate.tunnel
    reusable = {"name": "staff", "decision": "allow", "include": [email("boss@example.com")]}
    policy_id = world.act("POST", "access/policies", reusable)["id"]
    application = {"name": "admin", "domain": admin.hostname, "type": "self_hosted"}
    body = {**application, "session_duration": "8h", "policies": [{"id": policy_id, "precedence": 1}]}
    admin.ids |= {
        "accessAppId": world.act("POST", "access/apps", body)["id"],
        "accessPolicyIds": policy_id,
    }
    app, policy = add_application(world, "api", api.hostname, "api-allow-policy", email("boss@example.com"))
    token = add_token(world, "api-service-token")
    api.secret = "api-cfzt-service-token"
    api.ids |= {
        "accessAppId": app,
        "accessPolicyIds": policy,
        "serviceTokenId": token["id"],
        "serviceTokenSecretName": api.secret,
    }
    record = add_record(world, inside.hostname, type="A", content="10.1.2.3", ttl=120, proxied=False)
    inside.ids |= {"dnsRecordId": record, "dnsRecordIp": "10.1.2.3"}
    await world.create(
        secret_of(api.secret, client_id=token["client_id"], client_secret=token["client_secret"]),
        # Stored with the defaults of the original's definition.
        template("base-main", tenantRef="main", originService={"url": TRAEFIK, "httpRedirect": True}),
        template(
            "protected",
            tenantRef="main",
            accessApplication={"enabled": True, "sessionDuration": "8h", "existingPolicyNames": ["staff"]},
        ),
        template(
            "internal",
            tenantRef="main",
            accessApplication={"enabled": False},
            serviceToken={"enabled": False, "duration": "8760h"},
            dnsOnly={"enabled": True, "proxied": False, "ttl": 120, "staticIp": "10.1.2.3"},
        ),
        route("plain", hostname=plain.hostname, tenant="main"),
        route("admin", hostname=admin.hostname, tenant="main", template="protected"),
        route(
            "api",
            hostname=api.hostname,
            tenant="main",
            access__enabled="true",
            access__allowEmails="boss@example.com",
            serviceToken__enabled="true",
        ),
        route("inside", hostname=inside.hostname, tenant="main", template="internal"),
    )
    for left in fleet:
        await show_ids(world, left)
        result = {
            "hostnameRouteId": "",  # always empty in v0.1.40
            "cnameRecordId": left.ids.get("cnameRecordId", ""),
            "accessAppId": left.ids.get("accessAppId", ""),
            "accessPolicyIds": left.ids.get("accessPolicyIds", ""),
            "serviceTokenId": left.ids.get("serviceTokenId", ""),
            "dnsRecordId": left.ids.get("dnsRecordId", ""),
            "resolvedZoneId": world.estate.zone.id,
        }
        data = {
            "cloudflare_ids": json.dumps(result),
            "last_sync_time": "2026-02-25T10:00:00Z",
            "hostname": left.hostname,
            "tunnel_id": world.estate.tunnel,
            "zone_id": world.estate.zone.id,
            "tenant_name": "main",
        }
        await add_state(world, left, {**described_labels(left.name), f"{PREFIX}tenant": "main"}, data)
    return fleet


# v0.2


async def kopf(world: AcceptanceWorld) -> list[Left]:
    names = ("plain", "admin", "api", "inside")
    plain, admin, api, inside = fleet = [Left(name, f"{name}.example.com") for name in names]
    for left in (plain, admin, api):
        add_rule(world, left.hostname, f"http://{left.name}.{APPS}.svc.cluster.local:8080")
        left.ids["cnameRecordId"] = add_record(world, left.hostname)
        left.ids["hostnameRouteId"] = world.estate.tunnel
    for left in (admin, api):
        app, policy = add_application(
            world,
            f"cfzt-{left.hostname}",
            left.hostname,
            f"cfzt-{left.hostname}-allow",
            email("boss@example.com"),
        )
        left.ids |= {"accessAppId": app, "accessPolicyIds": policy}
    token = add_token(world, f"cfzt-{api.hostname}")
    api.secret = "cfzt-svctoken-api"
    api.ids |= {"serviceTokenId": token["id"], "serviceTokenSecretName": api.secret}
    record = add_record(world, inside.hostname, type="A", content="10.1.2.3", ttl=120, proxied=False)
    inside.ids |= {"dnsRecordId": record, "dnsRecordIp": "10.1.2.3"}
    credentials = {
        "CF_ACCESS_CLIENT_ID": token["client_id"],
        "CF_ACCESS_CLIENT_SECRET": token["client_secret"],
    }
    access = {"access__enabled": "true", "access__allowEmails": "boss@example.com"}
    await world.create(
        secret_of(api.secret, **credentials),
        template("internal", dnsOnly={"enabled": True, "proxied": False, "ttl": 120}),
        route("plain", hostname=plain.hostname, tenant="main"),
        route("admin", hostname=admin.hostname, tenant="main", **access),
        route("api", hostname=api.hostname, tenant="main", serviceToken__enabled="true", **access),
        route("inside", hostname=inside.hostname, tenant="main", template="internal", dnsIp="10.1.2.3"),
    )
    for left in fleet:
        await world.annotate(left.name, **left.ids)
        patch = {"metadata": {"finalizers": [KOPF_FINALIZER]}}
        await world.user.merge_patch(HTTP_ROUTE, Key(APPS, left.name), patch)
        labels = {
            "app.kubernetes.io/managed-by": "cfzt-operator",
            f"{PREFIX}httproute-name": left.name,
            f"{PREFIX}httproute-namespace": APPS,
            f"{PREFIX}tenant": "main",
        }
        data = {
            "hostname": left.hostname,
            "tenant_name": "main",
            "tunnel_id": world.estate.tunnel,
            "zone_id": world.estate.zone.id,
            "hostname_route_id": left.ids.get("hostnameRouteId", ""),
            "cname_record_id": left.ids.get("cnameRecordId", ""),
            "dns_record_id": left.ids.get("dnsRecordId", ""),
            "dns_record_ip": left.ids.get("dnsRecordIp", ""),
            "access_app_id": left.ids.get("accessAppId", ""),
            "access_policy_ids": left.ids.get("accessPolicyIds", ""),
            "service_token_id": left.ids.get("serviceTokenId", ""),
            "service_token_secret_name": left.secret,
            "last_reconcile": "2026-03-20T10:00:00Z",
        }
        await add_state(world, left, labels, data)
    return fleet


FLEETS: dict[str, Callable[[AcceptanceWorld], Any]] = {
    "single pod": single_pod,
    "v0.1": three_tiers,
    "v0.2": kopf,
}
