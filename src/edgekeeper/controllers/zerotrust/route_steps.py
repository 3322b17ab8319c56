"""What the cluster's side does for a route, as values: it writes tasks and states, and never calls Cloudflare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.controllers.zerotrust.route_objects import StateObject, TaskObject
from edgekeeper.controllers.zerotrust.state import RouteState
from edgekeeper.core.steps import Effect, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTask(Step):
    """Queue work for Cloudflare."""

    effect: ClassVar = Effect.CHANGE
    spec: TaskSpec
    hash: str

    def __str__(self) -> str:
        verb = "publish" if self.spec.action == "reconcile" else "withdraw"
        return f"queue a task to {verb} {', '.join(self.spec.hostnames) or self.spec.hostname}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTask(Step):
    """Change work that is queued or being done."""

    effect: ClassVar = Effect.CHANGE
    task: TaskObject
    spec: TaskSpec
    hash: str

    def __str__(self) -> str:
        verb = "publish" if self.spec.action == "reconcile" else "withdraw"
        return f"change task {self.task.key.name} to {verb} {', '.join(self.spec.hostnames) or self.spec.hostname}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitTask(Step):
    """The worker has something to do."""

    effect: ClassVar = Effect.WAIT
    task: TaskObject

    def __str__(self) -> str:
        return f"wait for task {self.task.key.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordState(Step):
    """Keep the result of a task."""

    effect: ClassVar = Effect.RECORD
    state: RouteState
    present: StateObject | None

    def __str__(self) -> str:
        return "record what exists"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropState(Step):
    """Nothing is left that a state lists."""

    effect: ClassVar = Effect.RECORD
    state: StateObject

    def __str__(self) -> str:
        return f"delete the state {self.state.key.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTask(Step):
    """The result of a task is recorded."""

    effect: ClassVar = Effect.RECORD
    task: TaskObject

    def __str__(self) -> str:
        return f"delete the task {self.task.key.name}"
