"""Route 53 for all objects of a process: zones with one writer each, and the records of each object.

    state = dns.collect(owner, inventory, changes, wake)      results of the zone writers, and what is still pending
    view = dns.view(zone_id, role, names)                     the existing records of these names, from the zone's mirror
    dns.perform(step, state, …)                               submit the records of a step to the writer

A kind decides which records it wants (`planning`), keeps the inventory in its status, and performs the steps here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from edgekeeper.api.shared import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.dns import steps
from edgekeeper.cloud.aws.dns.directory import ZoneDirectory
from edgekeeper.cloud.aws.dns.entries import TYPES, inventory_fields
from edgekeeper.cloud.aws.dns.outbox import DnsOutbox
from edgekeeper.cloud.aws.dns.records import Record, RecordKey, normalise_name
from edgekeeper.cloud.aws.dns.state import RecordState, ZoneView
from edgekeeper.cloud.aws.dns.zone import Zone
from edgekeeper.cloud.aws.dns.zones import Zones
from edgekeeper.cloud.aws.error_table import DNS_DENIED
from edgekeeper.cloud.aws.mirrors import GRACE
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, MirrorOptions, NotSyncedError
from edgekeeper.cloud.outbox import Owner
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.core.steps import Step


class Dns:
    """The zones of an account, and the records that were submitted to their writers."""

    def __init__(
        self,
        access: AwsAccess,
        clock: Clock,
        metrics: CloudMetrics,
        *,
        options: MirrorOptions = DEFAULT_OPTIONS,
    ) -> None:
        # Listings may lag behind our own writes, so those override listings for this long.
        patient = replace(options, settling=GRACE)
        self.zones = Zones(access, clock, metrics, options=patient)
        self.outbox = DnsOutbox(self.zones, clock)
        self.directory = ZoneDirectory(access, clock)
        """Which zone a domain name belongs to."""
        self._clock = clock

    async def run(self) -> None:
        """List the zones in use and write submitted records, until cancelled."""
        await self.zones.run()

    def on_record(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the name of each record that changes, in any zone."""

        def on_change(key: RecordKey, _: Record | None, __: Record | None) -> None:
            self.outbox.reconsider(key)
            handler(key.name)

        def on_zone(zone: Zone) -> None:
            zone.mirror.subscribe(on_change)

        self.zones.on_new(on_zone)

    # Observing

    def collect(
        self,
        owner: Owner,
        inventory: tuple[InventoryRecord, ...],
        changes: Iterable[DnsChange],
        wake: Callable[[], None],
        *,
        may_assume: bool = False,
    ) -> RecordState:
        """Apply the results of the zone writers to the inventory, and find the changes that have not propagated yet.

        `wake` is called when one of those has. If a change cannot be followed until a person acts, that becomes the error
        of the work, unless it has one already. With `may_assume` changes that IAM denies reading, which is known after some
        time only, count as propagated.
        """
        inventory, work = self.outbox.collect(owner, inventory)
        followed = tuple(dict.fromkeys((*changes, *work.changes)))
        try:
            followed = tuple(change for change in followed if not self._is_propagated(change, wake))
        except Stall as refusal:
            if may_assume and refusal.error_type == DNS_DENIED.error_type:
                return RecordState(inventory, work=work)
            work = replace(work, error=work.error or refusal)
        return RecordState(inventory, work=work, changes=followed)

    def zone(self, zone_id: str, role: str) -> Zone:
        return self.zones.get(zone_id, Role(role))

    def view(self, zone_id: str, role: str, names: Iterable[str]) -> ZoneView:
        """The existing records of some names of a zone.

        Raise the error that keeps the zone from being read; NotSyncedError before it was listed for the first time.
        """
        zone = self.zone(zone_id, role)
        if zone.is_listing_denied:
            return ZoneView("", None, zone.role_refusal)
        keys = [RecordKey(normalise_name(name), type_) for name in names for type_ in TYPES]
        try:
            records = {key: zone.mirror.get(key) for key in keys}
        except NotSyncedError:
            if zone.mirror.problem is not None:
                raise zone.mirror.problem from None
            raise
        return ZoneView(zone.apex, {key: record for key, record in records.items() if record is not None})

    def with_view(self, state: RecordState, zone_id: str, role: str, names: Iterable[str]) -> RecordState:
        """The state with the existing records of some names, or with the error that needs a person."""
        try:
            return replace(state, zone=self.view(zone_id, role, names))
        except Stall as problem:
            return replace(state, zone_problem=problem)

    def with_view_if_listed(
        self, state: RecordState, zone_id: str, role: str, names: Iterable[str]
    ) -> RecordState:
        """The same for a deletion, which does not depend on it: without the records if the zone cannot be read."""
        if self.zone(zone_id, role).mirror.problem is not None:
            return state
        return replace(state, zone=self.view(zone_id, role, names))

    def answered_fields(
        self, uid: str, inventory: tuple[InventoryRecord, ...], changes: Iterable[DnsChange]
    ) -> JsonObject:
        """The results of submitted records as fields of a status, so that an error of a pass does not lose them.

        Empty if there are none. `changes` are those of the status.
        """
        after, answered = self.outbox.answered(uid, inventory)
        if after == inventory:
            return {}
        if not answered:
            return inventory_fields(after)
        followed = tuple(dict.fromkeys((*changes, *answered)))
        return {**RecordState(after, changes=followed).status_fields, "dnsChangeId": answered[-1].id}

    def obstacle(self, changes: Iterable[DnsChange]) -> PassError | None:
        """The error that keeps us from reading at present whether changes have propagated; None if there is none."""
        problems = (
            self.zone(change.zone, change.role).propagation_problem(change.id)
            for change in changes
            if change.id
        )
        return next(filter(None, problems), None)

    def _is_propagated(self, change: DnsChange, wake: Callable[[], None]) -> bool:
        if not change.id:
            return change.until is None or self._clock.now() >= change.until
        return self.zone(change.zone, change.role).in_sync(change.id, wake)

    # Performing

    def perform(
        self,
        step: Step,
        state: RecordState,
        owner: Owner,
        served: Iterable[str],
        wake: Callable[[], None],
    ) -> RecordState:
        """Perform a step about records; other steps have no effect. `served` are the names of our own external resource."""
        match step:
            case steps.RememberRecords():
                return replace(state, inventory=self.outbox.plan(owner.uid, state.inventory, step.records))
            case steps.AdoptRecords():
                return replace(state, inventory=(*state.inventory, *step.records))
            case steps.ForgetRecords():
                kept = tuple(entry for entry in state.inventory if entry not in step.records)
                return replace(state, inventory=kept)
            case steps.WriteRecords():
                self.outbox.write(owner, step.records, state.replaceable(served), wake)
            case steps.RemoveRecords():
                self.outbox.remove(owner, step.records, wake)
        return state

    def forget(self, uid: str) -> None:
        """Drop everything about an object that is gone."""
        self.outbox.forget(uid)
