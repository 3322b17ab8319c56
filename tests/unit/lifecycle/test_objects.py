"""Objects of several kinds that share values find and wake each other, whatever becomes of their kinds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from edgekeeper.core.calls import CallHook, CallRecord
from edgekeeper.kube.errors import ForbiddenError
from edgekeeper.kube.informers import Informer, Informers
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.lifecycle.claims import HOSTNAME, Claims, ClaimSource
from edgekeeper.lifecycle.objects import ObjectIndex
from edgekeeper.lifecycle.record_claims import RecordSource
from edgekeeper.runtime.contract import ControllerOptions, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager
from kubesim.virtual import virtual_time
from tests.unit.lifecycle.kinds import ROUTE, SHOP, build, hostnames_of, register_of
from tests.unit.runtime.world import PART, QUIET, WIDGET, Toy, World, settle, widget, world

SHOP_IO = "shop.io"
RECORD = {"zone": "Z1", "name": SHOP_IO, "type": "CNAME"}


class Denied:
    """No right to list a kind."""

    def __init__(self, kind: Kind) -> None:
        self._operation = f"LIST {kind.plural}"

    async def before(self, call: CallRecord) -> None:
        if call.operation == self._operation:
            raise ForbiddenError(403, "Forbidden", "not yours")

    async def after(self, call: CallRecord) -> None: ...


class Pair:
    """Controllers of two kinds that share one register, and the passes that they ran."""

    def __init__(self, services: Services) -> None:
        self.claims = Claims()
        self.toys = {WIDGET: Toy(), PART: Toy()}
        self.controllers = {kind: self._controller(kind, services) for kind in self.toys}

    def _controller(self, kind: Kind, services: Services) -> Controller:
        claims = self.claims
        claims.register(ClaimSource(kind, {HOSTNAME: hostnames_of}))
        claims.records.register(RecordSource(kind))

        class Sharing(Controller):
            def attach(self) -> None:
                super().attach()
                claims.objects.attach(kind, self.informers, self.wake)

            def detach(self) -> None:
                super().detach()
                claims.objects.detach(kind)

        return Sharing(ControllerOptions(kind.kind.lower(), kind), self.toys[kind], services)

    def passes(self, kind: Kind) -> list[str]:
        """Whose passes ran since the last question."""
        requests = self.toys[kind].requests
        names = [request.key.name for request in requests]
        requests.clear()
        return names


@asynccontextmanager
async def _operating(place: World, *hooks: CallHook) -> AsyncIterator[Pair]:
    services = place.services(*hooks)
    pair = Pair(services)
    manager = Manager(services, list(pair.controllers.values()), options=QUIET)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        try:
            yield pair
        finally:
            manager.stop()


async def _create(place: World, kind: Kind, name: str, *hostnames: str) -> None:
    await place.create(widget(Key("default", name), hostnames=list(hostnames)), kind)


async def _edit(place: World, kind: Kind, name: str, subresource: str = "", **fields: Any) -> None:
    await place.user.merge_patch(kind, Key("default", name), fields, subresource=subresource)


@virtual_time
async def test_object_is_woken_when_one_of_another_kind_takes_or_gives_up_its_hostname() -> None:
    async with world(PART) as place:
        await _create(place, WIDGET, "one", SHOP_IO)
        await _create(place, WIDGET, "bystander", "other.io")
        async with _operating(place) as pair:
            await settle()
            assert sorted(pair.passes(WIDGET)) == ["bystander", "one"]
            await _create(place, PART, "two", SHOP_IO)
            await settle()
            assert (pair.passes(WIDGET), pair.passes(PART)) == (["one"], ["two"])
            await _edit(place, PART, "two", spec={"hostnames": ["new.io"]})
            await settle()
            assert (pair.passes(WIDGET), pair.passes(PART)) == (["one"], ["two"])
            await _edit(place, PART, "two", spec={"hostnames": ["newer.io"]})
            await settle()
            assert (pair.passes(WIDGET), pair.passes(PART)) == ([], ["two"])
            await _edit(place, WIDGET, "one", spec={"hostnames": ["newer.io"]})
            await settle()
            assert (pair.passes(WIDGET), pair.passes(PART)) == (["one"], ["two"])
            await place.user.delete(PART, Key("default", "two"))
            await settle()
            assert pair.passes(WIDGET) == ["one"]


@virtual_time
async def test_object_that_waits_for_a_record_is_woken_when_it_leaves_the_inventory() -> None:
    async with world(PART) as place:
        await _create(place, WIDGET, "one", SHOP_IO)
        await _create(place, PART, "two")
        async with _operating(place) as pair:
            await settle()
            pair.passes(WIDGET)
            await _edit(place, PART, "two", "status", status={"inventory": [RECORD]})
            await settle()
            assert pair.passes(WIDGET) == ["one"]
            await _edit(place, PART, "two", "status", status={"inventory": []})
            await settle()
            assert pair.passes(WIDGET) == ["one"]
            await _edit(place, PART, "two", "status", status={"note": "x"})
            await settle()
            assert pair.passes(WIDGET) == []


@virtual_time
async def test_object_with_a_record_is_woken_by_whoever_asks_for_its_name() -> None:
    async with world(PART) as place:
        await _create(place, WIDGET, "one")
        await _edit(place, WIDGET, "one", "status", status={"inventory": [RECORD]})
        async with _operating(place) as pair:
            await settle()
            pair.passes(WIDGET)
            await _create(place, PART, "two", SHOP_IO)
            await settle()
            assert pair.passes(WIDGET) == ["one"]


@virtual_time
async def test_objects_of_all_kinds_with_a_value_are_woken() -> None:
    async with world(PART) as place:
        await _create(place, WIDGET, "one", SHOP_IO)
        await _create(place, WIDGET, "bystander", "other.io")
        await _create(place, PART, "two", SHOP_IO)
        async with _operating(place) as pair:
            await settle()
            pair.passes(WIDGET), pair.passes(PART)
            pair.claims.objects.wake(HOSTNAME, SHOP_IO)
            await settle()
            assert (pair.passes(WIDGET), pair.passes(PART)) == (["one"], ["two"])
            pair.claims.objects.wake_kind(WIDGET)
            await settle()
            assert (sorted(pair.passes(WIDGET)), pair.passes(PART)) == (["bystander", "one"], [])


@virtual_time
async def test_kind_whose_controller_is_detached_is_neither_found_nor_woken_and_wakes_nobody() -> None:
    async with world(PART) as place:
        await _create(place, WIDGET, "one", SHOP_IO)
        await _create(place, PART, "two", SHOP_IO)
        async with _operating(place) as pair:
            await settle()
            pair.passes(WIDGET), pair.passes(PART)
            pair.claims.objects.detach(WIDGET)
            await _edit(place, PART, "two", spec={"hostnames": [SHOP_IO, "more.io"]})
            await settle()
            assert (pair.passes(WIDGET), pair.passes(PART)) == ([], ["two"])
            assert pair.claims.objects.holders(HOSTNAME, SHOP_IO) == [(PART, Key("default", "two"))]
            await _edit(place, WIDGET, "one", spec={"hostnames": [SHOP_IO, "more.io"]})
            await settle()
            assert (pair.passes(WIDGET), pair.passes(PART)) == (["one"], [])


@virtual_time
async def test_kind_that_may_not_be_listed_holds_no_other_kind_back() -> None:
    async with world(PART) as place:
        await _create(place, WIDGET, "one", SHOP_IO)
        services = place.services(Denied(PART))
        async with _watching(services.informers, WIDGET, PART) as (objects, informers):
            assert informers[PART].is_denied
            assert objects.holders(HOSTNAME, SHOP_IO) == [(WIDGET, Key("default", "one"))]
            assert objects.is_used(HOSTNAME, "unknown.io"), "who can tell"
            objects.wake(HOSTNAME, SHOP_IO)


@virtual_time
async def test_kind_that_is_not_listed_yet_leaves_everything_open() -> None:
    async with world(PART) as place:
        informers = place.services().informers
        objects = _objects(informers.acquire(PART))
        with pytest.raises(NotSyncedError):
            objects.holders(HOSTNAME, SHOP_IO)
        assert objects.is_used(HOSTNAME, SHOP_IO)
        objects.wake(HOSTNAME, SHOP_IO)


def test_objects_are_found_with_their_kinds() -> None:
    shop, route = build(SHOP, "x", SHOP_IO), build(ROUTE, "y", SHOP_IO)
    objects = register_of(shop, route).claims.objects
    assert objects.holders(HOSTNAME, SHOP_IO) == [(SHOP, shop.key), (ROUTE, route.key)]
    assert objects.find(HOSTNAME, SHOP_IO, besides=shop) == [route]
    assert objects.sharing(shop) == [(ROUTE, route.key)]
    assert objects.holders("shop name", "x") == [(SHOP, shop.key)]


def test_store_that_is_followed_before_its_index_exists_gets_it() -> None:
    register = register_of(build(SHOP, "x", SHOP_IO))
    register.claims.objects.add(SHOP, "namespace", lambda obj: [obj["metadata"]["namespace"]])
    assert register.claims.objects.holders("namespace", "a") == [(SHOP, Key("a", "x"))]


def _nobody(_: Key) -> None:
    """Wakes nobody."""


def _objects(*informers: Informer) -> ObjectIndex:
    """An index over informers, each given twice, as by a controller with two sources of one kind."""
    objects = ObjectIndex()
    for informer in informers:
        objects.add(informer.kind, HOSTNAME, hostnames_of)
        objects.attach(informer.kind, [informer, informer], _nobody)
    return objects


@asynccontextmanager
async def _watching(
    informers: Informers, *kinds: Kind
) -> AsyncIterator[tuple[ObjectIndex, dict[Kind, Informer]]]:
    """Kinds that are watched for some seconds, without controllers."""
    acquired = {kind: informers.acquire(kind) for kind in kinds}
    objects = _objects(*acquired.values())
    await informers.start()
    try:
        await settle()
        yield objects, acquired
    finally:
        await informers.stop()
