"""The inventory of an instance: of which kinds and in which namespaces it has children (ApplySet, KEP-3659).

It stands in annotations of the instance, and covers a child before the child is created. Which objects are children is
then a matter of labels: whatever can be found by the inventory is deleted with the instance, whether or not its
definition can be evaluated, or exists.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from edgekeeper.controllers.composition.labels import APPLY_SET_ID, KRO_VERSION, label_of
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.kube.kinds import Key, Kind

TOOLING: Final = "applyset.kubernetes.io/tooling"
GROUP_KINDS: Final = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES: Final = "applyset.kubernetes.io/additional-namespaces"
HASH: Final = "internal.kro.run/applyset-inventory-hash"
_OUR_TOOLING: Final = "kro/"
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")


class DamagedInventoryError(Exception):
    """The inventory of an instance is missing or was changed by others: nobody knows what its children are."""


class GroupKind(NamedTuple):
    """A kind in any version."""

    kind: str
    group: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @classmethod
    def of(cls, kind: Kind) -> GroupKind:
        return cls(kind.kind, kind.group)


@dataclass(frozen=True, slots=True)
class Inventory:
    """Where children of an instance may be."""

    kinds: frozenset[GroupKind] = frozenset()
    namespaces: frozenset[str] = frozenset()
    """Namespaces other than that of the instance."""

    def __or__(self, other: Inventory) -> Inventory:
        return Inventory(self.kinds | other.kinds, self.namespaces | other.namespaces)

    def __ge__(self, other: Inventory) -> bool:
        """Whether this one covers another."""
        return self.kinds >= other.kinds and self.namespaces >= other.namespaces

    def annotations(self, apply_set: str) -> dict[str, str]:
        kinds, namespaces = _joined(map(str, self.kinds)), _joined(self.namespaces)
        return {
            TOOLING: f"{_OUR_TOOLING}{KRO_VERSION}",
            GROUP_KINDS: kinds,
            NAMESPACES: namespaces,
            HASH: _hash(apply_set, kinds, namespaces),
        }


def apply_set_id(kind: Kind, key: Key) -> str:
    """The id of the ApplySet of an instance."""
    identity = ".".join((key.name, key.namespace, kind.kind, kind.group))
    return f"applyset-{_digest(identity)}-v1"


def read_inventory(instance: JsonObject) -> Inventory:
    """The inventory as it is written; what is missing or malformed is left out."""
    try:
        return _parse(instance)
    except DamagedInventoryError:
        return Inventory()


def confirmed_inventory(instance: JsonObject, apply_set: str) -> Inventory:
    """The inventory that a deletion relies on; raises DamagedInventoryError if it may not be what we wrote."""
    found = label_of(instance, APPLY_SET_ID)
    if found != apply_set:
        raise DamagedInventoryError(f'invalid {APPLY_SET_ID} label: got "{found}", want "{apply_set}"')
    annotations = dig_object(instance, "metadata", "annotations")
    tooling = str(annotations.get(TOOLING, ""))
    if not tooling.startswith(_OUR_TOOLING):
        raise DamagedInventoryError(f'invalid {TOOLING} annotation: "{tooling}" is not owned by kro')
    for name in (GROUP_KINDS, NAMESPACES):
        if name not in annotations:
            raise DamagedInventoryError(f"missing required {name} annotation")
    inventory = _parse(instance)
    expected = inventory.annotations(apply_set)[HASH]
    if annotations.get(HASH, expected) != expected:
        message = f'invalid {HASH} annotation: got "{annotations[HASH]}", want "{expected}"'
        raise DamagedInventoryError(message)
    return inventory


def _parse(instance: JsonObject) -> Inventory:
    annotations = dig_object(instance, "metadata", "annotations")
    kinds = frozenset(_group_kind(entry) for entry in _entries(annotations.get(GROUP_KINDS)))
    namespaces = frozenset(_entries(annotations.get(NAMESPACES)))
    for namespace in sorted(namespaces):
        if not _LABEL.fullmatch(namespace):
            raise DamagedInventoryError(f'invalid {NAMESPACES} annotation: invalid namespace "{namespace}"')
    return Inventory(kinds, namespaces)


def _entries(text: object) -> list[str]:
    return [entry.strip() for entry in text.split(",")] if isinstance(text, str) and text else []


def _group_kind(entry: str) -> GroupKind:
    kind, dot, group = entry.partition(".")
    if not kind or any(character.isspace() for character in kind):
        raise DamagedInventoryError(f'invalid {GROUP_KINDS} annotation: invalid kind "{kind}"')
    if dot and not _SUBDOMAIN.fullmatch(group):
        raise DamagedInventoryError(f'invalid {GROUP_KINDS} annotation: invalid group "{group}"')
    return GroupKind(kind, group)


def _joined(texts: Iterable[str]) -> str:
    return ",".join(sorted(texts))


def _hash(apply_set: str, kinds: str, namespaces: str) -> str:
    return f"sha256:{_digest(chr(0).join((apply_set, kinds, namespaces)))}"


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
