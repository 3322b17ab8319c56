"""Preview of HTTPRoutes for `edgekeeper plan`: the task that a route would get, and the steps that would carry it out.

The decision about the route is that of the kube-worker, on what the cluster has; the steps are those of the
cloudflare-worker, on what Cloudflare has. Routes that are not published, and never were, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.controllers.zerotrust.kube_worker import KubeWorkerOptions, route_observer
from edgekeeper.controllers.zerotrust.process_worker import looking
from edgekeeper.controllers.zerotrust.route_decide import decide
from edgekeeper.controllers.zerotrust.route_facts import Observer
from edgekeeper.controllers.zerotrust.route_index import TASK, TEMPLATE, TENANT, annotation
from edgekeeper.controllers.zerotrust.route_objects import StateObject, TaskObject
from edgekeeper.controllers.zerotrust.route_situation import Facts
from edgekeeper.controllers.zerotrust.route_steps import AwaitTask, ChangeTask, CreateTask
from edgekeeper.controllers.zerotrust.route_withdrawal import Withdrawals, remains
from edgekeeper.controllers.zerotrust.state import STATE_LABELS
from edgekeeper.controllers.zerotrust.task_preview import TaskPreviews, once_listed
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.drift import Change, Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.core.steps import Effect, Step
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, REFERENCE_GRANT, Key
from edgekeeper.kube.raw import peek
from edgekeeper.kube.requests import Selection
from edgekeeper.lifecycle.module import Process
from edgekeeper.lifecycle.preview import Preview, Verdict
from edgekeeper.runtime.finalizers import is_deleting


async def preview_routes(
    process: Process, options: KubeWorkerOptions, objects: Iterable[JsonObject], keys: Sequence[Key]
) -> list[Preview]:
    """Preview the routes of `keys`. `objects` must be all routes of the cluster, since they may conflict."""
    async with looking(process) as worker:
        observer = route_observer(process.services, process.claims, options)
        informers = [_handed_in(objects), *await _listed(process.services.client, options)]
        observer.cluster.follow(informers)
        process.claims.objects.follow(HTTP_ROUTE, [informers[0].store])
        tasks = worker.previews() if worker is not None else None
        previewer = RoutePreviewer(observer, tasks, options.drift_policy)
        found = [await previewer.preview(key, informers[0]) for key in keys]
        return [preview for preview in found if preview is not None]


@dataclass(frozen=True)
class RoutePreviewer:
    """Previews routes, one after the other."""

    observer: Observer
    tasks: TaskPreviews | None
    """None where Cloudflare is not looked at: then only the task is shown."""
    drift_policy: Policy

    async def preview(self, key: Key, routes: Informer) -> Preview | None:
        """What would be done for a route; None for one that is nobody's business here."""
        route = routes.store.get(key)
        assert route is not None  # noqa: S101 - callers choose from the objects that they handed in
        facts = self.observer.known(route)
        try:
            Wishes.of(route).confirm()
            is_wanted = self.observer.is_enabled(route) and not is_deleting(route)
            if not is_wanted and facts.state is None and facts.task is None:
                return None
            if Wishes.of(route).paused:
                return Preview(HTTP_ROUTE.kind, key, Verdict.PAUSED)
            if is_deleting(route) and Wishes.of(route).deletion_policy is DeletionPolicy.ORPHAN:
                return Preview(HTTP_ROUTE.kind, key, Verdict.ORPHANED, kept=tuple(remains(facts.inventory)))
            facts = await self._completed(route, facts, is_wanted=is_wanted)
            return await self._preview(route, key, facts)
        except PassError as error:
            return Preview.refused(HTTP_ROUTE.kind, key, error)

    async def _completed(self, route: JsonObject, facts: Facts, *, is_wanted: bool) -> Facts:
        withdrawals = Withdrawals(self.observer.cluster)
        if not is_wanted:
            return replace(facts, withdrawal=withdrawals.spec(facts, annotation(route, "tenant")))
        wanted = await once_listed(lambda: self.observer.wanted(route, facts))
        return replace(facts, wanted=wanted, withdrawal=withdrawals.moved(facts, wanted))

    async def _preview(self, route: JsonObject, key: Key, facts: Facts) -> Preview:
        policy = Wishes.of(route).drift_policy or self.drift_policy
        step = decide(facts)
        deleting = facts.wanted is None
        if isinstance(step, CreateTask | ChangeTask):
            change = None if deleting else Change.SPEC_CHANGE
            steps = (step, *await self._steps(key, step.spec))
            return Preview(HTTP_ROUTE.kind, key, Verdict.CHANGES, policy, change, deleting, steps)
        if isinstance(step, AwaitTask):
            steps = (step, *await self._steps(key, _unfinished(step.task)))
            is_pending = any(one.effect is Effect.CHANGE for one in steps)
            verdict = Verdict.CHANGES if is_pending else Verdict.WAITING
            return Preview(HTTP_ROUTE.kind, key, verdict, policy, None, deleting, steps)
        if step is not None:
            verdict = Verdict.WAITING if step.effect is Effect.WAIT else Verdict.CHANGES
            return Preview(HTTP_ROUTE.kind, key, verdict, policy, None, deleting, (step,))
        return await self._drift(key, facts, policy)

    async def _drift(self, key: Key, facts: Facts, policy: Policy) -> Preview:
        """A route that was applied: what has changed at Cloudflare since."""
        steps = await self._steps(key, _applied(facts.state)) if facts.state is not None else ()
        changes = [step for step in steps if step.effect is Effect.CHANGE]
        if not changes:
            return Preview(HTTP_ROUTE.kind, key, Verdict.SETTLED, policy, Change.NO_CHANGE)
        if policy is Policy.ENFORCE:
            return Preview(HTTP_ROUTE.kind, key, Verdict.CHANGES, policy, Change.DRIFT, steps=changes)
        differences = tuple(difference for step in changes for difference in step.changes())
        return Preview(HTTP_ROUTE.kind, key, Verdict.DRIFTED, policy, Change.DRIFT, differences=differences)

    async def _steps(self, key: Key, spec: TaskSpec | None) -> Sequence[Step]:
        if self.tasks is None or spec is None:
            return ()
        return await self.tasks.steps(key, spec)


def _applied(state: StateObject) -> TaskSpec | None:
    applied = state.state.applied
    if applied is None:
        return None
    return msgspec.structs.replace(applied, action="reconcile", inventory=list(state.state.inventory))


def _unfinished(task: TaskObject) -> TaskSpec | None:
    """What a task is about, with all that exists because of it."""
    if task.spec is None:
        return None
    return msgspec.structs.replace(task.spec, inventory=[*task.spec.inventory, *task.status.inventory])


# What the cluster has


def _handed_in(objects: Iterable[JsonObject]) -> Informer:
    informer = Informer(HTTP_ROUTE, Selection())
    for obj in objects:
        key = Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        informer.store.put(key, msgspec.json.encode(obj))
    informer.store.mark_synced()
    return informer


async def _listed(client: KubeClient, options: KubeWorkerOptions) -> list[Informer]:
    """Everything that routes depend on, listed once."""
    own = options.operator_namespace
    selections = [
        (TENANT, Selection()),
        (TEMPLATE, Selection()),
        (REFERENCE_GRANT, Selection()),
        (CONFIG_MAP, Selection(own, STATE_LABELS)),
        (TASK, Selection(own)),
    ]
    informers = [Informer(kind, selection) for kind, selection in selections]
    for informer in informers:
        await _fill(client, informer)
    return informers


async def _fill(client: KubeClient, informer: Informer) -> None:
    selection, store = informer.selection, informer.store
    try:
        async for page in client.pages(informer.kind, namespace=selection.namespace, labels=selection.labels):
            for raw in page.items:
                store.put(peek(raw).key, raw)
    except NotFoundError:
        store.mark_not_served()
    except ForbiddenError as error:
        raise Stall(
            "Forbidden", f"{informer.kind.qualified_plural} may not be listed: {error.message}"
        ) from error
    else:
        store.mark_synced()
