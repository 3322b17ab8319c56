"""What docs/gitops.md offers for Argo CD and Flux: manifests that exist in their form, and health checks that are run here."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lupa  # type: ignore[import-untyped]
import pytest
import yaml

from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.core.json import JsonObject
from tools.chart import DEPLOY

PAGE = (Path(__file__).parents[3] / "docs/gitops.md").read_text()
FILES: dict[str, list[Any]] = {
    title: list(yaml.safe_load_all(text))
    for title, text in re.findall(r'```yaml title="(.+?)"\n(.*?)```', PAGE, re.DOTALL)
}
PREFIX = "resource.customizations.health."
CHECKS: dict[str, str] = {
    name.removeprefix(PREFIX): text
    for name, text in FILES["argocd-cm.yaml"][0]["data"].items()
    if name.startswith(PREFIX)
}
"""By group_Kind, a program in Lua."""
INTERNAL = {"CloudflareTask", "GraphRevision"}
"""Kinds that nobody keeps in Git."""
BY_CONDITION = [name for name, text in CHECKS.items() if "local degraded" in text]
BY_STATE = [name for name, text in CHECKS.items() if 'state == "ACTIVE"' in text]
ROUTE = "gateway.networking.k8s.io_HTTPRoute"
CONFIG = "cfzt.cloudflare.com_CloudflareZeroTrustOperatorConfig"


def health(name: str, obj: JsonObject) -> str:
    """What Argo CD would show: it calls the check with the object as `obj`."""
    runtime = lupa.LuaRuntime(unpack_returned_tuples=True)
    check: Callable[[Any], Any] = runtime.eval(f"function(obj) {CHECKS[name]} end")
    found = check(runtime.table_from(obj, recursive=True))
    assert found["message"], "people are told why"
    return str(found["status"])


def conditioned(status: str, reason: str, generation: int = 2, **others: str) -> JsonObject:
    ready = {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": "m",
        "observedGeneration": generation,
    }
    more = [{"type": name, "status": value, "reason": "r", "message": "m"} for name, value in others.items()]
    return {"metadata": {"generation": 2}, "status": {"conditions": [*more, ready]}}


def test_every_file_of_the_page_is_tested() -> None:
    """By a test below."""
    assert FILES.keys() == {"application.yaml", "wave.yaml", "argocd-cm.yaml", "flux.yaml"}
    assert PAGE.count("```") == 2 * len(FILES)


def test_every_kind_that_people_keep_in_git_has_a_check() -> None:
    kinds = {f"{one.group}_{one.kind}" for one in DEFINITIONS if one.kind not in INTERNAL}
    assert kinds <= CHECKS.keys()
    assert {*BY_CONDITION, *BY_STATE, ROUTE, CONFIG} == CHECKS.keys()


@pytest.mark.parametrize("name", BY_CONDITION)
@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"metadata": {"generation": 1}}, "Progressing", id="new"),
        pytest.param({"metadata": {"generation": 1}, "status": {}}, "Progressing", id="without conditions"),
        pytest.param(conditioned("True", "Ready"), "Healthy", id="ready"),
        pytest.param(conditioned("True", "Ready", 1), "Progressing", id="ready, of an older spec"),
        pytest.param(conditioned("False", "AccessDenied", 1), "Progressing", id="refused, of an older spec"),
        pytest.param(conditioned("False", "AccessDenied"), "Degraded", id="refused"),
        pytest.param(conditioned("False", "Deploying"), "Progressing", id="under way"),
        pytest.param(conditioned("Unknown", "CloudUnavailable"), "Progressing", id="not known"),
        pytest.param(
            conditioned("False", "Any", Degraded="False"), "Progressing", id="waiting, not degraded"
        ),
        pytest.param(conditioned("False", "Any", Degraded="True"), "Degraded", id="degraded"),
    ],
)
def test_check_by_conditions(name: str, obj: JsonObject, expected: str) -> None:
    assert health(name, obj) == expected


@pytest.mark.parametrize("name", BY_STATE)
@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("ACTIVE", "Healthy"),
        ("ERROR", "Degraded"),
        ("IN_PROGRESS", "Progressing"),
        ("DELETING", "Progressing"),
    ],
)
def test_check_of_composed_kinds(name: str, state: str, expected: str) -> None:
    obj = conditioned("True", "Ready")
    obj["status"]["state"] = state
    assert health(name, obj) == expected
    assert health(name, {"metadata": {"generation": 1}}) == "Progressing"
    obj["metadata"]["generation"] = 3
    assert health(name, obj) == "Progressing"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, "Healthy"),
        ({"cfzt.cloudflare.com/enabled": "false"}, "Healthy"),
        ({"cfzt.cloudflare.com/enabled": "true"}, "Progressing"),
        ({"cfzt.cloudflare.com/enabled": "true", "edgekeeper.io/ready": "True"}, "Healthy"),
        ({"cfzt.cloudflare.com/enabled": "true", "edgekeeper.io/ready": "False"}, "Degraded"),
        ({"cfzt.cloudflare.com/enabled": "true", "edgekeeper.io/ready": "Unknown"}, "Progressing"),
    ],
)
def test_check_of_routes(annotations: dict[str, str], expected: str) -> None:
    assert health(ROUTE, {"metadata": {"name": "web", "annotations": annotations}}) == expected


def test_check_of_the_operator_config() -> None:
    status = {"observedGeneration": 2, "deploymentReady": True}
    assert health(CONFIG, {"metadata": {"generation": 2}, "status": status}) == "Healthy"
    assert health(CONFIG, {"metadata": {"generation": 3}, "status": status}) == "Progressing"
    status = {"observedGeneration": 2, "deploymentReady": False}
    assert health(CONFIG, {"metadata": {"generation": 2}, "status": status}) == "Progressing"


def test_ignored_differences_name_objects_of_the_chart() -> None:
    objects = list(yaml.safe_load_all((DEPLOY / "all-in-one/edgekeeper.yaml").read_text()))
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in objects if obj}
    kinds = {kind for kind, _ in names} | {one.kind for one in DEFINITIONS}
    (application,) = FILES["application.yaml"]
    for one in application["spec"]["ignoreDifferences"]:
        assert one["kind"] in kinds
        assert "name" not in one or (one["kind"], one["name"]) in names
    release, kustomization = FILES["flux.yaml"]
    for one in release["spec"]["driftDetection"]["ignore"]:
        assert one["target"]["kind"] in kinds
        assert "name" not in one["target"] or tuple(one["target"].values()) in names
    assert kustomization["spec"]["wait"] is True
    (webhooks,) = (obj for obj in objects if obj and obj["kind"] == "ValidatingWebhookConfiguration")
    assert len(webhooks["webhooks"]) == 1, "Flux ignores the first one only"


def test_wave_is_one_of_the_table() -> None:
    (wave,) = FILES["wave.yaml"]
    number = wave["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]
    assert isinstance(number, str), "annotations are strings"
    assert f"\n| {number} | " in PAGE
