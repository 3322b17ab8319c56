"""Marks at Cloudflare that say which cluster and which route something belongs to.

    Access tag     edgekeeper-<cluster>
    DNS comment    edgekeeper <cluster> <route> <namespace>/<name>     a hundred characters at most

Cluster and route are hashes, so that marks of any cluster and route have the same length, and the DNS records of a cluster
can be listed by the beginning of their comments. What follows the hashes is for people and may be cut. As things are found
by their marks, the format never changes; golden tests check that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

TAG_PREFIX: Final = "edgekeeper-"
"""How the tags of all clusters begin."""
MARK_PREFIX: Final = "edgekeeper "
"""How the comments of all clusters begin."""
LONGEST_COMMENT: Final = 100
_TAG = re.compile(r"edgekeeper-([0-9a-f]{12})")
_CLUSTER_LENGTH = 12
_ROUTE_LENGTH = 20


def cluster_tag(cluster: str) -> str:
    """The tag of all Access applications of a cluster."""
    return f"{TAG_PREFIX}{_digest(cluster)[:_CLUSTER_LENGTH]}"


def cluster_mark(cluster: str) -> str:
    """How the comments of all DNS records of a cluster begin."""
    return f"{MARK_PREFIX}{_digest(cluster)[:_CLUSTER_LENGTH]} "


@dataclass(frozen=True, slots=True)
class LostCluster:
    """A cluster whose routes are replaced by ours of the same namespace and name."""

    id: str
    """Its id, or the tag of its applications: an id cannot be read from marks."""

    @property
    def tag(self) -> str:
        return self.id if _TAG.fullmatch(self.id) else cluster_tag(self.id)

    def mark_of(self, namespace: str, name: str) -> str:
        """How the comments of all DNS records of a route begin."""
        return f"{MARK_PREFIX}{self.tag.removeprefix(TAG_PREFIX)} {_route_digest(namespace, name)}"


def lost_tags(lost: Iterable[LostCluster]) -> frozenset[str]:
    """The tags of all applications of lost clusters."""
    return frozenset(cluster.tag for cluster in lost)


def tag_in_comment(comment: str) -> str:
    """The tag of the cluster whose mark a comment is; empty for a comment of others."""
    parts = comment.split(" ")
    return f"{TAG_PREFIX}{parts[1]}" if comment.startswith(MARK_PREFIX) and len(parts) > 1 else ""


def route_mark(cluster: str, namespace: str, name: str) -> str:
    """The comment of all DNS records of a route."""
    return f"{_hashes(cluster, namespace, name)} {namespace}/{name}"[:LONGEST_COMMENT]


def is_marked(comment: str, cluster: str, namespace: str, name: str) -> bool:
    """Whether a comment is the mark of this route. Only the hashes count."""
    hashes = _hashes(cluster, namespace, name)
    return comment == hashes or comment.startswith(f"{hashes} ")


def _hashes(cluster: str, namespace: str, name: str) -> str:
    return f"{cluster_mark(cluster)}{_route_digest(namespace, name)}"


def _route_digest(namespace: str, name: str) -> str:
    return _digest(f"{namespace}/{name}")[:_ROUTE_LENGTH]


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
