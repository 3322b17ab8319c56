"""Rules in the long run: what they may cost, and what becomes of objects that were there before them."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, eventually
from tests.conformance.definitions import define_afresh, define_schema, definition, definition_name, version
from tests.conformance.kinds import DEFINITIONS, Kind
from tests.conformance.rules import INTEGER, TEXT, TEXTS, fields, ruled
from tests.conformance.test_rules import explanation

LONG: JsonObject = {"type": "string", "maxLength": 250_000}
EXPENSIVE = f"!self.contains('{'b' * 390}')"
"""Costs nearly all that one call may cost, for the longest text."""


async def test_call_that_costs_too_much_is_cut_off(api: Client, namespace: str) -> None:
    rule = "self.all(a, self.all(b, a >= 0 && b >= 0))"
    kind = await define_schema(
        api, fields(list=ruled({"type": "array", "maxItems": 400, "items": INTEGER}, rule))
    )
    (await api.create(kind.path(namespace), kind.new("one", spec={"list": [*range(100)]}))).expect(201)
    answer = await api.create(kind.path(namespace), kind.new("two", spec={"list": [*range(390)]}))
    assert explanation(answer.refuse(422, "Invalid")) == (
        "spec.list: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': "
        f"no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
    )


async def test_object_that_costs_too_much_is_cut_off(api: Client, namespace: str) -> None:
    kind = await define_schema(api, fields(text=ruled(LONG, *[EXPENSIVE] * 11, "false")))
    short = await api.create(kind.path(namespace), kind.new("one", spec={"text": "a" * 1000}))
    assert explanation(short.refuse(422, "Invalid")).endswith("failed rule: false")
    answer = await api.create(kind.path(namespace), kind.new("two", spec={"text": "a" * 250_000}))
    assert explanation(answer.refuse(422, "Invalid")) == (
        'spec.text: Invalid value: "string": validation failed due to running out of cost budget, '
        "no further validation rules will be run"
    )


# --- rules that come later than objects ---


async def restricted(api: Client, kind: Kind, schema: JsonObject) -> None:
    """Replace the schema of a kind, and wait until the server follows."""
    body = definition(kind, version(schema=fields(spec=schema)))
    path = DEFINITIONS.path(name=definition_name(kind))
    (await api.patch(path, {"spec": body["spec"]})).expect(200)

    async def followed() -> bool | None:
        probe = await api.create(kind.path("default"), kind.new("probe", spec={"probe": 1}), dryRun="All")
        return True if probe.status == 422 else None

    await eventually(followed, what="the new schema is followed")


OPEN = fields(probe=INTEGER, n=INTEGER, other=TEXT, list=TEXTS)
STRICT = fields(
    probe=ruled(INTEGER, "self != 1"),
    n=ruled(INTEGER, "self > 3"),
    other=TEXT,
    list=ruled({**TEXTS, "items": ruled(TEXT, "self != 'x'")}, "self.size() > 1"),
)


async def test_values_from_before_are_tolerated_with_a_warning(api: Client, namespace: str) -> None:
    kind = await define_afresh(api, version(schema=fields(spec=OPEN)))
    body = kind.new("one", spec={"n": 1, "list": ["x"]})
    (await api.create(kind.path(namespace), body)).expect(201)
    await restricted(api, kind, STRICT)
    answer = await api.patch(kind.path(namespace, "one"), {"spec": {"other": "changed"}})
    answer.expect(200)
    assert sorted(answer.warnings) == [
        '299 - "spec.list: Invalid value: failed rule: self.size() > 1"',
        '299 - "spec.list[0]: Invalid value: \\"x\\": failed rule: self != \'x\'"',
        '299 - "spec.n: Invalid value: 1: failed rule: self > 3"',
    ]
    changed = await api.patch(kind.path(namespace, "one"), {"spec": {"n": 2}})
    assert explanation(changed.refuse(422, "Invalid")) == "spec.n: Invalid value: 2: failed rule: self > 3"
    assert sorted(changed.warnings) == sorted(answer.warnings)[:2]
    longer = await api.patch(kind.path(namespace, "one"), {"spec": {"list": ["x", "y"]}})
    assert explanation(longer.refuse(422, "Invalid")) == (
        "spec.list[0]: Invalid value: \"x\": failed rule: self != 'x'"
    )


async def test_rules_that_fail_are_not_tolerated(api: Client, namespace: str) -> None:
    kind = await define_afresh(api, version(schema=fields(spec=OPEN)))
    (await api.create(kind.path(namespace), kind.new("one", spec={"n": 0}))).expect(201)
    broken = fields(probe=ruled(INTEGER, "self != 1"), n=ruled(INTEGER, "6 / self == 2"), other=TEXT)
    await restricted(api, kind, broken)
    answer = await api.patch(kind.path(namespace, "one"), {"spec": {"other": "changed"}})
    assert explanation(answer.refuse(422, "Invalid")) == (
        'spec.n: Invalid value: "integer": division by zero evaluating rule: 6 / self == 2'
    )


async def test_transition_rules_bind_objects_from_before(api: Client, namespace: str) -> None:
    kind = await define_afresh(api, version(schema=fields(spec=OPEN)))
    (await api.create(kind.path(namespace), kind.new("one", spec={"n": 1}))).expect(201)
    fixed = fields(probe=ruled(INTEGER, "self != 1"), n=ruled(INTEGER, "self == oldSelf"), other=TEXT)
    await restricted(api, kind, fixed)
    (await api.patch(kind.path(namespace, "one"), {"spec": {"other": "changed"}})).expect(200)
    answer = await api.patch(kind.path(namespace, "one"), {"spec": {"n": 2}})
    assert explanation(answer.refuse(422, "Invalid")) == (
        "spec.n: Invalid value: 2: failed rule: self == oldSelf"
    )
