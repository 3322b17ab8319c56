"""Discovery: how clients learn which kinds there are, in the old form and in the aggregated one."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, eventually
from tests.conformance.definitions import define, version
from tests.conformance.kinds import (
    AUTOSCALERS,
    CONFIG_MAPS,
    CRON_JOBS,
    DEFINITIONS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    INGRESSES,
    NAMESPACES,
    NEW_EVENTS,
    SERVICES,
    Kind,
)

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
CRUD = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}


def resource_named(resources: list[JsonObject], name: str) -> JsonObject:
    return next(entry for entry in resources if entry["name"] == name)


async def test_core_versions_are_listed(api: Client) -> None:
    answer = await api.get("/api")
    body = answer.expect(200)
    assert answer.content_type == "application/json"
    assert (body["kind"], body["versions"]) == ("APIVersions", ["v1"])
    assert body["serverAddressByClientCIDRs"][0]["clientCIDR"] == "0.0.0.0/0"


async def test_groups_are_listed_with_their_preferred_version(api: Client) -> None:
    body = (await api.get("/apis")).expect(200)
    assert (body["kind"], body["apiVersion"]) == ("APIGroupList", "v1")
    groups = {group["name"]: group for group in body["groups"]}
    assert groups["apps"]["versions"] == [{"groupVersion": "apps/v1", "version": "v1"}]
    assert groups["apps"]["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert groups["autoscaling"]["preferredVersion"]["version"] == "v2"
    assert "" not in groups


async def test_one_group_describes_itself(api: Client) -> None:
    body = (await api.get("/apis/batch")).expect(200)
    assert (body["kind"], body["apiVersion"], body["name"]) == ("APIGroup", "v1", "batch")
    assert body["versions"] == [{"groupVersion": "batch/v1", "version": "v1"}]


@pytest.mark.parametrize(
    ("kind", "short_names"),
    [
        (NAMESPACES, ["ns"]),
        (CONFIG_MAPS, ["cm"]),
        (SERVICES, ["svc"]),
        (DEPLOYMENTS, ["deploy"]),
        (CRON_JOBS, ["cj"]),
        (INGRESSES, ["ing"]),
        (AUTOSCALERS, ["hpa"]),
        (DISRUPTION_BUDGETS, ["pdb"]),
        (NEW_EVENTS, ["ev"]),
        (DEFINITIONS, ["crd", "crds"]),
    ],
    ids=lambda value: value.plural if isinstance(value, Kind) else "",
)
async def test_built_in_kind_is_discoverable(api: Client, kind: Kind, short_names: list[str]) -> None:
    body = (await api.get(kind.root)).expect(200)
    assert (body["kind"], body["groupVersion"]) == ("APIResourceList", kind.api_version)
    entry = resource_named(body["resources"], kind.plural)
    assert (entry["kind"], entry["namespaced"]) == (kind.kind, kind.namespaced)
    assert (entry["singularName"], entry["shortNames"]) == (kind.kind.lower(), short_names)
    # Namespaces cannot be deleted as a collection.
    assert set(entry["verbs"]) == CRUD - ({"deletecollection"} if kind is NAMESPACES else set())


async def test_subresources_are_listed_with_their_own_kinds(api: Client) -> None:
    resources = (await api.get("/apis/apps/v1")).expect(200)["resources"]
    scale = resource_named(resources, "deployments/scale")
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    assert scale["verbs"] == ["get", "patch", "update"]
    assert resource_named(resources, "deployments/status")["verbs"] == ["get", "patch", "update"]


async def test_review_kinds_can_only_be_created(api: Client) -> None:
    resources = (await api.get("/apis/authorization.k8s.io/v1")).expect(200)["resources"]
    assert resource_named(resources, "selfsubjectaccessreviews")["verbs"] == ["create"]
    assert resource_named(resources, "localsubjectaccessreviews")["namespaced"] is True


async def test_kinds_of_category_all_say_so(api: Client) -> None:
    resources = (await api.get("/api/v1")).expect(200)["resources"]
    assert resource_named(resources, "pods")["categories"] == ["all"]
    assert "categories" not in resource_named(resources, "configmaps")


@pytest.mark.parametrize(
    ("path", "group", "plural"), [("/api", "", "pods"), ("/apis", "apps", "deployments")]
)
async def test_aggregated_discovery_lists_resources_by_group(
    api: Client, path: str, group: str, plural: str
) -> None:
    answer = await api.get(path, accept=AGGREGATED.format("v2"))
    body = answer.expect(200)
    assert answer.content_type == AGGREGATED.format("v2")
    assert (body["kind"], body["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    found = next(item for item in body["items"] if item["metadata"].get("name", "") == group)
    (v1,) = found["versions"]
    assert (v1["version"], v1["freshness"]) == ("v1", "Current")
    entry = next(item for item in v1["resources"] if item["resource"] == plural)
    assert entry["scope"] == "Namespaced"
    assert entry["responseKind"]["kind"] == plural[:-1].capitalize()
    assert set(entry["verbs"]) == CRUD
    assert "status" in {sub["subresource"] for sub in entry["subresources"]}


async def test_aggregated_discovery_carries_an_entity_tag(api: Client) -> None:
    first = await api.get("/apis", accept=AGGREGATED.format("v2"))
    tag = first.headers["ETag"]
    again = await api.request("GET", "/apis", accept=AGGREGATED.format("v2"), headers={"If-None-Match": tag})
    assert first.headers["Vary"] == "Accept"
    # Other tests may change what there is between the two requests; then the tag must differ.
    assert again.status == 304 or again.headers["ETag"] != tag


async def test_clients_that_prefer_aggregated_discovery_may_accept_plain_json_too(api: Client) -> None:
    accept = f"{AGGREGATED.format('v2')},{AGGREGATED.format('v2beta1')},application/json"
    assert (await api.get("/apis", accept=accept)).expect(200)["kind"] == "APIGroupDiscoveryList"


async def test_custom_kind_is_discoverable(api: Client) -> None:
    kind = await define(
        api,
        version(subresources={"status": {}}),
        names={"shortNames": ["wd"], "categories": ["all", "gadgets"]},
    )

    async def listed() -> list[JsonObject] | None:
        answer = await api.get(kind.root)
        return answer.body["resources"] if answer.status == 200 else None

    resources = await eventually(listed, what="the group is discoverable")
    entry = resource_named(resources, "widgets")
    assert (entry["kind"], entry["singularName"]) == ("Widget", "widget")
    assert (entry["shortNames"], entry["categories"]) == (["wd"], ["all", "gadgets"])
    assert set(entry["verbs"]) == CRUD
    assert resource_named(resources, "widgets/status")["verbs"] == ["get", "patch", "update"]


async def test_custom_kind_appears_in_aggregated_discovery(api: Client) -> None:
    kind = await define(api)

    async def listed() -> JsonObject | None:
        groups = (await api.get("/apis", accept=AGGREGATED.format("v2"))).expect(200)["items"]
        return next((group for group in groups if group["metadata"]["name"] == kind.group), None)

    group = await eventually(listed, what="the group is in aggregated discovery")
    (entry,) = group["versions"][0]["resources"]
    assert (entry["resource"], entry["singularResource"]) == ("widgets", "widget")
    assert entry["responseKind"] == {"group": kind.group, "version": "v1", "kind": "Widget"}


@pytest.mark.parametrize(
    "path",
    [
        "/apis/apps/v9",
        "/apis/apps/v9/deployments",
        "/apis/apps/v1/nonsense",
        "/api/v2",
        "/api/v1/namespaces/default/nonsense",
        "/api/v1/namespaces/default/configmaps/one/nonsense",
    ],
)
async def test_unknown_resource_of_a_known_group_is_not_found(api: Client, path: str) -> None:
    answer = await api.get(path)
    status = answer.refuse(404, "NotFound", "the server could not find the requested resource")
    assert status["details"] == {}


@pytest.mark.parametrize(
    "path",
    ["/apis/nowhere.example", "/apis/nowhere.example/v1", "/apis/nowhere.example/v1/things", "/nonsense"],
)
async def test_unknown_group_is_not_found_in_plain_text(api: Client, path: str) -> None:
    answer = await api.get(path)
    assert (answer.status, answer.text) == (404, "404 page not found\n")
    assert answer.content_type == "text/plain; charset=utf-8"


async def test_root_lists_the_paths_there_are(api: Client) -> None:
    paths = (await api.get("/")).expect(200)["paths"]
    assert {"/api", "/api/v1", "/apis", "/apis/apps/v1", "/openapi/v2", "/readyz", "/version"} <= set(paths)


def test_kind_builds_the_paths_of_the_protocol() -> None:
    """The tests' own vocabulary, checked once without any server."""
    assert Kind("apps", "v1", "deployments", "Deployment").path("n", "d", "scale") == (
        "/apis/apps/v1/namespaces/n/deployments/d/scale"
    )
    assert Kind("", "v1", "namespaces", "Namespace").path(name="n") == "/api/v1/namespaces/n"
