"""The groups of measurements. A group without a module belongs to a part that is still to be built."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from benchmarks.row import Absent, Row

GROUPS: dict[str, str | None] = {
    "plane": "benchmarks.plane.figures",
    "runtime": "benchmarks.runtime.figures",
    "cel": "benchmarks.cel.figures",
    "clouds": "benchmarks.clouds.figures",
    "cloudfront": "benchmarks.cloudfront.figures",
    "package": "benchmarks.package.figures",
    "zerotrust": "benchmarks.zerotrust.figures",
    "composition": "benchmarks.composition.figures",
    "bridge": "benchmarks.bridge.figures",
    "web": "benchmarks.web.figures",
}


def measure_group(name: str) -> Iterator[Row | Absent]:
    """Yield the figures of one group as they become known."""
    module = GROUPS[name]
    if module is None:
        yield Absent(name, name, "nothing to measure yet")
        return
    yield from importlib.import_module(module).measure()
