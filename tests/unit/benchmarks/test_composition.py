"""The measurement of composition: what is counted, its goals, and that the operator that is measured is alone."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.composition.compiling import compile_all, definitions
from benchmarks.composition.counting import CountingPlane, Tally, parse_path
from benchmarks.composition.figures import (
    Creation,
    Restart,
    creation_rows,
    growth_rows,
    restart_rows,
    single_rows,
)
from benchmarks.composition.fleet import Fleet, Growth, grow
from benchmarks.composition.workload import definition
from benchmarks.runtime.scraping import passes
from edgekeeper.core.calls import Calls
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from kubesim.plane import PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, run_virtual

NOTHING = Tally()


def growth(**changes: Tally) -> Growth:
    """Figures of a fleet of ten with three children that meet all goals."""
    one = Tally({"webapps": 1, "configmaps": 1, "deployments": 1, "services": 1, "webapps/status": 1}, {}, 3)
    changed = {"a field": Tally({"configmaps": 1, "webapps/status": 1}, {"configmaps": 1})}
    return Growth(
        first=changes.get("first", one),
        one=one,
        many=one,
        seconds=1.0,
        rest=changes.get("rest", Tally(lists=90, reviews=100)),
        changes=changed,
        revision=changes.get("revision", Tally({"configmaps": 10, "graphrevisions": 1}, {"": 3})),
    )


@pytest.mark.parametrize(
    ("path", "parsed"),
    [
        ("/api/v1/namespaces/web/configmaps/shop", ("configmaps", True, "")),
        ("/api/v1/namespaces/web/configmaps", ("configmaps", False, "")),
        ("/api/v1/namespaces/web", ("namespaces", True, "")),
        ("/apis/apps/v1/deployments", ("deployments", False, "")),
        ("/apis/kro.run/v1alpha1/namespaces/web/webapps/shop/status", ("webapps", True, "/status")),
        ("/apis/kro.run/v1alpha1", ("", False, "")),
        ("/openapi/v3/api/v1", ("", False, "")),
        ("/version", ("", False, "")),
    ],
)
def test_path_tells_kind_object_and_subresource(path: str, parsed: tuple[str, bool, str]) -> None:
    assert parse_path(path) == parsed


def test_requests_are_counted_by_what_they_are_for(tmp_path: Path) -> None:
    async def main() -> None:
        clock = LoopClock()
        config = PlaneConfig(tmp_path, simulators=frozenset(), gateway_api=False, now=clock.now)
        async with CountingPlane(config) as plane:
            client = KubeClient(InProcessTransport(plane), Calls(), clock)
            await client.apply(CONFIG_MAP, Key("default", "a"), {"data": {"a": "b"}}, manager="bench")
            await client.get(CONFIG_MAP, Key("default", "a"))
            with pytest.raises(NotFoundError):
                await client.get(CONFIG_MAP, Key("default", "absent"))
            async for _ in client.pages(CONFIG_MAP):
                pass
            await plane.client.get(CONFIG_MAP.path(Key("default", "a")))  # the server's own: nobody's request
            assert plane.tally() == Tally({"configmaps": 1}, {"configmaps": 2}, 1)
            assert plane.tally() == NOTHING

    run_virtual(main)


def test_tally_knows_what_is_about_instances_and_children() -> None:
    tally = Tally({"webapps/status": 2, "graphrevisions": 1}, {"configmaps": 3, "": 5}, lists=7, reviews=11)
    assert (tally.written, tally.requests) == (3, 29)
    assert tally.about("webapps", "configmaps") == 5


def test_goals_are_met_by_good_figures() -> None:
    good = growth()
    rows = [*single_rows(good), *growth_rows("a fleet", 10, good, beside_kro=True)]
    rows += [*creation_rows("a fleet", 10, Creation(60, 9, 0.35, 73), beside_kro=True)]
    rows += [*restart_rows("a fleet", Restart(9, 9, 99, writes=0, requests=99))]
    assert [row.name for row in rows if not row.ok] == []


def test_goals_are_missed_by_requests_writes_processor_and_memory() -> None:
    bad = growth(
        first=Tally({"webapps": 6}, {}, 3),
        rest=Tally({"webapps/status": 1}),
        revision=Tally({"configmaps": 11}, {"": 2_490}),
    )
    bad.changes["a field"] = Tally({"configmaps": 4})
    rows = [*single_rows(bad), *growth_rows("a fleet", 10, bad, beside_kro=True)]
    rows += [*creation_rows("a fleet", 10, Creation(60, 9, 0.36, 73.1), beside_kro=True)]
    rows += [*restart_rows("a fleet", Restart(9, 9, 99, writes=1, requests=99))]
    missed = [row.name.removeprefix("a fleet: ") for row in rows if not row.ok]
    assert missed == [
        "first instance of all, 3 children: requests",
        "first instance of all, 3 children: writes",
        "two resyncs, writes",
        "two resyncs, requests about instances and children",
        "change a field",
        "change of the definition, writes per changed child",
        "change of the definition",
        "processor time for each to create",
        "peak RSS of edgekeeper run",
        "restart, writes",
    ]


@pytest.mark.parametrize("children", [3, 5])
def test_fleet_grows_rests_and_changes_within_its_goals(tmp_path: Path, children: int) -> None:
    found = run_virtual(lambda: grow(tmp_path, 4, children, hours=1), start=datetime.now(UTC))
    assert found.one.written == children + 2
    assert found.many.requests == 2 * found.one.requests
    rows = [*growth_rows("a fleet", 4, found, beside_kro=children == 3)]
    assert [row.name for row in rows if not row.ok] == []


def test_fleet_whose_change_does_not_arrive_fails(tmp_path: Path) -> None:
    """A figure is only given for work that was done."""

    async def main() -> None:
        clock = LoopClock()
        config = PlaneConfig(tmp_path, simulators=frozenset(), gateway_api=False, now=clock.now)
        async with CountingPlane(config) as plane:
            fleet = Fleet(plane, clock, 3)
            await fleet.furnish()
            with pytest.raises(RuntimeError, match="the definition is not Active"):
                await fleet.define()  # there is no operator

    run_virtual(main)


def test_definitions_that_are_compiled_differ_and_compile() -> None:
    bodies = definitions(3)
    assert len({str(body["spec"]) for body in bodies}) == 3
    assert compile_all(bodies) > 0
    broken = definition(3)
    broken["spec"]["resources"][0]["template"]["data"]["text"] = "${unknown.field}"
    with pytest.raises(RuntimeError, match="web-apps does not compile"):
        compile_all([broken])


def test_passes_are_read_from_metrics_and_failed_ones_are_an_error() -> None:
    line = 'controller_runtime_reconcile_total{{controller="instance-webapps.kro.run",result="{}"}} {}\n'
    text = line.format("success", 7) + line.format("requeue_after", 2) + line.format("error", 0)
    assert passes(text, "instance-webapps.kro.run") == 9
    assert passes(text, "instance-webappsxkro.run") == 0
    with pytest.raises(RuntimeError, match="1 passes of instance-webapps"):
        passes(text + line.format("error", 1), "instance-webapps.kro.run")


def test_operator_that_is_measured_has_neither_a_simulator_nor_the_aws_sdk_in_memory() -> None:
    told = (
        "import sys, edgekeeper.cli.run, edgekeeper.controllers.composition.definition_controller;"
        "print([m for m in sys.modules if m.startswith(('aiobotocore', 'botocore.session', 'kubesim'))])"
    )
    finished = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"
