"""Decide which change a wanted record needs, given the records of the zone. Pure, record by record.

A wish has the wanted record and what we wrote there before. Together with the existing record it determines the change:

    wish                     existing record          change
    ─────────────────────────────────────────────────────────────────────────────────────────────
    Present, never ours      none                     CREATE, which fails if somebody creates one first
                             equal                    none; the record is not ours
                             different                refused: it belongs to somebody else
    Present, was ours        what we wrote            UPSERT, or none if it equals the wanted record
                             none                     CREATE: somebody deleted it
                             different                UPSERT: drift is corrected, the name is ours
    Absent, was ours         what we wrote            DELETE
                             none                     none
                             different                none: somebody has changed it, so it is not ours any more

If the zone cannot be listed, its records are unknown. CREATE and DELETE are then sent with the values that we wrote, and
Route 53 refuses them if they do not match.

A batch is applied completely or not at all. It has two limits, on record elements and on characters of values; an UPSERT
counts twice for both.
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
    """The actions of Route 53 on a record."""

    CREATE = "CREATE"
    UPSERT = "UPSERT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a change batch."""

    action: Action
    record: Record

    @property
    def weight(self) -> int:
        """Its share of a batch. A batch whose weights sum to at most LARGEST_BATCH keeps both limits."""
        elements = max(1, len(self.record.values))
        characters = sum(map(len, self.record.values))
        return self.tokens * max(elements * _PER_ELEMENT, characters)

    @property
    def tokens(self) -> int:
        """How many tokens of the account's rate limit for changes it takes."""
        return 2 if self.action is Action.UPSERT else 1


@dataclass(frozen=True, slots=True)
class Present:
    """The record should exist."""

    record: Record
    written: Record | None = None
    """What we wrote there before, according to the inventory; None if the record was never ours."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The record that we wrote should not exist."""

    written: Record


Wish = Present | Absent


class TakenError(Exception):
    """A record that was never ours exists in the place of a wanted one."""

    def __init__(self, wanted: Record, existing: Record) -> None:
        super().__init__(f"{existing.type} {existing.name} exists and was not created by this object")
        self.wanted = wanted
        self.existing = existing


def plan(wish: Wish, zone: Mapping[RecordKey, Record] | None) -> Change | None:
    """The change that a wish needs; None if none. Raise TakenError if the existing record belongs to somebody else.

    `zone` is None if the zone cannot be listed.
    """
    if isinstance(wish, Absent):
        return _plan_absence(wish, zone)
    existing = None if zone is None else zone.get(wish.record.key)
    if wish.written is None:
        return _plan_first(wish.record, existing)
    if existing is not None and existing.has_same_content(wish.record):
        return None
    known_missing = zone is not None and existing is None
    if existing is not None and not existing.is_plain:
        raise TakenError(wish.record, existing)
    return Change(Action.CREATE if known_missing else Action.UPSERT, wish.record)


def _plan_first(wanted: Record, existing: Record | None) -> Change | None:
    if existing is None:
        return Change(Action.CREATE, wanted)
    if existing.has_same_content(wanted):
        return None
    raise TakenError(wanted, existing)


def _plan_absence(wish: Absent, zone: Mapping[RecordKey, Record] | None) -> Change | None:
    if zone is None:
        return Change(Action.DELETE, wish.written)
    existing = zone.get(wish.written.key)
    return (
        Change(Action.DELETE, existing)
        if existing is not None and existing.has_same_content(wish.written)
        else None
    )


def tokens(changes: Iterable[Change]) -> int:
    """How many tokens of the account's rate limit for changes a batch takes."""
    return sum(change.tokens for change in changes)


_ORDER: Final = {Action.DELETE: 0, Action.CREATE: 1, Action.UPSERT: 2}


def build_batch(changes: Iterable[Change], comment: str) -> JsonObject:
    """The ChangeBatch of a request. Deletions come first, so that an alias can replace a CNAME in one batch."""
    ordered = sorted(changes, key=lambda change: (_ORDER[change.action], change.record.key))
    return {
        "Comment": comment,
        "Changes": [
            {"Action": str(change.action), "ResourceRecordSet": build_record(change.record)}
            for change in ordered
        ],
    }
