"""The choke point: what it promises, one law at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.transport import KeptBack, Operation, Priority, acting_for, sweeping
from edgekeeper.core.errors import Cause, PassError, Retry, Stall, Wait
from kubesim.virtual import run_virtual, virtual_time
from tests.unit.cloud.provider import (
    ACCOUNT,
    CREATE,
    GET,
    LANE,
    PUT,
    SHOP,
    RefusedError,
    ThrottledError,
    UnavailableError,
    World,
)

LOST = ConnectionResetError("connection reset by peer")
BUSY = ThrottledError()
OUTAGE = UnavailableError("Service Unavailable")
SLOW = timedelta(minutes=10)


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_call_returns_what_was_answered() -> None:
    assert await World().call(subject="shop") == "answer to shop"


# What is about the cloud, and not about what was asked


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        pytest.param(LOST, Cause.UNREACHABLE, id="lost connection"),
        pytest.param(OUTAGE, Cause.UNREACHABLE, id="5xx"),
        pytest.param(SLOW, Cause.UNREACHABLE, id="no answer in time"),
        pytest.param(BUSY, Cause.THROTTLED, id="throttling"),
        pytest.param(RefusedError("no"), None, id="refusal"),
    ],
)
def test_error_says_whether_the_cloud_can_be_used(
    failure: Exception | timedelta, cause: Cause | None
) -> None:
    async def scenario() -> None:
        world = World(failure)
        with pytest.raises(PassError) as caught:
            await world.call(CREATE)
        assert caught.value.unavailable is cause

    run_virtual(scenario)


@virtual_time
async def test_long_line_is_no_outage_but_a_pause_for_throttling_is() -> None:
    world = World(ThrottledError(timedelta(minutes=10)), rate=LaneRate(0.01, 1))
    with pytest.raises(Wait) as throttled:
        await world.call(CREATE)
    with pytest.raises(Wait) as paused:
        await world.call(CREATE)
    assert (throttled.value.unavailable, paused.value.unavailable) == (Cause.THROTTLED, Cause.THROTTLED)
    busy = World(rate=LaneRate(0.01, 1))
    await busy.call(CREATE)
    with pytest.raises(Wait) as line:
        await busy.call(CREATE)
    assert (line.value.reason, line.value.unavailable) == ("BudgetExhausted", None)


@virtual_time
async def test_availability_follows_the_calls() -> None:
    world = World(*[OUTAGE] * 30, RefusedError("no"))
    for _ in range(10):
        with pytest.raises(PassError):
            await world.call(GET)
        await asyncio.sleep(30)
    name = "edgekeeper_cloud_available"
    assert world.sample(name, provider="aws", service="cloudfront") == 0
    while True:
        await asyncio.sleep(60)
        with pytest.raises(PassError) as caught:
            await world.call(GET)
        if isinstance(caught.value, Stall):
            break
    assert world.sample(name, provider="aws", service="cloudfront") == 1, "who refuses is there"


# Numbers and hooks


@virtual_time
async def test_call_is_numbered_and_shown_to_hooks_before_and_after() -> None:
    world = World()
    await world.call(CREATE, "shop")
    await world.call(GET, "blog")
    seen = [(when, one.number, one.target, one.operation, one.subject) for when, one in world.witness.seen]
    assert seen == [
        ("before", 1, "cloudfront", "CreateThing", "shop"),
        ("after", 1, "cloudfront", "CreateThing", "shop"),
        ("before", 2, "cloudfront", "GetThing", "blog"),
        ("after", 2, "cloudfront", "GetThing", "blog"),
    ]
    assert [one.mutating for _, one in world.witness.seen] == [True, True, False, False]


@virtual_time
async def test_call_attempts_have_numbers_of_their_own() -> None:
    world = World(LOST, OUTAGE, None)
    await world.call(GET)
    assert [one.number for when, one in world.witness.seen if when == "before"] == [1, 2, 3]


@virtual_time
async def test_hook_that_breaks_a_call_before_keeps_it_from_being_sent() -> None:
    world = World()
    world.witness.break_before[1] = LOST
    with pytest.raises(Retry, match="connection reset by peer"):
        await world.call(CREATE)
    assert world.provider.sent == []


@virtual_time
async def test_hook_that_breaks_a_call_after_loses_its_answer_and_not_its_effect() -> None:
    world = World()
    world.witness.break_after[1] = LOST
    with pytest.raises(Retry, match="no answer to CreateThing"):
        await world.call(CREATE, "shop")
    assert world.provider.effects == ["shop"]


@virtual_time
async def test_hook_may_raise_what_it_likes() -> None:
    class Surprise(Exception):  # noqa: N818
        pass

    world = World()
    world.witness.break_before[1] = Surprise()
    with pytest.raises(Surprise):
        await world.call(GET)


# Repeating


@pytest.mark.parametrize(
    "failure", [LOST, OUTAGE, TimeoutError(), BUSY], ids=lambda error: type(error).__name__
)
@pytest.mark.parametrize("operation", [GET, PUT], ids=["a read", "an idempotent write"])
def test_call_that_is_idempotent_is_repeated(failure: Exception, operation: Operation) -> None:
    @virtual_time
    async def scenario() -> None:
        world = World(failure, failure, None)
        assert await world.call(operation) == "answer to shop"
        assert len(world.provider.sent) == 3

    scenario()


@pytest.mark.parametrize(
    "failure",
    [LOST, OUTAGE, TimeoutError(), BUSY, SLOW],
    ids=["lost connection", "server error", "timeout", "throttled", "no answer"],
)
def test_call_that_is_not_idempotent_is_never_repeated(failure: Exception | timedelta) -> None:
    @virtual_time
    async def scenario() -> None:
        world = World(failure)
        with pytest.raises(PassError):
            await world.call(CREATE)
        await asyncio.sleep(600)
        assert len(world.provider.sent) == 1

    scenario()


@virtual_time
async def test_call_that_was_refused_is_not_repeated() -> None:
    world = World(RefusedError("the domain is taken"))
    with pytest.raises(Stall, match=r"^the domain is taken$") as caught:
        await world.call(GET)
    assert (caught.value.reason, caught.value.error_type) == ("InvalidSpec", "invalid_spec")
    assert len(world.provider.sent) == 1


@virtual_time
async def test_call_pauses_longer_from_attempt_to_attempt() -> None:
    world = World(*[LOST] * 4, None)
    await world.call(GET)
    times = world.provider.times
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == sorted(gaps)
    assert 0.1 <= gaps[0] <= 0.2
    assert gaps[-1] <= 1.6


@virtual_time
async def test_call_error_is_the_cause_of_what_leaves() -> None:
    world = World(OUTAGE)
    with pytest.raises(Retry, match=r"^Service Unavailable$") as caught:
        await world.call(CREATE)
    assert caught.value.__cause__ is OUTAGE
    assert caught.value.error_type == "retryable"


@pytest.mark.parametrize(
    "later",
    [
        pytest.param([ThrottledError(timedelta(minutes=5))], id="throttled"),
        pytest.param([BUSY, BUSY, ThrottledError(timedelta(minutes=5))], id="throttled again and again"),
    ],
)
def test_call_that_may_have_taken_effect_ends_as_one_although_later_attempts_did_not(
    later: list[Exception],
) -> None:
    @virtual_time
    async def scenario() -> None:
        world = World(LOST, *later)
        with pytest.raises(Retry, match="no answer to PutThing"):
            await world.call(PUT)
        assert len(world.provider.sent) == 1 + len(later)

    scenario()


@virtual_time
async def test_call_that_may_have_taken_effect_ends_as_one_although_there_is_no_turn_for_another_attempt() -> (
    None
):
    world = World(LOST, None, rate=LaneRate(1 / 60))
    with pytest.raises(Retry, match="no answer to PutThing: connection reset by peer"):
        await world.call(PUT)
    assert world.provider.sent == ["shop"]


@virtual_time
async def test_call_without_a_classifier_knows_lost_connections_only() -> None:
    async def send() -> None:
        raise LOST

    with pytest.raises(Retry, match="connection reset by peer") as caught:
        await World().transport.call(CREATE, "shop", send, credential=ACCOUNT)
    assert caught.value.error_type == "retryable"


@virtual_time
async def test_call_bug_of_the_sender_leaves_as_it_is() -> None:
    world = World(KeyError("Id"))
    with pytest.raises(KeyError, match="Id"):
        await world.call(GET)
    assert len(world.provider.sent) == 1


@virtual_time
async def test_call_sender_may_raise_one_of_the_four_errors_itself() -> None:
    error = Stall("Unreadable", "the answer has no id")
    with pytest.raises(Stall, match="no id") as caught:
        await World(error).call(GET)
    assert caught.value is error


# Deadlines


@virtual_time
async def test_deadline_ends_a_mutation_that_is_not_answered() -> None:
    world = World(SLOW)
    with pytest.raises(Retry, match="no answer to CreateThing"):
        await world.call(CREATE)
    assert now() == pytest.approx(30)


@virtual_time
async def test_deadline_leaves_time_for_another_attempt_where_one_is_allowed() -> None:
    world = World(SLOW, None)
    await world.call(GET)
    assert now() == pytest.approx(15, abs=1)


@virtual_time
async def test_deadline_covers_all_attempts_and_pauses() -> None:
    world = World(SLOW)
    with pytest.raises(Retry, match="no answer to GetThing"):
        await world.call(GET)
    assert 25 < now() <= 30
    assert len(world.provider.sent) >= 3


@virtual_time
async def test_deadline_that_a_turn_would_miss_ends_the_call_at_once() -> None:
    world = World(rate=LaneRate(1 / 30))
    await world.call(CREATE, "one")
    for expected, told, name in ((30, "30s", "two"), (60, "1m", "three"), (90, "1m30s", "four")):
        with pytest.raises(
            Wait, match=f"rate limit of test is reached: the call is expected to be sent in {told}$"
        ) as caught:
            await world.call(CREATE, name)
        assert caught.value.reason == "BudgetExhausted"
        assert caught.value.after == timedelta(seconds=expected)
    assert now() == 0
    assert world.provider.sent == ["one"]


@virtual_time
async def test_deadline_that_passes_while_others_are_let_in_ends_in_a_wait() -> None:
    world = World(rate=LaneRate(1 / 10))
    patient = replace(GET, deadline=timedelta(minutes=2))
    await world.call(GET, "first")
    with sweeping():
        late = asyncio.create_task(world.call(GET, "late"))
    await asyncio.sleep(5)
    users = [asyncio.create_task(world.call(patient, f"user {n}")) for n in range(2)]
    with pytest.raises(Wait, match="rate limit of test is reached"):
        await late
    await asyncio.gather(*users)
    assert "late" not in world.provider.sent


@virtual_time
async def test_deadline_leaves_time_to_send_what_had_to_wait_for_its_turn() -> None:
    world = World(rate=LaneRate(1 / 14))
    await world.call(CREATE, "first")
    await world.call(CREATE, "had to wait")
    with pytest.raises(Wait, match="rate limit of test is reached"):
        await asyncio.gather(world.call(CREATE, "in time"), world.call(CREATE, "late"))
    await asyncio.sleep(20)
    assert world.provider.effects == ["first", "had to wait", "in time"]


# Throttling


@virtual_time
async def test_throttling_pauses_the_lane_for_everybody_on_the_credential() -> None:
    world = World(ThrottledError(timedelta(seconds=10)), None)
    with pytest.raises(Wait, match=r"^Rate exceeded$"):
        await world.call(CREATE)
    await asyncio.gather(*(world.call(GET, f"other {n}") for n in range(3)))
    assert min(world.provider.times[1:]) >= 10


@virtual_time
async def test_throttling_does_not_concern_other_credentials_lanes_and_regions() -> None:
    world = World(ThrottledError(timedelta(minutes=5)), None)
    with pytest.raises(Wait):
        await world.call(CREATE)
    await world.call(GET, credential="aws:999988887777")
    await world.call(GET, region="eu-west-1")
    await world.call(replace(GET, lane="sts"))
    assert now() == 0


@virtual_time
async def test_throttling_longer_than_the_deadline_is_told_at_once_in_the_providers_words() -> None:
    world = World(ThrottledError(timedelta(minutes=5)))
    with pytest.raises(Wait, match=r"^Rate exceeded$") as caught:
        await world.call(GET)
    assert caught.value.error_type == "throttling"
    assert now() == 0


# Gates


@virtual_time
async def test_dry_run_sends_no_mutation() -> None:
    world = World(dry_run=True)
    for operation in (CREATE, PUT):
        with pytest.raises(KeptBack, match=f"kept back by dry run: {operation.name} shop") as caught:
            await world.call(operation, "shop")
        assert caught.value.reason == "DryRun"
    assert await world.call(GET, "shop") == "answer to shop"
    assert world.provider.sent == ["shop"]


@virtual_time
async def test_lost_leadership_sends_no_mutation() -> None:
    class LostError(Exception):
        pass

    def check() -> None:
        raise LostError

    world = World(leadership=check)
    for operation in (CREATE, PUT):
        with pytest.raises(LostError):
            await world.call(operation)
    await world.call(GET, "blog")
    assert world.provider.sent == ["blog"]


@virtual_time
async def test_leadership_lost_while_waiting_for_a_turn_sends_no_mutation() -> None:
    leading = True

    def check() -> None:
        if not leading:
            raise RuntimeError("not the leader")

    world = World(leadership=check, rate=LaneRate(1 / 10))
    await world.call(CREATE, "while leading")
    late = asyncio.create_task(world.call(CREATE, "too late"))
    await asyncio.sleep(5)
    leading = False
    with pytest.raises(RuntimeError, match="not the leader"):
        await late
    assert world.provider.sent == ["while leading"]


# Circuits


async def _suffer(world: World, **where: str) -> None:
    for _ in range(5):
        with pytest.raises(PassError):
            await world.call(CREATE, **where)


@virtual_time
async def test_circuit_opens_for_the_service_and_region_that_does_not_answer() -> None:
    world = World(*[OUTAGE] * 5, None)
    await _suffer(world, region="eu-west-1")
    with pytest.raises(Wait, match="aws cloudfront eu-west-1 did not respond to 5 calls") as caught:
        await world.call(CREATE, "refused", region="eu-west-1")
    assert caught.value.after == timedelta(seconds=10)
    await world.call(CREATE, "other region", region="us-east-1")
    await world.call(replace(CREATE, service="acm"), "other service", region="eu-west-1")
    await world.call(replace(CREATE, provider="cloudflare", service="cloudflare"), "other provider")
    assert world.provider.effects == ["other region", "other service", "other provider"]


@virtual_time
async def test_circuit_half_opens_and_closes_when_the_provider_is_back() -> None:
    world = World(*[OUTAGE] * 5, None)
    await _suffer(world)
    await asyncio.sleep(10)
    await world.call(GET, "the first")
    await asyncio.gather(*(world.call(GET, f"all {n}") for n in range(10)))
    assert len(world.provider.effects) == 11


@virtual_time
async def test_circuit_open_takes_nothing_from_the_budget() -> None:
    world = World(*[OUTAGE] * 5, None, rate=LaneRate(1 / 20, 6))
    await _suffer(world)
    for _ in range(20):
        with pytest.raises(Wait, match="did not respond"):
            await world.call(GET)
    await asyncio.sleep(10)
    await world.call(GET)
    assert now() == pytest.approx(10)


@virtual_time
async def test_circuit_that_a_call_opens_itself_ends_it_with_what_went_wrong() -> None:
    world = World(LOST)
    with pytest.raises(Retry, match="connection reset by peer"):
        await world.call(GET)
    assert len(world.provider.sent) == 5


@virtual_time
async def test_circuit_that_opens_meanwhile_stops_those_who_wait_for_their_turn() -> None:
    world = World(OUTAGE, rate=LaneRate(1))
    calls = [asyncio.create_task(world.call(replace(CREATE, deadline=SLOW), f"{n}")) for n in range(20)]
    await asyncio.wait(calls)
    reasons = [error.reason for task in calls if isinstance(error := task.exception(), PassError)]
    assert reasons.count("AWSError") == len(world.provider.sent) <= 7
    assert reasons.count("ProviderUnavailable") >= 13


@virtual_time
async def test_circuit_counts_a_cancelled_call_neither_way() -> None:
    world = World(*[OUTAGE] * 4, SLOW, None)
    for _ in range(4):
        with pytest.raises(PassError):
            await world.call(CREATE)
    cancelled = asyncio.create_task(world.call(CREATE))
    await asyncio.sleep(1)
    cancelled.cancel()
    await asyncio.wait({cancelled})
    assert await world.call(CREATE) == "answer to shop"


# Whose turn


@virtual_time
async def test_call_takes_its_namespace_and_priority_from_its_origin() -> None:
    world = World(rate=LaneRate(1))
    await world.call(GET, "first")
    calls = []
    with sweeping():
        calls += [asyncio.create_task(world.call(GET, f"sweep {n}")) for n in range(2)]
    with acting_for(SHOP):
        calls += [asyncio.create_task(world.call(GET, f"shop {n}")) for n in range(3)]
    with acting_for(replace(SHOP, namespace="team-b")):
        calls += [asyncio.create_task(world.call(GET, "blog"))]
    await asyncio.gather(*calls)
    assert world.provider.sent == ["first", "shop 0", "blog", "shop 1", "shop 2", "sweep 0", "sweep 1"]


@virtual_time
async def test_call_explicit_priority_and_actor_win() -> None:
    world = World(rate=LaneRate(1))
    await world.call(GET, "first")
    with sweeping():
        sweep = asyncio.create_task(world.call(GET, "sweep"))
        user = asyncio.create_task(world.call(GET, "user", priority=Priority.USER, actor=SHOP))
    await asyncio.gather(sweep, user)
    assert world.provider.sent == ["first", "user", "sweep"]


@virtual_time
async def test_call_cost_is_taken_from_its_lane() -> None:
    world = World(rate=LaneRate(10, 100))
    await world.call(PUT, cost=100)
    await world.call(PUT, cost=50)
    assert world.provider.times == pytest.approx([0, 5])


@virtual_time
async def test_call_cancelled_while_waiting_takes_nothing_from_the_budget() -> None:
    world = World(rate=LaneRate(1 / 10))
    await world.call(GET)
    waiting = asyncio.create_task(world.call(GET, "cancelled"))
    await asyncio.sleep(5)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert world.budget.expected_wait(ACCOUNT, LANE) == timedelta(seconds=5)
