"""What to do about the records of one name: a pure function from what is wanted and what is there.

Ours are the records whose comment begins with our mark. Records of others are left alone: where one is in the way, the
change is refused, and the reason names it. One that is already exactly as wanted gets our mark.
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
"""On any plan."""
_SHORTEST_TTL, _LONGEST_TTL = 60, 86_400
_TYPES = frozenset({"A", "AAAA", "CNAME"})
"""Types that get into each other's way. Others of the same name, such as TXT, are nobody's concern here."""


@dataclass(frozen=True, slots=True)
class WantedRecord:
    """A record as it should be."""

    type: str
    content: str
    proxied: bool = False
    ttl: int = 1
    """1 is automatic, as it always is for proxied records."""

    def __post_init__(self) -> None:
        """Spell the content as Cloudflare will. Raise Stall where it would not be taken."""
        object.__setattr__(self, "content", _canonical(self.type, self.content))
        if self.ttl != 1 and not _SHORTEST_TTL <= self.ttl <= _LONGEST_TTL:
            raise Stall(
                INVALID_SPEC,
                f"a TTL of {self.ttl} is neither 1 nor between {_SHORTEST_TTL} and {_LONGEST_TTL}",
            )


@dataclass(frozen=True, slots=True)
class RecordChange:
    """What the address records of one name should be."""

    name: str
    """As `hostnames.normalise` spells it."""
    mark: str
    """The first words of the comments of our records: who the owner is."""
    wanted: tuple[WantedRecord, ...] = ()
    """None at all withdraws the name."""
    comment: str = ""
    """The whole comment; the mark alone where empty. Cut after 100 characters."""
    written: frozenset[tuple[str, str]] | None = None
    """For a withdrawal: type and content of what we wrote. What is different now is not deleted."""
    adopt: bool = False
    """Whether records of others may be taken over."""
    known: frozenset[str] = frozenset()
    """Ids of records that are ours though they bear no mark: an operator that came before us wrote them."""
    others: str = ""
    """How the marks of all owners begin. Records with the mark of another one are not taken over, `adopt` or not."""
    release: bool = False
    """For a withdrawal: whether the records stay, without our mark."""

    def __post_init__(self) -> None:
        """Raise ValueError where what we write would not be known as ours again."""
        if not self.mark or len(self.mark) > LONGEST_COMMENT:
            raise ValueError("a mark has to be there, and to fit into a comment")
        if not self.marks(self.whole_comment) or not self.whole_comment.isprintable():
            raise ValueError(f"the comment does not begin with the mark {self.mark!r}, or is no line of text")

    def marks(self, comment: str | None) -> bool:
        """Whether a record with this comment is ours."""
        return comment is not None and f"{comment} ".startswith(f"{self.mark} ")

    def owns(self, record: DnsRecord) -> bool:
        """Whether a record is ours: by its mark, or because its id is known."""
        return record.id in self.known or self.marks(record.comment)

    def is_anothers(self, record: DnsRecord) -> bool:
        """Whether a record bears the mark of another owner."""
        return (
            bool(self.others)
            and (record.comment or "").startswith(self.others)
            and not self.marks(record.comment)
        )

    @property
    def whole_comment(self) -> str:
        return (self.comment or self.mark)[:LONGEST_COMMENT]


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """What a batch has to hold for one change."""

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
        raise Stall(INVALID_SPEC, f"{content[:300]!r} is no address") from error
    if versions.get(kind) != address.version:
        raise Stall(INVALID_SPEC, f"{content} cannot be the content of a record of type {kind}")
    return str(address)


def plan_change(change: RecordChange, same_name: Iterable[DnsRecord]) -> RecordPlan:
    """What to do, given the records of that name. Raise Stall where others are in the way."""
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
    """Find for each wanted record the one with its type and content, and take it out of `left`."""
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
        if all(getattr(match, name) == value for name, value in fields.items()):
            kept.append(match)
        else:
            patches.append((match, fields))
    return kept, patches, unmatched


def _release(change: RecordChange, ours: Sequence[DnsRecord]) -> RecordPlan:
    marked = [record for record in ours if change.marks(record.comment)]
    return RecordPlan(patches=tuple((record, {"comment": ""}) for record in marked))


def _withdrawal(change: RecordChange, ours: Sequence[DnsRecord]) -> RecordPlan:
    if change.written is not None:
        for record in ours:
            if (record.type, record.content) not in change.written:
                raise Stall(
                    RECORD_CONFLICT,
                    f"the record {record.type} {record.name} is not deleted: somebody has changed it to {record.content}",
                )
    return RecordPlan(deletes=tuple(ours))


def _check_foreign(change: RecordChange, existing: Sequence[DnsRecord]) -> None:
    """Raise Stall where a record of others would have to be changed. One that is as wanted may get our mark."""
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
