"""Performs the steps of a route: writes tasks and states in the operator's namespace.

Guarantees
    - Changes and deletions carry the resourceVersion and uid that were read: whoever has changed the object since then wins,
      and the pass starts again (`Conflict`).
    - A name that is taken by another route's object, or by a stranger's, is left alone: the next name is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from edgekeeper.api.zerotrust_task import RouteRef, TaskSpec
from edgekeeper.controllers.zerotrust.names import object_names
from edgekeeper.controllers.zerotrust.route_index import TASK, task_route_key
from edgekeeper.controllers.zerotrust.route_objects import ANNOTATION_HASH
from edgekeeper.controllers.zerotrust.route_steps import (
    AwaitTask,
    ChangeTask,
    CreateTask,
    DropState,
    DropTask,
    RecordState,
)
from edgekeeper.controllers.zerotrust.state import route_labels, route_of, write_state
from edgekeeper.controllers.zerotrust.unseen_tasks import UnseenTasks
from edgekeeper.core.errors import Conflict, Stall
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.notes import notes
from edgekeeper.core.steps import Step
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from edgekeeper.kube.kinds import CONFIG_MAP, Key, Kind

NAME_CONFLICT: Final = "NameConflict"
ACTION_LABEL: Final = "cfzt.cloudflare.com/action"
QUEUED: Final = "Queued by kube_worker"


@dataclass(frozen=True, slots=True)
class Effects:
    """Writes tasks and states."""

    client: KubeClient
    namespace: str
    """The operator's own."""
    unseen_tasks: UnseenTasks = field(default_factory=UnseenTasks)
    """Is told which tasks are written."""

    async def perform(self, step: Step, task_names: Iterable[str] = ()) -> None:
        """Perform a step. `task_names` are those for a new task, if not the usual ones."""
        await self._perform(step, task_names)
        if not isinstance(step, AwaitTask | DropTask):  # the end of a task is not worth telling
            notes().step(str(step), step.reason, step.changes())

    async def _perform(self, step: Step, task_names: Iterable[str]) -> None:
        match step:
            case CreateTask():
                await self._create_task(step, tuple(task_names) or _names(step.spec.httproute_ref))
            case ChangeTask():
                await self._change_task(step)
            case RecordState(present=None):
                await self._create_state(step)
            case RecordState():
                await self._replace_state(step)
            case DropState():
                await self._delete(CONFIG_MAP, step.state.key, step.state.uid, step.state.resource_version)
            case DropTask():
                await self._delete(TASK, step.task.key, step.task.uid, step.task.resource_version)
            case AwaitTask():
                return
            case _:
                raise TypeError(f"not a step of a route: {step!r}")

    # Tasks

    async def _create_task(self, step: CreateTask, names: tuple[str, ...]) -> None:
        created = await self._create(TASK, task_object(step.spec, step.hash), names, step.spec.httproute_ref)
        self.unseen_tasks.note(created)
        pending = {"phase": "Pending", "message": QUEUED}
        version = {"resourceVersion": dig(created, "metadata", "resourceVersion")}
        key = Key(self.namespace, str(dig(created, "metadata", "name")))
        with suppress(StaleError, NotFoundError):  # the worker has begun already
            await self.client.merge_patch_version(
                TASK, key, {"metadata": version, "status": pending}, subresource="status"
            )

    async def _change_task(self, step: ChangeTask) -> None:
        changed = task_object(step.spec, step.hash)
        present, metadata = step.task.tree, dig_object(step.task.tree, "metadata")
        labels = {
            name: value for name, value in dig_object(metadata, "labels").items() if name != ACTION_LABEL
        }
        body = {
            **present,
            "apiVersion": TASK.api_version,
            "kind": TASK.kind,
            "metadata": {
                **metadata,
                "labels": labels | changed["metadata"]["labels"],
                "annotations": dig_object(metadata, "annotations") | changed["metadata"]["annotations"],
            },
            "spec": changed["spec"],
        }
        self.unseen_tasks.note(await self._replace(TASK, step.task.key, body))

    # States

    async def _create_state(self, step: RecordState) -> None:
        body = write_state(step.state)
        metadata = body["metadata"]
        metadata["annotations"] = _present(metadata["annotations"])
        await self._create(CONFIG_MAP, body, _names(step.state.route), step.state.route)

    async def _replace_state(self, step: RecordState) -> None:
        assert step.present is not None  # noqa: S101 - the other case creates it
        written = write_state(step.state)
        metadata = dig_object(step.present.tree, "metadata")
        body = {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": {
                **metadata,
                "labels": dig_object(metadata, "labels") | written["metadata"]["labels"],
                "annotations": _present(
                    dig_object(metadata, "annotations") | written["metadata"]["annotations"]
                ),
            },
            "data": written["data"],
        }
        await self._replace(CONFIG_MAP, step.present.key, body)

    # Requests

    async def _create(
        self, kind: Kind, body: JsonObject, names: tuple[str, ...], route: RouteRef
    ) -> JsonObject:
        for name in names:
            metadata = {**body["metadata"], "name": name, "namespace": self.namespace}
            obj = {"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": metadata}
            try:
                return await self.client.create(kind, obj)
            except AlreadyExistsError as error:
                if await self._is_of(kind, name, route):
                    raise Conflict(f"the {kind.kind} of the route exists already") from error
        raise Stall(
            NAME_CONFLICT,
            f"the names {', '.join(names)} of {kind.plural} in namespace {self.namespace} are taken by others: "
            "delete or rename those",
        )

    async def _is_of(self, kind: Kind, name: str, route: RouteRef) -> bool:
        """Whether an object that the store does not show yet is this route's."""
        try:
            present = await self.client.get(kind, Key(self.namespace, name))
        except NotFoundError as error:
            raise Conflict(f"{kind.kind} {name} is gone again") from error
        found = task_route_key(present) if kind == TASK else route_of(present)
        return found == (route.namespace, route.name)

    async def _replace(self, kind: Kind, key: Key, body: JsonObject) -> JsonObject:
        try:
            return await self.client.replace(kind, key, body)
        except NotFoundError as error:
            raise Conflict(f"{kind.kind} {key.name} is gone") from error

    async def _delete(self, kind: Kind, key: Key, uid: str, version: str) -> None:
        with suppress(NotFoundError):
            await self.client.delete(kind, key, uid=uid, resource_version=version)


def task_object(spec: TaskSpec, hash_: str) -> JsonObject:
    """A task without its name."""
    labels = route_labels(spec.tenant_ref.name, spec.httproute_ref)
    labels |= {ACTION_LABEL: "delete"} if spec.action == "delete" else {}
    return {
        "metadata": {"labels": labels, "annotations": {ANNOTATION_HASH: hash_}},
        "spec": msgspec.to_builtins(spec),
    }


def _names(route: RouteRef) -> tuple[str, ...]:
    return object_names(route.namespace, route.name)


def _present(annotations: JsonObject) -> JsonObject:
    return {name: value for name, value in annotations.items() if value is not None}
