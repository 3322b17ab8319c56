"""Whose turn it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.call_context import Priority
from edgekeeper.cloud.ratelimit.fair_queue import SWEEP_TURN, FairQueue

USER, SWEEP = Priority.USER, Priority.SWEEP


def queue_of(*items: tuple[str, Priority, str]) -> FairQueue[str]:
    queue: FairQueue[str] = FairQueue()
    for item, priority, namespace in items:
        queue.push(item, 1, priority, namespace)
    return queue


def drained(queue: FairQueue[str]) -> list[str]:
    order = []
    while queue:
        head, _ = queue.head()
        assert queue.pop() == head
        order.append(head)
    return order


def test_queue_serves_a_namespace_in_the_order_of_arrival() -> None:
    assert drained(queue_of(("1", USER, "a"), ("2", USER, "a"), ("3", USER, "a"))) == ["1", "2", "3"]


def test_queue_lets_namespaces_take_turns() -> None:
    queue = queue_of(*((f"a{n}", USER, "a") for n in range(1_000)), ("b", USER, "b"), ("c", USER, "c"))
    assert drained(queue)[:4] == ["a0", "b", "c", "a1"]


def test_queue_serves_users_before_sweeps() -> None:
    assert drained(queue_of(("sweep", SWEEP, ""), ("user", USER, "a"))) == ["user", "sweep"]


def test_queue_gives_sweeps_one_turn_in_ten() -> None:
    queue = queue_of(*((f"u{n}", USER, "a") for n in range(100)), *((f"s{n}", SWEEP, "") for n in range(3)))
    order = drained(queue)
    assert [order.index(f"s{n}") + 1 for n in range(3)] == [SWEEP_TURN, 2 * SWEEP_TURN, 3 * SWEEP_TURN]


def test_queue_forgets_removed_items_and_empty_namespaces() -> None:
    queue = queue_of(("1", USER, "a"), ("2", USER, "b"))
    queue.remove("1", USER, "a")
    queue.remove("never there", SWEEP, "z")
    assert drained(queue) == ["2"]


def test_queue_estimates_what_goes_before_a_newcomer() -> None:
    queue = queue_of(*((f"a{n}", USER, "a") for n in range(1_000)), ("b", USER, "b"))
    assert queue.ahead(USER, "a") == 1_001
    assert queue.ahead(USER, "b") == 1 + 2
    assert queue.ahead(USER, "c") == 2
    assert queue.ahead(SWEEP, "") == SWEEP_TURN - 1


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_queue_estimate_for_a_user_is_never_too_short(namespaces: list[str]) -> None:
    queue = queue_of(*((f"{n} {namespace}", USER, namespace) for n, namespace in enumerate(namespaces)))
    expected = queue.ahead(USER, "a")
    queue.push("newcomer", 1, USER, "a")
    assert drained(queue).index("newcomer") <= expected
