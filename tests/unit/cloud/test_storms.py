"""R-15: a provider that throttles, blocks and fails. The rate stays within the budget, and all work completes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from random import Random

import pytest

from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.call_context import Actor, acting_for
from edgekeeper.cloud.transport import Operation
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait
from kubesim.virtual import run_virtual
from tests.unit.cloud.provider import (
    ACCOUNT,
    CREATE,
    PUT,
    ThrottledError,
    UnavailableError,
    World,
    assert_within_budget,
    classify,
)

RATE = LaneRate(3.6, 20)
OBJECTS = 120
WORKERS = 16


@dataclass(frozen=True)
class Weather:
    """What happens to calls, and when, in seconds."""

    throttled: float = 0.0
    """The share of calls that is throttled at random."""
    block: tuple[float, float] = (0, 0)
    """Every call is throttled."""
    outage: tuple[float, float] = (0, 0)
    """Every call fails after its effect, or before."""
    tells_when: bool = False
    """Whether a block says how long it lasts."""


@dataclass
class StormyProvider:
    """Things by name, behind some weather."""

    weather: Weather
    random: Random = field(default_factory=lambda: Random(15))
    things: dict[str, int] = field(default_factory=dict)
    """How often each was created."""
    arrivals: list[float] = field(default_factory=list)

    def sending(self, name: str) -> Callable[[], Awaitable[None]]:
        async def send() -> None:
            now = asyncio.get_running_loop().time()
            self.arrivals.append(now)
            await asyncio.sleep(0.1 + self.random.random() / 5)
            begin, end = self.weather.block
            if begin <= now < end:
                raise ThrottledError(timedelta(seconds=end - now) if self.weather.tells_when else None)
            if self.random.random() < self.weather.throttled:
                raise ThrottledError
            begin, end = self.weather.outage
            is_lost = begin <= now < end
            if not is_lost or self.random.random() < 0.5:
                self.things[name] = self.things.get(name, 0) + 1
            if is_lost:
                raise UnavailableError("Service Unavailable")

        return send


class Operator:
    """Passes over objects as the runtime makes them: some workers, waits honoured, retries with backoff."""

    def __init__(self, world: World, provider: StormyProvider, operation: Operation) -> None:
        self._world = world
        self._provider = provider
        self._operation = operation
        self._backoff = Backoff(first=timedelta(seconds=1), longest=timedelta(minutes=5))
        self._workers = asyncio.Semaphore(WORKERS)
        self.errors: list[PassError] = []
        self.done: dict[str, float] = {}

    async def run(self, objects: int) -> None:
        await asyncio.gather(*(self._keep(f"thing-{n}", f"team-{n % 7}") for n in range(objects)))

    async def _keep(self, name: str, namespace: str) -> None:
        failures = 0
        while name not in self.done:
            after = timedelta(0)
            try:
                async with self._workers:
                    await self._pass(name, namespace)
            except PassError as error:
                self.errors.append(error)
                failures = failures + 1 if isinstance(error, Retry) else 0
                after = self._backoff.delay(failures, Random(failures))
                after = error.after if isinstance(error, Wait | Stall) else after
            await asyncio.sleep(after.total_seconds())

    async def _pass(self, name: str, namespace: str) -> None:
        if name not in self._provider.things:  # look before doing it again
            with acting_for(Actor("Thing", namespace, name, name, 1)):
                await self._world.transport.call(
                    self._operation, name, self._provider.sending(name), credential=ACCOUNT, classify=classify
                )
        self.done[name] = asyncio.get_running_loop().time()


@lru_cache
def endure(weather: Weather, operation: Operation) -> tuple[StormyProvider, Operator, float]:
    """Live through it once; several laws are about the same storm."""

    async def scenario() -> tuple[StormyProvider, Operator, float]:
        provider = StormyProvider(weather)
        operator = Operator(World(rate=RATE), provider, operation)
        await operator.run(OBJECTS)
        return provider, operator, asyncio.get_running_loop().time()

    return run_virtual(scenario)


STORMS = {
    "fair weather": Weather(),
    "30 % throttled": Weather(throttled=0.3),
    "blocked for 5 minutes": Weather(block=(10, 310)),
    "blocked for 5 minutes and told so": Weather(block=(10, 310), tells_when=True),
    "30 % throttled and blocked for 5 minutes": Weather(throttled=0.3, block=(10, 310)),
    "an outage of 30 minutes": Weather(outage=(10, 1810)),
    "everything": Weather(throttled=0.3, block=(10, 310), outage=(340, 940)),
}


@pytest.mark.parametrize("weather", STORMS.values(), ids=STORMS)
@pytest.mark.parametrize("operation", [CREATE, PUT], ids=["not idempotent", "idempotent"])
def test_storm_rate_never_exceeds_the_budget_and_all_work_completes(
    weather: Weather, operation: Operation
) -> None:
    provider, operator, _ = endure(weather, operation)
    assert_within_budget(provider.arrivals, RATE.rate, RATE.burst)
    assert len(operator.done) == OBJECTS
    assert set(provider.things) == set(operator.done)


@pytest.mark.parametrize("weather", STORMS.values(), ids=STORMS)
def test_storm_creates_nothing_twice(weather: Weather) -> None:
    provider, _, _ = endure(weather, CREATE)
    assert set(provider.things.values()) == {1}


@pytest.mark.parametrize("weather", STORMS.values(), ids=STORMS)
def test_storm_stalls_nobody(weather: Weather) -> None:
    _, operator, _ = endure(weather, CREATE)
    assert not [error for error in operator.errors if isinstance(error, Stall | Conflict)]


def test_storm_fair_weather_takes_no_longer_than_the_budget_demands() -> None:
    provider, _, took = endure(Weather(), CREATE)
    assert len(provider.arrivals) == OBJECTS
    assert took <= 1.1 * (OBJECTS - RATE.burst) / RATE.rate


def test_storm_blocked_provider_is_left_alone_and_caught_up_without_a_burst() -> None:
    provider, operator, took = endure(STORMS["blocked for 5 minutes and told so"], CREATE)
    during = [time for time in provider.arrivals if 11 <= time < 310]
    after = [time for time in provider.arrivals if time >= 310]
    assert during == []
    assert_within_budget(after, RATE.rate, burst=1)
    assert took <= 310 + 1.5 * OBJECTS / RATE.rate, "whoever was sent away comes back when it is expected"
    assert {error.reason for error in operator.errors} <= {"Throttled", "BudgetExhausted"}


def test_storm_silent_block_is_probed_and_not_hammered() -> None:
    provider, _, _ = endure(STORMS["blocked for 5 minutes"], CREATE)
    during = [time for time in provider.arrivals if 10 <= time < 310]
    assert len(during) <= 300 * RATE.rate / 10


def test_storm_outage_costs_few_calls() -> None:
    provider, _, _ = endure(STORMS["an outage of 30 minutes"], CREATE)
    during = [time for time in provider.arrivals if 10 <= time < 1810]
    assert len(during) <= 30


def test_storm_of_one_provider_is_not_felt_at_another() -> None:
    async def scenario() -> None:
        world = World(rate=RATE)
        stormy = StormyProvider(Weather(outage=(0, 1800), block=(0, 300)))
        calm = StormyProvider(Weather())
        other = replace(CREATE, provider="cloudflare", service="cloudflare", lane="cloudflare")
        suffering = asyncio.create_task(Operator(world, stormy, CREATE).run(50))
        operator = Operator(world, calm, other)
        await operator.run(OBJECTS)
        assert asyncio.get_running_loop().time() <= 1.1 * (OBJECTS - RATE.burst) / RATE.rate
        assert operator.errors == []
        suffering.cancel()
        await asyncio.wait({suffering})

    run_virtual(scenario)
