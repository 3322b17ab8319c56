"""One line about an object on the status page, and its state in a word. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from edgekeeper.core.annotations import Wishes
from edgekeeper.core.clock import timestamp
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.readiness import find_condition
from edgekeeper.core.redaction import redact_text
from edgekeeper.diagnosis.catalog import KnownKind
from edgekeeper.diagnosis.rows import PERSON, Row, row_of
from edgekeeper.kube.kinds import Key, Kind

NO_NAMESPACE: Final = "-"
"""In place of the namespace of objects that have none, in ids."""
ANY_GROUP: Final = "*"
"""In place of the group in addresses, where only the kind is known."""
LONGEST_MESSAGE: Final = 400
MOST_HOSTNAMES: Final = 20


class State(StrEnum):
    """How an object is, the worst first."""

    ATTENTION = "attention"
    """A person must act."""
    DRIFTED = "drifted"
    """It was changed outside the operator, and is not corrected."""
    PROGRESSING = "progressing"
    """It becomes ready by itself."""
    DELETING = "deleting"
    PAUSED = "paused"
    READY = "ready"


RANKS: Final = {state: rank for rank, state in enumerate(State)}


class ObjectRow(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What is shown of an object in lists."""

    id: str
    kind: str
    namespace: str
    name: str
    state: State
    reason: str = ""
    message: str = ""
    waits_for: str = ""
    until: str = ""
    since: str = ""
    """Since when it is as it is."""
    created: str = ""
    hostnames: tuple[str, ...] = ()
    drift: str = ""

    @property
    def text(self) -> str:
        """What a search looks at, in lower case."""
        parts = (self.kind, f"{self.namespace}/{self.name}", self.reason, self.message, *self.hostnames)
        return "\n".join(parts).lower()


def object_id(kind: Kind, key: Key) -> str:
    """Identifies an object in addresses: `group/Kind/namespace/name`."""
    return f"{kind.group or NO_NAMESPACE}/{kind.kind}/{key.namespace or NO_NAMESPACE}/{key.name}"


def object_row(obj: JsonObject, known: KnownKind, policy: Policy = Policy.ENFORCE) -> ObjectRow:
    """The line about an object. `policy` is that of objects that have none of their own. Accepts any content."""
    row = row_of(obj, known)
    condition = find_condition(obj, "Ready")
    state = _state(obj, row)
    waits = not row.ready and not is_left_drifted(obj, state, policy)
    return ObjectRow(
        object_id(known.kind, row.key),
        known.kind.kind,
        row.key.namespace,
        row.key.name,
        state,
        reason=_text(row.reason),
        message=_text(row.message),
        waits_for=_text(row.waits_for) if waits else "",
        until=moment(row.until) if waits else "",
        since=_text(dig(condition, "lastTransitionTime")),
        created=moment(row.created),
        hostnames=tuple(_text(name) for name in row.details.hostnames[:MOST_HOSTNAMES]),
        drift=_text(row.details.drift),
    )


def is_left_drifted(obj: JsonObject, state: State, policy: Policy) -> bool:
    """Whether drift of an object is left as it is, so that nothing is waited for."""
    return state is State.DRIFTED and (Wishes.of(obj).drift_policy or policy) is not Policy.ENFORCE


def _state(obj: JsonObject, row: Row) -> State:
    is_deleting = bool(dig(obj, "metadata", "deletionTimestamp"))
    if Wishes.of(obj).paused and not is_deleting:
        return State.PAUSED
    if row.waits_for == PERSON and not row.ready:
        return State.ATTENTION
    if is_deleting:
        return State.DELETING
    if row.details.drift:
        return State.DRIFTED
    return State.READY if row.ready else State.PROGRESSING


def moment(value: datetime | None) -> str:
    return timestamp(value) if value is not None else ""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    text = redact_text(value)
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"
