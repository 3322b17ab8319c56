"""What the operators that edgekeeper takes over from leave behind, in the cluster and in the clouds of a `World`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

from edgekeeper.api.cloudfront import FINALIZER
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.kinds import Kind as KubeKind
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.route53.records import Record
from tests.conformance.kinds import Kind
from tests.docs.installing import World
from tests.zerotrust.acceptance_world import APPS, HOME, AcceptanceWorld, prefixed
from tests.zerotrust.fleets import FLEETS, Left

MOMENT = "2025-11-05T12:00:00Z"
ZONE = "Z0EXAMPLE"
REGION = "us-east-1"


def condition(type_: str, reason: str) -> JsonObject:
    return {
        "type": type_,
        "status": "True",
        "reason": reason,
        "message": "as another operator puts it",
        "observedGeneration": 1,
        "lastTransitionTime": MOMENT,
    }


async def leave(world: World, obj: JsonObject, status: JsonObject) -> JsonObject:
    """An object with a status that the other operator has written. As the server has it."""
    await world.site.apply([obj])
    kind = await world.site.kind_of(obj)
    path = kind.path(obj["metadata"]["namespace"], obj["metadata"]["name"], "status")
    return (await world.api.patch(path, {"status": status})).expect(200)


# cloudfront-tenant-operator


async def leave_tenants(world: World, *tenants: JsonObject) -> None:
    """Tenants in CloudFront without tags, with their records, and objects that name them."""
    cloudfront = world.aws.cloudfront
    endpoint = cloudfront.default_group().endpoint
    for obj in tenants:
        name, spec = obj["metadata"]["name"], obj["spec"]
        domains = tuple(one["domain"] for one in spec["domains"])
        live = _tenant(world, name, spec["distributionId"], domains)
        if "dns" in spec:
            for domain in domains:
                record = Record(f"{domain}.", "CNAME", 300, (f"{endpoint}.",))
                world.aws.route53.put_record(world.aws.route53.zones[ZONE], record)
        left = {**obj, "metadata": {**obj["metadata"], "finalizers": [FINALIZER]}}
        conditions = (("Ready", "Deployed"), ("Synced", "InSync"), ("CertificateReady", "NotConfigured"))
        status: JsonObject = {
            "observedGeneration": 1,
            "id": live.id,
            "arn": live.arn,
            "eTag": live.etag,
            "distributionTenantStatus": "Deployed",
            "domainResults": [{"domain": domain, "status": "active"} for domain in domains],
            "dnsTarget": endpoint,
            "driftDetected": False,
            "conditions": [condition(*one) for one in conditions],
        }
        await leave(world, left, status)


def _tenant(world: World, name: str, distribution: str, domains: tuple[str, ...]) -> Tenant:
    cloudfront, now = world.aws.cloudfront, world.aws.time.now()
    id_ = "dt_" + world.aws.world.ids.mixed(27)
    arn = f"arn:aws:cloudfront::{ACCOUNT}:distribution-tenant/{id_}"
    blank = Tenant(id_, name, arn, distribution, domains, cloudfront.default_group().id, "", now, now, 0.0)
    kept = replace(cloudfront.keep_tenant(blank), deployed_at=0.0)
    cloudfront.tenants.put(id_, kept)
    return kept


# cloudflare-zero-trust-operator


@dataclass
class _Fleet:
    """What `tests.zerotrust.fleets` uses of its world."""

    world: World
    _made: dict[str, JsonObject] = field(default_factory=dict)

    @property
    def cloud(self) -> Any:
        return self.world.cloudflare.cloud

    @property
    def estate(self) -> Any:
        found = self.world.cloudflare
        return SimpleNamespace(tunnel=found.tunnel_id, zone=SimpleNamespace(id=found.zone_id))

    @property
    def user(self) -> _Fleet:
        return self

    def act(self, method: str, path: str, body: Any = None) -> Any:
        return self.cloud.act(method, f"/accounts/{self.world.cloudflare.account_id}/{path}", body)

    def rules(self) -> list[JsonObject]:
        settings = self.world.account.configurations.get(self.estate.tunnel, {"config": {}})
        return dig_list(settings["config"], "ingress")

    def get(self, _: KubeKind, name: str) -> JsonObject:
        return self._made[name]

    async def create(self, *objects: JsonObject) -> None:
        for obj in objects:
            kind = await self.world.site.kind_of(obj)
            answer = await self.world.api.create(kind.path(obj["metadata"]["namespace"]), obj)
            if obj["kind"] == "HTTPRoute":
                self._made[obj["metadata"]["name"]] = answer.expect(201)
            assert answer.status == 201, answer.text

    async def annotate(self, name: str, **annotations: str) -> None:
        await self.merge_patch(ROUTES, Key(APPS, name), {"metadata": {"annotations": prefixed(annotations)}})

    async def merge_patch(self, _: object, key: Key, patch: JsonObject) -> None:
        (await self.world.api.patch(ROUTES.path(key.namespace, key.name), patch)).expect(200)


ROUTES = Kind("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")


async def leave_routes(world: World, generation: str) -> list[Left]:
    """Routes with everything that a generation of the operator leaves, and their tenant."""
    secret: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "cloudflare-api-token", "namespace": APPS},
        "stringData": {"token": world.cloudflare.token},
    }
    tenant: JsonObject = {
        "apiVersion": "cfzt.cloudflare.com/v1alpha1",
        "kind": "CloudflareZeroTrustTenant",
        "metadata": {"name": "main", "namespace": APPS},
        "spec": {
            "accountId": world.cloudflare.account_id,
            "tunnelId": world.cloudflare.tunnel_id,
            "credentialRef": {"name": "cloudflare-api-token"},
        },
    }
    await world.deploy(
        HOME, "cloudflare-zero-trust-operator", "example.com/cloudflare-zero-trust-operator:v0.2.3"
    )
    await world.site.apply([secret, tenant])
    fleet: list[Left] = await FLEETS[generation](cast("AcceptanceWorld", _Fleet(world)))
    return fleet


# ack-bridge


async def leave_domain(world: World, obj: JsonObject, api: str) -> None:
    """An APIGatewayDomain with what ack-bridge has made for it. ACK must be at work; `api` is the id of its API."""
    name, key = obj["spec"]["domain"], Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
    arn = world.aws.account().certificates(REGION).add_issued(name).arn
    finalizers = ["bridge.ack.tubi.internal/apigateway-domain"]
    left = {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}}
    owner = (await leave(world, left, {}))["metadata"]["uid"]
    gateway = world.aws.account().apigateway(REGION)
    settings = {"certificateARN": arn, "endpointType": "REGIONAL", "securityPolicy": "TLS_1_2"}
    spec = {"domainName": name, "domainNameConfigurations": [settings]}
    await world.site.apply([_child("DomainName", obj, owner, spec)])
    await world.until(lambda: name in gateway.domains, "ACK makes the domain name")
    mapping = {"apiID": api, "domainName": name, "stage": "$default"}
    await world.site.apply([_child("APIMapping", obj, owner, mapping)])
    await world.until(lambda: bool(gateway.domains[name].mappings), "ACK makes the mapping")
    target = gateway.domains[name].target
    world.aws.route53.put_record(world.aws.route53.zones[ZONE], Record(f"{name}.", "CNAME", 300, (target,)))
    types = ("Ready", "CertificateReady", "DomainNameReady", "APIMappingReady", "DNSReady")
    status = {
        "ready": True,
        "certificateArn": arn,
        "domainNameEndpoint": target,
        "hostedZoneId": ZONE,
        "dnsRecordName": name,
        "observedGeneration": 1,
        "conditions": [condition(type_, "Ready") for type_ in types],
    }
    path = f"/apis/bridge.ack.tubi.internal/v1alpha1/namespaces/{key.namespace}/apigatewaydomains/{key.name}/status"
    (await world.api.patch(path, {"status": status})).expect(200)


def _child(kind: str, owner: JsonObject, uid: str, spec: JsonObject) -> JsonObject:
    (known,) = (one for one in ACK_KINDS if one.kind == kind)
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": owner["spec"]["domain"].replace(".", "-"),
        "namespace": owner["metadata"]["namespace"],
        "annotations": {"services.k8s.aws/deletion-policy": "retain"},
        "ownerReferences": [reference],
    }
    return {"apiVersion": f"{known.group}/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
