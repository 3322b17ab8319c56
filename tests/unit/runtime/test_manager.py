"""The life of a process: how it starts, who may act when, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.outcome import Outcome, StatusWrite, done
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.lease import Elector, LostLeadershipError
from edgekeeper.kube.transport import TransportError
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager, ManagerOptions, Service
from kubesim.transport import InProcessTransport
from kubesim.virtual import VirtualLoop, virtual_time
from tests.unit.runtime.world import (
    KEY,
    PART,
    QUIET,
    WIDGET,
    CountingMetrics,
    Journal,
    RememberedEvents,
    Toy,
    World,
    observe_generation,
    settle,
    until,
    widget,
    world,
)

LEASE = Key("default", "edgekeeper")


class Diary:
    """Who did what, in order."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def service(self, name: str) -> Service:
        diary = self

        class Noted:
            async def start(self) -> None:
                diary.entries.append(f"{name} starts")

            async def stop(self) -> None:
                diary.entries.append(f"{name} stops")

        return Noted()


class Refusing:
    """Breaks calls while it is told to."""

    def __init__(self, matches: Callable[[CallRecord], bool]) -> None:
        self.active = True
        self._matches = matches

    async def before(self, call: CallRecord) -> None:
        if self.active and self._matches(call):
            raise TransportError("the network is down")

    async def after(self, call: CallRecord) -> None: ...


def elector_of(place: World, identity: str, *hooks: Any, **options: Any) -> Elector:
    client = KubeClient(InProcessTransport(place.plane), Calls(*hooks), place.clock)
    return Elector(client, place.clock, LEASE, identity, **options)


def controller_of(
    services: Services, toy: Toy, name: str = "widget", kind: Kind = WIDGET, **options: Any
) -> Controller:
    return Controller(ControllerOptions(name, kind, **options), toy, services)


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    """A manager that runs within the block, and is asked to stop at its end."""
    task = asyncio.create_task(manager.run())
    try:
        yield task
    finally:
        manager.stop()
        with suppress(LostLeadershipError):
            await task


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_manager_starts_in_order_and_stops_in_reverse() -> None:
    diary = Diary()

    class Recorder(RememberedEvents):
        async def start(self) -> None:
            diary.entries.append(f"recorder starts, leading: {elector.is_leader}")

        async def stop(self) -> None:
            diary.entries.append(f"recorder stops, leading: {elector.is_leader}")

    async def act(request: Request) -> Outcome:
        diary.entries.append("pass")
        return done()

    def leads(is_leader: bool) -> None:
        diary.entries.append(f"leading: {is_leader}, warm: {controller.is_warm}, ready: {manager.is_ready}")

    async with world() as place:
        await place.create(widget())
        shared = place.services()
        services = Services(shared.client, shared.informers, place.clock, Recorder())
        controller = controller_of(services, Toy(act))
        elector = elector_of(place, "me", on_change=leads)
        manager = Manager(
            services, [controller], elector=elector, server=diary.service("server"), options=QUIET
        )
        async with running(manager):
            await settle()
            assert manager.is_ready
    assert diary.entries == [
        "server starts",
        "leading: True, warm: True, ready: True",
        "recorder starts, leading: True",
        "pass",
        "recorder stops, leading: True",
        "leading: False, warm: True, ready: False",
        "server stops",
    ]


@virtual_time
async def test_nobody_acts_before_being_elected() -> None:
    async with world() as place:
        await place.create(widget())
        first, second = Toy(observe_generation), Toy(observe_generation)
        managers = []
        for identity, toy in (("first", first), ("second", second)):
            services = place.services()
            managers.append(
                Manager(
                    services,
                    [controller_of(services, toy)],
                    elector=elector_of(place, identity),
                    options=QUIET,
                )
            )
        async with running(managers[0]):
            await settle()
            journal = Journal()
            async with running(managers[1]):
                await settle(timedelta(minutes=5))
                assert managers[1].is_ready, "a replica that waits is ready"
                assert (first.passes, second.passes) == (1, 0)
                with pytest.raises(LostLeadershipError):
                    await managers[1]._services.client.merge_patch(WIDGET, KEY, {"metadata": {}})
                stopped = now()
                managers[0].stop()
                await until(lambda: second.passes == 1)
                assert now() - stopped < 4, "a lease that was given back is taken at once"
                assert journal.calls == []


@virtual_time
async def test_lost_lease_ends_passes_at_once_and_the_process_with_them() -> None:
    cancelled_at: list[float] = []

    async def linger(request: Request) -> Outcome:
        try:
            await asyncio.sleep(10_000)
        except asyncio.CancelledError:
            cancelled_at.append(now())
            raise
        return done()

    async with world() as place:
        await place.create(widget())
        network = Refusing(lambda call: "leases" in call.operation)
        network.active = False
        journal = Journal()
        services = place.services(journal)
        controller = controller_of(services, Toy(linger), deadline=timedelta(hours=5))
        manager = Manager(services, [controller], elector=elector_of(place, "me", network), options=QUIET)
        async with running(manager) as task:
            await settle(timedelta(minutes=1))
            assert cancelled_at == []
            network.active = True
            broken = now()
            with pytest.raises(LostLeadershipError):
                await task
            assert 8 <= cancelled_at[0] - broken <= 10
            assert not manager.is_ready
            assert now() - cancelled_at[0] < 6
            assert [call for call in journal.calls if call.mutating] == []


@virtual_time
async def test_stop_lets_passes_end_and_writes_what_they_found() -> None:
    async def slow(request: Request) -> Outcome:
        await asyncio.sleep(10)
        return done().writing(StatusWrite({"finished": True}))

    async with world() as place:
        await place.create(widget())
        await place.create(widget(Key("default", "two")))
        toy = Toy(slow)
        async with place.operating(toy, max_concurrent=1) as operator:
            await until(lambda: toy.passes == 1)
            stopped = now()
            operator.manager.stop()
            assert not operator.manager.is_ready
        assert now() - stopped <= 10.1
        assert toy.passes == 1, "no pass starts after the request to stop"
        assert (await place.get(toy.requests[0].key))["status"] == {"finished": True}


@virtual_time
async def test_stop_takes_25_seconds_at_most_even_with_a_stuck_pass() -> None:
    async def stuck(request: Request) -> Outcome:
        await asyncio.Event().wait()
        return done()

    class Slow(RememberedEvents):
        async def stop(self) -> None:
            network.active = True
            await asyncio.sleep(1000)

    class Hanging(Refusing):
        async def before(self, call: CallRecord) -> None:
            if self.active:
                await asyncio.sleep(1000)

    async with world() as place:
        await place.create(widget())
        shared = place.services()
        services = Services(shared.client, shared.informers, place.clock, Slow())
        network = Hanging(lambda _: True)
        network.active = False
        manager = Manager(
            services,
            [controller_of(services, Toy(stuck), deadline=timedelta(hours=1))],
            elector=elector_of(place, "me", network),
            server=Slow(),
            options=QUIET,
        )
        task = asyncio.create_task(manager.run())
        await settle()
        stopped = now()
        manager.stop()
        await task
        assert 15 <= now() - stopped <= 25


@virtual_time
async def test_stop_before_the_stores_are_warm_ends_at_once() -> None:
    async with world() as place:
        toy = Toy()
        services = place.services(Refusing(lambda call: call.operation.startswith("LIST")))
        manager = Manager(services, [controller_of(services, toy)], options=QUIET)
        async with running(manager):
            await settle(timedelta(minutes=10))
            assert not manager.is_ready
            stopped = now()
        assert now() - stopped < 1
        assert toy.passes == 0


@virtual_time
async def test_stop_before_being_elected_ends_at_once() -> None:
    async with world() as place:
        services = place.services()
        network = Refusing(lambda call: "leases" in call.operation)
        elector = elector_of(place, "me", network)
        async with running(
            Manager(services, [controller_of(services, Toy())], elector=elector, options=QUIET)
        ):
            await settle(timedelta(minutes=10))
            stopped = now()
        assert now() - stopped <= 5


@virtual_time
async def test_cancelled_manager_leaves_nothing_behind() -> None:
    async with world() as place:
        await place.create(widget())
        toy = Toy(lambda _: asyncio.sleep(1000, done()))
        services = place.services()
        manager = Manager(
            services, [controller_of(services, toy)], elector=elector_of(place, "me"), options=QUIET
        )
        task = asyncio.create_task(manager.run())
        await until(lambda: toy.passes == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        lease = await place.user.get(Kind("coordination.k8s.io", "v1", "Lease", "leases"), LEASE)
        assert not lease["spec"].get("holderIdentity"), "the lease is given back all the same"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_process_in_order(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    @virtual_time
    async def scenario() -> None:
        async with world() as place:
            services = place.services()
            options = ManagerOptions(signals=True)
            task = asyncio.create_task(
                Manager(services, [controller_of(services, Toy())], options=options).run()
            )
            await settle()
            signal.raise_signal(number)
            await asyncio.wait_for(task, 25)

    scenario()
    assert signal.getsignal(number) == before


@virtual_time
async def test_mistake_in_the_runtime_ends_the_process_and_is_told() -> None:
    class Broken(CountingMetrics):
        def pass_started(self) -> None:
            raise LookupError("no such metric")

    async with world() as place:
        await place.create(widget())
        shared = place.services()
        services = Services(shared.client, shared.informers, place.clock, metrics=Broken())
        with pytest.raises(LookupError, match="no such metric"):
            await Manager(services, [controller_of(services, Toy())], options=QUIET).run()


@virtual_time
async def test_controller_can_be_added_and_removed_while_running() -> None:
    async with world() as place:
        await place.create(widget())
        services = place.services()
        widgets, parts = Toy(observe_generation), Toy()
        manager = Manager(services, [controller_of(services, widgets)], options=QUIET)
        async with running(manager):
            await settle()
            late = controller_of(services, parts, "part", PART)
            await manager.add_controller(late)
            await settle(timedelta(minutes=1))
            await place.define(PART)
            await place.create({"metadata": {"name": "p", "namespace": "default"}}, PART)
            await until(lambda: parts.passes == 1, timedelta(minutes=2))

            await manager.remove_controller(late)
            assert manager.controllers == manager.controllers[:1]
            assert len(list(services.informers)) == 1, "nobody watches what nobody needs"
            await place.create({"metadata": {"name": "q", "namespace": "default"}}, PART)
            await place.patch({"spec": {"size": 2}})
            await until(lambda: widgets.passes == 2)
            assert parts.passes == 1
            await manager.remove_controller(late)


@virtual_time
async def test_controller_that_is_added_before_the_start_starts_with_the_others() -> None:
    async with world() as place:
        await place.create(widget())
        services, toy = place.services(), Toy()
        manager = Manager(services, options=QUIET)
        await manager.add_controller(controller_of(services, toy))
        async with running(manager):
            await until(lambda: toy.passes == 1)


@virtual_time
async def test_controller_whose_store_never_fills_does_not_delay_the_end() -> None:
    async with world(PART) as place:
        services = place.services(Refusing(lambda call: call.operation == "LIST parts"))
        manager = Manager(services, options=QUIET)
        async with running(manager):
            await settle()
            await manager.add_controller(controller_of(services, Toy(), "part", PART))
            await settle(timedelta(minutes=5))
            stopped = now()
        assert now() - stopped < 1


@pytest.mark.parametrize(
    ("roles", "names"),
    [
        (frozenset[str](), {"any", "kube", "cloud"}),
        (frozenset({"kube-worker"}), {"any", "kube"}),
        (frozenset({"kube-worker", "cloud-worker"}), {"any", "kube", "cloud"}),
        (frozenset({"manager"}), {"any"}),
    ],
    ids=["all", "one", "both", "another"],
)
def test_process_of_a_role_runs_the_controllers_of_that_role(roles: frozenset[str], names: set[str]) -> None:
    @virtual_time
    async def scenario() -> None:
        async with world() as place:
            services = place.services()
            controllers = [
                controller_of(services, Toy(), "any"),
                controller_of(services, Toy(), "kube", role="kube-worker"),
            ]
            options = ManagerOptions(roles=roles, signals=False, lag_interval=None)
            manager = Manager(services, controllers, options=options)
            await manager.add_controller(controller_of(services, Toy(), "cloud", role="cloud-worker"))
            assert {controller.options.name for controller in manager.controllers} == names

    scenario()


@virtual_time
async def test_lag_of_the_event_loop_is_measured() -> None:
    async with world() as place:
        services = place.services()
        async with running(Manager(services, options=ManagerOptions(signals=False))):
            await settle(timedelta(seconds=30.5))
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualLoop)
            loop._elapsed += 3  # as if somebody had computed for three seconds
            await settle(timedelta(seconds=1))
            assert isinstance(services.metrics, CountingMetrics)
            assert services.metrics.lags[:31] == pytest.approx([0.0] * 30 + [2.5], abs=1e-5)


def test_what_exists_after_the_start_can_be_kept_from_the_garbage_collector() -> None:
    @virtual_time
    async def scenario() -> None:
        async with world() as place:
            before = gc.get_freeze_count()
            options = ManagerOptions(signals=False, lag_interval=None, freeze=True)
            async with running(Manager(place.services(), options=options)):
                await settle()
                assert gc.get_freeze_count() > before

    scenario()
