"""Places that are kept for those who come back."""

from __future__ import annotations

from edgekeeper.cloud.ratelimit.reservations import Bookings


def booked(*places: tuple[str, str]) -> Bookings:
    bookings = Bookings()
    for namespace, caller in places:
        bookings.book(namespace, caller, until=100)
    return bookings


def test_bookings_count_those_who_came_before() -> None:
    bookings = booked(("a", "one"), ("a", "two"), ("a", "three"))
    assert [bookings.ahead("a", who, 0) for who in ("one", "two", "three", "newcomer")] == [0, 1, 2, 3]


def test_bookings_keep_the_place_of_a_caller_who_books_again() -> None:
    bookings = booked(("a", "one"), ("a", "two"), ("a", "one"))
    assert bookings.ahead("a", "one", 0) == 0


def test_bookings_of_another_namespace_count_no_more_than_take_turns() -> None:
    bookings = booked(*(("a", f"caller {n}") for n in range(1_000)))
    assert bookings.ahead("b", "newcomer", 0) == 1


def test_bookings_there_is_always_somebody_whose_turn_it_is() -> None:
    bookings = booked(("a", "one"), ("a", "two"), ("b", "three"), ("c", "four"))
    callers = [("a", "one"), ("a", "two"), ("b", "three"), ("c", "four")]
    order = []
    while callers:
        next_one = min(callers, key=lambda one: bookings.ahead(one[0], one[1], 0))
        assert bookings.ahead(*next_one, 0) == 0
        order.append(next_one[1])
        bookings.redeem(*next_one)
        callers.remove(next_one)
    assert order == ["one", "three", "four", "two"]


def test_bookings_are_redeemed_once() -> None:
    bookings = booked(("a", "one"), ("a", "two"))
    bookings.redeem("a", "one")
    bookings.redeem("a", "one")
    bookings.redeem("b", "nobody")
    assert bookings.ahead("a", "two", 0) == 0


def test_bookings_that_nobody_comes_back_for_are_given_up() -> None:
    bookings = booked(("a", "gone"))
    bookings.book("a", "patient", until=200)
    assert bookings.ahead("a", "newcomer", 99) == 2
    assert bookings.ahead("a", "newcomer", 100) == 1
    assert bookings.ahead("a", "patient", 100) == 0
    assert bookings.ahead("a", "newcomer", 200) == 0
