"""The records that are left to write or to remove. Pure, as `decide` is, of which this is the part about DNS.

    wanted        one for each domain of the spec, to the endpoint of the tenant's connection group
    ours          what the inventory has: it was there before the record was, and is there until the record is gone
    unmanaged     written by somebody else, exactly as wanted: theirs and left alone, unless the object may adopt it
    recorded      in the inventory of another object: nothing is written at its place before that object lets go of it
    refused       what Route 53 did not accept a moment ago: reported, and not tried again yet

Where a zone may not be listed, what Route 53 has accepted counts as being there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from edgekeeper.api.cloudfront import InventoryRecord
from edgekeeper.cloud.aws.error_table import DNS_CONFLICT, DNS_ERROR
from edgekeeper.cloud.aws.records import Record, RecordKey, is_within, normalise_name
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.desired import (
    ENDPOINTS,
    bare_zone,
    place_of,
    record_of,
    wanted_records,
)
from edgekeeper.controllers.cloudfront.snapshot import Refusal, Snapshot
from edgekeeper.controllers.cloudfront.steps import Step
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.errors import Stall

_REMEDY: Final = (
    "let the records be removed, or leave everything as it is with the annotation "
    "edgekeeper.io/deletion-policy: Orphan"
)


def writing(snapshot: Snapshot, reason: str) -> Iterator[Step]:
    """Note down what is about to be written, and write it. Raise Stall where nothing is left but what was refused."""
    records = tuple(records_to_write(snapshot))
    if not records:
        return
    _refuse_unreachable(snapshot)
    _refuse_outside(snapshot, records)
    _refuse_recorded(snapshot, records)
    asked = {_meaning(record) for record in records}
    refused = [one for one in snapshot.dns_work.refused if not one.removing and _meaning(one.entry) in asked]
    known = {_meaning(one.entry) for one in refused}
    accepted = tuple(record for record in records if _meaning(record) not in known)
    remembered = {_meaning(entry) for entry in snapshot.inventory}
    forgotten = tuple(record for record in accepted if _meaning(record) not in remembered)
    if snapshot.dns_work.pending:
        # Before anything new is planned: what is on its way may stand where the new records are to be.
        yield do.AwaitRecords(reason="the zone's writer has not answered yet")
        return
    if forgotten:
        yield do.RememberRecords(forgotten, reason=reason)
    if not accepted:
        raise combined(refused)
    yield do.WriteRecords(accepted, reason=reason)


def adopting(snapshot: Snapshot) -> Iterator[Step]:
    """Take over records that somebody else has written exactly as wanted, where the object is annotated to do so.

    Not before the tenant is ours: if it cannot be, they must stay as they are.
    """
    if snapshot.may_adopt:
        found = [one for one in _wanted(snapshot) if _is_unmanaged(snapshot, one)]
        records = tuple(msgspec.structs.replace(one, state="Written") for one in found)
        if records:
            yield do.AdoptRecords(records, reason="the object is annotated to take them over")


def removing(snapshot: Snapshot, reason: str) -> Iterator[Step]:
    """Remove what no domain needs. Raise Stall where nothing is left but what was refused."""
    surplus = _surplus(snapshot)
    steps = tuple(removing_all(snapshot, surplus, reason))
    if not steps and (refused := refusals_of_removal(snapshot, surplus)):
        raise combined(refused)
    yield from steps


def removing_all(snapshot: Snapshot, entries: Sequence[InventoryRecord], reason: str) -> Iterator[Step]:
    """Remove these, but for those that were refused."""
    refused = {place_of(one.entry) for one in refusals_of_removal(snapshot, entries)}
    accepted = tuple(entry for entry in entries if place_of(entry) not in refused)
    if entries and snapshot.dns_work.pending:
        yield do.AwaitRecords(reason="the zone's writer has not answered yet")
    elif accepted:
        yield do.RemoveRecords(accepted, reason=reason)


def unwanted(snapshot: Snapshot) -> tuple[InventoryRecord, ...]:
    """What the inventory has for domains that the spec does not ask for, whatever else is wrong with the spec."""
    if snapshot.spec.dns is None:
        return snapshot.removable
    domains = {normalise_name(item.domain) for item in snapshot.spec.domains}
    return tuple(entry for entry in snapshot.removable if entry.name not in domains)


def unserved(snapshot: Snapshot, own: TenantSummary | None) -> tuple[InventoryRecord, ...]:
    """What the inventory has for domains that our own tenant does not serve, or that the spec does not ask for."""
    served = {normalise_name(one.domain) for one in own.domains} if own else set()
    others = {entry for entry in snapshot.removable if entry.name not in served}
    return tuple(one for one in snapshot.removable if one in others or one in unwanted(snapshot))


def unmanaged(snapshot: Snapshot) -> tuple[Record, ...]:
    """Records of the spec's domains that say what we would write and are in nobody's inventory."""
    records = snapshot.zone.records if snapshot.zone else None
    if snapshot.spec.dns is None or not records:
        return ()
    zone = bare_zone(snapshot.spec.dns.hosted_zone_id)
    known = {place_of(entry) for entry in snapshot.inventory} | set(snapshot.recorded)
    domains, ttl = {normalise_name(item.domain) for item in snapshot.spec.domains}, snapshot.spec.dns.ttl
    return tuple(
        found
        for key, found in sorted(records.items())
        if key.name in domains
        and (zone, key.name, key.type) not in known
        and _leads_to_cloudfront(found)
        and found.ttl in (None, ttl)
    )


def refusals_of_removal(snapshot: Snapshot, entries: Iterable[InventoryRecord]) -> list[Refusal]:
    """Which of these Route 53 did not let us remove."""
    places = {place_of(entry) for entry in entries}
    return [one for one in snapshot.dns_work.refused if one.removing and place_of(one.entry) in places]


def combined(refused: Sequence[Refusal]) -> Stall:
    """All refusals as one, in their order: the reason of the first, and every message once."""
    first = refused[0].error
    told = Stall(first.reason, "; ".join(dict.fromkeys(one.error.message for one in refused)))
    told.error_type = first.error_type
    return told


def kept_back(error: Stall, refused: Sequence[Refusal], tenant: TenantSummary | None) -> Stall:
    """Why a deletion does not end: which records stay, with which role they were to be removed, and what stays with them.

    Without refusals it is the error alone that keeps them.
    """
    kept = "the tenant is kept, disabled, as long as names may lead to it: " if tenant else ""
    what = "; ".join(_kept_records(refused)) or error.message
    told = Stall(error.reason, f"{what}; {kept}{_REMEDY}", error.after)
    told.error_type = error.error_type
    return told


def _kept_records(refused: Sequence[Refusal]) -> Iterator[str]:
    """What cannot be removed, and why: once for all records of a zone and a role that are refused for the same reason."""
    groups: dict[tuple[str, str, str], list[InventoryRecord]] = {}
    for one in refused:
        groups.setdefault((one.entry.zone, one.entry.role, one.error.message), []).append(one.entry)
    for (zone, role, why), entries in groups.items():
        using = f" with the role {role}" if role else ""
        yield f"cannot remove {do.named(entries)} from zone {zone}{using}: {why}"


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
        if not is_ours and not _is_unmanaged(snapshot, wanted):
            yield wanted


def _refuse_unreachable(snapshot: Snapshot) -> None:
    refusal = snapshot.zone.refusal if snapshot.zone else None
    if refusal is not None:
        told = Stall(refusal.reason, f"spec.dns.assumeRoleArn: {refusal.message}")
        told.error_type = refusal.error_type
        raise told


def _refuse_outside(snapshot: Snapshot, records: Iterable[InventoryRecord]) -> None:
    apex = snapshot.zone.apex if snapshot.zone else ""
    outside = [record.name for record in records if apex and not is_within(record.name, apex)]
    if outside:
        names = ", ".join(dict.fromkeys(outside))
        raise Stall(DNS_ERROR, f"spec.dns.hostedZoneId: {names} cannot be in that zone, which is of {apex}")


def _refuse_recorded(snapshot: Snapshot, records: Iterable[InventoryRecord]) -> None:
    """A record is in one inventory only."""
    own = {place_of(entry) for entry in snapshot.inventory}
    for record in records:
        place = place_of(record)
        if place in snapshot.recorded and place not in own:
            holder = snapshot.recorded[place]
            raise Stall(
                DNS_CONFLICT, f"{record.type} {record.name} is a record of {holder}, which has to remove it"
            )


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


def _is_unmanaged(snapshot: Snapshot, wanted: InventoryRecord) -> bool:
    """Has somebody else written the record, exactly so? Then there is nothing to do, and it stays theirs."""
    is_remembered = any(place_of(entry) == place_of(wanted) for entry in snapshot.inventory)
    is_listed = snapshot.zone is not None and snapshot.zone.records is not None
    is_recorded = place_of(wanted) in snapshot.recorded
    return is_listed and not is_remembered and not is_recorded and _zone_has(snapshot, wanted)


def _surplus(snapshot: Snapshot) -> tuple[InventoryRecord, ...]:
    """What was written, or may have been, and no domain needs."""
    wanted = {place_of(record) for record in _wanted(snapshot)}
    return tuple(entry for entry in snapshot.removable if place_of(entry) not in wanted)


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


def _leads_to_cloudfront(record: Record) -> bool:
    target = record.alias.name if record.alias else next(iter(record.target), "")
    return is_within(target, ENDPOINTS)


def _meaning(entry: InventoryRecord) -> tuple[str | int | None, ...]:
    """All of a record but whether it was written."""
    return (*place_of(entry), entry.target, entry.ttl, entry.role)
