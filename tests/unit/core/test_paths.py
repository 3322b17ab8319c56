"""Paths: what is rendered can be read again, and nothing in a name can pass for structure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.paths import LONGEST_STEP, MOST_STEPS, field_path, item_path, parse_path


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", ()),
        ("spec", ("spec",)),
        ("spec.rules", ("spec", "rules")),
        ("spec.rules[*].host", ("spec", "rules", "*", "host")),
        ("metadata.annotations[example.com/owner]", ("metadata", "annotations", "example.com/owner")),
        ('[a][""]["]"]', ("a", "", "]")),
        ("*.name", ("*", "name")),
    ],
)
def test_paths_are_read_step_by_step(path: str, steps: tuple[str, ...]) -> None:
    assert parse_path(path) == steps


@pytest.mark.parametrize(
    "path", [".", ".spec", "spec.", "spec..a", "a[", "a]", "a[]", "a[b", 'a["b]', "a[b]c"]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        parse_path(path)


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=LONGEST_STEP)), max_size=5))
def test_rendered_paths_read_back(steps: list[tuple[bool, str]]) -> None:
    path = ""
    for is_field, step in steps:
        path = (field_path if is_field else item_path)(path, step)
    assert parse_path(path) == tuple(step for _, step in steps)
    assert path.isprintable()


def test_long_steps_are_cut() -> None:
    assert item_path("list", "x" * 1000) == f"list[{'x' * 79}…]"


def test_path_of_too_many_steps_is_refused() -> None:
    assert len(parse_path("a" + ".a" * (MOST_STEPS - 1))) == MOST_STEPS
    with pytest.raises(ValueError, match="not a path"):
        parse_path("a" + ".a" * MOST_STEPS)
