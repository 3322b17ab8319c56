"""Reading: single objects, lists in order, selectors, and the words for what is missing."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define, define_afresh, version
from tests.conformance.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    SECRETS,
    Kind,
    config_map,
    labelled,
    pod,
    unique,
)


def names(body: JsonObject) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (CONFIG_MAPS, 'configmaps "absent" not found'),
        (DEPLOYMENTS, 'deployments.apps "absent" not found'),
    ],
    ids=["core", "group"],
)
async def test_missing_object_is_not_found(api: Client, namespace: str, kind: Kind, message: str) -> None:
    status = (await api.get(kind.path(namespace, "absent"))).refuse(404, "NotFound", message)
    expected = {"name": "absent", "kind": kind.plural} | ({"group": kind.group} if kind.group else {})
    assert status["details"] == expected
    assert status["metadata"] == {}


async def test_missing_custom_object_is_not_found(api: Client, namespace: str) -> None:
    kind = await define(api)
    (await api.get(kind.path(namespace, "absent"))).refuse(
        404, "NotFound", f'widgets.{kind.group} "absent" not found'
    )


async def test_list_names_its_kind_and_version(api: Client, namespace: str) -> None:
    body = (await api.get(DEPLOYMENTS.path(namespace))).expect(200)
    assert (body["kind"], body["apiVersion"], body["items"]) == ("DeploymentList", "apps/v1", [])
    assert body["metadata"]["resourceVersion"].isdigit()


async def test_list_of_a_missing_namespace_is_empty(api: Client) -> None:
    assert (await api.get(SECRETS.path("nowhere"))).expect(200)["items"] == []


async def test_list_items_of_built_in_kinds_name_no_kind(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    (item,) = (await api.get(CONFIG_MAPS.path(namespace))).expect(200)["items"]
    assert "kind" not in item
    assert "apiVersion" not in item


async def test_list_items_of_custom_kinds_name_their_kind(api: Client, namespace: str) -> None:
    kind = await define(api)
    await api.create(kind.path(namespace), kind.new("one"))
    (item,) = (await api.get(kind.path(namespace))).expect(200)["items"]
    assert (item["kind"], item["apiVersion"]) == ("Widget", kind.api_version)


async def test_list_is_ordered_by_namespace_and_name(api: Client) -> None:
    kind = await define_afresh(api)
    places = sorted(unique("place") for _ in range(2))
    for place in reversed(places):
        await api.create(NAMESPACES.path(), NAMESPACES.new(place))
        for name in ("b", "a", "a.b", "a-b"):
            (await api.create(kind.path(place), kind.new(name))).expect(201)
    items = (await api.get(kind.path())).expect(200)["items"]
    expected = [(place, name) for place in places for name in ("a", "a-b", "a.b", "b")]
    assert [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items] == expected


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("tier=web", ["a", "b"]),
        ("tier==web", ["a", "b"]),
        ("tier!=web", ["c", "d"]),
        ("tier=web,env=prod", ["a"]),
        ("env", ["a", "b", "c"]),
        ("!env", ["d"]),
        ("env in (prod,test)", ["a", "b", "c"]),
        ("env notin (prod)", ["b", "d"]),
        ("env in (prod), tier notin (web)", ["c"]),
        ("weight>5", ["b"]),
        ("weight<5", ["a"]),
        ("tier=", []),
        ("", ["a", "b", "c", "d"]),
    ],
)
async def test_label_selector_selects(
    api: Client, namespace: str, selector: str, selected: list[str]
) -> None:
    for body in (
        labelled("a", tier="web", env="prod", weight="3"),
        labelled("b", tier="web", env="test", weight="9"),
        labelled("c", tier="db", env="prod"),
        labelled("d"),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)
    assert names((await api.get(CONFIG_MAPS.path(namespace), labelSelector=selector)).expect(200)) == selected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("bad key!=x", None),
    ],
    ids=["no-parenthesis", "two-values", "bad-key"],
)
async def test_malformed_label_selector_is_refused(
    api: Client, namespace: str, selector: str, message: str | None
) -> None:
    status = (await api.get(CONFIG_MAPS.path(namespace), labelSelector=selector)).refuse(400, "BadRequest")
    if message is not None:
        assert status["message"].endswith(message)


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("metadata.name=a", ["a"]),
        ("metadata.name!=a", ["b", "c"]),
        ("metadata.name=absent", []),
        ("metadata.name!=a,metadata.name!=b", ["c"]),
    ],
)
async def test_field_selector_selects_by_name(
    api: Client, namespace: str, selector: str, selected: list[str]
) -> None:
    for name in "abc":
        await api.create(CONFIG_MAPS.path(namespace), config_map(name))
    assert names((await api.get(CONFIG_MAPS.path(namespace), fieldSelector=selector)).expect(200)) == selected


async def test_field_selector_selects_by_namespace(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    selector = f"metadata.namespace={namespace},metadata.name=one"
    body = (await api.get(CONFIG_MAPS.path(), fieldSelector=selector)).expect(200)
    assert [item["metadata"]["namespace"] for item in body["items"]] == [namespace]


@pytest.mark.parametrize(
    ("kind", "selector", "selected"),
    [
        (PODS, "status.phase=Pending", ["web"]),
        (PODS, "status.phase!=Pending", []),
        (PODS, "spec.nodeName=", ["web"]),
        (PODS, "spec.restartPolicy=Always", ["web"]),
        (SECRETS, "type=Opaque", ["plain"]),
        (SECRETS, "type=other", []),
    ],
)
async def test_field_selector_knows_the_fields_of_some_kinds(
    api: Client, namespace: str, kind: Kind, selector: str, selected: list[str]
) -> None:
    await api.create(PODS.path(namespace), pod())
    await api.create(SECRETS.path(namespace), SECRETS.new("plain"))
    assert names((await api.get(kind.path(namespace), fieldSelector=selector)).expect(200)) == selected


async def test_field_selector_refuses_other_fields(api: Client, namespace: str) -> None:
    (await api.get(CONFIG_MAPS.path(namespace), fieldSelector="data.colour=green")).refuse(
        400,
        "BadRequest",
        '"data.colour" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


async def test_field_selector_of_custom_kinds_knows_declared_fields(api: Client, namespace: str) -> None:
    kind = await define(api, version(selectableFields=[{"jsonPath": ".spec.colour"}]))
    for name, colour in (("a", "green"), ("b", "blue"), ("c", "green")):
        await api.create(kind.path(namespace), kind.new(name, spec={"colour": colour}))
    selected = await api.get(kind.path(namespace), fieldSelector="spec.colour=green")
    assert names(selected.expect(200)) == ["a", "c"]
    refused = await api.get(kind.path(namespace), fieldSelector="spec.size=1")
    assert refused.refuse(400, "BadRequest")["message"] == "field label not supported: spec.size"
