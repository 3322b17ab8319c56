"""S-02 across kinds: a hostname belongs to one object, whichever kind it is of; the younger one is refused before any write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN
from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.virtual import virtual_time
from tests.platform.world import APPS, World, platform
from tests.tenants.estate import DISTRIBUTION

HOSTNAME = "shop.example.com"


def tenant(world: World) -> JsonObject:
    dns = {"provider": "route53", "hostedZoneId": world.aws.zone.id}
    spec = {"distributionId": DISTRIBUTION, "domains": [{"domain": HOSTNAME}], "dns": dns}
    return _object("cloudfront-tenant-operator.io/v1alpha1", "DistributionTenant", spec)


def route(_: World) -> JsonObject:
    spec = {"hostnames": [HOSTNAME], "rules": [{"backendRefs": [{"name": "shop", "port": 80}]}]}
    annotations = {f"{PREFIX}enabled": "true", f"{PREFIX}hostname": HOSTNAME}
    return _object("gateway.networking.k8s.io/v1", "HTTPRoute", spec, annotations)


def domain(world: World) -> JsonObject:
    world.aws.certificates.add_issued(HOSTNAME)
    spec = {"domain": HOSTNAME, "apiRef": {"apiId": world.aws.api}}
    return _object(f"{API_GATEWAY_DOMAIN.group}/v1alpha1", "APIGatewayDomain", spec)


def _object(
    api_version: str, kind: str, spec: JsonObject, annotations: dict[str, str] | None = None
) -> JsonObject:
    metadata = {"name": kind.lower(), "namespace": APPS, "annotations": annotations or {}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _says(world: World, obj: JsonObject) -> tuple[str, str]:
    """Readiness and its reason."""
    found = world.find(obj["kind"], obj["metadata"]["name"])
    if obj["kind"] == "HTTPRoute":
        notes = dig_object(found, "metadata", "annotations")
        return str(notes.get("edgekeeper.io/ready")), str(notes.get("edgekeeper.io/reason"))
    ready = [one for one in dig_list(found, "status", "conditions") if one["type"] == "Ready"]
    return (str(dig(ready[0], "status")), str(dig(ready[0], "reason"))) if ready else ("", "")


Claimant = Callable[[World], JsonObject]
PAIRS: dict[str, tuple[Claimant, Claimant]] = {
    "tenant, then API domain": (tenant, domain),
    "API domain, then tenant": (domain, tenant),
    "route, then API domain": (route, domain),
    "API domain, then route": (domain, route),
}


@pytest.mark.parametrize(("first", "second"), PAIRS.values(), ids=PAIRS.keys())
@virtual_time
async def test_hostname_of_two_kinds_is_refused_for_the_younger_before_any_write(
    first: Claimant, second: Claimant
) -> None:
    async with platform("none") as world:
        older, younger = first(world), second(world)
        await world.apply(older)
        await world.until(lambda: _says(world, older)[0] == "True")
        await world.elapse(minutes=10)
        aws, cloudflare = world.aws.writes, world.cloudflare.writes
        await world.apply(younger)
        await world.until(lambda: _says(world, younger) == ("False", "DomainConflict"))
        await world.elapse(minutes=10)
        assert _says(world, younger) == ("False", "DomainConflict")
        assert _says(world, older)[0] == "True"
        assert (world.aws.writes, world.cloudflare.writes) == (aws, cloudflare)
