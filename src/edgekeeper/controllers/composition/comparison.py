"""Whether a live object is as it was applied: every field that we set has its value, whatever else is there.

The server brings values into a normal form, and others may add fields and entries. So quantities are compared as numbers,
an empty value is the same as none, entries of lists are found by their names, and a Secret's `stringData` is looked up in
its `data`. Where two values differ in a way that is not known here, they count as different: the object is applied once
more, which changes nothing then.
"""

from __future__ import annotations

import base64
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from edgekeeper.core.delta import ABSENT
from edgekeeper.core.json import JsonObject, dig_object

_STRING_DATA: Final = "stringData"
_LIST_KEYS: Final = ("name", "key", "containerPort", "port", "mountPath", "type")
"""By which field entries of lists are told apart, if all of them have it and no two the same."""
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?")
_FACTORS: Final = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(10**3), "M": Decimal(10**6),
    "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15), "E": Decimal(10**18), "Ki": Decimal(2**10),
    "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip


def covers(live: JsonObject, wanted: JsonObject) -> bool:
    """Whether a live object has all that was applied."""
    if _STRING_DATA in wanted:
        encoded = {
            name: base64.b64encode(str(text).encode()).decode()
            for name, text in dig_object(wanted, _STRING_DATA).items()
        }
        kept = {name: value for name, value in wanted.items() if name != _STRING_DATA}
        wanted = {**kept, "data": {**dig_object(wanted, "data"), **encoded}}
    return value_covers(live, wanted)


def metadata_covers(live: JsonObject, wanted: JsonObject) -> bool:
    """Whether a live object has all labels and annotations that were applied."""
    return all(
        dig_object(live, "metadata", field).get(name) == value
        for field in ("labels", "annotations")
        for name, value in dig_object(wanted, "metadata", field).items()
    )


def value_covers(live: Any, wanted: Any) -> bool:
    """Whether a live value has all that was applied, however the server writes it."""
    if _is_nothing(wanted):
        return _is_nothing(live)
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(
            value_covers(live.get(name), value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and _covers_list(live, wanted)
    return _same(live, wanted)


def _is_nothing(value: Any) -> bool:
    return value is None or value in ({}, [])


def _covers_list(live: list[Any], wanted: list[Any]) -> bool:
    found = paired(live, wanted, list_key(live, wanted))
    return found is not None and all(map(value_covers, found, wanted))


def list_key(live: list[Any], wanted: list[Any]) -> str:
    """The field that tells the entries of both lists apart; empty if none does."""
    keys = (name for name in _LIST_KEYS if None not in (_by_key(live, name), _by_key(wanted, name)))
    return next(keys, "")


def paired(live: list[Any], wanted: list[Any], key: str) -> list[Any] | None:
    """For each entry that is wanted the live one: by a key, with ABSENT for those that there are not; or by its place.

    None if there is no key, and the lists are of different length: then they can only be compared as a whole.
    """
    found = _by_key(live, key) if key else None
    if found is None:
        return live if len(live) == len(wanted) else None
    return [found.get(str(entry[key]), ABSENT) for entry in wanted]


def _by_key(entries: list[Any], name: str) -> dict[str, Any] | None:
    """The entries by what tells them apart; None if that does not."""
    keyed = {str(entry[name]): entry for entry in entries if isinstance(entry, dict) and name in entry}
    return keyed if len(keyed) == len(entries) else None


def _same(live: Any, wanted: Any) -> bool:
    if isinstance(live, bool) or isinstance(wanted, bool):
        return live is wanted
    if live == wanted:
        return True
    one, other = _quantity(live), _quantity(wanted)
    return one is not None and one == other


def _quantity(value: Any) -> Decimal | None:
    """The number that a value stands for, if it is a number or a quantity such as `500m`."""
    match = _QUANTITY.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if match is None:
        return None
    number, suffix = match[1], match[2] or ""
    try:
        if suffix in _FACTORS:
            return Decimal(number) * _FACTORS[suffix]
        return Decimal(number + suffix)
    except InvalidOperation:
        return None
