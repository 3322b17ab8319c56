"""The inventory of a task: what exists because of its route, as its status records it. Pure.

An item leaves the inventory only when it is known that the thing is gone, or is not ours. So nothing is forgotten by a
crash, a lost response or a listing that lacks something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.controllers.zerotrust.ownership import is_inherited_mark
from edgekeeper.controllers.zerotrust.snapshot import Snapshot, Subject, TokenSecret
from edgekeeper.controllers.zerotrust.wanted_records import bears_mark

Identity = tuple[str, str, str]


def identity(item: InventoryItem) -> Identity:
    """What makes two items the same: the id, or place and name where there is none."""
    return (item.kind, "", item.id) if item.id else (item.kind, item.parent, item.name)


def merged(*inventories: Iterable[InventoryItem]) -> tuple[InventoryItem, ...]:
    """All items, each once; of equal ones the last."""
    items: dict[Identity, InventoryItem] = {}
    for inventory in inventories:
        for item in inventory:
            items[identity(item)] = item
    made = {(item.kind, item.parent, item.name) for item in items.values() if item.id}
    # What was announced under this name has been created.
    return tuple(
        item for item in items.values() if item.id or (item.kind, item.parent, item.name) not in made
    )


def announced(snapshot: Snapshot) -> Iterator[InventoryItem]:
    """What is about to be created under a mark of ours, without an id.

    Recorded before, so that it is found by its name, should nobody be there to record it afterwards: an application by its
    domain, a record by its hostname. Whatever the route asks for by then, it is known where to look.
    """
    subject = snapshot.subject
    if subject.wants_application and snapshot.application is None:
        yield InventoryItem("AccessApplication", "", subject.hostnames[0])
    known = {(item.parent, item.name) for item in snapshot.items("DnsRecord")}
    for hostname, zone in snapshot.zones.items():
        if (zone, hostname) not in known:
            yield InventoryItem("DnsRecord", "", hostname, zone)


def known_inventory(subject: Subject) -> tuple[InventoryItem, ...]:
    """What is known of what is there: once the task was claimed, the status knows better than the spec."""
    status = subject.status
    if status.observed_generation == subject.generation:
        return merged(status.inventory)
    return merged(status.inventory, subject.spec.inventory)


def without(inventory: Iterable[InventoryItem], *gone: InventoryItem) -> tuple[InventoryItem, ...]:
    dropped = {identity(item) for item in gone}
    return tuple(item for item in inventory if identity(item) not in dropped)


def refreshed(snapshot: Snapshot) -> tuple[InventoryItem, ...]:
    """The inventory after a pass: with what was found or made, and without what is known to be gone."""
    return merged(_remaining(snapshot), _present(snapshot))


def _remaining(snapshot: Snapshot) -> Iterator[InventoryItem]:
    application = snapshot.application
    for item in snapshot.inventory:
        if item.kind == "AccessPolicy" and item.parent:
            # Policies of an application are as the application shows them.
            if application is not None and item.parent == application.id:
                continue
            if not any(
                one.kind == "AccessApplication" and one.id == item.parent for one in snapshot.inventory
            ):
                continue
        if item.kind == "TunnelHostname" and _is_withdrawn(snapshot, item):
            continue
        if item.kind == "DnsRecord" and not _is_there(snapshot, item) and not _may_come(snapshot, item):
            continue
        yield item


def _is_withdrawn(snapshot: Snapshot, item: InventoryItem) -> bool:
    if snapshot.writes.pending:
        return False  # what was submitted for an earlier spec may still be written
    return is_surplus_hostname(snapshot, item) and not snapshot.rules.get((item.parent, item.name))


def _may_come(snapshot: Snapshot, item: InventoryItem) -> bool:
    """Is a record announced, and is or may it be about to be written?"""
    return not item.id and (snapshot.writes.pending or not is_surplus_record(snapshot, item))


def _is_there(snapshot: Snapshot, item: InventoryItem) -> bool:
    records = snapshot.records.get((item.parent, item.name))
    return records is None or any(record.id == item.id for record in records)


def is_surplus_hostname(snapshot: Snapshot, item: InventoryItem) -> bool:
    """Is a hostname of a tunnel in the inventory not wanted any more?"""
    subject = snapshot.subject
    return not (
        subject.wants_tunnel and item.parent == subject.spec.tunnel_id and item.name in subject.hostnames
    )


def is_surplus_record(snapshot: Snapshot, item: InventoryItem) -> bool:
    """Is a record in the inventory in a place where none is wanted?"""
    return not (snapshot.subject.wants_records and snapshot.zones.get(item.name) == item.parent)


def _present(snapshot: Snapshot) -> Iterator[InventoryItem]:
    application, token = snapshot.application, snapshot.token
    if application is not None and application.id not in {one.id for one in snapshot.rivals}:
        yield InventoryItem("AccessApplication", application.id, application.domain)
        for policy in application.policies:
            if not policy.reusable:
                yield InventoryItem("AccessPolicy", policy.id, policy.name, application.id)
    if snapshot.token_policy is not None:
        yield InventoryItem("AccessPolicy", snapshot.token_policy.id, snapshot.token_policy.name)
    if token is not None:
        yield InventoryItem("ServiceToken", token.id, token.name)
    if snapshot.secret is not None and snapshot.secret.owner:
        yield _present_secret(snapshot, snapshot.secret)
    yield from _present_records(snapshot)


def _present_secret(snapshot: Snapshot, secret: TokenSecret) -> InventoryItem:
    """The Secret, with the client id of the token whose credentials were in it."""
    name, token = str(secret.key), snapshot.token
    has_credentials = token is not None and secret.client_id == token.client_id and secret.has_client_secret
    known = next((item.content for item in snapshot.items("Secret") if item.name == name), "")
    return InventoryItem("Secret", "", name, content=secret.client_id if has_credentials else known)


def _present_records(snapshot: Snapshot) -> Iterator[InventoryItem]:
    for (zone, name), records in snapshot.records.items():
        for record in records:
            is_ours = bears_mark(record.comment, snapshot.cluster, snapshot.subject.spec)
            if is_ours or is_inherited_mark(snapshot, record.comment or ""):
                yield InventoryItem("DnsRecord", record.id, name, zone, record.type, record.content)


def known_records(snapshot: Snapshot, zone: str, hostname: str) -> dict[str, tuple[str, str]]:
    """Type and content of the records of a hostname that are in the inventory, by id."""
    return {
        item.id: (item.type, item.content)
        for item in snapshot.items("DnsRecord")
        if item.id and item.parent == zone and item.name == hostname
    }
