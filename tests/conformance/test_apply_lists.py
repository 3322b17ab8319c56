"""Server-side apply of lists: maps by key, sets, and lists that are one value."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define_schema
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, SERVICES, Kind, deployment, service
from tests.conformance.test_apply import owned

LISTS: JsonObject = {
    "type": "object",
    "properties": {
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "count": {"type": "integer"},
                    "note": {"type": "string"},
                },
            },
        },
        "endpoints": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "note": {"type": "string"},
                },
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "steps": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}},
        "plain": {"type": "array", "items": {"type": "string"}},
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        },
    },
}


class Applied:
    """An object of the list kind, and who applied what last."""

    def __init__(self, api: Client, kind: Kind, namespace: str) -> None:
        self._api, self._kind, self._path = api, kind, kind.path(namespace, "one")

    async def by(self, manager: str, spec: JsonObject, *, force: bool = False) -> JsonObject:
        answer = await self._api.apply(self._path, self._kind.new("one", spec=spec), manager, force=force)
        assert answer.status in {200, 201}, answer.text
        return answer.body

    async def refused(self, manager: str, spec: JsonObject) -> str:
        answer = await self._api.apply(self._path, self._kind.new("one", spec=spec), manager)
        message: str = answer.refuse(409, "Conflict")["message"]
        return message


async def applied(api: Client, namespace: str) -> Applied:
    return Applied(api, await define_schema(api, LISTS), namespace)


async def test_map_items_are_owned_one_by_one(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"parts": [{"name": "a", "count": 1}]})
    both = await one.by("second", {"parts": [{"name": "b", "count": 2}]})
    assert both["spec"]["parts"] == [{"name": "a", "count": 1}, {"name": "b", "count": 2}]
    assert owned(both, "second") == {
        "f:spec": {"f:parts": {'k:{"name":"b"}': {".": {}, "f:count": {}, "f:name": {}}}}
    }


async def test_map_item_goes_with_its_owner(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"parts": [{"name": "a", "count": 1}, {"name": "c"}]})
    await one.by("second", {"parts": [{"name": "b"}]})
    left = await one.by("first", {"parts": [{"name": "c"}]})
    assert [part["name"] for part in left["spec"]["parts"]] == ["c", "b"]


async def test_map_item_stays_while_another_manager_uses_it(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"parts": [{"name": "a", "count": 1}]})
    await one.by("second", {"parts": [{"name": "a", "note": "mine"}]})
    left = await one.by("first", {"parts": []})
    assert left["spec"]["parts"] == [{"name": "a", "note": "mine"}]


async def test_conflict_in_a_map_item_names_its_key(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"parts": [{"name": "a", "count": 1}]})
    message = await one.refused("second", {"parts": [{"name": "a", "count": 2}]})
    assert message == 'Apply failed with 1 conflict: conflict with "first": .spec.parts[name="a"].count'


async def test_map_may_have_several_keys_with_defaults(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"endpoints": [{"port": 80, "note": "x"}]})
    both = await one.by("second", {"endpoints": [{"port": 80, "protocol": "UDP"}]})
    assert [(item["port"], item["protocol"]) for item in both["spec"]["endpoints"]] == [
        (80, "TCP"),
        (80, "UDP"),
    ]
    message = await one.refused("third", {"endpoints": [{"port": 80, "protocol": "TCP", "note": "y"}]})
    assert message.endswith('.spec.endpoints[port=80,protocol="TCP"].note')


async def test_set_values_are_owned_one_by_one(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"tags": ["a", "b"]})
    both = await one.by("second", {"tags": ["b", "c"]})
    assert both["spec"]["tags"] == ["a", "b", "c"]
    assert owned(both, "second") == {"f:spec": {"f:tags": {'v:"b"': {}, 'v:"c"': {}}}}
    left = await one.by("first", {"tags": []})
    assert left["spec"]["tags"] == ["b", "c"]


async def test_atomic_list_has_one_owner(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    first = await one.by("first", {"steps": ["a", "b"]})
    assert owned(first, "first") == {"f:spec": {"f:steps": {}}}
    message = await one.refused("second", {"steps": ["b"]})
    assert message == 'Apply failed with 1 conflict: conflict with "first": .spec.steps'
    taken = await one.by("second", {"steps": ["b"]}, force=True)
    assert taken["spec"]["steps"] == ["b"]
    assert owned(taken, "first") is None


async def test_list_without_a_type_is_atomic(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"plain": ["a"]})
    message = await one.refused("second", {"plain": ["a", "b"]})
    assert message == 'Apply failed with 1 conflict: conflict with "first": .spec.plain'


async def test_atomic_object_has_one_owner(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"whole": {"a": "1"}})
    message = await one.refused("second", {"whole": {"b": "2"}})
    assert message == 'Apply failed with 1 conflict: conflict with "first": .spec.whole'
    taken = await one.by("second", {"whole": {"b": "2"}}, force=True)
    assert taken["spec"]["whole"] == {"b": "2"}


async def test_order_of_the_applied_list_wins(api: Client, namespace: str) -> None:
    one = await applied(api, namespace)
    await one.by("first", {"parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}]})
    sorted_anew = await one.by("first", {"parts": [{"name": "c"}, {"name": "a"}, {"name": "b"}]})
    assert [part["name"] for part in sorted_anew["spec"]["parts"]] == ["c", "a", "b"]


async def test_duplicate_key_cannot_be_applied(api: Client, namespace: str) -> None:
    kind = await define_schema(api, LISTS)
    body = kind.new("one", spec={"parts": [{"name": "a"}, {"name": "a"}]})
    status = (await api.apply(kind.path(namespace, "one"), body, "first")).refuse(500, "")
    assert 'duplicate entries for key [name="a"]' in status["message"]


async def test_containers_of_built_in_kinds_merge_by_name(api: Client, namespace: str) -> None:
    path = DEPLOYMENTS.path(namespace, "web")
    await api.apply(path, deployment(), "owner")
    sidecar = {"template": {"spec": {"containers": [{"name": "side", "image": "example/side:1"}]}}}
    both = (await api.apply(path, DEPLOYMENTS.new("web", spec=sidecar), "injector")).expect(200)
    names = [container["name"] for container in both["spec"]["template"]["spec"]["containers"]]
    assert names == ["main", "side"]
    fields = owned(both, "injector")
    assert fields == {
        "f:spec": {
            "f:template": {
                "f:spec": {"f:containers": {'k:{"name":"side"}': {".": {}, "f:image": {}, "f:name": {}}}}
            }
        }
    }


async def test_service_ports_merge_by_port_and_protocol(api: Client, namespace: str) -> None:
    path = SERVICES.path(namespace, "web")
    await api.apply(path, service(ports=[{"name": "http", "port": 80}]), "first")
    more = SERVICES.new("web", spec={"ports": [{"name": "https", "port": 443, "protocol": "TCP"}]})
    both = (await api.apply(path, more, "second")).expect(200)
    assert [port["port"] for port in both["spec"]["ports"]] == [80, 443]


async def test_finalizers_are_a_set(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    for name in ("a", "b"):
        await api.apply(path, CONFIG_MAPS.new("one", metadata={"finalizers": [f"example.com/{name}"]}), name)
    body = (await api.get(path)).expect(200)
    assert body["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]
    left = (await api.apply(path, CONFIG_MAPS.new("one"), "a")).expect(200)
    assert left["metadata"]["finalizers"] == ["example.com/b"]


async def test_owner_references_are_a_map_by_uid(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    for name in ("a", "b"):
        owner = (await api.create(SERVICES.path(namespace), service(name))).expect(201)
        reference = {"apiVersion": "v1", "kind": "Service", "name": name, "uid": owner["metadata"]["uid"]}
        body = CONFIG_MAPS.new("one", metadata={"ownerReferences": [reference]})
        applied_body = (await api.apply(path, body, name)).body
    assert [reference["name"] for reference in applied_body["metadata"]["ownerReferences"]] == ["a", "b"]
