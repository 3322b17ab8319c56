"""Plans the changes of a zone from what is wanted and what is there: pure, record by record.

A wish names a record and what we wrote before; with the zone's present records it decides what is done:

    wish                     the zone has             what is done
    ─────────────────────────────────────────────────────────────────────────────────────────────
    Present, never ours      nothing                  CREATE, which fails if somebody is quicker
                             exactly that             nothing; the record stays unowned
                             anything else there      refused: it is somebody else's
    Present, was ours        what we wrote            UPSERT, or nothing where it is as wished
                             nothing                  CREATE: somebody deleted it
                             something else           UPSERT: drift is corrected, the name is ours
    Absent, was ours         exactly what we wrote    DELETE
                             nothing                  nothing, it is gone
                             anything else there      nothing: somebody has changed it since, so it is theirs

Where the zone may not be listed its records are unknown. Then CREATE and DELETE go by what we wrote, and Route 53
itself refuses what does not match.

A batch is written whole or not at all. It has two limits, on record elements and on characters of values, and an
UPSERT counts twice for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from edgekeeper.cloud.aws.dns.records import Record, RecordKey, build_record
from edgekeeper.core.json import JsonObject

MOST_ELEMENTS: Final = 1_000
MOST_CHARACTERS: Final = 32_000
LARGEST_BATCH: Final = MOST_CHARACTERS
"""The weight of the largest batch that Route 53 takes."""
_PER_ELEMENT: Final = MOST_CHARACTERS // MOST_ELEMENTS


class Action(StrEnum):
    """What happens to a record."""

    CREATE = "CREATE"
    UPSERT = "UPSERT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a change batch."""

    action: Action
    record: Record

    @property
    def weight(self) -> int:
        """How much of a batch it takes: the sum over a batch keeps both limits if it is at most LARGEST_BATCH."""
        elements = max(1, len(self.record.values))
        characters = sum(map(len, self.record.values))
        return self.tokens * max(elements * _PER_ELEMENT, characters)

    @property
    def tokens(self) -> int:
        """What it costs of the account's change throughput."""
        return 2 if self.action is Action.UPSERT else 1


@dataclass(frozen=True, slots=True)
class Present:
    """The record should exist."""

    record: Record
    written: Record | None = None
    """What we wrote there before, by our own inventory; None for a name that was never ours."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The record that we wrote should not exist."""

    written: Record


Wish = Present | Absent


class TakenError(Exception):
    """A name that was never ours has a record already."""

    def __init__(self, wanted: Record, existing: Record) -> None:
        super().__init__(f"{existing.type} {existing.name} exists and was not created by this object")
        self.wanted = wanted
        self.existing = existing


def plan(wish: Wish, zone: Mapping[RecordKey, Record] | None) -> Change | None:
    """The change that fulfils a wish; None where none is needed. Raise TakenError where the name is another's.

    `zone` is None where the zone's records are not known.
    """
    if isinstance(wish, Absent):
        return _plan_absence(wish, zone)
    existing = None if zone is None else zone.get(wish.record.key)
    if wish.written is None:
        return _plan_first(wish.record, existing)
    if existing is not None and existing.says_what(wish.record):
        return None
    known_missing = zone is not None and existing is None
    if existing is not None and not existing.is_plain:
        raise TakenError(wish.record, existing)
    return Change(Action.CREATE if known_missing else Action.UPSERT, wish.record)


def _plan_first(wanted: Record, existing: Record | None) -> Change | None:
    if existing is None:
        return Change(Action.CREATE, wanted)
    if existing.says_what(wanted):
        return None
    raise TakenError(wanted, existing)


def _plan_absence(wish: Absent, zone: Mapping[RecordKey, Record] | None) -> Change | None:
    if zone is None:
        return Change(Action.DELETE, wish.written)
    existing = zone.get(wish.written.key)
    return (
        Change(Action.DELETE, existing) if existing is not None and existing.says_what(wish.written) else None
    )


def tokens(changes: Iterable[Change]) -> int:
    """What a batch costs of the account's change throughput."""
    return sum(change.tokens for change in changes)


_ORDER: Final = {Action.DELETE: 0, Action.CREATE: 1, Action.UPSERT: 2}


def build_batch(changes: Iterable[Change], comment: str) -> JsonObject:
    """A batch as it is sent: deletions first, so that an alias can take the place of a CNAME in one step."""
    ordered = sorted(changes, key=lambda change: (_ORDER[change.action], change.record.key))
    return {
        "Comment": comment,
        "Changes": [
            {"Action": str(change.action), "ResourceRecordSet": build_record(change.record)}
            for change in ordered
        ],
    }
