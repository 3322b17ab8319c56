"""S-31: the pod asks for nothing that the level `restricted` of Pod Security refuses, and any loosening is told.

`violations` repeats that level for the fields a pod can have. A real API server judges the same pod, and looser ones, in
tests/conformance/test_installation.py; what a process can write is tried in tests/conformance/test_image.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml

from edgekeeper.core.json import JsonObject, dig
from tools.chart import DEPLOY, VARIANTS

SAFE_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def pod(name: str) -> dict[str, Any]:
    objects = yaml.safe_load_all((DEPLOY / name).read_text())
    (deployment,) = (obj for obj in objects if obj and obj["kind"] == "Deployment")
    found: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return found


def violations(spec: JsonObject) -> Iterator[str]:
    """Why Pod Security would refuse a pod at the level `restricted`, and what is ours to ask for besides."""
    yield from (name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name))
    yield from (
        f"volume {volume['name']}" for volume in spec.get("volumes", ()) if not SAFE_VOLUMES & set(volume)
    )
    for each in (*spec["containers"], *spec.get("initContainers", ()), *spec.get("ephemeralContainers", ())):
        yield from _of_container(spec.get("securityContext") or {}, each)


def _of_container(common: JsonObject, container: JsonObject) -> Iterator[str]:
    own = container.get("securityContext") or {}
    if own.get("privileged"):
        yield "privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation"
    if own.get("capabilities", {}).get("drop") != ["ALL"] or own.get("capabilities", {}).get("add"):
        yield "capabilities"
    if own.get("runAsNonRoot", common.get("runAsNonRoot")) is not True:
        yield "runAsNonRoot"
    if own.get("runAsUser", common.get("runAsUser")) == 0:
        yield "runAsUser"
    profile = own.get("seccompProfile", common.get("seccompProfile")) or {}
    if profile.get("type") not in ("RuntimeDefault", "Localhost"):
        yield "seccompProfile"
    if own.get("procMount", "Default") != "Default":
        yield "procMount"
    if any(port.get("hostPort") for port in container.get("ports", ())):
        yield "hostPort"
    if own.get("readOnlyRootFilesystem") is not True:
        yield "readOnlyRootFilesystem"


@pytest.mark.parametrize("name", VARIANTS)
def test_pod_has_no_violation(name: str) -> None:
    assert list(violations(pod(name))) == []


@pytest.mark.parametrize("name", VARIANTS)
def test_only_writable_place_is_tmp_in_memory_and_bounded(name: str) -> None:
    spec = pod(name)
    (container,) = spec["containers"]
    writable = [one for one in container["volumeMounts"] if not one.get("readOnly")]
    assert writable == [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - the pod's own
    (volume,) = spec["volumes"]
    assert volume["emptyDir"]["medium"] == "Memory"
    assert dig(volume, "emptyDir", "sizeLimit")
    assert dig(container, "resources", "limits", "memory"), "a leak ends the pod and not the node"


LOOSENINGS: dict[str, dict[tuple[str | int, ...], Any]] = {
    "runAsUser": {("securityContext", "runAsUser"): 0},
    "runAsNonRoot": {("securityContext", "runAsNonRoot"): False},
    "hostNetwork": {("hostNetwork",): True},
    "hostPID": {("hostPID",): True},
    "hostIPC": {("hostIPC",): True},
    "seccompProfile": {("securityContext", "seccompProfile"): {"type": "Unconfined"}},
    "capabilities": {("containers", 0, "securityContext", "capabilities", "add"): ["NET_RAW"]},
    "allowPrivilegeEscalation": {("containers", 0, "securityContext", "allowPrivilegeEscalation"): True},
    "privileged": {("containers", 0, "securityContext", "privileged"): True},
    "procMount": {("containers", 0, "securityContext", "procMount"): "Unmasked"},
    "readOnlyRootFilesystem": {("containers", 0, "securityContext", "readOnlyRootFilesystem"): False},
    "hostPort": {("containers", 0, "ports", 0, "hostPort"): 8081},
    "volume tmp": {("volumes", 0): {"name": "tmp", "hostPath": {"path": "/"}}},
}
"""By violation, what leads to it."""


@pytest.mark.parametrize("violation", LOOSENINGS)
def test_loosening_is_told(violation: str) -> None:
    """The proof that the others prove something."""
    spec = deepcopy(pod("all-in-one/edgekeeper.yaml"))
    for path, value in LOOSENINGS[violation].items():
        place: Any = spec
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value
    assert violation in violations(spec)
