"""Ownership: a mark says mine only of what was made for exactly this object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.ownership import (
    UNREADABLE,
    Mark,
    Owner,
    Ownership,
    is_mine,
    parse_tags,
)

UID = "5f1c3c1e-7a43-4f3e-9d59-0c5f7f0a2b11"
WEB = Owner("prod-eu", "shop", "web", UID)

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", fullmatch=True)
OWNERS = st.builds(
    Owner,
    cluster=st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", fullmatch=True),
    namespace=NAMES | st.just(""),
    name=NAMES,
    uid=st.from_regex(r"[A-Za-z0-9-]{1,36}", fullmatch=True),
)

OTHERS = [
    pytest.param(replace(WEB, cluster="prod-us"), id="another cluster"),
    pytest.param(replace(WEB, namespace="blog"), id="another namespace"),
    pytest.param(replace(WEB, name="api"), id="another name"),
    pytest.param(replace(WEB, namespace=""), id="an object of the whole cluster"),
]


# Golden: these marks are out there. A change here makes everything that was created before it somebody else's.


def test_tags_never_change() -> None:
    assert WEB.tags() == {
        "edgekeeper.io/cluster": "prod-eu",
        "edgekeeper.io/namespace": "shop",
        "edgekeeper.io/name": "web",
        "edgekeeper.io/uid": UID,
    }


def test_tags_of_cluster_wide_objects_have_no_namespace() -> None:
    assert "edgekeeper.io/namespace" not in replace(WEB, namespace="").tags()


@given(OWNERS)
def test_marks_keep_to_the_limits_and_read_back(owner: Owner) -> None:
    tags = owner.tags()
    assert all(len(key) <= 128 and 0 < len(value) <= 256 for key, value in tags.items())
    assert parse_tags(tags) == owner.mark


@given(OWNERS, OWNERS)
def test_a_mark_is_mine_exactly_if_it_was_made_for_me(owner: Owner, other: Owner) -> None:
    is_namesake = replace(other, uid=owner.uid) == owner
    expected = Ownership.MINE if owner == other else Ownership.FORMER if is_namesake else Ownership.OTHERS
    assert is_mine(parse_tags(other.tags()), owner) is expected


@pytest.mark.parametrize("other", OTHERS)
def test_marks_of_others_are_not_mine(other: Owner) -> None:
    assert is_mine(parse_tags(other.tags()), WEB) is Ownership.OTHERS


def test_mark_of_an_earlier_object_of_the_same_name_is_told_from_others() -> None:
    former = replace(WEB, uid="0" + UID[1:])
    assert is_mine(parse_tags(former.tags()), WEB) is Ownership.FORMER


@given(OWNERS, OWNERS.map(lambda other: other.uid), st.booleans())
def test_a_mark_is_inherited_exactly_from_the_namesake_in_a_named_cluster(
    owner: Owner, uid: str, is_named: bool
) -> None:
    left = replace(owner, cluster="lost" if owner.cluster != "lost" else "gone", uid=uid)
    heir = replace(owner, lost_clusters=frozenset({left.cluster if is_named else "a-third-one"}))
    expected = Ownership.INHERITED if is_named else Ownership.OTHERS
    assert is_mine(parse_tags(left.tags()), heir) is expected
    name = "another" if owner.name != "another" else "yet-another"
    assert is_mine(parse_tags(replace(left, name=name).tags()), heir) is Ownership.OTHERS
    namespace = "another" if owner.namespace != "another" else "yet-another"
    assert is_mine(parse_tags(replace(left, namespace=namespace).tags()), heir) is Ownership.OTHERS
    assert heir.tags() == owner.tags(), "the clusters that it inherits from are no part of a mark"


def test_mark_of_an_earlier_object_is_inherited_if_the_own_cluster_is_named() -> None:
    former, heir = replace(WEB, uid="0" + UID[1:]), replace(WEB, lost_clusters=frozenset({WEB.cluster}))
    assert is_mine(parse_tags(former.tags()), heir) is Ownership.INHERITED
    assert is_mine(parse_tags(WEB.tags()), heir) is Ownership.MINE
    assert is_mine(UNREADABLE, heir) is Ownership.OTHERS


@pytest.mark.parametrize("tags", [{}, {"team": "shop"}, {"edgekeeper.io/uid": ""}])
def test_without_our_tags_it_is_unmarked(tags: dict[str, str]) -> None:
    assert is_mine(parse_tags(tags), WEB) is Ownership.UNMARKED


@pytest.mark.parametrize(
    "tags", [{"edgekeeper.io/owner": "v2"}, {"edgekeeper.io/format": "2", "team": "shop"}]
)
def test_tags_with_our_prefix_that_nobody_knows_are_not_mine(tags: dict[str, str]) -> None:
    assert is_mine(parse_tags(tags), WEB) is Ownership.OTHERS
    assert is_mine(parse_tags({**WEB.tags(), **tags}), WEB) is Ownership.MINE


@pytest.mark.parametrize("missing", ["cluster", "name", "uid"])
def test_incomplete_tags_are_not_mine(missing: str) -> None:
    tags = WEB.tags()
    del tags[f"edgekeeper.io/{missing}"]
    assert parse_tags(tags) == UNREADABLE
    assert is_mine(UNREADABLE, WEB) is Ownership.OTHERS


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cluster", ""),
        ("cluster", "a/b"),
        ("cluster", "x" * 64),
        ("namespace", "Shop"),
        ("name", ""),
        ("name", "web\nedgekeeper owner=x"),
        ("name", "a" * 254),
        ("name", "a b"),
        ("uid", ""),
        ("uid", "u" * 37),
        ("uid", "a/b"),
    ],
)
def test_nothing_can_be_smuggled_into_a_mark(field: str, value: str) -> None:
    changes: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=r"^not "):
        replace(WEB, **changes)


def test_owner_is_read_from_the_object() -> None:
    obj = {"metadata": {"namespace": "shop", "name": "web", "uid": UID}}
    assert Owner.of(obj, "prod-eu") == WEB
    with pytest.raises(ValueError, match="not a uid"):
        Owner.of({"metadata": {"name": "web"}}, "prod-eu")


def test_mark_shows_no_more_of_the_cluster_than_a_hash() -> None:
    assert WEB.mark == Mark("3m45kvdvvn7e", UID, "4tjbgxnmfkso")
