"""`edgekeeper get` and `edgekeeper events`: what is listed, and what a watch tells."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import pytest
import yaml
from rich.console import Console

from edgekeeper.cli.columns import short_deadline, short_duration
from edgekeeper.cli.events import EventPrinter, request_of
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.get import Output, found
from edgekeeper.cli.kinds import MODULES
from edgekeeper.core.calls import Calls
from edgekeeper.diagnosis.catalog import read_catalog
from edgekeeper.diagnosis.happenings import list_events, watch_events
from edgekeeper.diagnosis.listing import DELETED, ListRequest, watch_rows
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.diagnosis.rows import Row
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.platform.world import APPS, CODE, World, instance, platform
from tests.unit.diagnosis.explained import NO_DEFINITIONS, route, tenant
from tests.unit.diagnosis.read_only import ReadOnly, confirm_no_writes

T = TypeVar("T")
TENANT = Kind("cloudfront-tenant-operator.io", "v1alpha1", "DistributionTenant", "distributiontenants")


def reader_of(world: World) -> KubeClient:
    return KubeClient(ReadOnly(InProcessTransport(world.plane)), Calls(), world.clock)


async def listed(world: World, kinds: str = "all", **more: Any) -> list[Row]:
    request = ListRequest(kinds, **more)
    rows = (await found(reader_of(world), request)).rows
    confirm_no_writes()
    return rows


def printed(rows: list[Row], form: str = "") -> str:
    stream = StringIO()
    Output(Console(file=stream, width=2000, color_system=None), form).print_all(rows)
    return stream.getvalue()


@virtual_time
async def test_objects_of_all_kinds_are_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    async with platform("TubiLambdaService") as world:
        await world.apply(tenant("shop", "shop.example.com"))
        await world.elapse(minutes=1)
        await world.apply(tenant("rival", "shop.example.com"))
        await world.apply(route("wiki"))
        world.cloudflare.account.quotas.applications = 0
        await world.apply(route("guarded", accessApp="true", allowEmails="ada@example.com"))
        await world.apply({**route("plain"), "metadata": {"name": "plain", "namespace": APPS}})
        await world.apply(instance("TubiLambdaService", "orders", code=CODE))
        await world.active("TubiLambdaService", "orders")
        await world.elapse(minutes=20)
        rows = await listed(world)
        names = [f"{row.kind.kind} {row.key}" for row in rows]
        assert "HTTPRoute apps/wiki" in names
        assert "HTTPRoute apps/plain" not in names, "it is not published"
        assert "TubiLambdaService apps/orders" in names
        assert {name.split()[0] for name in names} >= {
            *("DistributionTenant", "CloudflareTask", "CloudflareZeroTrustTenant", "LambdaPermission"),
            *("ResourceGraphDefinition", "GraphRevision"),
        }
        by_name = {str(row.key): row for row in rows if row.kind.kind == "DistributionTenant"}
        assert by_name["apps/shop"].ready
        assert by_name["apps/shop"].details.ids[0].startswith("dt_")
        rival = by_name["apps/rival"]
        assert (rival.ready, rival.reason, rival.waits_for) == (False, "DomainConflict", "you")
        text = printed([rival, by_name["apps/shop"]], "wide")
        assert text.splitlines()[0].split() == [
            *("NAMESPACE", "NAME", "READY", "REASON", "WAITS", "FOR", "UNTIL", "AGE"),
            *("HOSTNAMES", "IDS", "DRIFT", "MESSAGE"),
        ]
        assert "distributiontenant/rival   False   DomainConflict   you" in text
        assert "shop.example.com" in text
        assert "the domain shop.example.com is served by" in text

        printed(rows, "json")
        items = msgspec.json.decode(capsys.readouterr().out)["items"]
        assert {"kind": "HTTPRoute", "ready": True}.items() <= next(
            item for item in items if item["name"] == "wiki" and item["kind"] == "HTTPRoute"
        ).items()
        printed([rival], "yaml")
        (only,) = yaml.safe_load(capsys.readouterr().out)["items"]
        assert (only["waitsFor"], only["hostnames"]) == ("you", ["shop.example.com"])
        printed([rival], "name")
        assert capsys.readouterr().out == "distributiontenants.cloudfront-tenant-operator.io/rival\n"

        # What was asked for, and nothing else
        assert [row.key.name for row in await listed(world, "dt", not_ready=True)] == ["rival"]
        assert [row.key.name for row in await listed(world, "tubilambdaservices,dt", names=("orders",))] == [
            "orders"
        ]
        assert [row.key.name for row in await listed(world, "DistributionTenant", namespace="default")] == []
        with pytest.raises(CommandError, match="there is no dt absent in namespace apps"):
            await listed(world, "dt", names=("absent",), namespace=APPS)
        with pytest.raises(CommandError, match="there is no kind 'pods' among those of edgekeeper"):
            await listed(world, "pods")
        await world.user.delete(
            CUSTOM_RESOURCE_DEFINITION, Key("", "lambdapermissions.bridge.ack.tubi.internal")
        )
        await world.plane.settle()
        with pytest.raises(CommandError, match=r"does not serve lambdapermissions.*; edgekeeper crds"):
            await listed(world, "lperm")
        assert await listed(world), "other kinds are shown"


async def gathered(told: AsyncGenerator[T, None], enough: Callable[[list[T]], bool]) -> list[T]:
    """What a watch tells, until that is enough."""
    found: list[T] = []
    async with asyncio.timeout(3600), aclosing(told) as rows:
        async for row in rows:
            found.append(row)
            if enough(found):
                return found
    raise AssertionError(f"the watch has ended: {found}")


@virtual_time
async def test_watch_tells_changes_as_they_happen_and_polls_nothing() -> None:
    async with platform(NO_DEFINITIONS) as world:
        client = reader_of(world)
        await world.apply(tenant("early", "early.example.com"))
        told = watch_rows(client, world.clock, MODULES, ListRequest("dt", namespace=APPS))
        watching = asyncio.create_task(
            gathered(told, lambda batches: bool(batches[-1]) and batches[-1][0].reason == DELETED)
        )
        await world.elapse(seconds=1)
        await world.apply(tenant("shop", "shop.example.com"))
        await world.until(lambda: world.condition("DistributionTenant", "shop").get("status") == "True")
        await world.user.delete(TENANT, Key(APPS, "shop"))
        first, *changes = await watching
        confirm_no_writes()
        assert [(row.key.name, row.reason) for row in first] == [("early", "Pending")]
        rows = [row for rows in changes for row in rows if row.key.name == "shop"]
        reasons = [row.reason for row in rows]
        assert reasons[0] == "Pending"
        assert "Deployed" in reasons
        assert reasons[-1] == DELETED
        assert all(one != other for one, other in pairwise(rows)), "only changes are told"


@virtual_time
async def test_events_are_told_in_the_order_of_time(capsys: pytest.CaptureFixture[str]) -> None:
    async with platform(NO_DEFINITIONS) as world:
        await world.apply(tenant("shop", "shop.example.com"))
        await world.elapse(minutes=20)
        await world.apply(tenant("rival", "shop.example.com"))
        await world.elapse(minutes=1)
        client = reader_of(world)
        catalog = await read_catalog(MODULES, ClusterReader(client))
        told = await list_events(client, catalog, request_of("", "", catalog))
        assert [one.last for one in told] == sorted(one.last for one in told)
        assert told[-1].reason == "DomainConflict"
        only = await list_events(client, catalog, request_of("dt/shop", APPS, catalog))
        assert {one.key for one in only} == {Key(APPS, "shop")}
        assert await list_events(client, catalog, request_of("httproute", APPS, catalog)) == []
        with pytest.raises(CommandError, match="there is no kind 'pod'"):
            request_of("pod/x", APPS, catalog)
        stream = StringIO()
        EventPrinter(Console(file=stream, width=2000, color_system=None), "").print_all(told[-1:])
        assert "Warning   apps        distributiontenant/rival   DomainConflict   1" in stream.getvalue()
        EventPrinter(Console(), "json").print_all(told)
        assert len(msgspec.json.decode(capsys.readouterr().out)["items"]) == len(told)

        watching = asyncio.create_task(
            gathered(
                watch_events(client, world.clock, catalog, request_of("dt", APPS, catalog)),
                lambda seen: seen[-1].key.name == "third",
            )
        )
        await world.elapse(seconds=1)
        await world.apply(tenant("third", "shop.example.com"))
        seen = await watching
        assert seen[:-1] == told
        confirm_no_writes()


def test_durations_are_short() -> None:
    moments = {5: "5s", 119: "119s", 120: "2m", 7199: "119m", 7200: "2h", 172800: "2d"}
    assert {seconds: short_duration(timedelta(seconds=seconds)) for seconds in moments} == moments
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert short_deadline(now + timedelta(minutes=3), now) == "in 3m"
    assert short_deadline(now - timedelta(minutes=3), now) == "3m overdue"
    assert short_deadline(None, now) == ""
