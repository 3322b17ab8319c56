"""Tenants, templates, Services, grants and other routes: who may use what, and what a change of them wakes."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.route_index import TASK, TEMPLATE, TENANT
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import HTTP_ROUTE, REFERENCE_GRANT, SERVICE, Key, Kind
from edgekeeper.kube.store import Store
from edgekeeper.lifecycle.claims import HOSTNAME, Claim, ClaimSource, Proof
from kubesim.virtual import virtual_time
from tests.zerotrust.route_world import (
    KEY,
    OPERATOR,
    OPTIONS,
    OTHER_ACCOUNT,
    TUNNEL,
    ZONE,
    World,
    plain_object,
    route,
    state_object,
    template,
    tenant,
    world,
)

HOST = "shop.web.example.com"
OTHER = Key("other", "shop")


async def applied(cluster: World, count: int) -> None:
    await cluster.until(lambda: len(cluster.worker.done) == count)
    await cluster.until(lambda: not cluster.all(TASK))


# Tenants


@virtual_time
async def test_route_waits_for_its_tenant_and_is_woken_by_it() -> None:
    async with world() as cluster:
        await cluster.create(route())
        assert "has no CloudflareZeroTrustTenant" in await cluster.says("TenantNotFound")
        await cluster.create(tenant())
        await cluster.until(lambda: cluster.said()[1] == "Published", minutes=1)


@virtual_time
async def test_tenant_of_the_operators_namespace_is_for_everybody() -> None:
    async with world() as cluster:
        await cluster.create(tenant(Key(OPERATOR, "main")), route(tenant="main"))
        await cluster.ready()
        assert cluster.worker.done[0].tenant_ref.namespace == OPERATOR


@virtual_time
async def test_tenant_of_the_routes_namespace_comes_first() -> None:
    async with world() as cluster:
        await cluster.create(tenant(Key(OPERATOR, "main"), OTHER_ACCOUNT), tenant(), route(tenant="main"))
        await cluster.ready()
        assert cluster.worker.done[0].tenant_ref.namespace == "web"


@virtual_time
async def test_several_tenants_without_a_word_are_ambiguous() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), tenant(Key("web", "second")), route())
        assert "main, second" in await cluster.says("TenantAmbiguous")
        await cluster.annotate(tenant="second")
        await cluster.ready()


@virtual_time
async def test_tenant_may_exclude_namespaces() -> None:
    async with world() as cluster:
        await cluster.create(tenant(allowedNamespaces=["web"]), route(OTHER, HOST, tenant="web/main"))
        assert "does not allow routes of namespace other" in await cluster.says("NamespaceNotAllowed", OTHER)
        await cluster.patch(TENANT, Key("web", "main"), {"spec": {"allowedNamespaces": ["web", "other"]}})
        await cluster.until(lambda: cluster.said(OTHER)[1] == "Published", minutes=1)


@virtual_time
async def test_tenant_that_excludes_a_namespace_later_leaves_published_what_is() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(OTHER, HOST, tenant="web/main"))
        await cluster.ready(OTHER)
        await cluster.patch(TENANT, Key("web", "main"), {"spec": {"allowedNamespaces": ["web"]}})
        await cluster.says("NamespaceNotAllowed", OTHER)
        assert cluster.published() == {HOST}
        await cluster.delete(HTTP_ROUTE, OTHER)
        await cluster.gone(OTHER)
        assert cluster.worker.cloud == {}


# Templates


@virtual_time
async def test_template_is_waited_for_and_its_changes_are_applied() -> None:
    async with world() as cluster:
        key = Key("web", "protected")
        await cluster.create(tenant(), route(template="protected"))
        await cluster.says("TemplateNotFound")
        assert cluster.published() == set()
        access = {"enabled": True, "allowEmails": ["a@example.com"]}
        await cluster.create(template(key, accessApplication=access))
        await cluster.until(lambda: cluster.said()[1] == "Published", minutes=1)
        assert cluster.worker.done[0].operations.access_app.enabled
        await cluster.patch(TEMPLATE, key, {"spec": {"accessApplication": {"sessionDuration": "8h"}}})
        await applied(cluster, 2)
        assert cluster.worker.done[-1].operations.access_app.session_duration == "8h"
        await cluster.delete(TEMPLATE, key)
        await cluster.says("TemplateNotFound")
        assert cluster.cloud("AccessApplication"), "what is published stays, with its protection"


@virtual_time
async def test_base_template_applies_when_it_comes_and_its_end_removes_no_protection() -> None:
    async with world() as cluster:
        base = Key("web", "base-main")
        await cluster.create(tenant(), route())
        await cluster.ready()
        access = {"enabled": True, "allowEmails": ["a@example.com"]}
        await cluster.create(template(base, accessApplication=access))
        await applied(cluster, 2)
        assert cluster.cloud("AccessApplication")
        await cluster.delete(TEMPLATE, base)
        assert "false" in await cluster.says("ProtectionRemoved")
        assert cluster.cloud("AccessApplication")
        await cluster.annotate(accessApp="false")
        await cluster.ready()
        assert cluster.cloud("AccessApplication") == []


@virtual_time
async def test_template_called_default_applies_from_the_tenants_namespace_only() -> None:
    async with world() as cluster:
        await cluster.create(
            tenant(Key(OPERATOR, "main")),
            template(Key("web", "default"), originService={"url": "http://users.example.com"}),
            route(tenant="main"),
        )
        await cluster.ready()
        assert "traefik" in cluster.worker.done[-1].operations.tunnel_route.origin_service
        await cluster.create(
            template(Key(OPERATOR, "default"), originService={"url": "http://tenants.example.com"})
        )
        await applied(cluster, 2)
        assert cluster.worker.done[-1].operations.tunnel_route.origin_service == "http://tenants.example.com"


@virtual_time
async def test_template_of_a_user_shadows_neither_the_tenants_nor_the_base_template() -> None:
    access = {"enabled": True, "allowEmails": ["a@example.com"]}
    public = {"enabled": False}
    async with world() as cluster:
        await cluster.create(
            tenant(Key(OPERATOR, "main")),
            template(Key(OPERATOR, "protected"), accessApplication=access),
            template(Key("web", "protected"), accessApplication=public),
            template(
                Key("web", "base-main"),
                accessApplication=public,
                originService={"url": "http://evil.example.com"},
            ),
            route(tenant="main", template="protected"),
        )
        await cluster.ready()
        (spec,) = cluster.worker.done
        assert spec.operations.access_app.enabled
        assert "traefik" in spec.operations.tunnel_route.origin_service


@virtual_time
async def test_template_shows_which_routes_use_it() -> None:
    async with world() as cluster:
        key, base = Key("web", "protected"), Key("web", "base-main")
        await cluster.create(
            tenant(), template(key, dns="managed"), template(base), route(template="protected")
        )
        await cluster.create(route(OTHER, tenant="web/main"))
        await cluster.ready(KEY, OTHER)

        def users(template_key: Key) -> list[str]:
            return dig(cluster.find(TEMPLATE, template_key), "status", "usedByHTTPRoutes") or []

        await cluster.until(lambda: users(key) == ["web/shop"])
        await cluster.until(lambda: users(base) == ["other/shop", "web/shop"])
        (ready,) = dig(cluster.find(TEMPLATE, key), "status", "conditions")
        assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "Accepted")
        assert await cluster.quiet(hours=1) == []
        await cluster.delete()
        await cluster.until(lambda: users(key) == [])
        await cluster.until(lambda: users(base) == ["other/shop"])


@virtual_time
async def test_list_of_a_template_is_written_seldom_while_routes_come() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), template(Key("web", "base-main")))
        for number in range(40):
            await cluster.create(route(Key("web", f"n{number:02}")))
            await cluster.elapse(seconds=0.5)
        keys = [Key("web", f"n{number:02}") for number in range(40)]
        await cluster.ready(*keys)
        await cluster.elapse(minutes=1)
        writes = [
            call
            for call in cluster.trace.calls
            if call.mutating and "cloudflarezerotrusttemplates" in call.operation
        ] or [call for call in cluster.trace.calls if call.mutating and "base-main" in call.subject]
        assert 0 < len(writes) <= 8
        assert len(dig(cluster.find(TEMPLATE, Key("web", "base-main")), "status", "usedByHTTPRoutes")) == 40


# Services and grants


def service(key: Key, *addresses: str) -> JsonObject:
    body = plain_object(SERVICE, key, spec={"type": "LoadBalancer", "ports": [{"port": 80}]})
    body["status"] = {"loadBalancer": {"ingress": [{"ip": address} for address in addresses]}}
    return body


def grant(namespace: str, referrer: str) -> JsonObject:
    spec = {
        "from": [{"group": HTTP_ROUTE.group, "kind": "HTTPRoute", "namespace": referrer}],
        "to": [{"group": "", "kind": "Service"}],
    }
    return plain_object(REFERENCE_GRANT, Key(namespace, "routes"), spec=spec)


async def set_addresses(cluster: World, key: Key, *addresses: str) -> None:
    ingress = [{"ip": address} for address in addresses]
    await cluster.user.merge_patch(
        SERVICE, key, {"status": {"loadBalancer": {"ingress": ingress}}}, subresource="status"
    )


@virtual_time
async def test_dns_only_route_follows_the_address_of_its_load_balancer() -> None:
    ingress = Key("web", "ingress")
    dns_only = {"enabled": True, "ingressServiceRef": {"name": "ingress"}}
    async with world() as cluster:
        await cluster.create(
            tenant(), template(Key("web", "internal"), dnsOnly=dns_only), route(template="internal")
        )
        await cluster.says("ServiceNotFound")
        await cluster.create(service(ingress))
        await cluster.says("NoAddress")
        await set_addresses(cluster, ingress, "10.0.0.1")
        await cluster.until(lambda: cluster.said()[1] == "Published", minutes=1)
        assert cluster.worker.done[-1].operations.dns_record.ip_address == "10.0.0.1"
        await set_addresses(cluster, ingress, "10.0.0.2")
        await applied(cluster, 2)
        assert [item.content for item in cluster.cloud("DnsRecord")] == ["10.0.0.2"]


@virtual_time
async def test_load_balancer_of_another_namespace_needs_a_grant() -> None:
    ingress = Key("other", "ingress")
    dns_only = {"enabled": True, "ingressServiceRef": {"name": "ingress", "namespace": "other"}}
    async with world() as cluster:
        await cluster.create(tenant(), template(Key("web", "internal"), dnsOnly=dns_only), service(ingress))
        await set_addresses(cluster, ingress, "10.0.0.1")
        await cluster.create(route(template="internal"))
        assert "has no ReferenceGrant" in await cluster.says("ReferenceNotGranted")
        await cluster.create(grant("other", "web"))
        await cluster.until(lambda: cluster.said()[1] == "Published", minutes=1)
        await cluster.delete(REFERENCE_GRANT, Key("other", "routes"))
        await cluster.says("ReferenceNotGranted")
        assert cluster.cloud("DnsRecord"), "what is published stays"


@virtual_time
async def test_backend_of_another_namespace_needs_a_grant() -> None:
    far = route(originService="backend")
    far["spec"]["rules"][0]["backendRefs"][0]["namespace"] = "other"
    async with world() as cluster:
        await cluster.create(tenant(), far)
        await cluster.says("ReferenceNotGranted")
        await cluster.create(grant("other", "web"))
        await cluster.until(lambda: cluster.said()[1] == "Published", minutes=1)
        origin = cluster.worker.done[-1].operations.tunnel_route.origin_service
        assert origin == "http://app.other.svc.cluster.local:8080"


# Hostnames


@virtual_time
async def test_hostname_of_two_routes_is_refused_for_the_younger_before_any_task() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(KEY, HOST))
        await cluster.elapse(seconds=2)
        await cluster.create(route(OTHER, HOST, tenant="web/main"))
        message = await cluster.says("DomainConflict", OTHER)
        assert message == f"the domain {HOST} is served by web/shop"
        assert cluster.tasks_of(OTHER) == []
        await cluster.delete()
        await cluster.gone()
        await cluster.ready(OTHER)
        assert cluster.published() == {HOST}


@virtual_time
async def test_route_that_has_a_hostname_keeps_it_from_an_older_one() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(OTHER, "old.example.com", tenant="web/main"))
        await cluster.elapse(seconds=2)
        await cluster.create(route(KEY, HOST))
        await cluster.ready(OTHER, KEY)
        await cluster.annotate(OTHER, hostname=HOST)
        await cluster.says("DomainConflict", OTHER)
        assert cluster.published() == {HOST, "old.example.com"}
        assert cluster.said()[1] == "Published"


@virtual_time
async def test_hostname_that_another_route_leaves_is_waited_for() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(KEY, HOST))
        await cluster.ready()
        cluster.worker.is_running = False
        await cluster.annotate(enabled="false")
        await cluster.until(lambda: cluster.all(TASK))
        await cluster.create(route(OTHER, HOST, tenant="web/main"))
        assert "waits until route web/shop has released" in await cluster.says("DomainConflict", OTHER)
        cluster.worker.is_running = True
        await cluster.until(lambda: cluster.said(OTHER)[1] == "Published", minutes=2)
        assert cluster.published() == {HOST}


@virtual_time
async def test_wildcard_and_the_names_below_it_do_not_contest_each_other() -> None:
    async with world() as cluster:
        await cluster.create(tenant(), route(KEY, "*.web.example.com"), route(OTHER, HOST, tenant="web/main"))
        await cluster.ready(KEY, OTHER)
        assert cluster.published() == {"*.web.example.com", HOST}


DISTRIBUTION = Kind("example.com", "v1", "Distribution", "distributions")


@pytest.mark.parametrize(
    ("since", "how"), [("2020-01-01T00:00:00Z", "is claimed by"), ("2040-01-01T00:00:00Z", "")]
)
@virtual_time
async def test_hostname_of_an_older_object_of_another_kind_is_refused(since: str, how: str) -> None:
    async def nothing(_: Claim) -> Proof:
        return lambda _: False

    async with world() as cluster:
        store = Store(DISTRIBUTION)
        store.mark_synced()
        metadata = {"name": "shop", "namespace": "web", "uid": "1", "creationTimestamp": since}
        store.put(Key("web", "shop"), msgspec.json.encode({"metadata": metadata}))
        (claims,) = cluster.claims
        claims.register(ClaimSource(DISTRIBUTION, {HOSTNAME: lambda _: [HOST]}, proof=nothing))
        claims.objects.follow(DISTRIBUTION, [store])
        await cluster.create(tenant(), route(KEY, HOST))
        if not how:
            await cluster.ready()
            return
        message = await cluster.says("DomainConflict")
        assert message == f"the domain {HOST} is claimed by distribution web/shop, which is older"
        assert cluster.tasks_of() == []


@virtual_time
async def test_hostname_policy_is_checked_and_who_violates_it_claims_nothing() -> None:
    options = replace(OPTIONS, hostnames={"web": ("example.com",), "*": ("other.org",)})
    async with world(options) as cluster:
        await cluster.create(tenant(), route(OTHER, HOST, tenant="web/main"))
        assert "--hostname-policy" in await cluster.says("HostnameNotAllowed", OTHER)
        await cluster.elapse(seconds=2)
        await cluster.create(route(KEY, HOST))
        await cluster.ready()
        assert cluster.tasks_of(OTHER) == []


@virtual_time
async def test_shared_hostname_of_two_legacy_routes_stays_with_the_one_that_stays() -> None:
    """The described operators let two routes have one hostname."""

    def left(key: Key) -> JsonObject:
        labels = {f"{PREFIX}httproute-namespace": key.namespace, f"{PREFIX}httproute-name": key.name}
        data = {
            "annotation_hash": "old",
            "hostname": HOST,
            "tenant_name": "main",
            "tunnel_id": TUNNEL,
            "zone_id": ZONE,
            "hostname_route_id": TUNNEL,
            "cname_record_id": "cname-1",
            "httproute_namespace": key.namespace,
            "httproute_name": key.name,
        }
        return state_object(f"cfzt-{key.namespace}-{key.name}", data, labels)

    async with world(start=False) as cluster:
        await cluster.create(tenant(), route(KEY, HOST), left(KEY))
        await cluster.elapse(seconds=2)
        await cluster.create(route(OTHER, HOST, tenant="web/main"), left(OTHER))
        cluster.start()
        await cluster.until(lambda: cluster.said()[1] == "Published")
        await cluster.says("DomainConflict", OTHER)
        await cluster.delete(HTTP_ROUTE, OTHER)
        await cluster.gone(OTHER)
        assert cluster.published() == {HOST}, "it is the other route's"
        assert len(cluster.cloud("DnsRecord")) == 1
