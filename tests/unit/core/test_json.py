"""Looking into JSON trees: any step may be missing or of another type, and nothing raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import dig, dig_list, dig_object

TREE = {"spec": {"rules": [{"host": "a"}, {"host": "b"}], "count": 0, "none": None}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), TREE),
        (("spec", "rules", 0, "host"), "a"),
        (("spec", "rules", -1, "host"), "b"),
        (("spec", "count"), 0),
        (("spec", "none"), None),
        (("spec", "missing", "deeper"), None),
        (("spec", "rules", 2), None),
        (("spec", "rules", -3), None),
        (("spec", "rules", "0"), None),
        (("spec", 0), None),
        (("spec", "count", "deeper"), None),
    ],
)
def test_dig_finds_what_is_there_and_none_where_nothing_is(path: tuple[str | int, ...], value: Any) -> None:
    assert dig(TREE, *path) == value


def test_dig_object_and_dig_list_answer_with_their_type() -> None:
    assert dig_object(TREE, "spec", "rules", 0) == {"host": "a"}
    assert dig_object(TREE, "spec", "rules") == {}
    assert dig_list(TREE, "spec", "rules") == TREE["spec"]["rules"]
    assert dig_list(TREE, "spec") == []


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


@given(JSON, st.lists(st.sampled_from(["a", "b", 0, 1, -1]), max_size=4))
def test_dig_never_raises(tree: Any, path: list[str | int]) -> None:
    dig(tree, *path)
    assert isinstance(dig_object(tree, *path), dict)
    assert isinstance(dig_list(tree, *path), list)
