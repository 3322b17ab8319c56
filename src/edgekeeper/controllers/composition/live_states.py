"""How far the resources of an instance in a cluster are, as the operator would judge them. Nothing is written.

    live = await read_instance(client, clock, "WebApp", "shop", namespace="default")
    live.states        by resource: Ready, NotReady, Waiting, Missing, …
    live.messages      by resource: why it is no further

The graph is that of the newest revision of the definition, which is what the instance is served with. The judgement is
that of the operator's own next pass (`waves.decide`), with each object that it asks for read from the server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from edgekeeper.api.composition import GROUP, DefinitionSpec
from edgekeeper.controllers.composition.definition_decide import described
from edgekeeper.controllers.composition.definition_observe import instance_kind
from edgekeeper.controllers.composition.definition_options import CompositionOptions, qualified
from edgekeeper.controllers.composition.graph import Graph, Options, read_definition
from edgekeeper.controllers.composition.instance_plan import Address, Limits, NodeState, Plan, Seen
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND, Revision, definition_of
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.controllers.composition.selectors import matches
from edgekeeper.controllers.composition.served_schemas import (
    ServedCompiler,
    ServedSchemas,
    graph_options,
    kind_refusals,
)
from edgekeeper.controllers.composition.waves import decide
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import Key, Kind

MISSING = "Missing"
OUTDATED = "Outdated"
NO_LIMITS = Limits()


class UnknownInstanceError(Exception):
    """There is no such instance, no definition of its kind, or none that can be compiled."""


@dataclass(frozen=True, slots=True)
class LiveInstance:
    """An instance, and how far each of its resources is."""

    graph: Graph
    kind: Kind
    key: Key
    object: JsonObject
    states: dict[str, str]
    messages: dict[str, str]
    """Only of resources that have something to say."""
    objects: dict[str, tuple[Address, ...]]
    """By resource, the objects that it consists of, as far as they can be named."""


async def read_instance(
    client: KubeClient, clock: Clock, kind: str, name: str, namespace: str
) -> LiveInstance:
    """Read an instance by its kind, such as `WebApp` or `webapp.kro.run`. Raise UnknownInstanceError, ApiError."""
    spec = await _newest_spec(client, _defining(await _definitions(client), kind))
    found = instance_kind(spec.schema)
    key = Key(namespace if found.namespaced else "", name)
    try:
        instance = await client.get(found, key)
    except NotFoundError as error:
        raise UnknownInstanceError(f"{found.kind} {key} does not exist") from error
    compilation = await ServedCompiler(ServedSchemas(client, clock), Options(omit_allowed=True)).compile(spec)
    if compilation.graph is None:
        problems = described(tuple(compilation.problems))
        raise UnknownInstanceError(f"the definition of {found.kind} is not valid: {problems}")
    return await judge_instance(client, compilation.graph, found, key, instance)


async def served_graph(
    client: KubeClient, clock: Clock, definition: str, options: CompositionOptions
) -> tuple[Graph, Kind]:
    """The graph that an operator with these options serves the instances of a definition with.

    Raise UnknownInstanceError with the message that the operator reports if there is none, and ApiError.
    """
    try:
        chosen = await client.get(DEFINITION_KIND, Key("", definition))
    except NotFoundError as error:
        raise UnknownInstanceError(f"ResourceGraphDefinition {definition} does not exist") from error
    spec = await _newest_spec(client, chosen)
    if refusals := tuple(kind_refusals(spec, options)):
        raise UnknownInstanceError(described(refusals))
    compilation = await ServedCompiler(ServedSchemas(client, clock), graph_options(options)).compile(spec)
    if compilation.graph is None:
        raise UnknownInstanceError(described(tuple(compilation.problems)))
    return compilation.graph, instance_kind(spec.schema)


def in_force(definitions: Iterable[JsonObject]) -> list[JsonObject]:
    """One definition for each kind: of several that define the same one, that which is active."""
    found: dict[tuple[str, str], JsonObject] = {}
    for one in sorted(definitions, key=lambda one: dig(one, "status", "state") != "Active"):
        found.setdefault(_defined(one), one)
    return list(found.values())


async def judge_instance(
    client: KubeClient,
    graph: Graph,
    kind: Kind,
    key: Key,
    instance: JsonObject,
    limits: Limits = NO_LIMITS,
) -> LiveInstance:
    """Judge an instance by a graph that is compiled already, in an installation with these limits. Raise ApiError."""
    plan = await plan_instance(ReadView(client), graph, kind, instance, limits)
    messages = {node: result.message for node, result in plan.nodes.items() if result.message}
    objects = {node: tuple(one.address for one in result.objects) for node, result in plan.nodes.items()}
    return LiveInstance(graph, kind, key, instance, _states(plan), messages, objects)


async def _definitions(client: KubeClient) -> list[JsonObject]:
    try:
        return [
            msgspec.json.decode(raw) async for page in client.pages(DEFINITION_KIND) for raw in page.items
        ]
    except NotFoundError as error:
        raise UnknownInstanceError("the API server does not serve ResourceGraphDefinitions") from error


def _defining(definitions: Iterable[JsonObject], name: str) -> JsonObject:
    """The definition of a kind, which has the name `Kind` or `Kind.group`. Raise UnknownInstanceError if it is not one."""
    by_kind = {_defined(one): one for one in in_force(definitions)}
    named = [
        (group, kind)
        for group, kind in by_kind
        if name.lower() in (kind.lower(), qualified(group, kind).lower())
    ]
    if not named:
        known = sorted({kind for _, kind in by_kind})
        among = f"there are {', '.join(known)}" if known else "there is none at all"
        raise UnknownInstanceError(f"no ResourceGraphDefinition defines {name}: {among}")
    if len(named) > 1:
        choices = " or ".join(sorted(qualified(group, kind) for group, kind in named))
        raise UnknownInstanceError(f"several ResourceGraphDefinitions define {name}: say {choices}")
    return by_kind[named[0]]


def _defined(definition: JsonObject) -> tuple[str, str]:
    """The group and the kind that a definition defines."""
    schema = dig_object(definition, "spec", "schema")
    return str(schema.get("group") or GROUP), str(schema.get("kind"))


async def _newest_spec(client: KubeClient, definition: JsonObject) -> DefinitionSpec:
    """The newest revision of a definition, or the definition itself before there is one."""
    name = definition["metadata"]["name"]
    items = [raw async for page in client.pages(REVISION) for raw in page.items]
    revisions = [Revision.of(msgspec.json.decode(raw)) for raw in items if definition_of(raw) == name]
    newest = max(revisions, key=lambda one: one.number, default=None)
    if newest is not None and newest.spec is not None:
        return newest.spec
    try:
        return read_definition(definition)
    except RejectedError as error:
        raise UnknownInstanceError(f"ResourceGraphDefinition {name} is not valid: {error.message}") from error


async def plan_instance(
    view: ReadView, graph: Graph, kind: Kind, instance: JsonObject, limits: Limits
) -> Plan:
    """Decide; read what was asked for; and again, until everything that is asked for is known."""
    while True:
        plan = await decide(graph, kind, instance, view, limits)
        if not await view.read():
            return plan


class ReadView:
    """Implements `instance_plan.View`. What is not known yet counts as absent, and is read by `read`."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._objects: dict[Address, Seen | None] = {}
        self._kinds: dict[Kind, dict[Key, Seen]] = {}
        """Kinds of which all objects were listed."""
        self._obstacles: dict[Kind, tuple[str, str]] = {}
        self._asked: set[Address] = set()
        self._listed: set[Kind] = set()

    def find(self, address: Address) -> Seen | None:
        if address not in self._objects:
            self._asked.add(address)
        return self._objects.get(address)

    def find_external(self, address: Address) -> Seen | None:
        return self.find(address)

    def select(self, kind: Kind, namespace: str, selector: JsonObject) -> list[tuple[Key, Seen]]:
        if kind not in self._kinds:
            self._listed.add(kind)
        return [
            (key, seen)
            for key, seen in sorted(self._kinds.get(kind, {}).items())
            if namespace in ("", key.namespace)
            and matches(selector, dig_object(seen.object, "metadata", "labels"))
        ]

    def obstacle(self, kind: Kind, *, external: bool) -> tuple[str, str] | None:
        return self._obstacles.get(kind)

    def is_watched(self, kind: Kind, namespace: str) -> bool:
        return True  # whatever is asked for is read

    async def read(self) -> bool:
        """Read what was asked for since the last time; whether there was something."""
        asked, listed = self._asked, self._listed
        self._asked, self._listed = set(), set()
        for address in sorted(asked, key=str):
            self._objects[address] = await self._get(address)
        for kind in listed:
            self._kinds[kind] = await self._list(kind)
        return bool(asked or listed)

    async def _get(self, address: Address) -> Seen | None:
        try:
            return Seen(await self._client.get(address.kind, address.key))
        except NotFoundError:
            return None
        except ForbiddenError as error:
            self._obstacles[address.kind] = ("KindNotPermitted", error.message)
            return None

    async def _list(self, kind: Kind) -> dict[Key, Seen]:
        try:
            pages = [page async for page in self._client.pages(kind)]
        except ForbiddenError as error:
            self._obstacles[kind] = ("KindNotPermitted", error.message)
            return {}
        return dict(_keyed(msgspec.json.decode(raw) for page in pages for raw in page.items))


def _keyed(objects: Iterable[JsonObject]) -> Iterable[tuple[Key, Seen]]:
    for one in objects:
        yield Key(str(dig(one, "metadata", "namespace") or ""), one["metadata"]["name"]), Seen(one)


def _states(plan: Plan) -> dict[str, str]:
    """As they are shown to people: what is to be applied is missing, or not as it should be."""
    absent = {one.node for one in plan.applies if not one.exists}
    return {
        node: str(result.state)
        if result.state is not NodeState.APPLY
        else MISSING
        if node in absent
        else OUTDATED
        for node, result in plan.nodes.items()
    }
