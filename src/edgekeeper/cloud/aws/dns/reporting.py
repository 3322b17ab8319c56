"""What an object reports about its records: the condition DNSReady, and events.

Records are written asynchronously, so a refusal is known only in a later pass. While refused records are retried, the
conditions and events keep the refusal until there is a new result: retries are not visible on the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from edgekeeper.cloud.aws.dns.entries import names_of, place_of
from edgekeeper.cloud.aws.dns.planning import RecordPlan
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.cloud.aws.dns.state import RecordState
from edgekeeper.cloud.aws.dns.steps import AwaitRecords, RememberRecords, RemoveRecords, WriteRecords
from edgekeeper.cloud.aws.error_table import DNS_CONFLICT, DNS_ERROR
from edgekeeper.core.conditions import Conditions
from edgekeeper.core.delta import describe
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Plan, Step

DNS_READY: Final = "DNSReady"
DNS_REASONS: Final = frozenset({DNS_ERROR, DNS_CONFLICT})
"""The reasons with which records are refused."""
RECORDS_LEFT: Final = "RecordsLeft"

_WRITING = (RememberRecords, WriteRecords)
_UNDER_WAY = (*_WRITING, AwaitRecords)
_ATTEMPTS = (WriteRecords, RemoveRecords, AwaitRecords)
_CREATING: Final = "DNSRecordCreating"


@dataclass(frozen=True, slots=True)
class RecordReport:
    """Reports the records of one object after a pass."""

    state: RecordState
    """As it is after the step of the pass."""
    pass_plan: Plan[Step]
    conditions: Conditions
    generation: int

    @property
    def is_retry(self) -> bool:
        """Are records being retried whose refusal the conditions already report for this generation?"""
        dns = self.conditions.before(DNS_READY)
        is_refused = dns is not None and dns.reason in DNS_REASONS
        is_present = dns is not None and dns.observed_generation == self.generation
        return isinstance(self.pass_plan.next, _ATTEMPTS) and is_refused and is_present

    @property
    def is_news(self) -> bool:
        """Does DNSReady change in this pass? A retry of refused records does not change it."""
        is_changed = self.conditions.get(DNS_READY) != self.conditions.before(DNS_READY)
        return is_changed and not self.is_retry

    @property
    def is_repeated(self) -> bool:
        """Does the step write records of which the conditions tell already?"""
        return isinstance(self.pass_plan.next, _WRITING) and not self.is_news

    @property
    def is_correction(self) -> bool:
        """Does the step write records that others have changed? A retry of refused records does not count again."""
        is_first = isinstance(self.pass_plan.next, WriteRecords) and self.is_news
        return is_first and self.pass_plan.drift.drift_detected

    def mark(
        self,
        plan: RecordPlan,
        unmanaged: Sequence[Record],
        *,
        is_configured: bool,
        unset: str = "spec.dns is not set",
    ) -> None:
        """Mark DNSReady. `unmanaged` are records of others that are as wanted; the spec may ask for no records: `unset`."""
        step, state = self.pass_plan.next, self.state
        if not is_configured and not state.inventory:
            self._mark(True, "DNSNotConfigured", unset)
        elif isinstance(step, _UNDER_WAY) and not self.pass_plan.drift.drift_detected:
            self._mark(False, _CREATING, self.progress(DNS_READY, _CREATING, step))
        elif broken := plan.differences:
            self._mark(False, _CREATING, f"records differ from the spec: {describe(broken)}")
        elif not state.in_sync:
            change = f"change {state.change_id}" if state.change_id else "a change"
            self._mark(False, "DNSPropagating", f"{change} has not reached all Route 53 name servers yet")
        else:
            self._mark(True, "DNSReady", _ready_message(unmanaged))

    def progress(self, type_: str, reason: str, step: Step) -> str:
        """The message for a step. All steps that write records share one, so that the status is written once."""
        before = self.conditions.before(type_)
        if isinstance(step, AwaitRecords) and before is not None and before.reason == reason:
            return before.message
        if isinstance(step, _WRITING):
            return f"writing {names_of(step.records)}: {step.reason}"
        return f"{step}: {step.reason}"

    def _mark(self, status: bool, reason: str, message: str) -> None:
        self.conditions.mark(DNS_READY, status, reason, message)


def removal_events(state: RecordState) -> Iterator[Event]:
    """Events for records that were removed, and for those that were kept because somebody has changed them."""
    work = state.work
    if work.removed:
        number = f"{work.removed} record{'s' if work.removed > 1 else ''}"
        yield Event("Normal", "DNSCleaned", f"removed {number}")
    if work.left:
        yield _left("it was changed outside the operator", "; ".join(work.left))


def deletion_events(state: RecordState, unmanaged: Sequence[Record], holder: str) -> Iterator[Event]:
    """The events of a finished deletion, including those for records that the object does not own.

    `holder` says what serves the names of records that are withheld.
    """
    yield from removal_events(state)
    if unmanaged:
        yield _left("this object does not manage it", names_of(unmanaged))
    if state.withheld:
        withheld = sorted(state.withheld, key=place_of)
        yield _left(f"{holder} serves it", names_of(withheld))


def _left(why: str, what: str) -> Event:
    return Event("Warning", RECORDS_LEFT, f"not removed, because {why}: {what}")


def _ready_message(unmanaged: Sequence[Record]) -> str:
    message = "all records are as the spec says"
    if not unmanaged:
        return message
    return (
        f"{message}; not managed, because it was created outside the operator: {names_of(unmanaged)}; to adopt it, "
        'so that it is removed with this object, annotate the object with edgekeeper.io/adopt: "true"'
    )
