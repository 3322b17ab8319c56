"""Marks at Cloudflare that say which cluster and which route something belongs to.

    Access tag     edgekeeper-<cluster>
    DNS comment    edgekeeper <cluster> <route> <namespace>/<name>     a hundred characters at most

Cluster and route are hashes, so that marks of any cluster and route have the same length, and the DNS records of a cluster
can be listed by the beginning of their comments. What follows the hashes is for people and may be cut. As things are found
by their marks, the format never changes; golden tests check that.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

TAG_PREFIX: Final = "edgekeeper-"
"""How the tags of all clusters begin."""
MARK_PREFIX: Final = "edgekeeper "
"""How the comments of all clusters begin."""
LONGEST_COMMENT: Final = 100
_CLUSTER_LENGTH = 12
_ROUTE_LENGTH = 20


def cluster_tag(cluster: str) -> str:
    """The tag of all Access applications of a cluster."""
    return f"{TAG_PREFIX}{_digest(cluster)[:_CLUSTER_LENGTH]}"


def cluster_mark(cluster: str) -> str:
    """How the comments of all DNS records of a cluster begin."""
    return f"{MARK_PREFIX}{_digest(cluster)[:_CLUSTER_LENGTH]} "


def route_mark(cluster: str, namespace: str, name: str) -> str:
    """The comment of all DNS records of a route."""
    return f"{_hashes(cluster, namespace, name)} {namespace}/{name}"[:LONGEST_COMMENT]


def is_marked(comment: str, cluster: str, namespace: str, name: str) -> bool:
    """Whether a comment is the mark of this route. Only the hashes count."""
    hashes = _hashes(cluster, namespace, name)
    return comment == hashes or comment.startswith(f"{hashes} ")


def _hashes(cluster: str, namespace: str, name: str) -> str:
    return f"{cluster_mark(cluster)}{_digest(f'{namespace}/{name}')[:_ROUTE_LENGTH]}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
