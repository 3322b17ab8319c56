"""What is in the way of a task: things of others, where ours shall be. Pure.

Nothing is planned while something is: it is refused before the first step.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.cloud.cloudflare.application_index import uris_of
from edgekeeper.cloud.cloudflare.record_plan import plan_change
from edgekeeper.controllers.zerotrust.decide_names import hostname_changes, wanted_change
from edgekeeper.controllers.zerotrust.owner import MARK_PREFIX, cluster_mark, tag_in_comment
from edgekeeper.controllers.zerotrust.ownership import anothers_tag, is_inherited_mark
from edgekeeper.controllers.zerotrust.policy_documents import (
    own_policies,
)
from edgekeeper.controllers.zerotrust.snapshot import Snapshot
from edgekeeper.controllers.zerotrust.tokens import refuse_token
from edgekeeper.controllers.zerotrust.tunnel_rule_documents import are_written
from edgekeeper.core.errors import Stall
from edgekeeper.lifecycle.adoption import lost_cluster_remedy

APPLICATION_CONFLICT: Final = "ApplicationConflict"
APPLICATION_NOT_FOUND: Final = "ApplicationNotFound"
HOSTNAME_CONFLICT: Final = "HostnameConflict"
OWNED_BY_OTHER: Final = "OwnedByOther"
RECORD_CONFLICT: Final = "RecordConflict"


def check(snapshot: Snapshot) -> None:
    """Raise Stall where something of others is in the way of what is wanted."""
    if snapshot.subject.is_withdrawal:
        return
    _refuse_applications(snapshot)
    refuse_token(snapshot)
    _refuse_records(snapshot)
    _refuse_rules(snapshot)


def _refuse_applications(snapshot: Snapshot) -> None:
    subject = snapshot.subject
    if subject.shared_domain and snapshot.shared is None:
        raise Stall(
            APPLICATION_NOT_FOUND,
            f"there is no Access application of this cluster for {subject.shared_domain}: publish a route with that "
            "hostname and Access first",
        )
    for hostname in subject.hostnames if subject.shared_domain else ():
        if hostname.partition(".")[2] != subject.shared_domain.removeprefix("*."):
            raise Stall(
                APPLICATION_NOT_FOUND,
                f"the Access application of {subject.shared_domain} does not protect {hostname}: a wildcard stands for "
                "one label",
            )
    for rival in snapshot.rivals:
        if tag := anothers_tag(rival, snapshot.tags):
            raise Stall(
                OWNED_BY_OTHER,
                f"the Access application {rival.name!r} ({rival.id}) of {rival.domain} belongs to another cluster: its "
                f"tag is {tag}; {lost_cluster_remedy(tag)}",
            )
        raise Stall(
            APPLICATION_CONFLICT,
            f"the Access application {rival.name!r} ({rival.id}) protects {', '.join(sorted(uris_of(rival)))} and is not "
            'ours: delete it, or annotate the route with edgekeeper.io/adopt: "true" to take it over',
        )
    if subject.wants_application and not subject.has_existing_policies:
        own_policies(subject.spec, snapshot.access, "" if subject.wants_token else None)


def _refuse_records(snapshot: Snapshot) -> None:
    for hostname, zone in snapshot.zones.items():
        records = snapshot.records.get((zone, hostname), ())
        for record in records:
            comment = record.comment or ""
            is_ours = comment.startswith(cluster_mark(snapshot.cluster)) or is_inherited_mark(
                snapshot, comment
            )
            if comment.startswith(MARK_PREFIX) and not is_ours:
                raise Stall(
                    OWNED_BY_OTHER,
                    f"the record {record.type} {hostname} belongs to another cluster: {comment}; "
                    f"{lost_cluster_remedy(tag_in_comment(comment))}",
                )
        plan_change(wanted_change(snapshot, zone, hostname), records)


def _refuse_rules(snapshot: Snapshot) -> None:
    subject = snapshot.subject
    if not subject.wants_tunnel or subject.spec.adopt:
        return
    tunnel = subject.spec.tunnel_id
    recorded = {(item.parent, item.name) for item in snapshot.items("TunnelHostname")}
    for change in hostname_changes(snapshot):
        present = snapshot.rules.get((tunnel, change.hostname), ())
        if present and (tunnel, change.hostname) not in recorded and not are_written(change.rules, present):
            services = ", ".join(str(rule.get("service")) for rule in present)
            raise Stall(
                HOSTNAME_CONFLICT,
                f"the tunnel has a rule for {change.hostname} that is not ours, to {services}: remove it, or annotate the "
                'route with edgekeeper.io/adopt: "true" to take it over',
            )
