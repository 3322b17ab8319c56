"""Strategic merge patches: lists merged by key, and each of the directives."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import STRATEGIC_PATCH, Answer, Client
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, SERVICES, config_map, deployment, service

CONTAINERS = [
    {
        "name": "main",
        "image": "example/web:1",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    },
    {"name": "side", "image": "example/side:1"},
]


async def deployed(api: Client, namespace: str, **pod: object) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS, **pod}}
    (await api.create(DEPLOYMENTS.path(namespace), deployment(template=template))).expect(201)


async def strategic(api: Client, namespace: str, patch: JsonObject) -> Answer:
    return await api.patch(DEPLOYMENTS.path(namespace, "web"), patch, content_type=STRATEGIC_PATCH)


async def pod_after(api: Client, namespace: str, pod_patch: JsonObject) -> JsonObject:
    """The pod template's spec after patching it."""
    answer = await strategic(api, namespace, {"spec": {"template": {"spec": pod_patch}}})
    spec: JsonObject = answer.expect(200)["spec"]["template"]["spec"]
    return spec


def names(items: list[JsonObject]) -> list[str]:
    return [item["name"] for item in items]


async def test_list_items_merge_by_their_key(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    containers = (
        await pod_after(api, namespace, {"containers": [{"name": "side", "image": "example/side:2"}]})
    )["containers"]
    images = {container["name"]: container["image"] for container in containers}
    assert images == {"main": "example/web:1", "side": "example/side:2"}


async def test_unknown_key_adds_an_item(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    spec = await pod_after(api, namespace, {"containers": [{"name": "third", "image": "example/third:1"}]})
    assert set(names(spec["containers"])) == {"main", "side", "third"}


async def test_nested_lists_merge_too(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    patch = {
        "containers": [{"name": "main", "env": [{"name": "B", "value": "9"}, {"name": "C", "value": "3"}]}]
    }
    spec = await pod_after(api, namespace, patch)
    (main,) = [container for container in spec["containers"] if container["name"] == "main"]
    values = {entry["name"]: entry["value"] for entry in main["env"]}
    assert values == {"A": "1", "B": "9", "C": "3"}


async def test_directive_delete_removes_an_item(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    spec = await pod_after(api, namespace, {"containers": [{"name": "side", "$patch": "delete"}]})
    assert names(spec["containers"]) == ["main"]


async def test_directive_replace_replaces_a_list(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    patch = {"containers": [{"$patch": "replace"}, {"name": "only", "image": "example/only:1"}]}
    assert names((await pod_after(api, namespace, patch))["containers"]) == ["only"]


async def test_directive_replace_replaces_an_object(api: Client, namespace: str) -> None:
    await deployed(api, namespace, nodeSelector={"disk": "ssd", "zone": "a"})
    spec = await pod_after(api, namespace, {"nodeSelector": {"$patch": "replace", "zone": "b"}})
    assert spec["nodeSelector"] == {"zone": "b"}


async def test_directive_delete_empties_an_object(api: Client, namespace: str) -> None:
    await deployed(api, namespace, nodeSelector={"disk": "ssd"})
    spec = await pod_after(api, namespace, {"nodeSelector": {"$patch": "delete"}})
    assert "nodeSelector" not in spec


async def test_directive_retain_keys_clears_the_others(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    strategy = {"$retainKeys": ["type"], "type": "Recreate"}
    spec = (await strategic(api, namespace, {"spec": {"strategy": strategy}})).expect(200)["spec"]
    assert spec["strategy"] == {"type": "Recreate"}


async def test_directive_element_order_sorts_a_list(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    patch = {
        "$setElementOrder/containers": [{"name": "side"}, {"name": "third"}, {"name": "main"}],
        "containers": [{"name": "third", "image": "example/third:1"}],
    }
    assert names((await pod_after(api, namespace, patch))["containers"]) == ["side", "third", "main"]


async def test_directive_delete_from_primitive_list_removes_values(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"finalizers": ["example.com/a", "example.com/b"]})
    await api.create(CONFIG_MAPS.path(namespace), body)
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    answer = await api.patch(CONFIG_MAPS.path(namespace, "one"), patch, content_type=STRATEGIC_PATCH)
    assert answer.expect(200)["metadata"]["finalizers"] == ["example.com/b"]


async def test_primitive_list_that_merges_is_a_set(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"finalizers": ["example.com/a"]})
    await api.create(CONFIG_MAPS.path(namespace), body)
    patch = {"metadata": {"finalizers": ["example.com/b", "example.com/a"]}}
    answer = await api.patch(CONFIG_MAPS.path(namespace, "one"), patch, content_type=STRATEGIC_PATCH)
    assert sorted(answer.expect(200)["metadata"]["finalizers"]) == ["example.com/a", "example.com/b"]


async def test_list_without_a_key_is_replaced(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    patch = {"containers": [{"name": "main", "args": ["--fast"]}]}
    await pod_after(api, namespace, patch)
    spec = await pod_after(api, namespace, {"containers": [{"name": "main", "args": ["--slow"]}]})
    assert next(item for item in spec["containers"] if item["name"] == "main")["args"] == ["--slow"]


async def test_null_removes_a_field(api: Client, namespace: str) -> None:
    await deployed(api, namespace, nodeSelector={"disk": "ssd", "zone": "a"})
    assert (await pod_after(api, namespace, {"nodeSelector": {"disk": None}}))["nodeSelector"] == {
        "zone": "a"
    }


async def test_service_ports_merge_by_port(api: Client, namespace: str) -> None:
    ports = [{"name": "http", "port": 80}, {"name": "https", "port": 443}]
    await api.create(SERVICES.path(namespace), service(ports=ports))
    patch = {"spec": {"ports": [{"port": 443, "targetPort": 8443}]}}
    answer = await api.patch(SERVICES.path(namespace, "web"), patch, content_type=STRATEGIC_PATCH)
    targets = {port["port"]: port["targetPort"] for port in answer.expect(200)["spec"]["ports"]}
    assert targets == {80: 80, 443: 8443}


async def test_map_merges_key_by_key(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one", a="1", b="2"))
    patch = {"data": {"b": None, "c": "3"}}
    answer = await api.patch(CONFIG_MAPS.path(namespace, "one"), patch, content_type=STRATEGIC_PATCH)
    assert answer.expect(200)["data"] == {"a": "1", "c": "3"}


async def test_unknown_directive_is_refused(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "explode"}]}}}}
    status = (await strategic(api, namespace, patch)).refuse(500, "")
    assert status["message"] == "unknown patch type: explode in map: map[$patch:explode name:side]"


async def test_item_without_its_key_is_refused(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    patch = {"spec": {"template": {"spec": {"containers": [{"image": "example/web:2"}]}}}}
    status = (await strategic(api, namespace, patch)).refuse(500, "")
    assert "does not contain declared merge key: name" in status["message"]


async def test_malformed_patch_is_refused(api: Client, namespace: str) -> None:
    await deployed(api, namespace)
    path = DEPLOYMENTS.path(namespace, "web")
    (await api.patch(path, b"[1]", content_type=STRATEGIC_PATCH)).refuse(400, "BadRequest")
