"""When the worker has to look at a route's service token although nothing has changed. Pure.

A token is refreshed before it expires: 30 days before, or when a quarter of its time is left if that is later. Its secret is
replaced at the interval that the route asks for. The worker decides what to do; here it is only decided when to ask it.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from edgekeeper.controllers.zerotrust.state import RouteState

LONGEST_MARGIN: Final = timedelta(days=30)
ASK_AGAIN: Final = timedelta(days=1)
"""How long to wait where the worker was asked and the token still expires at the same time."""
_DURATION: Final = re.compile(r"(\d{1,9})([smh])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours"}


def next_look(state: RouteState) -> datetime | None:
    """When the token is due; None where it never is."""
    moments = [moment for moment in (_refresh(state), _rotation(state)) if moment is not None]
    return min(moments, default=None)


def _refresh(state: RouteState) -> datetime | None:
    expires, synced = state.token_expires_at, state.last_sync_time
    if expires is None:
        return None
    token = state.applied.operations.service_token if state.applied is not None else None
    duration = duration_of(token.duration) if token is not None else None
    due = expires - (min(LONGEST_MARGIN, duration / 4) if duration else LONGEST_MARGIN)
    return due if synced is None or synced < due else synced + ASK_AGAIN


def _rotation(state: RouteState) -> datetime | None:
    token = state.applied.operations.service_token if state.applied is not None else None
    if token is None or not token.enabled or state.last_sync_time is None:
        return None
    interval = duration_of(token.rotation_interval)
    return state.last_sync_time + interval if interval else None


def duration_of(text: str) -> timedelta | None:
    """A duration such as `24h`; None for anything else."""
    match = _DURATION.fullmatch(text)
    return timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else None
