"""The budget: who may call, and when."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

import pytest

from edgekeeper.cloud.budget import Budget, LaneRate, TooLongError
from edgekeeper.cloud.call_context import Priority
from edgekeeper.cloud.rates import DEFAULT_RATES
from kubesim.virtual import virtual_time
from tests.unit.cloud.provider import ACCOUNT, LANE, assert_within_budget


class Crowd:
    """Callers of one lane, and when each had its turn."""

    def __init__(self, rate: float, burst: int = 1) -> None:
        self.budget = Budget({LANE: LaneRate(rate, burst)})
        self.turns: list[tuple[str, float]] = []

    @property
    def times(self) -> list[float]:
        return [time for _, time in self.turns]

    @property
    def order(self) -> list[str]:
        return [name for name, _ in self.turns]

    async def come(self, name: str, priority: Priority = Priority.USER, cost: int = 1) -> None:
        """Wait for a turn; the part of the name before the dash is the namespace."""
        namespace = name.partition("-")[0]
        await self.budget.acquire(ACCOUNT, LANE, cost, priority=priority, namespace=namespace)
        self.turns.append((name, asyncio.get_running_loop().time()))

    def enter(self, name: str, priority: Priority = Priority.USER, cost: int = 1) -> asyncio.Task[None]:
        return asyncio.create_task(self.come(name, priority, cost), name=name)


@virtual_time
async def test_budget_lets_a_burst_pass_and_then_its_rate() -> None:
    crowd = Crowd(rate=2, burst=3)
    await asyncio.gather(*(crowd.come(f"a-{n}") for n in range(6)))
    assert crowd.times == pytest.approx([0, 0, 0, 0.5, 1.0, 1.5])


@virtual_time
async def test_budget_is_separate_for_each_credential_and_lane() -> None:
    budget = Budget({"one": LaneRate(1), "two": LaneRate(1)})
    for credential in ("first", "second"):
        for lane in ("one", "two"):
            await budget.acquire(credential, lane)
    assert asyncio.get_running_loop().time() == 0


@virtual_time
async def test_budget_knows_no_other_lanes() -> None:
    with pytest.raises(ValueError, match="'nowhere'"):
        await Budget().acquire(ACCOUNT, "nowhere")


@virtual_time
async def test_budget_one_namespace_with_a_thousand_calls_does_not_starve_another() -> None:
    crowd = Crowd(rate=10)
    tasks = [crowd.enter(f"noisy-{n}") for n in range(1_000)]
    await asyncio.sleep(1)
    before = len(crowd.turns)
    await crowd.come("quiet-1")
    assert len(crowd.turns) - before <= 3
    await asyncio.gather(*tasks)


@virtual_time
async def test_budget_serves_user_changes_before_sweeps() -> None:
    crowd = Crowd(rate=1)
    await crowd.come("first-0")
    sweeps = [crowd.enter(f"-{n}", Priority.SWEEP) for n in range(3)]
    await asyncio.sleep(0)
    users = [crowd.enter(f"user-{n}") for n in range(5)]
    await asyncio.gather(*sweeps, *users)
    assert crowd.order == ["first-0", *(f"user-{n}" for n in range(5)), *(f"-{n}" for n in range(3))]


@virtual_time
async def test_budget_sweeps_go_on_while_users_never_stop() -> None:
    crowd = Crowd(rate=1)
    users = [crowd.enter(f"user-{n}") for n in range(100)]
    await asyncio.sleep(0)
    await crowd.come("-sweep", Priority.SWEEP)
    assert len(crowd.turns) <= 12
    await asyncio.gather(*users)


@virtual_time
async def test_budget_pause_holds_for_everybody_on_the_credential_and_for_nobody_else() -> None:
    crowd = Crowd(rate=100, burst=100)
    waiting = crowd.enter("a-1")
    assert crowd.budget.penalise(ACCOUNT, LANE, timedelta(minutes=5)) == timedelta(minutes=5)
    await crowd.budget.acquire("another", LANE)
    assert asyncio.get_running_loop().time() == 0
    await asyncio.gather(waiting, crowd.come("b-1"), crowd.come("c-1"))
    assert min(crowd.times) >= 300


@virtual_time
async def test_budget_pause_also_stops_those_who_wait_already() -> None:
    crowd = Crowd(rate=1)
    tasks = [crowd.enter(f"a-{n}") for n in range(3)]
    await asyncio.sleep(0.5)
    crowd.budget.penalise(ACCOUNT, LANE, timedelta(seconds=60))
    await asyncio.gather(*tasks)
    assert [time > 60 for time in crowd.times] == [False, True, True]


@virtual_time
async def test_budget_after_a_pause_there_is_no_burst() -> None:
    crowd = Crowd(rate=1, burst=50)
    crowd.budget.penalise(ACCOUNT, LANE, timedelta(seconds=60))
    await asyncio.gather(*(crowd.come(f"a-{n}") for n in range(20)))
    assert_within_budget(crowd.times, rate=1, burst=1)


@virtual_time
async def test_budget_cancelled_callers_cost_the_others_nothing() -> None:
    crowd = Crowd(rate=1)
    await crowd.come("first-0")
    tasks = [crowd.enter(f"a-{n}") for n in range(4)]
    await asyncio.sleep(0.5)
    for task in tasks[:3]:
        task.cancel()
    await tasks[3]
    assert crowd.order[-1] == "a-3"
    assert crowd.times[-1] == pytest.approx(1.0)


@virtual_time
async def test_budget_turn_that_comes_together_with_a_cancellation_goes_to_the_next() -> None:
    crowd = Crowd(rate=1)
    await crowd.come("first-0")
    tasks = [crowd.enter("a-0"), crowd.enter("a-1")]
    await asyncio.sleep(0)
    # The timer that gives the turn fires, and before its owner wakes up somebody cancels it.
    asyncio.get_running_loop().call_at(1.0, tasks[0].cancel)
    await tasks[1]
    assert tasks[0].cancelled()
    assert crowd.order[-1] == "a-1"
    assert crowd.times[-1] == pytest.approx(1.0)


@virtual_time
async def test_budget_turn_of_one_who_has_just_been_cancelled_goes_to_the_next() -> None:
    crowd = Crowd(rate=1)
    await crowd.come("first-0")
    tasks = [crowd.enter("a-0"), crowd.enter("a-1")]
    await asyncio.sleep(0)
    # Both happen in the same turn of the loop: the cancellation, and then the timer that gives the turn.
    asyncio.get_running_loop().call_at(1.0 - 1e-7, tasks[0].cancel)
    await tasks[1]
    assert crowd.order == ["first-0", "a-1"]
    assert crowd.times[-1] == pytest.approx(1.0)


@virtual_time
async def test_budget_rate_holds_whatever_is_cancelled_paused_and_asked() -> None:
    random = Random(7)
    crowd = Crowd(rate=5, burst=8)
    tasks = []
    for n in range(600):
        tasks.append(crowd.enter(f"ns{random.randrange(5)}-{n}", random.choice(list(Priority))))
        await asyncio.sleep(random.random() / 4)
        if random.random() < 0.3:
            random.choice(tasks).cancel()
        if random.random() < 0.02:
            crowd.budget.penalise(ACCOUNT, LANE)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(crowd.turns) > 300
    assert_within_budget(crowd.times, rate=5, burst=8)


@virtual_time
async def test_budget_expensive_calls_take_what_they_cost() -> None:
    crowd = Crowd(rate=10, burst=100)
    await asyncio.gather(*(crowd.come(f"a-{n}", cost=100) for n in range(3)))
    assert crowd.times == pytest.approx([0, 10, 20])


@virtual_time
async def test_budget_lane_within_another_counts_in_both() -> None:
    budget = Budget({"calls": LaneRate(1), "records": LaneRate(100, 100, within="calls")})
    loop = asyncio.get_running_loop()
    await budget.acquire(ACCOUNT, "records", 100)
    await budget.acquire(ACCOUNT, "records", 50)
    assert loop.time() == pytest.approx(1.0)
    await budget.acquire(ACCOUNT, "calls")
    assert loop.time() == pytest.approx(2.0)


@virtual_time
async def test_budget_caller_that_the_outer_lane_refuses_gives_back_what_it_took() -> None:
    budget = Budget({"calls": LaneRate(1), "records": LaneRate(1 / 1_000, 10, within="calls")})
    budget.penalise(ACCOUNT, "calls", timedelta(seconds=100))
    with pytest.raises(TooLongError):
        await budget.acquire(ACCOUNT, "records", 10, within=timedelta(seconds=5))
    waiting = asyncio.create_task(budget.acquire(ACCOUNT, "records", 10))
    await asyncio.sleep(1)
    waiting.cancel()
    await asyncio.sleep(0)
    await budget.acquire(ACCOUNT, "records", 10)
    assert asyncio.get_running_loop().time() < 103


# The expected wait


@virtual_time
async def test_budget_slow_lane_tells_the_expected_wait() -> None:
    budget = Budget({LANE: LaneRate(1 / 30)})
    assert budget.expected_wait(ACCOUNT, LANE) == timedelta(0)
    await budget.acquire(ACCOUNT, LANE)
    assert budget.expected_wait(ACCOUNT, LANE) == timedelta(seconds=30)
    waiting = asyncio.create_task(budget.acquire(ACCOUNT, LANE))
    await asyncio.sleep(10)
    assert budget.expected_wait(ACCOUNT, LANE) == timedelta(seconds=50)
    await waiting


@virtual_time
async def test_budget_caller_that_cannot_wait_so_long_is_told_at_once() -> None:
    budget = Budget({LANE: LaneRate(1 / 30)})
    await budget.acquire(ACCOUNT, LANE)
    with pytest.raises(TooLongError, match="the call is expected to be sent in 30s") as caught:
        await budget.acquire(ACCOUNT, LANE, within=timedelta(seconds=29))
    assert caught.value.expected == timedelta(seconds=30)
    assert asyncio.get_running_loop().time() == 0


@virtual_time
async def test_budget_tells_each_of_many_how_long_it_will_really_take() -> None:
    budget = Budget({LANE: LaneRate(1 / 30)})
    await budget.acquire(ACCOUNT, LANE)
    told = []
    for n in range(1_000):
        with pytest.raises(TooLongError) as caught:
            await budget.acquire(ACCOUNT, LANE, caller=f"domain {n}", within=timedelta(seconds=20))
        told.append(caught.value.expected)
    assert told == [timedelta(seconds=30 * (n + 1)) for n in range(1_000)]
    assert max(told) > timedelta(hours=8)


async def _persist(budget: Budget, namespace: str, caller: str) -> float:
    """Ask, go away for as long as one is told, and ask again: what a pass does. Return when the turn came."""
    while True:
        try:
            await budget.acquire(
                ACCOUNT, LANE, namespace=namespace, caller=caller, within=timedelta(seconds=20)
            )
            return asyncio.get_running_loop().time()
        except TooLongError as error:
            await asyncio.sleep(error.retry_after.total_seconds())


@virtual_time
async def test_budget_those_who_come_back_find_their_place() -> None:
    budget = Budget({LANE: LaneRate(1 / 30)})
    times = await asyncio.gather(*(_persist(budget, "a", f"domain {n}") for n in range(50)))
    assert times == sorted(times)
    assert_within_budget(times, 1 / 30, 1)
    assert times[-1] <= 49 * 30 * 1.1, "the lane stands idle while callers are away"


@virtual_time
async def test_budget_those_who_are_away_are_served_fairly_too() -> None:
    budget = Budget({LANE: LaneRate(1 / 30)})
    noisy = [asyncio.create_task(_persist(budget, "noisy", f"domain {n}")) for n in range(100)]
    await asyncio.sleep(60)
    assert await _persist(budget, "quiet", "its only domain") <= 60 + 4 * 30
    for task in noisy:
        task.cancel()
    await asyncio.gather(*noisy, return_exceptions=True)


@virtual_time
async def test_budget_places_of_those_who_never_come_back_are_given_up() -> None:
    budget = Budget({LANE: LaneRate(1 / 30)})
    await budget.acquire(ACCOUNT, LANE)
    for n in range(100):
        with pytest.raises(TooLongError):
            await budget.acquire(ACCOUNT, LANE, caller=f"domain {n}", within=timedelta(seconds=20))
    assert budget.expected_wait(ACCOUNT, LANE) > timedelta(minutes=45)
    await asyncio.sleep(400)
    assert budget.expected_wait(ACCOUNT, LANE) == timedelta(0)


@virtual_time
async def test_budget_sweeps_do_not_wait_for_those_who_are_away() -> None:
    budget = Budget({LANE: LaneRate(1)})
    await budget.acquire(ACCOUNT, LANE)
    for n in range(500):
        with pytest.raises(TooLongError):
            await budget.acquire(ACCOUNT, LANE, caller=f"record {n}", within=timedelta(0))
    await budget.acquire(ACCOUNT, LANE, priority=Priority.SWEEP, within=timedelta(seconds=5))
    assert asyncio.get_running_loop().time() == pytest.approx(1)


# The defaults


@pytest.mark.parametrize("lane", sorted(DEFAULT_RATES))
def test_default_lane_lies_within_lanes_that_exist(lane: str) -> None:
    outer = DEFAULT_RATES[lane].within
    assert not outer or outer in DEFAULT_RATES


@pytest.mark.parametrize(
    ("lane", "seconds", "most"),
    [
        pytest.param("cloudflare", 300, 1_200, id="Cloudflare, 1,200 in 5 minutes"),
        pytest.param("route53", 1, 10, id="Route 53, 10 a second"),
        pytest.param("route53-change", 1, 1_600, id="Route 53, 1,500 records and 100 a second"),
        pytest.param("acm-list", 1, 2, id="ACM, 1 listing a second"),
        pytest.param("apigateway-domain", 30, 2, id="API Gateway, 1 domain in 30 s"),
        pytest.param("lambda", 1, 20, id="Lambda, 15 a second"),
    ],
)
def test_default_lane_keeps_to_what_its_provider_allows(lane: str, seconds: float, most: int) -> None:
    rate = DEFAULT_RATES[lane]
    assert rate.burst + rate.rate * seconds < most + 0.001


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_lane_rate_makes_sense_or_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="positive rate"):
        LaneRate(rate, burst)


@virtual_time
async def test_figures_say_what_is_used_who_waits_and_for_how_long() -> None:
    crowd = Crowd(rate=1, burst=2)
    assert crowd.budget.figures() == {}
    for number in range(4):
        crowd.enter(f"a-{number}")
    await asyncio.sleep(0.25)
    (figures,) = crowd.budget.figures().values()
    assert (figures.rate, figures.burst, figures.admitted, figures.waiting) == (1, 2, 2, 2)
    assert figures.available == pytest.approx(0.25)
    assert figures.expected_wait == pytest.approx(1.75)  # namespaces take turns
    await asyncio.sleep(5)
    (figures,) = crowd.budget.figures().values()
    assert (figures.admitted, figures.waiting) == (4, 0)
    assert figures.waited == pytest.approx(3.0)
    crowd.budget.penalise(ACCOUNT, LANE, timedelta(seconds=7))
    (figures,) = crowd.budget.figures().values()
    assert figures.available == 0
    assert figures.paused_for == pytest.approx(7.0)
