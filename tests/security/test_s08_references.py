"""S-08 and S-09: no field of any kind reaches into another namespace without a grant from there.

The fields are read off the CustomResourceDefinitions of the product, and off the HTTPRoute with its annotations: whatever
looks like a reference must be in `TREATED`, so that a new field fails here until somebody has said, and shown, how it is kept in
its namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.zerotrust.annotation_keys import SETTINGS
from edgekeeper.controllers.zerotrust.annotation_values import NAME as NAME_OF_A_TEMPLATE
from edgekeeper.controllers.zerotrust.annotation_values import SERVICE as NAME_OF_A_SERVICE
from edgekeeper.controllers.zerotrust.annotation_values import TENANT as NAME_OF_A_TENANT
from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, NAMESPACE, REFERENCE_GRANT, SERVICE, Key
from kubesim.plane.kinds.gateway import gateway_crds
from kubesim.virtual import virtual_time
from tests.bridge.estate import FUNCTION
from tests.bridge.world import (
    APIS,
    DOMAIN,
    DOMAINS,
    FUNCTIONS,
    NAME,
    PERMISSION,
    Scene,
    domain,
    make,
    permission,
    playing,
    statement,
)
from tests.composition.definitions.scene import WEB_APP, config_map, definition, scenery
from tests.composition.test_together import child, instantiate, state
from tests.results import Figures
from tests.zerotrust.acceptance_world import operating, route, template
from tests.zerotrust_worker.world import task

_LOOKS_LIKE_A_REFERENCE = re.compile(
    r"(Refs?|namespaces?|Namespaces?|[sS]electors?|[sS]ecrets?|[sS]ecretName|configMaps?|ConfigMaps?|templates?|envFrom)$"
)
GRANTED = "a ReferenceGrant of the namespace that is named"
OWN = "it has no namespace: the object's own is meant"
OPERATORS = "only objects in the operator's namespace count, where tenants may not write"
ADMINISTRATORS = "a kind of administrators"
LIMITED = "--composition-allowed-namespaces"
UNREAD = "nothing reads it"
REFUSED = "a rule with it is refused: UnsupportedRoute"
TREATED: dict[tuple[str, str], str] = {
    ("APIGatewayDomain", "spec.apiRef"): GRANTED,
    ("APIGatewayDomain", "spec.apiRef.namespace"): GRANTED,
    ("LambdaPermission", "spec.functionRef"): OWN,
    ("LambdaPermission", "spec.permissions[].sourceRef"): OWN,
    ("CloudflareZeroTrustTemplate", "spec.tenantRef"): OWN,
    ("CloudflareZeroTrustTemplate", "spec.dnsOnly.ingressServiceRef"): GRANTED,
    ("CloudflareZeroTrustTemplate", "spec.dnsOnly.ingressServiceRef.namespace"): GRANTED,
    ("CloudflareZeroTrustTenant", "spec.credentialRef"): OWN,
    ("CloudflareZeroTrustTenant", "spec.allowedNamespaces"): "it restricts others, and gives nothing",
    ("CloudflareZeroTrustOperatorConfig", "spec.nodeSelector"): ADMINISTRATORS,
    ("CloudflareZeroTrustOperatorConfig", "spec.environmentVariables.watchNamespaces"): ADMINISTRATORS,
    ("CloudflareTask", "spec.httprouteRef"): OPERATORS,
    ("CloudflareTask", "spec.httprouteRef.namespace"): OPERATORS,
    ("CloudflareTask", "spec.tenantRef"): OPERATORS,
    ("CloudflareTask", "spec.tenantRef.namespace"): OPERATORS,
    ("CloudflareTask", "spec.operations.serviceToken.secretName"): OPERATORS,
    ("CloudflareTask", "spec.operations.serviceToken.secretNamespace"): OPERATORS,
    ("CloudflareTask", "spec.credentialSecretRef"): OPERATORS,
    ("CloudflareTask", "spec.credentialSecretRef.namespace"): OPERATORS,
    ("ResourceGraphDefinition", "spec.resources[].template"): LIMITED,
    ("ResourceGraphDefinition", "spec.resources[].externalRef"): LIMITED,
    ("ResourceGraphDefinition", "spec.resources[].externalRef.metadata.namespace"): LIMITED,
    ("ResourceGraphDefinition", "spec.resources[].externalRef.metadata.selector"): LIMITED,
    ("GraphRevision", "spec.snapshot.spec.resources[].template"): LIMITED,
    ("GraphRevision", "spec.snapshot.spec.resources[].externalRef"): LIMITED,
    ("GraphRevision", "spec.snapshot.spec.resources[].externalRef.metadata.namespace"): LIMITED,
    ("GraphRevision", "spec.snapshot.spec.resources[].externalRef.metadata.selector"): LIMITED,
}
ROUTE_FIELDS = {
    "spec.parentRefs": UNREAD,
    "spec.parentRefs[].namespace": UNREAD,
    "spec.rules[].backendRefs": GRANTED,
    "spec.rules[].backendRefs[].namespace": GRANTED,
    "spec.rules[].backendRefs[].filters[].extensionRef": REFUSED,
    "spec.rules[].backendRefs[].filters[].requestMirror.backendRef": REFUSED,
    "spec.rules[].backendRefs[].filters[].requestMirror.backendRef.namespace": REFUSED,
    "spec.rules[].filters[].extensionRef": REFUSED,
    "spec.rules[].filters[].requestMirror.backendRef": REFUSED,
    "spec.rules[].filters[].requestMirror.backendRef.namespace": REFUSED,
}
ANNOTATIONS = {
    "tenant": "spec.allowedNamespaces of the tenant",
    "template": "its own namespace, or the operator's",
    "dnsOnly.ingressServiceRef": GRANTED,
}


def _fields(schema: JsonObject, path: str) -> Iterator[str]:
    """The paths of all fields below a schema."""
    for name, field in (schema.get("properties") or {}).items():
        yield f"{path}.{name}"
        yield from _fields(field, f"{path}.{name}")
    for inner, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(inner), dict):
            yield from _fields(schema[inner], f"{path}{suffix}")


def references(definition: JsonObject) -> set[str]:
    """The fields of a spec that look like a reference."""
    found: set[str] = set()
    for version in definition["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
        found.update(path for path in _fields(spec, "spec") if _LOOKS_LIKE_A_REFERENCE.search(path))
    return found


@pytest.mark.parametrize("kind", DEFINITIONS, ids=lambda kind: kind.kind)
def test_every_reference_of_a_kind_is_treated(kind: CustomKind, figures: Figures) -> None:
    known = {path for name, path in TREATED if name == kind.kind}
    assert references(kind.definition()) == known
    figures.count("fields", len(known), promise="S-08")


def test_every_reference_of_a_route_is_treated(figures: Figures) -> None:
    (definition,) = (one for one in gateway_crds() if one["spec"]["names"]["kind"] == "HTTPRoute")
    assert references(definition) == set(ROUTE_FIELDS)
    naming = (NAME_OF_A_TEMPLATE, NAME_OF_A_TENANT, NAME_OF_A_SERVICE)
    assert {one.path for one in SETTINGS if one.parse in naming} == set(ANNOTATIONS)
    figures.count("fields", len(ROUTE_FIELDS) + len(ANNOTATIONS), promise="S-08")
    assert {one.path for one in SETTINGS if _LOOKS_LIKE_A_REFERENCE.search(one.path)} <= set(ANNOTATIONS)


def test_walk_finds_references_wherever_they_are() -> None:
    inner = {"type": "object", "properties": {"tokenSecret": {"type": "string"}, "host": {"type": "string"}}}
    schema = {"properties": {"list": {"items": inner}, "map": {"additionalProperties": inner}}}
    found = [path for path in _fields(schema, "spec") if _LOOKS_LIKE_A_REFERENCE.search(path)]
    assert found == ["spec.list[].tokenSecret", "spec.map{}.tokenSecret"]


# APIs of ACK


def _grant(namespace: str, **changes: Any) -> JsonObject:
    """A grant for APIGatewayDomains of the namespace `default`, but for what is changed."""
    referrer = {"group": DOMAINS.group, "kind": DOMAINS.kind, "namespace": "default"}
    target = {"group": APIS.group, "kind": APIS.kind}
    return {
        "apiVersion": REFERENCE_GRANT.api_version,
        "kind": REFERENCE_GRANT.kind,
        "metadata": {"name": "grant", "namespace": namespace},
        "spec": {
            "from": [{**referrer, **changes.get("referrer", {})}],
            "to": [{**target, **changes.get("target", {})}],
        },
    }


INSUFFICIENT = {
    "in the referrer's namespace": _grant("default"),
    "for another kind of referrer": _grant("shared", referrer={"kind": "LambdaPermission"}),
    "for another group of referrers": _grant("shared", referrer={"group": "kro.run"}),
    "for another namespace": _grant("shared", referrer={"namespace": "other"}),
    "to another kind": _grant("shared", target={"kind": "DomainName"}),
    "to another group": _grant("shared", target={"group": ""}),
    "to another object": _grant("shared", target={"name": "shop-2"}),
}


async def _two_namespaces(scene: Scene) -> None:
    scene.certificate()
    await scene.stage.user.create(NAMESPACE, {"metadata": {"name": "shared"}})
    await scene.api(namespace="shared")


@pytest.mark.parametrize("grant", INSUFFICIENT.values(), ids=INSUFFICIENT.keys())
@virtual_time
async def test_domain_without_the_right_grant_reaches_no_api_elsewhere(grant: JsonObject) -> None:
    async with playing() as scene:
        await _two_namespaces(scene)
        await scene.stage.user.create(REFERENCE_GRANT, grant)
        await scene.create(domain(apiRef={"name": "shop", "namespace": "shared"}))
        await scene.says(DOMAIN, "APIMappingReady", "ReferenceNotGranted")
        await scene.elapse(minutes=10)
        assert not scene.names
        assert not scene.estate.writes


@virtual_time
async def test_revoked_grant_stops_the_use_of_the_api() -> None:
    async with playing() as scene:
        await _two_namespaces(scene)
        await scene.stage.user.create(REFERENCE_GRANT, _grant("shared"))
        await scene.create(domain(apiRef={"name": "shop", "namespace": "shared"}))
        await scene.ready(DOMAIN)
        await scene.stage.user.delete(REFERENCE_GRANT, Key("shared", "grant"))
        await scene.says(DOMAIN, "APIMappingReady", "ReferenceNotGranted")
        writes = scene.estate.writes
        await scene.edit(DOMAINS, DOMAIN, apiMappingKey="v2")
        await scene.elapse(minutes=10)
        assert scene.estate.writes == writes
        assert list(scene.mapped(NAME)) == [""]


@virtual_time
async def test_permission_names_functions_and_apis_of_its_own_namespace_only() -> None:
    """The same names elsewhere are other objects, and no spelling of a name leads there."""
    async with playing() as scene:
        await _two_namespaces(scene)
        spec = {"name": FUNCTION, "role": "r", "code": {}}
        arn = {"ackResourceMetadata": {"arn": scene.estate.function.arn}}
        await make(scene.stage, FUNCTIONS, "shop", spec, arn, "shared")
        await scene.create(permission(statement("api"), function={"name": "shop"}))
        await scene.says(PERMISSION, "FunctionResolved", "ReferenceNotFound")
        source = statement("source", sourceRef={"apiName": "shop"})
        await scene.create(permission(source, key=Key("default", "source")))
        await scene.elapse(minutes=10)
        assert scene.states(Key("default", "source")) == {"source": "Pending"}
        assert not scene.estate.statements()
        assert not scene.estate.writes


# Zero Trust


@virtual_time
async def test_template_leads_to_no_service_of_another_namespace() -> None:
    reference = {"name": "ingress", "namespace": "other"}
    async with operating(("other",)) as world:
        body = {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
        await world.user.create(SERVICE, {"metadata": {"name": "ingress", "namespace": "other"}, **body})
        address = {"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}
        await world.user.merge_patch(SERVICE, Key("other", "ingress"), address, subresource="status")
        await world.create(template("internal", dnsOnly={"enabled": True, "ingressServiceRef": reference}))
        await world.create(route("web", hostname="web.example.com", template="internal"))
        assert "ReferenceGrant" in await world.says("ReferenceNotGranted", "web")
        await world.elapse(minutes=10)
        assert not world.records("web.example.com")


def _service_grant(
    namespace: str, referrer: str = "default", kind: str = "HTTPRoute", to: str = "Service"
) -> JsonObject:
    """A grant for Services."""
    return {
        "apiVersion": REFERENCE_GRANT.api_version,
        "kind": REFERENCE_GRANT.kind,
        "metadata": {"name": "services", "namespace": namespace},
        "spec": {
            "from": [{"group": HTTP_ROUTE.group, "kind": kind, "namespace": referrer}],
            "to": [{"group": "", "kind": to}],
        },
    }


@pytest.mark.parametrize(
    "grant",
    [
        None,
        _service_grant("default"),
        _service_grant("other", referrer="team"),
        _service_grant("other", kind="Gateway"),
        _service_grant("other", to="Secret"),
    ],
    ids=[
        "none",
        "in the referrer's namespace",
        "for another namespace",
        "for another kind",
        "to another kind",
    ],
)
@pytest.mark.parametrize("field", ["backendRefs", "annotation"])
@virtual_time
async def test_route_without_the_right_grant_leads_to_no_service_elsewhere(
    grant: JsonObject | None, field: str
) -> None:
    async with operating(("other", "team")) as world:
        if grant is not None:
            await world.create(grant)
        web = route("web", hostname="web.example.com")
        if field == "backendRefs":
            web["metadata"]["annotations"]["cfzt.cloudflare.com/originService"] = "backend"
            web["spec"]["rules"] = [{"backendRefs": [{"name": "app", "namespace": "other", "port": 80}]}]
        else:
            web["metadata"]["annotations"]["cfzt.cloudflare.com/dnsOnly"] = "true"
            web["metadata"]["annotations"]["cfzt.cloudflare.com/dnsOnlyIngressServiceRef"] = "other/app"
        await world.create(web)
        await world.says("ReferenceNotGranted", "web")
        await world.elapse(minutes=10)
        assert not world.records("web.example.com")


@virtual_time
async def test_tenant_takes_no_credential_of_another_namespace() -> None:
    async with operating(("team",)) as world:
        await world.create(world.tenant("mine", "team"))  # the Secret that it names is in `default` only
        await world.create(route("web", "team", hostname="team.example.com", tenant="mine"))
        await world.elapse(minutes=10)
        assert world.said("web", "team")[0] != "True"
        assert not world.records("team.example.com")
        for name in ("default/cloudflare-api-token", "../../default/secrets/cloudflare-api-token"):
            patch = {"spec": {"credentialRef": {"name": name}}}
            await world.user.merge_patch(TENANT, Key("team", "mine"), patch)
            await world.elapse(minutes=10)
            assert world.said("web", "team")[0] != "True"
            assert not world.records("team.example.com")


@virtual_time
async def test_task_in_the_namespace_of_a_tenant_is_nobodys_task() -> None:
    """It would name the credentials and the Secrets of anybody."""
    async with operating(("team",)) as world:
        forged = task("forged", "team.example.com", tenantRef={"name": "main", "namespace": "default"})
        forged["metadata"]["namespace"] = "team"
        forged["spec"]["credentialSecretRef"] = {"name": "cloudflare-api-token", "namespace": "default"}
        before = world.everything()
        await world.create(forged)
        await world.elapse(minutes=10)
        assert "status" not in world.get(TASK, "forged", "team")
        assert world.everything() == before


# Composition


@virtual_time
async def test_definition_neither_writes_nor_reads_where_administrators_do_not_allow_it() -> None:
    written = config_map("written", name="written")
    written["template"]["metadata"]["namespace"] = "kube-system"
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "hidden", "namespace": "kube-system"},
    }
    reading = [{"id": "hidden", "externalRef": reference}, config_map("copy", a="${hidden.data.a}")]
    async with scenery() as scene, scene.operating(composition_allowed_namespaces=("shared",)):
        hidden = {"metadata": {"name": "hidden", "namespace": "kube-system"}, "data": {"a": "secret"}}
        await scene.user.create(CONFIG_MAP, hidden)
        for resources in ([written], reading):
            await scene.create(definition("web-apps", *resources))
            await instantiate(scene, "shop")
            assert await state(scene, "shop") != "ACTIVE"
            assert await child(scene, "written", "kube-system") is None
            assert await child(scene, "shop") is None
            await scene.user.delete(WEB_APP, Key("default", "shop"))
            await scene.settle(30)
            await scene.delete()
