"""The embedded server as a process of its own, without simulators: they have nothing to do here."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from benchmarks.plane.process import pin_to_core
from benchmarks.plane.serving import SERVER_CORE, serve_until_closed
from benchmarks.plane.target import Target
from edgekeeper.cli.process import settle_garbage_collection
from kubesim.plane import Plane, PlaneConfig


async def main(directory: Path) -> None:
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        endpoint = await plane.serve(host="127.0.0.1", port=0)
        ca_file = directory / "ca.pem"
        ca_file.write_bytes(endpoint.ca_pem)
        settle_garbage_collection()  # as `edgekeeper up` does
        await serve_until_closed(Target(endpoint.url, str(ca_file)))


if __name__ == "__main__":
    pin_to_core(SERVER_CORE)
    asyncio.run(main(Path(sys.argv[1])))
