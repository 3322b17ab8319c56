"""What is left of a sequence that fails is what it takes to fail, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.operation import Operation, listing, op
from tests.chaos.shrinking import shrink


def numbered(length: int) -> list[Operation]:
    return [op("step", number=number) for number in range(length)]


def needing(*numbers: int) -> object:
    def fails(operations: Sequence[Operation]) -> bool:
        return set(numbers) <= {one.arguments.get("number") for one in operations}

    return fails


@given(st.integers(1, 60), st.sets(st.integers(0, 59), min_size=1, max_size=5))
def test_shrinking_leaves_exactly_what_is_needed(length: int, numbers: set[int]) -> None:
    needed = sorted(number % length for number in numbers)
    shortest = shrink(numbered(length), needing(*needed), most=10_000)  # type: ignore[arg-type]
    assert shortest == [op("step", number=number) for number in sorted(set(needed))]


def test_shrinking_keeps_the_order() -> None:
    def fails(operations: Sequence[Operation]) -> bool:
        numbers = [one.arguments["number"] for one in operations]
        return 3 in numbers and 7 in numbers[numbers.index(3) :]

    assert shrink(numbered(20), fails) == [op("step", number=3), op("step", number=7)]


def test_shrinking_shortens_pauses_as_far_as_it_still_fails() -> None:
    def fails(operations: Sequence[Operation]) -> bool:
        return sum(float(one.arguments.get("seconds", 0)) for one in operations) >= 20

    assert shrink([op("wait", seconds=417), op("wait", seconds=3.2)], fails) == [op("wait", seconds=30)]


def test_shrinking_ends_after_so_many_runs() -> None:
    runs = 0

    def fails(_: Sequence[Operation]) -> bool:
        nonlocal runs
        runs += 1
        return False  # nothing can be left out, so that every part is tried

    shrink(numbered(200), fails, most=50)
    assert runs == 50


def test_listing_is_what_python_reads_back() -> None:
    operations = [
        op("create", key="alpha", spec={"domains": [{"domain": "a.example.com"}]}),
        op("wait", seconds=0.5),
    ]
    assert eval(listing(operations), {"op": op}) == operations  # noqa: S307 - it is what people paste
