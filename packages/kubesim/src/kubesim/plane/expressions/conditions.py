"""Match conditions of webhooks: expressions over a request that decide whether a webhook is asked at all.

They see the request, the object as the webhook would, and what it was before. What they cannot ask here is the
authorizer, which the real server offers them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from edgekeeper.core.json import JsonObject
from kubecel.environment import Environment
from kubecel.environments import kubernetes
from kubecel.errors import CompileError, EvaluationError
from kubecel.program import Program
from kubecel.types import BOOL, DYN, INT, STRING, TIMESTAMP, ObjectType, Type, list_of, map_of
from kubesim.plane.webhook.review import AdmissionRequest, ConditionError

MOST_PER_CALL: Final = 1_000_000
MOST_PER_WEBHOOK: Final = 2_500_000
_REMEMBERED: Final = 256

_TEXTS: Final = list_of(STRING)
_KIND: Final = ObjectType("kubernetes.GroupVersionKind", dict.fromkeys(("group", "version", "kind"), STRING))
_RESOURCE: Final = ObjectType(
    "kubernetes.GroupVersionResource", dict.fromkeys(("group", "version", "resource"), STRING)
)
_USER: Final = ObjectType(
    "kubernetes.UserInfo",
    {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": map_of(STRING, _TEXTS)},
)
_REQUEST: Final = ObjectType(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)


def _namespace_type() -> Type:
    """Declared for all expressions of admission, though webhooks get no value for it."""
    labels = map_of(STRING, STRING)
    metadata = {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), labels),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    }
    condition = {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": TIMESTAMP,
    }
    conditions = list_of(ObjectType("kubernetes.NamespaceCondition", condition))
    return ObjectType(
        "kubernetes.Namespace",
        {
            "metadata": ObjectType("kubernetes.NamespaceMetadata", metadata),
            "spec": ObjectType("kubernetes.NamespaceSpec", {"finalizers": _TEXTS}),
            "status": ObjectType("kubernetes.NamespaceStatus", {"conditions": conditions, "phase": STRING}),
        },
    )


@cache
def _environment() -> Environment:
    return kubernetes().extend(
        variables={
            "object": DYN,
            "oldObject": DYN,
            "request": _REQUEST,
            "namespaceObject": _namespace_type(),
        }
    )


def problem_of(expression: str) -> str:
    """Tell what is wrong with an expression; empty if nothing is."""
    try:
        found = _environment().check(expression).type
    except CompileError as error:
        return f"compilation failed: {error.render(expression)}"
    return "" if found == BOOL else f"must evaluate to bool but got {found}"


def all_hold(conditions: Sequence[JsonObject], request: AdmissionRequest, version: str) -> bool:
    """Tell whether all conditions hold for a request, seen in the version that the webhook wants.

    One that does not hold decides, whatever happened to others. Otherwise failures are the caller's to deal with.
    """
    failures: list[str] = []
    left = MOST_PER_WEBHOOK
    variables = _variables(request, version)
    for condition in conditions:
        text = str(condition.get("expression"))
        try:
            holds, cost = _program(text).measure(variables, budget=MOST_PER_CALL)
        except CompileError:
            failures.append(f"compilation error: {problem_of(text)}")
            continue
        except EvaluationError as error:
            failures.append(f"expression '{text}' resulted in error: {error.message}")
            holds, cost = None, error.cost
        left -= cost
        if left < 0:
            why = "running out of cost budget, no further validation rules will be run"
            raise ConditionError(f"validation failed due to {why}")
        if holds is False:
            return False
    if failures:
        raise ConditionError(_together(failures))
    return True


@lru_cache(_REMEMBERED)
def _program(text: str) -> Program:
    return _environment().compile(text, expected=BOOL)


def _variables(request: AdmissionRequest, version: str) -> dict[str, Any]:
    asked = request.review("", "v1", version)["request"]
    return {
        "object": asked["object"],
        "oldObject": asked["oldObject"],
        "request": asked,
        "namespaceObject": None,
    }


def _together(failures: Iterable[str]) -> str:
    """Several errors in the notation of Go's aggregates."""
    distinct = list(dict.fromkeys(failures))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
