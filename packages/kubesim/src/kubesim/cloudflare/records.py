"""DNS records of a zone: list, create, overwrite, change, delete, and all of that in one batch.

A batch runs deletes, patches, puts and posts, in this order, on a copy: the first refusal throws the copy away, so
that nothing has happened.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.cloudflare.filters import matches, ordered
from kubesim.cloudflare.record_rules import PROXIABLE, check_beside, checked
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.state import Maker, Zone
from kubesim.cloudflare.wire import Paging, Refusal, Result, paged

_PAGES = Paging(default=100, most=5_000_000)
_SEARCHED = ("name", "content", "comment", "type", "proxied")


class RecordSet:
    """The records of a zone while one request changes them. Nothing holds until `keep`."""

    def __init__(self, zone: Zone, make: Maker) -> None:
        self._zone = zone
        self._make = make
        self._records = dict(zone.records)
        self._by_name: defaultdict[str, dict[str, JsonObject]] = defaultdict(dict)
        for record in self._records.values():
            self._index(record)

    def get(self, id_: Any) -> JsonObject:
        found = self._records.get(id_) if isinstance(id_, str) else None
        if found is None:
            raise Refusal(404, 81044, "Record does not exist.")
        return found

    def post(self, body: JsonObject) -> JsonObject:
        if len(self._records) >= self._zone.plan.records:
            raise Refusal(400, 81045, "The record quota has been exceeded.")
        fields = checked(self._zone, body)
        check_beside(fields, self._by_name[fields["name"]].values())
        now = self._make.time()
        dates = {"created_on": now, **({"comment_modified_on": now} if fields["comment"] else {})}
        return self._store({"id": self._make.digits(32), **fields, **dates})

    def put(self, id_: Any, body: JsonObject) -> JsonObject:
        return self._rewrite(self.get(id_), body)

    def patch(self, id_: Any, body: JsonObject) -> JsonObject:
        present = self.get(id_)
        return self._rewrite(present, {**present, **body})

    def delete(self, id_: Any) -> JsonObject:
        record = self.get(id_)
        del self._records[record["id"]]
        del self._by_name[record["name"]][record["id"]]
        return record

    def keep(self) -> None:
        self._zone.records = self._records

    def _rewrite(self, present: JsonObject, body: JsonObject) -> JsonObject:
        if body.get("type") != present["type"]:
            raise Refusal(400, 9008, "The type of a DNS record cannot be changed.")
        fields = checked(self._zone, body)
        neighbours = self._by_name[fields["name"]].values()
        check_beside(fields, (other for other in neighbours if other["id"] != present["id"]))
        self.delete(present["id"])
        return self._store({**present, **fields})

    def _store(self, record: JsonObject) -> JsonObject:
        whole = {
            **record,
            "proxiable": record["type"] in PROXIABLE,
            "meta": {},
            "modified_on": self._make.time(),
        }
        self._records[whole["id"]] = whole
        self._index(whole)
        return whole

    def _index(self, record: JsonObject) -> None:
        self._by_name[record["name"]][record["id"]] = record


def list_records(call: Call) -> Result:
    records = [record for record in call.zone.records.values() if matches(record, call.query, _SEARCHED)]
    return paged(ordered(records, call.query), call.query, _PAGES)


def get_record(call: Call) -> Result:
    return Result(_set_of(call).get(call.ids["record"]))


def create_record(call: Call) -> Result:
    records = _set_of(call)
    created = records.post(call.payload)
    records.keep()
    return Result(created)


def put_record(call: Call) -> Result:
    records = _set_of(call)
    stored = records.put(call.ids["record"], call.payload)
    records.keep()
    return Result(stored)


def patch_record(call: Call) -> Result:
    records = _set_of(call)
    stored = records.patch(call.ids["record"], call.payload)
    records.keep()
    return Result(stored)


def delete_record(call: Call) -> Result:
    records = _set_of(call)
    records.delete(call.ids["record"])
    records.keep()
    return Result({"id": call.ids["record"]})


def change_records(call: Call) -> Result:
    """The batch."""
    parts = {name: _items(call.payload, name) for name in ("deletes", "patches", "puts", "posts")}
    size = sum(map(len, parts.values()))
    if size > call.zone.plan.batch:
        raise Refusal(
            400, 9208, f"Batch has {size} operations, exceeding the limit of {call.zone.plan.batch}."
        )
    records = _set_of(call)
    done = {
        "deletes": [records.delete(item.get("id")) for item in parts["deletes"]],
        "patches": [records.patch(item.get("id"), item) for item in parts["patches"]],
        "puts": [records.put(item.get("id"), item) for item in parts["puts"]],
        "posts": [records.post(item) for item in parts["posts"]],
    }
    records.keep()
    return Result(done)


def _items(payload: JsonObject, name: str) -> list[JsonObject]:
    items = dig_list(payload, name)
    if not all(isinstance(item, dict) for item in items):
        raise Refusal(400, 9207, f"Request body is invalid: {name} must be a list of objects.")
    return items


def _set_of(call: Call) -> RecordSet:
    return RecordSet(call.zone, call.world.make)
