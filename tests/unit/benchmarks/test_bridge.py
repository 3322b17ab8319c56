"""The measurements of the bridge: what counts as a line, and that goals can be missed."""

from __future__ import annotations

import pytest

from benchmarks.bridge.figures import growth_rows, policy_rows, source_rows
from benchmarks.bridge.fleet import Growth, Policy, fill
from benchmarks.bridge.source import code_lines, lines_of
from kubesim.virtual import run_virtual

SOURCE = '''"""A docstring
of two lines."""

import os  # with a comment


# a comment
def function(
    one: int,
) -> str:
    """Another one."""
    value = """text that
    is code"""
    return value


class Thing:
    name: str
    """About the attribute."""
'''


def test_lines_of_code_have_neither_documentation_nor_blanks() -> None:
    assert code_lines(SOURCE) == 1 + 3 + 3 + 2


def test_source_that_is_not_there_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no source matches gone"):
        lines_of(["gone/*.py"])


def test_kinds_keep_their_bounds() -> None:
    rows = list(source_rows())
    assert all(row.ok for row in rows), rows
    assert sum(row.goal is not None for row in rows) == 2


def test_full_policy_takes_sixty_two_calls_and_a_resync_one() -> None:
    assert run_virtual(fill) == Policy(333.0, 62, 1.0)


def test_policy_that_takes_more_calls_misses_its_goals() -> None:
    assert [row.ok for row in policy_rows(Policy(333.0, 63, 1.2))] == [True, False, False]


def test_fleet_that_is_throttled_or_never_at_rest_misses_its_goals() -> None:
    rows = {
        row.name.rpartition(": ")[2]: row for row in growth_rows("ack", Growth(1, {"GetPolicy": 1}, 1, 0, 1))
    }
    assert not rows["throttled calls"].ok
    assert not rows["writes at rest, anywhere"].ok
    assert rows["the operator's reads of AWS"].value == 1
