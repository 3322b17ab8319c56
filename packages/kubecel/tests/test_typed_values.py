"""Schemas, conversion and evaluation together: expressions over objects whose schema is known."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.environments import kro, kubernetes
from kubecel.errors import CompileError, EvaluationError
from kubecel.native import converter_for
from kubecel.schema import composition_type, declare

SCHEMA = {
    "type": "object",
    "properties": {
        "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {
                "my-port": {"type": "integer"},
                "namespace": {"type": "string"},
                "since": {"type": "string", "format": "date-time"},
                "every": {"type": "string", "format": "duration"},
                "ratio": {"type": "number"},
                "note": {"type": "string", "nullable": True},
            },
        },
    },
}
OBJECT = {
    "data": {"password": "aHVudGVyMg=="},
    "spec": {
        "my-port": 80,
        "namespace": "prod",
        "since": "2024-02-29T12:00:00Z",
        "every": "90m",
        "ratio": 1,
        "note": None,
        "extra": {"deep": [1]},
    },
}


def evaluate(text: str) -> Any:
    environment = kro().extend(variables={"app": composition_type(SCHEMA, "app")})
    return environment.compile(text).evaluate({"app": converter_for(SCHEMA)(OBJECT)})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("string(app.data.password)", "hunter2"),
        ("app.data['password'].size()", 7),
        ("app.spec.my__dash__port + 1", 81),
        ("has(app.spec.my__dash__port)", True),
        ("app.spec.namespace", "prod"),
        ("app.spec.__namespace__", "prod"),
        ("app.spec.since.getFullYear()", 2024),
        ("app.spec.since + app.spec.every == timestamp('2024-02-29T13:30:00Z')", True),
        ("app.spec.ratio / 4.0", 0.25),
        ("has(app.spec.note)", False),
        ("app.spec.?note.orValue('none')", "none"),
        ("app.spec.extra.deep[0]", 1),
    ],
)
def test_expression_reads_values_as_their_schema_means_them(text: str, value: Any) -> None:
    assert evaluate(text) == value


def test_null_field_is_data_that_may_still_arrive() -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate("app.spec.note + '!'")
    assert caught.value.pending


def test_unknown_field_of_a_closed_object_is_a_compile_error() -> None:
    with pytest.raises(CompileError, match="undefined field 'status'"):
        evaluate("app.status")


def test_rule_sees_the_same_object_more_strictly() -> None:
    declared = declare(SCHEMA, "self", resource=True)
    assert declared is not None
    environment = kubernetes().extend(variables={"self": declared.type})
    rule = environment.compile("self.spec.my__dash__port > 79.5 && self.spec.every > duration('1h')")
    assert rule.evaluate({"self": converter_for(SCHEMA)(OBJECT)}) is True
    with pytest.raises(CompileError, match="undefined field 'extra'"):
        environment.compile("self.spec.extra")
