"""Processes for measuring: servers that say where they are, clients that say what they saw, each on a core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.plane.target import Target

CLIENT_CORE = 1
"""Where clients run; servers have the other one."""


def pin_to_core(core: int) -> None:
    """Keep this process on one core, where the system can do that and has so many."""
    if hasattr(os, "sched_setaffinity") and core in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {core})


@contextmanager
def run_server(module: str, directory: Path) -> Iterator[tuple[Target, int]]:
    """Start a server module; give its address and process id. It ends when its standard input is closed."""
    command = [sys.executable, "-m", module, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        try:
            announcement = process.stdout.readline()
            if not announcement:
                raise RuntimeError(f"{module} ended before it served anything")
            yield msgspec.json.decode(announcement, type=Target), process.pid
        finally:
            process.stdin.close()


def run_client(measurement: str, target: Target, path: str, count: int) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    arguments = [measurement, msgspec.json.encode(target).decode(), path, str(count)]
    command = [sys.executable, "-m", "benchmarks.plane.client", *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(finished.stdout, type=dict[str, float])


def resident_megabytes(pid: int) -> float:
    """How much memory a process holds now (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no resident size")
