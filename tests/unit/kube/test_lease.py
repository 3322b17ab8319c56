from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.errors import NotFoundError, StaleError
from edgekeeper.kube.kinds import LEASE, Key, Kind
from edgekeeper.kube.lease import Elector, LeaseOptions, LostLeadershipError
from edgekeeper.kube.lease_record import LeaseRecord, new_lease, with_spec
from kubesim.virtual import LoopClock, virtual_time
from tests.unit.kube.election import LEASE_KEY, electing
from tests.unit.kube.world import eventually

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class StubLeases:
    """One Lease as somebody left it, of a shape that no real server would have accepted."""

    def __init__(self, lease: JsonObject | None) -> None:
        self.lease = lease
        self.writes: list[JsonObject] = []

    async def get(self, kind: Kind, key: Key) -> JsonObject:
        if self.lease is None:
            raise NotFoundError(404, "NotFound", "no lease")
        return self.lease

    async def create(self, kind: Kind, obj: JsonObject, *, namespace: str = "") -> JsonObject:
        return self._store(obj)

    async def replace(self, kind: Kind, key: Key, obj: JsonObject) -> JsonObject:
        expected = dig(self.lease, "metadata", "resourceVersion")
        if dig(obj, "metadata", "resourceVersion") != expected:
            raise StaleError(409, "Conflict", "changed")
        return self._store(obj)

    def _store(self, tree: JsonObject) -> JsonObject:
        version = str(len(self.writes) + 100)
        self.lease = {**tree, "metadata": {**tree["metadata"], "resourceVersion": version}}
        self.writes.append(self.lease)
        return self.lease


async def elected_after(leases: StubLeases, rate: float = 1.0) -> float:
    """How long a lone candidate takes to lead where the Lease looks like this."""
    elector = Elector(leases, LoopClock(rate=rate), LEASE_KEY, "me")
    async with asyncio.TaskGroup() as group:
        group.create_task(elector.run())
        async with asyncio.timeout(200):
            await elector.wait_elected()
        elector.check()
        took = asyncio.get_running_loop().time()
        await elector.release()
    return took


# Acquiring


@virtual_time
async def test_elector_creates_a_missing_lease_and_leads_at_once() -> None:
    async with electing() as election:
        await election.leader("a")
        lease = await election.lease()
        assert lease["spec"] == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-01T00:00:00.020000Z",
            "renewTime": "2026-01-01T00:00:00.020000Z",
            "leaseTransitions": 0,
        }
        assert election.leaders() == ["a"]


@virtual_time
async def test_elector_renews_every_retry_period_with_one_call() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.sent.clear()
        acquired = (await election.lease())["spec"]["acquireTime"]
        await asyncio.sleep(60)
        assert set(a.link.sent) == {"PUT"}
        assert 28 <= len(a.link.sent) <= 30
        spec = (await election.lease())["spec"]
        assert spec["acquireTime"] == acquired
        assert spec["renewTime"] > "2026-01-01T00:00:57"
        assert spec["leaseTransitions"] == 0


@virtual_time
async def test_elector_never_takes_a_fresh_lease() -> None:
    async with electing() as election:
        a = await election.leader("a")
        others = [election.start(name) for name in ("b", "c", "d")]
        await asyncio.sleep(600)
        assert election.leaders() == ["a"]
        assert all(set(other.link.sent) == {"GET"} for other in others)
        assert a.changes == [True]


@virtual_time
async def test_elector_takes_a_silent_lease_a_full_duration_after_seeing_it() -> None:
    async with electing() as election:
        await election.occupy("gone", leaseDurationSeconds=15, leaseTransitions=4)
        await asyncio.sleep(1000)
        a = election.start("a")
        assert 15 <= await a.elected() < 15.5
        spec = (await election.lease())["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("a", 5)


@virtual_time
async def test_elector_honours_the_longer_term_of_another_holder() -> None:
    async with electing() as election:
        await election.occupy("gone", leaseDurationSeconds=60)
        a = election.start("a")
        assert 60 <= await a.elected() < 61


@virtual_time
async def test_elector_takes_a_released_lease_at_once() -> None:
    async with electing() as election:
        await election.occupy("", leaseDurationSeconds=1, leaseTransitions=2)
        a = await election.leader("a")
        assert asyncio.get_running_loop().time() < 0.1
        assert (await election.lease())["spec"]["leaseTransitions"] == 3
        assert a.changes == [True]


@virtual_time
async def test_lease_edited_beside_the_record_is_still_silent() -> None:
    async with electing() as election:
        await election.occupy("gone", leaseDurationSeconds=15)
        a = election.start("a")

        async def annotate() -> None:
            for count in range(10):
                await election.edit({"metadata": {"annotations": {"seen": str(count)}}})
                await asyncio.sleep(3)

        noise = asyncio.create_task(annotate())
        assert await a.elected() < 16
        await noise


@virtual_time
async def test_elector_keeps_what_others_put_into_the_lease() -> None:
    metadata = {"name": "operator", "resourceVersion": "1", "labels": {"team": "edge"}}
    leases = StubLeases({"metadata": metadata, "spec": {"strategy": "Oldest", "shoeSize": 43}, "more": 1})
    elector = Elector(leases, LoopClock(), LEASE_KEY, "me")
    async with asyncio.TaskGroup() as group:
        group.create_task(elector.run())
        await asyncio.sleep(10)
        await elector.release()
    assert len(leases.writes) == 6
    for lease in leases.writes:
        assert lease["metadata"]["labels"] == {"team": "edge"}
        assert (lease["spec"]["strategy"], lease["spec"]["shoeSize"], lease["more"]) == ("Oldest", 43, 1)


@virtual_time
async def test_of_many_candidates_one_leads() -> None:
    async with electing() as election:
        for number in range(10):
            election.start(f"candidate-{number}")
        await asyncio.sleep(30)
        assert len(election.leaders()) == 1
        assert sum(candidate.changes == [True] for candidate in election.candidates) == 1


@virtual_time
async def test_restarted_process_of_the_same_name_waits_for_its_former_self() -> None:
    async with electing() as election:
        first = await election.leader("same")
        second = election.start("same")
        await asyncio.sleep(60)
        assert first.passes()
        assert not second.passes()
        await first.kill()
        await second.elected()
        assert second.passes()


@virtual_time
async def test_refused_takeover_of_a_lease_with_our_name_does_not_make_it_ours() -> None:
    class AliveAfterAll(StubLeases):
        """The holder renews at the very moment at which it is to be replaced."""

        async def replace(self, kind: Kind, key: Key, obj: JsonObject) -> JsonObject:
            if self.lease is not None and "renewTime" not in self.lease["spec"]:
                renewed = {**self.lease["spec"], "renewTime": "2026-01-01T00:00:15.000000Z"}
                self.lease = {"metadata": {**self.lease["metadata"], "resourceVersion": "2"}, "spec": renewed}
                raise StaleError(409, "Conflict", "changed")
            return await super().replace(kind, key, obj)

    metadata = {"name": "operator", "resourceVersion": "1"}
    leases = AliveAfterAll({"metadata": metadata, "spec": {"holderIdentity": "me"}})
    assert 30 <= await elected_after(leases) < 40


# Odd Leases

ODD_SPECS = {
    "absent": None,
    "empty": {},
    "of_another_type": "leader",
    "a_list": ["a"],
    "holder_of_another_type": {"holderIdentity": 7},
    "null_everywhere": dict.fromkeys(("holderIdentity", "leaseDurationSeconds", "renewTime")),
}
TAKEN_SPECS: dict[str, JsonObject] = {
    "negative_duration": {"leaseDurationSeconds": -5},
    "zero_duration": {"leaseDurationSeconds": 0},
    "endless_duration": {"leaseDurationSeconds": 2**40},
    "duration_as_text": {"leaseDurationSeconds": "15"},
    "true_duration": {"leaseDurationSeconds": True},
    "renewed_in_the_future": {"renewTime": "2099-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15},
    "renewed_long_ago": {"renewTime": "1970-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15},
    "times_that_are_none": {"renewTime": "soon", "acquireTime": ["x"], "leaseDurationSeconds": 15},
    "negative_transitions": {"leaseTransitions": -1},
    "most_transitions": {"leaseTransitions": 2**31 - 1},
    "foreign_fields": {"preferredHolder": "me", "shoeSize": {"left": 43}},
}


@pytest.mark.parametrize("spec", ODD_SPECS.values(), ids=ODD_SPECS.keys())
@virtual_time
async def test_lease_without_a_holder_is_free_whatever_it_looks_like(spec: Any) -> None:
    lease = {"metadata": {"name": "operator", "resourceVersion": "1"}, "spec": spec}
    assert await elected_after(StubLeases(lease)) < 1


@pytest.mark.parametrize("spec", TAKEN_SPECS.values(), ids=TAKEN_SPECS.keys())
@virtual_time
async def test_lease_with_a_holder_is_taken_for_one_duration_whatever_else_it_says(spec: JsonObject) -> None:
    lease = {
        "metadata": {"name": "operator", "resourceVersion": "1"},
        "spec": {"holderIdentity": "other", **spec},
    }
    assert 15 <= await elected_after(StubLeases(lease)) < 16


@virtual_time
async def test_lease_without_a_version_is_never_written() -> None:
    leases = StubLeases({"metadata": {"name": "operator"}, "spec": {}})
    elector = Elector(leases, LoopClock(), LEASE_KEY, "me")
    async with asyncio.TaskGroup() as group:
        group.create_task(elector.run())
        await asyncio.sleep(100)
        await elector.release()
    assert leases.writes == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions")


@given(st.dictionaries(st.sampled_from(FIELDS), json_values) | json_values)
def test_record_of_any_tree_is_plausible_and_can_be_written(spec: Any) -> None:
    lease = {"metadata": {"resourceVersion": "1"}, "spec": spec}
    record = LeaseRecord.of(lease)
    assert timedelta(0) <= record.duration <= timedelta(hours=1)
    written = record.handed_to("me", 15 * SECOND, NOW)
    assert 0 <= written["leaseTransitions"] < 2**31
    assert LeaseRecord.of(with_spec(lease, written)).holder == "me"


def test_record_rounds_its_duration_up_to_what_others_can_read() -> None:
    spec = new_lease(LEASE_KEY, "me", timedelta(seconds=2.2), NOW)["spec"]
    assert spec["leaseDurationSeconds"] == 3
    assert new_lease(LEASE_KEY, "me", SECOND / 10, NOW)["spec"]["leaseDurationSeconds"] == 1


def test_record_says_goodbye_without_counting_it_as_a_transition() -> None:
    lease = new_lease(LEASE_KEY, "me", 15 * SECOND, NOW)
    goodbye = LeaseRecord.of(lease).handed_to("", SECOND, NOW + SECOND)
    assert goodbye["holderIdentity"] == ""
    assert goodbye["leaseTransitions"] == 0
    assert goodbye["renewTime"] == "2026-03-01T12:00:01.123456Z"


# Checking, losing, releasing


def test_check_refuses_before_the_election() -> None:
    elector = Elector(StubLeases(None), LoopClockStub(), LEASE_KEY, "me")
    assert not elector.is_leader
    with pytest.raises(LostLeadershipError, match="cannot act as leader of default/operator: standby"):
        elector.check()


class LoopClockStub:
    """A clock that stands still."""

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


@virtual_time
async def test_check_refuses_from_the_end_of_the_term_on() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.is_up = False
        await asyncio.sleep(6.9)
        a.elector.check()
        await asyncio.sleep(0.2)
        with pytest.raises(LostLeadershipError, match=r"last renewed 7\.1 s ago"):
            a.elector.check()


@virtual_time
async def test_leadership_is_lost_for_good_at_the_renew_deadline() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.is_up = False
        await asyncio.sleep(9.9)
        assert a.changes == [True]
        await asyncio.sleep(0.5)
        assert a.changes == [True, False]
        assert isinstance(a.exit, LostLeadershipError)
        a.link.is_up = True
        await asyncio.sleep(60)
        assert not a.passes()
        with pytest.raises(LostLeadershipError):
            await a.elector.wait_elected()


@virtual_time
async def test_late_renewal_before_the_deadline_restores_the_term() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.is_up = False
        await asyncio.sleep(7.5)
        assert not a.passes()
        a.link.is_up = True
        await asyncio.sleep(1)
        assert a.passes()
        assert a.changes == [True]


@virtual_time
async def test_hung_request_does_not_outlive_the_deadline() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.hangs = True
        await asyncio.sleep(10.5)
        assert isinstance(a.exit, LostLeadershipError)


@virtual_time
async def test_one_hung_request_does_not_interrupt_the_work() -> None:
    async with electing() as election:
        a = await election.leader("a")
        for _ in range(5):
            await asyncio.sleep(10)
            a.link.sent.clear()
            a.link.hangs = True
            await eventually(lambda: bool(a.link.sent), 3)
            a.link.hangs = False
        await asyncio.sleep(10)
        pauses = [later - sooner for sooner, later in pairwise(a.calls)]
        assert max(pauses) < 0.5


@virtual_time
async def test_term_begins_when_a_renewal_is_sent_and_not_when_it_is_answered() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.latency = 1.5
        renewals = len(a.link.sent)
        await eventually(lambda: len(a.link.sent) > renewals, 3)
        await asyncio.sleep(3.5)
        a.link.is_up = False
        await asyncio.sleep(3.2)
        a.elector.check()
        await asyncio.sleep(0.4)
        with pytest.raises(LostLeadershipError):
            a.elector.check()


@virtual_time
async def test_acquisition_that_is_answered_after_its_term_counts_for_nothing() -> None:
    class Slow(StubLeases):
        async def create(self, kind: Kind, obj: JsonObject, *, namespace: str = "") -> JsonObject:
            created = await super().create(kind, obj)
            await asyncio.sleep(3.7)
            return created

    assert 3.8 <= await elected_after(Slow(None), rate=2.0) < 5


@virtual_time
async def test_candidate_whose_requests_take_too_long_waits_for_better_times() -> None:
    async with electing() as election:
        a = election.start("a")
        a.link.latency = 3.0
        await asyncio.sleep(120)
        assert a.changes == []
        a.link.latency = 0.5
        await asyncio.sleep(30)
        assert a.passes()


@virtual_time
async def test_any_exception_is_a_failed_attempt_and_no_more() -> None:
    class Broken(StubLeases):
        is_broken = True

        async def get(self, kind: Kind, key: Key) -> JsonObject:
            if self.is_broken:
                raise ZeroDivisionError("a mistake of ours")
            return await super().get(kind, key)

    leases = Broken(None)
    elector = Elector(leases, LoopClock(), LEASE_KEY, "me")
    async with asyncio.TaskGroup() as group:
        group.create_task(elector.run())
        await asyncio.sleep(60)
        leases.is_broken = False
        await asyncio.sleep(4)
        elector.check()
        await elector.release()


@virtual_time
async def test_lost_answer_of_the_acquisition_is_noticed_by_reading() -> None:
    async with electing() as election:
        a = election.add("a")
        a.link.loses_answers = True
        a.start()
        await asyncio.sleep(1)
        assert not a.passes()
        a.link.loses_answers = False
        await asyncio.sleep(4)
        assert a.passes()
        assert (await election.lease())["spec"]["leaseTransitions"] == 0


@virtual_time
async def test_stolen_lease_is_lost_at_the_next_renewal() -> None:
    async with electing() as election:
        a = await election.leader("a")
        await election.edit({"spec": {"holderIdentity": "thief"}})
        await asyncio.sleep(2.1)
        assert isinstance(a.exit, LostLeadershipError)
        assert (await election.lease())["spec"]["holderIdentity"] == "thief"


@virtual_time
async def test_emptied_lease_is_lost_and_not_taken_back() -> None:
    async with electing() as election:
        a = await election.leader("a")
        await election.edit({"spec": {"holderIdentity": ""}})
        await asyncio.sleep(10)
        assert isinstance(a.exit, LostLeadershipError)
        assert (await election.lease())["spec"]["holderIdentity"] == ""


@virtual_time
async def test_deleted_lease_is_made_again_by_its_leader_alone() -> None:
    async with electing() as election:
        a = await election.leader("a")
        others = [election.start(name) for name in ("b", "c")]
        await asyncio.sleep(5)
        for _ in range(20):
            await election.plane.client.delete(LEASE.path(LEASE_KEY))
            await asyncio.sleep(4.7)
        assert a.passes()
        assert [other.changes for other in others] == [[], []]


@virtual_time
async def test_deleted_lease_of_a_dead_leader_is_taken_after_its_term() -> None:
    async with electing() as election:
        a = await election.leader("a")
        b = election.start("b")
        await asyncio.sleep(5)
        await a.kill()
        await election.plane.client.delete(LEASE.path(LEASE_KEY))
        assert 10 <= await b.elected() < 20


@virtual_time
async def test_release_hands_over_within_seconds() -> None:
    async with electing() as election:
        a = await election.leader("a")
        b = election.start("b")
        await asyncio.sleep(5)
        await a.elector.release()
        assert not a.passes()
        assert await b.elected() < 3.5
        assert a.exit is None
        assert a.changes == [True, False]
        assert (await election.lease())["spec"]["leaseTransitions"] == 1


@virtual_time
async def test_release_leaves_the_lease_of_another_alone() -> None:
    async with electing() as election:
        a = await election.leader("a")
        await election.edit({"spec": {"holderIdentity": "thief"}})
        await a.elector.release()
        assert (await election.lease())["spec"]["holderIdentity"] == "thief"


@virtual_time
async def test_release_of_a_lost_leadership_still_frees_the_lease() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.is_up = False
        await asyncio.sleep(11)
        a.link.is_up = True
        await a.elector.release()
        assert (await election.lease())["spec"]["holderIdentity"] == ""
        with pytest.raises(LostLeadershipError, match="lost"):
            a.elector.check()


@virtual_time
async def test_release_gives_up_in_time_when_the_server_is_away() -> None:
    async with electing() as election:
        a = await election.leader("a")
        a.link.hangs = True
        began = asyncio.get_running_loop().time()
        await a.elector.release()
        assert asyncio.get_running_loop().time() - began <= 5


@virtual_time
async def test_release_tries_again_where_the_lease_has_just_been_edited() -> None:
    class Edited(StubLeases):
        edits = 1

        async def replace(self, kind: Kind, key: Key, obj: JsonObject) -> JsonObject:
            if not obj["spec"]["holderIdentity"] and self.edits:
                self.edits -= 1
                raise StaleError(409, "Conflict", "somebody has set a label")
            return await super().replace(kind, key, obj)

    leases = Edited(None)
    await elected_after(leases)
    assert leases.writes[-1]["spec"]["holderIdentity"] == ""


@virtual_time
async def test_release_before_the_election_ends_the_wait() -> None:
    async with electing() as election:
        await election.leader("a")
        b = election.start("b")
        await asyncio.sleep(1)
        waiting = asyncio.create_task(b.elector.wait_elected())
        await asyncio.sleep(1)
        await b.elector.release()
        with pytest.raises(LostLeadershipError, match="released"):
            await waiting
        assert (await election.lease())["spec"]["holderIdentity"] == "a"
        assert "PUT" not in b.link.sent


@virtual_time
async def test_release_while_acquiring_does_not_leave_the_lease_held() -> None:
    async with electing() as election:
        a = election.start("a")
        a.link.latency = 0.5
        await asyncio.sleep(1.7)
        await a.elector.release()
        assert (await election.lease())["spec"]["holderIdentity"] == ""
        assert a.changes == []


@virtual_time
async def test_release_while_reading_ends_the_attempt_without_a_write() -> None:
    async with electing() as election:
        a = election.start("a")
        a.link.latency = 0.5
        await asyncio.sleep(0.7)
        await a.elector.release()
        await asyncio.sleep(10)
        assert a.link.sent == ["GET"]


# Options and identities


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retry_period": timedelta(0)}, "retry period must be positive"),
        ({"retry_period": 8 * SECOND}, "renew deadline must be longer than"),
        ({"duration": 10 * SECOND}, "lease duration must be longer than the renew deadline"),
    ],
    ids=["no_pause", "no_second_attempt", "no_gap"],
)
def test_options_that_cannot_be_safe_are_refused(options: dict[str, timedelta], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeaseOptions(**options)


def test_default_term_is_less_than_half_of_what_others_wait() -> None:
    options = LeaseOptions()
    assert options.term == 7 * SECOND
    assert 2 * options.term < options.duration
