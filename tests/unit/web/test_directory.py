"""The rows of all objects follow the caches."""

from __future__ import annotations

import asyncio
import copy

import msgspec

from edgekeeper.cli.kinds import MODULES
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.store import Change
from edgekeeper.web.directory import Directory, SpecChange
from edgekeeper.web.journal import Journal
from edgekeeper.web.rows import State
from tests.unit.web.fleet import DEPLOYING, READY, TENANT, Fleet, tenant

ROUTE = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "HTTPRoute",
    "metadata": {"name": "foreign", "namespace": "apps", "generation": 1, "resourceVersion": "1"},
}


async def test_directory_has_what_is_cached_and_follows_it() -> None:
    fleet = Fleet(tenant("shop", DEPLOYING), tenant("docs", READY))
    await fleet.work()
    assert fleet.names() == {"shop", "docs"}
    fleet.put(tenant("shop", READY))
    fleet.delete("docs")
    await fleet.work()
    assert [one.row.state for one in fleet.directory.listed] == [State.READY]


async def test_directory_tells_rows_that_have_changed_and_no_others() -> None:
    fleet = Fleet(tenant("shop", DEPLOYING), tenant("docs", READY))
    await fleet.work()
    told: list[str] = []
    fleet.directory.on_rows = told.extend
    fleet.put(tenant("shop", READY))
    fleet.put(tenant("docs", READY, resourceVersion="2"))
    await fleet.work()
    assert told == ["cloudfront-tenant-operator.io/DistributionTenant/edge/shop"]


async def test_directory_leaves_out_what_is_not_ours() -> None:
    fleet = Fleet()
    fleet.put(ROUTE)
    await fleet.work()
    assert fleet.names() == set()


async def test_directory_ignores_caches_that_are_not_complete() -> None:
    fleet = Fleet()
    partial = Informer(TENANT, Selection(fields="metadata.name=shop"))
    directory = Directory([partial, Informer(TENANT, Selection(metadata_only=True))], MODULES)
    directory.refresh()
    assert directory.stores(TENANT) == []
    assert fleet.directory.stores(TENANT) == []


async def test_directory_drops_the_rows_of_an_informer_that_is_gone() -> None:
    fleet = Fleet(tenant("shop", READY))
    await fleet.work()
    fleet.informers.remove(fleet.tenants)
    await fleet.work()
    assert fleet.names() == set()


async def test_directory_drops_the_rows_of_a_kind_that_is_not_served_any_more() -> None:
    fleet = Fleet(tenant("shop", READY), tenant("docs", READY))
    await fleet.work()
    fleet.tenants.store.mark_not_served()
    await fleet.work()
    assert fleet.names() == set()
    fleet.tenants.store.mark_synced()
    fleet.put(tenant("docs", READY))
    await fleet.work()
    assert fleet.names() == {"docs"}


async def test_changed_values_that_are_secret_are_not_told() -> None:
    fleet = Fleet()
    journal = Journal(NO_TRACES, VirtualClock())
    fleet.directory.on_spec = journal.spec_changed
    before, after = tenant("shop"), tenant("shop", generation=2)
    for obj, value in ((before, "c4n4ry"), (after, "c4n4ry2")):
        obj["spec"]["parameters"] = [
            {"name": "apiToken", "value": value},
            {"name": "colour", "value": value[6:]},
        ]
    fleet.put(before)
    await fleet.work()
    fleet.put(after)
    await fleet.work()
    (changed,) = journal.entries()
    assert [one.path for one in changed.steps[0].fields] == ["parameters[0].value", "parameters[1].value"]
    assert "c4n4ry" not in repr(journal.entries())


async def test_object_that_cannot_be_shown_does_not_hide_others() -> None:
    fleet = Fleet(tenant("shop", READY), tenant("docs", READY))
    fleet.tenants.store.put(Key("edge", "docs"), b'{"metadata": {"name": "docs", "namespace": 1}}')
    await fleet.work()
    assert "shop" in fleet.names()


async def test_changes_of_people_are_told_with_their_fields() -> None:
    fleet = Fleet(tenant("shop", READY))
    await fleet.work()
    told: list[SpecChange] = []
    fleet.directory.on_spec = told.append
    fleet.put(tenant("shop", DEPLOYING, resourceVersion="2"))
    changed = copy.deepcopy(tenant("shop", DEPLOYING, generation=2))
    changed["spec"]["enabled"] = False
    fleet.put(changed)
    fleet.put({**changed, "metadata": {**changed["metadata"], "deletionTimestamp": "2026-01-03T00:00:00Z"}})
    fleet.delete("shop")
    assert [one.verb for one in told] == ["spec changed", "marked for deletion", "deleted"]
    assert [one.path for one in told[0].differences] == ["enabled"]


async def test_annotations_that_the_operator_reads_are_changes_of_people_and_others_are_not() -> None:
    fleet = Fleet(tenant("shop", READY))
    await fleet.work()
    told: list[SpecChange] = []
    fleet.directory.on_spec = told.append
    for written in (
        {"edgekeeper.io/paused": "true"},
        {"edgekeeper.io/paused": "true", "team.example/owner": "ada"},
        {"edgekeeper.io/paused": "true", "edgekeeper.io/message": "written by the operator"},
    ):
        fleet.put(tenant("shop", READY, annotations=written))
    assert [(one.verb, [field.path for field in one.differences]) for one in told] == [
        ("annotations changed", ["annotations[edgekeeper.io/paused]"])
    ]


async def test_change_has_the_client_and_the_generation() -> None:
    fleet = Fleet(tenant("shop", READY))
    await fleet.work()
    told: list[SpecChange] = []
    fleet.directory.on_spec = told.append
    entry = {"manager": "helm", "operation": "Update", "time": "2026-01-02T00:00:00Z"}
    changed = tenant("shop", READY, generation=4)
    changed["spec"]["enabled"] = False
    received = {**changed, "metadata": {**changed["metadata"], "managedFields": [entry]}}
    key, raw = Key("edge", "shop"), msgspec.json.encode(changed)
    old = fleet.tenants.store.put(key, raw)
    fleet.tenants.deliver(Change(key, old, raw, initial=False, received=msgspec.json.encode(received)))
    assert [(one.who, one.generation) for one in told] == [("Helm", 4)]


async def test_writes_of_the_operator_are_not_changes_of_people() -> None:
    fleet = Fleet(tenant("shop", READY))
    await fleet.work()
    told: list[SpecChange] = []
    fleet.directory.on_spec = told.append
    fleet.directory.is_own_write = lambda kind, key: True
    changed = tenant("shop", READY, generation=2)
    changed["spec"]["enabled"] = False
    fleet.put(changed)
    assert told == []


async def test_directory_runs_until_it_is_cancelled_and_lets_go() -> None:
    fleet = Fleet(tenant("shop", READY))
    made = asyncio.Event()
    fleet.directory.on_rows = lambda _: made.set()
    running = asyncio.create_task(fleet.directory.run())
    await made.wait()
    assert fleet.names() == {"shop"}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert fleet.directory.stores(TENANT) == []
