"""The steps of a deletion. Pure.

records → mapping → domain name → certificate. The domain name goes as soon as Route 53 has accepted the removal of its
records: nobody else gets its endpoint, so that a name server that still has a record gives nobody a chance. What is not
provably ours stays, and so does everything if the spec says Retain: then only the ownership tags go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from edgekeeper.cloud.aws.dns.planning import blocked_deletion, combined, refused_removals, removing
from edgekeeper.controllers.bridge.domains import steps as do
from edgekeeper.controllers.bridge.domains.children import lagging_removal
from edgekeeper.controllers.bridge.domains.snapshot import CERTIFICATE, DOMAIN, MAPPING, Snapshot
from edgekeeper.core.errors import Stall
from edgekeeper.core.steps import Step

_DELETED: Final = "the object is being deleted"
_KEPT: Final = "the domain name is kept as long as records lead to it"
_RETAINED: Final = "spec.deletionPolicy is Retain"


def removal_steps(snapshot: Snapshot) -> Iterator[Step]:
    """The steps that are left. They depend on what is there, not on the spec being valid."""
    if snapshot.spec.deletion_policy == "Retain":
        yield from _releasing(snapshot)
        return
    records = snapshot.records
    if (error := records.work.error) is not None and records.inventory:
        raise blocked_deletion(error, (), _KEPT) if isinstance(error, Stall) else error
    removals = tuple(removing(records, records.removable, _DELETED))
    refused = refused_removals(records, records.removable)
    if refused and not removals:
        raise blocked_deletion(combined(refused), refused, _KEPT)
    yield from removals
    if snapshot.child(MAPPING) is not None:
        yield from lagging_removal(snapshot, MAPPING, _DELETED)
    elif (own := snapshot.own_mapping) is not None and not snapshot.is_anothers:
        yield do.DeleteMapping(own, reason=_DELETED)
    yield from _domain(snapshot)
    yield from _certificate(snapshot)


def _domain(snapshot: Snapshot) -> Iterator[Step]:
    if snapshot.child(DOMAIN) is not None:
        _refuse_used(snapshot)
        yield from lagging_removal(snapshot, DOMAIN, _DELETED)
    elif snapshot.domain is not None and snapshot.is_managed:
        _refuse_used(snapshot)
        yield do.DeleteDomain(snapshot.domain.name, reason=_DELETED)


def _refuse_used(snapshot: Snapshot) -> None:
    """Raise Stall if others have mapped something to the domain name, which would go with it."""
    own = snapshot.own_mapping
    others = [one for one in snapshot.mappings if own is None or one.id != own.id]
    if others and snapshot.is_managed:
        shown = ", ".join(f"{one.key or '/'} to {do.mapping_text(one)}" for one in others)
        raise Stall(
            "DomainInUse",
            f"others have mapped {shown} at domain name {snapshot.name}: delete these mappings, or keep everything in AWS "
            "with the annotation edgekeeper.io/deletion-policy: Orphan",
        )


def _certificate(snapshot: Snapshot) -> Iterator[Step]:
    if snapshot.child(CERTIFICATE) is not None:
        yield from lagging_removal(snapshot, CERTIFICATE, _DELETED)
    elif snapshot.requested is not None:
        yield do.DeleteCertificate(snapshot.requested.arn, reason=_DELETED)


def _releasing(snapshot: Snapshot) -> Iterator[Step]:
    for kind in (MAPPING, DOMAIN, CERTIFICATE):
        if snapshot.child(kind) is not None:
            yield from lagging_removal(snapshot, kind, _RETAINED)
    if snapshot.is_managed:
        yield do.UntagDomain(snapshot.name, reason=_RETAINED)
