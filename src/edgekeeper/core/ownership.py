"""Ownership marks: tags on cloud objects that name the Kubernetes object that owns them.

    edgekeeper.io/cluster, /namespace, /name, /uid      AWS allows 128 characters for a key, 256 for a value

`is_mine` compares a mark with an owner. Only `MINE` allows a change or a deletion.

    UNMARKED   no mark of edgekeeper: the object belongs to others, or was not created by edgekeeper
    OTHERS     the mark of another object or cluster, or one that cannot be parsed, for example of a later version
    FORMER     the mark of an earlier object of the same cluster, namespace and name, which therefore no longer exists;
               the cloud object can be adopted
    INHERITED  the mark of an object of the same namespace and name in a cluster that an administrator has named as
               lost (`--adopt-from-cluster`), which may be the own one; the cloud object is adopted
    MINE       the mark of exactly this object

Like names, the formats never change; golden tests check that. Marks prevent mistakes, not attacks: anyone who may write
to the cloud account can forge them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.names import fingerprint

TAG_PREFIX: Final = "edgekeeper.io/"

_CLUSTER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_UID = re.compile(r"[A-Za-z0-9-]{1,36}")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


class Ownership(Enum):
    """Who owns a remote object, seen from one Kubernetes object."""

    UNMARKED = auto()
    OTHERS = auto()
    FORMER = auto()
    INHERITED = auto()
    MINE = auto()


@dataclass(frozen=True, slots=True)
class Mark:
    """A parsed mark. All fields are empty for one that cannot be parsed (`UNREADABLE`)."""

    cluster: str
    """A hash of the cluster's id."""
    uid: str
    check: str
    """A hash of cluster, namespace, name and uid of the owner."""
    cluster_id: str = field(default="", compare=False)
    """The id itself."""


UNREADABLE: Final = Mark("", "", "")


@dataclass(frozen=True, slots=True)
class Owner:
    """A Kubernetes object as the owner of something in a cloud."""

    cluster: str
    namespace: str
    """Empty for a cluster-scoped object."""
    name: str
    uid: str
    lost_clusters: frozenset[str] = field(default=frozenset(), compare=False)
    """The clusters whose object of this namespace and name is succeeded by this one. Not part of the mark."""

    def __post_init__(self) -> None:
        # These values are inserted into tags and queries, so their syntax is checked here against injection.
        if not is_cluster_id(self.cluster):
            raise ValueError(f"not a cluster id: {self.cluster!r}")
        if not _UID.fullmatch(self.uid):
            raise ValueError(f"not a uid: {self.uid!r}")
        if not _NAME.fullmatch(self.name) or (self.namespace and not _NAME.fullmatch(self.namespace)):
            raise ValueError(f"not the name of an object: {self.namespace!r}, {self.name!r}")

    @classmethod
    def of(cls, obj: JsonObject, cluster: str, lost_clusters: frozenset[str] = frozenset()) -> Owner:
        """The owner for an object. Raise ValueError if it has no name or uid yet."""
        namespace, name, uid = (
            str(dig(obj, "metadata", part) or "") for part in ("namespace", "name", "uid")
        )
        return cls(cluster, namespace, name, uid, lost_clusters)

    @property
    def mark(self) -> Mark:
        check = fingerprint(self.cluster, self.namespace, self.name, self.uid)
        return Mark(fingerprint(self.cluster), self.uid, check, self.cluster)

    def succeeds(self, mark: Mark, cluster: str) -> bool:
        """Is it the mark of an object of this namespace and name in a cluster?"""
        return mark.uid != "" and replace(self, cluster=cluster, uid=mark.uid).mark == mark

    def tags(self) -> dict[str, str]:
        """The mark as tags."""
        parts = {"cluster": self.cluster, "namespace": self.namespace, "name": self.name, "uid": self.uid}
        return {f"{TAG_PREFIX}{part}": value for part, value in parts.items() if value}


def is_cluster_id(text: str) -> bool:
    """May a cluster have this id?"""
    return _CLUSTER.fullmatch(text) is not None


def parse_tags(tags: Mapping[str, str]) -> Mark | None:
    """The mark in tags, or None if there is none. Tags with our prefix that this version does not know are a mark as well."""
    if not any(value for key, value in tags.items() if key.startswith(TAG_PREFIX)):
        return None
    cluster, namespace, name, uid = (
        tags.get(TAG_PREFIX + part, "") for part in ("cluster", "namespace", "name", "uid")
    )
    try:
        return Owner(cluster, namespace, name, uid).mark
    except ValueError:
        return UNREADABLE


def is_owned(mark: Mark | None, owner: Owner) -> bool:
    """Does a mark prove that something is the owner's, already or by inheritance?"""
    return is_mine(mark, owner) in (Ownership.MINE, Ownership.INHERITED)


def is_mine(mark: Mark | None, owner: Owner) -> Ownership:
    """Compare a mark with an owner, by the table at the top of the module."""
    if mark is None:
        return Ownership.UNMARKED
    if mark == owner.mark:
        return Ownership.MINE
    if any(owner.succeeds(mark, cluster) for cluster in owner.lost_clusters):
        return Ownership.INHERITED
    return Ownership.FORMER if owner.succeeds(mark, owner.cluster) else Ownership.OTHERS
