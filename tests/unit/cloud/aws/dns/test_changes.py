"""Wishes: what never was ours is never overwritten, what is not ours any more is never deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.aws.dns.changes import (
    LARGEST_BATCH,
    MOST_CHARACTERS,
    MOST_ELEMENTS,
    Absent,
    Action,
    Change,
    Present,
    TakenError,
    Wish,
    build_batch,
    plan,
    tokens,
)
from edgekeeper.cloud.aws.dns.records import AliasTarget, Record, RecordKey

WANTED = Record("shop.example.com", "CNAME", 300, ("d111111abcdef8.cloudfront.net",))
OLDER = replace(WANTED, values=("d222222abcdef8.cloudfront.net",))
SPELLED_OTHERWISE = replace(WANTED, values=("D111111abcdef8.cloudfront.net.",))
OTHER_TTL = replace(SPELLED_OTHERWISE, ttl=60)
FOREIGN = replace(WANTED, values=("elsewhere.example.net",))
WEIGHTED = replace(WANTED, is_plain=False)


def _zone(*records: Record) -> Mapping[RecordKey, Record]:
    return {record.key: record for record in records}


@pytest.mark.parametrize(
    ("wish", "zone", "change"),
    [
        pytest.param(Present(WANTED), _zone(), Change(Action.CREATE, WANTED), id="new: created"),
        pytest.param(Present(WANTED), _zone(SPELLED_OTHERWISE), None, id="new, and there as wished: nothing"),
        pytest.param(Present(WANTED), None, Change(Action.CREATE, WANTED), id="new, zone unknown: created"),
        pytest.param(Present(WANTED, WANTED), _zone(WANTED), None, id="ours, as wished: nothing"),
        pytest.param(
            Present(WANTED, OLDER), _zone(OLDER), Change(Action.UPSERT, WANTED), id="ours, changed: upserted"
        ),
        pytest.param(
            Present(WANTED, WANTED), _zone(OTHER_TTL), Change(Action.UPSERT, WANTED), id="ours, ttl: upserted"
        ),
        pytest.param(
            Present(WANTED, WANTED),
            _zone(FOREIGN),
            Change(Action.UPSERT, WANTED),
            id="ours, drifted: upserted",
        ),
        pytest.param(
            Present(WANTED, WANTED),
            _zone(),
            Change(Action.CREATE, WANTED),
            id="ours, taken away: created again",
        ),
        pytest.param(
            Present(WANTED, OLDER), None, Change(Action.UPSERT, WANTED), id="ours, zone unknown: upserted"
        ),
        pytest.param(
            Absent(WANTED),
            _zone(SPELLED_OTHERWISE),
            Change(Action.DELETE, SPELLED_OTHERWISE),
            id="unwished: deleted as it is spelled there",
        ),
        pytest.param(Absent(WANTED), _zone(OTHER_TTL), None, id="unwished, changed since: nothing"),
        pytest.param(Absent(WANTED), _zone(), None, id="unwished and gone: nothing"),
        pytest.param(Absent(WANTED), _zone(FOREIGN), None, id="unwished, somebody else's by now: nothing"),
        pytest.param(Absent(WANTED), _zone(WEIGHTED), None, id="unwished, with a policy by now: nothing"),
        pytest.param(
            Absent(WANTED), None, Change(Action.DELETE, WANTED), id="unwished, zone unknown: as we wrote it"
        ),
    ],
)
def test_wish_takes_what_the_zone_leaves_to_do(
    wish: Wish, zone: Mapping[RecordKey, Record] | None, change: Change | None
) -> None:
    assert plan(wish, zone) == change


@pytest.mark.parametrize(
    "found", [FOREIGN, OLDER, OTHER_TTL, WEIGHTED], ids=["foreign", "older", "ttl", "weighted"]
)
def test_record_that_was_never_ours_is_never_overwritten(found: Record) -> None:
    with pytest.raises(TakenError, match="was not created by this object") as taken:
        plan(Present(WANTED), _zone(found))
    assert taken.value.existing == found


def test_record_that_got_a_routing_policy_is_not_overwritten() -> None:
    with pytest.raises(TakenError):
        plan(Present(WANTED, WANTED), _zone(WEIGHTED))


VALUES = st.lists(st.text(alphabet="a.", min_size=1, max_size=300), min_size=1, max_size=5)
CHANGES = st.builds(
    lambda action, values, number: Change(
        action, Record(f"n{number}.example.com", "TXT", 300, tuple(values))
    ),
    st.sampled_from(Action),
    VALUES,
    st.integers(0, 9999),
)


@given(st.lists(CHANGES, max_size=60))
def test_batch_that_is_not_too_heavy_keeps_both_limits(changes: list[Change]) -> None:
    batch: list[Change] = []
    for change in changes:
        if sum(one.weight for one in (*batch, change)) <= LARGEST_BATCH:
            batch.append(change)
    elements = sum(one.tokens * len(one.record.values) for one in batch)
    characters = sum(one.tokens * sum(map(len, one.record.values)) for one in batch)
    assert elements <= MOST_ELEMENTS
    assert characters <= MOST_CHARACTERS


@pytest.mark.parametrize(
    ("action", "fit"), [(Action.CREATE, 1000), (Action.DELETE, 1000), (Action.UPSERT, 500)]
)
def test_batch_holds_as_many_tenants_as_route53_takes(action: Action, fit: int) -> None:
    assert LARGEST_BATCH // Change(action, WANTED).weight == fit


def test_alias_weighs_as_much_as_one_element() -> None:
    alias = Record("example.com", "A", alias=AliasTarget("Z2", "d1.cloudfront.net"))
    assert Change(Action.CREATE, alias).weight == Change(Action.CREATE, WANTED).weight


def test_upsert_costs_twice() -> None:
    assert tokens([Change(action, WANTED) for action in Action]) == 4


def test_batch_deletes_before_it_creates() -> None:
    alias = Record(WANTED.name, "A", alias=AliasTarget("Z2", "d1.cloudfront.net"))
    batch = build_batch([Change(Action.CREATE, alias), Change(Action.DELETE, WANTED)], "why")
    assert batch["Comment"] == "why"
    assert [change["Action"] for change in batch["Changes"]] == ["DELETE", "CREATE"]
