"""JSON bodies as Go reads them: numbers, broken text, depth, repeated keys."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.json_syntax import MOST_NESTED
from kubesim.plane.json_text import MalformedBodyError, decode_json, duplicate_json_keys, nesting

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_json_reads_back_what_was_written(value: Any) -> None:
    assert decode_json(msgspec.json.encode(value)) == value


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"1", 1),
        (b"1.0", 1),
        (b"1e3", 1000),
        (b"-0", 0),
        (b"-0.0", 0),
        (b"1.5", 1.5),
        (b"1e-7", 1e-7),
        (b"9223372036854775807", 9223372036854775807),
        (b"-9223372036854775808", -9223372036854775808),
        (b"9223372036854775808", 9.223372036854775808e18),
        (b"-9223372036854775809", -9.223372036854775808e18),
        (b"12345678901234567890123", 1.2345678901234568e22),
        (b"4611686018427387904.0", 4611686018427388000),
        (b"1" * 300, float("1" * 300)),
    ],
)
def test_json_numbers_are_64_bit_integers_where_whole_and_floats_elsewhere(
    text: bytes, number: float
) -> None:
    for decoded in (decode_json(text), decode_json(b"[%s]" % text)[0], decode_json(b'{"a":%s}' % text)["a"]):
        assert decoded == number
        assert type(decoded) is type(number)
        assert msgspec.json.decode(msgspec.json.encode(decoded)) == number


@pytest.mark.parametrize("text", [b"1e400", b"-1e400", b"9" * 5000])
def test_json_numbers_beyond_floats_are_refused(text: bytes) -> None:
    with pytest.raises(MalformedBodyError, match="json: cannot unmarshal number"):
        decode_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'"a\xffb"', "a\ufffdb"),
        (rb'"\ud800"', "\ufffd"),
        (rb'"\udc00x"', "\ufffdx"),
        (rb'"\\ud800"', "\\ud800"),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\ud83d\ude00\ud83d"', "\U0001f600\ufffd"),
    ],
)
def test_json_with_broken_text_is_repaired_not_refused(text: bytes, value: str) -> None:
    assert decode_json(text) == value


def test_json_errors_carry_the_syntax_error() -> None:
    with pytest.raises(MalformedBodyError, match="looking for beginning of value"):
        decode_json(b'{"a": x}')


@pytest.mark.parametrize("depth", [MOST_NESTED + 1, 900, 2000, 100_000])
@pytest.mark.parametrize(("opening", "inside", "closing"), [(b"[", b"", b"]"), (b'{"a":', b"1", b"}")])
def test_json_nesting_is_bounded(depth: int, opening: bytes, inside: bytes, closing: bytes) -> None:
    with pytest.raises(MalformedBodyError, match="exceeded max depth"):
        decode_json(opening * depth + inside + closing * depth)


def test_json_nesting_up_to_the_bound_is_read() -> None:
    assert nesting(decode_json(b"[" * MOST_NESTED + b"]" * MOST_NESTED)) == MOST_NESTED


def test_json_with_many_shallow_containers_is_not_taken_for_a_deep_one() -> None:
    assert decode_json(b"[" + b"{}," * 10_000 + b"{}]") == [{}] * 10_001


@pytest.mark.parametrize(
    ("tree", "depth"), [(1, 0), ([], 1), ({"a": 1}, 1), ({"a": [{}]}, 3), ([[], [[1]]], 3)]
)
def test_nesting_counts_containers_on_the_longest_path(tree: Any, depth: int) -> None:
    assert nesting(tree) == depth


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (b'{"a":1,"b":{"a":2}}', []),
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
        (b'{"spec":{"a":1,"a":2,"b":[{"c":1,"c":2}],"b":3}}', ["spec.a", "spec.b[0].c", "spec.b"]),
        (b'{"metadata":{},"metadata":{"name":"z","name":"y"}}', ["metadata", "metadata.name"]),
        (b'[{"op":1,"op":2},[{"x":1,"x":1}]]', ["[0].op", "[1][0].x"]),
        (b'{"a":12345678901234567890123,"\\u0061":1e400}', ["a"]),
    ],
)
def test_duplicate_keys_are_reported_by_path_in_document_order(text: bytes, paths: list[str]) -> None:
    assert duplicate_json_keys(text) == [f'duplicate field "{path}"' for path in paths]


def test_duplicate_keys_are_reported_a_hundred_times_at_most() -> None:
    text = "{" + ",".join(f'"{key}":1,"{key}":2' for key in range(500)) + "}"
    assert len(duplicate_json_keys(text.encode())) == 100
