"""Drift: compares what was applied for each route with what Cloudflare has, and notes the difference on its state.

    edgekeeper.io/drift            what is not as applied, in the words of the steps that would mend it
    edgekeeper.io/drift-fields     the same field by field, for people: redacted, and of a limited size

The same observation and the same decision as for a task, from mirrors alone: a pass costs no call. Nothing is mended here.
Whoever reads the note decides by the drift policy. A token that is due to be refreshed or rotated is no drift: the kube-worker
knows from the state when to ask for that (`route_token`).

A route with a task that is not completed is left alone. States are looked at every `interval`, and as soon as a mirror
shows a change of something in their inventory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final
from weakref import WeakSet

import msgspec

from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.cloud.cloudflare.accounts import Account, Cloudflare
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.cloud.outbox import News
from edgekeeper.controllers.zerotrust import steps as do
from edgekeeper.controllers.zerotrust.credentials import TokenUsers
from edgekeeper.controllers.zerotrust.decide import work
from edgekeeper.controllers.zerotrust.metrics import WorkerMetrics
from edgekeeper.controllers.zerotrust.observe import Base, Observer
from edgekeeper.controllers.zerotrust.snapshot import Subject
from edgekeeper.controllers.zerotrust.state import RouteState, drift_annotations, read_state
from edgekeeper.core.delta import ChangedField, changed_fields
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.outcome import MetadataWrite, Outcome, done, requeue
from edgekeeper.core.steps import Effect, Step
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from edgekeeper.kube.store import Store
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.controller import Controller

_BY_ROUTE: Final = "route"
_LONGEST_NOTE: Final = 1_000
_MOST_FIELDS: Final = 20
"""How many fields are recorded: with values of at most 120 characters that is a few kilobytes."""


class DriftReconciler:
    """Looks at the states of routes."""

    def __init__(
        self,
        cloudflare: Cloudflare,
        credentials: TokenUsers,
        observer: Observer,
        metrics: WorkerMetrics,
        interval: timedelta,
    ) -> None:
        self._cloudflare = cloudflare
        self._credentials = credentials
        self._observer = observer
        self._metrics = metrics
        self._interval = interval
        self.tasks: tuple[Store, ...] = ()
        self.interests = Interests()

    async def reconcile(self, request: Request) -> Outcome:
        if not self._interval:
            return done()
        state = read_state(request.object)
        self.interests.note(request.key, state)
        is_published = state.applied is not None and bool(state.hash)
        if state.applied is None or not is_published or state.credential is None or self._has_task(state):
            return requeue(self._interval)
        note, fields = await self._look(request, state, state.applied)
        if note and note != state.drift:
            self._metrics.drift_detected()
        return requeue(self._interval).writing(MetadataWrite(annotations=drift_annotations(note, fields)))

    def states_of_task(self, task: JsonObject) -> Iterable[Key]:
        """The states of a task's route: they are looked at again when the task is completed or gone."""
        return self.interests.find(_route_of(task))

    async def _look(
        self, request: Request, state: RouteState, applied: TaskSpec
    ) -> tuple[str, list[ChangedField]]:
        """What is not as applied, in words and field by field."""
        spec = msgspec.structs.replace(applied, action="reconcile", inventory=list(state.inventory))
        credential = self._credentials.credential(request.key, state.credential)
        account = self._cloudflare.account(credential, state.account_id or spec.account_id)
        uid = str(dig(request.object, "metadata", "uid") or "")
        base = Base(Subject(request.key, uid, 0, spec), account, News())
        try:
            steps = work(await self._observer.observe(base, live=False))
        except Stall as refusal:
            if refusal.error_type:  # Cloudflare refuses to be looked at: nothing is known
                raise
            return _cut(f"{refusal.reason}: {refusal.message}"), []
        finally:
            self.interests.follow(account, spec, state)
        drift = [step for step in steps if step.effect is Effect.CHANGE and not _is_due(step)]
        return note_of(drift), fields_of(drift)

    def _has_task(self, state: RouteState) -> bool:
        route = f"{state.route.namespace}/{state.route.name}"
        for store in self.tasks:
            for key in store.by_index(_BY_ROUTE, route):
                task = store.get(key)
                if task is not None and not _is_completed(task):
                    return True
        return False


def note_of(steps: Iterable[Step]) -> str:
    """The steps that would mend what is not as applied, in words."""
    return _cut("; ".join(map(str, steps)))


def fields_of(steps: Iterable[Step]) -> list[ChangedField]:
    """The fields that these steps would mend."""
    return changed_fields((change for step in steps for change in step.changes()), _MOST_FIELDS)


def _is_due(step: Step) -> bool:
    return isinstance(step, do.RefreshToken) or (isinstance(step, do.RotateToken) and step.is_due)


def _cut(note: str) -> str:
    return note if len(note) <= _LONGEST_NOTE else f"{note[: _LONGEST_NOTE - 1]}…"


def _is_completed(task: JsonObject) -> bool:
    is_observed = dig(task, "status", "observedGeneration") == dig(task, "metadata", "generation")
    return bool(is_observed and dig(task, "status", "phase") == "Completed")


def _route_of(task: JsonObject) -> str:
    route = dig(task, "spec", "httprouteRef")
    return f"{dig(route, 'namespace')}/{dig(route, 'name')}"


class Interests:
    """Which states are about what: hostnames, ids and routes. They are woken when a mirror shows a change of one."""

    def __init__(self) -> None:
        self.wake: Any = None
        self._states: defaultdict[str, set[Key]] = defaultdict(set)
        self._values: dict[Key, frozenset[str]] = {}
        self._followed: WeakSet[Mirror[Any, Any]] = WeakSet()

    def note(self, state: Key, content: RouteState) -> None:
        """What a state is about now."""
        values = {f"{content.route.namespace}/{content.route.name}"}
        values |= {value for item in content.inventory for value in (item.id, item.name) if value}
        for value in self._values.get(state, frozenset()) - values:
            self._drop(value, state)
        for value in values:
            self._states[value].add(state)
        self._values[state] = frozenset(values)

    def forget(self, state: Key) -> None:
        for value in self._values.pop(state, ()):
            self._drop(value, state)

    def find(self, value: str) -> tuple[Key, ...]:
        return tuple(self._states.get(value, ()))

    def follow(self, account: Account, spec: TaskSpec, state: RouteState) -> None:
        """Wake states when the mirrors that they depend on show a change."""
        kinds = {item.kind for item in state.inventory}
        mirrors: list[Mirror[Any, Any]] = []
        if "AccessApplication" in kinds:
            mirrors.append(account.applications)
        if "ServiceToken" in kinds:
            mirrors.append(account.issued_tokens)
        if "TunnelHostname" in kinds:
            mirrors.append(account.tunnel(spec.tunnel_id).mirror)
        mirrors += [
            account.zone(item.parent).mirror
            for item in state.inventory
            if item.kind == "DnsRecord" and item.parent
        ]
        for mirror in mirrors:
            if mirror not in self._followed:
                self._followed.add(mirror)
                mirror.subscribe(self._changed)

    def _changed(self, key: str, old: Any, new: Any) -> None:
        for state in self.find(key):
            if self.wake is not None:
                self.wake(state)

    def _drop(self, value: str, state: Key) -> None:
        self._states[value].discard(state)
        if not self._states[value]:
            del self._states[value]


class DriftController(Controller):
    """Runs the passes, and gives the reconciler the store of tasks."""

    def attach(self) -> None:
        reconciler = self._reconciler
        assert isinstance(reconciler, DriftReconciler)  # noqa: S101 - made together
        reconciler.interests.wake = self.wake
        super().attach()

    def informers_changed(self) -> None:
        reconciler = self._reconciler
        assert isinstance(reconciler, DriftReconciler)  # noqa: S101 - made together
        stores = [informer.store for informer in self.informers if informer.kind != CONFIG_MAP]
        for store in stores:
            store.add_index(_BY_ROUTE, lambda task: [_route_of(task)])
        reconciler.tasks = tuple(stores)

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        reconciler = self._reconciler
        assert isinstance(reconciler, DriftReconciler)  # noqa: S101 - made together
        reconciler.interests.forget(key)
