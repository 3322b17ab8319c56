"""kro's own functions: seeded randomness, merging, JSON, hashes, `omit()` and conditions."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environments import kro, kubernetes
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.library.kro import hashes
from kubecel.library.kro.json import marshal, unmarshal
from kubecel.library.kro.maps import deep_merge, merge
from kubecel.library.kro.omission import OMIT
from kubecel.library.kro.random import seeded_int, seeded_string
from kubecel.types import DYN
from kubecel.values import INT_MAX, INT_MIN, BoolKey, Duration, Optional, Timestamp, Uint
from packages.kubecel.tests.library.evaluating import failure, in_kro, refusal

json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
maps = st.recursive(
    st.integers(0, 5),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
).filter(lambda value: isinstance(value, dict))


# Seeded randomness


def test_seeded_string_repeats_itself_after_eight_characters() -> None:
    assert seeded_string(40, "seed") == "qakd42wv" * 5
    assert seeded_string(8, "8f14e45f-ceea-4672-a1b2-123456789abc") == "v3pmp4hh"
    assert seeded_string(3, "seed") == "qak"


@given(st.integers(1, 100), st.text(max_size=20))
def test_seeded_string_has_the_length_and_depends_on_the_seed_alone(length: int, seed: str) -> None:
    text = seeded_string(length, seed)

    assert len(text) == length
    assert text == seeded_string(length, seed)
    assert set(text) <= set("0123456789abcdefghijklmnopqrstuvwxyz")


@given(st.integers(INT_MIN, INT_MAX), st.integers(INT_MIN, INT_MAX), st.text(max_size=20))
def test_seeded_int_is_in_its_range(first: int, second: int, seed: str) -> None:
    low, high = sorted((first, second))
    if low < high:
        assert low <= seeded_int(low, high, seed) < high


def test_seeded_int_is_the_one_of_kro() -> None:
    """The first eight bytes of the SHA-256 of `seed` are 19b25856e1c150ca."""
    assert seeded_int(0, 100, "seed") == 0x19B25856E1C150CA % 100
    assert in_kro("random.seededInt(30000, 32768, 'seed')") == 30000 + 0x19B25856E1C150CA % 2768


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("random.seededString(0, 's')", "random.seededString length must be positive"),
        ("random.seededString(-1, 's')", "random.seededString length must be positive"),
        ("random.seededInt(5, 5, 's')", "random.seededInt min must be less than max"),
    ],
)
def test_impossible_randomness_is_an_error(text: str, problem: str) -> None:
    assert failure(text).message == problem


def test_endless_random_strings_are_refused() -> None:
    assert failure("random.seededString(9223372036854775807, 's')").kind is ErrorKind.COST_EXCEEDED
    with pytest.raises(EvaluationError) as caught:
        seeded_string(INT_MAX, "s")
    assert caught.value.kind is ErrorKind.TOO_LARGE


# Merging


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 1}.merge({'b': 2})", {"a": 1, "b": 2}),
        ("{'a': 1}.merge({'a': 2})", {"a": 2}),
        ("{}.merge({})", {}),
        ("{true: 1}.merge({false: 2}).size()", 2),
        ("{1: 'a'}.merge({1: 'b'})[1]", "b"),
        ("{'a': {'x': 1, 'y': 2}}.deepMerge({'a': {'y': 3, 'z': 4}})", {"a": {"x": 1, "y": 3, "z": 4}}),
        ("{'a': [1, 2]}.deepMerge({'a': [3]})", {"a": [3]}),
        ("{'a': {'x': 1}}.deepMerge({'a': null})", {"a": None}),
        ("{'a': 1}.deepMerge({'a': {'x': 1}})", {"a": {"x": 1}}),
    ],
)
def test_second_map_wins(text: str, value: object) -> None:
    assert in_kro(text) == value


def test_merged_types_must_agree_unless_the_merge_is_deep() -> None:
    assert "found no matching overload for 'merge'" in refusal("{'a': 1}.merge({'b': 'x'})", kro())
    assert str(kro().compile("{'a': '1'}.merge({'b': '2'})").type) == "map(string, string)"
    assert str(kro().compile("{'a': 1}.deepMerge({'b': 'x'})").type) == "dyn"
    assert failure("{'a': 1}.deepMerge([1])").kind is ErrorKind.NO_SUCH_OVERLOAD


@given(maps, maps)
def test_deep_merge_changes_neither_map_and_loses_no_key(
    base: dict[str, Any], overrides: dict[str, Any]
) -> None:
    before = json.dumps([base, overrides])
    merged = deep_merge(base, overrides)

    assert json.dumps([base, overrides]) == before
    assert set(merged) == set(base) | set(overrides) == set(merge(base, overrides))
    assert deep_merge(merged, overrides) == merged
    assert deep_merge(base, {}) == base


def test_deep_merge_of_maps_that_hold_themselves_many_times_is_refused() -> None:
    def nested() -> dict[str, Any]:
        value: dict[str, Any] = {"x": 1}
        for _ in range(60):
            value = {"a": value, "b": value}
        return value

    with pytest.raises(EvaluationError) as caught:
        deep_merge(nested(), nested())
    assert caught.value.kind is ErrorKind.TOO_LARGE
    assert failure("a.deepMerge(b)", a=nested(), b=nested()).kind is ErrorKind.COST_EXCEEDED


# JSON


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, "x", null, true]}', {"a": [1.0, "x", None, True]}),
        ("123", 123.0),
        (" [ ] ", []),
        ('"\\u00e9\\ud83d\\ude00"', "é😀"),
        ('"\\ud800x"', "\ufffdx"),
        ('{"a": 1, "a": 2}', {"a": 2.0}),
        ("1" * 300, float("1" * 300)),
    ],
)
def test_every_number_in_json_is_a_double(text: str, value: object) -> None:
    read = unmarshal(text)

    assert read == value
    assert json.dumps(read) == json.dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        "NaN",
        "Infinity",
        "-Infinity",
        "[1,]",
        "1 2",
        "1e999",
        '"\t"',
        "\ufeff1",
        "[" * 100_000,
    ],
)
def test_text_that_is_no_json_is_refused(text: str) -> None:
    error = failure("json.unmarshal(text)", text=text)

    assert error.message.startswith("json.unmarshal failed to parse JSON: ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (-5, "-5"),
        (Uint(5), "5"),
        (1.0, "1"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (-1.5e-10, "-1.5e-10"),
        (1e300, "1e+300"),
        ('é<&>\u2028"\\\n\x01', '"é\\u003c\\u0026\\u003e\\u2028\\"\\\\\\n\\u0001"'),
        ("\ud800", '"\ufffd"'),
        (b"hello", '"aGVsbG8="'),
        (Timestamp(1_500_000_000), '"1970-01-01T00:00:01Z"'),
        (Duration(3_661_500_000_000), '"1h1m1.5s"'),
        (Duration(-1_500), '"-1.5µs"'),
        (Optional.of(1), "1"),
        (Optional.none(), "null"),
        ([1, [2, []]], "[1,[2,[]]]"),
        ({"b": 1, "a": {}}, '{"a":{},"b":1}'),
        (OMIT, "{}"),
    ],
)
def test_values_become_json_as_go_writes_it(value: Any, text: str) -> None:
    assert marshal(value) == text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({1: 2}, "map key must be string, got int"),
        ({BoolKey.TRUE: 2}, "map key must be string"),
        (float("nan"), "unsupported value"),
        (float("inf"), "unsupported value"),
    ],
)
def test_values_without_json_are_refused(value: Any, problem: str) -> None:
    with pytest.raises(EvaluationError, match=problem):
        marshal(value)


def test_types_of_libraries_have_no_json() -> None:
    assert "unsupported type: net.IP" in failure("json.marshal(ip('::1'))").message


@given(json_values)
def test_json_is_read_back_as_it_was_written(value: Any) -> None:
    assert unmarshal(marshal(value)) == value


def test_json_of_a_value_that_holds_itself_many_times_is_refused() -> None:
    nested: list[Any] = ["x" * 10_000]
    for _ in range(60):
        nested = [nested, nested]
    assert failure("json.marshal(v)", v=nested).kind is ErrorKind.COST_EXCEEDED
    with pytest.raises(EvaluationError) as caught:
        marshal(nested)
    assert caught.value.kind is ErrorKind.TOO_LARGE


# Hashes


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("hash.fnv64a('hello')", "pDDYRoCqvQs="),
        ("hash.fnv64a('')", b64encode(bytes.fromhex("cbf29ce484222325")).decode()),
        ("hash.sha256('hello')", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
        ("hash.md5('hello')", "XUFAKrxLKna5cZ2REBfFkg=="),
    ],
)
def test_hashes_are_bytes(text: str, encoded: str) -> None:
    assert in_kro(f"base64.encode({text})") == encoded


def test_hashes_are_of_utf8() -> None:
    assert hashes.sha256_of("é") == sha256("é".encode()).digest()
    assert hashes.fnv64a("é").hex() == "0ac21707b7181e01"


# Omission


def test_omission_is_a_value_of_its_own_that_cannot_be_compared() -> None:
    assert in_kro("omit()") is OMIT
    assert in_kro("true ? omit() : 1") is OMIT
    assert str(kro().compile("omit()").type) == "dyn"
    assert "cannot be compared" in failure("omit() == omit()").message


@pytest.mark.parametrize(
    "text", ["omit()", "random.seededInt(1, 2, 'a')", "{}.merge({})", "json.marshal(1)", "hash.md5('a')"]
)
def test_functions_of_kro_are_unknown_to_kubernetes(text: str) -> None:
    assert "undeclared reference" in refusal(text, kubernetes())


# Conditions


def test_new_condition_has_four_texts() -> None:
    text = "runtime.newCondition({type: 'Up', status: ok ? 'True' : 'False', message: 'm'})"
    assert in_kro(text, ok=True) == {"type": "Up", "status": "True", "reason": "", "message": "m"}
    assert str(kro().compile("runtime.newCondition({type: 'a', status: 'True'})").type) == "kro.run.Condition"
    assert in_kro("runtime.newCondition({type: 'a', status: 'Unknown'}).status") == "Unknown"


def test_conditions_can_be_made_of_lists() -> None:
    text = "names.map(name, runtime.newCondition({type: name, status: 'True'}))"
    assert [one["type"] for one in in_kro(text, names=["a", "b"])] == ["a", "b"]


def test_condition_of_an_object_is_found_or_empty() -> None:
    ready = {"type": "Ready", "status": "True", "reason": "R", "lastTransitionTime": "x", "message": 5}
    subject = {"status": {"conditions": [{"type": "Other"}, ready]}}
    found = in_kro("runtime.condition(it, 'Ready')", it=subject)
    assert found == {"type": "Ready", "status": "True", "reason": "R", "message": ""}
    without: list[dict[str, Any]] = [{}, {"status": {}}, {"status": {"conditions": []}}]
    for absent in without:
        assert in_kro("runtime.condition(it, 'Ready').status == 'True'", it=absent) is False


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("runtime.newCondition(it)", "argument must be a map literal"),
        ("runtime.newCondition({'type': 'a', status: 'True'})", "keys must be bare identifiers"),
        ("runtime.newCondition({why: 'a'})", 'unknown key "why" (allowed: type, status, reason, message)'),
        ("runtime.newCondition({type: 'a', type: 'b', status: 'True'})", 'duplicate key "type"'),
        ("runtime.newCondition({status: 'True'})", "'type' is required"),
        ("runtime.newCondition({type: 'a'})", "'status' is required"),
        ("runtime.condition({}, 'a').colour", "undefined field 'colour'"),
        ("runtime.condition({}, 1)", "found no matching overload for 'condition'"),
    ],
)
def test_conditions_that_are_none_do_not_compile(text: str, complaint: str) -> None:
    assert complaint in refusal(text, kro().extend(variables={"it": DYN}))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("runtime.newCondition({type: it, status: 'True'})", "type must not be empty"),
        (
            "runtime.newCondition({type: 'a', status: it})",
            'status must be one of True, False, Unknown (got "")',
        ),
        ("runtime.newCondition({type: 'a', status: 'True', reason: dyn(1)})", "reason must be a string"),
        ("runtime.condition(it, 'a')", "obj must be an object"),
        ("runtime.condition({'status': it}, 'a')", "obj.status must be an object"),
        ("runtime.condition({'status': {'conditions': it}}, 'a')", "obj.status.conditions must be a list"),
    ],
)
def test_conditions_of_wrong_values_fail_for_good(text: str, complaint: str) -> None:
    error = failure(text, it="")
    assert complaint in error.message
    assert not error.pending


def test_runtime_is_a_name_like_others_elsewhere() -> None:
    assert in_kro("runtime.x", runtime={"x": 1}) == 1
    assert in_kro("it.map(runtime, runtime + 1)", it=[1]) == [2]
    assert kro().compile("runtime.newCondition({type: 'a', status: 'True'})").identifiers == frozenset()
