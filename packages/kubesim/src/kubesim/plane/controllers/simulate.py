"""What a cluster's other half would do: workloads become available, load balancers get addresses, jobs complete.

Just enough that `kubectl wait`, rollouts and controllers that look at status see a living cluster. Each simulator is
a pure function from an object to the status it should have; one reactor writes what differs.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.call import Cluster
from kubesim.plane.client import InProcessClient
from kubesim.plane.controllers.paths import object_path
from kubesim.plane.errors import StatusError
from kubesim.plane.reactor import Reactor
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event, Key, Store

StatusOf: TypeAlias = Callable[[JsonObject, str], JsonObject | None]
"""From an object and the time now to its status, or None where there is nothing to simulate."""

_FIRST_ADDRESS = {4: IPv4Address("192.0.2.1"), 6: IPv6Address("2001:db8::1")}
"""Addresses of load balancers come from ranges reserved for documentation."""
_ADDRESSES = 254


def deployment_status(deployment: JsonObject, now: str) -> JsonObject:
    replicas = dig(deployment, "spec", "replicas")
    generation = dig(deployment, "metadata", "generation")
    name = deployment["metadata"]["name"]
    counts = (
        {}
        if not replicas
        else dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas)
    )
    conditions = [
        _condition(
            deployment, "Available", "MinimumReplicasAvailable", "Deployment has minimum availability.", now
        ),
        _condition(
            deployment,
            "Progressing",
            "NewReplicaSetAvailable",
            f'ReplicaSet "{name}" has successfully progressed.',
            now,
        ),
    ]
    return {"observedGeneration": generation, **counts, "conditions": conditions}


def replica_set_status(replica_set: JsonObject, _now: str) -> JsonObject:
    replicas = dig(replica_set, "spec", "replicas") or 0
    counts = (
        dict.fromkeys(("fullyLabeledReplicas", "readyReplicas", "availableReplicas"), replicas)
        if replicas
        else {}
    )
    return {"observedGeneration": dig(replica_set, "metadata", "generation"), "replicas": replicas, **counts}


def stateful_set_status(stateful_set: JsonObject, _now: str) -> JsonObject:
    replicas = dig(stateful_set, "spec", "replicas") or 0
    revision = f"{stateful_set['metadata']['name']}-1"
    counts = (
        dict.fromkeys(("readyReplicas", "currentReplicas", "updatedReplicas"), replicas) if replicas else {}
    )
    return {
        "observedGeneration": dig(stateful_set, "metadata", "generation"),
        "replicas": replicas,
        "availableReplicas": replicas,
        **counts,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def daemon_set_status(daemon_set: JsonObject, _now: str) -> JsonObject:
    """One node: whatever the template asks for runs once."""
    counts = (
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    generation = dig(daemon_set, "metadata", "generation")
    return {**dict.fromkeys(counts, 1), "numberMisscheduled": 0, "observedGeneration": generation}


def job_status(job: JsonObject, now: str) -> JsonObject | None:
    if dig(job, "spec", "suspend"):
        return None
    completions = dig(job, "spec", "completions") or 1
    status = dig_object(job, "status")
    started = status.get("startTime") or now
    finished = status.get("completionTime") or now
    reached = ("CompletionsReached", "Reached expected number of succeeded pods")
    return {
        "startTime": started,
        "completionTime": finished,
        "succeeded": completions,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "conditions": [
            _condition(job, kind, *reached, now, probed=True) for kind in ("SuccessCriteriaMet", "Complete")
        ],
    }


def service_status(service: JsonObject, _now: str) -> JsonObject | None:
    if dig(service, "spec", "type") != "LoadBalancer":
        return None
    balancer = dig_object(service, "status", "loadBalancer")
    if balancer.get("ingress"):
        return dig_object(service, "status")
    # Derived from the cluster address: the same service has the same address on every run.
    inside = ip_address(dig(service, "spec", "clusterIP"))
    address = _FIRST_ADDRESS[inside.version] + int(inside) % _ADDRESSES
    return {"loadBalancer": {"ingress": [{"ip": str(address), "ipMode": "VIP"}]}}


SIMULATORS: dict[str, dict[GroupResource, StatusOf]] = {
    "workloads": {
        GroupResource("apps", "deployments"): deployment_status,
        GroupResource("apps", "replicasets"): replica_set_status,
        GroupResource("apps", "statefulsets"): stateful_set_status,
        GroupResource("apps", "daemonsets"): daemon_set_status,
    },
    "loadbalancers": {GroupResource("", "services"): service_status},
    "jobs": {GroupResource("batch", "jobs"): job_status},
}
"""The simulators that can be switched on, by name."""


class Simulator(Reactor):
    """Keeps the status of simulated kinds as it would be in a healthy cluster."""

    def __init__(self, cluster: Cluster, client: InProcessClient, names: frozenset[str]) -> None:
        super().__init__("simulators", self._sync)
        self._cluster = cluster
        self._client = client
        self._status_of = {kind: status for name in names for kind, status in SIMULATORS[name].items()}

    def observe(self, resource: GroupResource, event: Event) -> None:
        if resource in self._status_of and event.type != "DELETED":
            self.enqueue((resource, event.item.key))

    def restore(self, store: Store) -> None:
        for resource in self._status_of:
            for key in store.collection(resource).items:
                self.enqueue((resource, key))

    async def _sync(self, work: tuple[GroupResource, Key]) -> None:
        kind, key = work
        item = self._cluster.store.collection(kind).items.get(key)
        resource = self._cluster.registry.any_version(kind)
        if item is None or resource is None or b'"deletionTimestamp"' in item.body:
            return
        tree = item.decode()
        status = self._status_of[kind](tree, self._cluster.timestamp())
        if status is None or status == tree.get("status"):
            return
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **tree, "status": status}
        try:
            await self._client.replace(f"{object_path(resource, *key)}/status", body)
        except StatusError as error:
            # Changed or gone meanwhile: the commit that did it has put the object back into the queue.
            if error.code not in (404, 409):
                raise


def _condition(
    tree: JsonObject, kind: str, reason: str, message: str, now: str, *, probed: bool = False
) -> JsonObject:
    """A true condition; one that says the same already keeps its times."""
    for present in dig_list(tree, "status", "conditions"):
        if (present.get("type"), present.get("status"), present.get("reason")) == (kind, "True", reason):
            return dict(present)
    seen = "lastProbeTime" if probed else "lastUpdateTime"
    return {
        "type": kind,
        "status": "True",
        seen: now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
