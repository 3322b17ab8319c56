"""What the operator's client makes of each server: discovery, schemas, apply, and deletion of many objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.errors import FieldConflict, FieldConflictError, InvalidError, NotFoundError, StaleError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SECRET, Key, Kind
from edgekeeper.kube.openapi import OpenApiSchemas
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.named_objects import NamedObjects
from edgekeeper.runtime.options import ServerOptions
from edgekeeper.runtime.server import Server as WebServer
from edgekeeper.runtime.validation import Problem, User
from edgekeeper.runtime.webhook_certificate import WebhookCertificate, WebhookService
from edgekeeper.runtime.webhooks import validating
from tests.conformance.client import Client, eventually
from tests.conformance.definitions import definition, established, widget
from tests.conformance.servers import ADMIN, TOKENS, Server
from tests.conformance.test_access import grant, rule
from tests.conformance.test_access import user as rbac_user

AUTOSCALER = ("autoscaling", "HorizontalPodAutoscaler")


@asynccontextmanager
async def connected(server: Server, user: str = ADMIN) -> AsyncIterator[KubeClient]:
    trust = Trust(authorities=server.authority.bundle)
    config = ClusterConfig(server.url, trust, StoredCredentials(bearer(TOKENS[user])))
    client = KubeClient(HttpTransport(config, environ={}), Calls(), SystemClock())
    try:
        yield client
    finally:
        await client.close()


def kube_kind(kind: Any) -> Kind:
    return Kind(kind.group, kind.version, kind.kind, kind.plural, kind.namespaced)


async def test_built_in_kind_is_discovered_with_scope_verbs_and_preferred_version(server: Server) -> None:
    async with connected(server) as client:
        discovery = Discovery(client, SystemClock())
        found = await discovery.find("apps", "Deployment")
        assert found is not None
        assert (found.kind, found.singular, found.short_names) == (DEPLOYMENT, "deployment", ("deploy",))
        assert {"create", "deletecollection", "list", "patch", "watch"} <= found.verbs
        assert {"status", "scale"} <= found.subresources
        core = await discovery.find_resource("", "namespaces")
        assert core is not None
        assert (core.kind.kind, core.kind.namespaced) == ("Namespace", False)
        preferred = await discovery.find(*AUTOSCALER)
        older = await discovery.find(*AUTOSCALER, version="v1")
        assert [each.kind.version for each in (preferred, older) if each] == ["v2", "v1"]
        assert await discovery.find("apps", "Nothing") is None
        assert await discovery.find("nowhere.example", "Nothing") is None


async def test_definition_that_comes_and_goes_is_discovered_while_definitions_are_watched(
    server: Server, api: Client
) -> None:
    kind = widget(namespaced=False)
    async with connected(server) as client:
        informers = Informers(client, SystemClock())
        discovery = Discovery(client, SystemClock())
        stop = discovery.follow(informers)
        await informers.start()
        await informers.wait_synced()
        try:
            assert not await discovery.is_served(kube_kind(kind))
            await client.create(CUSTOM_RESOURCE_DEFINITION, definition(kind))
            await established(api, kind)
            found = await eventually(lambda: discovery.find(kind.group, kind.kind))
            assert found.kind == kube_kind(kind)
            await client.delete(CUSTOM_RESOURCE_DEFINITION, Key("", f"{kind.plural}.{kind.group}"))

            async def gone() -> bool | None:
                return None if await discovery.is_served(kube_kind(kind)) else True

            assert await eventually(gone)
        finally:
            stop()
            await informers.stop()


async def test_schema_of_a_built_in_kind_has_no_references(server: Server) -> None:
    async with connected(server) as client:
        schemas = OpenApiSchemas(client, SystemClock())
        schema = await schemas.schema_of(DEPLOYMENT)
        assert schema is not None
        assert "$ref" not in msgspec.json.encode(schema).decode()
        spec = schema["properties"]["spec"]["properties"]
        assert spec["replicas"]["type"] == "integer"
        container = spec["template"]["properties"]["spec"]["properties"]["containers"]["items"]
        assert container["properties"]["image"]["type"] == "string"
        probe = container["properties"]["livenessProbe"]["properties"]["httpGet"]["properties"]
        assert probe["port"]["x-kubernetes-int-or-string"] is True
        limits = container["properties"]["resources"]["properties"]["limits"]["additionalProperties"]
        assert limits["x-kubernetes-int-or-string"] is True
        assert schema["properties"]["metadata"]["properties"]["labels"]["type"] == "object"
        assert await schemas.schema_of(Kind("apps", "v1", "Nothing", "nothings")) is None
        assert await schemas.schema_of(Kind("nowhere.example", "v1", "Nothing", "nothings")) is None


async def test_schema_that_contains_itself_ends_in_free_form(server: Server) -> None:
    async with connected(server) as client:
        schema = await OpenApiSchemas(client, SystemClock()).schema_of(CUSTOM_RESOURCE_DEFINITION)
        assert schema is not None
        versions = schema["properties"]["spec"]["properties"]["versions"]["items"]["properties"]
        root = versions["schema"]["properties"]["openAPIV3Schema"]["properties"]
        assert root["not"]["x-kubernetes-preserve-unknown-fields"] is True
        assert root["example"]["x-kubernetes-preserve-unknown-fields"] is True
        assert root["minLength"]["type"] == "integer"


async def test_schema_of_a_custom_kind_is_that_of_its_definition(server: Server, api: Client) -> None:
    kind = widget()
    async with connected(server) as client:
        schemas = OpenApiSchemas(client, SystemClock())
        await client.create(CUSTOM_RESOURCE_DEFINITION, definition(kind))
        await established(api, kind)

        async def published() -> Any:
            schemas.invalidate()
            return await schemas.schema_of(kube_kind(kind))

        schema = await eventually(published)
        spec = schema["properties"]["spec"]["properties"]
        assert (spec["size"]["type"], spec["colour"]["type"]) == ("integer", "string")
        assert "name" in schema["properties"]["metadata"]["properties"]


async def test_apply_without_force_names_the_managers_of_fields_it_may_not_have(
    server: Server, namespace: str
) -> None:
    key = Key(namespace, "shared")
    async with connected(server) as client:
        await client.apply(CONFIG_MAP, key, {"data": {"a": "1", "b": "1"}}, manager="first")
        with pytest.raises(FieldConflictError) as caught:
            await client.apply(CONFIG_MAP, key, {"data": {"a": "2", "c": "2"}}, manager="second", force=False)
        assert caught.value.conflicts == (FieldConflict(".data.a", "first"),)
        assert caught.value.managers == ("first",)
        forced = await client.apply(CONFIG_MAP, key, {"data": {"a": "2"}}, manager="second")
        assert forced["data"] == {"a": "2", "b": "1"}


async def test_apply_as_a_dry_run_answers_and_stores_nothing(server: Server, namespace: str) -> None:
    key = Key(namespace, "imagined")
    async with connected(server) as client:
        answer = await client.apply(CONFIG_MAP, key, {"data": {"a": "1"}}, manager="first", dry_run=True)
        assert (answer["data"], answer["metadata"]["namespace"]) == ({"a": "1"}, namespace)
        with pytest.raises(NotFoundError):
            await client.get(CONFIG_MAP, key)


async def test_apply_to_a_subresource_owns_fields_there(server: Server, api: Client, namespace: str) -> None:
    kind = widget()
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}},
            }
        },
    }
    async with connected(server) as client:
        await client.create(CUSTOM_RESOURCE_DEFINITION, definition(kind, version))
        await established(api, kind)
        key = Key(namespace, "one")
        await client.create(kube_kind(kind), {"metadata": {"name": "one"}}, namespace=namespace)
        applied = await client.apply(
            kube_kind(kind), key, {"status": {"ready": True}}, manager="m", subresource="status"
        )
        assert applied["status"] == {"ready": True}
        (entry,) = [each for each in applied["metadata"]["managedFields"] if each["manager"] == "m"]
        assert (entry["operation"], entry["subresource"]) == ("Apply", "status")


async def test_collection_is_deleted_by_labels_in_one_namespace(server: Server, namespace: str) -> None:
    async with connected(server) as client:
        for name, team in (("a", "x"), ("b", "x"), ("c", "y")):
            body = {"metadata": {"name": name, "labels": {"team": team}}}
            await client.create(CONFIG_MAP, body, namespace=namespace)
        await client.delete_collection(
            CONFIG_MAP, namespace=namespace, labels="team=x", propagation="Background"
        )
        pages = client.pages(CONFIG_MAP, namespace=namespace, labels="team")
        left = [msgspec.json.decode(item)["metadata"]["name"] async for page in pages for item in page.items]
        assert left == ["c"]


async def test_collection_is_deleted_under_preconditions(server: Server, namespace: str) -> None:
    async with connected(server) as client:
        body = {"metadata": {"name": "a", "labels": {"team": "x"}}}
        created = await client.create(CONFIG_MAP, body, namespace=namespace)
        with pytest.raises(StaleError):
            await client.delete_collection(CONFIG_MAP, namespace=namespace, labels="team=x", uid="another")
        assert await client.get(CONFIG_MAP, Key(namespace, "a")) == created
        uid = created["metadata"]["uid"]
        await client.delete_collection(CONFIG_MAP, namespace=namespace, labels="team=x", uid=uid)
        with pytest.raises(NotFoundError):
            await client.get(CONFIG_MAP, Key(namespace, "a"))


async def test_object_is_deleted_under_preconditions(server: Server, namespace: str) -> None:
    key = Key(namespace, "a")
    async with connected(server) as client:
        old = await client.create(CONFIG_MAP, {"metadata": {"name": "a"}}, namespace=namespace)
        new = await client.merge_patch(CONFIG_MAP, key, {"data": {"x": "1"}})
        with pytest.raises(StaleError):
            await client.delete(CONFIG_MAP, key, resource_version=old["metadata"]["resourceVersion"])
        with pytest.raises(StaleError):
            await client.delete(CONFIG_MAP, key, uid="another")
        metadata = new["metadata"]
        await client.delete(
            CONFIG_MAP,
            key,
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            propagation="Foreground",
        )


async def test_collection_without_a_selection_is_refused_before_anything_is_sent(server: Server) -> None:
    async with connected(server) as client:
        with pytest.raises(InvalidError, match="not all at once"):
            await client.delete_collection(CONFIG_MAP, namespace="default")
        with pytest.raises(InvalidError, match="needs a namespace"):
            await client.delete_collection(CONFIG_MAP, labels="team=x")


@pytest.mark.parametrize("initial_events", [False, True], ids=["pages", "initial events"])
async def test_metadata_is_watched_without_contents(
    server: Server, namespace: str, initial_events: bool
) -> None:
    async with connected(server) as client:
        informers = Informers(client, SystemClock(), initial_events=initial_events)
        informer = informers.acquire(CONFIG_MAP, namespace=namespace, labels="team", metadata_only=True)
        body = {"metadata": {"name": "a", "labels": {"team": "x"}}, "data": {"secret": "value"}}
        await client.create(CONFIG_MAP, body, namespace=namespace)
        await informers.start()
        try:
            await informers.wait_synced()
            await client.create(
                CONFIG_MAP, {**body, "metadata": {"name": "b", "labels": {"team": "y"}}}, namespace=namespace
            )
            await client.create(CONFIG_MAP, {"metadata": {"name": "c"}}, namespace=namespace)
            await client.merge_patch(CONFIG_MAP, Key(namespace, "a"), {"data": {"secret": "another"}})
            live = await client.get(CONFIG_MAP, Key(namespace, "a"))

            async def seen() -> bool | None:
                version = informer.store.resource_version(Key(namespace, "a"))
                return True if version == live["metadata"]["resourceVersion"] else None

            assert await eventually(seen)
            known = informer.store.keys()
            assert sorted(key.name for key in known) == ["a", "b"]
            for name in ("a", "b"):
                tree = informer.store.get(Key(namespace, name))
                assert tree is not None
                assert (tree["apiVersion"], tree["kind"]) == ("v1", "ConfigMap")
                assert tree.keys() == {"apiVersion", "kind", "metadata"}
                assert tree["metadata"]["labels"]["team"]
                assert "managedFields" not in tree["metadata"]
        finally:
            await informers.stop()


async def test_named_objects_need_no_right_to_see_others(server: Server, api: Client, namespace: str) -> None:
    names = [Key(namespace, name) for name in ("mine", "missing")]
    denied, user = Key(namespace, "denied"), Key(namespace, "user")
    allowed = rule("list", "watch", resources=("secrets",), resourceNames=["mine", "missing"])
    async with connected(server) as admin, connected(server, "alice") as client:
        for name in ("mine", "denied"):
            await admin.create(
                SECRET, {"metadata": {"name": name}, "data": {"x": "MQ=="}}, namespace=namespace
            )
        informers = Informers(client, SystemClock())
        secrets = NamedObjects(informers, SECRET)
        secrets.use(user, [*names, denied])
        await informers.start()
        try:
            await informers.wait_settled()
            with pytest.raises(NotSyncedError, match="forbidden"):
                secrets.get(names[0])
            await grant(api, namespace, rbac_user("alice"), allowed)

            async def known() -> list[JsonObject | None] | None:
                for informer in informers:
                    informer.wake()
                try:
                    return [secrets.get(name) for name in names]
                except NotSyncedError:
                    return None

            found = await eventually(known)
            assert [None if tree is None else tree["data"] for tree in found] == [{"x": "MQ=="}, None]
            with pytest.raises(NotSyncedError, match="forbidden"):
                secrets.get(denied)
            await admin.merge_patch(SECRET, names[0], {"data": {"x": "Mg=="}})

            async def changed() -> bool | None:
                tree = secrets.get(names[0])
                return True if tree is not None and tree["data"] == {"x": "Mg=="} else None

            assert await eventually(changed)
        finally:
            secrets.close()
            await informers.stop()
        assert list(informers) == []


class EvenSizes:
    """Sizes are even."""

    async def validate(self, old: JsonObject | None, new: JsonObject | None, user: User) -> list[Problem]:
        odd = bool(new and new["spec"]["size"] % 2)
        return [Problem("spec.size", f"must be even, {user.username}")] if odd else []


async def test_rules_are_asked_with_a_certificate_of_our_own(
    server: Server, api: Client, namespace: str
) -> None:
    custom = widget()
    kind = kube_kind(custom)
    service = WebhookService(namespace, f"rules-{namespace}", local=True)
    async with connected(server) as client:
        await client.create(CUSTOM_RESOURCE_DEFINITION, definition(custom))
        await established(api, custom)
        informers = Informers(client, SystemClock())
        webhooks = [validating(kind, EvenSizes())]
        certificate = WebhookCertificate(client, informers, SystemClock(), service, webhooks)
        options = ServerOptions(health_address=None, webhook_address=Address("127.0.0.1", 0))
        listening = WebServer(options, Metrics(), client, SystemClock(), webhooks, certificate)
        await listening.start()
        await informers.start()
        try:

            async def refused() -> InvalidError | None:
                body = {"metadata": {"generateName": "odd-"}, "spec": {"size": 1}}
                try:
                    await client.create(kind, body, namespace=namespace)
                except InvalidError as error:
                    return error
                return None  # servers learn of configurations a moment later

            error = await eventually(refused)
            assert "denied the request: spec.size: must be even, admin" in str(error)
            assert [cause["field"] for cause in error.causes] == ["spec.size"]
            even = {"metadata": {"name": "even"}, "spec": {"size": 2}}
            await client.create(kind, even, namespace=namespace)
        finally:
            await listening.stop()
            await informers.stop()
