"""Metrics of watches, computed on each scrape, so that kinds that are no longer watched leave no series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from edgekeeper.kube.informers import Informer
from edgekeeper.kube.store import SyncState

_STATES = {
    SyncState.PENDING: "pending",
    SyncState.SYNCED: "synced",
    SyncState.NOT_SERVED: "not_served",
    SyncState.FORBIDDEN: "forbidden",
}


def watch_families(informers: Iterable[Informer]) -> Iterator[Metric]:
    """`edgekeeper_watches{resource,state}`: the number of watches of each kind by state."""
    family = GaugeMetricFamily(
        "edgekeeper_watches",
        "Watches of a kind, by what is known of its objects: synced, stale, pending, not_served or forbidden.",
        labels=("resource", "state"),
    )
    tally = Counter((each.kind.qualified_plural, _state(each)) for each in informers)
    for labels, number in sorted(tally.items()):
        family.add_metric(labels, number)
    yield family


def _state(informer: Informer) -> str:
    """The state of a watch. A synced store that may be out of date is `stale`."""
    if informer.store.synced and informer.stale_since is not None:
        return "stale"
    return _STATES[informer.store.state]
