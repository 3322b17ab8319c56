"""YAML bodies. Values and messages were compared with kube-apiserver 1.36 for the same texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.json_syntax import MOST_NESTED
from kubesim.plane.json_text import MalformedBodyError, nesting
from kubesim.plane.yaml_text import decode_yaml, duplicate_yaml_keys


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("12", 12),
        ("+12", 12),
        ("-0x1f", -31),
        ("0x1F", 31),
        ("014", 12),
        ("0o17", 15),
        ("0b11", 3),
        ("089", 89),
        ("1_000", 1000),
        ("1_", 1),
        ("0_7", 7),
        ("_1", "_1"),
        ("1.0", 1),
        ("1.", 1),
        (".5", 0.5),
        ("1e3", 1000),
        ("6.8523015e+5", 685230.15),
        ("1e", "1e"),
        ("+", "+"),
        ("1.2.3", "1.2.3"),
        ("190:20:30", "190:20:30"),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("!!timestamp 2001-12-14", "2001-12-14"),
        ("12345678901234567890123", 1.2345678901234568e22),
        ("18446744073709551615", 1.8446744073709552e19),
        ("yes", True),
        ("Off", False),
        ("y", True),
        ("N", False),
        ("true", True),
        ("tRUE", "tRUE"),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("'12'", "12"),
        ('"yes"', "yes"),
        ("!!str 12", "12"),
        ('!!int "3"', 3),
        ("!!float 3", 3),
        ('!!bool "yes"', True),
        ("!custom 12", "12"),
        ("!!binary aGVsbG8=", "hello"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("[a, {b: c}]", ["a", {"b": "c"}]),
        ("!!set {a, b}", {"a": None, "b": None}),
    ],
)
def test_yaml_scalars_mean_what_kubernetes_reads(scalar: str, value: Any) -> None:
    decoded = decode_yaml(f"v: {scalar}".encode())["v"]
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", None),
        ("# nothing", None),
        ("--- {a: 1}\n...\nrest", {"a": 1}),
        ("a: 1\n---\nb: 2\n", {"a": 1}),
        ('{"a": [1, "x", null]}', {"a": [1, "x", None]}),
        ("\ufeffa: 1", {"a": 1}),
        ("12: a\n1.5: b\nyes: c\n'12.0': d", {"12": "a", "1.5": "b", "true": "c", "12.0": "d"}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2}", {"a": {"b": 1}, "c": {"b": 2}}),
        ("a: &x {b: 1}\nd: {<<: [*x, {b: 3, e: 4}]}", {"a": {"b": 1}, "d": {"b": 1, "e": 4}}),
        ("'<<': 1", {"<<": 1}),
        ("{a: 1, b: [yes]}", {"a": 1, "b": [True]}),
        ('{"a": 1.0, "b": "\\u00e9"}  # both', {"a": 1, "b": "é"}),
    ],
)
def test_yaml_documents_become_json_trees(text: str, tree: Any) -> None:
    assert decode_yaml(text.encode()) == tree


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"a: b\nc: d: e", "yaml: line 2: mapping values are not allowed in this context"),
        (b"\ta: b", "yaml: found character that cannot start any token"),
        (b"a: [\n", "yaml: line 2: did not find expected node content"),
        (b"a: *x", "yaml: unknown anchor referenced"),
        (b"a: &a [*a]", "yaml: anchor value contains itself"),
        (b"a: \xff", "yaml: invalid leading UTF-8 octet"),
        (b"a: .inf", "json: unsupported value: +Inf"),
        (b"a: -.INF", "json: unsupported value: -Inf"),
        (b"a: .nan", "json: unsupported value: NaN"),
        (b'a: !!binary "@@"', "yaml: !!binary value contains invalid base64 data"),
        (b"a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"a: !!null x", "yaml: cannot decode !!str `x` as a !!null"),
        (b"<<: [1]", "yaml: map merge requires map or sequence of maps as the value"),
        (b"? [a]\n: b", "yaml: invalid map key"),
        (b"~: b", "unsupported map key of type: %!s(<nil>), key: <nil>"),
    ],
)
def test_yaml_problems_are_worded_as_the_server_words_them(text: bytes, problem: str) -> None:
    with pytest.raises(MalformedBodyError) as refusal:
        decode_yaml(text)
    assert str(refusal.value) == problem


def test_yaml_aliases_cannot_blow_up_a_small_document() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x,x]"]
    for name, previous in zip("bcdefghi", "abcdefgh", strict=True):
        lines.append(f"{name}: &{name} [{','.join([f'*{previous}'] * 10)}]")
    with pytest.raises(MalformedBodyError, match="document contains excessive aliasing"):
        decode_yaml("\n".join(lines).encode())


@pytest.mark.parametrize("depth", [MOST_NESTED + 2, 5000, 1_000_000])
@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- "])
def test_yaml_nesting_is_bounded(depth: int, opening: bytes) -> None:
    with pytest.raises(MalformedBodyError, match="exceeded max depth"):
        decode_yaml(opening * depth)


def test_yaml_nesting_through_aliases_is_bounded() -> None:
    half = MOST_NESTED * 2 // 3
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}"
    with pytest.raises(MalformedBodyError, match="exceeded max depth"):
        decode_yaml(text.encode())


def test_yaml_nesting_up_to_the_bound_is_read() -> None:
    assert nesting(decode_yaml(b"[" * MOST_NESTED + b"]" * MOST_NESTED)) == MOST_NESTED


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("a: 1\nb: {a: 2}", []),
        ("kind: x\na: 1\na: 2\n", ['line 3: key "a" already set in map']),
        ("y: y\nn: n\non: on\n", ["line 3: key true already set in map"]),
        ('{"a":"1","a":"2"}', ['line 1: key "a" already set in map']),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2}", []),
    ],
)
def test_yaml_duplicate_keys_are_reported_by_line(text: str, complaints: list[str]) -> None:
    assert duplicate_yaml_keys(text.encode()) == complaints


@given(st.text(alphabet="ab:{}[]&*!|>-?, \n\t'\"0.~<", max_size=40))
def test_yaml_of_any_text_is_read_or_refused(text: str) -> None:
    try:
        decode_yaml(text.encode())
    except MalformedBodyError as problem:
        assert str(problem)  # noqa: PT017 - either outcome is right; what matters is that no other error escapes
