"""What is decided about an instance: the wanted objects, how far each node is, and what to do next. `waves` decides it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from edgekeeper.controllers.composition.evaluation import MOST_OBJECTS
from edgekeeper.controllers.composition.inventory import GroupKind, Inventory
from edgekeeper.controllers.composition.readiness import shown
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind

KIND_NOT_PERMITTED: Final = "KindNotPermitted"
KIND_NOT_SERVED: Final = "KindNotServed"
NAMESPACE_NOT_PERMITTED: Final = "NamespaceNotPermitted"
NAMESPACE_NOT_WATCHED: Final = "NamespaceNotWatched"


def not_watched(namespace: str) -> str:
    """That a namespace is not watched, with the remedy, for messages."""
    return f"namespace {namespace}, which the operator does not watch: add it to --namespace"


class Address(NamedTuple):
    """Where an object is."""

    kind: Kind
    key: Key

    def __str__(self) -> str:
        return shown(self.kind, self.key)


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as it is in the cluster."""

    object: JsonObject
    complete: bool = True
    """Whether it is all of the object, and not only its metadata."""
    applied: str = ""
    """The hash of what it is known to be in accordance with; empty if that is not known."""


class View(Protocol):
    """What is known about the cluster."""

    def find(self, address: Address) -> Seen | None:
        """A child, or an object that could become one; None if it does not exist."""

    def find_external(self, address: Address) -> Seen | None:
        """An object of others; None if it does not exist."""

    def select(self, kind: Kind, namespace: str, selector: JsonObject) -> list[tuple[Key, Seen]]:
        """The objects that a selector matches, in the order of their keys; in all namespaces if none is given."""

    def obstacle(self, kind: Kind, *, external: bool) -> tuple[str, str] | None:
        """The reason and the message, if objects of a kind cannot be known."""

    def is_watched(self, kind: Kind, namespace: str) -> bool:
        """Whether objects of others are known in a namespace."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an installation allows instances to have."""

    namespaces: frozenset[str] | None = None
    """The namespaces that children, and objects that are only read, may be in, beside the instance's; None for all."""
    collection_size: int = MOST_OBJECTS

    def within(self, watched: tuple[str, ...]) -> Limits:
        """The limits in a process that watches these namespaces alone; all of them if there are none."""
        if not watched:
            return self
        allowed = frozenset(watched) if self.namespaces is None else self.namespaces & frozenset(watched)
        return replace(self, namespaces=allowed)

    def refusal(self, kind: Kind, namespace: str, own: str) -> tuple[str, str] | None:
        """The reason and the message, if a child may not be."""
        if not kind.namespaced or self.permits(namespace, own):
            return None
        message = f"children in namespace {namespace} are not allowed by this installation"
        return NAMESPACE_NOT_PERMITTED, message

    def permits(self, namespace: str, own: str) -> bool:
        """Whether an instance of a namespace may have, or read, something in another one."""
        return self.namespaces is None or namespace in {own, *self.namespaces}


class NodeState(StrEnum):
    """How far a node is."""

    EXCLUDED = "Excluded"
    WAITING = "Waiting"
    """For another node, or for data."""
    READING = "Reading"
    """For the content of an object that was not read yet."""
    FAILED = "Failed"
    APPLY = "Apply"
    """Some of its objects belong to the next wave."""
    DELETING = "Deleting"
    NOT_READY = "NotReady"
    READY = "Ready"

    @property
    def is_settled(self) -> bool:
        """Whether it is known which objects the node has, and all of them are as they should be."""
        return self in (NodeState.EXCLUDED, NodeState.NOT_READY, NodeState.READY)


@dataclass(frozen=True, slots=True)
class Desired:
    """An object that an instance wants, with all marks."""

    node: str
    address: Address
    object: JsonObject
    hash: str
    exists: bool = False
    """Whether there is one already."""
    keep: bool = False
    """Whether expressions use its content."""


@dataclass(slots=True)
class NodeResult:
    """How far one node is, and why it is no further."""

    id: str
    state: NodeState
    message: str = ""
    reason: str = ""
    """A reason for conditions, if there is a special one."""
    objects: tuple[Desired, ...] = ()
    observed: JsonObject | list[JsonObject] | None = None
    """What expressions see of it: None before all of it is applied."""
    contested: tuple[Address, ...] = ()
    """Objects that belong to others."""


@dataclass(slots=True)
class Plan:
    """What to do for an instance."""

    nodes: dict[str, NodeResult] = field(default_factory=dict)
    applies: list[Desired] = field(default_factory=list)
    verified: list[Desired] = field(default_factory=list)
    """Objects that were compared, and are as they should be: need not be compared again before they change."""
    reads: set[Address] = field(default_factory=set)
    external_reads: set[Address] = field(default_factory=set)
    inventory: Inventory = field(default_factory=Inventory)
    """What covers all objects that are known to be wanted."""
    held_until: datetime | None = None
    """When the first object is applied again that was held back, because others revert it."""
    variables: dict[str, Any] = field(default_factory=dict)
    """What expressions see: the instance, and every node that is observed."""

    @property
    def is_complete(self) -> bool:
        """Whether everything that is wanted is known and applied, so that everything else may be removed."""
        return all(node.state.is_settled for node in self.nodes.values())

    @property
    def is_ready(self) -> bool:
        """Whether nothing is left to do or to wait for."""
        return all(node.state in (NodeState.EXCLUDED, NodeState.READY) for node in self.nodes.values())

    @property
    def wanted(self) -> dict[GroupKind, set[Key]]:
        """The objects that are known to be wanted."""
        found: defaultdict[GroupKind, set[Key]] = defaultdict(set)
        for node in self.nodes.values():
            for one in node.objects:
                found[GroupKind.of(one.address.kind)].add(one.address.key)
        return found
