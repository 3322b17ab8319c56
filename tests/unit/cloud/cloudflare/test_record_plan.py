"""What is done about the records of a name: as little as possible, and nothing to those of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.cloudflare.models import DnsRecord
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, RecordPlan, WantedRecord, plan_change
from edgekeeper.core.errors import Stall

NAME = "a.example.com"
MARK = "cfzt:v1 o=0123456789ab"
TUNNEL = WantedRecord("CNAME", "t.cfargotunnel.com", proxied=True)


def _record(
    id_: str, kind: str, content: str, *, comment: str | None = MARK, proxied: bool = True
) -> DnsRecord:
    return DnsRecord(id_, NAME, kind, content, 1 if proxied else 120, proxied, comment)


def _change(*wanted: WantedRecord, adopt: bool = False) -> RecordChange:
    return RecordChange(NAME, MARK, wanted, adopt=adopt)


OURS = _record("1", "CNAME", "t.cfargotunnel.com")


def test_plan_creates_what_is_not_there() -> None:
    plan = plan_change(_change(TUNNEL), [])
    (post,) = plan.posts
    assert post == {
        "name": NAME,
        "type": "CNAME",
        "content": "t.cfargotunnel.com",
        "proxied": True,
        "ttl": 1,
        "comment": MARK,
    }
    assert plan.size == 1
    assert not plan.touches_existing


def test_plan_does_nothing_where_all_is_as_wanted() -> None:
    assert plan_change(_change(TUNNEL), [OURS]) == RecordPlan(kept=(OURS,))


def test_plan_changes_a_record_in_place() -> None:
    moved = _record("1", "CNAME", "old.cfargotunnel.com")
    ((record, fields),) = plan_change(_change(TUNNEL), [moved]).patches
    assert record is moved
    assert fields["content"] == "t.cfargotunnel.com"


def test_plan_replaces_a_record_of_another_type_in_one_go() -> None:
    """Types cannot be changed, and A and CNAME cannot stand beside each other."""
    plan = plan_change(_change(TUNNEL), [_record("1", "A", "192.0.2.1", proxied=False)])
    assert [record.id for record in plan.deletes] == ["1"]
    assert len(plan.posts) == 1


def test_plan_removes_what_is_too_much() -> None:
    first, second = _record("1", "A", "192.0.2.1"), _record("2", "A", "192.0.2.2")
    plan = plan_change(_change(WantedRecord("A", "192.0.2.2", proxied=True)), [first, second])
    assert plan.kept == (second,)
    assert plan.deletes == (first,)


@pytest.mark.parametrize("kind", ["A", "AAAA", "CNAME"])
def test_plan_refuses_where_a_record_of_others_is_in_the_way(kind: str) -> None:
    content = {"A": "192.0.2.9", "AAAA": "2001:db8::9", "CNAME": "other.example.net"}[kind]
    for comment in (None, "", "somebody", "cfzt:v1 o=other0000000"):
        theirs = _record("1", kind, content, comment=comment)
        with pytest.raises(Stall) as caught:
            plan_change(_change(TUNNEL), [theirs])
        assert caught.value.reason == "RecordConflict"
        assert content in caught.value.message


def test_plan_marks_a_foreign_record_that_is_as_wanted_only_if_it_may_adopt() -> None:
    theirs = _record("1", "CNAME", "t.cfargotunnel.com", comment=None)
    assert plan_change(_change(TUNNEL), [theirs]) == RecordPlan(kept=(theirs,))
    ((record, fields),) = plan_change(_change(TUNNEL, adopt=True), [theirs]).patches
    assert record is theirs
    assert fields["comment"] == MARK


def test_plan_takes_over_what_it_may_adopt() -> None:
    theirs = _record("1", "CNAME", "other.example.net", comment=None)
    assert plan_change(_change(TUNNEL, adopt=True), [theirs]).patches[0][0] is theirs


def test_plan_leaves_records_of_other_types_alone() -> None:
    text = _record("1", "TXT", "v=spf1", comment=None)
    assert plan_change(_change(TUNNEL), [text]).size == 1
    assert plan_change(_change(), [text]).size == 0


def test_withdrawal_deletes_ours_and_only_ours() -> None:
    theirs = _record("2", "A", "192.0.2.9", comment=None)
    assert plan_change(_change(), [OURS, theirs]).deletes == (OURS,)


def test_withdrawal_does_not_delete_what_somebody_has_changed() -> None:
    change = RecordChange(NAME, MARK, written=frozenset({("CNAME", "old.cfargotunnel.com")}))
    with pytest.raises(Stall) as caught:
        plan_change(change, [OURS])
    assert "t.cfargotunnel.com" in caught.value.message


@pytest.mark.parametrize("comment", [f"{MARK}0", f"{MARK}: more", f" {MARK}", MARK.upper()])
def test_mark_of_others_that_looks_like_ours_is_not_ours(comment: str) -> None:
    assert plan_change(_change(), [_record("1", "A", "192.0.2.1", comment=comment)]).size == 0


@pytest.mark.parametrize(
    ("mark", "comment"), [("", ""), ("x" * 101, ""), (MARK, "another"), (MARK, f"{MARK}0")]
)
def test_change_that_would_not_be_known_as_ours_again_is_a_mistake(mark: str, comment: str) -> None:
    with pytest.raises(ValueError, match="mark"):
        RecordChange(NAME, mark, (TUNNEL,), comment=comment)


def test_comment_fits_every_plan_of_cloudflare() -> None:
    change = RecordChange(NAME, MARK, (TUNNEL,), comment=f"{MARK} {'x' * 300}")
    assert len(plan_change(change, []).posts[0]["comment"]) == 100


@pytest.mark.parametrize(
    ("kind", "written", "stored"),
    [
        ("AAAA", "2001:DB8:0::1", "2001:db8::1"),
        ("CNAME", "Target.Example.NET.", "target.example.net"),
        ("A", "192.0.2.1", "192.0.2.1"),
    ],
)
def test_wanted_content_is_spelled_as_cloudflare_spells_it(kind: str, written: str, stored: str) -> None:
    assert WantedRecord(kind, written).content == stored


@pytest.mark.parametrize(
    ("kind", "content"),
    [("A", "2001:db8::1"), ("AAAA", "192.0.2.1"), ("A", "host"), ("TXT", "192.0.2.1"), ("CNAME", "x")],
)
def test_wanted_content_that_cannot_be_is_refused_before_any_call(kind: str, content: str) -> None:
    with pytest.raises(Stall):
        WantedRecord(kind, content)


@pytest.mark.parametrize("ttl", [0, 2, 59, 86401, -1])
def test_wanted_ttl_that_cannot_be_is_refused_before_any_call(ttl: int) -> None:
    with pytest.raises(Stall):
        WantedRecord("A", "192.0.2.1", ttl=ttl)


_ADDRESSES = st.sampled_from(["192.0.2.1", "192.0.2.2", "192.0.2.3"])


@given(st.lists(_ADDRESSES, unique=True), st.lists(_ADDRESSES, unique=True, min_size=1))
def test_plan_leads_from_what_is_there_to_what_is_wanted(there: list[str], wanted: list[str]) -> None:
    records = [_record(address, "A", address) for address in there]
    change = _change(*[WantedRecord("A", address, proxied=True) for address in wanted])
    plan = plan_change(change, records)
    after = {record.content for record in plan.kept}
    after |= {fields["content"] for _, fields in plan.patches} | {fields["content"] for fields in plan.posts}
    assert after == set(wanted)
    touched = {record.id for record in (*plan.deletes, *plan.kept)} | {
        record.id for record, _ in plan.patches
    }
    assert touched == set(there), "every record there is accounted for"
    assert plan.size <= max(len(there), len(wanted)), "nothing is deleted that could be changed"


def test_record_that_is_known_by_its_id_is_ours_without_a_mark() -> None:
    record = DnsRecord("r1", "a.example.com", "A", "192.0.2.9")
    wanted = (WantedRecord("A", "192.0.2.1"),)
    change = RecordChange("a.example.com", "mark", wanted, known=frozenset({"r1"}))
    ((patched, fields),) = plan_change(change, [record]).patches
    assert (patched.id, fields["content"], fields["comment"]) == ("r1", "192.0.2.1", "mark")
    withdrawal = RecordChange("a.example.com", "mark", known=frozenset({"r1"}))
    assert plan_change(withdrawal, [record]).deletes == (record,)


def test_record_with_the_mark_of_another_owner_is_not_taken_over() -> None:
    record = DnsRecord("r1", "a.example.com", "A", "192.0.2.1", comment="edgekeeper other")
    wanted = (WantedRecord("A", "192.0.2.1"),)
    change = RecordChange("a.example.com", "edgekeeper mine", wanted, adopt=True, others="edgekeeper ")
    with pytest.raises(Stall, match="another owner"):
        plan_change(change, [record])


def test_released_record_stays_without_our_mark() -> None:
    record = DnsRecord("r1", "a.example.com", "A", "192.0.2.1", comment="mark shop/web")
    plan = plan_change(RecordChange("a.example.com", "mark", release=True), [record])
    assert plan.patches == ((record, {"comment": ""}),)
    assert not plan.deletes


def test_record_with_the_mark_of_another_is_not_ours_though_its_id_is_known() -> None:
    theirs = _record("r1", "CNAME", "t.cfargotunnel.com", comment="cfzt:v1 o=ffffffffffff")
    withdrawal = RecordChange(NAME, MARK, known=frozenset({"r1"}), others="cfzt:v1 ")
    assert plan_change(withdrawal, [theirs]) == RecordPlan()


def test_record_with_an_inherited_mark_gets_ours_and_is_withdrawn_with_us() -> None:
    left = _record("r1", "CNAME", "t.cfargotunnel.com", comment="cfzt:v1 o=ffffffffffff shop/web")
    mark = frozenset({"cfzt:v1 o=ffffffffffff"})
    change = RecordChange(NAME, MARK, (TUNNEL,), others="cfzt:v1 ", inherited=mark)
    ((record, fields),) = plan_change(change, [left]).patches
    assert (record, fields["comment"]) == (left, MARK)
    assert plan_change(RecordChange(NAME, MARK, others="cfzt:v1 ", inherited=mark), [left]).deletes == (left,)
    longer = frozenset({"cfzt:v1 o=ffffffff"})
    with pytest.raises(Stall, match="belongs to another owner"):
        plan_change(RecordChange(NAME, MARK, (TUNNEL,), others="cfzt:v1 ", inherited=longer), [left])
