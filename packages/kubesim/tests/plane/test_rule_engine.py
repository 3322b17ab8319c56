"""Validation rules where the wire shows too little: budgets, leniency, laziness and definitions from before."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import Budget, RuleCheck, check_structural, compile_schema
from edgekeeper.schema.field_error import FieldError
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.expressions import LateRules
from kubesim.plane.kinds.gateway import gateway_crds

INTEGER: JsonObject = {"type": "integer"}
LONG: JsonObject = {"type": "string", "maxLength": 250_000}
RULES = LateRules()
SPENT = "failed due to running out of cost budget, no further validation rules will be run"


def ruled(schema: JsonObject, *rules: str | JsonObject) -> JsonObject:
    written = [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]
    return {**schema, "x-kubernetes-validations": written}


def kind_of(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def check_of(schema: JsonObject, budget: Budget | None = None, *, root: bool = False) -> RuleCheck:
    rules = schema["x-kubernetes-validations"]
    return RULES.compile_rules(rules, schema, root=root, budget=budget or Budget())


def told(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


def definition_errors(spec: JsonObject, **options: Any) -> list[str]:
    return told(check_structural(kind_of(**spec), "schema", rules=RULES, **options))


# --- budgets ---


def test_evaluation_is_paid_from_the_budget_of_the_object() -> None:
    budget = Budget(100)
    assert check_of(ruled(INTEGER, "self > 3"), budget)(4, None, "n", False) == []
    assert budget.left == 98


def test_failed_evaluation_is_paid_for_too() -> None:
    budget = Budget(100)
    (error,) = check_of(ruled(INTEGER, "1 / self > 3"), budget)(0, None, "n", False)
    assert (budget.left < 100, error.detail) == (True, "division by zero evaluating rule: 1 / self > 3")


def test_rules_end_when_the_budget_does() -> None:
    budget = Budget(3)
    check = check_of(ruled(INTEGER, "self > 3", "self > 4", "self > 5"), budget)
    assert told(check(1, None, "n", False)) == [
        "n: Invalid value: 1: failed rule: self > 3",
        f'n: Invalid value: "integer": validation {SPENT}',
    ]
    assert budget.left == -1
    assert check(1, None, "n", False) == []


def test_rules_do_not_begin_without_a_budget() -> None:
    budget = Budget(0)
    assert told(check_of(ruled(INTEGER, "true"), budget)(1, None, "n", False)) == [
        f'n: Invalid value: "integer": validation {SPENT}'
    ]
    assert budget.left == -1


def test_messages_are_paid_from_the_same_budget() -> None:
    rule = {"rule": "self.size() > 9", "messageExpression": "self + self", "fieldPath": ""}
    budget = Budget(4)
    assert told(check_of(ruled(LONG, rule, "false"), budget)("a", None, "s", False)) == [
        f's: Invalid value: "string": messageExpression evaluation {SPENT}'
    ]


def test_message_that_costs_too_much_ends_all_rules() -> None:
    dear = f"self.contains('{'b' * 400}') ? 'a' : 'b'"
    check = check_of(ruled(LONG, {"rule": "false", "messageExpression": dear}, "self == ''"))
    (error,) = check("a" * 250_000, None, "s", False)
    assert error.detail == (
        "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
        f'"{dear}"'
    )


def test_budget_is_full_again_for_each_object() -> None:
    schema = compile_schema(
        kind_of(s=ruled(LONG, *[f"!self.contains('{'b' * 390}')"] * 11)), rules=LateRules()
    )
    dear, cheap = {"spec": {"s": "a" * 250_000}}, {"spec": {"s": "a"}}
    assert [error.detail for error in schema.validate(dear)] == [f"validation {SPENT}"]
    assert schema.validate(cheap) == []


def test_budget_is_shared_by_all_places_of_an_object() -> None:
    dear = ruled(LONG, *[f"!self.contains('{'b' * 390}')"] * 6)
    schema = compile_schema(kind_of(a=dear, b=dear, c=ruled(INTEGER, "false")), rules=LateRules())
    errors = schema.validate({"spec": {"a": "a" * 250_000, "b": "a" * 250_000, "c": 1}})
    assert [(error.field, error.detail) for error in errors] == [("spec.b", f"validation {SPENT}")]


# --- what was there before ---


@pytest.mark.parametrize(
    ("rule", "tolerated"),
    [("self > 3", True), ("self > 3 && oldSelf > 3", False)],
    ids=["plain", "transition"],
)
def test_unchanged_values_are_tolerated_unless_the_rule_looks_back(rule: str, tolerated: bool) -> None:
    (error,) = check_of(ruled(INTEGER, rule))(1, 1, "n", True)
    assert error.tolerated is tolerated


def test_rules_that_no_longer_compile_are_reported_for_each_value() -> None:
    (error,) = check_of(ruled(INTEGER, "self.x"))(1, None, "n", False)
    assert error.detail.startswith("rule compile error: compilation failed: ERROR: <input>:1:5: ")


def test_messages_that_no_longer_compile_are_left_out() -> None:
    rule = {"rule": "self > 3", "messageExpression": "self.x", "fieldPath": ".gone", "message": "more"}
    assert told(check_of(ruled(INTEGER, rule))(1, None, "n", False)) == ["n: Invalid value: 1: more"]


def test_message_sees_no_old_value_unless_a_rule_does() -> None:
    asks = {"rule": "self > 3", "messageExpression": "'was ' + string(oldSelf)"}
    assert told(check_of(ruled(INTEGER, asks))(1, 2, "n", False)) == [
        "n: Invalid value: 1: failed rule: self > 3"
    ]
    assert told(check_of(ruled(INTEGER, asks, "self != oldSelf"))(1, 2, "n", False)) == [
        "n: Invalid value: 1: was 2"
    ]


def test_values_without_a_type_are_not_visible() -> None:
    assert check_of(ruled({"x-kubernetes-preserve-unknown-fields": True}, "false"))(1, None, "n", False) == []


def test_long_messages_are_not_shown() -> None:
    rule = {"rule": "false", "messageExpression": "self", "message": "too long"}
    check = check_of(ruled(LONG, rule))
    texts = ("a" * 5120, "a" * 5121)
    assert [check(text, None, "s", False)[0].detail == text for text in texts] == [True, False]


# --- definitions ---


def test_rules_that_were_accepted_before_may_be_expensive() -> None:
    items = {"type": "array", "maxItems": 4_000_000, "items": ruled(INTEGER, "self + 1 > 3")}
    assert len(definition_errors({"list": items})) == 1
    assert definition_errors({"list": items}, seen_before=True) == []


def test_rules_may_not_cost_too_much_together_even_if_accepted_before() -> None:
    items = {"type": "array", "maxItems": 3_400_000, "items": ruled(INTEGER, *["self + 1 > 3"] * 10)}
    assert len(definition_errors({"list": items}, seen_before=True)) == 5


def test_rules_on_what_has_no_type_are_refused() -> None:
    (error,) = definition_errors({"any": ruled({"x-kubernetes-preserve-unknown-fields": True}, "true")})
    assert error == (
        "schema.properties[spec].properties[any].x-kubernetes-validations: Internal error: internal error: failed to "
        "construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL "
        "declarations"
    )


@pytest.mark.parametrize("limits", [(10, 20), (0, 5), (-1, 7)], ids=["bounded", "empty", "negative"])
def test_bounds_of_nested_lists_multiply(limits: tuple[int, int]) -> None:
    outer, inner = limits
    rule = ruled(INTEGER, "self + 1 > 3")
    nested = {"type": "array", "maxItems": inner * 50_000, "items": rule}
    errors = definition_errors({"list": {"type": "array", "maxItems": outer, "items": nested}})
    assert bool(errors) is (max(0, outer) * inner * 50_000 * 3 > 10_000_000)


@pytest.mark.parametrize(
    ("default", "problem"),
    [(5, None), (2, "failed rule: self > 3"), (0, "division by zero evaluating rule: 6 / self > 0")],
)
def test_defaults_must_comply(default: int, problem: str | None) -> None:
    schema = ruled({**INTEGER, "default": default}, "6 / self > 0", "self > 3 || self == 0")
    errors = check_structural(kind_of(n=schema), "schema", rules=RULES)
    expected = [] if problem is None else [problem.replace("self > 3", "self > 3 || self == 0")]
    assert [error.detail for error in errors] == expected
    assert not any(error.tolerated for error in errors)


def test_defaults_must_comply_where_they_are_new() -> None:
    rule = {"rule": "oldSelf.hasValue()", "optionalOldSelf": True}
    errors = definition_errors({"n": ruled({**INTEGER, "default": 1}, rule)})
    assert errors == [
        "schema.properties[spec].properties[n].default: Invalid value: 1: failed rule: oldSelf.hasValue()"
    ]


@pytest.mark.parametrize("definition", gateway_crds(), ids=lambda tree: tree["metadata"]["name"])
def test_definitions_that_servers_bring_along_have_sound_rules(definition: JsonObject) -> None:
    for version in definition["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        assert check_structural(schema, "schema", status=True, rules=RULES) == []


# --- only when needed ---


async def test_server_without_rules_never_loads_the_language() -> None:
    rules = LateRules()
    async with Plane(PlaneConfig(rules=rules)):
        assert "_engine" not in vars(rules)
    assert check_structural(kind_of(n=INTEGER), "schema", rules=rules) == []
    compile_schema(kind_of(n=INTEGER), rules=rules).validate({"spec": {"n": 1}})
    assert "_engine" not in vars(rules)


async def test_rules_can_be_switched_off() -> None:
    schema = compile_schema(kind_of(n=ruled(INTEGER, "false")), rules=PlaneConfig(rules=None).rules)
    assert schema.validate({"spec": {"n": 1}}) == []
