"""The options of composition, and how its flags are read. Names and defaults are kro's where kro has the flag.

Nothing is imported here that compiles expressions, so that processes without compositions do not load it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

ALLOWED_KINDS: Final = "--composition-allowed-kinds"
ALLOWED_NAMESPACES: Final = "--composition-allowed-namespaces"
OMIT_GATE: Final = "CELOmitFunction"
GATES: Final = (OMIT_GATE, "InstanceConditionEvents", "InstanceConditionMetrics")
"""kro's feature gates. Only the first changes anything here: events and metrics of conditions are always there."""
MOST_REVISIONS: Final = 5
MOST_ITEMS: Final = 1000
MOST_DIMENSIONS: Final = 10

DEFINITION_CONTROLLER: Final = "resourcegraphdefinition"
REVISION_CONTROLLER: Final = "graphrevision"


class Mode(StrEnum):
    """Whether compositions are reconciled."""

    AUTO = "auto"
    """Unless kro is running."""
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class CompositionOptions:
    """What an installation allows and how it is run, for definitions and for instances."""

    mode: Mode = Mode.AUTO
    kro_namespace: str = ""
    """Where kro may be running; empty for any namespace."""
    allow_crd_deletion: bool = False
    omit_allowed: bool = False
    max_revisions: int = MOST_REVISIONS
    """Revisions that are kept of each definition; zero for all."""
    max_collection_size: int = MOST_ITEMS
    max_dimensions: int = MOST_DIMENSIONS
    allowed_kinds: frozenset[str] | None = None
    """As `Kind.group`, or `*.group`; None for any."""
    allowed_namespaces: frozenset[str] | None = None
    """Namespaces that children may be in; None for any."""
    max_concurrent: int = 16
    """Passes of definitions at the same time."""
    instance_max_concurrent: int = 16
    """Passes of the instances of one kind at the same time."""
    instance_resync: timedelta = timedelta(hours=10)

    @property
    def kind_guard(self) -> KindGuard:
        return KindGuard(self.allowed_kinds)


@dataclass(frozen=True, slots=True)
class KindGuard:
    """The kinds that definitions may use, for children and for objects that are only read."""

    allowed: frozenset[str] | None = None
    """As `Kind.group`, or `*.group` for all kinds of a group; None allows every kind."""

    def allows(self, api_version: str, kind: str) -> bool:
        if self.allowed is None:
            return True
        group = api_version.rpartition("/")[0]
        return not self.allowed.isdisjoint((qualified(group, kind), qualified(group, "*")))


def qualified(group: str, kind: str) -> str:
    """`Deployment.apps`, `ConfigMap`: a kind as allow lists and inventories name it."""
    return f"{kind}.{group}" if group else kind


def parse_gates(text: str) -> bool:
    """Whether `omit()` is allowed, from `CELOmitFunction=true,…`. Raise ValueError for what is not a gate."""
    omit = False
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name not in GATES or value.lower() not in ("true", "false"):
            raise ValueError(f"{part!r} is not GATE=true or GATE=false, with a gate of {', '.join(GATES)}")
        if name == OMIT_GATE:
            omit = value.lower() == "true"
    return omit


def parse_mode(text: str) -> Mode:
    if text not in tuple(Mode):
        raise ValueError(f"{text!r} is not one of {', '.join(Mode)}")
    return Mode(text)


def parse_count(text: str) -> int:
    """A number that is not negative. Raise ValueError otherwise."""
    if not text.isdecimal():
        raise ValueError(f"{text!r} is not a number")
    return int(text)


def parse_seconds(text: str) -> timedelta:
    """kro's form of an interval: seconds."""
    return timedelta(seconds=parse_count(text))


def parse_kind(text: str) -> str:
    """A kind of an allow list. Raise ValueError for a version, or nothing at all."""
    name, _, group = text.partition(".")
    if "/" in text or not name or (name == "*" and not group):
        raise ValueError(
            f"{text!r} is not KIND or KIND.GROUP or *.GROUP, such as ConfigMap, Deployment.apps, *.apps"
        )
    return text
