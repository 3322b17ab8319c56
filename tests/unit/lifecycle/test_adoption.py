"""Who may adopt what, and what conditions say about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.lifecycle.adoption import holder_message, inheritance_reason, may_adopt

OWNER = Owner("new", "shop", "web", "1")


@pytest.mark.parametrize(
    ("whose", "without", "wished"),
    [
        (Ownership.UNMARKED, False, True),
        (Ownership.FORMER, False, True),
        (Ownership.INHERITED, True, True),
        (Ownership.OTHERS, False, False),
        (Ownership.MINE, False, False),
    ],
)
def test_adoption_depends_on_the_mark_and_on_the_wish(whose: Ownership, without: bool, wished: bool) -> None:
    assert may_adopt(whose, is_wished=False) is without
    assert may_adopt(whose, is_wished=True) is wished


@pytest.mark.parametrize(
    ("holder", "remedy"),
    [
        (replace(OWNER, cluster="old", uid="2"), "--adopt-from-cluster old"),
        (replace(OWNER, uid="2"), 'edgekeeper.io/adopt: "true"'),
        (replace(OWNER, uid="2"), "--adopt-from-cluster new"),
        (replace(OWNER, cluster="old", name="api"), "choose another name"),
        (replace(OWNER, name="api"), "choose another name"),
    ],
)
def test_message_names_the_remedy(holder: Owner, remedy: str) -> None:
    mark = parse_tags(holder.tags())
    assert remedy in holder_message(is_mine(mark, OWNER), mark, OWNER)


def test_flag_is_no_remedy_for_what_it_would_not_take_over() -> None:
    mark = parse_tags(replace(OWNER, cluster="old", name="api").tags())
    assert "--adopt-from-cluster" not in holder_message(is_mine(mark, OWNER), mark, OWNER)


def test_reason_of_an_inheritance_names_cluster_and_uid() -> None:
    told = inheritance_reason(parse_tags(replace(OWNER, cluster="old", uid="2").tags()))
    assert "cluster old" in told
    assert "uid 2" in told
