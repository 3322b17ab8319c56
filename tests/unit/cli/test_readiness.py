"""What counts as ready, kind by kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from edgekeeper.cli.readiness import age, assess
from edgekeeper.controllers.cloudfront.module import TenantModule
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.readiness import Readiness


def make_object(api_version: str, kind: str, status: Any = None, **fields: Any) -> JsonObject:
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}
    return body if status is None else {**body, "status": status}


def condition(kind: str, status: str, reason: str = "", message: str = "") -> JsonObject:
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]}


CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
CASES: dict[str, tuple[JsonObject, Readiness]] = {
    "a kind nobody reports on is ready once it exists": (
        make_object("v1", "ConfigMap"),
        Readiness(True, "Created"),
    ),
    "a Ready condition decides": (
        make_object("a.io/v1", "Site", condition("Ready", "False", "DomainConflict", "taken")),
        Readiness(False, "DomainConflict", "taken"),
    ),
    "a Ready condition without reason gives its type": (
        make_object("a.io/v1", "Site", condition("Ready", "True")),
        Readiness(True, "Ready"),
    ),
    "conditions may be null": (
        make_object("a.io/v1", "Site", {"conditions": None}),
        Readiness(True, "Created"),
    ),
    "an old observedGeneration is not ready": (
        make_object("a.io/v1", "Site", {"observedGeneration": 1}, metadata={"name": "x", "generation": 2}),
        Readiness(False, "Progressing", "generation 2 has not been observed yet"),
    ),
    "what is being deleted is not ready": (
        make_object("v1", "ConfigMap", metadata={"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"}),
        Readiness(False, "Terminating"),
    ),
    "a new definition is pending": (make_object(*CRD), Readiness(False, "Pending")),
    "an established definition is ready": (
        make_object(*CRD, condition("Established", "True", "InitialNamesAccepted")),
        Readiness(True, "InitialNamesAccepted"),
    ),
    "an active namespace is ready": (
        make_object("v1", "Namespace", {"phase": "Active"}),
        Readiness(True, "Active"),
    ),
    "an available Deployment is ready": (
        make_object("apps/v1", "Deployment", condition("Available", "True", "MinimumReplicasAvailable")),
        Readiness(True, "MinimumReplicasAvailable"),
    ),
    "a StatefulSet counts replicas": (
        make_object("apps/v1", "StatefulSet", {"readyReplicas": 1}, spec={"replicas": 3}),
        Readiness(False, "1of3Ready"),
    ),
    "a ReplicaSet of none is ready": (
        make_object("apps/v1", "ReplicaSet", spec={"replicas": 0}),
        Readiness(True, "0of0Ready"),
    ),
    "a DaemonSet without status is pending": (
        make_object("apps/v1", "DaemonSet"),
        Readiness(False, "Pending"),
    ),
    "a DaemonSet counts nodes": (
        make_object("apps/v1", "DaemonSet", {"desiredNumberScheduled": 2, "numberReady": 2}),
        Readiness(True, "2of2Ready"),
    ),
    "a Job runs until it is complete": (make_object("batch/v1", "Job"), Readiness(False, "Running")),
    "a complete Job is ready": (
        make_object("batch/v1", "Job", condition("Complete", "True", "CompletionsReached")),
        Readiness(True, "CompletionsReached"),
    ),
    "a failed Job is not ready": (
        make_object("batch/v1", "Job", condition("Failed", "True", "BackoffLimitExceeded", "too often")),
        Readiness(False, "BackoffLimitExceeded", "too often"),
    ),
    "a Pod that succeeded is ready": (
        make_object("v1", "Pod", {"phase": "Succeeded"}),
        Readiness(True, "Succeeded"),
    ),
    "a Service inside the cluster is ready": (
        make_object("v1", "Service", spec={"type": "ClusterIP"}),
        Readiness(True, "Created"),
    ),
    "a load balancer waits for its address": (
        make_object("v1", "Service", {"loadBalancer": {}}, spec={"type": "LoadBalancer"}),
        Readiness(False, "AddressPending"),
    ),
    "a load balancer with an address is ready": (
        make_object(
            "v1",
            "Service",
            {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}},
            spec={"type": "LoadBalancer"},
        ),
        Readiness(True, "AddressAssigned"),
    ),
    "an object of a kind of ours is pending until the operator has seen it": (
        make_object(KIND.api_version, KIND.kind),
        Readiness(False, "Pending"),
    ),
    "the Ready condition of an object of a kind of ours decides": (
        make_object(KIND.api_version, KIND.kind, condition("Ready", "True", "Deployed", "as the spec says")),
        Readiness(True, "Deployed", "as the spec says"),
    ),
    "a kind of the same name in another group follows the general rule": (
        make_object("example.io/v1", "Job"),
        Readiness(True, "Created"),
    ),
}


@pytest.mark.parametrize(("body", "expected"), CASES.values(), ids=CASES.keys())
def test_readiness_rule(body: JsonObject, expected: Readiness) -> None:
    assert assess(body) == expected


class Annotated(TenantModule):
    """A kind whose objects are ready by an annotation, since others own their conditions."""

    def readiness(self, obj: JsonObject) -> Readiness:
        reason = dig(obj, "metadata", "annotations", "edgekeeper.io/ready")
        return Readiness(reason == "true", "Served" if reason == "true" else "Pending")


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [({"edgekeeper.io/ready": "true"}, Readiness(True, "Served")), ({}, Readiness(False, "Pending"))],
)
def test_readiness_of_a_kind_is_what_its_module_says(
    annotations: dict[str, str], expected: Readiness
) -> None:
    metadata = {"name": "x", "annotations": annotations}
    body = make_object(KIND.api_version, KIND.kind, condition("Ready", "True"), metadata=metadata)
    assert assess(body, [Annotated()]) == expected


def test_object_that_is_being_deleted_is_not_ready_whatever_its_module_says() -> None:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {"edgekeeper.io/ready": "true"}}
    body = make_object(KIND.api_version, KIND.kind, metadata=metadata)
    assert assess(body, [Annotated()]) == Readiness(False, "Terminating")


def test_age_counts_from_creation_and_is_never_negative() -> None:
    body = make_object("v1", "ConfigMap", metadata={"creationTimestamp": "2026-01-01T00:00:00Z"})
    assert age(body, datetime(2026, 1, 1, 0, 1, tzinfo=UTC)) == timedelta(minutes=1)
    assert age(body, datetime(2025, 1, 1, tzinfo=UTC)) == timedelta()
    assert age(make_object("v1", "ConfigMap"), datetime.now(UTC)) is None
