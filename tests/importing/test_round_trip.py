"""What people have made by hand is imported, applied and adopted: everything is Ready, and only marks are written."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime

from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.proposal import propose
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.importing import ImportResult, key_of
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.virtual import virtual_time
from tests.importing.fleet import make_domains, make_routes, make_special_tenants, make_tenants
from tests.importing.world import CLUSTER, EDGE, SECRET_NAME, SHOP, World, told, world
from tests.tenants.estate import DISTRIBUTION

TAGGING = "POST /accounts/{account}/access/tags"
APPLICATIONS = "PUT /accounts/{account}/access/apps/{application}"
RECORDS = "POST /zones/{zone}/dns_records/batch"


async def everything(here: World) -> list[ImportResult]:
    return [
        *await here.imported("tenants"),
        *await here.imported("domains"),
        *await here.imported("routes", namespace=""),
    ]


@virtual_time
async def test_import_of_a_fleet_is_adopted_with_marks_only() -> None:
    async with world() as here:
        make_tenants(here, 27)
        make_special_tenants(here)
        make_domains(here, 10)
        routes = make_routes(here)
        results = await everything(here)
        assert told(results) == []
        assert len(results) == 30 + 10 + routes + 1
        before = here.contents()
        await here.apply(results)
        async with here.operator():
            await here.ready()
            assert here.contents() == before
            calls = Counter(here.writes())
            assert calls.keys() == {"TagResource", TAGGING, APPLICATIONS, RECORDS}
            assert (calls["TagResource"], calls[TAGGING], calls[APPLICATIONS]) == (30 + 10, 1, 8)
            assert all(CLUSTER in one.tags.values() for one in here.aws.cloud.cloudfront.tenants.values())
            await here.elapse(hours=2)
            assert (Counter(here.writes()), here.unready()) == (calls, [])
            owned = await everything(here)
        assert [one for one in owned if not one.owner] == []
        assert len(owned) == len(results) - 1


# What the operator itself has made


def _declared(here: World) -> list[JsonObject]:
    """Objects of all kinds, as people write them, with settings that differ from the usual ones."""
    dns = {"provider": "route53", "hostedZoneId": here.aws.zone.id, "ttl": 600}
    settings = {
        "enabled": "true",
        "tenant": f"{EDGE}/main",
        "originService": "backend",
        "accessApp": "true",
        "allowEmails": "ann@example.com,bob@example.com",
        "sessionDuration": "8h",
    }
    certificate = here.aws.certificates.add_issued("orders.example.com").arn
    return [
        _tenant_object(here),
        _object(
            "cloudfront-tenant-operator.io/v1alpha1",
            "DistributionTenant",
            EDGE,
            "web",
            {
                "distributionId": DISTRIBUTION,
                "domains": [{"domain": "web.example.com"}, {"domain": "www.example.com"}],
                "parameters": [{"name": "tier", "value": "gold"}],
                "customizations": {"geoRestrictions": {"restrictionType": "blacklist", "locations": ["FR"]}},
                "tags": [{"key": "team", "value": "a"}],
                "dns": dns,
            },
        ),
        _object(
            "bridge.ack.tubi.internal/v1alpha1",
            "APIGatewayDomain",
            EDGE,
            "orders-example-com",
            {
                "domain": "orders.example.com",
                "apiRef": {"apiId": here.aws.api},
                "certificateStrategy": "use-arn",
                "certificateArn": certificate,
                "dnsConfig": {"hostedZoneId": here.aws.zone.id, "recordType": "ALIAS"},
            },
        ),
        _object(
            "gateway.networking.k8s.io/v1",
            "HTTPRoute",
            SHOP,
            "admin-example-com",
            {
                "hostnames": ["admin.example.com"],
                "rules": [{"backendRefs": [{"name": "admin", "port": 8080}]}],
            },
            {f"cfzt.cloudflare.com/{key}": text for key, text in settings.items()},
        ),
    ]


def _object(
    version: str,
    kind: str,
    namespace: str,
    name: str,
    spec: JsonObject,
    annotations: dict[str, str] | None = None,
) -> JsonObject:
    metadata = {"name": name, "namespace": namespace, "annotations": annotations or {}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _tenant_object(here: World) -> JsonObject:
    spec = {
        "accountId": here.cloudflare.account.id,
        "tunnelId": here.cloudflare.tunnel,
        "credentialRef": {"name": SECRET_NAME},
    }
    return _object("cfzt.cloudflare.com/v1alpha1", "CloudflareZeroTrustTenant", EDGE, "main", spec)


def _meaning(body: JsonObject) -> JsonObject:
    """What an object says, with all defaults and without the wish to adopt."""
    annotations = {
        key: text
        for key, text in body["metadata"].get("annotations", {}).items()
        if not key.startswith("edgekeeper.io/")
    }
    module = next(one for one in MODULES if one.kind.kind == body["kind"])
    spec = propose(module, deepcopy(body), None, datetime.now(UTC))["spec"]
    for name in ("domains", "parameters", "tags"):
        if name in spec:
            spec[name] = sorted(spec[name], key=repr)
    emails = annotations.get("cfzt.cloudflare.com/allowEmails", "")
    annotations["cfzt.cloudflare.com/allowEmails"] = ",".join(sorted(emails.split(",")))
    return {"kind": body["kind"], "name": key_of(body), "annotations": annotations, "spec": spec}


@virtual_time
async def test_import_of_what_the_operator_made_and_orphaned_says_the_same() -> None:
    async with world() as here:
        parameters = (ParameterDefinition("tier", required=False),)
        here.aws.cloud.cloudfront.change_distribution(DISTRIBUTION, parameters=parameters)
        declared = _declared(here)
        async with here.operator():
            await here.apply([ImportResult("", tuple(declared))])
            await here.ready()
            for body in declared[1:]:
                await here.orphan(body)
            await here.gone("DistributionTenant", "APIGatewayDomain", "HTTPRoute")
            before, written = here.contents(), Counter(here.writes())
            results = [
                *await here.imported("tenants"),
                *await here.imported("domains"),
                *await here.imported("routes", namespace="", tenant=f"{EDGE}/main"),
            ]
            assert told(results) == []
            made = [body for result in results for body in result.manifests]
            assert sorted(map(_meaning, made), key=repr) == sorted(map(_meaning, declared[1:]), key=repr)
            await here.apply(results)
            await here.ready()
            assert here.contents() == before
            assert (Counter(here.writes()) - written).keys() == {"TagResource", APPLICATIONS, RECORDS}


@virtual_time
async def test_what_was_imported_is_deleted_with_its_objects() -> None:
    """Adopting is owning: everything goes, and nothing else does."""
    async with world() as here:
        make_tenants(here, 2)
        make_domains(here, 3)
        make_routes(here)
        before = here.contents()
        results = await everything(here)
        await here.apply(results)
        async with here.operator():
            await here.ready()
            for body in (one for result in results for one in result.manifests):
                if body["kind"] in ("DistributionTenant", "APIGatewayDomain", "HTTPRoute"):
                    await here.delete(body)
            await here.gone("DistributionTenant", "APIGatewayDomain", "HTTPRoute")
        after = here.contents()
        assert (after["tenants"], after["domains"], after["applications"]) == ([], {}, {})
        (left,) = after["policies"].values()
        assert left["name"] == "Everybody in sales", "a reusable policy is only referred to"
        assert [one["name"] for one in after["names"].values()] == ["a1.apps.example.com"], (
            "it was never managed"
        )
        kept = {one for one in before["records"] if "'NS'" in one or "'SOA'" in one}
        assert set(after["records"]) == kept
