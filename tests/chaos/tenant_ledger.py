"""Who made what in the account, and whether the operator kept its hands off the rest: checked at every single change.

A tenant is the operator's if it made it, or if an object may have it: by the object's mark on it, or by the annotation
that allows taking over what nobody manages. A record is the operator's as long as it says exactly what the operator wrote
there last, or has taken over. Everything else belongs to somebody else:

    foreign      a tenant that is somebody else's is changed, tagged or deleted; a record is changed where the operator has
                 written nothing, or is removed though it does not say what the operator wrote
    forgotten    a record is written that no object has in its inventory, or a tenant is made for no object
    dangling     a name that a tenant served leads to CloudFront by a record of ours, and no tenant serves it any more;
                 or a tenant gives up a name before the world knows that its record is gone

What people do themselves (`acted_by_hand`) is noted, and never a violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.annotations import ADOPT, DELETION_POLICY
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.journal import Entry
from kubesim.aws.route53.names import normal
from kubesim.aws.route53.records import Record
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.chaos.tenant_operations import TenantWorld
from tests.chaos.tenant_wishes import is_left_alone
from tests.chaos.violation import Violation
from tests.tenants.system import CLUSTER

RESOURCE = GroupResource(KIND.group, KIND.plural)
READING = ("Get", "List", "Describe", "AssumeRole", "Verify")
MEMORY = 300.0
"""Seconds for which an annotation counts that is gone: watches may be silent for a while."""
MARK = ("cluster", "namespace", "name", "uid")


class Place(NamedTuple):
    """Where a record stands."""

    zone: str
    name: str
    """Without the final dot."""
    type: str


class Ledger:
    """See the module."""

    def __init__(self, world: TenantWorld) -> None:
        self.found: list[Violation] = []
        self.makers: dict[str, str] = {}
        """`operator` or `hand`, by the id of a tenant."""
        self.written: dict[Place, Record] = {}
        """What the operator has written, or taken over, and not removed or let go."""
        self.served: set[tuple[str, str]] = set()
        """Names of tenants and domains that they have served since there is a record for them."""
        self._world = world
        self._estate = world.outside
        self._adopted: set[tuple[str, str]] = set()
        """Tenants that objects have taken over, by ids of both."""
        self._adopting: dict[str, float] = {}
        """When an object, by its uid, was last seen to be allowed to take something over."""
        self._served: set[str] = set()
        self._moving: set[str] = set()
        """Names that a tenant gives up, and another object asks for and has a record of."""
        self._leaving: dict[str, tuple[float, set[str]]] = {}
        """Names whose record we have removed, and when the world knows of it."""
        self._tenants, self._records = self._look()
        self._estate.chronicle.listeners.append(self._after_call)
        self._estate.hands.append(self._after_hand)
        world.stage.plane.store.listen(self._after_commit)

    # What there is

    def is_ours(self, place: Place) -> bool:
        """Does the record there say what we wrote?"""
        record, written = self._records.get(place), self.written.get(place)
        return record is not None and written is not None and record.same_as(written)

    def record(self, place: Place) -> Record | None:
        return self._records.get(place)

    def records(self) -> Mapping[Place, Record]:
        return self._records

    def leading(self) -> set[str]:
        """Names that lead to CloudFront by a record of ours."""
        return {
            place.name
            for place, record in self._records.items()
            if self.is_ours(place) and self._leads(record)
        }

    def _leads(self, record: Record) -> bool:
        return normal(record.alias.name if record.alias else record.values[0]) in self._endpoints()

    def _endpoints(self) -> set[str]:
        return {f"{group.endpoint}." for group in self._estate.cloud.cloudfront.groups.values()}

    def _look(self) -> tuple[dict[str, Tenant], dict[Place, Record]]:
        tenants = {one.id: one for one in self._estate.cloud.cloudfront.tenants.values()}
        records = {
            Place(zone.id, record.name.rstrip("."), record.type): record
            for zone in self._estate.zones()
            for record in zone.records.values()
            if record.type in ("CNAME", "A", "AAAA")
        }
        self.served.update((one.name, domain) for one in tenants.values() for domain in one.domains)
        return tenants, records

    # What others do

    def _after_hand(self) -> None:
        before = self._tenants
        self._tenants, self._records = self._look()
        for id_, tenant in self._tenants.items():
            self.makers.setdefault(id_, "hand")
            lost = set(before[id_].domains) - set(tenant.domains) if id_ in before else set()
            self.served -= {(tenant.name, domain) for domain in lost}
        self._served = self.leading() & set(self._estate.cloud.world.edge_domains)

    # What the operator does

    def _after_call(self) -> None:
        entry = self._estate.chronicle.entries[-1]
        if entry.code or entry.operation.startswith(READING):
            return
        tenants, records = self._tenants, self._records
        self._tenants, self._records = self._look()
        for id_ in sorted(tenants.keys() | self._tenants.keys()):
            self._judge_tenant(tenants.get(id_), self._tenants.get(id_), entry)
        for place in sorted(records.keys() | self._records.keys()):
            before, after = records.get(place), self._records.get(place)
            if before != after:
                self._judge_record(place, before, after)
        self._judge_names(entry)

    def _judge_tenant(self, before: Tenant | None, after: Tenant | None, entry: Entry) -> None:
        if before is None and after is not None:
            self.makers[after.id] = "operator"
            if not any(_is_marked(after, obj) or _name(obj) == after.name for obj in self._objects()):
                self._find("forgotten", f"tenant {after.name} is created for no object")
        elif before is not None and (after is None or _content(before) != _content(after)):
            if after is not None and before.tags != after.tags:
                self._estate.tagged_by_hand.discard(before.id)
            if not any(self.may_have(obj, before) for obj in self._objects()):
                tags = dict(before.tags) or "no tags"
                self._find(
                    "foreign",
                    f"{entry.operation} of tenant {before.name}, made by {self.makers.get(before.id)}, with {tags}",
                )
        if before is not None:
            self._judge_surrender(before, after, entry)

    def may_have(self, obj: JsonObject, tenant: Tenant) -> bool:
        """May the operator change a tenant for an object?"""
        if _is_marked(tenant, obj):
            return True
        if _name(obj) != tenant.name:
            return False
        uid = obj["metadata"]["uid"]
        is_adopted = (tenant.id, uid) in self._adopted or self._may_adopt(uid)
        if any(f"edgekeeper.io/{part}" in tenant.tags for part in MARK):
            return is_adopted and _is_marked(tenant, obj, MARK[:3])
        return is_adopted or self.makers.get(tenant.id) == "operator"

    def _judge_surrender(self, before: Tenant, after: Tenant | None, entry: Entry) -> None:
        """Names that a tenant gives up must have been gone from the world's DNS, if they were there by its own object."""
        now = self._estate.cloud.time.monotonic()
        owners = {obj["metadata"]["uid"] for obj in self._objects() if _is_marked(before, obj)}
        for obj in self._objects():
            if obj["metadata"]["uid"] not in owners:
                recorded = {place.name for place in places_of(obj)}
                self._moving |= recorded & set(domains_of(obj)) & set(before.domains)
        for name in set(before.domains) - set(after.domains if after else ()):
            until, recorders = self._leaving.get(name, (0.0, set[str]()))
            if now < until and (not owners or owners & recorders):
                left = until - now
                self._find("dangling", f"{name} is given up {left:.0f} s too early by {entry.operation}")

    def _judge_record(self, place: Place, before: Record | None, after: Record | None) -> None:
        written = self.written.get(place)
        if after is None:
            if before is None or written is None or not written.same_as(before):
                self._find(
                    "foreign",
                    f"{place.type} {place.name} is removed, which says {_told(before)}, not {_told(written)}",
                )
            self.written.pop(place, None)
            self.served = {pair for pair in self.served if pair[1] != place.name}
            propagation = self._estate.cloud.world.timings.record_propagation.total_seconds()
            recorders = {obj["metadata"]["uid"] for obj in self._objects() if place in places_of(obj)}
            self._leaving[place.name] = (self._estate.cloud.time.monotonic() + propagation, recorders)
            return
        if before is not None and written is None:
            self._find(
                "foreign",
                f"{place.type} {place.name} is changed, which says {_told(before)} and never was ours",
            )
        if not any(place in places_of(obj) for obj in self._objects()):
            self._find("forgotten", f"{place.type} {place.name} is written and in no inventory")
        self.written[place] = after
        self._leaving.pop(place.name, None)

    def _judge_names(self, entry: Entry) -> None:
        """Names that were served lead to what is gone. Those of an object that is to be left alone stay as they are.

        A name that moves to an object which has its record already has no tenant between two calls.
        """
        leading, domains = self.leading(), set(self._estate.cloud.world.edge_domains)
        left = {place.name for obj in self._objects() if is_left_alone(obj) for place in places_of(obj)}
        for name in sorted((self._served & leading) - domains - left - self._moving):
            self._find(
                "dangling", f"{name} leads to CloudFront and no tenant serves it, after {entry.operation}"
            )
        self._served = leading & domains
        self._moving.clear()

    # What objects say

    def _after_commit(self, resource: GroupResource, event: Event) -> None:
        if resource != RESOURCE:
            return
        obj = event.item.decode()
        before = event.previous.decode() if event.previous is not None else {}
        for version in (before, obj):
            if str(dig(version, "metadata", "annotations", ADOPT)).lower() == "true":
                self._adopting[version["metadata"]["uid"]] = self._now()
        if event.type == "DELETED":
            self._let_go(before or obj)
        else:
            self._note_taking(obj)
            self._note_dropped(before, obj)

    def _note_taking(self, obj: JsonObject) -> None:
        """What an object that may take things over has in its status is its own from now on."""
        uid = obj["metadata"]["uid"]
        if not self._may_adopt(uid):
            return
        if known := dig(obj, "status", "id"):
            self._adopted.add((known, uid))
        for entry in dig_list(obj, "status", "inventory"):
            place = place_of(entry)
            if entry.get("state") != "Planned" and place not in self.written and place in self._records:
                self.written[place] = self._records[place]

    def _note_dropped(self, before: JsonObject, obj: JsonObject) -> None:
        """A record that is not as we wrote it, and that an object does not have in its inventory any more, is let go."""
        for place in places_of(before).keys() - places_of(obj).keys():
            if not self.is_ours(place):
                self.written.pop(place, None)

    def _let_go(self, obj: JsonObject) -> None:
        """An object is gone. What it was to leave behind is nobody's from now on."""
        is_orphaning = str(dig(obj, "metadata", "annotations", DELETION_POLICY)).lower() == "orphan"
        served = self._estate.cloud.world.edge_domains
        for place in places_of(obj):
            # After a restart nothing but the inventory says whose a record is, which is no proof against a tenant.
            if is_orphaning or not self.is_ours(place) or place.name in served:
                self.written.pop(place, None)
        if is_orphaning:
            for tenant in self._tenants.values():
                if _is_marked(tenant, obj) or tenant.id == dig(obj, "status", "id"):
                    self.makers[tenant.id] = "hand"
            self._served = self.leading() & set(self._estate.cloud.world.edge_domains)

    def _may_adopt(self, uid: str) -> bool:
        return self._now() - self._adopting.get(uid, -MEMORY - 1) <= MEMORY

    def _objects(self) -> Iterator[JsonObject]:
        return self._world.stage.objects()

    def _now(self) -> float:
        return self._estate.cloud.time.monotonic()

    def _find(self, law: str, text: str) -> None:
        self.found.append(Violation(law, text))


def domains_of(obj: JsonObject) -> list[str]:
    """The domains that an object asks for."""
    return [one["domain"].lower().rstrip(".") for one in dig_list(obj, "spec", "domains")]


def places_of(obj: JsonObject) -> dict[Place, Any]:
    """The inventory of an object by place; of two entries at one place the last."""
    return {place_of(entry): entry for entry in dig_list(obj, "status", "inventory")}


def place_of(entry: JsonObject) -> Place:
    return Place(entry["zone"].removeprefix("/hostedzone/"), entry["name"], entry["type"])


def _is_marked(tenant: Tenant, obj: JsonObject, parts: tuple[str, ...] = MARK) -> bool:
    """Does a tenant bear the mark of an object?"""
    metadata = {"cluster": CLUSTER, **dig_object(obj, "metadata")}
    return all(tenant.tags.get(f"edgekeeper.io/{part}") == metadata.get(part) for part in parts)


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _content(tenant: Tenant) -> tuple[Any, ...]:
    """What a change changes: not what CloudFront works out by itself."""
    return (
        *(tenant.distribution, tenant.domains, tenant.group, tenant.enabled, tenant.parameters),
        *(tenant.customizations, tenant.tags, tenant.managed_certificate),
    )


def _told(record: Record | None) -> str:
    if record is None:
        return "nothing"
    return f"{record.alias.name if record.alias else record.values} (TTL {record.ttl})"
