"""Definitions whose rules are refused: they do not compile, look back where they cannot, or may cost too much."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define_afresh, definition, definition_name, version, widget
from tests.conformance.kinds import DEFINITIONS
from tests.conformance.rules import INTEGER, NUMBERS, PAIRS, TEXT, fields, ruled

UNBOUNDED: JsonObject = {"type": "string"}
UNBOUNDED_LIST: JsonObject = {"type": "array", "items": UNBOUNDED}
UNKNOWN_Q = "undefined field 'q'"
PLAIN = fields(n=INTEGER, s=TEXT)
ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
SPEC = "spec.validation.openAPIV3Schema.properties[spec]"
RULE = f"{SPEC}.x-kubernetes-validations[0]"


def shown(rule: str, message_expression: str = "") -> str:
    """A rule as messages show it."""
    written = {
        "Rule": rule,
        "Message": "",
        "MessageExpression": message_expression,
        "Reason": None,
        "FieldPath": "",
        "OptionalOldSelf": None,
    }
    text = json.dumps(written, separators=(",", ":"))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def pointed(rule: str, column: int, problem: str) -> str:
    """What is wrong with an expression, with a caret below the place."""
    return f"ERROR: <input>:1:{column}: {problem}\n | {rule}\n | {'.' * (column - 1)}^"


def not_compiled(rule: str, column: int, problem: str) -> tuple[JsonObject, str]:
    detail = f"compilation failed: {pointed(rule, column, problem)}"
    return ruled(PLAIN, rule), f"{RULE}.rule: Invalid value: {shown(rule)}: {detail}"


def overpriced(what: str, factor: str) -> str:
    return f"Forbidden: estimated {what} cost exceeds budget by factor of {factor} {ADVICE}"


def one_of(**extra: Any) -> JsonObject:
    return ruled(PLAIN, {"rule": "self.n > 3", **extra})


REFUSED: dict[str, tuple[JsonObject, str]] = {
    "unknown field": not_compiled("self.x > 3", 5, "undefined field 'x'"),
    "unknown name": not_compiled("other == 3", 1, "undeclared reference to 'other' (in container '')"),
    "unknown function": not_compiled("self.s.shout()", 13, "undeclared reference to 'shout' (in container '')"),
    "wrong types": not_compiled(
        "self.s == 3", 8, "found no matching overload for '_==_' applied to '(string, int)'"
    ),
    "mixed list": not_compiled(
        "[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"
    ),
    "bad pattern": not_compiled("self.s.matches('(')", 16, "invalid matches argument"),
    "bad duration": not_compiled("duration('x') == duration('1s')", 10, "invalid duration argument"),
    "hidden metadata": not_compiled("self.metadata.name == 'x'", 5, "undefined field 'metadata'"),
    "no bool": (
        ruled(PLAIN, "self.n"),
        f"{RULE}.rule: Invalid value: {shown('self.n')}: cel expression must evaluate to a bool",
    ),
    "int or string is no bool": (
        ruled(fields(x={"x-kubernetes-int-or-string": True}), "self.x"),
        f"{RULE}.rule: Invalid value: {shown('self.x')}: cel expression must evaluate to a bool",
    ),
    "message that is no text": (
        one_of(messageExpression="self.n"),
        (f"{RULE}.messageExpression: Invalid value: {shown('self.n > 3', 'self.n')}: "
        "messageExpression must evaluate to a string"),
    ),
    "message with unknown field": (
        one_of(messageExpression="self.q"),
        (f"{RULE}.messageExpression: Invalid value: {shown('self.n > 3', 'self.q')}: "
        f"messageExpression compilation failed: {pointed('self.q', 5, UNKNOWN_Q)}"),
    ),
    "blank rule": (one_of(rule="  "), f"{RULE}.rule: Required value: rule is not specified"),
    "blank message": (one_of(message=" "), f'{RULE}.message: Invalid value: " ": must be non-empty if specified'),
    "rule over lines": (
        one_of(rule="self.n\n > 3"),
        f"{RULE}.message: Required value: message must be specified if rule contains line breaks",
    ),
    "unknown reason": (
        one_of(reason="Nope"),
        (f'{RULE}.reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
        '"FieldValueInvalid", "FieldValueRequired"'),
    ),
    "path to nowhere": (one_of(fieldPath=".x"), f'{RULE}.fieldPath: Invalid value: ".x": must be a valid path'),
    "path without a dot": (one_of(fieldPath="n"), f'{RULE}.fieldPath: Invalid value: "n": must be a valid path'),
    "path with a bad key": (
        one_of(fieldPath="['n]"),
        f"{RULE}.fieldPath: Invalid value: \"['n]\": must be a valid path",
    ),
    "optional without looking back": (
        one_of(optionalOldSelf=True),
        f"{RULE}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
    ),
    "looking back at items": (
        fields(list={**NUMBERS, "items": ruled(INTEGER, "self > oldSelf")}),
        (f"{SPEC}.properties[list].items.x-kubernetes-validations[0].rule: Invalid value: \"self > oldSelf\": "
        f"oldSelf cannot be used on the uncorrelatable portion of the schema within {SPEC}.properties[list]"),
    ),
    "default that does not comply": (
        fields(n=ruled({**INTEGER, "default": 1}, "self > 3")),
        f"{SPEC}.properties[n].default: Invalid value: 1: failed rule: self > 3",
    ),
}  # fmt: skip

ACCEPTED: dict[str, JsonObject] = {
    "looking back at keyed items": fields(
        list={**PAIRS, "items": ruled(PAIRS["items"], "self.count >= oldSelf.count")}
    ),
    "looking back at map values": fields(
        m={"type": "object", "additionalProperties": ruled(INTEGER, "self > oldSelf")}
    ),
    "nested loops over bounded lists": ruled(fields(l=NUMBERS), "self.l.all(a, self.l.all(b, a != b || a == b))"),
    "presence tests are free": ruled(fields(s=UNBOUNDED), "has(self.s)"),
    "path into a map": ruled(
        fields(m={"type": "object", "additionalProperties": TEXT}),
        {"rule": "'a' in self.m", "fieldPath": ".m['a']"},
    ),
    "default that complies": fields(n=ruled({**INTEGER, "default": 4}, "self > 3")),
}  # fmt: skip

OVERPRICED: dict[str, tuple[JsonObject, str, str]] = {
    "nested loops": (
        ruled(fields(l=UNBOUNDED_LIST), "self.l.all(a, self.l.all(b, a == b))"),
        f"{RULE}.rule",
        overpriced("rule", "more than 100x"),
    ),
    "unbounded texts in unbounded lists": (
        fields(l={**UNBOUNDED_LIST, "items": ruled(UNBOUNDED, "self.contains('abc')")}),
        f"{SPEC}.properties[l].items.x-kubernetes-validations[0].rule",
        overpriced("rule", "more than 100x"),
    ),
    "a little too much": (
        fields(l={**NUMBERS, "maxItems": 4_000_000, "items": ruled(INTEGER, "self + 1 > 3")}),
        f"{SPEC}.properties[l].items.x-kubernetes-validations[0].rule",
        overpriced("rule", "1.200000x"),
    ),
    "several times too much": (
        fields(l={**NUMBERS, "maxItems": 10_000_000, "items": ruled(INTEGER, "self + 1 > 3")}),
        f"{SPEC}.properties[l].items.x-kubernetes-validations[0].rule",
        overpriced("rule", "3.0x"),
    ),
    "message": (
        ruled(PLAIN, {"rule": "self.n > 3", "messageExpression": "'n is ' + string(self.n)"}),
        f"{RULE}.messageExpression",
        overpriced("messageExpression", "more than 100x"),
    ),
}  # fmt: skip


async def causes_of_refusal(api: Client, schema: JsonObject) -> list[tuple[str, str]]:
    body = definition(widget(), version(schema=fields(spec=schema)))
    status = (await api.create(DEFINITIONS.path(), body, dryRun="All")).refuse(422, "Invalid")
    found = [(cause["field"], cause["message"]) for cause in status["details"]["causes"]]
    return [(field, re.sub(r"selfType\d+", "selfType", message)) for field, message in found]


@pytest.mark.parametrize("case", REFUSED)
async def test_definition_is_refused(api: Client, case: str) -> None:
    schema, problem = REFUSED[case]
    assert [f"{field}: {message}" for field, message in await causes_of_refusal(api, schema)] == [problem]


@pytest.mark.parametrize("case", ACCEPTED)
async def test_definition_is_accepted(api: Client, case: str) -> None:
    body = definition(widget(), version(schema=fields(spec=ACCEPTED[case])))
    (await api.create(DEFINITIONS.path(), body, dryRun="All")).expect(201)


@pytest.mark.parametrize("case", OVERPRICED)
async def test_rule_that_may_cost_too_much_is_refused(api: Client, case: str) -> None:
    schema, path, problem = OVERPRICED[case]
    assert (await causes_of_refusal(api, schema))[0] == (path, problem)


async def test_rules_may_cost_too_much_together(api: Client) -> None:
    dear = ruled(INTEGER, *["self + 1 > 3"] * 11)
    path = f"{SPEC}.properties[l].items"
    causes = await causes_of_refusal(api, fields(l={**NUMBERS, "maxItems": 3_300_000, "items": dear}))
    total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    assert [field.removesuffix("].rule").rpartition("[")[0] for field, _ in causes[:4]] == [
        f"{path}.x-kubernetes-validations"
    ] * 4
    assert {message for _, message in causes[:4]} == {
        "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    }
    assert causes[4:] == [
        (
            SPEC.removesuffix(".properties[spec]"),
            f"Forbidden: {total} exceeds budget by factor of 1.089000x {ADVICE}",
        )
    ]


async def test_rules_are_not_compiled_in_a_broken_schema(api: Client) -> None:
    broken = ruled({**fields(n=INTEGER), "additionalProperties": TEXT}, "self.x")
    beside = ruled(fields(n=INTEGER), "self.x")
    causes = await causes_of_refusal(api, fields(a=broken, b=beside))
    assert [field for field, _ in causes] == [
        f"{SPEC}.properties[a].additionalProperties",
        f"{SPEC}.properties[b].x-kubernetes-validations[0].rule",
    ]


async def test_versions_are_named_if_their_rules_differ(api: Client) -> None:
    versions = [
        version("v1", schema=fields(spec=PLAIN)),
        version("v2", schema=fields(spec=ruled(PLAIN, "self.n")), storage=False),
    ]
    answer = await api.create(DEFINITIONS.path(), definition(widget(), *versions), dryRun="All")
    (cause,) = answer.refuse(422, "Invalid")["details"]["causes"]
    place = "spec.versions[1].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    assert cause["field"] == place


async def test_rules_that_come_with_an_update_are_checked(api: Client) -> None:
    kind = await define_afresh(api, version(schema=fields(spec=PLAIN)))
    changed = definition(kind, version(schema=fields(spec=ruled(PLAIN, "self.n"))))
    answer = await api.patch(DEFINITIONS.path(name=definition_name(kind)), {"spec": changed["spec"]})
    (cause,) = answer.refuse(422, "Invalid")["details"]["causes"]
    assert cause["message"].endswith("cel expression must evaluate to a bool")
