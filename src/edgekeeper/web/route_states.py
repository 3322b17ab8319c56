"""The states of routes, in the caches of a process that reconciles routes: what each has at Cloudflare."""

from __future__ import annotations

from collections.abc import Iterable

from edgekeeper.controllers.zerotrust.route_index import BY_ROUTE
from edgekeeper.controllers.zerotrust.state import STATE_LABELS, RouteState, read_state
from edgekeeper.core.errors import Stall
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import CONFIG_MAP, Key


def state_of_route(informers: Iterable[Informer], route: Key) -> RouteState | None:
    """The state of a route; None if there is none, it cannot be read, or the process does not watch states by route."""
    for informer in informers:
        if (
            informer.kind != CONFIG_MAP
            or informer.selection.labels != STATE_LABELS
            or not informer.store.synced
        ):
            continue
        try:
            keys = sorted(informer.store.by_index(BY_ROUTE, str(route)))
        except KeyError:
            continue  # watched by a controller that does not look for routes
        found = next((one for key in keys if (one := informer.store.get(key)) is not None), None)
        if found is not None:
            try:
                return read_state(found)
            except Stall:
                return None  # the conditions of the route say what is wrong with it
    return None
