"""Who owns what: `metadata.managedFields` as a table of managers, and back.

A manager is identified by its name, its operation and the subresource it wrote through; updates also by the API
version. Appliers keep one entry whatever version they apply in, because each apply replaces what the last one said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply.fieldset import FieldSet, parse, union

APPLY = "Apply"
UPDATE = "Update"

_MAX_UPDATERS = 10
_OLD_UPDATES = "ancient-changes"


@dataclass(frozen=True, slots=True)
class Writer:
    """Who makes a change, how and when."""

    manager: str
    api_version: str
    time: str
    subresource: str = ""

    def updating(self) -> ManagerId:
        return ManagerId(self.manager, UPDATE, self.api_version, self.subresource)

    def applying(self) -> ManagerId:
        return ManagerId(self.manager, APPLY, "", self.subresource)


class ManagerId(NamedTuple):
    """What tells managers apart. Appliers have no API version here."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @property
    def identifier(self) -> str:
        """The form by which the API server orders managers."""
        parts = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return msgspec.json.encode({key: value for key, value in parts.items() if value}).decode()


class Owned(NamedTuple):
    """What a manager owns, in the terms of one API version, since when."""

    fields: FieldSet
    api_version: str
    time: str
    """Empty if the manager never changed anything, but only agreed with what was there."""


Managers: TypeAlias = dict[ManagerId, Owned]


def read_managers(entries: Any) -> Managers:
    """The managers of a stored object, whose entries this server has written and can trust."""
    managers: Managers = {}
    for entry in entries or ():
        operation, api_version = entry["operation"], entry["apiVersion"]
        version = "" if operation == APPLY else api_version
        manager = ManagerId(entry.get("manager", ""), operation, version, entry.get("subresource", ""))
        managers[manager] = Owned(entry.get("fieldsV1") or {}, api_version, entry.get("time") or "")
    return managers


def parse_managers(entries: Any) -> Managers:
    """The managers that a client sent; `ValueError` if the entries are malformed."""
    if not isinstance(entries, list):
        raise ValueError("managedFields must be a list")  # noqa: TRY004  (malformed input, not misuse)
    return read_managers([_parsed_entry(entry) for entry in entries])


def _parsed_entry(entry: Any) -> JsonObject:
    if not isinstance(entry, dict) or entry.get("operation") not in {APPLY, UPDATE}:
        raise ValueError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise ValueError(f"invalid fieldsType {entry.get('fieldsType')!r}")
    return {**entry, "fieldsV1": parse(entry.get("fieldsV1"))}


def is_reset(entries: Any, *, builtin: bool) -> bool:
    """Whether a client asks to forget all ownership: one empty entry, or for built-in kinds also an empty list.

    Custom resources are decoded without their types, which takes an empty list for none.
    """
    if not isinstance(entries, list):
        return False
    return not any(entries[0].values()) if len(entries) == 1 else builtin and not entries


def write_managers(managers: Managers) -> list[JsonObject]:
    """The entries for `metadata.managedFields`: appliers first, then by time and name."""
    ranked = sorted(
        managers.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time,
            item[0].name,
            item[1].api_version,
            item[0].subresource,
        ),
    )
    return [_entry(manager, owned) for manager, owned in ranked]


def _entry(manager: ManagerId, owned: Owned) -> JsonObject:
    entry: JsonObject = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned.fields,
    }
    if not owned.time:
        del entry["time"]
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def cap_updaters(managers: Managers) -> None:
    """Merge the oldest updaters of each API version into one entry while there are too many of them."""
    updaters = [manager for manager in managers if manager.operation == UPDATE]
    excess = len(updaters) - _MAX_UPDATERS
    if excess <= 0:
        return
    updaters.sort(key=lambda manager: (managers[manager].time, manager.identifier))
    oldest: dict[str, ManagerId] = {}
    for manager in updaters:
        owned = managers[manager]
        first = oldest.setdefault(owned.api_version, manager)
        bucket = ManagerId(_OLD_UPDATES, UPDATE, owned.api_version, "")
        if manager in {first, bucket}:
            continue
        if bucket not in managers:
            managers[bucket] = managers.pop(first)
        managers[bucket] = owned._replace(fields=union(owned.fields, managers[bucket].fields))
        del managers[manager]
        excess -= 1
        if not excess:
            return
