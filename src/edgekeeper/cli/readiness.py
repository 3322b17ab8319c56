"""Whether an object is ready, by its kind and status. Pure.

The rules are those of `kubectl wait` and `kubectl rollout status`: a Deployment is ready when it is available, a Job when
it is complete, a Service of type LoadBalancer when it has an address. Kinds of the operator have rules of their own
(`KindModule.readiness`). A kind without a rule is ready when its `Ready` condition is True or, if it has no conditions, as
soon as it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from edgekeeper.cli.kinds import MODULES
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.readiness import PENDING, Readiness, condition_readiness, find_condition
from edgekeeper.lifecycle.module import KindModule


def assess(body: JsonObject, modules: Sequence[KindModule] = MODULES) -> Readiness:
    """Judge an object as read from the API server. `modules` are the kinds of the operator."""
    if dig(body, "metadata", "deletionTimestamp"):
        return Readiness(False, "Terminating")
    observed, generation = dig(body, "status", "observedGeneration"), dig(body, "metadata", "generation")
    if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
        return Readiness(False, "Progressing", f"generation {generation} has not been observed yet")
    kind = _group(body), str(body.get("kind"))
    for module in modules:
        if kind == (module.definition.group, module.definition.kind):
            return module.readiness(body)
    return _RULES.get(kind, _by_ready_condition)(body)


def age(body: JsonObject, now: datetime) -> timedelta | None:
    """How long the object has existed; objects that were never stored have no age."""
    created = dig(body, "metadata", "creationTimestamp")
    if not isinstance(created, str):
        return None
    return max(now - datetime.fromisoformat(created), timedelta())


def _group(body: JsonObject) -> str:
    group, slash, _ = str(body.get("apiVersion", "")).partition("/")
    return group if slash else ""


def _by_condition(type_: str) -> Callable[[JsonObject], Readiness]:
    return lambda body: condition_readiness(body, type_)


def _by_ready_condition(body: JsonObject) -> Readiness:
    return condition_readiness(body, "Ready", otherwise=Readiness(True, "Created"))


def _by_replicas(body: JsonObject) -> Readiness:
    wanted, ready = dig(body, "spec", "replicas"), dig(body, "status", "readyReplicas") or 0
    wanted = 1 if wanted is None else wanted
    return Readiness(ready >= wanted, f"{ready}of{wanted}Ready")


def _daemon_set(body: JsonObject) -> Readiness:
    wanted, ready = dig(body, "status", "desiredNumberScheduled"), dig(body, "status", "numberReady") or 0
    return PENDING if wanted is None else Readiness(ready >= wanted, f"{ready}of{wanted}Ready")


def _job(body: JsonObject) -> Readiness:
    failed = find_condition(body, "Failed")
    if failed and failed.get("status") == "True":
        return Readiness(False, str(failed.get("reason") or "Failed"), str(failed.get("message") or ""))
    return condition_readiness(body, "Complete", otherwise=Readiness(False, "Running"))


def _namespace(body: JsonObject) -> Readiness:
    phase = str(dig(body, "status", "phase") or "Pending")
    return Readiness(phase == "Active", phase)


def _pod(body: JsonObject) -> Readiness:
    if dig(body, "status", "phase") == "Succeeded":
        return Readiness(True, "Succeeded")
    return condition_readiness(body, "Ready")


def _service(body: JsonObject) -> Readiness:
    if dig(body, "spec", "type") != "LoadBalancer":
        return Readiness(True, "Created")
    if dig_list(body, "status", "loadBalancer", "ingress"):
        return Readiness(True, "AddressAssigned")
    return Readiness(False, "AddressPending")


_RULES: dict[tuple[str, str], Callable[[JsonObject], Readiness]] = {
    ("", "Namespace"): _namespace,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _by_condition("Established"),
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _by_condition("Available"),
    ("apps", "ReplicaSet"): _by_replicas,
    ("apps", "StatefulSet"): _by_replicas,
    ("batch", "Job"): _job,
}
