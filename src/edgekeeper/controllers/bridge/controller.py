"""The controller of a kind of the bridge: reads what the cluster has beside the objects of the kind, and counts its passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.controllers.bridge.cluster import Cluster
from edgekeeper.controllers.bridge.failures import BACKOFF
from edgekeeper.controllers.bridge.metrics import BridgeKindMetrics, BridgeMetrics, CountingMetrics
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.raw import peek
from edgekeeper.kube.store import Store, SyncState
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.controller import ExternalController, Upkeep
from edgekeeper.lifecycle.kind import ExternalKind
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.module import KindOptions
from edgekeeper.lifecycle.predecessor import Predecessor, PreviousOperator
from edgekeeper.runtime.contract import ControllerOptions, Services

ACK_BRIDGE: Final = PreviousOperator("ack-bridge", deployment_labels="app=ack-bridge")
"""The operator that these kinds replace. While it runs, nothing is written."""
ACK_BRIDGE_NAMESPACE: Final = "kro-system"
"""Where it is installed."""


@dataclass(frozen=True)
class Surroundings:
    """What both kinds share in a process."""

    services: Services
    account: AwsAccount
    claims: Claims
    metrics: BridgeMetrics
    options: KindOptions


class BridgeController(ExternalController):
    """The controller of one kind."""

    def __init__(
        self,
        name: str,
        finalizer: str,
        kind: ExternalKind[Any, Any],
        cluster: Cluster,
        memory: Memory,
        around: Surroundings,
    ) -> None:
        self.cluster = cluster
        metrics, options = around.metrics, around.options
        counting = CountingMetrics(around.services.metrics, metrics, kind.name)
        super().__init__(
            ControllerOptions(
                name,
                cluster.own.kind,
                finalizer=finalizer,
                max_concurrent=options.max_concurrent,
                backoff=BACKOFF,
            ),
            kind,
            replace(around.services, metrics=counting),
            BridgeKindMetrics(metrics, kind.name),
            memory=memory,
            upkeep=Upkeep(
                [around.account],
                predecessor=Predecessor(around.services, ACK_BRIDGE, ACK_BRIDGE_NAMESPACE)
                if options.predecessor_namespace
                else None,
                intervals=options.intervals,
                claims=around.claims,
                cleanup_timeout=options.cleanup_timeout,
                sources=cluster.sources(),
            ),
        )

    def informers_changed(self) -> None:
        self.cluster.follow(self.informers)
        super().informers_changed()


async def list_references(client: KubeClient, cluster: Cluster) -> None:
    """List what the objects of a preview refer to, instead of watching it."""
    for view in cluster.views:
        view.use({"": await _listed(client, view.kind)})


async def _listed(client: KubeClient, kind: Kind) -> Store:
    store = Store(kind)
    try:
        async for page in client.pages(kind):
            for item in page.items:
                store.put(peek(item).key, item)
    except (NotFoundError, ForbiddenError) as error:
        denied = isinstance(error, ForbiddenError)
        store.state = SyncState.FORBIDDEN if denied else SyncState.NOT_SERVED
        return store
    store.mark_synced()
    return store
