"""Everything that a decision about a route depends on, as one value. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from edgekeeper.api.zerotrust_task import InventoryItem, RouteRef, TaskSpec
from edgekeeper.controllers.zerotrust.route_objects import StateObject, TaskObject, identity, merged
from edgekeeper.controllers.zerotrust.state import Origin


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
    awaited: frozenset[str] = frozenset()
    """Hostnames that the route has and does not ask for any more, but others do."""

    @property
    def inventory(self) -> tuple[InventoryItem, ...]:
        """All that exists because of the route, as far as is known."""
        state = self.state.state if self.state is not None else None
        if self.task is not None and self.task.is_current:
            return merged(self.task.journal, self._kept)
        known = state.inventory if state is not None else ()
        queued = self.task.journal if self.task is not None else ()
        is_ours = state is not None and state.written_by is Origin.OURS
        return merged(queued, known, () if is_ours else self.left)

    @property
    def _kept(self) -> tuple[InventoryItem, ...]:
        """What the state lists that a task which only releases hostnames is not about."""
        task = self.task
        if (
            self.state is None
            or task is None
            or task.spec is None
            or not (task.is_release and task.is_deletion)
        ):
            return ()
        released = {identity(item) for item in task.spec.inventory}
        return tuple(item for item in self.state.state.inventory if identity(item) not in released)

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
