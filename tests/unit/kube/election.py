"""Candidates for one Lease, each a small process of its own: it can be frozen, cut off, slowed down and killed.

A candidate runs its elector and a worker that acts, like a controller does, whenever `check` lets it. Requests travel
on their own: a process that freezes or gives up does not take back what it has sent.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import LEASE, Key
from edgekeeper.kube.lease import Elector, LeaseOptions, LostLeadershipError
from edgekeeper.kube.transport import ApiRequest, ApiResponse, TransportError
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport
from kubesim.virtual import START, LoopClock
from tests.unit.kube.world import quiet_plane

T = TypeVar("T")

LEASE_KEY = Key("default", "operator")
WORK_INTERVAL = 0.25
"""How often a worker tries to act, and how often leaders are counted beside every change."""


class Link(InProcessTransport):
    """The way of one candidate to the server."""

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane)
        self.is_up = True
        self.loses_answers = False
        self.hangs = False
        self.latency = 0.01
        """One way, in seconds."""
        self.sent: list[str] = []
        """The methods of all requests."""
        self._travelling: set[asyncio.Task[ApiResponse]] = set()

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        self.sent.append(request.method)
        self._confirm_up("no route to host")
        if self.hangs:
            await asyncio.Event().wait()
        travel = asyncio.create_task(self._travel(request, deadline))
        self._travelling.add(travel)
        travel.add_done_callback(self._travelling.discard)
        answer = await asyncio.shield(travel)
        self._confirm_up("connection reset by peer")
        if self.loses_answers:
            raise TransportError("connection reset by peer")
        return answer

    def _confirm_up(self, otherwise: str) -> None:
        if not self.is_up:
            raise TransportError(otherwise)

    async def _travel(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        await asyncio.sleep(self.latency)
        answer = await super().send(request, deadline)
        await asyncio.sleep(self.latency)
        return answer

    async def drain(self) -> None:
        """Wait for what is still on its way."""
        await asyncio.gather(*self._travelling, return_exceptions=True)


class Ice:
    """Stops a process between two steps of its coroutines, as SIGSTOP or a blocked event loop does."""

    def __init__(self) -> None:
        self._thawed = asyncio.Event()
        self._thawed.set()

    @property
    def is_frozen(self) -> bool:
        return not self._thawed.is_set()

    def freeze(self) -> None:
        self._thawed.clear()

    def thaw(self) -> None:
        self._thawed.set()

    async def run(self, life: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await self._steps(life())

    @types.coroutine
    def _steps(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        error: BaseException | None = None
        while True:
            try:
                waiting = coroutine.throw(error) if error else coroutine.send(None)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return] # the protocol of coroutines has no type for it
            error = None
            try:
                yield waiting
            except BaseException as thrown:  # noqa: BLE001 - handed on as soon as the process runs again
                error = thrown
            while self.is_frozen:
                try:
                    yield from self._thawed.wait().__await__()
                except asyncio.CancelledError as thrown:
                    error = thrown


@dataclass
class Candidate:
    """A process that wants to lead."""

    identity: str
    link: Link
    clock: LoopClock
    elector: Elector
    ice: Ice = field(default_factory=Ice)
    changes: list[bool] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    """When the worker acted, by the loop's time."""
    exit: BaseException | None = None
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    is_alive: bool = True

    def start(self) -> None:
        for life in (self._elect, self._work):
            self.tasks.append(asyncio.create_task(self.ice.run(life)))

    async def kill(self) -> None:
        """End without a word."""
        self.is_alive = False
        self.ice.thaw()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.link.drain()

    async def elected(self) -> float:
        """Wait until this process leads; return how long it took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(300):
            await self.elector.wait_elected()
        return loop.time() - began

    def passes(self) -> bool:
        """Whether this process could act at this instant."""
        try:
            self.elector.check()
        except LostLeadershipError:
            return False
        return self.is_alive

    async def freeze_for(self, seconds: float) -> None:
        self.ice.freeze()
        await asyncio.sleep(seconds)
        self.ice.thaw()

    async def _elect(self) -> None:
        try:
            await self.elector.run()
        except LostLeadershipError as error:
            self.exit = error

    async def _work(self) -> None:
        while self.exit is None:
            if self.passes():
                self.calls.append(asyncio.get_running_loop().time())
            await asyncio.sleep(WORK_INTERVAL)


@dataclass
class Election:
    """A server and its candidates."""

    plane: Plane
    candidates: list[Candidate] = field(default_factory=list)
    accidents: list[str] = field(default_factory=list)
    """Who led at once, and when."""

    def add(
        self,
        identity: str,
        *,
        skew: timedelta = timedelta(0),
        rate: float = 1.0,
        options: LeaseOptions | None = None,
    ) -> Candidate:
        """A candidate whose wall clock is wrong by `skew`, and whose monotonic clock runs at `rate`."""
        clock, link = LoopClock(START + skew, rate=rate), Link(self.plane)
        changes: list[bool] = []

        def on_change(is_leader: bool) -> None:
            changes.append(is_leader)
            self.confirm_one_leader()

        client = KubeClient(link, Calls(), clock)
        elector = Elector(client, clock, LEASE_KEY, identity, options or LeaseOptions(), on_change)
        candidate = Candidate(identity, link, clock, elector, changes=changes)
        self.candidates.append(candidate)
        return candidate

    def start(self, identity: str, **options: Any) -> Candidate:
        candidate = self.add(identity, **options)
        candidate.start()
        return candidate

    async def leader(self, identity: str, **options: Any) -> Candidate:
        """A candidate that leads already."""
        candidate = self.start(identity, **options)
        await candidate.elected()
        return candidate

    def leaders(self) -> list[str]:
        return [candidate.identity for candidate in self.candidates if candidate.passes()]

    def confirm_one_leader(self) -> None:
        leaders = self.leaders()
        if len(leaders) > 1:
            self.accidents.append(f"{leaders} at {asyncio.get_running_loop().time():.3f} s")

    async def lease(self) -> JsonObject:
        return await self.plane.client.get(LEASE.path(LEASE_KEY))

    async def occupy(self, holder: str, **spec: Any) -> None:
        """Put a holder into the Lease from outside, as another program does."""
        metadata = {"name": LEASE_KEY.name}
        tree = {"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": metadata}
        spec = {"holderIdentity": holder, **spec}
        await self.plane.client.create(LEASE.collection_path("default"), {**tree, "spec": spec})

    async def edit(self, patch: JsonObject) -> None:
        await self.plane.client.merge(LEASE.path(LEASE_KEY), patch)


@asynccontextmanager
async def electing() -> AsyncIterator[Election]:
    """An election in which two leaders at one instant are an error."""
    async with quiet_plane(LoopClock()) as plane:
        election = Election(plane)
        watchdog = asyncio.create_task(_watch(election))
        try:
            yield election
        finally:
            watchdog.cancel()
            for candidate in election.candidates:
                await candidate.kill()
        assert election.accidents == []


async def _watch(election: Election) -> None:
    while True:
        election.confirm_one_leader()
        await asyncio.sleep(WORK_INTERVAL)
