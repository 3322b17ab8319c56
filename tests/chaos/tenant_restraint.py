"""What users have asked to be left alone is left alone: checked at every single change.

    paused, or annotated with what is no value of ours      nothing at all is changed for the object
    drift-policy report or suspend                          a tenant whose spec was carried out is neither changed nor
                                                            created again, but for its certificate

Watches may be silent for a while, so that a wish counts once it has stood for some time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgekeeper.core.json import JsonObject, dig
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.journal import Entry
from kubesim.aws.route53.names import normal
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.chaos.tenant_ledger import READING, RESOURCE, Ledger, places_of
from tests.chaos.tenant_operations import TenantWorld
from tests.chaos.tenant_wishes import is_hands_off, is_left_alone
from tests.chaos.violation import Violation

KNOWN_AFTER = 900.0
"""Seconds after which everybody has heard of an annotation."""
_FIRST = ("CreateDistributionTenant",)


class Restraint:
    """See the module."""

    def __init__(self, world: TenantWorld, ledger: Ledger) -> None:
        self.found: list[Violation] = []
        self._world = world
        self._estate = world.outside
        self._ledger = ledger
        self._since: dict[tuple[str, str], float] = {}
        """When a wish of an object, by uid, began to stand."""
        self._tenants = self._seen()
        self._estate.chronicle.listeners.append(self._after_call)
        self._estate.hands.append(self._look)
        world.stage.plane.store.listen(self._after_commit)

    def _seen(self) -> dict[str, Tenant]:
        return {one.id: one for one in self._estate.cloud.cloudfront.tenants.values()}

    def _look(self) -> None:
        self._tenants = self._seen()

    def _after_commit(self, resource: GroupResource, event: Event) -> None:
        if resource != RESOURCE or event.type == "DELETED":
            return
        obj = event.item.decode()
        for wish, stands in (("left alone", is_left_alone(obj)), ("hands off", is_hands_off(obj))):
            key = (obj["metadata"]["uid"], wish)
            if not stands:
                self._since.pop(key, None)
            else:
                self._since.setdefault(key, self._now())

    def _after_call(self) -> None:
        entry = self._estate.chronicle.entries[-1]
        if entry.code or entry.operation.startswith(READING):
            return
        before, self._tenants = self._tenants, self._seen()
        concerned = list(self._concerned(entry, before))
        name = concerned[0]["metadata"]["name"] if concerned else ""
        if concerned and all(self._stands(obj, "left alone") for obj in concerned):
            self._find(f"{entry.operation} for {name}, which is to be left alone")
        elif concerned and all(self._is_drift(obj, entry, before) for obj in concerned):
            self._find(f"{entry.operation} for {name}, whose drift is to be left alone")

    def _concerned(self, entry: Entry, before: dict[str, Tenant]) -> Iterator[JsonObject]:
        """The objects for which a call may have been made."""
        for obj in self._world.stage.objects():
            if entry.operation in _FIRST:
                is_concerned = obj["metadata"]["name"] == entry.params["Name"]
            elif entry.operation == "ChangeResourceRecordSets":
                names = {place.name for place in places_of(obj)}
                changed = (one["ResourceRecordSet"]["Name"] for one in entry.params["ChangeBatch"]["Changes"])
                is_concerned = any(normal(name).rstrip(".") in names for name in changed)
            else:
                tenant = before.get(_tenant_id(entry.params))
                is_concerned = tenant is not None and self._ledger.may_have(obj, tenant)
            if is_concerned:
                yield obj

    def _is_drift(self, obj: JsonObject, entry: Entry, before: dict[str, Tenant]) -> bool:
        """Was a tenant changed, or created again, only because it was not what the spec says?"""
        is_carried_out = dig(obj, "status", "observedGeneration") == obj["metadata"]["generation"]
        if "deletionTimestamp" in obj["metadata"] or not is_carried_out or not self._stands(obj, "hands off"):
            return False
        if entry.operation in _FIRST:
            return True
        old = before.get(_tenant_id(entry.params))
        new = self._tenants.get(old.id) if old else None
        if entry.operation != "UpdateDistributionTenant" or old is None or new is None:
            return False
        is_certificate = (
            bool(entry.params.get("ManagedCertificateRequest")) or old.certificate != new.certificate
        )
        return not is_certificate

    def _stands(self, obj: JsonObject, wish: str) -> bool:
        return self._now() - self._since.get((obj["metadata"]["uid"], wish), self._now()) > KNOWN_AFTER

    def _now(self) -> float:
        return self._estate.cloud.time.monotonic()

    def _find(self, text: str) -> None:
        self.found.append(Violation("uninvited", text))


def _tenant_id(params: Any) -> str:
    named = params.get("Id") or params.get("Resource") or ""
    return str(named).rpartition("/")[2]
