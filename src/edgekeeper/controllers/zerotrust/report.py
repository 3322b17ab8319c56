"""The status of a task after a pass: phase, message, result and inventory. Never a secret."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal

import msgspec

from edgekeeper.api.zerotrust_task import InventoryItem, TaskResult, TaskStatus
from edgekeeper.controllers.zerotrust.inventory import known_inventory, refreshed
from edgekeeper.controllers.zerotrust.snapshot import Snapshot, Subject
from edgekeeper.controllers.zerotrust.token_secrets import secret_name
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Effect, Step
from edgekeeper.lifecycle.kind import PAUSED, SYNCED, Pass, Report

SUCCEEDED: Final = "All Cloudflare operations succeeded"
CARRIED_OUT: Final = "CarriedOut"
DECLARATION: Final = Declaration(
    required=(CARRIED_OUT,),
    unpublished=(CARRIED_OUT,),
    informative=(SYNCED, PAUSED),
    ready_reason="Completed",
    ready_message=SUCCEEDED,
)
_LONGEST_MESSAGE: Final = 2_000

Phase = Literal["Pending", "InProgress", "Completed", "Failed"]


def report(result: Pass[Snapshot], conditions: Conditions) -> Report:
    """The status after a pass that performed its step, or had none to perform."""
    after, step = result.after, result.step
    if after.subject.is_complete:
        return Report(_builtins(after.subject.status), keeps_conditions=True)
    if step is None:
        conditions.mark(CARRIED_OUT, True, "Completed", SUCCEEDED)
        conditions.mark(SYNCED, True, "Completed", SUCCEEDED)
    else:
        conditions.mark(CARRIED_OUT, "Unknown", "InProgress", str(step))
    phase: Phase = "Completed" if step is None else "InProgress"
    status = with_phase(
        after.subject, phase, SUCCEEDED if step is None else str(step), after.worker, result.now
    )
    inventory = refreshed(after)
    told = list(_events(step))
    changed = msgspec.structs.replace(
        status, inventory=list(inventory), result=result_of(after, inventory) or status.result
    )
    return Report(_builtins(changed), told)


def _events(step: Step | None) -> Iterator[Event]:
    if step is None:
        return
    if (event := step.event()) is not None:
        yield event
    elif step.effect is Effect.CHANGE:
        yield Event("Normal", "Performed", f"{step}: {step.reason}")


def with_phase(subject: Subject, phase: Phase, message: str, worker: str, now: datetime) -> TaskStatus:
    """The status with another phase. When it changed is noted."""
    status = subject.status
    is_same = status.phase == phase and status.observed_generation == subject.generation
    since = status.last_transition_time if is_same else None
    return msgspec.structs.replace(
        status,
        phase=phase,
        message=message[:_LONGEST_MESSAGE],
        last_transition_time=since or now.replace(microsecond=0),
        worker_pod=worker,
        observed_generation=subject.generation,
        inventory=list(known_inventory(subject)),
    )


def failed(subject: Subject, message: str, worker: str, now: datetime) -> JsonObject:
    """The status of a task that could not be carried out, without its conditions."""
    return _builtins(with_phase(subject, "Failed", message, worker, now))


def _builtins(status: TaskStatus) -> JsonObject:
    tree: JsonObject = msgspec.to_builtins(status)
    tree.pop("conditions", None)
    tree.setdefault("phase", "Pending")  # the default is left out, and a phase is always shown
    return tree


def result_of(snapshot: Snapshot, inventory: tuple[InventoryItem, ...]) -> TaskResult | None:
    """The ids of what is there, as the described operators name them. None while nothing is."""
    subject, token, application = snapshot.subject, snapshot.token, snapshot.application
    if subject.is_withdrawal:
        return None
    records = [item for item in inventory if item.kind == "DnsRecord" and item.id]
    cnames = [
        item.id for item in records if subject.spec.operations.cname_dns.enabled and item.type == "CNAME"
    ]
    addresses = [item for item in records if subject.spec.operations.dns_record.enabled]
    served = any(
        item.kind == "TunnelHostname" and snapshot.rules.get((item.parent, item.name)) for item in inventory
    )
    zones = list(dict.fromkeys(snapshot.zones.values()))
    result = TaskResult(
        hostname_route_id=subject.spec.tunnel_id if served and subject.wants_tunnel else "",
        cname_record_id=cnames[0] if cnames else "",
        access_app_id=application.id if application else "",
        access_policy_ids=",".join(policy.id for policy in application.policies) if application else "",
        service_token_id=token.id if token else "",
        service_token_client_id=token.client_id if token else "",
        service_token_secret_name=_secret(snapshot),
        service_token_expires_at=token.expires_at if token else None,
        dns_record_id=addresses[0].id if addresses else "",
        dns_record_ip=addresses[0].content if addresses else "",
        resolved_zone_id=zones[0] if zones else "",
    )
    return None if result == TaskResult() else result


def _secret(snapshot: Snapshot) -> str:
    stored = snapshot.secret is not None and snapshot.secret.owner
    return secret_name(snapshot.subject).partition("/")[2] if stored else ""
