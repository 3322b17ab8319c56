"""What the instances of all kinds share: the children, the objects of others, and who is woken by what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Any, TypeAlias

from edgekeeper.controllers.composition.children import Children
from edgekeeper.controllers.composition.instance_plan import KIND_NOT_SERVED
from edgekeeper.controllers.composition.inventory import GroupKind
from edgekeeper.controllers.composition.selectors import Interest
from edgekeeper.controllers.composition.watched import Watched
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import Key, Kind

InstanceKey: TypeAlias = tuple[Kind, Key]


class World:
    """Shared by all instances of a process."""

    def __init__(self, children: Children, others: Watched, discovery: Discovery, random: Random) -> None:
        self.children = children
        self.others = others
        self.random = random
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

    async def kinds_of(self, kinds: Iterable[GroupKind]) -> list[Kind]:
        """Kinds of an inventory as the server serves them. One that is not served has no objects any more."""
        found: list[Kind] = []
        for wanted in sorted(kinds):
            watched = next((kind for kind in self.children.kinds if GroupKind.of(kind) == wanted), None)
            if watched is None:
                served = await self._discovery.find(wanted.group, wanted.kind)
                watched = served.kind if served is not None else None
            if watched is not None:
                found.append(watched)
        return found

    def watched_of(self, kinds: Collection[GroupKind]) -> list[Kind]:
        """Of these kinds those whose objects are known, each in one version."""
        found: dict[GroupKind, Kind] = {}
        for kind in self.children.kinds:
            if GroupKind.of(kind) in kinds and self.children.obstacle(kind) is None:
                found.setdefault(GroupKind.of(kind), kind)
        return list(found.values())

    def unknown_of(self, kinds: Collection[GroupKind]) -> dict[Kind, tuple[str, str]]:
        """Of these kinds those whose objects may be there without being known, with the reason and the message.

        One that is not served has no objects.
        """
        found: dict[Kind, tuple[str, str]] = {}
        for kind in self.children.kinds:
            why = self.children.obstacle(kind) if GroupKind.of(kind) in kinds else None
            if why is not None and why[0] != KIND_NOT_SERVED:
                found[kind] = why
        return found

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
        for instance in [key for key in self._by_instance if key[0] == kind]:
            self._unregister(instance)
        self._uids = {uid: key for uid, key in self._uids.items() if key[0] != kind}

    def forget(self, instance: InstanceKey) -> None:
        """An instance is gone."""
        self._unregister(instance)
        for uid in [uid for uid, key in self._uids.items() if key == instance]:
            del self._uids[uid]
