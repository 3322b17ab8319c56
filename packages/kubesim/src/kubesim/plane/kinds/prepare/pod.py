"""New pods: their first status, and what admission adds to every pod of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.quantity import parse_quantity

_EVICTION_DELAY = 300
_EVICTING_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_COMPUTE = ("cpu", "memory")


def create_pod(pod: JsonObject) -> None:
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(pod)}
    spec = dig_object(pod, "spec")
    if dig_list(spec, "schedulingGates"):
        pod["status"]["conditions"] = [_gated(dig(pod, "metadata", "creationTimestamp"))]
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    _tolerate_failing_nodes(spec)


def _gated(since: str | None) -> JsonObject:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": since,
    }


def _tolerate_failing_nodes(spec: JsonObject) -> None:
    """A pod stays on a failing node for five minutes, unless it says otherwise."""
    tolerations = dig_list(spec, "tolerations")
    missing = [taint for taint in _EVICTING_TAINTS if not any(_tolerates(one, taint) for one in tolerations)]
    if missing:
        spec["tolerations"] = [*tolerations, *(_toleration(taint) for taint in missing)]


def _tolerates(toleration: JsonObject, taint: str) -> bool:
    return dig(toleration, "key") in (taint, "", None) and dig(toleration, "effect") in (
        "NoExecute",
        "",
        None,
    )


def _toleration(taint: str) -> JsonObject:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTION_DELAY}


def quality_of_service(pod: JsonObject) -> str:
    """Guaranteed: every container limits CPU and memory and requests just that. BestEffort: none says anything."""
    containers = [*dig_list(pod, "spec", "containers"), *dig_list(pod, "spec", "initContainers")]
    requests, limits = _sum(containers, "requests"), _sum(containers, "limits")
    if not requests and not limits:
        return "BestEffort"
    limited = all(set(_COMPUTE) == {name for name, _ in _amounts(one, "limits")} for one in containers)
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _sum(containers: list[JsonObject], role: str) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for container in containers:
        for name, amount in _amounts(container, role):
            total[name] = total.get(name, Decimal(0)) + amount
    return total


def _amounts(container: JsonObject, role: str) -> Iterator[tuple[str, Decimal]]:
    declared = dig_object(container, "resources", role)
    for name in _COMPUTE:
        amount = parse_quantity(declared.get(name))
        if amount:
            yield name, amount
