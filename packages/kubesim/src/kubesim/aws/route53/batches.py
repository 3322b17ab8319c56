"""Batches of record changes: all of them are made, or none.

A batch is tried out on an overlay of the zone. Every problem is collected, as Route 53 does it; only a batch without
any is carried over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.aws.errors import AwsError
from kubesim.aws.route53.names import within
from kubesim.aws.route53.records import CLOUDFRONT_ZONE, Key, Record, parse, problem
from kubesim.aws.route53.state import Route53, Zone

MOST_RECORDS = 1000
MOST_CHARACTERS = 32_000


def apply(state: Route53, zone: Zone, changes: Sequence[Mapping[str, Any]]) -> None:
    """Make every change of a batch. Raise AwsError, and make none, where one of them cannot be made."""
    parsed = [(change["Action"], parse(change["ResourceRecordSet"])) for change in changes]
    _check_size(parsed)
    trial = _Trial(state, zone)
    for action, record in parsed:
        trial.change(action, record)
    trial.check_quota()
    if trial.problems:
        raise AwsError("InvalidChangeBatch", f"[{', '.join(trial.problems)}]")
    trial.carry_over()
    state.world.dns.changed()


def cost(changes: Sequence[Mapping[str, Any]]) -> int:
    """What a batch takes out of the account's change budget."""
    return sum(2 if change.get("Action") == "UPSERT" else 1 for change in changes)


def _check_size(changes: list[tuple[str, Record]]) -> None:
    """Limits count elements and characters, and an UPSERT counts twice."""
    records = characters = 0
    for action, record in changes:
        weight = 2 if action == "UPSERT" else 1
        records += weight * max(1, len(record.values))
        characters += weight * sum(map(len, record.values))
    if records > MOST_RECORDS:
        raise AwsError("InvalidChangeBatch", f"[Number of records limit of {MOST_RECORDS} exceeded.]")
    if characters > MOST_CHARACTERS:
        raise AwsError("InvalidChangeBatch", f"[Number of characters limit of {MOST_CHARACTERS} exceeded.]")


class _Trial:
    """A zone as it would be: what the batch has written so far, over what is there."""

    def __init__(self, state: Route53, zone: Zone) -> None:
        self._state = state
        self._zone = zone
        self._written: dict[Key, Record | None] = {}
        self._names: dict[str, dict[Key, None]] = {}
        self.problems: list[str] = []

    def change(self, action: str, record: Record) -> None:
        complaint = self._complaint(action, record)
        if complaint:
            self.problems.append(complaint)
            return
        self._written[record.key] = None if action == "DELETE" else record
        self._names.setdefault(record.name, {})[record.key] = None

    def check_quota(self) -> None:
        most = self._state.world.quotas.records_per_zone
        added = sum(
            (record is not None) - (key in self._zone.records) for key, record in self._written.items()
        )
        if added > 0 and len(self._zone.records) + added > most:
            self.problems.append(f"Number of records limit of {most} for the hosted zone exceeded.")

    def carry_over(self) -> None:
        for key, record in self._written.items():
            if record is not None:
                self._zone.put(record)
            elif key in self._zone.records:
                self._zone.remove(key)

    def _current(self, key: Key) -> Record | None:
        return self._written[key] if key in self._written else self._zone.records.get(key)

    def _at(self, name: str) -> list[Record]:
        """Every record set of a name, as it would be."""
        keys = dict.fromkeys((*self._zone.types.get(name, ()), *self._names.get(name, ())))
        return [record for key in keys if (record := self._current(key))]

    def _complaint(self, action: str, record: Record) -> str | None:
        zone = self._zone
        if not within(record.name, zone.name):
            return f"RRSet with DNS name {record.name} is not permitted in zone {zone.name}"
        if action == "DELETE":
            return self._delete_complaint(record)
        if action == "CREATE" and self._current(record.key):
            return f"Tried to create resource record set {_named(record)} but it already exists"
        if action == "UPSERT" and record.key in self._written:
            return (
                "The request contains an invalid set of changes for a resource record set "
                f"'{record.type} {record.name}'"
            )
        invalid = problem(record)
        if invalid:
            return f"Invalid Resource Record: '{invalid}'"
        return self._neighbour_complaint(record) or self._alias_complaint(record)

    def _delete_complaint(self, record: Record) -> str | None:
        current = self._current(record.key)
        if current is None:
            return f"Tried to delete resource record set {_named(record)} but it was not found"
        if not current.same_as(record):
            return (
                f"Tried to delete resource record set {_named(record)} but the values provided do not match the "
                "current values"
            )
        if record.name == self._zone.name and record.type in ("NS", "SOA"):
            return f"A HostedZone must contain at least one {record.type} record for the zone itself."
        return None

    def _neighbour_complaint(self, record: Record) -> str | None:
        """A CNAME stands alone, and never at the apex."""
        zone = self._zone.name
        if record.type == "CNAME" and record.name == zone:
            return f"RRSet of type CNAME with DNS name {record.name} is not permitted at apex in zone {zone}"
        others = [other for other in self._at(record.name) if other.key != record.key]
        if any((other.type == "CNAME") != (record.type == "CNAME") for other in others):
            return (
                f"RRSet of type {record.type} with DNS name {record.name} is not permitted as it conflicts with other "
                f"records with the same DNS name in zone {zone}"
            )
        if any(
            other.type == record.type and not (other.identifier and record.identifier) for other in others
        ):
            return (
                f"RRSet with DNS name {record.name}, type {record.type}, SetIdentifier "
                f"{record.identifier or 'null'} cannot be created as other RRSets exist with the same name and type."
            )
        return None

    def _alias_complaint(self, record: Record) -> str | None:
        alias = record.alias
        if alias is None:
            return None
        prefix = (
            f"Tried to create an alias that targets {alias.name}, type {record.type} in zone {alias.zone},"
        )
        if alias.zone == CLOUDFRONT_ZONE:
            fits = alias.name.endswith(".cloudfront.net.") and record.type in ("A", "AAAA", "HTTPS")
            return None if fits else f"{prefix} but the alias target name does not lie within the target zone"
        target = self._state.zones.get(alias.zone)
        if target is None:
            return None
        if not within(alias.name, target.name):
            return f"{prefix} but the alias target name does not lie within the target zone"
        found = self._at(alias.name) if target is self._zone else target.at(alias.name)
        if any(other.type == record.type for other in found):
            return None
        return f"{prefix} but that target was not found"


def _named(record: Record) -> str:
    identifier = f", set-identifier='{record.identifier}'" if record.identifier else ""
    return f"[name='{record.name}', type='{record.type}'{identifier}]"
