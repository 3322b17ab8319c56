"""What the instances of all kinds share: the children, the objects of others, and who is woken by what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from random import Random
from typing import Any, TypeAlias

from edgekeeper.controllers.composition.children import Children
from edgekeeper.controllers.composition.instance_plan import (
    KIND_NOT_SERVED,
    NAMESPACE_NOT_WATCHED,
    Address,
    Limits,
    not_watched,
)
from edgekeeper.controllers.composition.inventory import GroupKind, Inventory, apply_set_id
from edgekeeper.controllers.composition.selectors import Interest
from edgekeeper.controllers.composition.watched import Watched
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import Key, Kind

InstanceKey: TypeAlias = tuple[Kind, Key]


class World:
    """Shared by all instances of a process."""

    def __init__(
        self, children: Children, others: Watched, discovery: Discovery, random: Random, limits: Limits
    ) -> None:
        self.children = children
        self.others = others
        self.random = random
        self.limits = limits
        """What children may be, in the namespaces that the process watches."""
        self._discovery = discovery
        self._uids: dict[str, InstanceKey] = {}
        self._by_instance: dict[InstanceKey, set[Interest]] = {}
        self._named: dict[InstanceKey, set[InstanceKey]] = defaultdict(set)
        """Who refers to an object by its name."""
        self._selecting: dict[Kind, dict[InstanceKey, set[Interest]]] = defaultdict(dict)

    @property
    def size(self) -> int:
        """How many instances and references are remembered, to show in tests that memory is bounded."""
        selecting = sum(map(len, self._selecting.values()))
        return len(self._uids) + len(self._by_instance) + len(self._named) + selecting

    # Which kinds are watched

    async def watch(
        self, instance: InstanceKey, inventory: Inventory, children: Iterable[Kind], others: Iterable[Kind]
    ) -> None:
        """Watch for an instance the kinds of its inventory, and of the children and references that it wants."""
        await self.children.watches.use(instance, {*await self._kinds_of(inventory), *children})
        await self.others.watches.use(instance, others)

    async def _kinds_of(self, inventory: Inventory) -> list[Kind]:
        """Kinds of an inventory as the server serves them. One that is not served has no objects any more."""
        found: list[Kind] = []
        for wanted in sorted(inventory.kinds):
            watched = next((kind for kind in self.children.watches if GroupKind.of(kind) == wanted), None)
            if watched is None:
                served = await self._discovery.find(wanted.group, wanted.kind)
                watched = served.kind if served is not None else None
            if watched is not None:
                found.append(watched)
        return found

    def watched_of(self, kinds: Collection[GroupKind]) -> list[Kind]:
        """Of these kinds those whose objects are known, each in one version."""
        found: dict[GroupKind, Kind] = {}
        for kind in self.children.watches:
            if GroupKind.of(kind) in kinds and self.children.watches.obstacle(kind) is None:
                found.setdefault(GroupKind.of(kind), kind)
        return list(found.values())

    def blind_spot(self, inventory: Inventory) -> tuple[str, str] | None:
        """The reason and the message, if children that an inventory covers may be there without being known.

        A kind that is not served has no objects.
        """
        watches = self.children.watches
        for kind in watches:
            if GroupKind.of(kind) not in inventory.kinds:
                continue
            why = watches.obstacle(kind)
            if why is not None and why[0] != KIND_NOT_SERVED:
                return why
            for namespace in sorted(inventory.namespaces):
                if kind.namespaced and not watches.covers(kind, namespace):
                    return NAMESPACE_NOT_WATCHED, f"{kind.qualified_plural} in {not_watched(namespace)}"
        return None

    def members(
        self, instance: InstanceKey, inventory: Inventory, wanted: Mapping[GroupKind, Container[Key]]
    ) -> dict[Address, JsonObject]:
        """The children of an instance, where its inventory says that they may be, without those that it wants."""
        apply_set = apply_set_id(*instance)
        namespaces = {instance[1].namespace, *inventory.namespaces}
        return {
            Address(kind, key): live
            for kind in self.watched_of(inventory.kinds)
            for key, live in self.children.of_part(
                kind, apply_set, wanted.get(GroupKind.of(kind), ())
            ).items()
            if not kind.namespaced or key.namespace in namespaces
        }

    # Who is woken by what

    def note(self, instance: JsonObject, key: InstanceKey) -> None:
        """Remember which instance has a UID, which is what its children are labelled with."""
        self._uids[str(dig(instance, "metadata", "uid"))] = key

    def owner(self, uid: str) -> InstanceKey | None:
        """The instance with a UID. One that had no pass yet is not known, and will have one anyway."""
        return self._uids.get(uid)

    def register(self, instance: InstanceKey, interests: set[Interest]) -> None:
        """Let an instance be woken by changes of these objects, and of no others."""
        if self._by_instance.get(instance, set()) == interests:
            return
        self._unregister(instance)
        if interests:
            self._by_instance[instance] = interests
        for one in interests:
            if one.name:
                self._named[one.kind, Key(one.namespace, one.name)].add(instance)
            else:
                self._selecting[one.kind].setdefault(instance, set()).add(one)

    def _unregister(self, instance: InstanceKey) -> None:
        for one in self._by_instance.pop(instance, set()):
            if one.name:
                at = (one.kind, Key(one.namespace, one.name))
                self._named[at].discard(instance)
                if not self._named[at]:
                    del self._named[at]
            else:
                self._selecting[one.kind].pop(instance, None)

    def interested(self, kind: Kind, key: Key, labels: list[Mapping[str, Any]]) -> set[InstanceKey]:
        """The instances that refer to an object, which has or had these labels."""
        found = set(self._named.get((kind, key), ()))
        for instance, interests in self._selecting.get(kind, {}).items():
            if any(one.concerns(key, labels) for one in interests):
                found.add(instance)
        return found

    def forget_kind(self, kind: Kind) -> None:
        """The instances of a kind are no longer reconciled."""
        for instance in {*self._by_instance, *self._uids.values()}:
            if instance[0] == kind:
                self.forget(instance)

    def forget(self, instance: InstanceKey) -> None:
        """An instance is gone, or no longer reconciled."""
        self._unregister(instance)
        self.children.watches.leave(instance)
        self.others.watches.leave(instance)
        for uid in [uid for uid, key in self._uids.items() if key == instance]:
            del self._uids[uid]
