"""Which steps the tunnel rules and the DNS records of a task need. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, RecordPlan, plan_change
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.controllers.zerotrust import steps as do
from edgekeeper.controllers.zerotrust.inventory import is_surplus_hostname, is_surplus_record, known_records
from edgekeeper.controllers.zerotrust.name_differences import record_differences, rule_differences
from edgekeeper.controllers.zerotrust.snapshot import Snapshot
from edgekeeper.controllers.zerotrust.step_reasons import SURPLUS, WANTED
from edgekeeper.controllers.zerotrust.tunnel_rule_documents import are_written, lock_of, tunnel_rules
from edgekeeper.controllers.zerotrust.wanted_records import record_change, wanted_records
from edgekeeper.core.steps import Step

# Tunnel rules


def hostname_changes(snapshot: Snapshot) -> Iterator[HostnameChange]:
    """What the rules of each hostname should be."""
    subject = snapshot.subject
    tunnel = subject.spec.tunnel_id
    recorded = {(item.parent, item.name) for item in snapshot.items("TunnelHostname")}
    application = snapshot.shared if subject.shared_domain else snapshot.application
    for hostname in subject.hostnames:
        lock = None
        if subject.wants_access and subject.spec.operations.access_app.validate_at_tunnel is not False:
            audience = application.aud if application is not None else ""
            lock = lock_of(snapshot.team, audience, snapshot.rules.get((tunnel, hostname), ()))
        rules = tunnel_rules(subject.spec.operations.tunnel_route, hostname, lock)
        ours = subject.spec.adopt or (tunnel, hostname) in recorded
        yield HostnameChange(hostname, rules, ours)


def publish_rules(snapshot: Snapshot) -> Iterator[Step]:
    subject = snapshot.subject
    if not subject.wants_tunnel:
        return
    tunnel = subject.spec.tunnel_id
    changes = list(hostname_changes(snapshot))
    recorded = {(item.parent, item.name) for item in snapshot.items("TunnelHostname")}
    new = tuple(change.hostname for change in changes if (tunnel, change.hostname) not in recorded)
    if new:
        yield do.RecordHostnames(tunnel, new, reason="rules bear no mark")
    different = tuple(
        change
        for change in changes
        if not are_written(change.rules, snapshot.rules.get((tunnel, change.hostname), ()))
    )
    if different:
        differences = tuple(rule_differences(snapshot.rules, tunnel, different))
        yield do.WriteRules(tunnel, different, differences=differences, reason=WANTED)


def withdraw_rules(snapshot: Snapshot) -> Iterator[Step]:
    items = [item for item in snapshot.items("TunnelHostname") if is_surplus_hostname(snapshot, item)]
    if snapshot.subject.is_withdrawal and snapshot.subject.spec.orphan:
        if items:
            yield do.Forget(tuple(items), reason="it is left as it is")
        return
    for tunnel in sorted({item.parent for item in items}):
        changes = tuple(
            HostnameChange(item.name, (), ours=True)
            for item in items
            if item.parent == tunnel and snapshot.rules.get((tunnel, item.name))
        )
        if changes:
            differences = tuple(rule_differences(snapshot.rules, tunnel, changes))
            yield do.WriteRules(tunnel, changes, differences=differences, reason=SURPLUS)


# Records


def wanted_change(snapshot: Snapshot, zone: str, hostname: str) -> RecordChange:
    wanted = wanted_records(snapshot.subject.spec)
    return record_change(snapshot, hostname, wanted, known_records(snapshot, zone, hostname))


def publish_records(snapshot: Snapshot) -> Iterator[Step]:
    plans: dict[str, list[tuple[RecordChange, RecordPlan]]] = {}
    for hostname, zone in snapshot.zones.items():
        change = wanted_change(snapshot, zone, hostname)
        plan = plan_change(change, snapshot.records.get((zone, hostname), ()))
        if plan.size:
            plans.setdefault(zone, []).append((change, plan))
    for zone, planned in plans.items():
        yield _write_records(zone, planned, WANTED)


def withdraw_records(snapshot: Snapshot) -> Iterator[Step]:
    surplus = [item for item in snapshot.items("DnsRecord") if is_surplus_record(snapshot, item)]
    by_zone: dict[str, dict[str, tuple[RecordChange, RecordPlan]]] = {}
    lost: list[InventoryItem] = []
    for item in surplus:
        change = record_change(snapshot, item.name, (), known_records(snapshot, item.parent, item.name))
        plan = plan_change(change, snapshot.records.get((item.parent, item.name), ()))
        if plan.size:
            by_zone.setdefault(item.parent, {})[item.name] = (change, plan)
        elif item.id:
            lost.append(item)
    for zone, planned in by_zone.items():
        yield _write_records(zone, planned.values(), SURPLUS)
    if lost:
        yield do.Forget(tuple(lost), reason="it is left as it is, or gone")


def _write_records(zone: str, planned: Iterable[tuple[RecordChange, RecordPlan]], reason: str) -> Step:
    changes, plans = zip(*planned, strict=True)
    return do.WriteRecords(zone, changes, differences=tuple(record_differences(plans)), reason=reason)
