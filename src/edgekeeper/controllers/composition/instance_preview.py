"""Preview of an instance for `edgekeeper plan` and the status page: the children that its next passes would change, and why.

The decision is that of a pass (`waves.decide`), with each object that it asks for read from the server. Nothing is written.
Only the next wave is shown with its fields; what comes after it depends on what the wave brings, and is shown as waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

import msgspec

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.child_requests import described
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_plan import (
    Address,
    Desired,
    Limits,
    NodeResult,
    NodeState,
    Plan,
)
from edgekeeper.controllers.composition.instance_reconciler import NOT_WANTED
from edgekeeper.controllers.composition.instance_status import finding_of
from edgekeeper.controllers.composition.inventory import (
    DamagedInventoryError,
    GroupKind,
    Inventory,
    apply_set_id,
    confirmed_inventory,
    read_inventory,
)
from edgekeeper.controllers.composition.live_states import NO_LIMITS, ReadView, plan_instance
from edgekeeper.controllers.composition.object_diff import Child, aligned
from edgekeeper.controllers.composition.readiness import blocked_by, is_terminating
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.delta import Difference, compare
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.steps import Effect, Step
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.preview import Preview, Verdict
from edgekeeper.runtime.finalizers import has_finalizer, is_deleting

_BEING_DELETED: Final = "the instance is being deleted"
_WAITS: Final = (NodeState.WAITING, NodeState.READING, NodeState.NOT_READY, NodeState.DELETING)


@dataclass(frozen=True, slots=True)
class ApplyChild(Step):
    """An object is created, or changed to what the graph says."""

    effect: ClassVar = Effect.CHANGE
    words: str
    differences: tuple[Difference, ...] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        return self.words

    def changes(self) -> tuple[Difference, ...]:
        return self.differences


@dataclass(frozen=True, slots=True)
class RemoveChild(Step):
    """A child is deleted, or left without our marks."""

    effect: ClassVar = Effect.CHANGE
    address: Address
    is_kept: bool = False

    def __str__(self) -> str:
        return f"{'release' if self.is_kept else 'delete'} {self.address}"


@dataclass(frozen=True, slots=True)
class AwaitResource(Step):
    """A resource of the graph is not ready, or waits for another one."""

    effect: ClassVar = Effect.WAIT
    node: str

    def __str__(self) -> str:
        return f"wait for resource {self.node}"


@dataclass(frozen=True, slots=True)
class AwaitRemoval(Step):
    """A child is being deleted already."""

    effect: ClassVar = Effect.WAIT
    address: Address

    def __str__(self) -> str:
        return f"wait until {self.address} is gone"


@dataclass(frozen=True)
class InstancePreviewer:
    """Previews instances, with the rights of a client."""

    client: KubeClient
    discovery: Discovery
    limits: Limits = NO_LIMITS
    """What the installation allows instances to have."""

    async def preview(
        self, graph: Graph | None, kind: Kind, key: Key, instance: JsonObject, unresolved: str = ""
    ) -> Preview:
        """What would be done for an instance that is reconciled with this graph. Raise ApiError.

        Without a graph, which `unresolved` explains, instances are only deleted.
        """
        try:
            known = await self._preview_without_graph(kind, key, instance)
            if known is not None:
                return known
            if graph is None:
                raise Stall("ResolutionFailed", unresolved)
            return await self._reconciliation(graph, kind, key, instance)
        except PassError as error:
            return Preview.refused(kind.kind, key, error)

    async def _preview_without_graph(self, kind: Kind, key: Key, instance: JsonObject) -> Preview | None:
        """What would be done whatever the graph says; None if it depends on that.

        In the order of a pass (`PassRunner`, `InstanceReconciler`): a suspended instance is deleted, a paused one is not.
        """
        deleting, wishes = is_deleting(instance), Wishes.of(instance)
        if deleting and not has_finalizer(instance, labels.FINALIZER):
            return Preview(kind.kind, key, Verdict.SETTLED, deleting=True)
        wishes.confirm()
        if wishes.paused:
            return Preview(kind.kind, key, Verdict.PAUSED)
        if deleting:
            return await self._deletion(kind, key, instance)
        if labels.is_suspended(instance):
            return Preview(kind.kind, key, Verdict.PAUSED)
        return None

    async def _reconciliation(self, graph: Graph, kind: Kind, key: Key, instance: JsonObject) -> Preview:
        view = ReadView(self.client)
        plan = await plan_instance(view, graph, kind, instance, self.limits)
        steps: list[Step] = [_apply(one, view) for one in plan.applies]
        if plan.is_complete:
            steps += await self._spare(kind, key, instance, plan)
        steps += [_await(one) for one in plan.nodes.values() if one.state in _WAITS]
        finding = finding_of(plan, {})
        error = Stall(finding.reason, finding.message) if finding.failed else None
        return Preview(kind.kind, key, _verdict(steps, error), steps=steps, error=error)

    async def _spare(self, kind: Kind, key: Key, instance: JsonObject, plan: Plan) -> list[Step]:
        """The children that the instance has and does not want."""
        members = await self._members(kind, key, read_inventory(instance))
        return [
            _remove(address, live, NOT_WANTED)
            for address, live in members
            if address.key not in plan.wanted.get(GroupKind.of(address.kind), ())
        ]

    async def _deletion(self, kind: Kind, key: Key, instance: JsonObject) -> Preview:
        try:
            inventory = confirmed_inventory(instance, apply_set_id(kind, key))
        except DamagedInventoryError as error:
            raise Stall("DeletionBlocked", f"nobody knows what belongs to the instance: {error}") from error
        members = await self._members(kind, key, inventory)
        members.sort(key=lambda one: (-labels.apply_order_of(one[1]), str(one[0])))
        steps = [_remove(address, live, _BEING_DELETED) for address, live in members]
        # Without children the finalizer is removed, which is a change as well.
        verdict = _verdict(steps, None) if steps else Verdict.CHANGES
        return Preview(kind.kind, key, verdict, deleting=True, steps=steps)

    async def _members(self, kind: Kind, key: Key, inventory: Inventory) -> list[tuple[Address, JsonObject]]:
        """The children of an instance, where its inventory says that they may be. Raise Stall if that may not be read."""
        selector = f"{labels.PART_OF}={apply_set_id(kind, key)}"
        found: list[tuple[Address, JsonObject]] = []
        for wanted in sorted(inventory.kinds):
            served = await self.discovery.find(wanted.group, wanted.kind)
            if served is None:
                continue  # a kind that is not served has no objects
            namespaces = sorted({key.namespace, *inventory.namespaces}) if served.kind.namespaced else [""]
            for namespace in namespaces:
                found += await self._labelled(served.kind, namespace, selector)
        return found

    async def _labelled(self, kind: Kind, namespace: str, selector: str) -> list[tuple[Address, JsonObject]]:
        try:
            pages = [
                page
                async for page in self.client.pages(
                    kind, namespace=namespace, labels=selector, metadata_only=True
                )
            ]
        except NotFoundError:
            return []
        except ForbiddenError as error:
            raise Stall(
                "KindNotPermitted", f"{kind.qualified_plural} may not be listed: {error.message}"
            ) from error
        objects = [msgspec.json.decode(raw) for page in pages for raw in page.items]
        return [(Address(kind, _key(one)), one) for one in objects]


def _verdict(steps: Sequence[Step], error: Stall | None) -> Verdict:
    if any(step.effect is Effect.CHANGE for step in steps):
        return Verdict.CHANGES
    if error is not None:
        return Verdict.REFUSED
    return Verdict.WAITING if steps else Verdict.SETTLED


def _apply(wanted: Desired, view: ReadView) -> Step:
    words, reason = described(wanted)
    seen = view.find(wanted.address) if wanted.exists else None
    differences = child_differences(wanted.object, seen.object) if seen is not None else ()
    return ApplyChild(words, differences=differences, reason=reason)


def _await(node: NodeResult) -> Step:
    return AwaitResource(node.id, reason=node.message or "it is not ready")


def _remove(address: Address, live: JsonObject, reason: str) -> Step:
    """The step for a child that goes, as `next_removal` treats it."""
    is_kept = labels.annotation_of(live, labels.DELETION_POLICY) == labels.ORPHAN
    if not is_kept and is_terminating(live):
        return AwaitRemoval(address, reason=blocked_by(address.kind, address.key, live))
    return RemoveChild(address, is_kept, reason=reason)


def _key(obj: JsonObject) -> Key:
    return Key(str(dig(obj, "metadata", "namespace") or ""), str(dig(obj, "metadata", "name")))


def child_differences(wanted: JsonObject, live: JsonObject) -> tuple[Difference, ...]:
    """What applying an object would change in it. Fields and entries of lists that only others set are left out.

    So is the hash of what was applied, which tells people nothing.
    """
    found = compare(wanted, aligned(live, Child(wanted)))
    return tuple(one for one in found if not one.path.endswith(f"[{labels.APPLIED_HASH}]"))
