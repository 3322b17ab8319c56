"""A simulated cloud as plain data, to compare two of them: everything that it is made of, by reflection.

What is left out belongs to a run and not to the cloud (see `kubesim.aws.saving`), or follows from the rest.
Anything else that somebody adds to the state of a service is compared from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.ids import Ids
from kubesim.aws.shelf import Shelf

LEFT_OUT: Final = {
    "AwsCloud": {"journal", "faults", "throttle", "guard", "on_change", "_numbers"},
    "World": {"timings", "quotas", "behaviour"},
    # When to look at certificates again follows from the certificates, and may be earlier than it must be.
    "Certificates": {"_pending", "_next_look"},
}
_PLAIN: Final = (str, int, float, bool, bytes, datetime, timedelta, Enum, type(None))


def portrait(cloud: AwsCloud) -> Any:
    return _drawn(cloud, set())


def _drawn(value: Any, seen: set[int]) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, CloudTime | Ids) or callable(value):
        return None  # these go on, and have tests of their own
    if isinstance(value, Shelf):
        return {key: _drawn(one, seen) for key, one in value.items()}
    if isinstance(value, Mapping):
        return {key: _drawn(one, seen) for key, one in value.items() if one != []}
    if isinstance(value, list | tuple):
        return [_drawn(one, seen) for one in value if not callable(one)]
    if isinstance(value, set | frozenset):
        return sorted(value)
    if id(value) in seen:
        return f"the same {type(value).__name__}"
    seen.add(id(value))
    left_out = LEFT_OUT.get(type(value).__name__, set())
    return {name: _drawn(one, seen) for name, one in vars(value).items() if name not in left_out}
