"""Validation rules on objects: what complies is stored, what does not is refused in words that say why."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define, define_schema, version
from tests.conformance.kinds import Kind
from tests.conformance.rules import (
    INTEGER,
    NUMBERS,
    PAIRS,
    SET,
    TEXT,
    TEXTS,
    fields,
    formatted,
    map_of,
    ruled,
)

EMBEDDED: JsonObject = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
INT_OR_STRING: JsonObject = {"x-kubernetes-int-or-string": True}
OVERLOAD = "call arguments did not match a supported operator, function or macro signature for rule"
ESCAPED = "self.my__dash__port > 0 && self.__namespace__ == 'x' && self.?a__dot__b__slash__c.orValue(1) == 1"
NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

# One field per case: its schema, a value that complies, one that does not, and where and why it does not.
CASES: dict[str, tuple[JsonObject, Any, Any, str]] = {
    "object": (
        ruled(fields(n=INTEGER), "self.n > 3"),
        {"n": 4},
        {"n": 3},
        ": Invalid value: failed rule: self.n > 3",
    ),
    "integer": (ruled(INTEGER, "self > 3"), 4, 3, ": Invalid value: 3: failed rule: self > 3"),
    "number": (
        ruled({"type": "number"}, "self > 3.5"),
        4,
        3.25,
        ": Invalid value: 3.25: failed rule: self > 3.5",
    ),
    "wholeNumber": (
        ruled({"type": "number"}, "self / 2.0 > 1.5"),
        4,
        3,
        ": Invalid value: 3: failed rule: self / 2.0 > 1.5",
    ),
    "boolean": (ruled({"type": "boolean"}, "self"), True, False, ": Invalid value: false: failed rule: self"),
    "text": (
        ruled(TEXT, "self.startsWith('a')"),
        "abc",
        'b"c',
        ": Invalid value: \"b\\\"c\": failed rule: self.startsWith('a')",
    ),
    "list": (
        ruled(TEXTS, "self.size() > 1"),
        ["a", "b"],
        ["a"],
        ": Invalid value: failed rule: self.size() > 1",
    ),
    "items": (
        {**NUMBERS, "items": ruled(INTEGER, "self > 0")},
        [1, 2],
        [1, 0],
        "[1]: Invalid value: 0: failed rule: self > 0",
    ),
    "mapValues": (
        map_of(ruled(INTEGER, "self > 0")),
        {"a": 1},
        {"a": 0},
        "[a]: Invalid value: 0: failed rule: self > 0",
    ),
    "message": (
        ruled(INTEGER, {"rule": "self > 3", "message": " must be more "}),
        4,
        3,
        ": Invalid value: 3: must be more",
    ),
    "messageExpression": (
        ruled(TEXT, {"rule": "self.size() > 3", "messageExpression": "'not ' + self", "message": "unused"}),
        "long",
        "x",
        ': Invalid value: "x": not x',
    ),
    "messageExpressionFails": (
        ruled(
            TEXT, {"rule": "self.size() > 3", "messageExpression": "self.substring(5)", "message": "instead"}
        ),
        "long",
        "x",
        ': Invalid value: "x": instead',
    ),
    "messageExpressionWithLineBreak": (
        ruled(TEXT, {"rule": "self.size() > 3", "messageExpression": "'a\\n' + self"}),
        "long",
        "x",
        ': Invalid value: "x": failed rule: self.size() > 3',
    ),
    "messageExpressionBlank": (
        ruled(TEXT, {"rule": "self.size() > 3", "messageExpression": "'  '", "message": "instead"}),
        "long",
        "x",
        ': Invalid value: "x": instead',
    ),
    "reasonForbidden": (
        ruled(INTEGER, {"rule": "self > 3", "reason": "FieldValueForbidden"}),
        4,
        3,
        ": Forbidden: failed rule: self > 3",
    ),
    "reasonRequired": (
        ruled(fields(n=INTEGER), {"rule": "has(self.n)", "reason": "FieldValueRequired", "fieldPath": ".n"}),
        {"n": 1},
        {},
        ".n: Required value: failed rule: has(self.n)",
    ),
    "reasonDuplicate": (
        ruled(INTEGER, {"rule": "self > 3", "reason": "FieldValueDuplicate", "message": "unused"}),
        4,
        3,
        ": Duplicate value: 3",
    ),
    "fieldPathIntoMap": (
        ruled(fields(m=map_of(INTEGER)), {"rule": "'a.b' in self.m", "fieldPath": ".m['a.b']"}),
        {"m": {"a.b": 1}},
        {"m": {}},
        ".m[a.b]: Invalid value: failed rule: 'a.b' in self.m",
    ),
    "missingField": (
        ruled(fields(n=INTEGER), "self.n > 3"),
        {"n": 4},
        {},
        ': Invalid value: "object": no such key: n evaluating rule: self.n > 3',
    ),
    "missingIndex": (
        ruled(NUMBERS, {"rule": "self[1] > 3", "message": "second"}),
        [1, 4],
        [1],
        ': Invalid value: "array": index out of bounds: 1 evaluating rule: second',
    ),
    "divisionByZero": (
        ruled(INTEGER, "6 / self == 2"),
        3,
        0,
        ': Invalid value: "integer": division by zero evaluating rule: 6 / self == 2',
    ),
    "overflow": (
        ruled(INTEGER, "self * 9223372036854775807 > 0"),
        1,
        2,
        ': Invalid value: "integer": integer overflow evaluating rule: self * 9223372036854775807 > 0',
    ),
    "intOrString": (
        ruled(INT_OR_STRING, "self == 3 || self == 'a'"),
        "a",
        "b",
        ": Invalid value: \"b\": failed rule: self == 3 || self == 'a'",
    ),
    "intOrStringCompared": (
        ruled(INT_OR_STRING, "self > 3"),
        4,
        "a",
        f": Invalid value: \"\": 'no such overload': {OVERLOAD}: self > 3",
    ),
    "nullIsAbsent": (
        ruled(fields(n={**INTEGER, "nullable": True}), "!has(self.n)"),
        {"n": None},
        {"n": 1},
        ": Invalid value: failed rule: !has(self.n)",
    ),
    "escapedNames": (
        ruled(
            fields(**{"my-port": INTEGER, "namespace": TEXT, "a.b/c": INTEGER}),
            ESCAPED,
        ),
        {"my-port": 1, "namespace": "x"},
        {"my-port": 1, "namespace": "x", "a.b/c": 2},
        f": Invalid value: failed rule: {ESCAPED}",
    ),
    "embedded": (
        ruled(EMBEDDED, "self.kind == 'Pod' && self.metadata.name.startsWith('a')"),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "abc"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "xyz"}},
        ": Invalid value: failed rule: self.kind == 'Pod' && self.metadata.name.startsWith('a')",
    ),
    "date": (
        ruled(formatted("date"), "self > timestamp('2020-01-01T00:00:00Z')"),
        "2021-01-01",
        "2019-01-01",
        ": Invalid value: \"2019-01-01\": failed rule: self > timestamp('2020-01-01T00:00:00Z')",
    ),
    "dateTime": (
        ruled(formatted("date-time"), "self.getFullYear() == 2020"),
        "2020-05-01T10:00:00+02:00",
        "2019-05-01T10:00:00Z",
        ': Invalid value: "2019-05-01T10:00:00Z": failed rule: self.getFullYear() == 2020',
    ),
    "duration": (
        ruled(formatted("duration"), "self < duration('1h')"),
        "59m",
        "61m",
        ": Invalid value: \"61m\": failed rule: self < duration('1h')",
    ),
    "bytes": (
        ruled(formatted("byte"), "self == b'hello'"),
        "aGVsbG8=",
        "aGVsbA==",
        ": Invalid value: \"aGVsbA==\": failed rule: self == b'hello'",
    ),
    "setEquality": (
        ruled(SET, "self == ['a', 'b']"),
        ["b", "a"],
        ["a", "c"],
        ": Invalid value: failed rule: self == ['a', 'b']",
    ),
    "setSum": (
        ruled(SET, "size(self + ['a']) == 2"),
        ["b", "a"],
        ["b", "c"],
        ": Invalid value: failed rule: size(self + ['a']) == 2",
    ),
    "ipAddress": (ruled(TEXT, "ip(self).family() == 4"), "10.0.0.1", "::1", ': Invalid value: "::1": failed rule: ip(self).family() == 4'),
    "cidr": (
        ruled(TEXT, "cidr(self).containsIP('10.0.0.1')"),
        "10.0.0.0/8",
        "11.0.0.0/8",
        ": Invalid value: \"11.0.0.0/8\": failed rule: cidr(self).containsIP('10.0.0.1')",
    ),
    "quantity": (
        ruled(TEXT, "quantity(self).isLessThan(quantity('1Gi'))"),
        "512Mi",
        "2G",
        ": Invalid value: \"2G\": failed rule: quantity(self).isLessThan(quantity('1Gi'))",
    ),
    "quantityOfNothing": (
        ruled(TEXT, "quantity(self).isInteger()"),
        "7",
        "seven",
        f': Invalid value: "string": {NO_QUANTITY} evaluating rule: quantity(self).isInteger()',
    ),
    "url": (
        ruled(TEXT, "url(self).getHost() == 'example.com'"),
        "https://example.com/a",
        "https://example.org/a",
        ": Invalid value: \"https://example.org/a\": failed rule: url(self).getHost() == 'example.com'",
    ),
    "semver": (
        ruled(TEXT, "semver(self).major() == 1"),
        "1.2.3",
        "2.0.0",
        ': Invalid value: "2.0.0": failed rule: semver(self).major() == 1',
    ),
    "namedFormat": (
        ruled(TEXT, "!format.dns1123Label().validate(self).hasValue()"),
        "abc",
        "A_C",
        ': Invalid value: "A_C": failed rule: !format.dns1123Label().validate(self).hasValue()',
    ),
    "regex": (
        ruled(TEXT, "self.find('[0-9]+') == '12' && self.matches('^a')"),
        "a12",
        "b12",
        ": Invalid value: \"b12\": failed rule: self.find('[0-9]+') == '12' && self.matches('^a')",
    ),
    "sorted": (
        ruled(NUMBERS, "self.isSorted() && self.sum() > 5 && self.indexOf(3) == 1"),
        [1, 3, 4],
        [3, 1, 4],
        ": Invalid value: failed rule: self.isSorted() && self.sum() > 5 && self.indexOf(3) == 1",
    ),
    "sets": (
        ruled(NUMBERS, "sets.contains(self, [1, 2])"),
        [2, 3, 1],
        [1],
        ": Invalid value: failed rule: sets.contains(self, [1, 2])",
    ),
    "strings": (
        ruled(TEXT, "self.split(',').size() == 2 && self.replace('a', 'b').upperAscii() == 'B,B'"),
        "a,b",
        "a",
        ": Invalid value: \"a\": failed rule: self.split(',').size() == 2 && self.replace('a', 'b').upperAscii() == 'B,B'",
    ),
    "twoVariables": (
        ruled(map_of(INTEGER), "self.all(k, v, size(k) == v)"),
        {"ab": 2},
        {"ab": 1},
        ": Invalid value: failed rule: self.all(k, v, size(k) == v)",
    ),
}  # fmt: skip

TRANSITIONS: dict[str, tuple[JsonObject, Any, Any, str | None]] = {
    "mayGrow": (ruled(INTEGER, "self >= oldSelf"), 1, 2, None),
    "mayNotShrink": (ruled(INTEGER, "self >= oldSelf"), 2, 1, ": Invalid value: 1: failed rule: self >= oldSelf"),
    "mayBeRemoved": (ruled(INTEGER, "self == oldSelf"), 1, None, None),
    "mayBeAdded": (ruled(INTEGER, "self == oldSelf"), None, 1, None),
    "optionalAdded": (
        ruled(INTEGER, {"rule": "self == oldSelf.orValue(1)", "optionalOldSelf": True}),
        None,
        2,
        ": Invalid value: 2: failed rule: self == oldSelf.orValue(1)",
    ),
    "optionalChanged": (
        ruled(INTEGER, {"rule": "self >= oldSelf.orValue(1)", "optionalOldSelf": True}),
        1,
        2,
        None,
    ),
    "messageOfChange": (
        ruled(TEXT, {"rule": "self == oldSelf", "messageExpression": "'was ' + oldSelf"}),
        "a",
        "b",
        ': Invalid value: "b": was a',
    ),
    "setOrder": (ruled(SET, "self == oldSelf"), ["a", "b"], ["b", "a"], None),
    "setContent": (ruled(SET, "self == oldSelf"), ["a"], ["b"], ": Invalid value: failed rule: self == oldSelf"),
    "listOrder": (
        ruled(TEXTS, "self == oldSelf"),
        ["a", "b"],
        ["b", "a"],
        ": Invalid value: failed rule: self == oldSelf",
    ),
    "pairsOrder": (ruled(PAIRS, "self == oldSelf"), [{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}], None),
    "pairsContent": (
        ruled(PAIRS, "self == oldSelf"),
        [{"name": "a"}],
        [{"name": "a", "count": 1}],
        ": Invalid value: failed rule: self == oldSelf",
    ),
    "itemByKey": (
        {**PAIRS, "items": ruled(PAIRS["items"], "self.count >= oldSelf.count")},
        [{"name": "a", "count": 1}, {"name": "b", "count": 5}],
        [{"name": "b", "count": 2}, {"name": "c", "count": 0}],
        "[0]: Invalid value: failed rule: self.count >= oldSelf.count",
    ),
    "mapByKey": (
        map_of(ruled(INTEGER, "self >= oldSelf")),
        {"a": 1, "b": 5},
        {"b": 2, "c": 0},
        "[b]: Invalid value: 2: failed rule: self >= oldSelf",
    ),
}  # fmt: skip


async def kind_of_cases(api: Client) -> Kind:
    return await define_schema(api, fields(**{name: case[0] for name, case in CASES.items()}))


async def kind_of_transitions(api: Client) -> Kind:
    return await define_schema(api, fields(**{name: case[0] for name, case in TRANSITIONS.items()}))


def explanation(status: JsonObject) -> str:
    """Why an object is invalid, without the part that names it."""
    message: str = status["message"]
    return message.partition(" is invalid: ")[2]


@pytest.mark.parametrize("case", CASES)
async def test_value_that_complies_is_accepted(api: Client, namespace: str, case: str) -> None:
    kind = await kind_of_cases(api)
    body = kind.new("one", spec={case: CASES[case][1]})
    (await api.create(kind.path(namespace), body)).expect(201)


@pytest.mark.parametrize("case", CASES)
async def test_value_that_does_not_comply_is_refused(api: Client, namespace: str, case: str) -> None:
    kind = await kind_of_cases(api)
    _, _, value, problem = CASES[case]
    answer = await api.create(kind.path(namespace), kind.new("one", spec={case: value}))
    assert explanation(answer.refuse(422, "Invalid")) == f"spec.{case}{problem}"


@pytest.mark.parametrize("case", TRANSITIONS)
async def test_change_is_judged_by_what_was_before(api: Client, namespace: str, case: str) -> None:
    kind = await kind_of_transitions(api)
    _, before, after, problem = TRANSITIONS[case]
    spec = {} if before is None else {case: before}
    (await api.create(kind.path(namespace), kind.new("one", spec=spec))).expect(201)
    answer = await api.patch(kind.path(namespace, "one"), {"spec": {case: after}})
    if problem is None:
        answer.expect(200)
    else:
        assert explanation(answer.refuse(422, "Invalid")) == f"spec.{case}{problem}"


async def test_optional_old_value_lets_rules_see_creations(api: Client, namespace: str) -> None:
    kind = await kind_of_transitions(api)
    answer = await api.create(kind.path(namespace), kind.new("one", spec={"optionalAdded": 2}))
    answer.refuse(422, "Invalid")
    (await api.create(kind.path(namespace), kind.new("one", spec={"optionalAdded": 1}))).expect(201)


async def test_all_broken_rules_are_named_with_their_reasons(api: Client, namespace: str) -> None:
    kind = await kind_of_cases(api)
    spec = {"integer": 3, "reasonForbidden": 3, "items": [0]}
    status = (await api.create(kind.path(namespace), kind.new("one", spec=spec))).refuse(422, "Invalid")
    causes = [(cause["field"], cause["reason"]) for cause in status["details"]["causes"]]
    assert sorted(causes) == [
        ("spec.integer", "FieldValueInvalid"),
        ("spec.items[0]", "FieldValueInvalid"),
        ("spec.reasonForbidden", "FieldValueForbidden"),
    ]


async def test_rules_wait_until_the_rest_is_valid(api: Client, namespace: str) -> None:
    kind = await kind_of_cases(api)
    spec = {"integer": "three", "reasonForbidden": 3}
    status = (await api.create(kind.path(namespace), kind.new("one", spec=spec))).refuse(422, "Invalid")
    assert {cause["field"] for cause in status["details"]["causes"]} == {"spec.integer", "<nil>"}


async def test_rules_apply_to_patches_and_applied_configurations(api: Client, namespace: str) -> None:
    kind = await kind_of_cases(api)
    (await api.create(kind.path(namespace), kind.new("one", spec={"integer": 4}))).expect(201)
    problem = "spec.integer: Invalid value: 3: failed rule: self > 3"
    bodies = [
        await api.patch(kind.path(namespace, "one"), {"spec": {"integer": 3}}),
        await api.apply(
            kind.path(namespace, "one"), kind.new("one", spec={"integer": 3}), "me", force="true"
        ),
        await api.apply(kind.path(namespace, "two"), kind.new("two", spec={"integer": 3}), "me"),
    ]
    assert [explanation(answer.refuse(422, "Invalid")) for answer in bodies] == [problem] * 3


# --- the whole object ---


def whole(*rules: str | JsonObject, **extra: Any) -> JsonObject:
    schema = fields(spec=fields(n=INTEGER), status=fields(n=ruled(INTEGER, "self >= 0")))
    return version(schema=ruled(schema, *rules), **extra)


async def test_rules_of_the_object_see_its_names(api: Client, namespace: str) -> None:
    rules = ("self.metadata.name.startsWith('a')", "self.kind == 'Widget' && self.apiVersion.endsWith('/v1')")
    kind = await define(api, whole(*rules))
    (await api.create(kind.path(namespace), kind.new("abc"))).expect(201)
    status = (await api.create(kind.path(namespace), kind.new("xyz"))).refuse(422, "Invalid")
    assert explanation(status) == f"<nil>: Invalid value: failed rule: {rules[0]}"
    assert status["details"]["causes"][0]["field"] == "<nil>"


async def test_rules_of_the_object_can_blame_a_field(api: Client, namespace: str) -> None:
    kind = await define(api, whole({"rule": "!has(self.spec) || self.spec.n > 2", "fieldPath": ".spec.n"}))
    answer = await api.create(kind.path(namespace), kind.new("one", spec={"n": 1}))
    problem = "spec.n: Invalid value: failed rule: !has(self.spec) || self.spec.n > 2"
    assert explanation(answer.refuse(422, "Invalid")) == problem


async def test_rules_apply_to_status_too(api: Client, namespace: str) -> None:
    kind = await define(api, whole("!has(self.status) || self.status.n < 9", subresources={"status": {}}))
    (await api.create(kind.path(namespace), kind.new("one"))).expect(201)
    path = kind.path(namespace, "one", "status")
    (await api.patch(path, {"status": {"n": 1}})).expect(200)
    refusals = [(await api.patch(path, {"status": {"n": n}})).refuse(422, "Invalid") for n in (-1, 9)]
    assert [explanation(status) for status in refusals] == [
        "status.n: Invalid value: -1: failed rule: self >= 0",
        "<nil>: Invalid value: failed rule: !has(self.status) || self.status.n < 9",
    ]
