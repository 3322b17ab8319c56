"""The rows of all objects, kept up to date from the caches of the informers.

    directory = Directory(services.informers, modules)
    await directory.run()                until it is cancelled
    directory.rows()

A change of an object only marks it. Rows are made by `run`, a few at a time, so that a fleet that is listed does not hold
up the event loop. The informers are those of the controllers: nothing is watched for the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

import msgspec

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.zerotrust.annotations import OPERATOR_WRITTEN
from edgekeeper.controllers.zerotrust.route_report import READINESS
from edgekeeper.core.delta import Difference, compare
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.core.log import get_logger
from edgekeeper.diagnosis.catalog import KnownKind, composed_kind, known_kinds
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import UNLISTABLE, Change, Store
from edgekeeper.lifecycle.module import KindModule
from edgekeeper.web.managers import last_manager
from edgekeeper.web.rows import ObjectRow, object_id, object_row

_log = get_logger(__name__)

SLICE: Final = 50
"""How many rows are made before other tasks have their turn."""
LOOK_SECONDS: Final = 1.0
"""How often informers are looked for that came or went."""
SETTLE_SECONDS: Final = 0.05
"""How long changes are gathered."""
PATIENCE_SECONDS: Final = 2.0
"""How long readers wait for rows that are being made."""

_PREFIXES: Final = ("edgekeeper.io/", PREFIX)
_OURS: Final = frozenset({*READINESS, *OPERATOR_WRITTEN})
"""Annotations that the operator writes."""

_decode = msgspec.json.Decoder(dict).decode


class _Metadata(msgspec.Struct, gc=False):
    generation: int = 0
    deleted: str = msgspec.field(default="", name="deletionTimestamp")
    annotations: msgspec.Raw = msgspec.field(default=msgspec.Raw())

    @property
    def written(self) -> tuple[int, str, bytes]:
        return self.generation, self.deleted, bytes(self.annotations)


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata


_peek = msgspec.json.Decoder(_Object).decode
"""What tells changes of users from changes of the status, without decoding the rest."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A row, and what searches look at."""

    row: ObjectRow
    text: str
    kind: Kind
    key: Key


@dataclass(frozen=True, slots=True)
class SpecChange:
    """Somebody has created, changed or deleted an object."""

    kind: Kind
    key: Key
    verb: str
    differences: tuple[Difference, ...] = ()
    who: str = ""
    """The client that did it, as far as its field manager tells; empty if that is not known."""
    generation: int = 0


class Directory:
    """The rows of all objects, by id."""

    def __init__(
        self,
        informers: Iterable[Informer],
        modules: Iterable[KindModule],
        drift_policy: Policy = Policy.ENFORCE,
    ) -> None:
        """`informers` are those of the process, and may come and go. `drift_policy` is that of objects without their own."""
        self.drift_policy = drift_policy
        self._informers = informers
        self._modules = {known.kind: known for known in known_kinds(modules)}
        self._composed: dict[Kind, KnownKind] = {}
        self._definitions: list[bytes] = []
        """Those that `_composed` was made from."""
        self._followed: dict[Informer, Callable[[], None]] = {}
        self._marked: dict[tuple[Kind, Key], None] = {}
        self._listed: dict[str, Listed] = {}
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self.on_rows: Callable[[Collection[str]], None] = _ignore
        """Called with the ids of rows that were made, changed or removed."""
        self.on_spec: Callable[[SpecChange], None] = _ignore
        """Called when somebody else than the operator has created, changed or deleted an object."""
        self.is_own_write: Callable[[Kind, Key], bool] = _is_never_own
        """Whether a change is a write of the operator."""

    # Reading

    @property
    def listed(self) -> Collection[Listed]:
        return self._listed.values()

    def row(self, id_: str) -> ObjectRow | None:
        listed = self._listed.get(id_)
        return listed.row if listed is not None else None

    def known(self, group: str, kind: str) -> KnownKind | None:
        """What is known about a kind that is shown."""
        found = (one for one in self.kinds if (one.kind.group, one.kind.kind) == (group, kind))
        return next(found, None)

    def known_by_name(self, kind: str) -> KnownKind | None:
        """The same by the kind alone, as changes name it."""
        return next((one for one in self.kinds if one.kind.kind == kind), None)

    @property
    def kinds(self) -> Sequence[KnownKind]:
        return [*self._modules.values(), *self._composed.values()]

    def get(self, known: KnownKind, key: Key) -> JsonObject | None:
        """An object as it is in the cache; None if it is not there, or not shown."""
        raws = (store.peek(key) for store in self.stores(known.kind))
        raw = next((raw for raw in raws if raw is not None), None)
        obj = _decode(raw) if raw is not None else None
        return obj if obj is not None and known.shows(obj) else None

    def stores(self, kind: Kind) -> list[Store]:
        """The caches of a kind: one, or one for each namespace."""
        return [informer.store for informer in self._followed if informer.kind == kind]

    async def settled(self) -> None:
        """Wait until every change that is known is in the rows, but not for long: then the rows are those of a moment ago."""
        if self._marked:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._settled.wait()

    # Following

    async def run(self) -> None:
        """Keep the rows up to date until cancelled."""
        try:
            while True:
                self.refresh()
                await self._work()
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    continue
                await asyncio.sleep(SETTLE_SECONDS)
        finally:
            for stop in self._followed.values():
                stop()
            self._followed.clear()

    def refresh(self) -> None:
        """Follow informers that are new, and forget those that are gone."""
        self._learn_composed()
        present = [one for one in self._informers if _is_complete(one) and self._is_shown(one.kind)]
        for gone in [one for one in self._followed if one not in present]:
            self._followed.pop(gone)()
            self._outdate_kind(gone.kind)
        for new in present:
            if new not in self._followed:
                self._followed[new] = self._follow(new)

    def _follow(self, informer: Informer) -> Callable[[], None]:
        """Note changes of objects. A kind that is not served any more loses its objects without one."""

        def on_state() -> None:
            if informer.store.state in UNLISTABLE:
                self._outdate_kind(informer.kind)

        stop_state = informer.subscribe_state(on_state)
        stop_changes = informer.subscribe(partial(self._note, informer.kind))

        def stop() -> None:
            stop_state()
            stop_changes()

        return stop

    def _is_shown(self, kind: Kind) -> bool:
        return kind in self._modules or kind in self._composed

    def _learn_composed(self) -> None:
        """The kinds that definitions define now."""
        raws = [
            raw
            for one in self._informers
            if one.kind == DEFINITION_KIND and _is_complete(one)
            for _, raw in one.store.snapshot()
        ]
        if raws == self._definitions:
            return
        self._definitions = raws
        known = [found for raw in raws if (found := composed_kind(_decode(raw))) is not None]
        self._composed = {one.kind: one for one in known if one.kind not in self._modules}

    def _note(self, kind: Kind, change: Change) -> None:
        self._outdate(kind, change.key)
        if not change.initial and not self.is_own_write(kind, change.key):
            known = self._modules.get(kind) or self._composed.get(kind)
            found = _spec_change(kind, change, known)
            if found is not None:
                self.on_spec(found)

    def _outdate_kind(self, kind: Kind) -> None:
        for listed in self._listed.values():
            if listed.kind == kind:
                self._outdate(kind, listed.key)

    def _outdate(self, kind: Kind, key: Key) -> None:
        self._marked[kind, key] = None
        self._settled.clear()
        self._changed.set()

    async def _work(self) -> None:
        """Make the rows of everything that is marked."""
        self._changed.clear()
        while self._marked:
            some = list(islice(self._marked, SLICE))
            changed = [id_ for kind, key in some if (id_ := self._update(kind, key))]
            for place in some:
                del self._marked[place]
            if changed:
                self.on_rows(changed)
            await asyncio.sleep(0)
        self._settled.set()

    def _update(self, kind: Kind, key: Key) -> str:
        """Make a row anew. Return its id if it has changed, else an empty text."""
        id_ = object_id(kind, key)
        row = self._row(kind, key)
        before = self._listed.get(id_)
        if row is None:
            self._listed.pop(id_, None)
        elif before is None or before.row != row:
            self._listed[id_] = Listed(row, row.text, kind, key)
        else:
            return ""
        return id_ if row is not None or before is not None else ""

    def _row(self, kind: Kind, key: Key) -> ObjectRow | None:
        known = self._modules.get(kind) or self._composed.get(kind)
        obj = self.get(known, key) if known is not None else None
        if known is None or obj is None:
            return None
        try:
            return object_row(obj, known, self.drift_policy)
        except Exception:  # noqa: BLE001 - one object that cannot be shown must not hide the others
            _log.exception("Cannot show an object", kind=kind.kind, subject=str(key))
            return None


def _is_complete(informer: Informer) -> bool:
    """Whether the store has whole objects, and all of a namespace or of the cluster."""
    selection = informer.selection
    return not (selection.metadata_only or selection.labels or selection.fields)


def _spec_change(kind: Kind, change: Change, known: KnownKind | None) -> SpecChange | None:
    """What somebody did; None for a change of the status, or of metadata that means nothing to the operator."""
    some = change.new or change.old
    if some is None or known is None:
        return None
    if change.old is not None and change.new is not None:
        old, new = _peek(change.old).metadata, _peek(change.new).metadata
        if old.written == new.written:
            return None
    if not known.shows(_decode(some)):
        return None
    if change.new is None:
        return SpecChange(kind, change.key, "deleted")
    generation, who = _peek(change.new).metadata.generation, _who(change.received)
    if change.old is None:
        return SpecChange(kind, change.key, "created", who=who, generation=generation)
    if new.deleted and not old.deleted:
        return SpecChange(kind, change.key, "marked for deletion", generation=generation)
    before, after = _decode(change.old), _decode(change.new)
    differences = compare(dig_object(after, "spec"), dig_object(before, "spec"))
    verb = "spec changed" if differences else "annotations changed"
    differences = (*differences, *compare(_wishes(after), _wishes(before)))
    return SpecChange(kind, change.key, verb, differences, who, generation) if differences else None


def _wishes(obj: JsonObject) -> JsonObject:
    """The annotations by which people tell the operator what they want."""
    found = dig_object(obj, "metadata", "annotations")
    return {
        "annotations": {
            name: found[name] for name in found if name.startswith(_PREFIXES) and name not in _OURS
        }
    }


def _who(received: bytes | None) -> str:
    manager = last_manager(received) if received is not None else None
    return manager.shown if manager is not None else ""


def _is_never_own(_: Kind, __: Key) -> bool:
    return False


def _ignore(_: object) -> None:
    return
