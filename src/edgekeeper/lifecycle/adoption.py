"""Whether an external object that exists may become ours, and if not, what its user or an administrator can do.

    mark names                                              may be adopted
    nobody                                                  if the object has edgekeeper.io/adopt set
    an earlier object of this cluster, namespace and name   if the object has edgekeeper.io/adopt set
    an object of this namespace and name in a cluster       always
      that `--adopt-from-cluster` names
    any other object                                        never

The marks of all kinds are judged by this table. What has no mark, such as a DNS record, is adopted with the marked object
that it belongs to, as long as that still has its old mark: so the mark is rewritten last, and an adoption that is
interrupted continues.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.core.ownership import Mark, Owner, Ownership

FLAG: Final = "--adopt-from-cluster"
_ADOPT: Final = 'annotate this object with edgekeeper.io/adopt: "true"'


def may_adopt(whose: Ownership, *, is_wished: bool) -> bool:
    """May an external object be adopted? `is_wished` says whether the object has edgekeeper.io/adopt set."""
    match whose:
        case Ownership.INHERITED:
            return True
        case Ownership.UNMARKED | Ownership.FORMER:
            return is_wished
        case Ownership.OTHERS | Ownership.MINE:
            return False


def inheritance_reason(mark: Mark | None, tags: str = "tags") -> str:
    """Why an external object with the mark of a lost cluster is adopted: who has left it. `tags` is what says so."""
    cluster, uid = (mark.cluster_id, mark.uid) if mark is not None else ("", "")
    return (
        f"its {tags} name the object of cluster {cluster} with uid {uid}, which {FLAG} replaces by this one"
    )


def lost_cluster_remedy(cluster: str) -> str:
    """What an administrator can do about the mark of another cluster. `cluster` identifies it."""
    return (
        f"if that cluster is gone, an administrator can take over what it has left with the operator's flag {FLAG} "
        f"{cluster}"
    )


def holder_message(whose: Ownership, mark: Mark | None, owner: Owner) -> str:
    """Who has an existing external object that is not ours, by the mark in its tags, and the remedy."""
    match whose:
        case Ownership.OTHERS if mark is not None and _is_namesake(mark, owner):
            remedy = lost_cluster_remedy(mark.cluster_id)
            return (
                "its tags name another object as owner: that of this name in cluster "
                f"{mark.cluster_id}, with uid {mark.uid}; {remedy}"
            )
        case Ownership.OTHERS:
            return (
                "its tags name another object as owner; remove its edgekeeper.io tags if that object is gone, "
                "or choose another name"
            )
        case Ownership.FORMER:
            return (
                f"its tags name an earlier object of this name as owner; to adopt it, {_ADOPT}, or if all objects were "
                f"restored, run the operator with {FLAG} {owner.cluster}"
            )
        case Ownership.UNMARKED:
            return f"was not created by this object; to adopt it, if nobody else manages it, {_ADOPT}"
        case Ownership.INHERITED | Ownership.MINE:
            raise ValueError("this object owns it, or may adopt it")


def _is_namesake(mark: Mark, owner: Owner) -> bool:
    return mark.cluster_id != "" and owner.succeeds(mark, mark.cluster_id)
