"""What to do next for a route: pure. One step a pass; the first thing that is not yet so is the next step.

    wanted and state            task                                 next
    ──────────────────────────  ───────────────────────────────────  ─────────────────────────────────────────────
    applied as wanted           none                                 nothing
    not applied, or a repair    none                                 create a task
    of another account          none, or one of the other account    a task that withdraws there, first
    any                         of another spec                      change its spec
    any                         at work, or failed                   wait for the worker
    any                         completed, not recorded              record its result in the state
    any                         completed, recorded                  delete the task
    refused, hostnames awaited  none, or of another spec             a task that releases those (`route_specs.released`)
    nothing is wanted           none                                 a task that withdraws all that the state lists
    nothing is wanted           a completed withdrawal               delete the state, then the task

What exists is known from the task while there is one, since the worker keeps its journal there, else from the state.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from edgekeeper.api.zerotrust_task import TaskResult, TaskSpec
from edgekeeper.controllers.zerotrust.legacy_state import ids_of_inventory, result_of
from edgekeeper.controllers.zerotrust.route_objects import RELEASE, TaskObject
from edgekeeper.controllers.zerotrust.route_situation import Facts, Wanted
from edgekeeper.controllers.zerotrust.route_specs import bare, deletion, released, replace_uid, with_inventory
from edgekeeper.controllers.zerotrust.route_steps import (
    AwaitTask,
    ChangeTask,
    CreateTask,
    DropState,
    DropTask,
    RecordState,
)
from edgekeeper.controllers.zerotrust.state import Origin, RouteState
from edgekeeper.core.steps import Step


def decide(facts: Facts) -> Step | None:
    """The next step, or None where nothing is left to do."""
    return _withdraw(facts) if facts.wanted is None else _publish(facts, facts.wanted)


def decide_refused(facts: Facts) -> Step | None:
    """The next step for a route that is refused: results are recorded, and nothing new is published."""
    task = facts.task
    if task is not None and task.is_completed:
        return _discard(facts, task) if task.is_deletion else _collect(facts, task)
    return decide_release(facts) if facts.awaited else None


def decide_release(facts: Facts) -> Step | None:
    """The step that releases the awaited hostnames; None where a task is at work on that."""
    spec, task = released(facts), facts.task
    reason = f"other routes wait for {', '.join(sorted(facts.awaited))}"
    if spec is None:
        return None
    if task is None:
        return CreateTask(reason=reason, spec=spec, hash=RELEASE)
    is_under_way = task.spec is not None and (task.is_deletion or task.spec.hostnames == spec.hostnames)
    return None if is_under_way else ChangeTask(reason=reason, task=task, spec=spec, hash=RELEASE)


# Publishing


def _publish(facts: Facts, wanted: Wanted) -> Step | None:
    task = facts.task
    if task is None:
        return _begin(facts, wanted)
    if task.is_deletion and task.is_completed:
        return _discard(facts, task)
    if _is_elsewhere(task, wanted):
        return _withdraw_elsewhere(facts, task)
    if task.is_deletion or not _is_for(task, wanted):
        return ChangeTask(
            reason="what is wanted has changed",
            task=task,
            spec=with_inventory(facts, wanted.spec),
            hash=wanted.hash,
        )
    return (
        _collect(facts, task) if task.is_completed else AwaitTask(reason="the worker is not done", task=task)
    )


def _begin(facts: Facts, wanted: Wanted) -> Step | None:
    if facts.withdrawal is not None:
        spec = deletion(facts, facts.withdrawal)
        return CreateTask(reason="the route moves to another account", spec=spec, hash="")
    if facts.is_applied and not facts.repair:
        return None
    reason = facts.repair if facts.is_applied else "what is wanted was not applied yet"
    return CreateTask(reason=reason, spec=with_inventory(facts, wanted.spec), hash=wanted.hash)


def _is_elsewhere(task: TaskObject, wanted: Wanted) -> bool:
    """Whether a task is about another account, in which something may exist because of it."""
    if task.spec is None or not task.spec.account_id or task.spec.account_id == wanted.spec.account_id:
        return False
    return task.is_deletion or bool(task.journal) or task.status.phase != "Pending"


def _withdraw_elsewhere(facts: Facts, task: TaskObject) -> Step:
    if task.is_deletion or task.spec is None:
        return AwaitTask(reason="the old account is being left", task=task)
    return ChangeTask(
        reason="the route moves to another account", task=task, spec=deletion(facts, task.spec), hash=""
    )


def _is_for(task: TaskObject, wanted: Wanted) -> bool:
    if task.spec is None or (task.hash, task.spec.httproute_ref.uid) != (
        wanted.hash,
        wanted.spec.httproute_ref.uid,
    ):
        return False
    return task.is_completed or task.spec.adopt == wanted.spec.adopt


def _collect(facts: Facts, task: TaskObject) -> Step:
    if facts.state is not None and facts.state.state.task == task.reference:
        return DropTask(reason="its result is recorded", task=task)
    return RecordState(reason="the task is completed", state=_recorded(facts, task), present=facts.state)


def _recorded(facts: Facts, task: TaskObject) -> RouteState:
    """The state after a completed task."""
    spec = task.spec
    assert spec is not None  # noqa: S101 - only tasks of ours complete their present generation
    result = task.status.result or TaskResult()
    before = facts.state.state if facts.state is not None else None
    return RouteState(
        replace_uid(spec.httproute_ref, facts.route.uid),
        task.hash,
        spec.tenant_ref,
        spec.account_id,
        spec.credential_secret_ref,
        spec.hostname,
        spec.tunnel_id,
        result.resolved_zone_id or spec.zone_id,
        tuple(task.status.inventory),
        bare(spec),
        _ids(result, task),
        facts.now,
        result.service_token_expires_at,
        task=task.reference,
        taken_over_from=before.taken_over_from if before is not None else Origin.OURS,
    )


def _ids(result: TaskResult, task: TaskObject) -> TaskResult:
    """The ids of the result; what it lacks, from the inventory."""
    known = result_of(ids_of_inventory(task.status.inventory))
    lacking = {name: getattr(known, name) for name in known.__struct_fields__ if not getattr(result, name)}
    return structs.replace(result, **lacking)


# Withdrawing


def _withdraw(facts: Facts) -> Step | None:
    task = facts.task
    if task is None:
        return _begin_withdrawal(facts)
    if task.is_deletion and task.is_completed:
        return _discard(facts, task)
    spec = facts.withdrawal or task.spec
    if spec is None:
        return _discard(facts, task)
    wanted = deletion(facts, spec)
    if not task.is_deletion or not _is_same_deletion(task, wanted):
        return ChangeTask(reason="the route is withdrawn", task=task, spec=wanted, hash="")
    return AwaitTask(reason="the worker is not done", task=task)


def _begin_withdrawal(facts: Facts) -> Step | None:
    if facts.withdrawal is not None:
        return CreateTask(reason="the route is withdrawn", spec=deletion(facts, facts.withdrawal), hash="")
    if facts.state is not None:
        return DropState(reason="it lists nothing", state=facts.state)
    return None


def _is_same_deletion(task: TaskObject, wanted: TaskSpec) -> bool:
    """Whether a withdrawal under way is as wanted. Its own inventory is the worker's business."""
    spec = task.spec
    return spec is not None and structs.replace(spec, inventory=[], delete_ids=None) == structs.replace(
        wanted, inventory=[], delete_ids=None
    )


def _discard(facts: Facts, task: TaskObject) -> Step:
    """The end of a withdrawal. The state goes first: what is left of a crash is a task that is completed."""
    if task.is_release and facts.state is not None:
        if facts.state.state.task == task.reference:
            return DropTask(reason="its result is recorded", task=task)
        kept = _after_release(facts, facts.state.state, task)
        return RecordState(reason="hostnames are released", state=kept, present=facts.state)
    if facts.state is not None:
        return DropState(reason="nothing is left of it", state=facts.state)
    return DropTask(reason="it is completed", task=task)


def _after_release(facts: Facts, state: RouteState, task: TaskObject) -> RouteState:
    """The state of a route that has no hostname for now. What was applied stays known, so that protection is not lost."""
    ids = result_of(ids_of_inventory(list(facts.inventory)))
    return replace(state, hash="", inventory=facts.inventory, ids=ids, drift="", task=task.reference)
