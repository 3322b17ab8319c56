"""What a route's annotations say about it. Pure.

    edgekeeper.io/ready      "True" or "False"
    edgekeeper.io/reason     why, as one word
    edgekeeper.io/message    why, in words

    cfzt.cloudflare.com/…    the ids of what exists, and when that changed last

They are written only when they change. The status of an HTTPRoute belongs to the controller of its gateway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edgekeeper.controllers.zerotrust.annotations import OPERATOR_WRITTEN
from edgekeeper.controllers.zerotrust.legacy_state import ANNOTATIONS, LAST_RECONCILE, written_annotations
from edgekeeper.controllers.zerotrust.route_facts import KOPF_FINALIZER
from edgekeeper.controllers.zerotrust.route_situation import Facts
from edgekeeper.controllers.zerotrust.route_steps import RecordState
from edgekeeper.controllers.zerotrust.state import Origin, RouteState
from edgekeeper.core.clock import timestamp
from edgekeeper.core.drift import DRIFT_DETECTED
from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.core.outcome import Event, MetadataWrite
from edgekeeper.core.redaction import redact_text
from edgekeeper.core.steps import Step

READY: Final = "edgekeeper.io/ready"
REASON: Final = "edgekeeper.io/reason"
MESSAGE: Final = "edgekeeper.io/message"
READINESS: Final = (READY, REASON, MESSAGE)

PUBLISHED: Final = "Published"
PROGRESSING: Final = "Progressing"
WITHDRAWING: Final = "Withdrawing"
PAUSED: Final = "Paused"
RECORDS_LEFT: Final = "RecordsLeft"
_LONGEST_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a route is published as it says, and if not, why."""

    ready: bool
    reason: str
    message: str

    def annotations(self) -> dict[str, str | None]:
        return {READY: str(self.ready), REASON: self.reason, MESSAGE: shown(self.message)}

    def is_known(self, obj: JsonObject) -> bool:
        """Whether an object says so already."""
        present = dig_object(obj, "metadata", "annotations")
        return all(present.get(name) == value for name, value in self.annotations().items())


def shown(message: str) -> str:
    """A message as the value of an annotation: one line, without secrets, of a bounded length."""
    line = "".join(char if char.isprintable() else " " for char in redact_text(message))
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"


@dataclass(frozen=True, slots=True)
class Drift:
    """What is known about drift, and what is done about it."""

    note: str = ""
    is_told: bool = False
    """Whether the policy says to tell it."""
    is_corrected: bool = False
    """Whether it is being corrected, or will be later."""


def readiness(facts: Facts, step: Step | None, drift: Drift) -> Readiness:
    """Whether a route that is to be published is ready after a step."""
    task = facts.task
    if task is not None and task.is_failed and not isinstance(step, RecordState):
        reason, message = task.failure
        return Readiness(False, reason, message)
    is_recorded = (
        isinstance(step, RecordState) and facts.wanted is not None and step.state.hash == facts.wanted.hash
    )
    if not facts.is_applied and not is_recorded:
        return Readiness(False, PROGRESSING, "the changes are being made at Cloudflare")
    if drift.note and drift.is_corrected and not is_recorded:
        return Readiness(False, DRIFT_DETECTED, f"Cloudflare differs from what was applied: {drift.note}")
    if drift.note and drift.is_told:
        return Readiness(True, DRIFT_DETECTED, f"Cloudflare differs from what was applied: {drift.note}")
    hostnames = facts.wanted.spec.hostnames if facts.wanted is not None else []
    state = (
        step.state
        if isinstance(step, RecordState)
        else facts.state.state
        if facts.state is not None
        else None
    )
    return Readiness(True, PUBLISHED, f"published as {', '.join(hostnames)}{_unmanaged_note(state)}")


def unmanaged_records(state: RouteState | None) -> list[str]:
    """Hostnames whose DNS records were there before, and are not ours."""
    applied = state.applied if state is not None else None
    if state is None or applied is None:
        return []
    operations = applied.operations
    if not operations.cname_dns.enabled and not operations.dns_record.enabled:
        return []
    managed = {item.name for item in state.inventory if item.kind == "DnsRecord" and item.id}
    return [hostname for hostname in applied.hostnames if hostname not in managed]


def _unmanaged_note(state: RouteState | None) -> str:
    unmanaged = unmanaged_records(state)
    if not unmanaged:
        return ""
    names = ", ".join(unmanaged)
    return (
        f"; not managed, because they were created outside the operator: DNS records of {names}; to adopt them, annotate the "
        'route with edgekeeper.io/adopt: "true"'
    )


def records_left(state: RouteState | None) -> tuple[Event, ...]:
    """The event of a withdrawal that leaves DNS records of others behind."""
    unmanaged = unmanaged_records(state)
    if not unmanaged:
        return ()
    message = f"not removed, because this route does not manage them: DNS records of {', '.join(unmanaged)}"
    return (Event("Warning", RECORDS_LEFT, message),)


def metadata_write(
    route: JsonObject, facts: Facts, step: Step | None, said: Readiness, now: datetime
) -> MetadataWrite:
    """The write that shows readiness and ids on a route."""
    state = (
        step.state
        if isinstance(step, RecordState)
        else facts.state.state
        if facts.state is not None
        else None
    )
    wanted = said.annotations()
    is_ours = state is not None and state.written_by is Origin.OURS
    if state is not None and is_ours:
        wanted |= written_annotations(state.ids)
    present = dig_object(route, "metadata", "annotations")
    if is_ours and any(present.get(name) != value for name, value in wanted.items()):
        wanted[LAST_RECONCILE] = timestamp(now)
    return MetadataWrite(remove_finalizers=former_finalizers(route, state), annotations=wanted)


def former_finalizers(route: JsonObject, state: RouteState | None) -> tuple[str, ...]:
    """The finalizer of v0.2, once its route is ours. Other operators use the same name, so only for a route of v0.2."""
    is_ours = state is not None and state.written_by is Origin.OURS and state.is_of_v0_2
    present = dig_list(route, "metadata", "finalizers")
    return (KOPF_FINALIZER,) if is_ours and KOPF_FINALIZER in present else ()


def stale_ids(route: JsonObject, facts: Facts) -> MetadataWrite | None:
    """The write that removes the ids of what was withdrawn, before state and task go; None where the route shows none.

    Without a state, ids on a route count as evidence that another operator has left something behind.
    """
    task = facts.task
    if task is None or not task.is_deletion or not task.is_completed:
        return None
    present = dig_object(route, "metadata", "annotations")
    shown_ids = [name for name in ANNOTATIONS.values() if name in present]
    return MetadataWrite(annotations=dict.fromkeys(shown_ids)) if shown_ids else None


def farewell(finalizer: str, route: JsonObject) -> MetadataWrite:
    """The write that leaves nothing of ours on a route."""
    present = dig_object(route, "metadata", "annotations")
    ours = [name for name in present if name in OPERATOR_WRITTEN or name in READINESS]
    return MetadataWrite(remove_finalizers=(finalizer,), annotations=dict.fromkeys(ours))


def told(obj: JsonObject, said: Readiness) -> tuple[Event, ...]:
    """The warning about what is wrong, once per fact."""
    return () if said.is_known(obj) else (Event("Warning", said.reason, shown(said.message)),)


def annotations_of_pause(obj: JsonObject) -> Mapping[str, str | None]:
    """Readiness stays as it was; the reason says that nothing is done."""
    ready = dig_object(obj, "metadata", "annotations").get(READY)
    message = "reconciliation is paused by the annotation edgekeeper.io/paused"
    return {READY: ready if ready in ("True", "False") else "False", REASON: PAUSED, MESSAGE: message}
