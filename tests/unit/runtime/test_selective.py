"""Reconcilers that manage only some objects, and views over several namespaces."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.outcome import MetadataWrite, Outcome, done
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from edgekeeper.kube.store import Change, NotSyncedError, Store
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.sources import Mapped, Primary, Scope
from edgekeeper.runtime.views import KindView
from edgekeeper.runtime.watches import Place, places_of
from kubesim.virtual import virtual_time
from tests.unit.runtime.test_sources import encoded
from tests.unit.runtime.world import FINALIZER, KEY, WIDGET, until, widget, world


class Choosy:
    """Manages widgets that are to be managed, and lets go of others."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def manages(self, request: Request) -> bool:
        return bool(dig(request.object, "spec", "managed"))

    async def reconcile(self, request: Request) -> Outcome:
        held = tuple(dig(request.object, "metadata", "finalizers") or ())
        self.seen.append(held)
        if held and not self.manages(request):
            return done().writing(MetadataWrite(remove_finalizers=(FINALIZER,)))
        return done()

    async def finalize(self, request: Request) -> Outcome:
        return done()


def finalizers(obj: JsonObject) -> list[str]:
    return dig(obj, "metadata", "finalizers") or []


@virtual_time
async def test_object_that_is_not_managed_gets_a_pass_and_no_finalizer() -> None:
    choosy = Choosy()
    async with world() as place, place.operating(choosy, finalizer=FINALIZER):
        await place.user.create(WIDGET, widget(managed=False))
        await until(lambda: bool(choosy.seen))
        assert finalizers(await place.user.get(WIDGET, KEY)) == []
        await place.user.merge_patch(WIDGET, KEY, {"spec": {"managed": True}})
        await until(lambda: choosy.seen[-1] == (FINALIZER,))
        await place.user.merge_patch(WIDGET, KEY, {"spec": {"managed": False}})
        await until(lambda: len(choosy.seen) > 2 and choosy.seen[-1] == ())
        assert finalizers(await place.user.get(WIDGET, KEY)) == []


def test_further_namespaces_are_watched_beside_those_of_the_process() -> None:
    source = Primary(CONFIG_MAP, scope=Scope(also=("operator",)))
    assert places_of(source, ("web", "operator")) == [Place("web"), Place("operator")]
    assert places_of(source, ("web",)) == [Place("web"), Place("operator")]
    assert places_of(source, ()) == [Place("")], "all namespaces include it"


def test_mapped_source_may_ignore_changes_of_the_status() -> None:
    before = encoded({"generation": 1, "resourceVersion": "1"}, status={"n": 1})
    after = encoded({"generation": 1, "resourceVersion": "2"}, status={"n": 2})
    change = Change(KEY, before, after, initial=False)
    assert set(Mapped(CONFIG_MAP, lambda _: [KEY]).concerned(change)) == {KEY}
    assert set(Mapped(CONFIG_MAP, lambda _: [KEY], generation_predicate=True).concerned(change)) == set()


def _store(*names: Key, synced: bool = True) -> Store:
    store = Store(CONFIG_MAP)
    for key in names:
        store.put(key, encoded({"namespace": key.namespace, "name": key.name}))
    if synced:
        store.mark_synced()
    return store


def by_name(obj: JsonObject) -> list[str]:
    return [str(dig(obj, "metadata", "name"))]


def test_view_reads_the_store_of_the_namespace_and_knows_no_other() -> None:
    view = KindView(CONFIG_MAP, {"name": by_name})
    one, two = Key("a", "x"), Key("b", "x")
    view.use({"a": _store(one), "b": _store(two)})
    assert view.get(one) is not None
    assert view.get(Key("c", "x")) is None
    assert not view.covers("c")
    assert view.by_index("name", "x") == [one, two]
    assert view.keys() == [one, two]


def test_view_of_a_store_that_is_not_synced_says_so() -> None:
    view = KindView(CONFIG_MAP, {"name": by_name})
    one = Key("a", "x")
    view.use({"a": _store(one), "b": _store(synced=False)})
    with pytest.raises(NotSyncedError):
        view.by_index("name", "x")
    assert view.known_by_index("name", "x") == [one]
    with pytest.raises(NotSyncedError):
        view.get(Key("b", "x"))
