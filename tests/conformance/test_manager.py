"""A whole operator, over the wire: lease, watches, passes, writes and events come to the same on each server.

What it operates are the Gizmos of `tests.toy`, whose workshop lives in this process and builds at once. Every operator
looks at the namespace of its test only, so that tests may share a server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.conditions import status_violations
from edgekeeper.core.json import JsonObject
from edgekeeper.core.names import bounded_name
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.errors import AlreadyExistsError, NotFoundError
from edgekeeper.kube.event_facts import Reporter
from edgekeeper.kube.events import Recorder
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, EVENT, LEASE, Key, Kind
from edgekeeper.kube.lease import Elector, LeaseOptions
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.manager import Manager, ManagerOptions
from tests.conformance.servers import ADMIN, TOKENS, Server
from tests.crash.stage import is_settled
from tests.toy.client import CANARY
from tests.toy.controllers import gizmo_controller
from tests.toy.gizmo import DECLARATION, DEFINITION, FINALIZER, GIZMO, gizmo, spec
from tests.toy.workshop import Workshop
from tests.unit.runtime.world import Journal

PATIENCE = 60.0
LEASE_TIMES = LeaseOptions(timedelta(seconds=4), timedelta(seconds=3), timedelta(seconds=0.3))
NAMES = tuple(f"shop-{number}" for number in range(5))


class Place:
    """A namespace on the server, a user, and a workshop. Operators come and go."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.namespace = namespace
        self.workshop = Workshop(SystemClock(), timedelta(0))
        self._server = server
        self.user = self.connect(Calls())

    def connect(self, calls: Calls) -> KubeClient:
        trust = Trust(authorities=self._server.authority.bundle)
        config = ClusterConfig(self._server.url, trust, StoredCredentials(bearer(TOKENS[ADMIN])))
        return KubeClient(HttpTransport(config, environ={}), calls, SystemClock())

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def define(self) -> None:
        """Make the kind known, unless an earlier test has."""
        with suppress(AlreadyExistsError):
            await self.user.create(CUSTOM_RESOURCE_DEFINITION, DEFINITION)
        async with asyncio.timeout(PATIENCE):
            while not await self._is_served():  # noqa: ASYNC110 - the server alone knows when
                await asyncio.sleep(0.05)

    async def _is_served(self) -> bool:
        try:
            await self.listed(GIZMO)
        except NotFoundError:
            return False
        return True

    async def listed(self, kind: Kind) -> list[JsonObject]:
        pages = self.user.pages(kind, namespace=self.namespace)
        return [msgspec.json.decode(item) async for page in pages for item in page.items]

    async def create(self, name: str, **parts: str) -> None:
        await self.user.create(GIZMO, gizmo(self.key(name), **parts))

    async def until(self, holds: Callable[[list[JsonObject]], bool]) -> list[JsonObject]:
        """Wait for the Gizmos to be as a condition says; return them."""
        async with asyncio.timeout(PATIENCE):
            while not holds(gizmos := await self.listed(GIZMO)):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.05)
            return gizmos

    async def settled(self) -> list[JsonObject]:
        return await self.until(lambda gizmos: all(map(is_settled, gizmos)))

    def item(self, name: str, part: str) -> str:
        """What the item of a part is called."""
        return bounded_name(self.namespace, name, part)

    def colours(self) -> dict[str, str]:
        """What there is in the workshop."""
        return {name: item["colour"] for name, item in self.workshop.state().items()}

    @asynccontextmanager
    async def operating(self, identity: str = "operator-0") -> AsyncIterator[Journal]:
        """Run an operator for the length of the block; stop it in order. All its calls are told but those of the lease."""
        journal, clock = Journal(), SystemClock()
        calls = Calls(journal)
        client, candidate = self.connect(calls), self.connect(Calls())
        recorder = Recorder(client, clock, Reporter("toy", identity))
        services = Services(client, Informers(client, clock), clock, recorder, namespaces=(self.namespace,))
        controller = gizmo_controller(services, self.workshop, calls)
        elector = Elector(candidate, clock, self.key("operator"), identity, LEASE_TIMES)
        manager = Manager(services, [controller], elector=elector, options=ManagerOptions(signals=False))
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            try:
                yield journal
            finally:
                manager.stop()
        await client.close()
        await candidate.close()


@pytest.fixture
async def place(server: Server, namespace: str) -> AsyncIterator[Place]:
    place = Place(server, namespace)
    await place.define()
    yield place
    await place.user.close()


def writes(journal: Journal) -> list[str]:
    return [f"{call.operation} {call.subject}" for call in journal.calls if call.mutating]


def looked_at(journal: Journal) -> set[str]:
    """The items of the workshop that an operator has compared with what they should be."""
    return {call.subject for call in journal.calls if call.operation == "Describe"}


async def test_operator_builds_what_is_declared(place: Place) -> None:
    await place.create(NAMES[0], wheel="red", door="blue")  # before the operator starts
    async with place.operating():
        for name in NAMES[1:]:
            await place.create(name, wheel="green")
        gizmos = await place.until(lambda gizmos: len(gizmos) == len(NAMES) and all(map(is_settled, gizmos)))
    assert place.colours() == {
        place.item(NAMES[0], "wheel"): "red",
        place.item(NAMES[0], "door"): "blue",
        **{place.item(name, "wheel"): "green" for name in NAMES[1:]},
    }
    for obj in gizmos:
        assert obj["metadata"]["finalizers"] == [FINALIZER]
        assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
        assert not status_violations(obj, None, declaration=DECLARATION, now=datetime.now(UTC))
    lease = await place.user.get(LEASE, place.key("operator"))
    assert not lease["spec"].get("holderIdentity"), "the lease was not given back"


async def test_operator_follows_a_change(place: Place) -> None:
    async with place.operating():
        await place.create("shop", wheel="red", door="blue")
        await place.settled()
        await place.user.merge_patch(GIZMO, place.key("shop"), {"spec": spec(wheel="green", roof="grey")})
        (shop,) = await place.settled()
    assert place.colours() == {place.item("shop", "wheel"): "green", place.item("shop", "roof"): "grey"}
    assert shop["status"]["observedGeneration"] == shop["metadata"]["generation"] == 2
    assert place.workshop.repeated() == []


async def test_operator_lets_go_of_what_it_has_cleaned_up(place: Place) -> None:
    async with place.operating():
        for name in NAMES:
            await place.create(name, wheel="red")
        await place.settled()
        for name in NAMES:
            await place.user.delete(GIZMO, place.key(name))
        await place.until(lambda gizmos: not gizmos)
        assert place.colours() == {}
    assert place.workshop.tally() == {place.item(name, "wheel"): (1, 1) for name in NAMES}


async def test_operator_deletes_nothing_before_it_is_there_to_do_so(place: Place) -> None:
    async with place.operating():
        await place.create("shop", wheel="red")
        await place.settled()
    await place.user.delete(GIZMO, place.key("shop"))
    (shop,) = await place.listed(GIZMO)
    assert "deletionTimestamp" in shop["metadata"]
    assert place.colours() == {place.item("shop", "wheel"): "red"}
    async with place.operating("operator-1"):
        await place.until(lambda gizmos: not gizmos)
    assert place.colours() == {}


async def test_restarted_operator_writes_nothing(place: Place) -> None:
    async with place.operating():
        for name in NAMES:
            await place.create(name, wheel="red")
        before = await place.settled()
    async with place.operating("operator-1") as journal, asyncio.timeout(PATIENCE):
        while len(looked_at(journal)) < len(NAMES):  # noqa: ASYNC110 - calls have no event of their own
            await asyncio.sleep(0.05)
    assert writes(journal) == []
    assert await place.listed(GIZMO) == before


async def test_refusal_is_told_without_the_secret_it_quotes(place: Place) -> None:
    async with place.operating():
        await place.create("shop", wheel="octarine")
        (shop,) = await place.until(lambda gizmos: "Refused" in str(gizmos))
    events = [event for event in await place.listed(EVENT) if event["reason"] == "Refused"]
    assert [event["regarding"]["uid"] for event in events] == [shop["metadata"]["uid"]]
    assert CANARY not in f"{shop} {events}"
