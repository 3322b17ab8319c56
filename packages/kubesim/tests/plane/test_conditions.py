"""Match conditions where the wire shows too little: budgets, versions, and what is not offered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.expressions import condition_problem, conditions_hold
from kubesim.plane.request import User
from kubesim.plane.webhook import AdmissionRequest, ConditionError

TEXTS = {f"k{number}": "x" * 1000 for number in range(40)}
REQUEST = AdmissionRequest(
    operation="CREATE",
    group="apps.example",
    version="v1",
    kind="App",
    resource="apps",
    user=User("alice", ("devs",), extra={"team": ("a", "b")}),
    object={"apiVersion": "apps.example/v1", "kind": "App", "metadata": {"name": "a"}, "data": TEXTS},
    name="a",
    namespace="default",
)
DEAR = "object.data.all(k, object.data.all(j, !object.data[k].contains(object.data[j] + 'y')))"


def conditions(*expressions: str) -> list[JsonObject]:
    return [{"name": f"c{index}", "expression": text} for index, text in enumerate(expressions)]


def holds(*expressions: str, request: AdmissionRequest = REQUEST, version: str = "v1") -> bool:
    return conditions_hold(conditions(*expressions), request, version)


@pytest.mark.parametrize(
    "expression",
    [
        "request.userInfo.username == 'alice' && request.userInfo.extra.team == ['a', 'b']",
        "!has(request.userInfo.uid) && !has(request.subResource)",
        "object.metadata.name == request.name && oldObject == null",
        "request.options.kind == 'CreateOptions' && !request.dryRun",
        "namespaceObject == null",
    ],
)
def test_condition_sees_the_request(expression: str) -> None:
    assert condition_problem(expression) == ""
    assert holds(expression)


def test_condition_sees_the_object_in_the_version_of_the_webhook() -> None:
    assert holds("object.apiVersion == 'apps.example/v2' && request.kind.version == 'v2'", version="v2")
    assert holds("request.requestKind.version == 'v1'", version="v2")


def test_condition_sees_subresources() -> None:
    assert holds("request.subResource == 'status'", request=replace(REQUEST, subresource="status"))


def test_conditions_share_a_budget() -> None:
    assert holds("object.data.all(k, object.data[k].contains('x'))")
    with pytest.raises(ConditionError, match="running out of cost budget"):
        holds(*[DEAR] * 40)


def test_single_condition_has_a_limit() -> None:
    twice = "object.data.all(i, object.data.all(l, true) && " + DEAR + ")"
    with pytest.raises(ConditionError, match="actual cost limit exceeded"):
        holds(twice)


def test_condition_from_before_that_does_not_compile_fails() -> None:
    with pytest.raises(ConditionError, match=r"^compilation error: compilation failed: ERROR: <input>:1:1: "):
        holds("nothing == 1")


def test_equal_failures_are_told_once() -> None:
    with pytest.raises(ConditionError, match=r"^expression 'object\.x' resulted in error: no such key: x$"):
        holds("object.x", "object.x")


def test_authorizer_is_not_offered() -> None:
    assert "undeclared reference to 'authorizer'" in condition_problem("authorizer.group('').allowed()")
