"""Whom a change concerns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import CONFIG_MAP, Key, Kind
from edgekeeper.kube.store import Change
from edgekeeper.runtime.sources import Mapped, Owned, Primary, is_meaningful
from kubesim.virtual import virtual_time
from tests.unit.runtime.world import KEY, PART, WIDGET, Toy, settle, until, widget, world

CLUSTER_WIDGET = Kind("example.com", "v1", "Widget", "widgets", namespaced=False)


def encoded(metadata: JsonObject, **more: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"name": "one", "namespace": "default", **metadata}, **more})


def change(old: bytes | None, new: bytes | None, *, initial: bool = False) -> Change:
    return Change(KEY, old, new, initial)


BASE: JsonObject = {"uid": "u", "generation": 1, "resourceVersion": "1", "labels": {"a": "b"}}


@pytest.mark.parametrize(
    ("new", "meaningful"),
    [
        pytest.param({"resourceVersion": "2"}, False, id="status, or nothing that we see"),
        pytest.param({"generation": 2}, True, id="spec"),
        pytest.param({"labels": {"a": "c"}}, True, id="labels"),
        pytest.param({"labels": None}, True, id="labels gone"),
        pytest.param({"annotations": {"a": "b"}}, True, id="annotations"),
        pytest.param({"finalizers": ["a"]}, True, id="finalizers"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True, id="deletion"),
        pytest.param({"uid": "v"}, True, id="another object of that name"),
        pytest.param({"ownerReferences": []}, False, id="owners"),
    ],
)
def test_generation_predicate_lets_through_what_matters(new: JsonObject, meaningful: bool) -> None:
    old = encoded(BASE, spec={"size": 1}, status={"size": 1})
    assert is_meaningful(change(old, encoded({**BASE, **new}, status={"size": 2}))) is meaningful


def test_generation_predicate_lets_through_all_of_kinds_without_a_generation() -> None:
    old, new = encoded({"uid": "u"}, data={"a": "b"}), encoded({"uid": "u"}, data={"a": "c"})
    assert is_meaningful(change(old, new))


def test_objects_that_come_and_go_are_meaningful() -> None:
    assert is_meaningful(change(None, encoded(BASE)))
    assert is_meaningful(change(encoded(BASE), None))


def test_primary_concerns_itself() -> None:
    unchanged = change(encoded(BASE), encoded(BASE))
    assert Primary(WIDGET).concerned(unchanged) == ()
    assert Primary(WIDGET, generation_predicate=False).concerned(unchanged) == (KEY,)


def owner(name: str, **changes: Any) -> JsonObject:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "name": name, "controller": True, **changes}


@pytest.mark.parametrize(
    ("reference", "concerned"),
    [
        pytest.param(owner("boss"), {Key("default", "boss")}, id="its owner"),
        pytest.param(
            owner("boss", apiVersion="example.com/v2"), {Key("default", "boss")}, id="another version"
        ),
        pytest.param(owner("boss", controller=False), set(), id="an owner that does not control it"),
        pytest.param(owner("boss", controller=None), set(), id="an owner that does not say"),
        pytest.param(owner("boss", kind="Gadget"), set(), id="another kind"),
        pytest.param(owner("boss", apiVersion="example.org/v1"), set(), id="another group"),
        pytest.param(owner("boss", apiVersion="v1"), set(), id="the core group"),
    ],
)
def test_owned_object_concerns_the_owner_that_controls_it(reference: JsonObject, concerned: set[Key]) -> None:
    source = Owned(PART, WIDGET)
    assert source.concerned(change(None, encoded({"ownerReferences": [reference]}))) == concerned


def test_owned_object_concerns_its_old_and_its_new_owner() -> None:
    old, new = ({"ownerReferences": [owner(name)]} for name in ("old", "new"))
    concerned = set(Owned(PART, WIDGET).concerned(change(encoded(old), encoded(new))))
    assert concerned == {Key("default", "old"), Key("default", "new")}


def test_owned_object_without_owners_concerns_nobody() -> None:
    source = Owned(PART, WIDGET)
    assert source.concerned(change(encoded({}), encoded({"ownerReferences": None}))) == set()


def test_owner_without_a_namespace_is_found_from_any_namespace() -> None:
    part = encoded({"ownerReferences": [owner("boss")]})
    assert Owned(PART, CLUSTER_WIDGET).concerned(change(None, part)) == {Key("", "boss")}


def named_widgets(obj: JsonObject) -> Iterable[Key]:
    return [Key("default", name) for name in dig_list(obj, "spec", "widgets")]


def test_mapped_object_concerns_whom_it_named_before_and_names_now() -> None:
    old, new = encoded({}, spec={"widgets": ["a", "b"]}), encoded({}, spec={"widgets": ["b", "c"]})
    concerned = set(Mapped(PART, named_widgets).concerned(change(old, new)))
    assert {key.name for key in concerned} == {"a", "b", "c"}


@virtual_time
async def test_controller_wakes_the_owner_of_what_changes() -> None:
    async with world(PART) as place:
        toy = Toy()
        boss = await place.create(widget())
        reference = owner("one", uid=boss["metadata"]["uid"])
        async with place.operating(toy, sources=[Owned(PART, WIDGET)]):
            await settle()
            part = {"metadata": {"name": "part", "namespace": "default", "ownerReferences": [reference]}}
            await place.create(part, PART)
            await until(lambda: toy.passes == 2)
            key = Key("default", "part")
            await place.user.merge_patch(PART, key, {"status": {"broken": True}}, subresource="status")
            await until(lambda: toy.passes == 3)
            await place.user.delete(PART, key)
            await until(lambda: toy.passes == 4)
            await settle()
            assert toy.passes == 4


@virtual_time
async def test_mapping_that_fails_stops_neither_the_watch_nor_the_others() -> None:
    def careless(obj: JsonObject) -> Iterable[Key]:
        return [Key("default", obj["data"]["widget"])]

    async with world() as place:
        toy = Toy()
        await place.create(widget())
        async with place.operating(toy, sources=[Mapped(CONFIG_MAP, careless)]) as operator:
            await settle()
            before = operator.metrics.counts["panicked"]
            for name, data in (("bad", {}), ("good", {"widget": "one"})):
                await place.create(
                    {"metadata": {"name": name, "namespace": "default"}, "data": data}, CONFIG_MAP
                )
            await until(lambda: toy.passes == 2)
            assert operator.metrics.counts["panicked"] == before + 1


@virtual_time
async def test_controller_with_a_selector_sees_only_what_it_selects() -> None:
    async with world() as place:
        toy = Toy()
        await place.create(widget(metadata={"labels": {"mine": "yes"}}))
        await place.create(widget(Key("default", "other")))
        async with place.operating(toy, labels="mine=yes") as operator:
            await settle()
            assert [request.key for request in toy.requests] == [KEY]
            await place.patch({"metadata": {"labels": {"mine": None}}})
            await settle(timedelta(hours=11))
            assert toy.passes == 1, "what is no longer selected is gone, for us"
            assert operator.controller.queue.size == 0
