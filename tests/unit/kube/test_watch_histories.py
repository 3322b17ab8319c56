"""Any history of a server, seen through any succession of faults, ends in the truth."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgekeeper.kube.kinds import Key
from edgekeeper.kube.raw import peek
from edgekeeper.kube.store import Change
from edgekeeper.kube.transport import ApiRequest, ApiResponse, TransportError
from kubesim.plane.errors import StatusError
from kubesim.virtual import run_virtual
from tests.unit.kube.faults import FORBIDDEN, Fault, refusal
from tests.unit.kube.world import World, unwatched

UNTIL_QUIET = 2 * 3600.0
"""Two hours: every pause is over, and an audit has found what was lost without a trace."""

REFUSALS: dict[str, ApiResponse | TransportError] = {
    "forbidden": FORBIDDEN,
    "throttled": refusal(429, "TooManyRequests", "storage is (re)initializing"),
    "broken": refusal(500, "InternalError"),
    "expired": refusal(410, "Expired"),
    "bad token": refusal(400, "BadRequest", "invalid continue token"),
    "unreachable": TransportError("no route to host"),
}

names = st.sampled_from("abcde")
actions = st.one_of(
    st.tuples(st.just("write"), names),
    st.tuples(st.just("write"), names),
    st.tuples(st.just("delete"), names),
    st.tuples(st.just("recreate"), names),
    st.tuples(st.just("sleep"), st.sampled_from(["0", "0.5", "5", "61", "80", "400"])),
    st.tuples(st.just("strike"), st.sampled_from([fault.name for fault in Fault])),
    st.tuples(st.just("refuse"), st.sampled_from(sorted(REFUSALS))),
    st.tuples(st.just("refuse half"), st.sampled_from(sorted(REFUSALS))),
    st.tuples(st.just("relent"), st.just("")),
    st.tuples(st.just("drop"), st.sampled_from(["1", "2", "3"])),
    st.tuples(st.just("compact"), st.just("")),
)


@dataclass
class Script:
    """What happens to a world, one action after the other."""

    world: World
    dead: set[str] = field(default_factory=set)
    """Uids of what was really deleted."""
    writes: int = 0

    async def play(self, action: str, argument: str) -> None:
        deeds: dict[str, Callable[[str], Awaitable[None]]] = {
            "write": self.write,
            "delete": self.delete,
            "recreate": self.recreate,
            "sleep": lambda seconds: asyncio.sleep(float(seconds)),
            "strike": lambda fault: self.world.transport.strike(Fault[fault]),
            "refuse": self.refuse,
            "refuse half": self.refuse_half,
            "relent": self.relent,
            "drop": self.drop,
            "compact": self.compact,
        }
        await deeds[action](argument)

    async def write(self, name: str) -> None:
        self.writes += 1
        try:
            await self.world.update(name, written=str(self.writes))
        except StatusError:
            await self.world.create(name, written=str(self.writes))

    async def delete(self, name: str) -> None:
        objects = await self.world.on_server()
        if (key := Key("default", name)) in objects:
            self.dead.add(objects[key][0])
            await self.world.delete(name)

    async def recreate(self, name: str) -> None:
        await self.delete(name)
        await self.write(name)

    async def refuse(self, how: str) -> None:
        self.world.transport.refuse = lambda _: REFUSALS[how]

    async def refuse_half(self, how: str) -> None:
        """Every other request fails, so that lists break off between their pages."""
        count = 0

        def refuse(_: ApiRequest) -> ApiResponse | TransportError | None:
            nonlocal count
            count += 1
            return REFUSALS[how] if count % 2 == 0 else None

        self.world.transport.refuse = refuse

    async def relent(self, _: str = "") -> None:
        self.world.transport.refuse = lambda _: None
        self.world.transport.drop = lambda _: False

    async def drop(self, count: str) -> None:
        left = int(count)

        def drop(line: bytes) -> bool:
            nonlocal left
            left -= b"BOOKMARK" not in line
            return left >= 0 and b"BOOKMARK" not in line

        self.world.transport.drop = drop

    async def compact(self, _: str) -> None:
        self.world.plane.store.compact()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    script=st.lists(actions, max_size=25),
    initial_events=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_store_and_handlers_end_in_the_truth(
    script: list[tuple[str, str]], initial_events: bool, seed: int
) -> None:
    async def scenario() -> None:
        async with unwatched("a", "b", "c", page_size=2, initial_events=initial_events) as world:
            played = Script(world)
            await world.informers.start()
            for action, argument in script:
                await played.play(action, argument)
            await played.relent()
            await asyncio.sleep(UNTIL_QUIET)
            assert await world.is_true()
            assert world.informer.stale_since is None
            _confirm_no_change_is_lost(world.changes, world)
            _confirm_deaths(world.changes, played.dead)

    run_virtual(scenario, seed=seed)


def _confirm_no_change_is_lost(changes: list[Change], world: World) -> None:
    """What handlers were told, key by key, hangs together and ends with what is."""
    last: dict[Key, bytes | None] = {}
    for change in changes:
        assert change.old == last.get(change.key)
        last[change.key] = change.new
    assert {key: raw for key, raw in last.items() if raw is not None} == dict(world.informer.store.snapshot())


def _confirm_deaths(changes: list[Change], dead: set[str]) -> None:
    """Everybody who is said to be gone is, and stays so."""
    buried: set[str] = set()
    for change in changes:
        if change.new is None:
            assert change.old is not None
            buried.add(peek(change.old).uid)
        else:
            assert peek(change.new).uid not in buried, msgspec.json.decode(change.new)
    assert buried <= dead
