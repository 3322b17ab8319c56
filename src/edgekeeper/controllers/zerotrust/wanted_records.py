"""The DNS records that are to be written for a task, and the mark that they bear. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, WantedRecord
from edgekeeper.controllers.zerotrust.owner import MARK_PREFIX, is_marked, route_mark
from edgekeeper.controllers.zerotrust.snapshot import Snapshot


def wanted_records(spec: TaskSpec) -> tuple[WantedRecord, ...]:
    """The records of each hostname."""
    operations = spec.operations
    if operations.cname_dns.enabled:
        return (WantedRecord("CNAME", f"{spec.tunnel_id}.cfargotunnel.com", proxied=True),)
    record = operations.dns_record
    if not record.enabled:
        return ()
    targets = record.targets
    if not targets and record.ip_address:
        kind = "AAAA" if ":" in record.ip_address else "A"
        return (WantedRecord(kind, record.ip_address, record.proxied, record.ttl),)
    return tuple(WantedRecord(one.type, one.content, record.proxied, record.ttl) for one in targets)


def record_change(
    snapshot: Snapshot,
    hostname: str,
    wanted: tuple[WantedRecord, ...],
    known: Mapping[str, tuple[str, str]],
) -> RecordChange:
    """What the records of a hostname should be. `known` has type and content of records in the inventory, by id."""
    cluster, spec = snapshot.cluster, snapshot.subject.spec
    route = spec.httproute_ref
    comment = route_mark(cluster, route.namespace, route.name)
    written = {(kind, content) for kind, content in known.values() if kind and content}
    return RecordChange(
        hostname,
        mark_of(cluster, spec),
        wanted,
        comment,
        written=frozenset(written) if written and not wanted else None,
        adopt=spec.adopt,
        known=frozenset(known),
        others=MARK_PREFIX,
        inherited=snapshot.lost_marks,
        release=spec.action == "delete" and spec.orphan,
    )


def mark_of(cluster: str, spec: TaskSpec) -> str:
    """The part of the mark that counts, without what is for people."""
    route = spec.httproute_ref
    return " ".join(route_mark(cluster, route.namespace, route.name).split(" ")[:3])


def bears_mark(comment: str | None, cluster: str, spec: TaskSpec) -> bool:
    route = spec.httproute_ref
    return is_marked(comment or "", cluster, route.namespace, route.name)
