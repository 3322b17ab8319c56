"""Which applications and service tokens are a route's own, and which are in its way. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.application_index import uris_of
from edgekeeper.cloud.cloudflare.models import Application, ServiceToken
from edgekeeper.controllers.zerotrust.owner import TAG_PREFIX
from edgekeeper.controllers.zerotrust.snapshot import Snapshot, Subject


def choose_application(
    snapshot: Snapshot, found: Iterable[Application], tag: str
) -> tuple[Application | None, tuple[Application, ...]]:
    """Which application is the route's own, and which are in the way."""
    subject = snapshot.subject
    hostnames = set(subject.hostnames)
    recorded = {item.id: item.name for item in snapshot.items("AccessApplication")}
    ours = [one for one in found if is_own(one, recorded, subject, tag)]
    ours.sort(key=lambda one: (one.id not in recorded, not uris_of(one) & hostnames, one.id))
    chosen = ours[0] if ours else None
    rivals = [one for one in found if one not in ours and uris_of(one) & hostnames]
    if chosen is None and subject.spec.adopt and len(rivals) == 1 and _may_adopt(rivals[0], hostnames):
        return rivals[0], ()
    return chosen, tuple(rivals)


def is_own(application: Application, recorded: Mapping[str, str], subject: Subject, tag: str) -> bool:
    """Is an application provably the route's own?

    One with our tag, which is in the inventory or has the hostname for its domain; or one that an operator before us has
    recorded, if its domain is still the same, and nobody else has put a mark on it.
    """
    if tag in application.tags:
        return application.id in recorded or application.domain in subject.hostnames
    if application.id not in recorded or is_anothers(application, tag):
        return False
    return application.domain in {recorded[application.id], subject.spec.hostname, *subject.hostnames}


def is_anothers(application: Application, tag: str) -> bool:
    """Does an application bear the tag of another cluster?"""
    return any(one.startswith(TAG_PREFIX) and one != tag for one in application.tags)


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


def is_another_token(item: InventoryItem, token: ServiceToken | None) -> bool:
    """Whether the token that another operator has recorded has another name, and so is not ours."""
    return token is not None and item.unconfirmed and token.name != item.name
