"""Deletes the children of an instance, in waves (`instance_removal`), without evaluating an expression.

The finalizer goes when no child is left, which is asked of the server. A deletion that cannot go on says what blocks it:
an inventory that was changed by others, a kind that may not be listed, a namespace that is not watched, or a child that
has a finalizer of others.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.controllers.composition.child_requests import remove_all
from edgekeeper.controllers.composition.instance_errors import ReportedStall
from edgekeeper.controllers.composition.instance_removal import Removal, next_removal
from edgekeeper.controllers.composition.instance_status import Finding, InstanceState, StatusWriter
from edgekeeper.controllers.composition.instance_world import World
from edgekeeper.controllers.composition.inventory import (
    DamagedInventoryError,
    Inventory,
    apply_set_id,
    confirmed_inventory,
)
from edgekeeper.controllers.composition.readiness import blocked_by
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Stall
from edgekeeper.core.outcome import Outcome, StatusWrite, done, requeue
from edgekeeper.kube.kinds import Kind
from edgekeeper.runtime.contract import Request

SOON: Final = timedelta(seconds=1)
DELETION_INTERVAL: Final = timedelta(minutes=1)
"""How often a deletion that waits for others is looked at, beside whenever a child changes."""
_SHOWN: Final = 3


class InstanceDeletion:
    """Deletes the instances of one kind."""

    def __init__(self, kind: Kind, world: World, clock: Clock) -> None:
        self._kind = kind
        self._world = world
        self._clock = clock

    async def advance(self, request: Request) -> Outcome:
        """Remove the next wave of children; done when none is left."""
        apply_set = apply_set_id(self._kind, request.key)
        status = StatusWriter(request.object, self._clock.now())
        inventory = _inventory(request, apply_set, status)
        await self._world.watch((self._kind, request.key), inventory, (), ())
        if why := self._world.blind_spot(inventory):
            raise Stall(why[0], f"deletion is blocked: {why[1]}")
        children = self._world.members((self._kind, request.key), inventory, {})
        if not children:
            return await self._confirmed_gone(inventory, apply_set)
        removal = next_removal(children)
        failures = await remove_all(self._world.children, removal, "the instance is being deleted")
        message = await self._awaited(removal)
        if failures:
            message = "; ".join(f"{name}: {why}" for name, why in sorted(failures.items())[:_SHOWN])
        written = status.without_plan(InstanceState.DELETING, (None, "UnderDeletion", message))
        return requeue(SOON if failures else DELETION_INTERVAL).writing(StatusWrite(written))

    async def _awaited(self, removal: Removal) -> str:
        """What a deletion waits for."""
        held: list[str] = []
        for address in list(removal.awaited)[:_SHOWN]:
            live = await self._world.children.get(address)
            if live is not None:
                held.append(blocked_by(address.kind, address.key, live))
        if held:
            more = len(removal.awaited) - _SHOWN
            return f"waiting: {'; '.join(held)}{f' and {more} more' if more > 0 else ''}"
        return "children are being deleted"

    async def _confirmed_gone(self, inventory: Inventory, apply_set: str) -> Outcome:
        """Done if no child is left, as the server says: the stores may be behind."""
        for kind in self._world.watched_of(inventory.kinds):
            if await self._world.children.listed(kind, apply_set):
                return requeue(SOON)
        return done()


def _inventory(request: Request, apply_set: str, status: StatusWriter) -> Inventory:
    try:
        return confirmed_inventory(request.object, apply_set)
    except DamagedInventoryError as error:
        message = f"deletion is blocked, because nobody knows what belongs to the instance: {error}"
        finding = Finding(False, "DeletionBlocked", message)
        written = status.without_plan(InstanceState.DELETING, (False, finding.reason, message))
        raise ReportedStall(finding, written) from error
