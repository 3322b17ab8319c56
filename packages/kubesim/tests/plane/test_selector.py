"""Selectors: what they match, how they print, and how the server refuses malformed ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.selector import (
    EVERYTHING,
    NOTHING,
    FieldSelector,
    LabelSelector,
    Requirement,
    format_label_selector,
    label_selector_of,
    parse_field_selector,
    parse_label_selector,
)

WEB = {"app": "web", "tier": "front", "replicas": "3", "flag": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("   ", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app=db", False),
        ("missing=web", False),
        ("app!=db", True),
        ("app!=web", False),
        ("missing!=web", True),
        ("app in (web,db)", True),
        ("app in (db)", False),
        ("missing in (web)", False),
        ("app notin (db, cache)", True),
        ("app notin (web)", False),
        ("missing notin (web)", True),
        ("app", True),
        ("missing", False),
        ("!app", False),
        ("!missing", True),
        ("replicas>2", True),
        ("replicas>3", False),
        ("replicas<4", True),
        ("app>2", False),
        ("missing>2", False),
        ("flag=", True),
        ("flag==", True),
        ("flag in ()", True),
        ("flag in (,x)", True),
        ("flag in (x,)", True),
        ("flag in (x,,y)", True),
        ("app in ()", False),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app=web,!missing,replicas", True),
        ("app=,tier", False),
    ],
)
def test_label_selector_matches_as_documented(text: str, expected: bool) -> None:
    assert parse_label_selector(text).matches(WEB) is expected


@pytest.mark.parametrize("labels", [None, {}])
@pytest.mark.parametrize(("text", "expected"), [("", True), ("a", False), ("!a", True), ("a!=b", True)])
def test_label_selector_takes_absent_labels_for_none(
    labels: dict[str, str] | None, text: str, expected: bool
) -> None:
    assert parse_label_selector(text).matches(labels) is expected


def test_label_selector_reads_operator_words_as_keys_and_values_elsewhere() -> None:
    selector = parse_label_selector("in=notin,notin in (in,notin)")
    assert selector.matches({"in": "notin", "notin": "in"})
    assert not selector.matches({"in": "in", "notin": "in"})


def test_label_selector_without_requirements_is_everything() -> None:
    assert parse_label_selector("").everything
    assert EVERYTHING.everything
    assert not parse_label_selector("a").everything


NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
BINARY = "expected: in, notin, =, ==, !=, gt, lt"
REQUIREMENT = "unable to parse requirement: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a in (x", f"{REQUIREMENT}found '', expected: ',' or ')'"),
        ("a in", f"{REQUIREMENT}found '' expected: '('"),
        ("a in x", f"{REQUIREMENT}found 'x' expected: '('"),
        ("a in (=)", f"{REQUIREMENT}found '=', expected: ',', ')' or identifier"),
        ("a in (x y)", f"{REQUIREMENT}found 'y', expected: ',' or ')'"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b,", "found '', expected: identifier after ','"),
        ("a=b,,c=d", "found ',', expected: identifier after ','"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b)", "found ')', expected: ',' or 'end of string'"),
        ("a=b c=d", "found 'c', expected: ',' or 'end of string'"),
        ("a b", f"{REQUIREMENT}found 'b', {BINARY}"),
        ("a gt 1", f"{REQUIREMENT}found 'gt', {BINARY}"),
        ("a!", f"{REQUIREMENT}found '!', {BINARY}"),
        ("a===b", f"{REQUIREMENT}found '=', expected: identifier"),
        ("a=!b", f"{REQUIREMENT}found '!', expected: identifier"),
        ("!", f"{REQUIREMENT}found '', expected: identifier"),
        ("!!a", f"{REQUIREMENT}found '!', expected: identifier"),
        (
            "a>x",
            f"{REQUIREMENT}values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "a>9223372036854775808",
            f"{REQUIREMENT}values[0]: Invalid value: \"9223372036854775808\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("-a=b", f'{REQUIREMENT}<nil>: Invalid value: "-a": name part {NAME_RULE}'),
        ("a=-x-", f'{REQUIREMENT}values[0][a]: Invalid value: "-x-": {VALUE_RULE}'),
        (
            "a in (y-,-x)",
            f'{REQUIREMENT}[values[0][a]: Invalid value: "-x": {VALUE_RULE}, values[1][a]: Invalid value: "y-": {VALUE_RULE}]',
        ),
    ],
)
def test_label_selector_refuses_malformed_text_in_the_servers_words(text: str, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        parse_label_selector(text)
    assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")
    assert refusal.value.message == message


@given(st.text(alphabet="ab=!(),<> in\\\0é1", max_size=30))
def test_label_selector_either_parses_or_refuses_any_text(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except StatusError:
        return
    assert parse_label_selector(format_label_selector(selector)) == selector


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("b=2,a==1", "a==1,b=2"),
        ("a!=x", "a!=x"),
        ("a in (z, b,z)", "a in (b,z)"),
        ("a notin (x)", "a notin (x)"),
        ("!a , b", "!a,b"),
        ("a > 5,b<7", "a>5,b<7"),
        ("a=", "a="),
    ],
)
def test_label_selector_prints_sorted_and_normalised(text: str, printed: str) -> None:
    assert format_label_selector(parse_label_selector(text)) == printed


def test_structured_selector_joins_labels_and_expressions() -> None:
    selector = label_selector_of(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["front", "back"]},
                {"key": "zone", "operator": "NotIn", "values": ["a"]},
                {"key": "replicas", "operator": "Exists"},
                {"key": "canary", "operator": "DoesNotExist", "values": []},
            ],
        }
    )
    assert format_label_selector(selector) == "app=web,!canary,replicas,tier in (back,front),zone notin (a)"
    assert selector.matches(WEB)
    assert not selector.matches({**WEB, "canary": ""})


def test_structured_selector_empty_is_everything_and_absent_is_nothing() -> None:
    assert label_selector_of({}).everything
    assert label_selector_of({"matchLabels": None, "matchExpressions": []}).everything
    assert label_selector_of(None) is NOTHING
    assert not NOTHING.matches(WEB)
    assert not NOTHING.matches(None)
    assert not NOTHING.everything
    assert format_label_selector(NOTHING) == ""


@pytest.mark.parametrize(
    ("structured", "message"),
    [
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            '"Gt" is not a valid label selector operator',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
        ({"matchLabels": {"-a": "b"}}, f'key: Invalid value: "-a": name part {NAME_RULE}'),
    ],
    ids=["operator", "empty-set", "superfluous-values", "key"],
)
def test_structured_selector_refuses_what_the_text_form_would(structured: JsonObject, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        label_selector_of(structured)
    assert refusal.value.message == message


def test_label_selectors_with_equal_requirements_are_equal() -> None:
    assert parse_label_selector("a=b") == LabelSelector((Requirement("a", "=", ("b",)),))
    assert hash(parse_label_selector("a=b")) == hash(label_selector_of({"matchLabels": {"a": "b"}}))


def lookup(path: str) -> str:
    return {"metadata.name": "web", "spec.nodeName": "a,b=c\\d"}.get(path, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        (",", True),
        ("metadata.name=web", True),
        ("metadata.name==web", True),
        ("metadata.name!=web", False),
        ("metadata.name!=db", True),
        ("metadata.name=web,", True),
        ("metadata.name=web,metadata.name=db", False),
        ("spec.missing=", True),
        ("spec.missing!=x", True),
        (r"spec.nodeName=a\,b\=c\\d", True),
    ],
)
def test_field_selector_matches_by_equality(text: str, expected: bool) -> None:
    assert parse_field_selector(text).matches(lookup) is expected


def test_field_selector_lists_its_requirements_in_order_of_the_terms() -> None:
    selector = parse_field_selector("b!=2,a==1")
    assert selector == FieldSelector((("a", "=", "1"), ("b", "!=", "2")))
    assert not selector.everything
    assert parse_field_selector("").everything


def test_field_selector_knows_the_value_that_a_field_must_have() -> None:
    selector = parse_field_selector("metadata.name=web,metadata.namespace!=x")
    assert selector.exact("metadata.name") == "web"
    assert selector.exact("metadata.namespace") is None
    assert selector.exact("spec.nodeName") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a,b", "invalid selector: 'metadata.name=a,b'; can't understand 'b'"),
        ("!x", "invalid selector: '!x'; can't understand '!x'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        (r"metadata.name=a\x", r"invalid field selector: invalid escape sequence: \x"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_field_selector_refuses_malformed_text_in_the_servers_words(text: str, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        parse_field_selector(text)
    assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")
    assert refusal.value.message == message


@given(st.text(max_size=20))
def test_field_selector_reads_back_any_escaped_value(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    assert parse_field_selector(f"a={escaped}") == FieldSelector((("a", "=", value),))
