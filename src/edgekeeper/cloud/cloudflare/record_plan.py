"""Plans the changes to the records of one name, from the desired and the existing records. Pure.

Records whose comment begins with our ownership mark are ours. Other records are not changed: if one conflicts, the change
is refused with a message that names it. A record of others that already leads where a desired one would is left as it is and
not managed, unless it may be adopted.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgekeeper.cloud.cloudflare.errors import INVALID_SPEC, RECORD_CONFLICT
from edgekeeper.cloud.cloudflare.hostnames import normalise
from edgekeeper.cloud.cloudflare.models import DnsRecord
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject

LONGEST_COMMENT = 100
"""The limit of all Cloudflare plans."""
_SHORTEST_TTL, _LONGEST_TTL = 60, 86_400
_TYPES = frozenset({"A", "AAAA", "CNAME"})
"""Types that conflict with each other. Other types, such as TXT, are ignored."""


@dataclass(frozen=True, slots=True)
class WantedRecord:
    """A desired record."""

    type: str
    content: str
    proxied: bool = False
    ttl: int = 1
    """1 means automatic, which is required for proxied records."""

    def __post_init__(self) -> None:
        """Normalise the content. Raise Stall if it is invalid."""
        object.__setattr__(self, "content", _canonical(self.type, self.content))
        if self.ttl != 1 and not _SHORTEST_TTL <= self.ttl <= _LONGEST_TTL:
            raise Stall(
                INVALID_SPEC,
                f"a TTL of {self.ttl} must be 1 or between {_SHORTEST_TTL} and {_LONGEST_TTL}",
            )


@dataclass(frozen=True, slots=True)
class RecordChange:
    """The desired address records of a name."""

    name: str
    """Normalised by `hostnames.normalise`."""
    mark: str
    """The ownership mark: the beginning of the comment of our records."""
    wanted: tuple[WantedRecord, ...] = ()
    """Empty to delete our records."""
    comment: str = ""
    """The complete comment; the mark if empty. Truncated to 100 characters."""
    written: frozenset[tuple[str, str]] | None = None
    """For a deletion: type and content of the records that we wrote. Records that differ are not deleted."""
    adopt: bool = False
    """Whether records of others may be adopted."""
    known: frozenset[str] = frozenset()
    """Ids of records that are ours though they bear no mark: an operator that came before us wrote them."""
    others: str = ""
    """How the marks of all owners begin. Records with the mark of another one are not taken over, `adopt` or not."""
    inherited: frozenset[str] = frozenset()
    """Marks of the same owner in clusters that are lost. Records with one of them are ours, and get our mark."""
    release: bool = False
    """For a withdrawal: whether the records stay, without our mark."""

    def __post_init__(self) -> None:
        """Raise ValueError if written records would not be recognised as ours."""
        if not self.mark or len(self.mark) > LONGEST_COMMENT:
            raise ValueError("a mark is required, and must fit into a comment")
        if not self.marks(self.whole_comment) or not self.whole_comment.isprintable():
            raise ValueError(f"the comment must begin with the mark {self.mark!r}, and be a single line")

    def marks(self, comment: str | None) -> bool:
        """Whether a record with this comment is ours."""
        return comment is not None and f"{comment} ".startswith(f"{self.mark} ")

    def owns(self, record: DnsRecord) -> bool:
        """Whether a record is ours: by its mark, or because its id is known and it has no mark of another."""
        is_known = record.id in self.known and not self.is_anothers(record)
        return is_known or self.marks(record.comment) or self.inherits(record)

    def inherits(self, record: DnsRecord) -> bool:
        """Whether a record has the mark of the same owner in a lost cluster."""
        comment = f"{record.comment or ''} "
        return any(comment.startswith(f"{mark} ") for mark in self.inherited)

    def is_anothers(self, record: DnsRecord) -> bool:
        """Whether a record bears the mark of another owner."""
        return (
            bool(self.others)
            and (record.comment or "").startswith(self.others)
            and not self.marks(record.comment)
            and not self.inherits(record)
        )

    @property
    def whole_comment(self) -> str:
        return (self.comment or self.mark)[:LONGEST_COMMENT]


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """The operations of a batch for one change."""

    kept: tuple[DnsRecord, ...] = ()
    deletes: tuple[DnsRecord, ...] = ()
    patches: tuple[tuple[DnsRecord, JsonObject], ...] = ()
    posts: tuple[JsonObject, ...] = ()

    @property
    def size(self) -> int:
        return len(self.deletes) + len(self.patches) + len(self.posts)

    @property
    def touches_existing(self) -> bool:
        return bool(self.deletes or self.patches)


def _canonical(kind: str, content: str) -> str:
    if kind == "CNAME":
        return normalise(content)
    versions = {"A": 4, "AAAA": 6}
    try:
        address = ipaddress.ip_address(content)
    except ValueError as error:
        raise Stall(INVALID_SPEC, f"{content[:300]!r} is not an IP address") from error
    if versions.get(kind) != address.version:
        raise Stall(INVALID_SPEC, f"{content} cannot be the content of a record of type {kind}")
    return str(address)


def plan_change(change: RecordChange, same_name: Iterable[DnsRecord]) -> RecordPlan:
    """Plan a change, given the records of that name. Raise Stall if records of others conflict."""
    existing = [record for record in same_name if record.type in _TYPES]
    if not change.wanted:
        ours = [record for record in existing if change.owns(record)]
        return _release(change, ours) if change.release else _withdrawal(change, ours)
    _check_foreign(change, existing)
    left = list(existing)
    kept, patches, unmatched = _match_exactly(change, left)
    posts: list[JsonObject] = []
    for wanted in unmatched:
        reusable = next((record for record in left if record.type == wanted.type), None)
        if reusable is None:
            posts.append({"name": change.name, **_fields(change, wanted)})
        else:
            left.remove(reusable)
            patches.append((reusable, _fields(change, wanted)))
    return RecordPlan(tuple(kept), tuple(left), tuple(patches), tuple(posts))


def _match_exactly(
    change: RecordChange, left: list[DnsRecord]
) -> tuple[list[DnsRecord], list[tuple[DnsRecord, JsonObject]], list[WantedRecord]]:
    """Match each desired record with an existing one of the same type and content, and remove that from `left`."""
    kept: list[DnsRecord] = []
    patches: list[tuple[DnsRecord, JsonObject]] = []
    unmatched: list[WantedRecord] = []
    for wanted in change.wanted:
        match = next((record for record in left if _same_target(record, wanted)), None)
        if match is None:
            unmatched.append(wanted)
            continue
        left.remove(match)
        fields = _fields(change, wanted)
        is_unmanaged = not change.adopt and not change.owns(match)
        if is_unmanaged or all(getattr(match, name) == value for name, value in fields.items()):
            kept.append(match)
        else:
            patches.append((match, fields))
    return kept, patches, unmatched


def _release(change: RecordChange, ours: Sequence[DnsRecord]) -> RecordPlan:
    marked = [record for record in ours if change.marks(record.comment) or change.inherits(record)]
    return RecordPlan(patches=tuple((record, {"comment": ""}) for record in marked))


def _withdrawal(change: RecordChange, ours: Sequence[DnsRecord]) -> RecordPlan:
    if change.written is not None:
        for record in ours:
            if (record.type, record.content) not in change.written:
                raise Stall(
                    RECORD_CONFLICT,
                    f"the record {record.type} {record.name} is not deleted: it was changed to {record.content}",
                )
    return RecordPlan(deletes=tuple(ours))


def _check_foreign(change: RecordChange, existing: Sequence[DnsRecord]) -> None:
    """Raise Stall if a record of others is in the way. One that leads where a desired one would is not."""
    for record in existing:
        if change.is_anothers(record):
            raise Stall(
                RECORD_CONFLICT,
                f"the record {record.type} {record.name} to {record.content} belongs to another owner: {record.comment}",
            )
    if change.adopt:
        return
    for record in existing:
        if not change.owns(record) and not any(_same_target(record, wanted) for wanted in change.wanted):
            raise Stall(
                RECORD_CONFLICT,
                f"there is a record {record.type} {record.name} to {record.content} that is not ours",
            )


def _same_target(record: DnsRecord, wanted: WantedRecord) -> bool:
    return (
        record.type == wanted.type and record.content == wanted.content and record.proxied == wanted.proxied
    )


def _fields(change: RecordChange, wanted: WantedRecord) -> JsonObject:
    return {
        "type": wanted.type,
        "content": wanted.content,
        "proxied": wanted.proxied,
        "ttl": 1 if wanted.proxied else wanted.ttl,
        "comment": change.whole_comment,
    }
