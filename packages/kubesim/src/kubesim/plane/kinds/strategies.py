"""The strategy of each built-in kind: which preparations and rules apply to it."""

from __future__ import annotations

from collections.abc import Callable

from edgekeeper.core.json import JsonObject
from kubesim.plane.kinds.catalogue import Row
from kubesim.plane.kinds.prepare import cluster, core, job, pod, service
from kubesim.plane.kinds.prepare.status import empty_status
from kubesim.plane.kinds.rules import NAME_RULES, RULES, STATUS_RULES
from kubesim.plane.resource import Strategy

Prepare = Callable[[JsonObject], None]
Carry = Callable[[JsonObject, JsonObject], None]

_DEFAULT: dict[str, Prepare] = {"Secret": core.merge_string_data}

_CREATE: dict[str, tuple[Prepare, ...]] = {
    "CustomResourceDefinition": (cluster.store_version,),
    "DaemonSet": (cluster.create_daemon_set,),
    "Job": (job.select_own_pods,),
    "Namespace": (core.create_namespace,),
    "PersistentVolumeClaim": (core.mirror_data_source,),
    "Pod": (pod.create_pod,),
    "Service": (service.create_service,),
    "ServiceAccount": (core.clean_secret_references,),
}

_UPDATE: dict[str, Carry] = {
    "DaemonSet": cluster.update_daemon_set,
    "Namespace": core.update_namespace,
    "PersistentVolumeClaim": core.update_claim,
    "Secret": core.keep_secret_type,
    "Service": service.update_service,
    "ServiceAccount": lambda new, _old: core.clean_secret_references(new),
}


def strategy_of(row: Row) -> Strategy:
    """Assemble the strategy of one kind."""
    preparations = _CREATE.get(row.kind, ())
    if row.status:
        preparations = (empty_status(row.definition), *preparations)
    nothing = Strategy()
    return Strategy(
        default=_DEFAULT.get(row.kind, nothing.default),
        prepare_create=_in_turn(preparations),
        prepare_update=_UPDATE.get(row.kind, nothing.prepare_update),
        validate=RULES.get(f"{row.kind}.{row.group}") or RULES.get(row.kind, nothing.validate),
        validate_status=STATUS_RULES.get(row.kind, nothing.validate_status),
        validate_name=None if row.group == "events.k8s.io" else NAME_RULES.get(row.kind),
    )


def _in_turn(steps: tuple[Prepare, ...]) -> Prepare:
    def prepare(tree: JsonObject) -> None:
        for step in steps:
            step(tree)

    return prepare
