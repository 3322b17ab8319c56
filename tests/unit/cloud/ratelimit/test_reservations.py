"""Places that are kept for those who come back."""

from __future__ import annotations

from edgekeeper.cloud.ratelimit.reservations import Reservations


def booked(*places: tuple[str, str]) -> Reservations:
    reservations = Reservations()
    for namespace, caller in places:
        reservations.book(namespace, caller, until=100)
    return reservations


def test_bookings_count_those_who_came_before() -> None:
    reservations = booked(("a", "one"), ("a", "two"), ("a", "three"))
    assert [reservations.ahead("a", who, 0) for who in ("one", "two", "three", "newcomer")] == [0, 1, 2, 3]


def test_bookings_keep_the_place_of_a_caller_who_books_again() -> None:
    reservations = booked(("a", "one"), ("a", "two"), ("a", "one"))
    assert reservations.ahead("a", "one", 0) == 0


def test_bookings_of_another_namespace_count_no_more_than_take_turns() -> None:
    reservations = booked(*(("a", f"caller {n}") for n in range(1_000)))
    assert reservations.ahead("b", "newcomer", 0) == 1


def test_bookings_there_is_always_somebody_whose_turn_it_is() -> None:
    reservations = booked(("a", "one"), ("a", "two"), ("b", "three"), ("c", "four"))
    callers = [("a", "one"), ("a", "two"), ("b", "three"), ("c", "four")]
    order = []
    while callers:
        next_one = min(callers, key=lambda one: reservations.ahead(one[0], one[1], 0))
        assert reservations.ahead(*next_one, 0) == 0
        order.append(next_one[1])
        reservations.redeem(*next_one)
        callers.remove(next_one)
    assert order == ["one", "three", "four", "two"]


def test_bookings_are_redeemed_once() -> None:
    reservations = booked(("a", "one"), ("a", "two"))
    reservations.redeem("a", "one")
    reservations.redeem("a", "one")
    reservations.redeem("b", "nobody")
    assert reservations.ahead("a", "two", 0) == 0


def test_bookings_that_nobody_comes_back_for_are_given_up() -> None:
    reservations = booked(("a", "gone"))
    reservations.book("a", "patient", until=200)
    assert reservations.ahead("a", "newcomer", 99) == 2
    assert reservations.ahead("a", "newcomer", 100) == 1
    assert reservations.ahead("a", "patient", 100) == 0
    assert reservations.ahead("a", "newcomer", 200) == 0
