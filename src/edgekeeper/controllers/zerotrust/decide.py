"""Decide which steps carry out a task, in order. Pure: reads no clock, calls nothing, keeps no state.

    publish     service token with its Secret → reusable policy → application with its policies → tunnel rules → records
    withdraw    records → tunnel rules → application → reusable policy → service token → Secret

*Guarantees*
 - A hostname never leads anywhere before the application that shall protect it is there, nor after it is gone. What is
   withdrawn is withdrawn after what replaces it is there; an application keeps protecting a hostname until its records
   and rules are gone.
 - Nothing is planned while something of others is in the way: conflicts are refused before the first step.
 - What is not provably ours is neither changed nor deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.application_index import uris_of
from edgekeeper.cloud.cloudflare.models import Application
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, plan_change
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.controllers.zerotrust import steps as do
from edgekeeper.controllers.zerotrust.inventory import is_surplus_hostname, is_surplus_record
from edgekeeper.controllers.zerotrust.observe import known_records
from edgekeeper.controllers.zerotrust.owner import cluster_mark, cluster_tag
from edgekeeper.controllers.zerotrust.ownership import is_anothers, is_own
from edgekeeper.controllers.zerotrust.snapshot import Snapshot
from edgekeeper.controllers.zerotrust.tokens import publish_token, refuse_token, withdraw_tokens
from edgekeeper.controllers.zerotrust.wanted import (
    MARK_PREFIX,
    MOST_DOMAINS,
    application_differences,
    application_settings,
    documents,
    lock_of,
    matched,
    own_policies,
    policy_differences,
    record_change,
    token_policy,
    tunnel_rules,
    unchanged_settings,
    wanted_records,
    written_back,
)
from edgekeeper.core.delta import Difference
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.core.steps import Plan, Step

APPLICATION_CONFLICT: Final = "ApplicationConflict"
APPLICATION_NOT_FOUND: Final = "ApplicationNotFound"
HOSTNAME_CONFLICT: Final = "HostnameConflict"
OWNED_BY_OTHER: Final = "OwnedByOther"
RECORD_CONFLICT: Final = "RecordConflict"
QUOTA_PAUSE: Final = timedelta(minutes=30)

_WANTED: Final = "the route asks for it"
_CHANGED: Final = "it is not as the route asks for"
_SURPLUS: Final = "the route does not ask for it any more"


def decide(snapshot: Snapshot) -> Plan[Step]:
    """The steps that are left. Raise Stall where a person must act first."""
    if snapshot.subject.is_complete:
        return Plan(())
    claim = tuple(_claim(snapshot))
    if claim:
        _check(snapshot)
        return Plan((*claim, *_work(snapshot)))
    if snapshot.writes.failure is not None:
        raise snapshot.writes.failure
    if snapshot.writes.refusals:
        raise snapshot.writes.refusals[0].error
    _check(snapshot)
    return Plan(tuple(_work(snapshot)))


def work(snapshot: Snapshot) -> tuple[Step, ...]:
    """What is not as wanted, for one who only looks."""
    _check(snapshot)
    return tuple(_work(snapshot))


def _claim(snapshot: Snapshot) -> Iterator[Step]:
    status, subject = snapshot.subject.status, snapshot.subject
    is_claimed = status.phase in ("InProgress", "Failed") and status.observed_generation == subject.generation
    if not is_claimed or status.worker_pod != snapshot.worker:
        yield do.Claim(snapshot.worker, reason="nobody carries it out")


def _work(snapshot: Snapshot) -> Iterator[Step]:
    if not snapshot.subject.is_withdrawal:
        yield from publish_token(snapshot)
        yield from _publish_application(snapshot)
    if snapshot.writes.pending:
        yield do.AwaitWrites(reason="they were submitted")
        return
    if not snapshot.subject.is_withdrawal:
        yield from _publish_rules(snapshot)
        yield from _publish_records(snapshot)
    yield from _withdraw_records(snapshot)
    yield from _withdraw_rules(snapshot)
    yield from _withdraw_applications(snapshot)
    yield from withdraw_tokens(snapshot)


# What is in the way


def _check(snapshot: Snapshot) -> None:
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
    tag = cluster_tag(snapshot.cluster)
    for rival in snapshot.rivals:
        if is_anothers(rival, tag):
            raise Stall(
                OWNED_BY_OTHER,
                f"the Access application {rival.name!r} ({rival.id}) of {rival.domain} belongs to another cluster",
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
            if comment.startswith(MARK_PREFIX) and not comment.startswith(cluster_mark(snapshot.cluster)):
                raise Stall(
                    OWNED_BY_OTHER,
                    f"the record {record.type} {hostname} belongs to another cluster: {comment}",
                )
        plan_change(_record_change(snapshot, zone, hostname), records)


def _refuse_rules(snapshot: Snapshot) -> None:
    subject = snapshot.subject
    if not subject.wants_tunnel or subject.spec.adopt:
        return
    tunnel = subject.spec.tunnel_id
    recorded = {(item.parent, item.name) for item in snapshot.items("TunnelHostname")}
    for change in _hostname_changes(snapshot):
        present = snapshot.rules.get((tunnel, change.hostname), ())
        if present and (tunnel, change.hostname) not in recorded and present != documents(change.rules):
            services = ", ".join(str(rule.get("service")) for rule in present)
            raise Stall(
                HOSTNAME_CONFLICT,
                f"the tunnel has a rule for {change.hostname} that is not ours, to {services}: remove it, or annotate the "
                'route with edgekeeper.io/adopt: "true" to take it over',
            )


# Applications


def _publish_application(snapshot: Snapshot) -> Iterator[Step]:
    subject = snapshot.subject
    if not subject.wants_application:
        return
    if subject.wants_token and subject.has_existing_policies:
        yield from _publish_token_policy(snapshot)
    covered = covered_hostnames(snapshot)
    if len(covered) > MOST_DOMAINS and len(subject.hostnames) <= MOST_DOMAINS:
        # There is no room for old and new hostnames together: the old ones go first.
        yield from _withdraw_records(snapshot)
        yield from _withdraw_rules(snapshot)
        covered = subject.hostnames
    live, tag = snapshot.application, cluster_tag(snapshot.cluster)
    tags = {*(live.tags if live else ()), tag}
    settings = application_settings(subject.spec, snapshot.access, covered, tags)
    policies = _wanted_policies(snapshot)
    if live is None:
        yield do.CreateApplication(settings, policies, reason=_WANTED)
        return
    differences = application_differences(settings, live)
    kept, changes = _policy_steps(snapshot, policies)
    if kept is None:
        difference = Difference(
            "policies", [one.id for one in live.policies], [_shown(one) for one in policies]
        )
        body = written_back(settings, live)
        yield do.PutApplication(live, body, policies, (*differences, difference), reason=_CHANGED)
        return
    if differences:
        # Its policies are sent as they are: left out or empty, they would mean something else.
        yield do.PutApplication(live, written_back(settings, live), kept, differences, reason=_CHANGED)
    yield from changes


def covered_hostnames(snapshot: Snapshot) -> tuple[str, ...]:
    """What the application has to protect: what is wanted, and what it protects that is not withdrawn yet."""
    live = snapshot.application
    present = uris_of(live) if live is not None else frozenset()
    left = {
        item.name
        for item in snapshot.inventory
        if (item.kind == "TunnelHostname" and snapshot.rules.get((item.parent, item.name)))
        or (item.kind == "DnsRecord" and snapshot.records.get((item.parent, item.name)))
    }
    wanted = snapshot.subject.hostnames
    return (*wanted, *sorted((left & present) - set(wanted)))


def _wanted_policies(snapshot: Snapshot) -> tuple[JsonObject, ...]:
    subject = snapshot.subject
    token_id = (snapshot.token.id if snapshot.token else "") if subject.wants_token else None
    if not subject.has_existing_policies:
        return tuple(own_policies(subject.spec, snapshot.access, token_id))
    ids = list(snapshot.access.policies)
    if token_id is not None:
        ids.insert(0, snapshot.token_policy.id if snapshot.token_policy else "")
    return tuple({"id": id_, "precedence": position} for position, id_ in enumerate(ids, 1))


def _policy_steps(
    snapshot: Snapshot, wanted: tuple[JsonObject, ...]
) -> tuple[tuple[JsonObject, ...] | None, list[Step]]:
    """The policies as the application has them, and the steps that change them in place.

    None where the whole list has to be replaced: because reusable policies are wanted, or there.
    """
    live = snapshot.application
    assert live is not None  # noqa: S101 - the caller has checked it
    present = tuple({"id": one.id, "precedence": one.precedence or 1} for one in live.policies)
    if snapshot.subject.has_existing_policies:
        return (present if [one["id"] for one in present] == [one["id"] for one in wanted] else None), []
    if any(policy.reusable for policy in live.policies) or not live.policies:
        return None, []
    pairs, left = matched(wanted, live.policies)
    steps: list[Step] = [do.RemovePolicy(live, policy, reason=_SURPLUS) for policy in left]
    highest = max((policy.precedence or 0 for policy in live.policies), default=0)
    for fields, found in pairs:
        if found is None:
            highest += 1
            added = {**fields, "precedence": highest}
            missing = (Difference(f"policies.{fields['name']}", None, fields["decision"]),)
            steps.append(do.WritePolicy(live, None, added, missing, reason=_WANTED))
        elif differences := policy_differences(fields, found):
            kept = {**fields, "precedence": found.precedence or fields["precedence"]}
            steps.append(do.WritePolicy(live, found, kept, differences, reason=_CHANGED))
    return present, steps


def _publish_token_policy(snapshot: Snapshot) -> Iterator[Step]:
    if snapshot.token is None:
        return
    fields, live = token_policy(snapshot.subject.spec, snapshot.token.id), snapshot.token_policy
    if live is None:
        yield do.WriteTokenPolicy(
            None, fields, reason="existing policies and policies of its own cannot be mixed"
        )
    elif differences := policy_differences(fields, live):
        yield do.WriteTokenPolicy(live, fields, differences, reason=_CHANGED)


def _shown(policy: JsonObject) -> str:
    return str(policy.get("id") or policy.get("name"))


def _withdraw_applications(snapshot: Snapshot) -> Iterator[Step]:
    subject, tag = snapshot.subject, cluster_tag(snapshot.cluster)
    recorded = {item.id: item for item in snapshot.items("AccessApplication")}
    names = {id_: item.name for id_, item in recorded.items()}
    for id_, live in snapshot.surplus.items():
        if live is None or is_own(live, names, subject, tag):
            if not (subject.is_withdrawal and subject.spec.orphan):
                yield do.DeleteApplication(id_, live.domain if live else names[id_], reason=_SURPLUS)
            elif live is not None and tag in live.tags and live.policies:
                yield _unmarked(live, tag)
            else:
                yield do.Forget((recorded[id_],), reason="it is left as it is")
        else:
            yield do.Forget((recorded[id_],), reason="it is not ours any more")
    for id_, policy in snapshot.surplus_policies.items():
        item = next(one for one in snapshot.items("AccessPolicy") if one.id == id_)
        if subject.is_withdrawal and subject.spec.orphan:
            yield do.Forget((item,), reason="it is left as it is")
        elif policy is None or (policy.name == item.name and policy.decision == "non_identity"):
            yield do.DeleteTokenPolicy(id_, item.name, reason=_SURPLUS)
        else:
            yield do.Forget((item,), reason="it is not ours any more")


def _unmarked(live: Application, tag: str) -> Step:
    """Take our tag off an application, and leave everything else as it is."""
    tags = sorted(one for one in live.tags if one != tag)
    policies = tuple({"id": one.id, "precedence": one.precedence or 1} for one in live.policies)
    difference = Difference("tags", sorted(live.tags), tags)
    return do.PutApplication(
        live, unchanged_settings(live, tags), policies, (difference,), reason="it is left as it is"
    )


# Tunnel rules


def _hostname_changes(snapshot: Snapshot) -> Iterator[HostnameChange]:
    """What the rules of each hostname should be."""
    subject = snapshot.subject
    tunnel = subject.spec.tunnel_id
    recorded = {(item.parent, item.name) for item in snapshot.items("TunnelHostname")}
    application = snapshot.shared if subject.shared_domain else snapshot.application
    for hostname in subject.hostnames:
        lock = None
        if subject.wants_access:
            audience = application.aud if application is not None else ""
            lock = lock_of(snapshot.team, audience, snapshot.rules.get((tunnel, hostname), ()))
        rules = tunnel_rules(subject.spec.operations.tunnel_route, hostname, lock)
        ours = subject.spec.adopt or (tunnel, hostname) in recorded
        yield HostnameChange(hostname, rules, ours)


def _publish_rules(snapshot: Snapshot) -> Iterator[Step]:
    subject = snapshot.subject
    if not subject.wants_tunnel:
        return
    tunnel = subject.spec.tunnel_id
    changes = list(_hostname_changes(snapshot))
    recorded = {(item.parent, item.name) for item in snapshot.items("TunnelHostname")}
    new = tuple(change.hostname for change in changes if (tunnel, change.hostname) not in recorded)
    if new:
        yield do.RecordHostnames(tunnel, new, reason="rules bear no mark")
    different = tuple(
        change
        for change in changes
        if snapshot.rules.get((tunnel, change.hostname), ()) != documents(change.rules)
    )
    if different:
        yield do.WriteRules(tunnel, different, reason=_WANTED)


def _withdraw_rules(snapshot: Snapshot) -> Iterator[Step]:
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
            yield do.WriteRules(tunnel, changes, reason=_SURPLUS)


# Records


def _record_change(snapshot: Snapshot, zone: str, hostname: str) -> RecordChange:
    return record_change(
        snapshot.cluster,
        snapshot.subject.spec,
        hostname,
        wanted_records(snapshot.subject.spec),
        known_records(snapshot, zone, hostname),
    )


def _publish_records(snapshot: Snapshot) -> Iterator[Step]:
    different: dict[str, list[RecordChange]] = {}
    for hostname, zone in snapshot.zones.items():
        change = _record_change(snapshot, zone, hostname)
        if plan_change(change, snapshot.records.get((zone, hostname), ())).size:
            different.setdefault(zone, []).append(change)
    for zone, changes in different.items():
        yield do.WriteRecords(zone, tuple(changes), reason=_WANTED)


def _withdraw_records(snapshot: Snapshot) -> Iterator[Step]:
    surplus = [item for item in snapshot.items("DnsRecord") if is_surplus_record(snapshot, item)]
    by_zone: dict[str, dict[str, RecordChange]] = {}
    lost: list[InventoryItem] = []
    for item in surplus:
        change = record_change(
            snapshot.cluster,
            snapshot.subject.spec,
            item.name,
            (),
            known_records(snapshot, item.parent, item.name),
        )
        if plan_change(change, snapshot.records.get((item.parent, item.name), ())).size:
            by_zone.setdefault(item.parent, {})[item.name] = change
        elif item.id:
            lost.append(item)
    for zone, changes in by_zone.items():
        yield do.WriteRecords(zone, tuple(changes.values()), reason=_SURPLUS)
    if lost:
        yield do.Forget(tuple(lost), reason="it is left as it is, or gone")
