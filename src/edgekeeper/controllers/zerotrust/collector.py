"""Garbage collection: withdraws what exists because of routes that are gone.

Routes carry a finalizer, so this is for those that went without: its finalizer was removed by hand, the clean-up was given
up, or an earlier operator left the state behind.

Guarantees
    - That a route is gone is believed only if its namespace is watched, the synced store does not have it, and the server
      itself, asked for it, answers with an empty list. A namespace that is no longer watched, a kind that is not served and
      a list that is forbidden are no such answer: nothing is deleted.
    - Where more than `max(5, 10 %)` of all states have no route, none is collected until somebody confirms it by an
      annotation on the state.
    - A state that was restored from a backup is not collected either without such a confirmation: its route may be about to
      be restored.
    - Without the tenant the state stays, and says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from edgekeeper.api.zerotrust import FINALIZER
from edgekeeper.api.zerotrust_task import RouteRef
from edgekeeper.controllers.zerotrust.names import deletion_names
from edgekeeper.controllers.zerotrust.route_claims import HostnameRecords
from edgekeeper.controllers.zerotrust.route_cluster import Cluster
from edgekeeper.controllers.zerotrust.route_decide import decide
from edgekeeper.controllers.zerotrust.route_effects import Effects
from edgekeeper.controllers.zerotrust.route_facts import KOPF_FINALIZER
from edgekeeper.controllers.zerotrust.route_objects import StateObject, TaskObject
from edgekeeper.controllers.zerotrust.route_situation import Facts
from edgekeeper.controllers.zerotrust.route_steps import AwaitTask, DropState, DropTask
from edgekeeper.controllers.zerotrust.route_withdrawal import Withdrawals
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Conflict, Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.notes import notes
from edgekeeper.core.outcome import Outcome, done, requeue
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from edgekeeper.kube.store import UNLISTABLE
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.runtime.finalizers import has_finalizer, is_deleting

MASS_DELETION: Final = "MassDeletion"
RESTORED_STATE: Final = "RestoredState"
CONFIRM: Final = "edgekeeper.io/confirm-deletion"
SETTLING: Final = timedelta(seconds=30)
"""How long a route must be gone, so that the others that are gone are known, too."""
_BRAKE_COUNT: Final = 5
_BRAKE_SHARE: Final = 0.1


@dataclass(frozen=True)
class Collector:
    """Withdraws what exists because of routes that are gone."""

    cluster: Cluster
    client: KubeClient
    effects: Effects
    clock: Clock
    intervals: Intervals = field(default_factory=Intervals)
    gone: dict[Key, float] = field(default_factory=dict)
    """Routes that are gone and still have a state, and since when that is known."""

    async def collect(self, route: Key, confirmed: object = None) -> Outcome:
        """The next step for a route that may be gone. `confirmed` is the value of the annotation that releases the brake."""
        store = self.cluster.routes.store(route.namespace)
        if store is None or store.state in UNLISTABLE:
            return requeue(self.intervals.steady)
        present = store.get(route)
        state = self.cluster.state(route)
        if present is not None:
            self.gone.pop(route, None)
            return await self._release_former(route, present, state)
        if not await self._is_gone(route):
            return requeue(self.intervals.steady)
        task = self.cluster.task(route)
        if task is None or not (task.is_deletion and task.is_completed):
            self._hold_back(route, state, confirmed)
            if left := self._settling(route):
                return requeue(left)
        return await self._withdraw(route, state, task)

    async def _is_gone(self, route: Key) -> bool:
        """Whether the server serves the kind, lets us list it, and does not have the route."""
        pages = self.client.pages(
            HTTP_ROUTE, namespace=route.namespace, fields=f"metadata.name={route.name}", page_size=1
        )
        try:
            async for page in pages:
                if page.items:
                    raise Conflict(f"HTTPRoute {route} exists: the store is behind")
        except (NotFoundError, ForbiddenError):
            return False
        return True

    def _settling(self, route: Key) -> timedelta:
        since = self.gone.setdefault(route, self.clock.monotonic())
        left = SETTLING - timedelta(seconds=self.clock.monotonic() - since)
        return max(left, timedelta(0))

    def _hold_back(self, route: Key, state: StateObject | None, confirmed: object) -> None:
        self.gone.setdefault(route, self.clock.monotonic())
        total = len(self.cluster.states.keys())
        if str(confirmed).casefold() == "true":
            return
        if state is not None and state.is_restored:
            raise Stall(
                RESTORED_STATE,
                f"this state was restored from a backup, and HTTPRoute {route} does not exist: restore the route; or if it is "
                f'gone for good, annotate this ConfigMap with {CONFIRM}: "true" to withdraw what it lists',
            )
        if len(self.gone) <= max(_BRAKE_COUNT, _BRAKE_SHARE * total):
            return
        raise Stall(
            MASS_DELETION,
            f"{len(self.gone)} of {total} routes with a state are gone at once, so none is withdrawn: if that is meant, "
            f'annotate the state ConfigMaps with {CONFIRM}: "true"',
        )

    async def _withdraw(self, route: Key, state: StateObject | None, task: TaskObject | None) -> Outcome:
        uid = state.state.route.uid if state is not None else ""
        facts = Facts(RouteRef(route.name, route.namespace, uid), self.clock.now(), state, task)
        if task is None or not (task.is_deletion and task.is_completed):
            shared = HostnameRecords(self.cluster).shared(route, state.state if state is not None else None)
            facts = replace(facts, withdrawal=Withdrawals(self.cluster).spec(facts), shared=shared)
        notes().on_behalf_of(HTTP_ROUTE.kind, route.namespace, route.name)
        step = decide(facts)
        if step is None:
            self.gone.pop(route, None)
            return done()
        name = state.key.name if state is not None else route.name
        await self.effects.perform(step, deletion_names(name, route.namespace, route.name))
        if isinstance(step, DropState | DropTask):
            self.gone.pop(route, None)
        if isinstance(step, AwaitTask) and step.task.is_failed:
            raise Stall(*step.task.failure)
        return replace(requeue(self.intervals.in_progress), details={"step": str(step), "route": str(route)})

    async def _release_former(self, key: Key, route: JsonObject, state: StateObject | None) -> Outcome:
        """Let go of a route of v0.2 that is being deleted and was never ours. Its state says what is to be withdrawn."""
        is_kept = is_deleting(route) and not has_finalizer(route, FINALIZER)
        if not is_kept or state is None or not state.state.is_of_v0_2:
            return done()
        present = dig_list(route, "metadata", "finalizers")
        if KOPF_FINALIZER not in present:
            return done()
        metadata = {
            "resourceVersion": dig(route, "metadata", "resourceVersion"),
            "finalizers": [name for name in present if name != KOPF_FINALIZER],
        }
        await self.client.merge_patch_version(HTTP_ROUTE, key, {"metadata": metadata})
        return requeue(self.intervals.in_progress)
