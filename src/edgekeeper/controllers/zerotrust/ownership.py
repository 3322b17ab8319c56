"""Which applications and service tokens are a route's own, and which are in its way. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.application_index import uris_of
from edgekeeper.cloud.cloudflare.models import Application, ServiceToken
from edgekeeper.controllers.zerotrust.owner import (
    MARK_PREFIX,
    TAG_PREFIX,
    cluster_tag,
    is_marked,
    lost_tags,
    tag_in_comment,
)
from edgekeeper.controllers.zerotrust.snapshot import Snapshot, Subject
from edgekeeper.core.json import dig


def choose_application(
    snapshot: Snapshot, found: Iterable[Application]
) -> tuple[Application | None, tuple[Application, ...]]:
    """Which application is the route's own, and which are in the way."""
    subject = snapshot.subject
    hostnames = set(subject.hostnames)
    recorded = {item.id: item.name for item in snapshot.items("AccessApplication")}
    ours = [one for one in found if is_own(one, recorded, subject, snapshot.tags)]
    ours.sort(key=lambda one: (one.id not in recorded, not uris_of(one) & hostnames, one.id))
    chosen = ours[0] if ours else None
    rivals = [one for one in found if one not in ours and uris_of(one) & hostnames]
    if chosen is None and subject.spec.adopt and len(rivals) == 1 and _may_adopt(rivals[0], hostnames):
        return rivals[0], ()
    return chosen, tuple(rivals)


def is_own(
    application: Application, recorded: Mapping[str, str], subject: Subject, tags: frozenset[str]
) -> bool:
    """Is an application provably the route's own? `tags` are those of this cluster and of lost ones.

    One with such a tag, which is in the inventory or has the hostname for its domain; or one that an operator before us has
    recorded, if its domain is still the same, and nobody else has put a mark on it.
    """
    if not tags.isdisjoint(application.tags):
        return application.id in recorded or application.domain in subject.hostnames
    if application.id not in recorded or anothers_tag(application, tags):
        return False
    return application.domain in {recorded[application.id], subject.spec.hostname, *subject.hostnames}


def anothers_tag(application: Application, tags: frozenset[str]) -> str:
    """The tag of another cluster that an application bears; empty if it bears none. `tags` are not another's."""
    found = (one for one in application.tags if one.startswith(TAG_PREFIX) and one not in tags)
    return next(found, "")


def _may_adopt(rival: Application, hostnames: set[str]) -> bool:
    """May an application of somebody be taken over? Not one of another cluster, nor one that protects more than is wanted."""
    marked = any(one.startswith(TAG_PREFIX) for one in rival.tags)
    return not marked and uris_of(rival) <= hostnames


def choose_token(
    subject: Subject,
    items: Iterable[InventoryItem],
    known: Mapping[str, ServiceToken | None],
    named: list[ServiceToken],
) -> tuple[ServiceToken | None, tuple[ServiceToken, ...]]:
    """The token of the route: by its id, or by the name under which its creation was announced.

    Tokens of others are never adopted: their credentials would become those of the route's namespace.
    """
    if not subject.wants_token:
        return None, ()
    for token in known.values():
        if token is not None:
            return token, ()
    name = subject.spec.operations.service_token.name
    announced = any(not item.id and item.name == name for item in items)
    if announced and len(named) == 1:
        return named[0], ()
    return None, tuple(named)


def inherited_token(
    snapshot: Snapshot, named: Iterable[ServiceToken], applications: Iterable[Application]
) -> ServiceToken | None:
    """The token that the route had in a lost cluster: the only one of its name that an application of that route lets in.

    Tokens bear no mark, but the application does, and its policies name the token.
    """
    tags, hostnames = lost_tags(snapshot.lost), snapshot.subject.hostnames
    left = [one for one in applications if one.domain in hostnames and not tags.isdisjoint(one.tags)]
    admitted = {
        dig(rule, "service_token", "token_id")
        for application in left
        for policy in application.policies
        for rule in policy.include
    }
    found = [token for token in named if token.id in admitted]
    return found[0] if len(found) == 1 else None


def inherited_things(snapshot: Snapshot) -> Iterator[str]:
    """What a lost cluster has left for the route, as long as the status of the task does not have it."""
    if not snapshot.lost or snapshot.subject.is_withdrawal:
        return
    status = snapshot.subject.status.inventory
    ids, secrets = {item.id for item in status}, {item.name for item in status if item.kind == "Secret"}
    application, token, secret = snapshot.application, snapshot.token, snapshot.secret
    tags = lost_tags(snapshot.lost) - {cluster_tag(snapshot.cluster)}
    if application is not None and not tags.isdisjoint(application.tags) and application.id not in ids:
        yield f"Access application {application.id}"
    if token is not None and snapshot.inherits_token and token.id not in ids:
        yield f"service token {token.id}"
    if secret is not None and is_inherited_mark(snapshot, secret.owner) and str(secret.key) not in secrets:
        yield f"Secret {secret.key}"
    for (_, hostname), records in snapshot.records.items():
        for record in records:
            if is_inherited_mark(snapshot, record.comment or "") and record.id not in ids:
                yield f"record {record.type} {hostname}"


def items_of_others(snapshot: Snapshot) -> tuple[InventoryItem, ...]:
    """What is in the inventory and not wanted, but belongs to another cluster: the inventory is a copy of its, or was adopted.

    The marks on records and applications say so. Rules bear none and go with the records of their hostname; tokens and
    policies with the application.
    """
    live = [application for application in snapshot.surplus.values() if application is not None]
    foreign = [application for application in live if anothers_tag(application, snapshot.tags)]
    ids = {application.id for application in foreign}
    if foreign:
        ids |= {*snapshot.surplus_tokens, *snapshot.surplus_policies}
    names = {name for application in foreign for name in uris_of(application)}
    for (_, name), records in snapshot.records.items():
        if any(_is_of_another_cluster(snapshot, record.comment or "") for record in records):
            names.add(name)
    names -= set(snapshot.subject.hostnames)
    placed = ("TunnelHostname", "DnsRecord")
    return tuple(
        item for item in snapshot.inventory if item.id in ids or (item.kind in placed and item.name in names)
    )


def _is_of_another_cluster(snapshot: Snapshot, comment: str) -> bool:
    return comment.startswith(MARK_PREFIX) and tag_in_comment(comment) not in snapshot.tags


def is_inherited_mark(snapshot: Snapshot, text: str) -> bool:
    """Is a comment or annotation the mark of the route in a lost cluster, and not in this one?"""
    route = snapshot.subject.spec.httproute_ref
    if is_marked(text, snapshot.cluster, route.namespace, route.name):
        return False
    return any(f"{text} ".startswith(f"{mark} ") for mark in snapshot.lost_marks)


def is_another_token(item: InventoryItem, token: ServiceToken | None) -> bool:
    """Whether the token that another operator has recorded has another name, and so is not ours."""
    return token is not None and item.unconfirmed and token.name != item.name
