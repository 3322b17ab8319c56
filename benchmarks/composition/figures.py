"""Composition: what instances cost in requests, time, processor and memory, beside kro on the same server.

Fleets grow, rest and change in virtual time, so counts of requests are exact and do not depend on the machine. Time,
processor and memory are those of `edgekeeper run` as a process, in real time, over HTTP: once with instances that are
created while it runs, and once started over a fleet that is as it should be.

The bounds with three children are kro's own figures, or better. Only the controllers of composition run, as in kro.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.composition.compiling import compile_all, definitions
from benchmarks.composition.counting import Tally
from benchmarks.composition.fleet import REST_HOURS, Growth, Site
from benchmarks.composition.workload import CHILD_PLURALS, CONTROLLERS, WEB_APP
from benchmarks.row import Goal, Row, best_of
from benchmarks.runtime.processes import Child, run_child
from benchmarks.runtime.scraping import await_passes, free_port

BESIDE_KRO, LARGE = (500, 3), (1_000, 5)
"""Instances, and children of each."""
CREATE_REQUESTS, CREATE_WRITES, CHANGE_REQUESTS = 8, 5, 3
KRO_REVISION_REQUESTS, KRO_MILLISECONDS, KRO_MEGABYTES = 2_500, 35, 73
DEFINITIONS = 50
PATIENCE_SECONDS, QUIET_SECONDS = 600.0, 10.0
INSTANCES: Final = f"instance-{WEB_APP.qualified_plural}"
"""The controller of the instances."""


@dataclass(frozen=True)
class Creation:
    """What `edgekeeper run` did about new instances."""

    base_megabytes: float
    """The most memory that it held before there was anything to do."""
    seconds: float
    cpu: float
    megabytes: float


@dataclass(frozen=True)
class Restart:
    """What a new process did with a fleet that is as it should be."""

    seconds: float
    cpu: float
    megabytes: float
    writes: float
    requests: float


def measure() -> Iterator[Row]:
    """Yield every figure of the group; the largest fleet comes last."""
    yield compile_row(best_of(lambda: compile_all(definitions(DEFINITIONS)), min))
    for count, children in (BESIDE_KRO, LARGE):
        name = f"{count:,} instances with {children} children"
        is_beside_kro = (count, children) == BESIDE_KRO
        yield from creation_rows(name, count, _create(count, children), beside_kro=is_beside_kro)
        with _process("fleet", str(count), str(children)) as (fleet, directory):
            growth = msgspec.json.decode(fleet.hear(), type=Growth)
            if is_beside_kro:
                yield from single_rows(growth)
            yield from growth_rows(name, count, growth, beside_kro=is_beside_kro)
            yield from restart_rows(name, _restart(fleet, count, directory))


def compile_row(seconds: float) -> Row:
    return _row(
        f"{DEFINITIONS} definitions with 5 resources: processor time to compile", seconds * 1000, "ms"
    )


def single_rows(growth: Growth) -> Iterator[Row]:
    """One instance with three children."""
    for name, tally in (("first instance of all", growth.first), ("one more instance", growth.one)):
        yield _row(f"{name}, 3 children: requests", tally.requests, "requests", Goal("≤", CREATE_REQUESTS))
        yield _row(f"{name}, 3 children: writes", tally.written, "writes", Goal("≤", CREATE_WRITES))


def growth_rows(name: str, count: int, growth: Growth, *, beside_kro: bool) -> Iterator[Row]:
    """A fleet from its creation on."""
    many = count - 2
    yield _row(f"{name}: requests for each to create", growth.many.requests / many, "requests")
    yield _row(f"{name}: writes for each to create", growth.many.written / many, "writes")
    yield from rest_rows(name, growth.rest)
    for what, tally in growth.changes.items():
        yield _row(f"{name}: change {what}", tally.requests, "requests", Goal("≤", CHANGE_REQUESTS))
    revision, limit = growth.revision, Goal("≤", KRO_REVISION_REQUESTS)
    children = sum(revision.writes.get(plural, 0) for plural in (*CHILD_PLURALS, WEB_APP.plural))
    yield _row(
        f"{name}: change of the definition, writes per changed child",
        children / count,
        "writes",
        Goal("≤", 1),
    )
    yield _row(
        f"{name}: change of the definition", revision.requests, "requests", limit if beside_kro else None
    )


def rest_rows(name: str, rest: Tally) -> Iterator[Row]:
    """Two resyncs of every instance. Informers list now and then, and a definition is checked every hour."""
    about, asked = rest.about(WEB_APP.plural, *CHILD_PLURALS), rest.requests - rest.lists
    yield _row(f"{name}: two resyncs, writes", rest.written, "writes", Goal("=", 0))
    yield _row(f"{name}: two resyncs, requests about instances and children", about, "requests", Goal("=", 0))
    yield _row(
        f"{name}: requests of the definition per hour at rest", (asked - about) / REST_HOURS, "requests"
    )
    yield _row(f"{name}: lists of informers per hour at rest", rest.lists / REST_HOURS, "requests")


def creation_rows(name: str, count: int, creation: Creation, *, beside_kro: bool) -> Iterator[Row]:
    """`edgekeeper run`, while instances are created."""
    milliseconds = 1000 * creation.cpu / count
    cpu_limit, memory_limit = Goal("≤", KRO_MILLISECONDS), Goal("≤", KRO_MEGABYTES)
    yield _row(f"{name}: from created to ready, all", creation.seconds, "s")
    yield _row(
        f"{name}: processor time for each to create", milliseconds, "ms", cpu_limit if beside_kro else None
    )
    yield _row(f"{name}: peak RSS of edgekeeper run before that", creation.base_megabytes, "MiB")
    yield _row(
        f"{name}: peak RSS of edgekeeper run", creation.megabytes, "MiB", memory_limit if beside_kro else None
    )


def restart_rows(name: str, restart: Restart) -> Iterator[Row]:
    """`edgekeeper run`, started over the fleet."""
    yield _row(f"{name}: restart, everything looked at", restart.seconds, "s")
    yield _row(f"{name}: restart, processor time", restart.cpu, "s")
    yield _row(f"{name}: restart, writes", restart.writes, "writes", Goal("=", 0))
    yield _row(f"{name}: restart, requests", restart.requests, "requests")
    yield _row(f"{name}: peak RSS of the restarted edgekeeper run", restart.megabytes, "MiB")


def _create(count: int, children: int) -> Creation:
    with _process("arrivals", str(children)) as (server, directory):
        site = msgspec.json.decode(server.hear(), type=Site)
        with _operator(site, directory) as (operator, metrics):
            server.call("define")
            await_passes(metrics, (CONTROLLERS[0].name,), 1, PATIENCE_SECONDS)
            time.sleep(QUIET_SECONDS)
            base, cpu = operator.peak_megabytes(), operator.cpu_seconds()
            result = server.call("add", count, PATIENCE_SECONDS)
            if result["ready"] < count:
                raise RuntimeError(f"only {result['ready']:g} of {count} instances became ready")
            time.sleep(QUIET_SECONDS)
            cpu = operator.cpu_seconds() - cpu
            megabytes = operator.peak_megabytes()
            operator.process.terminate()
    return Creation(base, result["seconds"], cpu, megabytes)


def _restart(fleet: Child, count: int, directory: Path) -> Restart:
    site = msgspec.json.decode(fleet.hear(), type=Site)
    with _operator(site, directory) as (operator, metrics):
        seconds = await_passes(metrics, (INSTANCES,), count, PATIENCE_SECONDS) - operator.started
        cpu = operator.cpu_seconds()
        time.sleep(QUIET_SECONDS)
        megabytes = operator.peak_megabytes()
        operator.process.terminate()
    asked = fleet.call("tally")
    return Restart(seconds, cpu, megabytes, asked["writes"], asked["requests"])


@contextmanager
def _process(module: str, *arguments: str) -> Iterator[tuple[Child, Path]]:
    """A server of this group in a directory of its own."""
    with (
        tempfile.TemporaryDirectory() as directory,
        run_child(f"benchmarks.composition.{module}", Path(directory), directory, *arguments) as child,
    ):
        yield child, Path(directory)


@contextmanager
def _operator(site: Site, directory: Path) -> Iterator[tuple[Child, str]]:
    """`edgekeeper run` with the controllers of composition, and where its metrics are."""
    address = f"127.0.0.1:{free_port()}"
    arguments = (
        "run",
        f"--kubeconfig={site.kubeconfig}",
        f"--controllers={','.join(module.name for module in CONTROLLERS)}",
        f"--metrics-bind-address={address}",
        "--metrics-secure=false",
        "--health-probe-bind-address=0",
    )
    with run_child("benchmarks.cloudfront.command", directory, *arguments) as operator:
        yield operator, f"http://{address}/metrics"


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("composition", name, value, unit, goal)
