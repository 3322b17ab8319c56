"""The pure parts of the runtime's measurements: what counts as done, what the system says, what the ratios are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchmarks.row import Absent, Row
from benchmarks.runtime import comparison
from benchmarks.runtime.comparison import compare, mean, ratios
from benchmarks.runtime.filling import SITES, fill
from benchmarks.runtime.processes import TICKS_PER_SECOND, parse_cpu_seconds, parse_peak_megabytes, run_child
from benchmarks.runtime.real_server import count_writes
from benchmarks.runtime.stage import EMBEDDED, KOPF, OURS, REAL, Effort, UnfinishedError
from benchmarks.runtime.workload import SITE, definition, is_converged, key_of, ready_status
from edgekeeper.core.json import JsonObject
from kubesim.plane import Plane, PlaneConfig
from tests.conformance.servers import UnavailableError

SMALL = Effort(count=10_000, seconds=10.0, cpu=10.0, megabytes=90.0, writes=20_000, refused=0)
LARGE = Effort(count=10_000, seconds=99.0, cpu=100.0, megabytes=900.0, writes=30_000, refused=7)


def test_new_object_is_not_converged() -> None:
    assert not is_converged(msgspec.json.encode({"metadata": {"name": "a"}, "spec": {}}))


@pytest.mark.parametrize(
    ("obj", "done"),
    [
        pytest.param({"metadata": {"finalizers": ["a/b"]}, "status": ready_status()}, True, id="both"),
        pytest.param({"metadata": {"finalizers": ["a/b"]}}, False, id="claimed only"),
        pytest.param({"metadata": {}, "status": ready_status()}, False, id="ready only"),
        pytest.param({"metadata": {"finalizers": []}, "status": ready_status()}, False, id="released"),
        pytest.param(
            {"metadata": {"finalizers": ["a/b"]}, "status": {"ready": False}}, False, id="not ready"
        ),
    ],
)
def test_object_is_converged_when_it_is_claimed_and_ready(obj: JsonObject, done: bool) -> None:
    assert is_converged(msgspec.json.encode(obj)) is done


def test_definition_lets_operators_write_the_status_again() -> None:
    (version,) = definition()["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert set(ready_status(1)) == set(status["properties"])
    assert version["subresources"] == {"status": {}}


@pytest.mark.parametrize("converged", [False, True])
async def test_filled_server_has_distinct_objects_that_are_all_alike(converged: bool) -> None:
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        await fill(plane, 5, converged=converged)
        stored = [item.decode() for item in plane.store.collection(SITES).ordered()]
        listed = await plane.client.get(SITE.collection_path())
        bodies = [item.body for item in plane.store.collection(SITES).ordered()]
    assert [item["metadata"]["name"] for item in stored] == [key_of(number).name for number in range(5)]
    assert len({item["metadata"]["uid"] for item in stored}) == 5
    assert len({item["metadata"]["resourceVersion"] for item in stored}) == 5
    assert all(item["spec"] == stored[0]["spec"] for item in stored)
    assert [is_converged(body) for body in bodies] == [converged] * 5
    assert len(listed["items"]) == 5


def test_cpu_time_is_user_and_system_time_whatever_the_program_is_called() -> None:
    fields = ["S", *("0" for _ in range(10)), str(3 * TICKS_PER_SECOND), str(TICKS_PER_SECOND), "0"]
    assert parse_cpu_seconds(f"42 (odd) name) {' '.join(fields)}") == 4.0


def test_peak_memory_is_the_high_water_mark() -> None:
    assert parse_peak_megabytes("Name:\tpython\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n") == 2.0


def test_peak_memory_of_a_process_without_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="VmHWM"):
        parse_peak_megabytes("Name:\tkthreadd\n")


def test_child_that_dies_is_quoted(tmp_path: Path) -> None:
    with run_child("no_such_module", tmp_path) as child, pytest.raises(RuntimeError, match="No module named"):
        child.hear()


def test_ratios_compare_processor_time_and_memory() -> None:
    rows = {row.name: row for row in ratios(SMALL, LARGE, REAL)}
    cpu, memory = (
        rows["CPU beside kopf, 10,000 objects, real server"],
        rows["peak RSS beside kopf, 10,000 objects, real server"],
    )
    assert (cpu.value, cpu.ok) == (0.1, True)
    assert (memory.value, memory.ok) == (0.1, True)
    assert rows["kopf, 10,000 objects, real server: writes per object"].value == 3


def test_only_ratios_on_a_real_server_have_goals() -> None:
    with_goals = [row.name for row in ratios(SMALL, LARGE, REAL) if row.goal is not None]
    assert with_goals == [
        "CPU beside kopf, 10,000 objects, real server",
        "peak RSS beside kopf, 10,000 objects, real server",
    ]
    assert all(row.goal is None for row in ratios(SMALL, LARGE, EMBEDDED))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """What was measured. Ten times our processor time takes kopf, and it never gets through many objects."""
    calls: list[tuple[str, str, int]] = []

    def measure(module: str, server: str, count: int) -> Effort:
        calls.append((module, server, count))
        if module == KOPF and count > comparison.FEWER:
            raise UnfinishedError("9 of 10 objects are left")
        return Effort(count, seconds=1, cpu=1 if module == OURS else 10, megabytes=50, writes=0, refused=0)

    monkeypatch.setattr(comparison, "measure", measure)
    return calls


def test_comparison_falls_back_to_fewer_objects_for_both(
    measured: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "find_programs", Path)
    gap, *rows = compare(SMALL)
    assert gap == Absent("runtime", "kopf at 10,000 objects, embedded server", "9 of 10 objects are left")
    fewer = comparison.FEWER
    assert measured == [
        (KOPF, EMBEDDED, 10_000),
        *((OURS, EMBEDDED, fewer), (KOPF, EMBEDDED, fewer), (OURS, EMBEDDED, fewer)),
        *((OURS, REAL, 10_000), (KOPF, REAL, 10_000)),
        *((OURS, REAL, fewer), (KOPF, REAL, fewer), (OURS, REAL, fewer)),
    ]
    assert _values(iter(rows))["CPU beside kopf, 1,000 objects, real server"] == 0.1


def test_ours_is_the_mean_of_before_and_after() -> None:
    assert mean(SMALL, LARGE) == Effort(
        count=10_000, seconds=54.5, cpu=55.0, megabytes=495.0, writes=25_000, refused=3.5
    )


def test_comparison_says_where_a_real_server_is_missing(
    measured: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_nothing() -> Path:
        raise UnavailableError("not built")

    monkeypatch.setattr(comparison, "find_programs", find_nothing)
    *_, last = compare(SMALL)
    assert isinstance(last, Absent)
    assert last.name == "beside kopf on a real server"
    assert {server for _, server, _ in measured} == {EMBEDDED}


METRICS = """\
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="sites",subresource="status",verb="PATCH"} 20
apiserver_request_total{code="409",resource="sites",subresource="",verb="PATCH"} 3
apiserver_request_total{code="201",resource="events",subresource="",verb="POST"} 4
apiserver_request_total{code="200",resource="leases",subresource="",verb="PUT"} 50
apiserver_request_total{code="200",resource="sites",subresource="",verb="LIST"} 60
"""


def test_writes_on_a_real_server_are_those_of_operators() -> None:
    assert count_writes(METRICS) == {"writes": 27.0, "refused": 3.0}


def _values(rows: Iterator[Row | Absent]) -> dict[str, float]:
    return {row.name: row.value for row in rows if isinstance(row, Row)}
