"""What the server tells about itself: health, discovery and OpenAPI."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.discovery import wants_aggregated
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request, Response
from packages.kubesim.tests.plane.cluster import DEFINITIONS, define, definition, running, version

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def fetch(plane: Plane, target: str, **headers: str) -> Response:
    return await plane.handle(Request.of("GET", target, b"", **headers))


async def test_probes_tell_what_they_checked(plane: Plane) -> None:
    for probe in ("readyz", "livez", "healthz"):
        assert (await fetch(plane, f"/{probe}")).body == b"ok"
        told = (await fetch(plane, f"/{probe}?verbose")).body.decode()
        assert told == f"[+]ping ok\n[+]store ok\n{probe} check passed\n"
        assert (await fetch(plane, f"/{probe}/ping")).status == 200
        assert (await fetch(plane, f"/{probe}/unknown")).status == 404


async def test_version_is_one_that_kubectl_understands(plane: Plane) -> None:
    told = (await fetch(plane, "/version")).json()
    assert (told["major"], told["minor"]) == ("1", "36")
    assert told["gitVersion"].startswith("v1.36.")


async def test_root_lists_paths_that_are_there(plane: Plane) -> None:
    paths = (await fetch(plane, "/")).json()["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/openapi/v2", "/readyz"} <= set(paths)
    for path in paths:
        assert (await fetch(plane, path)).status == 200, path


@pytest.mark.parametrize(
    "target",
    ["/nothing", "/api/v9", "/apis/nobody.example.com", "/apis/apps/v9", "/openapi", "/openapi/v4",
     "/openapi/v3/apis/nobody/v1", "/openapi/v3/api/v9", "/openapi/v3/apis/v1"],
)  # fmt: skip
async def test_what_is_not_there_is_not_found(plane: Plane, target: str) -> None:
    assert (await fetch(plane, target)).status == 404


@pytest.mark.parametrize("target", ["/api", "/apis/apps", "/openapi/v2"])
async def test_documents_can_only_be_read(plane: Plane, target: str) -> None:
    assert (await plane.handle(Request.of("POST", target, {}))).status == 405


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", ""),
        ("application/json", ""),
        (AGGREGATED, "v2"),
        (AGGREGATED.replace("v2", "v2beta1"), "v2beta1"),
        (f"{AGGREGATED},application/json", "v2"),
        (f"application/json,{AGGREGATED}", ""),
    ],
)
def test_aggregated_discovery_is_given_to_who_prefers_it(accept: str, wanted: str) -> None:
    assert wants_aggregated(accept) == wanted


async def flat(plane: Plane) -> set[tuple[str, str, str]]:
    """Group and version, resource, kind: by the old form of discovery."""
    found = set()
    groups = (await fetch(plane, "/apis")).json()["groups"]
    places = ["/api/v1"] + [f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"]]
    for place in places:
        listed = (await fetch(plane, place)).json()
        found |= {
            (listed["groupVersion"], one["name"], one["kind"])
            for one in listed["resources"]
            if "/" not in one["name"]
        }
    return found


async def aggregated(plane: Plane) -> set[tuple[str, str, str]]:
    """The same by the aggregated form."""
    found = set()
    for root in ("/api", "/apis"):
        response = await fetch(plane, root, accept=AGGREGATED)
        assert response.content_type == AGGREGATED
        for item in response.json()["items"]:
            group = item["metadata"].get("name", "")
            for one in item["versions"]:
                place = f"{group}/{one['version']}" if group else one["version"]
                found |= {
                    (place, resource["resource"], resource["responseKind"]["kind"])
                    for resource in one["resources"]
                }
    return found


async def test_both_forms_of_discovery_tell_the_same() -> None:
    async with running(gateway_api=True) as plane:
        await define(plane, definition(versions=[version("v1"), version("v2beta1", storage=False)]))
        told = await flat(plane)
        assert told == await aggregated(plane)
    assert ("v1", "configmaps", "ConfigMap") in told
    assert ("example.com/v2beta1", "widgets", "Widget") in told


async def test_every_listed_resource_that_can_be_listed_answers(plane: Plane) -> None:
    for place, resource, _ in sorted(await flat(plane)):
        root = f"/apis/{place}" if "/" in place else f"/api/{place}"
        response = await fetch(plane, f"{root}/{resource}")
        assert response.status in (200, 405), (root, resource)


async def test_discovery_follows_the_definitions(plane: Plane) -> None:
    before = (await fetch(plane, "/apis", accept=AGGREGATED)).headers["ETag"]
    assert (await fetch(plane, "/apis/example.com")).status == 404
    await define(plane, definition(versions=[version("v1beta1", storage=False), version("v1")]))
    group = (await fetch(plane, "/apis/example.com")).json()
    assert [one["version"] for one in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"
    after = (await fetch(plane, "/apis", accept=AGGREGATED)).headers["ETag"]
    assert after != before
    await plane.client.delete(f"{DEFINITIONS}/widgets.example.com")
    await plane.settle()
    assert (await fetch(plane, "/apis/example.com")).status == 404


@pytest.mark.parametrize(
    ("target", "accept"), [("/apis", AGGREGATED), ("/openapi/v2", ""), ("/openapi/v3/api/v1", "")]
)
async def test_client_that_has_a_document_is_not_sent_it_again(
    plane: Plane, target: str, accept: str
) -> None:
    first = await fetch(plane, target, accept=accept)
    again = await fetch(plane, target, accept=accept, if_none_match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    assert (await fetch(plane, target, accept=accept, if_none_match='"other"')).status == 200


def references(node: object) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(references(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(references(value) for value in node))
    return set()


async def test_openapi_v3_documents_define_everything_they_mention(plane: Plane) -> None:
    await define(plane)
    index = (await fetch(plane, "/openapi/v3")).json()["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/example.com/v1"} <= set(index)
    for place, entry in index.items():
        response = await fetch(plane, entry["serverRelativeURL"])
        assert response.status == 200, place
        document = response.json()
        defined = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert references(document) <= defined, place


async def test_openapi_v2_defines_everything_it_mentions_and_nothing_it_cannot_say(plane: Plane) -> None:
    await define(plane)
    document = (await fetch(plane, "/openapi/v2")).json()
    assert references(document) <= {f"#/definitions/{name}" for name in document["definitions"]}
    assert "com.example.v1.Widget" in document["definitions"]
    assert keywords(list(document["definitions"].values())).isdisjoint(
        {"oneOf", "anyOf", "allOf", "not", "nullable"}
    )


def keywords(schema: object) -> set[str]:
    """What schemas are made of: their keywords, not the names of their properties."""
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    if not isinstance(schema, dict):
        return set()
    properties = schema.get("properties", {})
    nested = [schema.get("items"), schema.get("additionalProperties"), *properties.values()]
    return set(schema).union(*map(keywords, nested))


async def test_custom_kind_is_published_with_its_schema_and_follows_it(plane: Plane) -> None:
    await define(plane)
    place = "/openapi/v3/apis/example.com/v1"

    async def spec() -> JsonObject:
        schemas = (await fetch(plane, place)).json()["components"]["schemas"]
        properties: JsonObject = schemas["com.example.v1.Widget"]["properties"]["spec"]["properties"]
        return properties

    assert set(await spec()) == {"size", "replicas"}
    changed = version("v1")
    changed["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["colour"] = {"type": "string"}
    await plane.client.merge(f"{DEFINITIONS}/widgets.example.com", {"spec": {"versions": [changed]}})
    await plane.settle()
    assert set(await spec()) == {"size", "replicas", "colour"}


async def test_patches_name_the_types_they_take(plane: Plane) -> None:
    await define(plane)
    for place, path, strategic in (
        ("api/v1", "/api/v1/namespaces/{namespace}/configmaps/{name}", True),
        ("apis/example.com/v1", "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}", False),
    ):
        document = (await fetch(plane, f"/openapi/v3/{place}")).json()
        types = document["paths"][path]["patch"]["requestBody"]["content"]
        assert ("application/strategic-merge-patch+json" in types) == strategic
        assert "application/apply-patch+yaml" in types
