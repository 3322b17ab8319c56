"""Logs kinds that are not served, or may not be listed, and retries their watches when their definitions change.

Each kind and namespace is logged once, however many watches there are, and once more when it can be listed. While a kind
is not served its CustomResourceDefinition is watched by name, if that is allowed, and the watches of the kind are
retried whenever it changes. While that watch shows that there is no definition, they are retried every ten
minutes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from edgekeeper.core.log import get_logger
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.kube.store import Change, SyncState

log = get_logger(__name__)


class InformerPool(Protocol):
    """The methods of `kube.informers.Informers` that are used here."""

    remedies: Mapping[str, str]

    def __iter__(self) -> Iterator[Informer]: ...

    def acquire_object(self, kind: Kind, key: Key, *, metadata_only: bool = False) -> Informer: ...

    def release(self, informer: Informer) -> None: ...


@dataclass(frozen=True, slots=True)
class _Definition:
    """The watch of a CustomResourceDefinition."""

    informer: Informer
    name: Key
    stop: Callable[[], None]

    def is_absent(self) -> bool:
        """Whether there is none. False while that is not known for certain."""
        informer = self.informer
        return (
            informer.store.synced and informer.stale_since is None and informer.store.raw(self.name) is None
        )


class AwaitedKinds:
    """The kinds of a pool of informers that cannot be listed at present."""

    def __init__(self, informers: InformerPool) -> None:
        self._informers = informers
        self._logged: dict[tuple[Kind, str], SyncState] = {}
        """The state of a kind in a namespace that was logged last."""
        self._definitions: dict[Kind, _Definition] = {}
        """The watches of definitions."""

    def note(self, informer: Informer) -> None:
        """Handle a failure or recovery of a watch: log it once, and watch the definition while the kind is not served."""
        place = (informer.kind, informer.selection.namespace)
        blocked = informer.blocked
        if blocked is not None:
            if blocked is SyncState.NOT_SERVED:
                self._follow_definition(informer.kind)
            if self._logged.get(place) is not blocked:
                self._logged[place] = blocked
                _log_blocked(informer, blocked, self._informers.remedies.get(informer.kind.group, ""))
        elif informer.stale_since is None and place in self._logged and not self._is_blocked(*place):
            del self._logged[place]
            self._unfollow_definition(informer.kind)
            if not _is_helper(informer):
                log.info("Kind can be listed again", **_fields(informer))

    def has_no_definition(self, kind: Kind) -> bool:
        """Whether the definition of a kind is watched, and does not exist."""
        definition = self._definitions.get(kind)
        return definition is not None and definition.is_absent()

    def _is_blocked(self, kind: Kind, namespace: str) -> bool:
        return any(
            each.kind == kind and each.selection.namespace == namespace and each.blocked is not None
            for each in self._informers
        )

    def _follow_definition(self, kind: Kind) -> None:
        """Watch the definition of a kind that is not served, by name, and retry its watches whenever it changes."""
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

        self._definitions[kind] = _Definition(definition, name, stop)

    def _unfollow_definition(self, kind: Kind) -> None:
        if not any(place[0] == kind for place in self._logged):
            definition = self._definitions.pop(kind, None)
            if definition is not None:
                definition.stop()

    def released(self, kind: Kind) -> None:
        """Drop the state of a kind whose informer was released, unless others watch it."""
        places = {(each.kind, each.selection.namespace) for each in self._informers}
        for place in [place for place in self._logged if place[0] == kind and place not in places]:
            del self._logged[place]
        self._unfollow_definition(kind)

    def _wake(self, kind: Kind) -> None:
        for informer in self._informers:
            if informer.kind == kind:
                informer.wake()


def _is_helper(informer: Informer) -> bool:
    """Whether an informer only watches definitions in order to retry sooner, so that its failure is no problem."""
    return informer.kind == CUSTOM_RESOURCE_DEFINITION and informer.selection.metadata_only


def _log_blocked(informer: Informer, blocked: SyncState, remedy: str) -> None:
    fields = _fields(informer)
    if _is_helper(informer):
        log.debug("definitions cannot be watched", **fields, error=informer.trouble)
    elif blocked is SyncState.NOT_SERVED:
        log.warning(
            "Kind is not served; it is watched as soon as its definition is installed",
            **fields,
            **({"remedy": remedy} if remedy else {}),
        )
    else:
        log.warning(
            "Kind may not be listed; it is watched as soon as that is allowed",
            **fields,
            error=informer.trouble,
        )


def _fields(informer: Informer) -> dict[str, str]:
    return {"resource": informer.kind.qualified_plural, "namespace": informer.selection.namespace}
