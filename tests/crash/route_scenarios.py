"""What users do with HTTPRoutes that are published through Cloudflare, and what happens to them."""

from __future__ import annotations

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.kube.kinds import HTTP_ROUTE, SECRET, Key
from tests.crash.stage import Stage
from tests.crash.system import Scenarios
from tests.zerotrust_crash.estate import Estate
from tests.zerotrust_crash.system import WEB

scenarios: Scenarios[Estate] = Scenarios()

KEY = Key(WEB, "shop")
OTHER = Key(WEB, "blog")
SHOP, CART, MOVED = "shop.example.com", "cart.example.com", "shop.example.net"
MAIL: dict[str, str | None] = {"accessApp": "true", "allowEmails": "a@example.com"}
TOKEN: dict[str, str | None] = {**MAIL, "serviceToken": "true"}


def prefixed(annotations: dict[str, str | None]) -> JsonObject:
    return {name if "/" in name else f"{PREFIX}{name}": value for name, value in annotations.items()}


def route(key: Key = KEY, hostname: str = SHOP, /, **annotations: str | None) -> JsonObject:
    named = prefixed({"enabled": "true", "hostname": hostname, "tenant": "main", **annotations})
    return {
        "apiVersion": HTTP_ROUTE.api_version,
        "kind": HTTP_ROUTE.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "annotations": named},
        "spec": {"rules": [{"backendRefs": [{"name": "app", "port": 8080}]}]},
    }


async def published(stage: Stage[Estate], **annotations: str | None) -> None:
    await stage.create(route(**annotations))
    await stage.settled()


async def given(stage: Stage[Estate], **annotations: str | None) -> None:
    """A route that is published when the scenario begins."""
    await published(stage, **annotations)
    stage.begin()


async def annotate(stage: Stage[Estate], **annotations: str | None) -> None:
    await stage.patch(HTTP_ROUTE, KEY, {"metadata": {"annotations": prefixed(annotations)}})


async def change(stage: Stage[Estate], **annotations: str | None) -> None:
    await annotate(stage, **annotations)
    await stage.settled()


def annotation(stage: Stage[Estate], name: str) -> str:
    (found,) = [
        obj for obj in stage.objects() if obj["kind"] == "HTTPRoute" and obj["metadata"]["name"] == KEY.name
    ]
    return str(dig_object(found, "metadata", "annotations").get(f"{PREFIX}{name}"))


# Publishing


@scenarios.add
async def publication(stage: Stage[Estate]) -> None:
    await published(stage)


@scenarios.add
async def publication_with_access(stage: Stage[Estate]) -> None:
    stage.begin()
    await published(stage, **MAIL)


@scenarios.add
async def publication_with_a_service_token(stage: Stage[Estate]) -> None:
    stage.begin()
    await published(stage, **TOKEN)


# Access


@scenarios.add
async def change_of_who_may_come_in(stage: Stage[Estate]) -> None:
    await given(stage, **MAIL)
    ids = annotation(stage, "accessAppId"), annotation(stage, "accessPolicyIds")
    await change(stage, allowEmails="b@example.com", allowGroups="staff")
    assert (annotation(stage, "accessAppId"), annotation(stage, "accessPolicyIds")) == ids


@scenarios.add
async def access_disabled(stage: Stage[Estate]) -> None:
    await given(stage, allowGroups="staff", accessApp="true")
    await change(stage, accessApp="false", allowGroups=None)


@scenarios.add
async def access_enabled_later(stage: Stage[Estate]) -> None:
    await given(stage)
    await change(stage, **MAIL)


@scenarios.add
async def wildcard_application_shared(stage: Stage[Estate]) -> None:
    wildcard = "*.example.com"
    await given(stage, hostname=wildcard, **MAIL)
    shared = {"accessApp": "true", "access.applicationDomain": wildcard}
    await stage.create(route(OTHER, CART, **shared))
    await stage.settled()
    await stage.delete(HTTP_ROUTE, OTHER)
    await stage.settled()


# Service tokens


@scenarios.add
async def token_rotated(stage: Stage[Estate]) -> None:
    await given(stage, **TOKEN)
    await annotate(stage, **{"serviceToken.rotate": "first"})
    await stage.until(lambda: _rotation(stage) == "first")
    await stage.settled()


def _rotation(stage: Stage[Estate]) -> str:
    annotations = [
        dig_object(obj, "metadata", "annotations") for obj in stage.objects() if obj["kind"] == SECRET.kind
    ]
    return next(
        (str(one["edgekeeper.io/rotation"]) for one in annotations if "edgekeeper.io/rotation" in one), ""
    )


@scenarios.add
async def token_switched_off(stage: Stage[Estate]) -> None:
    await given(stage, **TOKEN)
    await change(stage, serviceToken="false")


# Moving


@scenarios.add
async def hostname_renamed(stage: Stage[Estate]) -> None:
    await given(stage, **MAIL)
    await change(stage, hostname=CART)


@scenarios.add
async def tunnel_changed(stage: Stage[Estate]) -> None:
    await given(stage, **MAIL)
    await change(stage, tunnelId=stage.outside.sites["main"].tunnels[1])


@scenarios.add
async def tunnel_left_for_an_address(stage: Stage[Estate]) -> None:
    await given(stage)
    await change(stage, dnsOnly="true", dnsIp="10.0.0.7")


@scenarios.add
async def address_left_for_a_tunnel(stage: Stage[Estate]) -> None:
    await given(stage, dnsOnly="true", dnsIp="10.0.0.7")
    await change(stage, dnsOnly=None, dnsIp=None, **MAIL)


@scenarios.add
async def tenant_of_another_account(stage: Stage[Estate]) -> None:
    await given(stage, **TOKEN)
    await change(stage, tenant="other", hostname=MOVED)


# Drift


@scenarios.add
async def drift_of_a_record(stage: Stage[Estate]) -> None:
    await given(stage)
    stage.outside.lose(f"CNAME {SHOP}")
    await stage.settled()


@scenarios.add
async def drift_of_an_application(stage: Stage[Estate]) -> None:
    await given(stage, **MAIL)
    stage.outside.lose(f"application {SHOP}")
    await stage.settled()


# Conflicts


@scenarios.add
async def two_routes_for_one_hostname(stage: Stage[Estate]) -> None:
    stage.begin()
    await stage.create(route(**MAIL))
    await stage.elapse(seconds=2)
    await stage.create(route(OTHER, **MAIL))
    await stage.settled()
    await stage.delete(HTTP_ROUTE, KEY)
    await stage.until(lambda: not any(obj["metadata"]["name"] == KEY.name for obj in stage.objects()))
    await stage.until(lambda: any(_reason(obj) == "Published" for obj in stage.objects()))
    await stage.settled()


def _reason(obj: JsonObject) -> str:
    return str(dig_object(obj, "metadata", "annotations").get("edgekeeper.io/reason"))


# Withdrawing


@scenarios.add
async def route_disabled(stage: Stage[Estate]) -> None:
    await given(stage, **TOKEN)
    await change(stage, enabled="false")


@scenarios.add
async def route_disabled_and_enabled(stage: Stage[Estate]) -> None:
    await given(stage, **MAIL)
    await change(stage, enabled=None)
    await change(stage, enabled="true")


@scenarios.add
async def deletion(stage: Stage[Estate]) -> None:
    await given(stage, **TOKEN)
    await stage.delete(HTTP_ROUTE, KEY)
    await stage.settled()


@scenarios.add_race
async def deletion_at_once(stage: Stage[Estate]) -> None:
    stage.begin()
    await stage.create(route(**TOKEN))
    await stage.elapse(seconds=0.02)
    await stage.delete(HTTP_ROUTE, KEY)
    await stage.settled()


@scenarios.add_race
async def deletion_while_the_task_is_in_progress(stage: Stage[Estate]) -> None:
    stage.begin()
    await stage.create(route(**TOKEN))
    await stage.until(
        lambda: any(obj.get("status", {}).get("phase") == "InProgress" for obj in stage.objects())
    )
    await stage.delete(HTTP_ROUTE, KEY)
    await stage.settled()


@scenarios.add_race
async def rename_while_the_task_is_in_progress(stage: Stage[Estate]) -> None:
    stage.begin()
    await stage.create(route(**MAIL))
    await stage.elapse(seconds=1.5)
    await annotate(stage, hostname=CART)
    await stage.settled()
