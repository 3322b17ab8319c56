"""The pure parts of the runtime's measurements: what counts as done, what the system says, what the ratios are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchmarks.row import Absent, Row
from benchmarks.runtime import comparison
from benchmarks.runtime.comparison import compare, ratios
from benchmarks.runtime.filling import SITES, fill
from benchmarks.runtime.processes import TICKS_PER_SECOND, parse_cpu_seconds, parse_peak_megabytes, run_child
from benchmarks.runtime.stage import KOPF, OURS, Effort, UnfinishedError
from benchmarks.runtime.workload import SITE, definition, is_converged, key_of, ready_status
from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane import Plane, PlaneConfig

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
    rows = {row.name: row for row in ratios(SMALL, LARGE)}
    cpu, memory = (
        rows["CPU beside kopf, 10,000 objects"],
        rows["peak RSS beside kopf, 10,000 objects"],
    )
    assert (cpu.value, cpu.ok) == (0.1, True)
    assert (memory.value, memory.ok) == (0.1, True)
    assert rows["kopf, 10,000 objects: writes per object"].value == 3


def test_kopf_figures_have_no_goals() -> None:
    assert all(row.goal is None for row in ratios(SMALL, LARGE) if row.name.startswith("kopf"))


def test_comparison_falls_back_to_fewer_objects_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[tuple[str, int]] = []

    def measure(module: str, count: int, limit: float) -> Effort:
        measured.append((module, count))
        if count > comparison.FEWER:
            raise UnfinishedError("9 of 10 objects are left")
        return Effort(count, seconds=1, cpu=1 if module == OURS else 10, megabytes=50, writes=0, refused=0)

    monkeypatch.setattr(comparison, "measure", measure)
    gap, *rows = compare(SMALL)
    assert gap == Absent("runtime", "kopf at 10,000 objects", "9 of 10 objects are left")
    assert measured == [(KOPF, 10_000), (OURS, comparison.FEWER), (KOPF, comparison.FEWER)]
    assert _values(iter(rows))["CPU beside kopf, 1,000 objects"] == 0.1


def _values(rows: Iterator[Row | Absent]) -> dict[str, float]:
    return {row.name: row.value for row in rows if isinstance(row, Row)}
