"""Differences: everything that differs is found, what does not count is not, and each is told in words."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.delta import ABSENT, Difference, Rule, Rules, compare, describe, diff, redacted_value

TENANT = Rules(
    {
        "domains": Rule(unordered=True, ignore_case=True),
        "parameters": Rule(key="name", absent=[]),
        "enabled": Rule(absent=True),
        "connectionGroupId": Rule(subset=True),
        "customizations": Rule(absent={}),
        "customizations.geo.locations": Rule(unordered=True),
        "etag": Rule(ignored=True),
    }
)


def found(
    desired: Any, observed: Any, rules: Rules | dict[str, Rule] | None = None
) -> list[tuple[str, Any, Any]]:
    """The differences as (path, before, after)."""
    ready = rules if isinstance(rules, Rules) else Rules(rules)
    return [(one.path, one.before, one.after) for one in compare(desired, observed, ready)]


# Without rules


@pytest.mark.parametrize(
    ("desired", "observed", "differences"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", 2, 1)], id="a value"),
        pytest.param({"a": 1}, {}, [("a", ABSENT, 1)], id="a field more"),
        pytest.param({}, {"a": 1}, [("a", 1, ABSENT)], id="a field less"),
        pytest.param({"a": None}, {}, [], id="null is absent"),
        pytest.param({"a": {}}, {}, [("a", ABSENT, {})], id="empty is not absent"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, [("a[0]", 2, 1), ("a[1]", 1, 2)], id="order counts"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, [("a[1]", 2, ABSENT)], id="an item less"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, [("a[1]", ABSENT, 2)], id="an item more"),
        pytest.param({"a": (1, 2)}, {"a": [1, 2]}, [], id="tuples are lists"),
        pytest.param({"a": [1]}, {"a": {"0": 1}}, [("a", {"0": 1}, [1])], id="a list is no object"),
        pytest.param({"a": True}, {"a": 1}, [("a", 1, True)], id="true is not 1"),
        pytest.param({"a": 0}, {"a": False}, [("a", False, 0)], id="0 is not false"),
        pytest.param({"a": 1}, {"a": 1.0}, [], id="1 is 1.0"),
        pytest.param({"a": "1"}, {"a": 1}, [("a", 1, "1")], id="a text is no number"),
        pytest.param({"a": "X"}, {"a": "x"}, [("a", "x", "X")], id="case counts"),
        pytest.param("x", "y", [("", "y", "x")], id="a bare value"),
        pytest.param(None, {"a": 1}, [("", {"a": 1}, ABSENT)], id="nothing desired"),
        pytest.param(
            {"labels": {"example.com/owner": "a"}},
            {"labels": {"example.com/owner": "b"}},
            [("labels[example.com/owner]", "b", "a")],
            id="a name with dots",
        ),
    ],
)
def test_trees_are_compared_as_json(desired: Any, observed: Any, differences: list[Any]) -> None:
    assert found(desired, observed) == differences


# Rules


@pytest.mark.parametrize(
    ("desired", "observed", "differences"),
    [
        pytest.param(["a", "b"], ["b", "a"], [], id="order does not count"),
        pytest.param(["a", "a"], ["a"], [], id="repetition does not count"),
        pytest.param(["a", "b"], ["a", "a"], [("[b]", ABSENT, "b")], id="a repetition does not hide a lack"),
        pytest.param(["a"], ["a", "b"], [("[b]", "b", ABSENT)], id="a member less"),
        pytest.param([1, 2.0], [2, 1], [], id="numbers"),
        pytest.param([True], [1], [("[true]", ABSENT, True), ("[1]", 1, ABSENT)], id="true is not 1"),
        pytest.param([{"x": 1, "y": 2}], [{"y": 2, "x": 1}], [], id="objects as members"),
        pytest.param(["1"], [1], [("[1]", ABSENT, "1"), ("[1]", 1, ABSENT)], id="a text is no number"),
    ],
)
def test_unordered_lists_are_sets(desired: Any, observed: Any, differences: list[Any]) -> None:
    assert found(desired, observed, {"": Rule(unordered=True)}) == differences


@pytest.mark.parametrize(
    ("desired", "observed", "differences"),
    [
        pytest.param([{"n": "a", "v": 1}, {"n": "b"}], [{"n": "b"}, {"n": "a", "v": 1}], [], id="any order"),
        pytest.param([{"n": "a", "v": 1}], [{"n": "a", "v": 2}], [("[a].v", 2, 1)], id="a value of an item"),
        pytest.param(
            [{"n": "a"}], [{"n": "b"}], [("[a]", ABSENT, {"n": "a"}), ("[b]", {"n": "b"}, ABSENT)], id="items"
        ),
        pytest.param(
            [{"n": "a"}], [{"n": "a"}, {"n": "a"}], [("[a #2]", {"n": "a"}, ABSENT)], id="twice the same key"
        ),
        pytest.param([{"v": 1}], [{"v": 1}], [], id="no key, all the same"),
        pytest.param(
            [{"v": 1}], ["x"], [('["{\\"v\\": 1}"]', ABSENT, {"v": 1}), ("[x]", "x", ABSENT)], id="no key"
        ),
        pytest.param(
            [{"n": 1}], [{"n": "1"}], [("[1]", ABSENT, {"n": 1}), ("[1]", {"n": "1"}, ABSENT)], id="key types"
        ),
    ],
)
def test_keyed_lists_are_compared_item_by_item(desired: Any, observed: Any, differences: list[Any]) -> None:
    assert found(desired, observed, {"": Rule(key="n")}) == differences


def test_key_can_be_several_fields_at_any_depth() -> None:
    rules = {"records": Rule(key=("type", "meta.name"))}
    desired = {"records": [{"type": "A", "meta": {"name": "www"}, "ttl": 60}]}
    observed = {
        "records": [{"type": "AAAA", "meta": {"name": "www"}}, {"type": "A", "meta": {"name": "www"}}]
    }
    assert [path for path, _, _ in found(desired, observed, rules)] == [
        "records[A/www].ttl",
        "records[AAAA/www]",
    ]


@pytest.mark.parametrize(
    ("desired", "observed", "differences"),
    [
        pytest.param({}, {}, [], id="absent on both sides"),
        pytest.param({}, {"on": True}, [], id="the default"),
        pytest.param({"on": True}, {}, [], id="the default, the other way round"),
        pytest.param({}, {"on": False}, [("on", False, True)], id="something else"),
        pytest.param({"on": False}, {}, [("on", True, False)], id="something else, the other way round"),
        pytest.param({"on": None}, {"on": True}, [], id="null is absent"),
    ],
)
def test_absent_equals_the_default(desired: Any, observed: Any, differences: list[Any]) -> None:
    assert found(desired, observed, {"on": Rule(absent=True)}) == differences


def test_absent_collections_can_equal_empty_ones() -> None:
    rules = {"list": Rule(absent=[], unordered=True), "object": Rule(absent={})}
    assert found({}, {"list": [], "object": {"x": None}}, rules) == []
    assert found({}, {"list": ["a"], "object": {"x": 1}}, rules) == [
        ("list[a]", "a", ABSENT),
        ("object.x", 1, ABSENT),
    ]


def test_ignored_places_are_never_compared() -> None:
    rules = {"etag": Rule(ignored=True), "items[*].id": Rule(ignored=True), "rules": Rule(key="n")}
    rules["rules[managed]"] = Rule(ignored=True)
    desired = {"items": [{"id": 1}], "rules": []}
    observed = {"etag": "E1", "items": [{"id": 2}], "rules": [{"n": "managed"}]}
    assert found(desired, observed, rules) == []


def test_ignored_items_of_ordered_lists_are_not_missed() -> None:
    assert found([], [1, 2], {"[1]": Rule(ignored=True)}) == [("[0]", 1, ABSENT)]


def test_case_can_be_ignored_here_and_below() -> None:
    rules = {"": Rule(ignore_case=True), "token": Rule(ignore_case=False), "hosts": Rule(unordered=True)}
    rules["records"] = Rule(key="name")
    desired = {
        "a": "X",
        "deep": {"b": ["Y"]},
        "hosts": ["A.io", "a.IO"],
        "records": [{"name": "WWW"}],
        "token": "T",
    }
    observed = {"a": "x", "deep": {"b": ["y"]}, "hosts": ["a.io"], "records": [{"name": "www"}], "token": "t"}
    assert found(desired, observed, rules) == [("token", "t", "T")]


def test_subset_leaves_alone_what_is_not_desired() -> None:
    rules = {
        "": Rule(subset=True),
        "set": Rule(unordered=True),
        "keyed": Rule(key="n"),
        "whole": Rule(subset=False),
    }
    desired = {"a": {"b": 1}, "set": ["x"], "keyed": [{"n": "p"}], "whole": {"c": 1}}
    observed = {
        "a": {"b": 1, "more": 2},
        "set": ["x", "y"],
        "keyed": [{"n": "q"}, {"n": "p", "more": 1}],
        "whole": {"c": 1, "more": 2},
        "more": 3,
    }
    assert found(desired, observed, rules) == [("whole.more", 2, ABSENT)]


def test_subset_still_finds_what_is_desired() -> None:
    assert found({"a": 1, "b": 2}, {"b": 3}, {"": Rule(subset=True)}) == [("a", ABSENT, 1), ("b", 3, 2)]


def test_subset_does_not_shorten_lists_in_order() -> None:
    assert found({"a": [1]}, {"a": [1, 2]}, {"": Rule(subset=True)}) == [("a[1]", 2, ABSENT)]


def test_default_is_something_desired() -> None:
    rules = {"": Rule(subset=True), "on": Rule(absent=True)}
    assert found({}, {"on": False, "more": 1}, rules) == [("on", False, True)]


def test_exact_paths_are_stronger_than_stars() -> None:
    rules = {"*.x": Rule(ignored=True), "a.x": Rule(), "*.y": Rule(ignored=True)}
    observed = {"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 1}}
    assert found({"a": {}, "b": {}}, observed, rules) == [("a.x", 1, ABSENT)]


def test_rules_refuse_what_is_no_path() -> None:
    with pytest.raises(ValueError, match="not a path"):
        Rules({"a..b": Rule()})


def test_a_kind_reads_as_one_table() -> None:
    desired = {
        "domains": ["Shop.example.com", "new.example.com"],
        "parameters": [{"name": "tier", "value": "gold"}],
        "customizations": {"geo": {"type": "allow", "locations": ["DE", "FR"]}},
    }
    observed = {
        "domains": ["shop.example.com", "old.example.com"],
        "parameters": [{"name": "tier", "value": "silver"}],
        "customizations": {"geo": {"type": "allow", "locations": ["FR", "DE"]}},
        "enabled": False,
        "connectionGroupId": "cg_1",
        "etag": "E2",
    }
    assert describe(compare(desired, observed, TENANT)) == (
        "domains[new.example.com] added; domains[old.example.com] removed; "
        'parameters[tier].value: "silver" → "gold"; enabled: false → true'
    )


# Laws

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "A", "b", "a.b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
RULES = st.dictionaries(
    st.sampled_from(["", "a", "b", "*", "a.b", "a[*]", "*.*"]),
    st.builds(
        Rule,
        ignored=st.booleans(),
        unordered=st.booleans(),
        key=st.sampled_from([(), "a", ("a", "b")]),
        absent=st.sampled_from([ABSENT, True, []]),
        subset=st.sampled_from([None, True, False]),
        ignore_case=st.sampled_from([None, True, False]),
    ),
    max_size=3,
).map(Rules)


@given(JSON, RULES)
def test_a_tree_does_not_differ_from_itself(tree: Any, rules: Rules) -> None:
    assert compare(tree, copy.deepcopy(tree), rules) == ()


def without_nulls(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: without_nulls(value) for name, value in tree.items() if value is not None}
    return [without_nulls(item) for item in tree] if isinstance(tree, list) else tree


def spelled(tree: Any) -> str:
    """Python's text of a tree, fields sorted: True and 1 are not the same here."""
    if isinstance(tree, dict):
        return str({name: spelled(tree[name]) for name in sorted(tree)})
    return str([spelled(item) for item in tree]) if isinstance(tree, list) else repr(tree)


@given(JSON, JSON)
def test_without_rules_exactly_equal_json_does_not_differ(one: Any, other: Any) -> None:
    same = spelled(without_nulls(one)) == spelled(without_nulls(other))
    assert (compare(one, other) == ()) is same


@given(JSON, JSON)
def test_the_other_way_round_the_same_places_differ(one: Any, other: Any) -> None:
    there = {(each.path, spelled(each.before), spelled(each.after)) for each in compare(one, other)}
    back = {(each.path, spelled(each.after), spelled(each.before)) for each in compare(other, one)}
    assert there == back


@given(st.lists(st.integers(0, 9)), st.randoms(use_true_random=False))
def test_sets_do_not_differ_by_order(members: list[int], random: Random) -> None:
    shuffled = random.sample(members, len(members))
    assert compare(members, shuffled, Rules({"": Rule(unordered=True)})) == ()


@given(JSON, JSON, RULES)
def test_trees_are_left_as_they_are(desired: Any, observed: Any, rules: Rules) -> None:
    before = copy.deepcopy((desired, observed))
    compare(desired, observed, rules)
    assert (desired, observed) == before


@given(JSON, JSON, RULES)
def test_differences_can_always_be_told(desired: Any, observed: Any, rules: Rules) -> None:
    differences = compare(desired, observed, rules)
    assert bool(describe(differences)) is bool(differences)
    assert bool(diff(differences)) is bool(differences)


# Words


def test_diff_shows_what_is_and_what_shall_be() -> None:
    desired = {"enabled": True, "domains": ["b.io"], "ttl": 60}
    observed = {"enabled": False, "domains": ["a.io"], "note": "x"}
    assert diff(compare(desired, observed, TENANT)).splitlines() == [
        "- enabled: false",
        "+ enabled: true",
        "+ domains[b.io]",
        "- domains[a.io]",
        "+ ttl: 60",
        '- note: "x"',
    ]


def test_many_differences_are_summed_up() -> None:
    differences = compare({str(number): number for number in range(5)}, {})
    assert describe(differences, most=2) == "[0] added; [1] added; and 3 more"
    assert describe(differences, most=4).endswith("[3] added; and 1 more")
    assert describe(differences, most=5).endswith("[3] added; [4] added")


def test_no_differences_are_told_by_no_words() -> None:
    assert (describe(()), diff(())) == ("", "")


def test_a_whole_tree_has_a_name() -> None:
    assert describe([Difference("", 1, 2)]) == "all: 1 → 2"


def test_long_values_are_cut() -> None:
    told = describe(compare({"a": "x" * 1000}, {"a": "y"}))
    assert len(told) < 150
    assert told.endswith("x…")


@pytest.mark.parametrize(
    ("desired", "observed"),
    [
        pytest.param({"client_secret": "c4n4ry"}, {"client_secret": "c4n4ry2"}, id="a secret field"),
        pytest.param({"a": {"password": "c4n4ry"}}, {}, id="a secret in a new object"),
        pytest.param({"token": {"value": "c4n4ry"}}, {"token": {"value": "x"}}, id="below a secret field"),
        pytest.param({"url": "https://u:c4n4ry@h"}, {}, id="a secret in a text"),
        pytest.param(
            [{"name": "API_TOKEN", "value": "c4n4ry"}], [{"name": "API_TOKEN", "value": "x"}], id="by key"
        ),
        pytest.param(
            {"env": [{"name": "API_TOKEN", "value": "c4n4ry"}]},
            {"env": [{"name": "API_TOKEN", "value": "c4n4ry2"}]},
            id="by position",
        ),
        pytest.param(
            {"env": [{"name": "a", "value": "b"}]},
            {"env": [{"name": "API_TOKEN", "value": "c4n4ry"}]},
            id="was",
        ),
        pytest.param(
            {"kind": "Secret", "data": {"a": "c4n4ry"}}, {"kind": "Secret", "data": {"a": "x"}}, id="data"
        ),
        pytest.param(
            {"kind": "Secret", "data": {"a": "c4n4ry"}},
            {"kind": "ConfigMap", "data": {"a": "x"}},
            id="of one side",
        ),
        pytest.param(
            {"kind": "Secret", "data": {"a": ["c4n4ry"]}}, {"kind": "Secret", "data": {"a": []}}, id="deep"
        ),
    ],
)
def test_secrets_are_not_told(desired: Any, observed: Any) -> None:
    differences = compare(desired, observed, Rules({"": Rule(key="name")}))
    assert differences
    shown = [redacted_value(one, value) for one in differences for value in (one.before, one.after)]
    assert "c4n4ry" not in describe(differences) + diff(differences) + repr(shown)
