"""The seam for validation rules: who is called, with what, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import Budget, RuleCheck, check_structural, compile_schema
from edgekeeper.schema.field_error import FieldError, invalid_value

RULES = {"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
STRING = {"type": "string"}
SKIPPED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


@dataclass
class Recorder:
    """A rule engine that notes its calls and finds fault with every value."""

    compiled: list[tuple[list[JsonObject], bool]] = field(default_factory=list)
    calls: list[tuple[Any, Any, str, bool]] = field(default_factory=list)

    def compile_rules(
        self, rules: list[JsonObject], schema: JsonObject, *, root: bool, budget: Budget
    ) -> RuleCheck:
        self.compiled.append((rules, root))

        def check(value: Any, old: Any, path: str, unchanged: bool) -> list[FieldError]:
            self.calls.append((value, old, path, unchanged))
            return [invalid_value(path or "<nil>", schema["type"], "failed rule")]

        return check

    def definition_errors(
        self, schema: JsonObject, path: str, broken: Sequence[FieldError], *, lenient: bool
    ) -> list[FieldError]:
        return [invalid_value(path, lenient, f"{len(schema)} {len(broken)}")]


def kind_of(spec: JsonObject, **around: Any) -> JsonObject:
    return {"type": "object", "properties": {"spec": spec}, **around}


def calls_of(
    schema: JsonObject, value: JsonObject, old: JsonObject | None = None
) -> list[tuple[Any, Any, str, bool]]:
    engine = Recorder()
    compile_schema(schema, rules=engine).validate(value, old)
    return engine.calls


def test_rules_are_ignored_without_an_engine() -> None:
    assert compile_schema(kind_of({"type": "object", **RULES})).validate({"spec": {}}) == []


def test_rules_are_compiled_once_for_each_node_that_has_some() -> None:
    engine = Recorder()
    schema = compile_schema(
        kind_of({"type": "object", "properties": {"a": {**STRING, **RULES}}}, **RULES), rules=engine
    )
    schema.validate({"spec": {"a": "b"}})
    schema.validate({"spec": {"a": "c"}})
    assert engine.compiled == [([{"rule": "self == oldSelf"}], True), ([{"rule": "self == oldSelf"}], False)]


def test_rules_report_errors_of_the_engine() -> None:
    errors = compile_schema(kind_of({"type": "object", **RULES}), rules=Recorder()).validate({"spec": {}})
    assert [str(error) for error in errors] == ['spec: Invalid value: "object": failed rule']


def test_rules_see_the_whole_object_first() -> None:
    schema = kind_of({"type": "object", "properties": {"a": {**STRING, **RULES}}}, **RULES)
    assert calls_of(schema, {"spec": {"a": "b"}}) == [
        ({"spec": {"a": "b"}}, None, "", False),
        ("b", None, "spec.a", False),
    ]


def test_rules_are_not_asked_about_nulls_and_absent_fields() -> None:
    schema = kind_of(
        {
            "type": "object",
            "properties": {"a": {**STRING, "nullable": True, **RULES}, "b": {**STRING, **RULES}},
        }
    )
    assert calls_of(schema, {"spec": {"a": None}}) == []


def test_rules_get_the_old_value_of_a_field_and_of_a_map_key() -> None:
    fields = {"a": {**STRING, **RULES}, "m": {"type": "object", "additionalProperties": {**STRING, **RULES}}}
    old = {"spec": {"a": "1", "m": {"k": "1"}}}
    assert calls_of(
        kind_of({"type": "object", "properties": fields}), {"spec": {"a": "2", "m": {"k": "2"}}}, old
    ) == [
        ("2", "1", "spec.a", False),
        ("2", "1", "spec.m[k]", False),
    ]


def test_rules_get_the_old_value_of_an_item_by_its_key() -> None:
    item = {"type": "object", "properties": {"name": STRING, "v": {**STRING, **RULES}}}
    keyed = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    old = {"spec": [{"name": "a", "v": "1"}, {"name": "b", "v": "2"}]}
    new = {"spec": [{"name": "b", "v": "3"}, {"name": "c", "v": "4"}]}
    assert calls_of(kind_of(keyed), new, old) == [
        ("3", "2", "spec[0].v", False),
        ("4", None, "spec[1].v", False),
    ]


def test_rules_get_no_old_value_in_other_lists() -> None:
    plain = {"type": "array", "items": {**STRING, **RULES}}
    assert calls_of(kind_of(plain), {"spec": ["b", "a"]}, {"spec": ["a", "b"]}) == [
        ("b", None, "spec[0]", False),
        ("a", None, "spec[1]", False),
    ]


def test_rules_are_told_what_is_unchanged() -> None:
    fields = {"a": {**STRING, **RULES}, "l": {"type": "array", "items": {**STRING, **RULES}}, "b": STRING}
    old, new = {"spec": {"a": "1", "l": ["x"], "b": "1"}}, {"spec": {"a": "1", "l": ["x"], "b": "2"}}
    assert calls_of(kind_of({"type": "object", "properties": fields}), new, old) == [
        ("1", "1", "spec.a", True),
        ("x", None, "spec.l[0]", True),
    ]


def test_rules_wait_until_the_object_is_valid() -> None:
    engine = Recorder()
    schema = kind_of({"type": "object", "properties": {"a": {**STRING, **RULES}}, "required": ["b"]})
    errors = compile_schema(schema, rules=engine).validate({"spec": {"a": "b"}})
    assert [str(error) for error in errors] == ["spec.b: Required value", SKIPPED]
    assert engine.calls == []


def test_rules_run_beside_errors_that_leave_the_shape_intact() -> None:
    schema = kind_of({"type": "object", "properties": {"a": {**STRING, "pattern": "x", **RULES}}})
    errors = compile_schema(schema, rules=Recorder()).validate({"spec": {"a": "b"}})
    assert [error.detail for error in errors] == ["spec.a in body should match 'x'", "failed rule"]


def test_rules_look_at_the_whole_object_when_the_status_is_written() -> None:
    engine = Recorder()
    schema = kind_of({"type": "object", "properties": {"a": {**STRING, **RULES}}})
    compile_schema(schema, rules=engine).validate_status({"spec": {"a": "b"}}, {"spec": {"a": "b"}})
    assert engine.calls == [("b", "b", "spec.a", True)]


def test_rules_of_a_definition_are_checked_once_its_schema_is_right() -> None:
    errors = check_structural({"type": "object"}, "schema", rules=Recorder(), seen_before=True)
    assert [str(error) for error in errors] == ["schema: Invalid value: true: 1 0"]


def test_rules_are_told_of_what_is_broken_beside_them() -> None:
    kind = kind_of({"type": "array", "items": STRING, "uniqueItems": True})
    assert check_structural(kind, "schema", rules=Recorder())[-1].detail == "2 1"


def test_rules_of_a_definition_without_shape_are_not_looked_at() -> None:
    errors = check_structural(kind_of({}), "schema", rules=Recorder())
    assert [error.problem for error in errors] == ["Required value"]
