"""The health checks that the page offers to GitOps tools, tried on the statuses that tenants really have.

Flux's are evaluated as Flux does it: the generation first, then what has failed, then what is current. Argo CD's is a
program in Lua, which is compared with Flux's by the reasons that it names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgekeeper.cloud.aws import error_table
from edgekeeper.controllers.cloudfront import refusals
from edgekeeper.core.json import JsonObject
from kubecel.environments import kubernetes
from kubecel.errors import EvaluationError
from kubecel.types import DYN

PAGE = (Path(__file__).parents[3] / "docs" / "kinds" / "distribution-tenant.md").read_text()
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
FLUX: dict[str, str] = next(
    one["spec"]["healthCheckExprs"][0] for one in BLOCKS if "healthCheckExprs" in one.get("spec", {})
)
LUA: str = next(
    text for one in BLOCKS for name, text in one.get("data", {}).items() if "customizations.health" in name
)
WAITING = {"Creating", "Deploying", "Disabling", "Deleting", "DomainValidationPending", "QuotaExceeded"}
OF_READY = set(
    re.findall(r"`(\w+)`", "".join(re.findall(r"^\| Ready[^|]*\| False \|([^|]*)\|", PAGE, re.MULTILINE)))
)


def _holds(expression: str, obj: JsonObject) -> bool:
    names = ("apiVersion", "kind", "metadata", "spec", "status")
    program = kubernetes().extend(variables=dict.fromkeys(names, DYN)).compile(expression, checked=False)
    try:
        return program.evaluate(obj) is True
    except EvaluationError:
        return False  # what is not there yet is waited for


def _in_flux(obj: JsonObject) -> str:
    observed = obj.get("status", {}).get("observedGeneration")
    if observed not in (None, obj["metadata"]["generation"]):
        return "InProgress"
    for verdict in ("failed", "current"):
        if _holds(FLUX[verdict], obj):
            return verdict.capitalize()
    return "InProgress"


def _tenant(status: str, reason: str, generation: int = 2, **more: Any) -> JsonObject:
    ready = {"type": "Ready", "status": status, "reason": reason, "observedGeneration": generation}
    synced = {**ready, "type": "Synced", "status": "True"}
    return {"metadata": {"generation": 2}, "status": {"conditions": [synced, ready], **more}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"metadata": {"generation": 1}}, "InProgress", id="new"),
        pytest.param({"metadata": {"generation": 1}, "status": {}}, "InProgress", id="without conditions"),
        pytest.param(_tenant("True", "Deployed", observedGeneration=2), "Current", id="deployed"),
        pytest.param(_tenant("True", "Deployed", 1), "InProgress", id="deployed, of an older spec"),
        pytest.param(_tenant("False", "AccessDenied", 1), "InProgress", id="refused, of an older spec"),
        pytest.param(
            _tenant("False", "AccessDenied", observedGeneration=1),
            "InProgress",
            id="a change that is refused",
        ),
    ],
)
def test_flux_knows_how_a_tenant_is(obj: JsonObject, expected: str) -> None:
    assert _in_flux(obj) == expected


@pytest.mark.parametrize("reason", sorted(OF_READY))
def test_every_reason_is_either_waited_for_or_a_failure(reason: str) -> None:
    assert _in_flux(_tenant("False", reason)) == ("InProgress" if reason in WAITING else "Failed")


def test_reasons_are_the_documented_ones() -> None:
    assert WAITING < OF_READY
    assert {
        refusals.VALIDATION_FAILED,
        error_table.NAME_CONFLICT,
        "DNSError",
        "ExternalDeletion",
    } <= OF_READY - WAITING


def test_check_for_argo_names_the_same_reasons() -> None:
    assert set(re.findall(r"(\w+) = true", LUA)) == WAITING
    assert set(re.findall(r'status = "(\w+)"', LUA)) == {"Progressing", "Healthy", "Degraded"}
