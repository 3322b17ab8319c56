"""The algebra of field sets, and the canonical text of path elements."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.apply.element import (
    canonical_element,
    element_order,
    go_quoted,
    key_element,
    literal,
    shown_path,
    value_element,
)
from kubesim.plane.apply.fieldset import (
    FieldSet,
    contains,
    difference,
    intersection,
    members,
    ordered,
    parse,
    recursive_difference,
    set_of,
    set_of_fields,
    union,
)

ELEMENTS = ["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"z"', "v:2", "v:10", "i:0"]
paths = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=3).map(tuple)
path_sets = st.frozensets(paths, max_size=8)


def fields_of(chosen: frozenset[tuple[str, ...]]) -> FieldSet:
    return set_of(sorted(chosen))


def is_ordered(fields: FieldSet) -> bool:
    return list(fields) == list(ordered(fields)) and all(map(is_ordered, fields.values()))


@given(path_sets)
def test_field_set_has_exactly_the_members_it_was_made_of(chosen: frozenset[tuple[str, ...]]) -> None:
    fields = fields_of(chosen)
    assert set(members(fields)) == chosen
    assert all(contains(fields, path) for path in chosen)


@given(path_sets, path_sets)
def test_field_set_operations_agree_with_sets_of_paths(
    left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]
) -> None:
    a, b = fields_of(left), fields_of(right)
    assert set(members(union(a, b))) == left | right
    assert set(members(difference(a, b))) == left - right
    assert set(members(intersection(a, b))) == left & right


@given(path_sets, path_sets)
def test_recursive_difference_takes_away_all_below_a_member(
    left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]
) -> None:
    kept = {path for path in left if not any(path[: len(gone)] == gone for gone in right)}
    assert set(members(recursive_difference(fields_of(left), fields_of(right)))) == kept


@given(path_sets, path_sets)
def test_field_set_operations_keep_canonical_order_and_their_operands(
    left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]
) -> None:
    a, b = fields_of(left), fields_of(right)
    before = json.dumps([a, b])
    for operation in (union, difference, intersection, recursive_difference):
        assert is_ordered(operation(a, b))
    assert json.dumps([a, b]) == before


@given(path_sets)
def test_field_set_survives_its_encoding(chosen: frozenset[tuple[str, ...]]) -> None:
    fields = fields_of(chosen)
    assert json.dumps(parse(json.loads(json.dumps(fields)))) == json.dumps(fields)


def test_members_of_one_level_come_before_those_below() -> None:
    fields = set_of_fields((("a", "b"), ("a",), ("c",)))
    assert [shown_path(path) for path in members(fields)] == [".a", ".c", ".a.b"]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param({"f:b": {}, "f:a": {}}, '{"f:a":{},"f:b":{}}', id="fields are sorted"),
        pytest.param(
            {"f:a": {"f:b": {}, ".": {}}}, '{"f:a":{".":{},"f:b":{}}}', id="the self mark comes first"
        ),
        pytest.param({"f:a": {".": {}}}, '{"f:a":{}}', id="a lone self mark is a plain member"),
        pytest.param({".": {}, "f:a": {}}, '{"f:a":{}}', id="the root is no member"),
        pytest.param({"x:new": {}, "f:a": None}, '{"f:a":{}}', id="unknown kinds are dropped"),
        pytest.param({"v:10": {}, "v:9": {}}, '{"v:9":{},"v:10":{}}', id="numbers sort as numbers"),
        pytest.param(
            {'k:{"b": 1, "a": "x"}': {}},
            '{"k:{\\"a\\":\\"x\\",\\"b\\":1}":{}}',
            id="keys are sorted and compact",
        ),
        pytest.param(None, "{}", id="nothing is the empty set"),
    ],
)
def test_parse_yields_the_canonical_form(tree: Any, expected: str) -> None:
    assert json.dumps(parse(tree), separators=(",", ":")) == expected


@pytest.mark.parametrize("tree", [{"nocolon": {}}, {"f": {}}, {"v:{": {}}, {"k:[]": {}}, {"i:x": {}}, "text"])
def test_parse_refuses_what_is_no_field_set(tree: Any) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse(tree)


@pytest.mark.parametrize(
    ("element", "shown"),
    [
        ("f:spec", ".spec"),
        ('k:{"name":"a"}', '[name="a"]'),
        ('k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'),
        ('v:"x"', '[="x"]'),
        ("v:3", "[=3]"),
        ("v:true", "[=true]"),
        ("i:4", "[4]"),
    ],
)
def test_path_elements_are_shown_as_people_read_them(element: str, shown: str) -> None:
    assert shown_path(("f:a", element)) == f".a{shown}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("<a&b>", '"\\u003ca\\u0026b\\u003e"'),
        ("line\u2028\t\x08", '"line\\u2028\\t\\u0008"'),
        ("é", '"é"'),
        (80.0, "80"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        ({"b": [1, "x"], "a": {}}, '{"a":{},"b":[1,"x"]}'),
    ],
)
def test_literals_are_written_as_the_server_writes_them(value: Any, text: str) -> None:
    assert literal(value) == text
    assert json.loads(text) == value


scalars = st.one_of(st.text(max_size=8), st.integers(-(2**53), 2**53), st.booleans())


@given(scalars, st.dictionaries(st.text(max_size=4), scalars, min_size=1, max_size=3))
def test_elements_are_canonical_when_they_are_made(value: Any, keys: dict[str, Any]) -> None:
    for element in (value_element(value), key_element(sorted(keys.items()))):
        assert canonical_element(element) == element


@given(st.lists(scalars, max_size=6))
def test_element_order_is_total_over_mixed_values(values: list[Any]) -> None:
    elements = [value_element(value) for value in values]
    assert sorted(sorted(elements, key=element_order, reverse=True), key=element_order) == sorted(
        elements, key=element_order
    )


def test_names_are_quoted_as_go_does() -> None:
    assert go_quoted('a"\n\x01é\u200b\U000e0001') == '"a\\"\\n\\x01é\\u200b\\U000e0001"'
