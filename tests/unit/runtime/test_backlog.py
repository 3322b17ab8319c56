"""The rules of the queue, checked against a model that is too simple to be wrong."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.backlog import COURTESY, Backlog, Priority

KEYS = [Key(namespace, name) for namespace in ("a", "b", "c") for name in ("1", "2", "3")]


@dataclass
class Wanted:
    """All that a model of one key needs: when it is wanted, how urgently, and since when it waits."""

    due: float
    priority: Priority


class BacklogModel(RuleBasedStateMachine):
    """Two dictionaries and a clock, beside the real thing."""

    @initialize()
    def start(self) -> None:
        self.backlog = Backlog()
        self.now = 0.0
        self.turns = 0
        self.wanted: dict[Key, Wanted] = {}
        self.held: set[Key] = set()

    @rule(
        key=st.sampled_from(KEYS), priority=st.sampled_from(Priority), after=st.sampled_from([0, 0, 1, 5, 30])
    )
    def add(self, key: Key, priority: Priority, after: float) -> None:
        self.backlog.add(key, priority, self.now + after, self.now)
        known = self.wanted.get(key)
        if known is None:
            self.wanted[key] = Wanted(self.now + after, priority)
        elif key in self.held or known.due > self.now or after == 0:
            known.due = min(known.due, self.now + after)
            known.priority = min(known.priority, priority)
        else:
            # It is ready already: a later wish is served by the sooner pass, though its urgency counts.
            known.priority = min(known.priority, priority)

    @rule(seconds=st.sampled_from([0.5, 1, 4, 29, 1000]))
    def let_time_pass(self, seconds: float) -> None:
        self.now += seconds
        self.backlog.advance(self.now)

    @rule()
    def take(self) -> None:
        ready = {
            key: wish for key, wish in self.wanted.items() if key not in self.held and wish.due <= self.now
        }
        taken = self.backlog.take(self.now)
        assert (taken is None) == (not ready), "something is handed out exactly if something is ready"
        if taken is None:
            return
        key, waited = taken
        self.turns += 1
        choose = max if self.turns % COURTESY == 0 else min
        assert key in ready, "nobody gets a key that another one holds, or that is not due"
        assert ready[key].priority == choose(wish.priority for wish in ready.values())
        assert waited >= 0
        self.held.add(key)
        del self.wanted[key]

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.backlog.release(key, self.now)
        self.held.remove(key)

    @invariant()
    def counts_agree(self) -> None:
        ready = [key for key, wish in self.wanted.items() if key not in self.held and wish.due <= self.now]
        assert len(self.backlog) == len(ready)
        assert self.backlog.held == len(self.held)

    @invariant()
    def alarm_rings_when_something_is_due_and_not_before(self) -> None:
        later = [
            wish.due for key, wish in self.wanted.items() if key not in self.held and wish.due > self.now
        ]
        assert self.backlog.next_due() == min(later, default=None)

    @invariant()
    def memory_is_bounded(self) -> None:
        assert self.backlog.size <= 6 * (len(self.wanted) + len(self.held)) + 70

    def teardown(self) -> None:
        """Everything that was ever wanted is handed out in the end, and then nothing is left."""
        if not hasattr(self, "backlog"):
            return
        for key in list(self.held):
            self.backlog.release(key, self.now)
        self.now += 1000
        handed_out = []
        while (taken := self.backlog.take(self.now)) is not None:
            handed_out.append(taken[0])
            self.backlog.release(taken[0], self.now)
        assert sorted(handed_out) == sorted(self.wanted)
        assert self.backlog.size == 0


BacklogModel.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestBacklogModel = BacklogModel.TestCase


def test_backlog_keeps_the_earliest_deadline() -> None:
    backlog = Backlog()
    for due in (30.0, 10.0, 20.0):
        backlog.add(KEYS[0], Priority.USER, due, 0.0)
    assert backlog.take(9.9) is None
    assert backlog.take(10.0) == (KEYS[0], 0.0)
    backlog.release(KEYS[0], 10.0)
    assert backlog.take(40.0) is None, "the later wishes were served by the sooner pass"


def test_backlog_keeps_the_best_priority() -> None:
    backlog = Backlog()
    first, second = KEYS[:2]
    backlog.add(first, Priority.START, 0.0, 0.0)
    backlog.add(second, Priority.RESYNC, 0.0, 0.0)
    backlog.add(first, Priority.USER, 0.0, 0.0)
    backlog.add(first, Priority.RESYNC, 0.0, 0.0)
    assert [backlog.take(1.0), backlog.take(1.0)] == [(first, 1.0), (second, 1.0)]


def test_backlog_gives_each_namespace_its_turn() -> None:
    backlog = Backlog()
    for number in range(1000):
        backlog.add(Key("noisy", str(number)), Priority.USER, 0.0, 0.0)
    for name in ("calm", "quiet"):
        backlog.add(Key(name, "one"), Priority.USER, 0.0, 0.0)
    taken = [backlog.take(1.0) for _ in range(3)]
    assert [entry[0].namespace for entry in taken if entry] == ["noisy", "calm", "quiet"]


def test_backlog_hands_out_a_namespace_in_order() -> None:
    backlog = Backlog()
    keys = [Key("default", str(number)) for number in range(COURTESY - 1)]
    for key in keys:
        backlog.add(key, Priority.USER, 0.0, 0.0)
    taken = [backlog.take(1.0) for _ in keys]
    assert [entry[0] for entry in taken if entry] == keys


def test_backlog_serves_the_worst_priority_under_a_flood_of_better_ones() -> None:
    backlog = Backlog()
    patient = Key("default", "patient")
    backlog.add(patient, Priority.START, 0.0, 0.0)
    for turn in range(COURTESY):
        urgent = Key("default", f"urgent-{turn}")
        backlog.add(urgent, Priority.USER, 0.0, 0.0)
        taken = backlog.take(0.0)
        assert taken is not None
        backlog.release(taken[0], 0.0)
    assert taken is not None
    assert taken[0] == patient


def test_backlog_of_a_busy_key_stays_small() -> None:
    backlog = Backlog()
    for second in range(10_000):
        backlog.add(KEYS[0], Priority.USER, second, second)
        assert backlog.take(second) is not None
        backlog.add(KEYS[0], Priority.RETRY, second + 300, second)
        backlog.release(KEYS[0], second)
    assert backlog.size < 150


def test_backlog_forgets_everything_but_what_is_held() -> None:
    backlog = Backlog()
    for key in KEYS:
        backlog.add(key, Priority.USER, 0.0, 0.0)
    taken = backlog.take(0.0)
    assert taken is not None
    backlog.add(taken[0], Priority.USER, 0.0, 0.0)
    backlog.clear()
    assert (len(backlog), backlog.held, backlog.size) == (0, 1, 1)
