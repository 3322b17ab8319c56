"""Kinds that are not served, or may not be listed: who waits for them, and what the log says about it.

The log tells once for each kind and namespace, however many watches there are, and once more when it is over. While a
kind is not served its CustomResourceDefinition is watched by its name, if that is allowed, and the watches of the kind
try again whenever it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from edgekeeper.core.log import get_logger
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.kube.store import Change, SyncState

log = get_logger(__name__)


class InformerPool(Protocol):
    """What is needed of `kube.informers.Informers`."""

    remedies: Mapping[str, str]

    def __iter__(self) -> Iterator[Informer]: ...

    def acquire_object(self, kind: Kind, key: Key, *, metadata_only: bool = False) -> Informer: ...

    def release(self, informer: Informer) -> None: ...


class AwaitedKinds:
    """The kinds of a pool of informers that are waited for."""

    def __init__(self, informers: InformerPool) -> None:
        self._informers = informers
        self._said: dict[tuple[Kind, str], SyncState] = {}
        """What the log says about a kind in a namespace."""
        self._definitions: dict[Kind, Callable[[], None]] = {}
        """How to stop looking at the definitions of kinds."""

    def note(self, informer: Informer) -> None:
        """A watch has failed, or goes well: say once what that means, and look at the definition while it is missing."""
        place = (informer.kind, informer.selection.namespace)
        blocked = informer.blocked
        if blocked is not None:
            if blocked is SyncState.NOT_SERVED:
                self._follow_definition(informer.kind)
            if self._said.get(place) is not blocked:
                self._said[place] = blocked
                _say_blocked(informer, blocked, self._informers.remedies.get(informer.kind.group, ""))
        elif informer.stale_since is None and place in self._said and not self._is_blocked(*place):
            del self._said[place]
            self._unfollow_definition(informer.kind)
            if not _is_helper(informer):
                log.info("Kind can be listed again", **_facts(informer))

    def _is_blocked(self, kind: Kind, namespace: str) -> bool:
        return any(
            each.kind == kind and each.selection.namespace == namespace and each.blocked is not None
            for each in self._informers
        )

    def _follow_definition(self, kind: Kind) -> None:
        """Watch the definition of a kind that is not served, by its name, and try again whenever it changes."""
        if kind in self._definitions or not kind.group or kind == CUSTOM_RESOURCE_DEFINITION:
            return
        name = Key("", kind.qualified_plural)
        definition = self._informers.acquire_object(CUSTOM_RESOURCE_DEFINITION, name, metadata_only=True)

        def changed(change: Change) -> None:
            if change.key == name and change.new is not None:
                self._wake(kind)

        unsubscribe = definition.subscribe(changed)

        def stop() -> None:
            unsubscribe()
            self._informers.release(definition)

        self._definitions[kind] = stop

    def _unfollow_definition(self, kind: Kind) -> None:
        if not any(place[0] == kind for place in self._said):
            stop = self._definitions.pop(kind, None)
            if stop is not None:
                stop()

    def released(self, kind: Kind) -> None:
        """An informer is released: what was said about its kind counts only while others watch it."""
        places = {(each.kind, each.selection.namespace) for each in self._informers}
        for place in [place for place in self._said if place[0] == kind and place not in places]:
            del self._said[place]
        self._unfollow_definition(kind)

    def _wake(self, kind: Kind) -> None:
        for informer in self._informers:
            if informer.kind == kind:
                informer.wake()


def _is_helper(informer: Informer) -> bool:
    """Whether it is for finding out when a definition comes: without it that just takes longer."""
    return informer.kind == CUSTOM_RESOURCE_DEFINITION and informer.selection.metadata_only


def _say_blocked(informer: Informer, blocked: SyncState, remedy: str) -> None:
    facts = _facts(informer)
    if _is_helper(informer):
        log.debug("definitions cannot be watched", **facts, error=informer.trouble)
    elif blocked is SyncState.NOT_SERVED:
        log.warning(
            "Kind is not served; it is watched as soon as its definition is installed",
            **facts,
            **({"remedy": remedy} if remedy else {}),
        )
    else:
        log.warning(
            "Kind may not be listed; it is watched as soon as that is allowed",
            **facts,
            error=informer.trouble,
        )


def _facts(informer: Informer) -> dict[str, str]:
    return {"resource": informer.kind.qualified_plural, "namespace": informer.selection.namespace}
