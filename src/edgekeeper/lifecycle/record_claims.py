"""Which inventory contains a Route 53 record, and which hosted zones are in use, across all kinds of a process.

Route 53 records cannot be tagged, so an object lists its records in its inventory. A record belongs to one inventory only.
If two inventories contain it, after a crash or because somebody has edited a status, `recorder` decides to which object it
belongs; the result is the same for both.

An object that claims a hostname waits while its record is in another inventory, so the two objects wake each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from edgekeeper.cloud.aws.dns.entries import Place, bare_zone
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.dns.service import Dns
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import Kind
from edgekeeper.lifecycle.objects import HOSTNAME, KindObject, ObjectIndex

RECORD: Final = "record"
"""The index of inventories by record name."""
ZONE: Final = "zone"
"""The index of objects by hosted zone and role."""

State: TypeAlias = Literal["Planned", "Written"]
"""Whether a record was written, or is planned to be."""


class ZoneUse(NamedTuple):
    """A hosted zone that an object uses."""

    zone: str
    """Its id, with or without the prefix `/hostedzone/`."""
    role: str = ""
    """The ARN of the role to assume for it; empty for the operator's own credentials."""


def inventory_places(obj: JsonObject) -> dict[Place, State]:
    """The records in `status.inventory` by place, and whether they were written."""
    places: dict[Place, State] = {}
    for entry in _entries(obj, "inventory"):
        zone, name, type_ = (str(entry.get(field)) for field in ("zone", "name", "type"))
        place = (bare_zone(zone), normalise_name(name), type_)
        is_planned = entry.get("state") == "Planned" and places.get(place) != "Written"
        places[place] = "Planned" if is_planned else "Written"
    return places


def status_zones(obj: JsonObject) -> Iterator[ZoneUse]:
    """The zones of an object's records, and of its changes that may not be propagated yet."""
    for entry in (*_entries(obj, "inventory"), *_entries(obj, "dnsChanges")):
        yield ZoneUse(str(entry.get("zone")), str(entry.get("role") or ""))


@dataclass(frozen=True, slots=True)
class RecordSource:
    """A kind whose objects have records. Its functions must accept any content, since objects are not validated here."""

    kind: Kind
    places: Callable[[JsonObject], Mapping[Place, State]] = inventory_places
    """The records in an object's inventory."""
    zones: Callable[[JsonObject], Iterable[ZoneUse]] = status_zones
    """All zones that an object needs: of its records, of records that it wants, and of unpropagated changes."""


class RecordClaims:
    """The inventories of all kinds."""

    def __init__(self, objects: ObjectIndex) -> None:
        self._objects = objects
        self._sources: dict[Kind, RecordSource] = {}
        objects.link(RECORD, HOSTNAME)

    def register(self, source: RecordSource) -> None:
        """Include the inventories of a kind."""
        objects = self._objects
        objects.add(
            source.kind, RECORD, lambda obj: sorted({place[1] for place in source.places(obj)}), wakes=True
        )
        objects.add(source.kind, ZONE, lambda obj: sorted({_zone_value(*use) for use in source.zones(obj)}))
        self._sources[source.kind] = source

    def connect(self, dns: Dns) -> None:
        """Wake objects by changes of records of their hostnames, and keep the zones that they need.

        Called once for each account, whichever kinds use it.
        """
        dns.on_record(partial(self._objects.wake, HOSTNAME))
        dns.zones.add_user(self.uses_zone)

    def recorder(self, subject: KindObject, place: Place, state: State) -> KindObject | None:
        """The other object to which a record in the inventory of `subject` belongs; None if there is none.

        It has the record in its inventory as well and takes precedence: it has written a record that `subject` has only
        planned; or, with equal states, it claims the hostname and `subject` does not, or is younger. Raise NotSyncedError
        unless all inventories are known.
        """
        name = place[1]
        is_claimant = name in self._objects.values(subject, HOSTNAME)
        for other, other_state in self._recorders(subject, place):
            is_earlier = not is_claimant or other.seniority < subject.seniority
            is_better = is_earlier and name in self._objects.values(other, HOSTNAME)
            if is_better if other_state == state else other_state == "Written":
                return other
        return None

    def recorded(self, subject: KindObject, places: Iterable[Place]) -> dict[Place, str]:
        """The places that are in the inventory of another object, with the name of that object for messages.

        Raise NotSyncedError unless all inventories are known.
        """
        return {
            place: other.name_for(subject.kind)
            for place in places
            for other, _ in self._recorders(subject, place)
        }

    def lingering(self, subject: KindObject, hostnames: Iterable[str]) -> dict[str, str]:
        """Hostnames for which other objects still have records although they do not ask for them, and which objects.

        Objects that are paused, or whose annotations are invalid, are left out: nothing will be done for them. Raise
        NotSyncedError where not all inventories are known.
        """
        return {
            hostname: other.name_for(subject.kind)
            for hostname in hostnames
            for other in self._objects.find(RECORD, hostname, besides=subject)
            if hostname not in self._objects.values(other, HOSTNAME)
            and not _is_left_alone(other.tree)
            and self._has_written(other, hostname)
        }

    def uses_zone(self, zone_id: str, role: Role) -> bool:
        """Whether any object needs the zone with the role. True if that is unknown."""
        return self._objects.is_used(ZONE, _zone_value(zone_id, role.arn))

    def _has_written(self, obj: KindObject, name: str) -> bool:
        places = self._sources[obj.kind].places(obj.tree)
        return any(place[1] == name and state == "Written" for place, state in places.items())

    def _recorders(self, subject: KindObject, place: Place) -> Iterator[tuple[KindObject, State]]:
        for other in self._objects.find(RECORD, place[1], besides=subject):
            if state := self._sources[other.kind].places(other.tree).get(place):
                yield other, state


def _is_left_alone(obj: JsonObject) -> bool:
    wishes = Wishes.of(obj)
    return wishes.paused or bool(wishes.problems)


def _entries(obj: JsonObject, field: str) -> list[JsonObject]:
    return [entry for entry in dig_list(obj, "status", field) if isinstance(entry, dict)]


def _zone_value(zone: str, role: str) -> str:
    return f"{bare_zone(zone)} {role}"
