"""Which operators run in a cluster: ours, by its Leases, and those that it replaces.

A Lease tells that an operator ran at its last renewal, by the clock of that machine. One that was not renewed for its
duration, and some minutes for clocks that differ, has no operator behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from edgekeeper.core.clock import parse_timestamp
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import DEPLOYMENT, LEASE, Key
from edgekeeper.kube.lease_record import LeaseRecord
from edgekeeper.lifecycle.predecessor import PreviousOperator
from edgekeeper.lifecycle.relations import Reader

LEASE_NAME: Final = "edgekeeper"
CLOCK_TOLERANCE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Holder:
    """A Lease of ours."""

    key: Key
    holder: str
    """Empty if it was released."""
    renewed: datetime | None
    is_live: bool

    def age(self, now: datetime) -> timedelta | None:
        return None if self.renewed is None else max(now - self.renewed, timedelta())


async def our_leases(reader: Reader, now: datetime) -> list[Holder]:
    """The Leases of edgekeeper in all namespaces, of all its roles."""
    leases = await reader.select(LEASE)
    return [_holder(one, now) for one in leases if _is_ours(str(dig(one, "metadata", "name")))]


def _is_ours(lease: str) -> bool:
    return lease == LEASE_NAME or lease.startswith(f"{LEASE_NAME}-")


async def leases_of(reader: Reader, now: datetime, namespace: str, roles: Iterable[str]) -> list[Holder]:
    """The Leases of an operator in its namespace, which it may read by name only."""
    names = [LEASE_NAME, *(f"{LEASE_NAME}-{role}" for role in roles)]
    leases = [await reader.get(LEASE, Key(namespace, name)) for name in names]
    return [_holder(lease, now) for lease in leases if lease is not None]


async def running_predecessors(
    reader: Reader, now: datetime, operators: Iterable[PreviousOperator], places: Sequence[str] = ("",)
) -> dict[str, str]:
    """The operators that run and must not, by name, with the sign of it. `places` are namespaces; an empty one is all."""
    found: dict[str, str] = {}
    for operator in operators:
        signs = [await _sign(reader, now, operator, place) for place in places]
        if sign := next(filter(None, signs), ""):
            found[operator.name] = sign
    return found


async def _sign(reader: Reader, now: datetime, operator: PreviousOperator, place: str) -> str:
    for deployment in await reader.select(DEPLOYMENT, place, operator.deployment_labels):
        if dig(deployment, "status", "availableReplicas") and _has_image(deployment, operator):
            return f"Deployment {_key(deployment)} is available"
    if not operator.lease_name:
        return ""
    for lease in await reader.select(LEASE, place):
        if dig(lease, "metadata", "name") == operator.lease_name and (held := _holder(lease, now)).is_live:
            return f"Lease {held.key} is held by {held.holder}"
    return ""


def _has_image(deployment: JsonObject, operator: PreviousOperator) -> bool:
    containers = dig_list(deployment, "spec", "template", "spec", "containers")
    is_its_image = operator.is_its_image
    return is_its_image is None or any(is_its_image(str(dig(one, "image"))) for one in containers)


def _holder(lease: JsonObject, now: datetime) -> Holder:
    record, renewed = LeaseRecord.of(lease), _renewed(lease)
    lasts = max(record.duration, CLOCK_TOLERANCE)
    is_live = bool(record.holder) and renewed is not None and now - renewed <= lasts
    return Holder(_key(lease), record.holder, renewed, is_live)


def _renewed(lease: JsonObject) -> datetime | None:
    moment = dig(lease, "spec", "renewTime")
    try:
        return parse_timestamp(moment) if isinstance(moment, str) else None
    except ValueError:
        return None


def _key(obj: JsonObject) -> Key:
    return Key(str(dig(obj, "metadata", "namespace") or ""), str(dig(obj, "metadata", "name") or ""))
