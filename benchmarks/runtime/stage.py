"""A server full of objects, and operators that are let loose on it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from benchmarks.plane.target import Target
from benchmarks.runtime.processes import Child, run_child

EMBEDDED = "benchmarks.runtime.server"
REAL = "benchmarks.runtime.real_server"
OURS = "benchmarks.runtime.operator"
KOPF = "benchmarks.runtime.kopf_operator"


@dataclass(frozen=True)
class Stage:
    """The server, the number of its objects, and a directory for logs."""

    server: Child
    target: str
    count: int
    directory: Path

    def operator(self, module: str = OURS) -> AbstractContextManager[Child]:
        return run_child(module, self.directory, self.target)


@contextmanager
def set_up(
    count: int, objects: Literal["new", "converged"], server_module: str = EMBEDDED
) -> Iterator[Stage]:
    """A fresh server with so many objects."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with run_child(server_module, directory, name, str(count), objects) as server:
            target = msgspec.json.decode(server.hear(), type=Target)
            yield Stage(server, msgspec.json.encode(target).decode(), count, directory)


class UnfinishedError(Exception):
    """An operator did not bring all objects to their end state in time."""


@dataclass(frozen=True)
class Effort:
    """What it took an operator to bring all objects of a server to their end state."""

    count: int
    seconds: float
    cpu: float
    megabytes: float
    writes: float
    refused: float


def await_convergence(stage: Stage, operator: Child, limit: float) -> Effort:
    """Wait for the end state, and for silence after it: what an operator still has to write belongs to its effort."""
    result = stage.server.call("await_converged", limit)
    if not result["quiet"]:
        raise UnfinishedError(
            f"{result['pending']:,.0f} of {stage.count:,} objects are left after {limit:g} s"
        )
    cpu, megabytes = operator.cpu_seconds(), operator.peak_megabytes()
    tally = stage.server.call("tally")
    return Effort(
        count=stage.count,
        seconds=result["reached"] - operator.started,
        cpu=cpu,
        megabytes=megabytes,
        **tally,
    )
