"""References between objects, with the permission checks of ReferenceGrants. All keys from users' specs are built here.

Whether an object may refer to another depends on the namespaces of both:

    the target's namespace        granted
    ────────────────────────────  ────────────────────────────────────────────────────────────────────────────
    none given, or the same       always
    another one                   if a ReferenceGrant there names the referrer's group, kind and namespace in
                                  `from`, and the target's group and kind, and its name or none, in `to`
    the target is cluster-scoped  always: there is no namespace that could hold a ReferenceGrant

Guarantees
    - Only grants in the namespace of the target count, so that a referrer cannot grant itself a permission.
    - Grants are looked up at every use and not cached: a deleted grant has no effect any more.
    - While the grants are not listed yet, a reference is neither granted nor denied (NotSyncedError). If the cluster
      does not serve ReferenceGrants, or they may not be listed, the reference is denied with a message that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import REFERENCE_GRANT, Key, Kind
from edgekeeper.kube.store import Store, SyncState
from edgekeeper.runtime.sources import Mapped

NOT_GRANTED = "ReferenceNotGranted"
BY_NAMESPACE = "namespace"
_UNAVAILABLE = {
    SyncState.NOT_SERVED: "the cluster does not serve ReferenceGrants; install the Gateway API",
    SyncState.FORBIDDEN: "ReferenceGrants may not be listed; allow list and watch of them",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference from one object to another."""

    referrer: Kind
    referrer_namespace: str
    target: Kind
    name: str
    namespace: str = ""
    """The namespace of the target; empty for that of the referrer."""


class References:
    """Resolves references by the ReferenceGrants of a store."""

    def __init__(self, grants: Store) -> None:
        self._grants = grants
        grants.add_index(BY_NAMESPACE, _namespace_of)

    def resolve(self, reference: Reference) -> Key:
        """The key of the target. Raise `Stall` if the reference is not granted, NotSyncedError if that is unknown."""
        if not reference.target.namespaced:
            return Key("", reference.name)
        namespace = reference.namespace or reference.referrer_namespace
        if namespace == reference.referrer_namespace and namespace:
            return Key(namespace, reference.name)
        if self._grants.state in _UNAVAILABLE:
            raise Stall(NOT_GRANTED, f"{_refusal(reference)}: {_UNAVAILABLE[self._grants.state]}")
        if not namespace or not self._is_granted(reference):
            raise Stall(NOT_GRANTED, _refusal(reference))
        return Key(namespace, reference.name)

    def _is_granted(self, reference: Reference) -> bool:
        grants = (self._grants.get(key) for key in self._grants.by_index(BY_NAMESPACE, reference.namespace))
        return any(grants_reference(grant, reference) for grant in grants if grant is not None)


def grants_reference(grant: JsonObject, reference: Reference) -> bool:
    """Whether a ReferenceGrant allows a reference. Malformed entries allow nothing."""
    if dig(grant, "metadata", "namespace") != reference.namespace:
        return False
    return any(_is_from(entry, reference) for entry in dig_list(grant, "spec", "from")) and any(
        _is_to(entry, reference) for entry in dig_list(grant, "spec", "to")
    )


def _is_from(entry: Any, reference: Reference) -> bool:
    wanted = (reference.referrer.group, reference.referrer.kind, reference.referrer_namespace)
    return (dig(entry, "group"), dig(entry, "kind"), dig(entry, "namespace")) == wanted


def _is_to(entry: Any, reference: Reference) -> bool:
    if (dig(entry, "group"), dig(entry, "kind")) != (reference.target.group, reference.target.kind):
        return False
    return dig(entry, "name") in (None, "", reference.name)


def _refusal(reference: Reference) -> str:
    target = f"{reference.target.kind} {reference.name}"
    if not reference.namespace:
        return f"a reference to {target} must name a namespace"
    return (
        f"namespace {reference.namespace} has no ReferenceGrant that lets {reference.referrer.kind} objects"
        f" of namespace {reference.referrer_namespace or '(none)'} refer to {target}"
    )


def grants_to(referrer: Kind, referrers: Callable[[str], Iterable[Key]]) -> Mapped:
    """A source that queues referrers when their grants change: `referrers` lists those in a namespace."""

    def concerned(grant: JsonObject) -> Iterable[Key]:
        for entry in dig_list(grant, "spec", "from"):
            if (dig(entry, "group"), dig(entry, "kind")) == (referrer.group, referrer.kind):
                namespace = dig(entry, "namespace")
                if isinstance(namespace, str):
                    yield from referrers(namespace)

    return Mapped(REFERENCE_GRANT, concerned)


def _namespace_of(grant: JsonObject) -> Iterable[str]:
    namespace = dig(grant, "metadata", "namespace")
    return [namespace] if isinstance(namespace, str) else ()
