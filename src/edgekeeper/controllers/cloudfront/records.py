"""The records that are left to write or to remove. Pure, as `decide` is, of which this is the part about DNS.

    wanted        one for each domain of the spec, to the endpoint of the tenant's connection group
    ours          what the inventory has: it was there before the record was, and is there until the record is gone
    given         written by somebody else, exactly as wanted: theirs, and left alone

Where a zone may not be listed, what Route 53 has accepted counts as being there.
"""

from __future__ import annotations

from collections.abc import Iterator

from edgekeeper.api.cloudfront import InventoryRecord
from edgekeeper.cloud.aws.records import RecordKey, normalise_name
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.desired import place_of, record_of, wanted_records
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.steps import Step
from edgekeeper.core.delta import ABSENT, Difference


def writing(snapshot: Snapshot, reason: str) -> Iterator[Step]:
    """Note down what is about to be written, and write it."""
    records = tuple(records_to_write(snapshot))
    if not records:
        return
    remembered = {_meaning(entry) for entry in snapshot.inventory}
    forgotten = tuple(record for record in records if _meaning(record) not in remembered)
    if forgotten:
        yield do.RememberRecords(forgotten, reason="what is written must never be forgotten")
    if snapshot.dns_work.pending:
        yield do.AwaitRecords(reason="the zone's writer has not answered yet")
    else:
        yield do.WriteRecords(records, reason=reason)


def removing(snapshot: Snapshot, reason: str) -> Iterator[Step]:
    """Remove what no domain needs."""
    surplus = _surplus(snapshot)
    if surplus and snapshot.dns_work.pending:
        yield do.AwaitRecords(reason="the zone's writer has not answered yet")
    elif surplus:
        yield do.RemoveRecords(surplus, reason=reason)


def dns_differences(snapshot: Snapshot) -> tuple[Difference, ...]:
    """Where the zone is not what the spec says, in the words of a difference."""
    missing = (
        Difference(f"dns[{one.type} {one.name}]", _found(snapshot, one), one.target)
        for one in records_to_write(snapshot)
    )
    surplus = (Difference(f"dns[{one.type} {one.name}]", one.target, ABSENT) for one in _surplus(snapshot))
    return (*missing, *surplus)


def records_to_write(snapshot: Snapshot) -> Iterator[InventoryRecord]:
    """Wanted records that were not written yet, as they should be, or that the zone does not have so."""
    written = {_meaning(entry) for entry in snapshot.inventory if entry.state == "Written"}
    for wanted in _wanted(snapshot):
        is_ours = _meaning(wanted) in written and _zone_has(snapshot, wanted)
        if not is_ours and not _is_given(snapshot, wanted):
            yield wanted


def _wanted(snapshot: Snapshot) -> tuple[InventoryRecord, ...]:
    if snapshot.spec.dns is None or snapshot.zone is None or not snapshot.endpoint:
        return ()
    records = wanted_records(snapshot.spec, apex=snapshot.zone.apex, target=snapshot.endpoint)
    return tuple(one for one in records if not snapshot.is_disputed or _is_served(snapshot, one))


def _is_served(snapshot: Snapshot, record: InventoryRecord) -> bool:
    """Does the tenant have the domain? As long as another's is among the spec's, only such names lead here."""
    return snapshot.tenant is not None and record.name in {
        normalise_name(one.domain) for one in snapshot.tenant.domains
    }


def _is_given(snapshot: Snapshot, wanted: InventoryRecord) -> bool:
    """Has somebody else written the record, exactly so? Then there is nothing to do, and it stays theirs."""
    is_remembered = any(place_of(entry) == place_of(wanted) for entry in snapshot.inventory)
    is_listed = snapshot.zone is not None and snapshot.zone.records is not None
    return is_listed and not is_remembered and _zone_has(snapshot, wanted)


def _surplus(snapshot: Snapshot) -> tuple[InventoryRecord, ...]:
    """What was written, or may have been, and no domain needs."""
    wanted = {place_of(record) for record in _wanted(snapshot)}
    return tuple(entry for entry in snapshot.inventory if place_of(entry) not in wanted)


def _zone_has(snapshot: Snapshot, wanted: InventoryRecord) -> bool:
    """Does the zone have the record? Where it may not be listed, what was accepted counts."""
    view = snapshot.zone
    if view is None or view.records is None:
        return True
    record = record_of(wanted)
    found = view.records.get(RecordKey(record.name, record.type))
    return found is not None and found.says_what(record)


def _found(snapshot: Snapshot, wanted: InventoryRecord) -> object:
    records = snapshot.zone.records if snapshot.zone else None
    found = records.get(RecordKey(wanted.name, wanted.type)) if records else None
    return ABSENT if found is None else ", ".join(found.target)


def _meaning(entry: InventoryRecord) -> tuple[str | int | None, ...]:
    """All of a record but whether it was written."""
    return (*place_of(entry), entry.target, entry.ttl, entry.role)
