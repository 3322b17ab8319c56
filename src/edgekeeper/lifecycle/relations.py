"""What objects say about others and about the clouds, for people: `edgekeeper get` and `edgekeeper explain`.

A relation leads from an object to one that it depends on, or that stands for a part of it. It may lead to any kind, such
as a Secret. `explain` follows relations to objects that are missing or not ready.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind


@dataclass(frozen=True, slots=True)
class Relation:
    """Another object, and what it is for."""

    kind: Kind
    key: Key
    role: str
    """What it is for the object: `the tenant`, `the API token`."""
    is_required: bool = True
    """Whether the object cannot be ready without it."""
    parts: tuple[str, ...] = ()
    """Keys of a Secret or ConfigMap that must be there."""
    remedy: str = ""
    """What to do if it is missing; a general text if empty."""


@dataclass(frozen=True, slots=True)
class Details:
    """What there is for an object outside the cluster."""

    hostnames: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    """The ids of what it manages in clouds."""
    drift: str = ""
    """What was changed outside the operator; empty if nothing is known."""
    references: tuple[tuple[str, str], ...] = ()
    """What it refers to outside the cluster, by name: hosted zones, roles, certificates."""


class Reader(Protocol):
    """Reads the cluster, and nothing else."""

    async def get(self, kind: Kind, key: Key) -> JsonObject | None:
        """An object; None if it does not exist or its kind is not served."""

    async def select(self, kind: Kind, namespace: str = "", labels: str = "") -> list[JsonObject]:
        """The objects of a kind; empty if the kind is not served or may not be listed."""
