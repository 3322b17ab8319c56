"""What one account has at Route 53: zones with their records, and the changes made to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from kubesim.aws.errors import AwsError
from kubesim.aws.route53.names import normal, within
from kubesim.aws.route53.records import Key, Record
from kubesim.aws.shelf import Shelf
from kubesim.aws.world import World


@dataclass(frozen=True)
class Change:
    """A batch on its way to the name servers."""

    id: str
    submitted: datetime
    in_sync_at: float
    comment: str | None = None


@dataclass
class Zone:
    """A hosted zone. Public ones answer the world's questions."""

    id: str
    name: str
    caller_reference: str
    private: bool
    comment: str | None
    name_servers: tuple[str, ...]
    records: Shelf[Key, Record]
    types: dict[str, dict[Key, None]] = field(default_factory=dict)
    """The record sets of each name."""

    def put(self, record: Record) -> None:
        self.records.put(record.key, record)
        self.types.setdefault(record.name, {})[record.key] = None

    def remove(self, key: Key) -> None:
        self.records.remove(key)
        names = self.types[key[0]]
        del names[key]
        if not names:
            del self.types[key[0]]

    def at(self, name: str) -> Iterator[Record]:
        """Every record set of a name."""
        return (self.records[key] for key in self.types.get(name, ()))

    def target(self, name: str) -> str | None:
        for record in self._answering(name):
            if record.alias is not None:
                return record.alias.name
            if record.type == "CNAME":
                return normal(record.values[0])
        return None

    def texts(self, name: str) -> list[str]:
        texts = [record.values for record in self.at(name) if record.type == "TXT"]
        return [value.strip('"') for values in texts for value in values]

    def _answering(self, name: str) -> list[Record]:
        """The records of a name, or those of the wildcard that stands for it."""
        own = list(self.at(name))
        parent = name.partition(".")[2]
        while not own and within(parent, self.name):
            own = list(self.at(f"*.{parent}"))
            parent = parent.partition(".")[2]
        return own


class SavedZone(msgspec.Struct):
    """A hosted zone with its records."""

    id: str
    name: str
    caller_reference: str
    private: bool
    comment: str | None
    name_servers: tuple[str, ...]
    records: list[Record]


class SavedRoute53(msgspec.Struct):
    """What an account has."""

    zones: list[SavedZone]
    changes: list[Change]


class Route53:
    """See the module."""

    def __init__(self, world: World, account: str) -> None:
        self.world = world
        self.account = account
        self.zones: dict[str, Zone] = {}
        self.changes: dict[str, Change] = {}

    def add_zone(
        self,
        name: str,
        *,
        id: str | None = None,  # noqa: A002 - what everybody calls it
        private: bool = False,
        comment: str | None = None,
        caller_reference: str | None = None,
    ) -> Zone:
        """A hosted zone with the records that every zone begins with."""
        ids, full_name = self.world.ids, normal(name)
        servers = tuple(f"ns-{512 * number + 7}.awsdns-{number:02}.example." for number in range(4))
        soa = f"{servers[0]} awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"
        return self._open(
            SavedZone(
                id=id or "Z" + ids.upper(20),
                name=full_name,
                caller_reference=caller_reference or ids.uuid(),
                private=private,
                comment=comment,
                name_servers=servers,
                records=[Record(full_name, "NS", 172800, servers), Record(full_name, "SOA", 900, (soa,))],
            )
        )

    def _open(self, saved: SavedZone) -> Zone:
        world = self.world
        zone = Zone(
            saved.id,
            saved.name,
            saved.caller_reference,
            saved.private,
            saved.comment,
            saved.name_servers,
            records=Shelf(world.time, lambda: world.behaviour.read_lag),
        )
        for record in saved.records:
            zone.put(record)
        self.zones[zone.id] = zone
        if not zone.private:
            world.dns.add_zone(zone)
        return zone

    def remove_zone(self, zone: Zone) -> None:
        del self.zones[zone.id]
        if not zone.private:
            self.world.dns.remove_zone(zone)

    def zone(self, name: str) -> Zone:
        found = self.zones.get(name)
        if found is None:
            raise AwsError("NoSuchHostedZone", f"No hosted zone found with ID: {name}")
        return found

    def put_record(self, zone: Zone, record: Record) -> None:
        """Somebody else writes a record, unchecked and at once."""
        zone.put(record)
        self.world.dns.changed()

    def remove_record(self, zone: Zone, name: str, kind: str, identifier: str = "") -> None:
        zone.remove((normal(name), kind, identifier))
        self.world.dns.changed()

    def submit(self, comment: str | None) -> Change:
        """Something has changed, and will be known everywhere a little later."""
        world = self.world
        change = Change(
            "C" + world.ids.upper(20),
            world.time.now(),
            world.time.after(world.timings.record_propagation),
            comment,
        )
        self.changes[change.id] = change
        return change

    # --- Over a restart ---

    def save(self) -> SavedRoute53:
        return SavedRoute53([_saved(zone) for zone in self.zones.values()], list(self.changes.values()))

    def restore(self, saved: SavedRoute53) -> None:
        self.changes = {change.id: change for change in saved.changes}
        for zone in saved.zones:
            self._open(zone)


def _saved(zone: Zone) -> SavedZone:
    return SavedZone(
        zone.id,
        zone.name,
        zone.caller_reference,
        zone.private,
        zone.comment,
        zone.name_servers,
        list(zone.records.values()),
    )
