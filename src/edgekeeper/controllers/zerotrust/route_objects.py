"""State ConfigMaps and tasks as they are in the cluster: decoded, with what it takes to change them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.api.zerotrust_task import CloudflareTask, InventoryItem, TaskSpec, TaskStatus
from edgekeeper.controllers.zerotrust.legacy_state import Left, written_ids
from edgekeeper.controllers.zerotrust.route_index import key_of
from edgekeeper.controllers.zerotrust.state import RouteState, read_state
from edgekeeper.core.clock import parse_timestamp
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import Key

ANNOTATION_HASH: Final = f"{PREFIX}annotation-hash"
FAILED: Final = "TaskFailed"
CLOCK_DIFFERENCE: Final = timedelta(minutes=10)
"""How far the clocks of the operator and of the API server may be apart."""
RELEASE: Final = "release"
"""In place of the hash of a task that withdraws hostnames of a route which is to keep the rest."""


@dataclass(frozen=True, slots=True)
class StateObject:
    """A state ConfigMap."""

    key: Key
    uid: str
    resource_version: str
    tree: JsonObject
    state: RouteState

    @classmethod
    def of(cls, config_map: JsonObject) -> StateObject:
        """Raise Stall where the state cannot be read."""
        uid, version = (str(dig(config_map, "metadata", field) or "") for field in ("uid", "resourceVersion"))
        return cls(key_of(config_map), uid, version, config_map, read_state(config_map))

    @property
    def is_restored(self) -> bool:
        """Is it a copy from a backup? Its content is older than the ConfigMap, then."""
        written, created = self.state.last_sync_time, dig(self.tree, "metadata", "creationTimestamp")
        return written is not None and parse_timestamp(str(created)) > written + CLOCK_DIFFERENCE


@dataclass(frozen=True, slots=True)
class TaskObject:
    """A task."""

    key: Key
    uid: str
    resource_version: str
    generation: int
    tree: JsonObject
    hash: str
    spec: TaskSpec | None
    """None where it does not fit our type, such as a task of another operator."""
    status: TaskStatus

    @classmethod
    def of(cls, tree: JsonObject) -> TaskObject:
        metadata = tree["metadata"]
        try:
            task = msgspec.convert(tree, CloudflareTask)
            spec, status = task.spec, task.status
        except msgspec.ValidationError:
            spec, status = None, TaskStatus()
        return cls(
            key_of(tree),
            str(metadata.get("uid") or ""),
            str(metadata.get("resourceVersion") or ""),
            int(metadata.get("generation") or 0),
            tree,
            str(dig(metadata, "annotations", ANNOTATION_HASH) or ""),
            spec,
            status,
        )

    @property
    def reference(self) -> str:
        """Identifies the task with its present spec."""
        return f"{self.uid}/{self.generation}"

    @property
    def is_deletion(self) -> bool:
        return self.spec is not None and self.spec.action == "delete"

    @property
    def is_release(self) -> bool:
        """Whether it withdraws hostnames that other routes wait for, and leaves the rest of the route as it is."""
        return self.hash == RELEASE

    @property
    def is_current(self) -> bool:
        """Whether the status is about the present spec."""
        return self.status.observed_generation == self.generation

    @property
    def is_completed(self) -> bool:
        return self.is_current and self.status.phase == "Completed"

    @property
    def is_failed(self) -> bool:
        return self.is_current and self.status.phase == "Failed"

    @property
    def failure(self) -> tuple[str, str]:
        """Why it failed: reason and message."""
        for condition in self.status.conditions:
            if condition.status == "False":
                return condition.reason, self.status.message or condition.message
        return FAILED, self.status.message or "the task failed"

    @property
    def journal(self) -> tuple[InventoryItem, ...]:
        """Everything that exists because of the route, as far as the task knows.

        A status of an earlier spec may lack what the spec lists, and a spec what was created since.
        """
        if self.is_current:
            return tuple(self.status.inventory)
        listed = self.spec.inventory if self.spec is not None else []
        return merged(listed, self.status.inventory, self._result())

    def _result(self) -> list[InventoryItem]:
        """What a task of another operator says about what it has done."""
        if self.spec is None or self.status.result is None or self.status.inventory:
            return []
        ids = written_ids(self.status.result, self.spec.hostname, self.spec.tunnel_id, self.spec.zone_id)
        return list(Left(self.spec.httproute_ref, ids).inventory())


def merged(*inventories: list[InventoryItem] | tuple[InventoryItem, ...]) -> tuple[InventoryItem, ...]:
    """Inventories as one. Of two entries about the same thing the first counts."""
    entries: dict[tuple[str, ...], InventoryItem] = {}
    for item in (item for inventory in inventories for item in inventory):
        entries.setdefault(identity(item), item)
    return tuple(entries.values())


def identity(item: InventoryItem) -> tuple[str, ...]:
    """What an entry is about, whatever else it says: the id, or for what has none its place and name."""
    return (item.kind, item.id) if item.id else (item.kind, item.parent, item.name)
