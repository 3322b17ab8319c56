"""A cluster in which definitions are in force and instances are reconciled.

    async with composing() as world:
        await world.define(RGD)                  # a definition, as YAML or a tree
        await world.apply(INSTANCE)              # as a user would
        await world.settle()
        await world.get("ConfigMap", "demo")     # what is there now

Definitions are compiled and put in force here, without their controller. Where the cluster is, `cluster` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import msgspec
import yaml

from edgekeeper.cli.built_in import BuiltInSchemas
from edgekeeper.controllers.composition.graph import Options, compile_definition, read_definition
from edgekeeper.controllers.composition.instance_controllers import InstanceControllers, InstanceOptions
from edgekeeper.controllers.composition.inventory import apply_set_id
from edgekeeper.controllers.composition.labels import OWNED, PART_OF
from edgekeeper.controllers.composition.registry import GraphRegistry, ServedGraph
from edgekeeper.controllers.composition.schemas import FirstOf, KnownSchemas
from edgekeeper.core.calls import CallHook, CallRecord, Calls
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.kube.raw import peek
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream
from edgekeeper.runtime.contract import ControllerMetrics, Services, SilentControllerMetrics, SilentMetrics
from kubesim.plane.plane import PlaneConfig
from kubesim.plane.request import User
from kubesim.virtual import LoopClock
from tests.composition.cluster import Cluster, cluster_for

Written = str | JsonObject
OPERATOR = "operator-token"


@dataclass
class Requests:
    """The requests that the operator sent, watches and their lists aside."""

    calls: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)

    async def before(self, call: CallRecord) -> None:
        if call.operation.startswith(("WATCH", "GET /")):
            return
        text = f"{call.operation} {call.subject}"
        self.calls.append(text)
        if call.mutating:
            self.writes.append(text)

    async def after(self, call: CallRecord) -> None: ...

    def clear(self) -> None:
        self.calls.clear()
        self.writes.clear()


class Errors(SilentMetrics):
    """Counts passes that ended in an error."""

    def __init__(self) -> None:
        self.count = 0

    def controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        return _Counting(self)


class _Counting(SilentControllerMetrics):
    def __init__(self, errors: Errors) -> None:
        self._errors = errors

    def failed(self) -> None:
        self._errors.count += 1


class _Way:
    """The operator's way to the server, which may be long."""

    def __init__(self, world: World) -> None:
        self._inner = world.cluster.connect(world.token)
        self._world = world

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        async with self._inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        if self._world.latency:
            await asyncio.sleep(self._world.latency)
        if (
            self._world.mutation is not None
            and request.method == "PATCH"
            and request.path.startswith("/api/v1/")
        ):
            body = msgspec.json.decode(request.body)
            self._world.mutation(body)
            request = replace(request, body=msgspec.json.encode(body))
        if request.method == "DELETE":
            self._world.deletions.append(msgspec.json.decode(request.body))
        return await self._inner.send(request, deadline)


class World:
    """The cluster, the operator in it, and what users do and see."""

    def __init__(self, cluster: Cluster, options: InstanceOptions, token: str = "") -> None:
        self.cluster = cluster
        self.clock: LoopClock = cluster.clock
        self.options = options
        self.token = token
        """Who the operator is; empty for an administrator."""
        self.user = KubeClient(cluster.connect(), Calls(), self.clock)
        self.requests = Requests()
        self.hooks: list[CallHook] = []
        """What else sees the requests of the operator."""
        self.metrics = Errors()
        self.graphs = GraphRegistry()
        self.controllers: InstanceControllers | None = None
        self.informers: Informers | None = None
        """What the operator watches."""
        self.namespaces: tuple[str, ...] = ()
        """Those that the operator is limited to; empty for all."""
        self.latency = 0.0
        """How many seconds each request of the operator takes."""
        self.mutation: Callable[[JsonObject], None] | None = None
        """What an admission webhook makes of the ConfigMaps and Secrets that the operator applies."""
        self.deletions: list[JsonObject] = []
        """What the operator sent with its deletions."""
        self._discovery = Discovery(self.user, self.clock)
        self._defined = KnownSchemas()
        self._schemas = FirstOf((self._defined, BuiltInSchemas()))
        self._revisions: dict[str, int] = {}
        self._options = Options()

    # Definitions

    async def define(self, written: Written, *, omit_allowed: bool = False) -> ServedGraph:
        """Put a definition in force, or a new revision of it."""
        body = _tree(written)
        name = body["metadata"]["name"]
        found = compile_definition(read_definition(body), self._schemas, Options(omit_allowed=omit_allowed))
        assert found.graph is not None, found.problems
        definition = found.graph.definition
        definition["metadata"].setdefault("labels", {})[OWNED] = "true"
        await self.install(definition)
        spec = definition["spec"]
        kind = Kind(
            spec["group"],
            spec["versions"][0]["name"],
            spec["names"]["kind"],
            spec["names"]["plural"],
            spec["scope"] == "Namespaced",
        )
        self._revisions[name] = self._revisions.get(name, 0) + 1
        served = ServedGraph(name, f"uid-of-{name}", self._revisions[name], kind, found.graph)
        self.graphs.publish(served)
        return served

    async def install(self, definition: Written) -> None:
        """Install a CustomResourceDefinition, or change it."""
        body = _tree(definition)
        key = Key("", body["metadata"]["name"])
        await self.user.apply(CUSTOM_RESOURCE_DEFINITION, key, body, manager="tests")
        self._defined.add_definition(body)
        await self.cluster.served(key.name)
        self._discovery.invalidate()

    def withdraw(self, definition: str) -> None:
        self.graphs.withdraw(definition)

    # What users do

    async def apply(self, written: Written) -> JsonObject:
        """Apply an object as a user."""
        body = _tree(written)
        kind, key = await self._address(body)
        fields = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
        return await self.user.apply(kind, key, fields, manager="user", force=True)

    async def patch(self, kind: str, name: str, patch: JsonObject, *, subresource: str = "") -> JsonObject:
        return await self.user.merge_patch(*await self._named(kind, name), patch, subresource=subresource)

    async def set_status(self, kind: str, name: str, status: JsonObject) -> None:
        await self.patch(kind, name, {"status": status}, subresource="status")

    async def delete(self, kind: str, name: str) -> None:
        await self.user.delete(*await self._named(kind, name))

    async def permit(self, rights: list[JsonObject]) -> None:
        """Let the operator do this, and nothing else."""
        group = "rbac.authorization.k8s.io"
        await self.apply(
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "operator"},
                "rules": rights,
            }
        )
        await self.apply(
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "operator"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "operator"},
                "subjects": [{"apiGroup": group, "kind": "User", "name": "operator"}],
            }
        )

    async def namespace(self, *names: str) -> None:
        for name in names:
            await self.cluster.vacate(name)
            await self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    @asynccontextmanager
    async def denying(self, why: str) -> AsyncIterator[None]:
        """Have an admission webhook deny all writes of ConfigMaps."""
        async with self.cluster.denying(why):
            yield

    # What users see

    async def find(self, kind: str, name: str) -> JsonObject | None:
        """An object, by `name` or `namespace/name`; None if it does not exist."""
        try:
            return await self.user.get(*await self._named(kind, name))
        except NotFoundError:
            return None

    async def get(self, kind: str, name: str) -> JsonObject:
        found = await self.find(kind, name)
        assert found is not None, f"{kind} {name} does not exist"
        return found

    async def exists(self, kind: str, name: str) -> bool:
        return await self.find(kind, name) is not None

    async def names(self, kind: str, *, labels: str = "") -> list[str]:
        """The names of all objects of a kind that are in the namespace `default`, or in none; else with theirs.

        Those in namespaces of the server's own are left out.
        """
        found, _ = await self._named(kind, "")
        names: list[str] = []
        async for page in self.user.pages(found, labels=labels):
            for raw in page.items:
                key = peek(raw).key
                if not key.namespace.startswith("kube-"):
                    names.append(key.name if key.namespace in ("", "default") else str(key))
        return sorted(names)

    async def state(self, kind: str, name: str) -> str:
        return str(dig(await self.get(kind, name), "status", "state"))

    async def conditions(self, kind: str, name: str) -> dict[str, JsonObject]:
        found = dig_list(await self.get(kind, name), "status", "conditions")
        assert len({entry["type"] for entry in found}) == len(found), "conditions are listed by type"
        return {entry["type"]: entry for entry in found}

    async def children(self, kind: str, name: str) -> set[str]:
        """The children of an instance, as `Kind namespace/name`."""
        instance_kind, key = await self._named(kind, name)
        wanted = apply_set_id(instance_kind, key)
        self._discovery.invalidate()
        found: set[str] = set()
        for each in await self._served():
            async for page in self.user.pages(each, labels=f"{PART_OF}={wanted}"):
                found.update(f"{each.kind} {peek(raw).key}" for raw in page.items)
        return found

    async def settle(self, seconds: float = 5) -> None:
        """Let the operator do what there is to do."""
        await self.cluster.rest(seconds)

    # The operator

    @asynccontextmanager
    async def operating(self) -> AsyncIterator[InstanceControllers]:
        """Run the operator. Entering again is a restart."""
        calls = Calls()
        calls.hooks.extend([self.requests, *self.hooks])
        client = KubeClient(_Way(self), calls, self.clock)
        informers = Informers(client, self.clock)
        services = Services(client, informers, self.clock, metrics=self.metrics, namespaces=self.namespaces)
        controllers = InstanceControllers(services, self.graphs, self.options)
        await informers.start()
        task = asyncio.create_task(controllers.run())
        self.controllers, self.informers = controllers, informers
        try:
            yield controllers
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await informers.stop()
            await client.close()

    async def _address(self, body: JsonObject) -> tuple[Kind, Key]:
        group, _, version = str(body["apiVersion"]).rpartition("/")
        served = await self._discovery.find(group, body["kind"], version)
        assert served is not None, f"{body['apiVersion']} {body['kind']} is not served"
        namespace = dig(body, "metadata", "namespace") or "default"
        return served.kind, Key(namespace if served.kind.namespaced else "", body["metadata"]["name"])

    async def _named(self, kind: str, name: str) -> tuple[Kind, Key]:
        """A kind of any group, and a key in the namespace `default`, unless the name has another."""
        found = await self._kind(kind)
        namespace, _, short = name.rpartition("/")
        return found, Key((namespace or "default") if found.namespaced else "", short)

    async def _kind(self, kind: str) -> Kind:
        for _ in range(2):
            for found in await self._served():
                if found.kind == kind:
                    return found
            self._discovery.invalidate()
        raise AssertionError(f"{kind} is not served")

    async def _served(self) -> list[Kind]:
        """All kinds whose objects can be listed, each in one version."""
        groups = [group["name"] for group in (await self.user.fetch("/apis"))["groups"]]
        found: dict[tuple[str, str], Kind] = {}
        for group in ("", *groups):
            for served in await self._discovery.kinds(group):
                if "list" in served.verbs:
                    found.setdefault((group, served.kind.kind), served.kind)
        return list(found.values())


@asynccontextmanager
async def composing(
    options: InstanceOptions | None = None,
    *,
    simulators: frozenset[str] = frozenset(),
    operating: bool = True,
    rights: list[JsonObject] | None = None,
) -> AsyncIterator[World]:
    """A cluster with the operator in it. Without simulators nobody changes the status of built-in objects.

    With `rights`, the rules of a ClusterRole, the operator may do that and nothing else.
    """
    config = (
        None
        if rights is None
        else PlaneConfig(
            simulators=simulators,
            gateway_api=False,
            now=LoopClock().now,
            auth=True,
            tokens={OPERATOR: User("operator", ("system:authenticated",))},
        )
    )
    async with cluster_for(config, simulators) as cluster:
        world = World(cluster, options or InstanceOptions(), "" if rights is None else OPERATOR)
        try:
            if rights is not None:
                await world.permit(rights)
            if not operating:
                yield world
                return
            async with world.operating():
                yield world
        finally:
            await world.user.close()


def _tree(written: Written) -> JsonObject:
    tree: Any = yaml.safe_load(written) if isinstance(written, str) else written
    assert isinstance(tree, dict)
    return tree


def rgd(name: str, kind: str, spec: str, resources: str, status: str = "{}", **schema: Any) -> JsonObject:
    """A definition; `spec`, `resources` and `status` are YAML."""
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": name},
        "spec": {
            "schema": {
                "apiVersion": "v1alpha1",
                "kind": kind,
                "spec": yaml.safe_load(spec) or {},
                "status": yaml.safe_load(status) or {},
                **schema,
            },
            "resources": yaml.safe_load(resources) or [],
        },
    }


def instance(
    kind: str, name: str, spec: JsonObject | None = None, *, namespace: str = "default"
) -> JsonObject:
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": spec or {},
    }
