"""TubiService: a workload with everything around it, published and protected where that is asked for."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.platform.world import World, instance, platform
from tests.tenants.estate import DISTRIBUTION

KIND, NAME, HOSTNAME = "TubiService", "wiki", "wiki.example.com"
IMAGE = "registry.example.com/wiki:1.0.0"
ADA, GRACE = "ada@example.com", "grace@example.com"


def wiki(**spec: Any) -> JsonObject:
    return instance(KIND, NAME, image=IMAGE, **spec)


def _pod(world: World) -> JsonObject:
    template: JsonObject = world.get("Deployment", NAME)["spec"]["template"]
    return template


def _names(world: World) -> list[str]:
    return sorted(record["name"] for record in world.cloudflare.zone.records.values())


@virtual_time
async def test_workload_alone_has_no_name_anywhere() -> None:
    async with platform(KIND) as world:
        await world.apply(wiki(config={"LOG_LEVEL": "info"}, secrets={"TOKEN": "hidden"}))
        status = await world.active(KIND, NAME)
        assert world.children(NAME) == {
            *("ConfigMap", "Secret", "Deployment", "Service"),
            *("HorizontalPodAutoscaler", "PodDisruptionBudget"),
        }
        assert not {"url", "published", "cdnDomain"} & set(status)
        assert status["replicas"] == 1
        (container,) = _pod(world)["spec"]["containers"]
        assert container["image"] == IMAGE
        assert world.get("ConfigMap", NAME)["data"] == {"LOG_LEVEL": "info"}
        assert b64decode(world.get("Secret", NAME)["data"]["TOKEN"]) == b"hidden"
        (port,) = world.get("Service", NAME)["spec"]["ports"]
        assert (port["port"], port["targetPort"]) == (80, 8080)
        assert not _names(world)


@virtual_time
async def test_hostname_with_people_is_protected_before_it_is_reachable() -> None:
    async with platform(KIND) as world:
        world.cloudflare.guarded.add(HOSTNAME)
        await world.apply(wiki(hostname=HOSTNAME, access={"emails": [ADA]}))
        status = await world.active(KIND, NAME)
        assert (status["url"], status["published"]) == (f"https://{HOSTNAME}", "True")
        rule = world.rule(HOSTNAME)
        assert rule is not None
        assert rule["service"] == "http://wiki.apps.svc:80"
        assert "access" in rule["originRequest"]
        assert world.admitted(HOSTNAME) == [ADA]
        assert _names(world) == [HOSTNAME]


@virtual_time
async def test_hostname_without_people_is_public() -> None:
    async with platform(KIND) as world:
        await world.apply(wiki(hostname=HOSTNAME))
        await world.active(KIND, NAME)
        assert world.rule(HOSTNAME) is not None
        assert world.admitted(HOSTNAME) is None
        assert _names(world) == [HOSTNAME]


@virtual_time
async def test_change_of_people_reaches_cloudflare() -> None:
    async with platform(KIND) as world:
        await world.apply(wiki(hostname=HOSTNAME, access={"emails": [ADA]}))
        await world.active(KIND, NAME)
        await world.edit(KIND, NAME, access={"emails": [ADA, GRACE]})
        await world.until(lambda: world.admitted(HOSTNAME) == [ADA, GRACE])
        await world.active(KIND, NAME)
        await world.edit(KIND, NAME, access={"emails": []})
        await world.until(lambda: world.admitted(HOSTNAME) is None)
        await world.active(KIND, NAME)
        await world.edit(KIND, NAME, hostname="")
        await world.until(lambda: not _names(world))
        await world.until(lambda: world.rule(HOSTNAME) is None)
        assert "url" not in await world.active(KIND, NAME)


@virtual_time
async def test_unknown_group_is_told_by_the_object_of_the_user() -> None:
    async with platform(KIND) as world:
        await world.apply(wiki(hostname=HOSTNAME, access={"groups": ["Nobody"]}))
        await world.until(lambda: "Nobody" in str(world.status(KIND, NAME).get("publishing")))
        status = world.status(KIND, NAME)
        assert (status["state"], status["published"]) == ("IN_PROGRESS", "False")
        assert world.rule(HOSTNAME) is None
        assert not _names(world)


@virtual_time
async def test_change_of_environment_replaces_the_pods_and_leaves_nothing_of_the_old() -> None:
    async with platform(KIND) as world:
        await world.apply(
            wiki(config={"LOG_LEVEL": "info", "OLD": "1"}, secrets={"TOKEN": "old", "GONE": "x"})
        )
        await world.active(KIND, NAME)
        first = _pod(world)["metadata"]["annotations"]
        await world.edit(KIND, NAME, config={"OLD": None})
        await world.active(KIND, NAME)
        second = _pod(world)["metadata"]["annotations"]
        assert second != first
        assert world.get("ConfigMap", NAME)["data"] == {"LOG_LEVEL": "info"}
        await world.edit(KIND, NAME, secrets={"TOKEN": "new", "GONE": None})
        await world.active(KIND, NAME)
        assert _pod(world)["metadata"]["annotations"] not in (first, second)
        data = world.get("Secret", NAME)["data"]
        assert {name: b64decode(value) for name, value in data.items()} == {"TOKEN": b"new"}


@virtual_time
async def test_secret_that_exists_is_passed_on_by_name() -> None:
    async with platform(KIND) as world:
        await world.apply(wiki(secretName="database"))
        await world.active(KIND, NAME)
        (container,) = _pod(world)["spec"]["containers"]
        assert [one["secretRef"]["name"] for one in container["envFrom"] if "secretRef" in one] == [
            NAME,
            "database",
        ]


@virtual_time
async def test_autoscaler_alone_says_how_many_pods_there_are() -> None:
    async with platform(KIND) as world:
        await world.apply(wiki(scaling={"min": 2, "max": 5, "cpu": 60}))
        await world.active(KIND, NAME)
        autoscaler = world.get("HorizontalPodAutoscaler", NAME)["spec"]
        assert (autoscaler["minReplicas"], autoscaler["maxReplicas"]) == (2, 5)
        await world.scale("Deployment", NAME, 4)  # as the autoscaler does
        await world.edit(KIND, NAME, image=f"{IMAGE}-1")
        await world.active(KIND, NAME)
        assert world.get("Deployment", NAME)["spec"]["replicas"] == 4
        await world.until(lambda: world.status(KIND, NAME)["replicas"] == 4)
        await world.edit(KIND, NAME, scaling={"min": 3, "max": 1})
        await world.active(KIND, NAME)
        autoscaler = world.get("HorizontalPodAutoscaler", NAME)["spec"]
        assert (autoscaler["minReplicas"], autoscaler["maxReplicas"]) == (3, 3)


@virtual_time
async def test_ingress_leads_to_the_service() -> None:
    async with platform(KIND) as world:
        await world.apply(wiki(ingress={"host": "wiki.internal"}))
        await world.active(KIND, NAME)
        ingress = world.get("Ingress", NAME)["spec"]
        (rule,) = ingress["rules"]
        assert (ingress["ingressClassName"], rule["host"]) == ("nginx", "wiki.internal")
        assert rule["http"]["paths"][0]["backend"]["service"] == {"name": NAME, "port": {"name": "http"}}
        await world.edit(KIND, NAME, ingress={"host": ""})
        await world.until(lambda: world.find("Ingress", NAME) is None)
        await world.active(KIND, NAME)


@virtual_time
async def test_domain_on_cloudfront_has_tenant_certificate_and_record() -> None:
    async with platform(KIND) as world:
        cdn = {"domain": "www.example.com", "distributionId": DISTRIBUTION, "hostedZoneId": world.aws.zone.id}
        before = world.records
        await world.apply(wiki(cdn=cdn))
        status = await world.active(KIND, NAME)
        tenant = world.aws.cloud.cloudfront.tenant(NAME)
        assert tenant.domains == ("www.example.com",)
        assert status["cdnDomain"] == "www.example.com"
        assert world.aws.zone.target("www.example.com.") == f"{status['cdnEndpoint']}."
        await world.edit(KIND, NAME, cdn={"domain": ""})
        await world.until(lambda: not list(world.aws.cloud.cloudfront.tenants.values()))
        assert world.records == before
        assert "cdnDomain" not in await world.active(KIND, NAME)
