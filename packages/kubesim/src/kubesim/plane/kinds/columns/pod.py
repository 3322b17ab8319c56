"""The columns of pods, and the word that sums up what a pod is doing.

That word is the phase, unless something more telling is known: why a container waits or ended, how far initialisation
came, that the pod is being deleted. The rules are those of the server, so that both show the same word.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.age import Since
from kubesim.plane.kinds.columns.cell import AGE, NAME, NONE, WIDE, condition_is_true, of, text
from kubesim.plane.resource import Column

_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class Summary:
    """What the containers of a pod come to."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""

    def count_restarts(self, status: JsonObject) -> None:
        self.restarts += dig(status, "restartCount") or 0
        self.last_restart = max(self.last_restart, dig(status, "lastState", "terminated", "finishedAt") or "")


def summarise(pod: JsonObject) -> Summary:
    summary = Summary(reason=_phase_reason(pod))
    initialising = _summarise_init_containers(pod, summary)
    if not initialising or condition_is_true(pod, "Initialized"):
        sidecars = _sidecars(pod)
        summary.restarts, summary.last_restart = 0, ""
        for status in dig_list(pod, "status", "initContainerStatuses"):
            if dig(status, "name") in sidecars:
                summary.count_restarts(status)
        _summarise_containers(pod, summary)
    if dig(pod, "metadata", "deletionTimestamp"):
        if dig(pod, "status", "reason") == "NodeLost":
            summary.reason = "Unknown"
        elif dig(pod, "status", "phase") not in _FINISHED:
            summary.reason = "Terminating"
    return summary


def _phase_reason(pod: JsonObject) -> str:
    for condition in dig_list(pod, "status", "conditions"):
        if dig(condition, "type") == "PodScheduled" and dig(condition, "reason") == "SchedulingGated":
            return "SchedulingGated"
    return dig(pod, "status", "reason") or dig(pod, "status", "phase") or ""


def _sidecars(pod: JsonObject) -> set[str]:
    """Init containers that keep running beside the others."""
    inits = dig_list(pod, "spec", "initContainers")
    return {one["name"] for one in inits if dig(one, "restartPolicy") == "Always" and "name" in one}


def _summarise_init_containers(pod: JsonObject, summary: Summary) -> bool:
    """Count what init containers contribute; return whether one of them holds the pod up."""
    sidecars = _sidecars(pod)
    for index, status in enumerate(dig_list(pod, "status", "initContainerStatuses")):
        summary.count_restarts(status)
        terminated = dig(status, "state", "terminated")
        if terminated is not None and not dig(terminated, "exitCode"):
            continue
        if dig(status, "name") in sidecars and dig(status, "started"):
            summary.ready += bool(dig(status, "ready"))
            continue
        summary.reason = _init_reason(pod, status, index)
        return True
    return False


def _init_reason(pod: JsonObject, status: JsonObject, index: int) -> str:
    terminated = dig(status, "state", "terminated")
    if terminated is not None:
        return f"Init:{_end_reason(terminated)}"
    waiting = dig(status, "state", "waiting", "reason")
    if waiting and waiting != "PodInitializing":
        return f"Init:{waiting}"
    return f"Init:{index}/{len(dig_list(pod, 'spec', 'initContainers'))}"


def _end_reason(terminated: JsonObject) -> str:
    if dig(terminated, "reason"):
        return str(terminated["reason"])
    if dig(terminated, "signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{dig(terminated, 'exitCode') or 0}"


def _summarise_containers(pod: JsonObject, summary: Summary) -> None:
    running, failure = False, ""
    for status in reversed(dig_list(pod, "status", "containerStatuses")):
        summary.count_restarts(status)
        terminated = dig(status, "state", "terminated")
        if dig(status, "state", "waiting", "reason"):
            summary.reason = status["state"]["waiting"]["reason"]
        elif terminated is not None:
            summary.reason = _end_reason(terminated)
            failure = summary.reason if dig(terminated, "exitCode") else failure
        elif dig(status, "ready") and dig(status, "state", "running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        summary.reason = _reason_beside_completed(pod, running=running, failure=failure)


def _reason_beside_completed(pod: JsonObject, *, running: bool, failure: str) -> str:
    """One container completed: the pod may still be running, or have failed elsewhere."""
    if running and condition_is_true(pod, "Ready"):
        return "Running"
    if failure:
        return failure
    return "NotReady" if running else "Completed"


def _ready(pod: JsonObject) -> str:
    total = len(dig_list(pod, "spec", "containers")) + len(_sidecars(pod))
    return f"{summarise(pod).ready}/{total}"


def _restarts(pod: JsonObject) -> str | Since:
    summary = summarise(pod)
    if summary.restarts and summary.last_restart:
        return Since(summary.last_restart, f"{summary.restarts} ({{}} ago)")
    return str(summary.restarts)


def _readiness_gates(pod: JsonObject) -> str:
    gates = dig_list(pod, "spec", "readinessGates")
    open_gates = sum(condition_is_true(pod, one) for one in _gate_conditions(gates))
    return f"{open_gates}/{len(gates)}" if gates else NONE


def _gate_conditions(gates: list[JsonObject]) -> Iterable[str]:
    return (dig_object(gate).get("conditionType", "") for gate in gates)


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Pod": (
        NAME,
        of("Ready", _ready),
        of("Status", lambda pod: summarise(pod).reason),
        of("Restarts", _restarts),
        AGE,
        of("IP", lambda pod: dig(pod, "status", "podIPs", 0, "ip") or NONE, priority=WIDE),
        text("Node", "spec", "nodeName", empty=NONE, priority=WIDE),
        text("Nominated Node", "status", "nominatedNodeName", empty=NONE, priority=WIDE),
        of("Readiness Gates", _readiness_gates, priority=WIDE),
    ),
}
