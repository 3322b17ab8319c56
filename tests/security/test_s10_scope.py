"""S-10: an operator that is to serve some namespaces does not list, watch or select objects in others.

Every request of an operator with all kinds is looked at where it arrives. A collection of a namespaced kind is read in a namespace that
was chosen, or in the operator's own, never in all at once; but for Leases and Deployments by which an operator is noticed that
was there before, wherever it is installed. Objects with the same labels in other namespaces stay as they are; and no
selector of a definition finds what is in a namespace that administrators have not allowed.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import pytest

from edgekeeper.controllers.composition.instance_controllers import InstanceOptions
from edgekeeper.controllers.composition.instance_plan import Limits
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import NAMESPACE
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport
from kubesim.virtual import run_virtual
from tests.composition.instances.test_external_references import config, selecting
from tests.composition.world import composing, instance
from tests.recovery.world import APPS, HOME, Clouds, Cluster, cluster, fleet
from tests.results import Figures

OTHER: Final = "other"
TEAM: Final = "team"
_COLLECTION: Final = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[^/]+)"
)
PREDECESSORS: Final = {("apps", "deployments"), ("coordination.k8s.io", "leases")}
Read = tuple[str, str, str]
"""The group and plural of a kind, and the namespace; empty for all."""


class Lookout(InProcessTransport):
    """Notes every collection that is listed or watched."""

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane)
        self.read: set[Read] = set()

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        self._note(request)
        return await super().send(request, deadline)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        self._note(request)
        async with super().stream(request) as stream:
            yield stream

    def _note(self, request: ApiRequest) -> None:
        found = _COLLECTION.fullmatch(request.path)
        if request.method == "GET" and found is not None and found["plural"] != "namespaces":
            self.read.add((found["group"] or "", found["plural"], found["namespace"] or ""))


def namespaced(found: Cluster, read: set[Read]) -> set[Read]:
    """What was read of namespaced kinds."""
    kinds = {(one.group, one.plural) for one in found.plane.registry.all() if one.namespaced}
    return {one for one in read if one[:2] in kinds}


@pytest.mark.parametrize(
    "namespaces", [(APPS,), (APPS, TEAM), (APPS, HOME)], ids=["one", "two", "one and its own"]
)
def test_operator_reads_no_namespace_that_was_not_chosen(
    namespaces: tuple[str, ...], figures: Figures
) -> None:
    async def play() -> None:
        clouds = Clouds()
        async with cluster(clouds, 1) as found:
            lookouts: list[Lookout] = []
            found.namespaces = namespaces

            def connect(plane: Plane) -> Lookout:
                lookouts.append(Lookout(plane))
                return lookouts[-1]

            found.connect = connect
            for name in (OTHER, TEAM):
                await found.user.create(NAMESPACE, {"metadata": {"name": name}})
            await found.start()
            objects = fleet(clouds)
            await found.apply(*objects)
            await found.ready()
            contents = clouds.contents()
            await found.apply(*(_elsewhere(obj) for obj in objects if "namespace" in obj["metadata"]))
            await found.elapse(hours=1)
            read = namespaced(found, lookouts[-1].read)
            outside = {one[:2] for one in read if one[2] not in {*namespaces, HOME}}
            assert outside <= PREDECESSORS
            assert clouds.contents() == contents
            assert not any(_is_touched(obj) for _, obj in found.ours())
            figures.count("collections read", len(read))

    run_virtual(play)


def _elsewhere(obj: JsonObject) -> JsonObject:
    """The same object, with the same labels, in a namespace that nobody has chosen."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": OTHER}}


def _is_touched(obj: JsonObject) -> bool:
    metadata = obj["metadata"]
    return metadata.get("namespace") == OTHER and bool(metadata.get("finalizers") or obj.get("status"))


# Selectors

SELECTORS: Final = {
    "everything": "{}",
    "a label": "{matchLabels: {team: edge}}",
    "a label of the instance": "{matchLabels: {team: '${schema.spec.team}'}}",
    "any value": "{matchExpressions: [{key: team, operator: Exists}]}",
    "no label": "{matchExpressions: [{key: unknown, operator: DoesNotExist}]}",
    "other values": "{matchExpressions: [{key: team, operator: NotIn, values: [core]}]}",
}


@pytest.mark.parametrize("allowed", [frozenset(), frozenset({"shared"})], ids=["none", "one"])
@pytest.mark.parametrize("name", SELECTORS)
def test_selector_matches_nothing_in_a_namespace_that_is_not_allowed(
    name: str, allowed: frozenset[str]
) -> None:
    async def play() -> None:
        async with composing(InstanceOptions(limits=Limits(namespaces=allowed))) as world:
            for place in ("shared", OTHER):
                await world.namespace(place)
            for place in ("default", "shared", OTHER):
                await world.apply(config(f"in-{place}", {}, namespace=place, team="edge"))
            await world.define(selecting(SELECTORS[name]))
            await world.apply(instance("Selecting", "demo"))
            await world.settle()
            found = (await world.get("Selecting", "demo")).get("status", {}).get("names")
            assert found == ["in-default", *(f"in-{place}" for place in sorted(allowed))]

    run_virtual(play)
