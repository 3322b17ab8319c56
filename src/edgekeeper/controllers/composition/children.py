"""The children of all instances: what is known about them (`watched`), and the requests that change them.

Guarantees
    - Two instances never apply the same object at the same time, nor one that has come to belong to another.
    - A child is deleted only if it is still the one that was seen.
"""

from __future__ import annotations

from typing import Any

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.instance_plan import Address, Desired
from edgekeeper.controllers.composition.reverted import Reverted
from edgekeeper.controllers.composition.watched import Watched
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import FieldConflictError, NotFoundError, StaleError
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import Kind


class ApplySetConflictError(Exception):
    """An object that an instance wants belongs to another one."""


class Children(Watched):
    """The children of all instances."""

    def __init__(
        self, client: KubeClient, informers: Informers, clock: Clock, namespaces: tuple[str, ...] = ()
    ) -> None:
        super().__init__(client, informers, namespaces, labels.OWNED_SELECTOR)
        self.reverted = Reverted(clock, self.get)
        self._applying: dict[Address, str] = {}
        """Who is applying an object at present."""

    async def apply(self, desired: Desired) -> JsonObject:
        """Apply an object. Raise ApplySetConflictError if another instance has it, and ApiError."""
        owner = labels.owner_of(desired.object)
        other = self._applying.setdefault(desired.address, owner)
        if other != owner:
            raise ApplySetConflictError(f"{desired.address} belongs to {other}, which is applying it")
        try:
            self._confirm_ours(desired, seen.object if (seen := self.find(desired.address)) else {})
            answer = await self._apply(desired)
        finally:
            self._applying.pop(desired.address, None)
        self.note(desired.address, answer, applied=desired.hash, keep=desired.keep)
        self.reverted.note(desired)
        return answer

    async def _apply(self, desired: Desired) -> JsonObject:
        """An object that should not exist is created without force, so that one of others is not overwritten unseen."""
        try:
            return await self._send(desired, force=desired.exists)
        except FieldConflictError:
            self._confirm_ours(desired, await self.get(desired.address) or {})
            return await self._send(desired, force=True)

    def _confirm_ours(self, desired: Desired, live: JsonObject) -> None:
        """Raise ApplySetConflictError if an object has come to belong to another instance."""
        part_of = labels.label_of(live, labels.PART_OF)
        if part_of and part_of != labels.label_of(desired.object, labels.PART_OF):
            owner = f"{labels.owner_of(live)} ({part_of})"
            raise ApplySetConflictError(f"{desired.address} belongs to {owner}, not to this instance")

    async def _send(self, desired: Desired, *, force: bool) -> JsonObject:
        kind, key = desired.address
        fields = {name: value for name, value in desired.object.items() if name not in ("apiVersion", "kind")}
        return await self._client.apply(kind, key, fields, manager=labels.CHILD_MANAGER, force=force)

    async def delete(self, address: Address, live: JsonObject) -> None:
        """Delete a child, if it is still the one that was seen. Raise ApiError."""
        try:
            await self._client.delete(
                address.kind, address.key, uid=str(dig(live, "metadata", "uid")), propagation="Background"
            )
        except NotFoundError:
            self.forget(address)
        except StaleError:
            return  # another object has the name now: the watch will say so

    async def release(self, address: Address, live: JsonObject) -> None:
        """Remove our marks from a child, which stays. Raise ApiError."""
        try:
            await self._client.merge_patch(address.kind, address.key, labels.released(live))
        except NotFoundError:
            pass
        except StaleError:
            return  # it has changed: the watch will say how
        self.forget(address)

    async def listed(self, kind: Kind, apply_set: str) -> list[Any]:
        """The children of an instance, of one kind, as the server has them now."""
        found: list[Any] = []
        selector = f"{labels.PART_OF}={apply_set}"
        for place in self.watches.places(kind):
            async for page in self._client.pages(kind, namespace=place, labels=selector, metadata_only=True):
                found.extend(page.items)
        return found
