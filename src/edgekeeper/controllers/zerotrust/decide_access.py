"""Which steps the Access application of a task and its policies need. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from edgekeeper.cloud.cloudflare.application_index import uris_of
from edgekeeper.cloud.cloudflare.models import Application
from edgekeeper.controllers.zerotrust import steps as do
from edgekeeper.controllers.zerotrust.application_document import (
    MOST_DOMAINS,
    application_differences,
    application_settings,
    unchanged_settings,
    written_back,
)
from edgekeeper.controllers.zerotrust.decide_names import withdraw_records, withdraw_rules
from edgekeeper.controllers.zerotrust.owner import cluster_tag
from edgekeeper.controllers.zerotrust.ownership import is_own
from edgekeeper.controllers.zerotrust.policy_documents import (
    matched,
    own_policies,
    policy_differences,
    token_policy,
)
from edgekeeper.controllers.zerotrust.snapshot import Snapshot
from edgekeeper.controllers.zerotrust.step_reasons import CHANGED, SURPLUS, WANTED
from edgekeeper.core.delta import Difference
from edgekeeper.core.json import JsonObject
from edgekeeper.core.steps import Step


def publish_application(snapshot: Snapshot) -> Iterator[Step]:
    subject = snapshot.subject
    if not subject.wants_application:
        return
    if subject.wants_token and subject.has_existing_policies:
        yield from _publish_token_policy(snapshot)
    covered = covered_hostnames(snapshot)
    if len(covered) > MOST_DOMAINS and len(subject.hostnames) <= MOST_DOMAINS:
        # There is no room for old and new hostnames together: the old ones go first.
        yield from withdraw_records(snapshot)
        yield from withdraw_rules(snapshot)
        covered = subject.hostnames
    live, tag = snapshot.application, cluster_tag(snapshot.cluster)
    tags = {tag, *(one for one in (live.tags if live else ()) if one not in snapshot.tags)}
    settings = application_settings(subject.spec, snapshot.access, covered, tags)
    policies = _wanted_policies(snapshot)
    if live is None:
        yield do.CreateApplication(settings, policies, reason=WANTED)
        return
    differences = application_differences(settings, live)
    kept, changes = _policy_steps(snapshot, policies)
    if kept is None:
        difference = Difference(
            "policies", [one.id for one in live.policies], [_shown(one) for one in policies]
        )
        body = written_back(settings, live)
        yield do.PutApplication(live, body, policies, differences=(*differences, difference), reason=CHANGED)
        return
    if differences:
        # Its policies are sent as they are: left out or empty, they would mean something else.
        is_marking = all(difference.path.startswith("tags") for difference in differences)
        body = unchanged_settings(live, sorted(tags)) if is_marking else written_back(settings, live)
        yield do.PutApplication(live, body, kept, differences=differences, reason=CHANGED)
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
    steps: list[Step] = [do.RemovePolicy(live, policy, reason=SURPLUS) for policy in left]
    highest = max((policy.precedence or 0 for policy in live.policies), default=0)
    for fields, found in pairs:
        if found is None:
            highest += 1
            added = {**fields, "precedence": highest}
            missing = (Difference(f"policies.{fields['name']}", None, fields["decision"]),)
            steps.append(do.WritePolicy(live, None, added, differences=missing, reason=WANTED))
        elif differences := policy_differences(fields, found):
            kept = {**fields, "precedence": found.precedence or fields["precedence"]}
            steps.append(do.WritePolicy(live, found, kept, differences=differences, reason=CHANGED))
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
        yield do.WriteTokenPolicy(live, fields, differences=differences, reason=CHANGED)


def _shown(policy: JsonObject) -> str:
    return str(policy.get("id") or policy.get("name"))


def withdraw_applications(snapshot: Snapshot) -> Iterator[Step]:
    subject, tags = snapshot.subject, snapshot.tags
    recorded = {item.id: item for item in snapshot.items("AccessApplication")}
    names = {id_: item.name for id_, item in recorded.items()}
    for id_, live in snapshot.surplus.items():
        if live is None or is_own(live, names, subject, tags):
            if not (subject.is_withdrawal and subject.spec.orphan):
                yield do.DeleteApplication(id_, live.domain if live else names[id_], reason=SURPLUS)
            elif live is not None and not tags.isdisjoint(live.tags) and live.policies:
                yield _unmarked(live, tags)
            else:
                yield do.Forget((recorded[id_],), reason="it is left as it is")
        else:
            yield do.Forget((recorded[id_],), reason="it is not ours any more")
    for id_, policy in snapshot.surplus_policies.items():
        item = next(one for one in snapshot.items("AccessPolicy") if one.id == id_)
        if subject.is_withdrawal and subject.spec.orphan:
            yield do.Forget((item,), reason="it is left as it is")
        elif policy is None or (policy.name == item.name and policy.decision == "non_identity"):
            yield do.DeleteTokenPolicy(id_, item.name, reason=SURPLUS)
        else:
            yield do.Forget((item,), reason="it is not ours any more")


def _unmarked(live: Application, ours: frozenset[str]) -> Step:
    """Take our tags off an application, and leave everything else as it is."""
    tags = sorted(one for one in live.tags if one not in ours)
    policies = tuple({"id": one.id, "precedence": one.precedence or 1} for one in live.policies)
    difference = Difference("tags", sorted(live.tags), tags)
    return do.PutApplication(
        live,
        unchanged_settings(live, tags),
        policies,
        differences=(difference,),
        reason="it is left as it is",
    )
