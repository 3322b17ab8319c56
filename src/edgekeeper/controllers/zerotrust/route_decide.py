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
    nothing is wanted           none                                 a task that withdraws all that the state lists
    nothing is wanted           a completed withdrawal               delete the state, then the task

What exists is known from the task while there is one, since the worker keeps its journal there, else from the state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from msgspec import structs

from edgekeeper.api.zerotrust_task import (
    DeleteIds,
    ExistingIds,
    InventoryItem,
    Operations,
    RouteRef,
    TaskResult,
    TaskSpec,
)
from edgekeeper.controllers.zerotrust.legacy_state import Ids, ids_of_inventory, result_of
from edgekeeper.controllers.zerotrust.route_objects import StateObject, TaskObject, identity, merged
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a route is to have."""

    spec: TaskSpec
    hash: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a decision about a route depends on."""

    route: RouteRef
    now: datetime
    state: StateObject | None = None
    task: TaskObject | None = None
    left: tuple[InventoryItem, ...] = ()
    """What another operator has left behind, according to the route's annotations. Counts until there is a state of ours."""
    wanted: Wanted | None = None
    """None for a route that is to be withdrawn."""
    withdrawal: TaskSpec | None = None
    """How to withdraw what exists: the account and the credential. None where there is nothing to withdraw."""
    repair: str = ""
    """Why a task is needed although everything was applied: drift, or a token that expires."""
    shared: frozenset[tuple[str, ...]] = field(default=frozenset())
    """What belongs to another route that is published, whoever else lists it."""

    @property
    def inventory(self) -> tuple[InventoryItem, ...]:
        """All that exists because of the route, as far as is known."""
        state = self.state.state if self.state is not None else None
        if self.task is not None and self.task.is_current:
            return self.task.journal
        known = state.inventory if state is not None else ()
        queued = self.task.journal if self.task is not None else ()
        is_ours = state is not None and state.written_by is Origin.OURS
        return merged(queued, known, () if is_ours else self.left)

    def is_own(self, item: InventoryItem) -> bool:
        """Whether what an entry is about belongs to no other route."""
        return identity(item) not in self.shared

    @property
    def is_applied(self) -> bool:
        """Whether what is wanted was applied."""
        if self.state is None or self.wanted is None:
            return False
        state = self.state.state
        return (state.hash, state.route.uid) == (self.wanted.hash, self.route.uid)


def decide(facts: Facts) -> Step | None:
    """The next step, or None where nothing is left to do."""
    return _withdraw(facts) if facts.wanted is None else _publish(facts, facts.wanted)


def decide_refused(facts: Facts) -> Step | None:
    """The next step for a route that is refused: results are recorded, and nothing new is begun."""
    task = facts.task
    if task is None or task.is_deletion or not task.is_completed:
        return None
    return _collect(facts, task)


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
            spec=_with_inventory(facts, wanted.spec),
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
    return CreateTask(reason=reason, spec=_with_inventory(facts, wanted.spec), hash=wanted.hash)


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


def replace_uid(route: RouteRef, uid: str) -> RouteRef:
    return structs.replace(route, uid=uid or route.uid)


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
    if facts.state is not None:
        return DropState(reason="nothing is left of it", state=facts.state)
    return DropTask(reason="it is completed", task=task)


# Specs


def bare(spec: TaskSpec) -> TaskSpec:
    """A spec without what was there when it was made."""
    return structs.replace(spec, inventory=[], existing_ids=None, delete_ids=None, adopt=False)


def _with_inventory(facts: Facts, spec: TaskSpec) -> TaskSpec:
    inventory = list(facts.inventory)
    ids = ids_of_inventory(inventory)
    return structs.replace(spec, inventory=inventory, existing_ids=_existing(ids) if ids else None)


def deletion(facts: Facts, spec: TaskSpec) -> TaskSpec:
    """The spec that withdraws everything that exists because of the route, and belongs to no other."""
    inventory = [item for item in facts.inventory if facts.is_own(item)]
    ids = ids_of_inventory(inventory)
    return structs.replace(
        bare(spec),
        httproute_ref=replace_uid(spec.httproute_ref, facts.route.uid),
        action="delete",
        hostnames=[],
        operations=Operations(),
        inventory=inventory,
        delete_ids=_deleted(ids, spec) if ids else None,
    )


def _existing(ids: Ids) -> ExistingIds:
    app = ids.get("access_app_id", "")
    return ExistingIds(
        hostname_route_id=ids.get("hostname_route_id", ""),
        app_id=app,
        access_app_id=app,
        access_policy_ids=ids.get("access_policy_ids", ""),
        service_token_id=ids.get("service_token_id", ""),
        cname_record_id=ids.get("cname_record_id", ""),
        dns_record_id=ids.get("dns_record_id", ""),
    )


def _deleted(ids: Ids, spec: TaskSpec) -> DeleteIds:
    return DeleteIds(
        hostname=spec.hostname,
        access_app_id=ids.get("access_app_id", ""),
        cname_record_id=ids.get("cname_record_id", ""),
        service_token_id=ids.get("service_token_id", ""),
        dns_record_id=ids.get("dns_record_id", ""),
        tunnel_id=ids.get("hostname_route_id", "") or spec.tunnel_id,
        zone_id=ids.get("zone_id", "") or spec.zone_id,
    )
