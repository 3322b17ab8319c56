"""The operator alone, as a process of its own, in real time: what `edgekeeper run` starts, without its command line.

    python -m benchmarks.cloudfront.operator SITE-JSON

    await_passes N    when so many passes had ended since the start, and how many of them failed

Moments are those of the monotonic clock, which all processes share.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks.cloudfront.workload import OPTIONS, Site, new_clients
from benchmarks.runtime.commands import Figures, obey, until
from benchmarks.runtime.passes import Passes
from edgekeeper.cli.assembly import Operator, assembled
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials
from edgekeeper.kube.http import HttpTransport
from edgekeeper.runtime.event_loop import run
from edgekeeper.runtime.logs import configure

LOOK_SECONDS = 0.05


async def passes(operator: Operator, count: float) -> Figures:
    made = Passes(operator.metrics.registry)
    await until(lambda: operator.manager.is_ready and made.ended >= count, LOOK_SECONDS)
    return {"reached": time.monotonic(), "errors": made.troubles}


async def main(site: Site) -> None:
    configure(format="json", level="info")
    cluster = ClusterConfig(site.cluster.url, Trust(Path(site.cluster.ca_file)), StoredCredentials(None))
    async with (
        assembled(
            replace(OPTIONS, signals=True),
            HttpTransport(cluster),
            new_clients(site.aws),
            host=site.cluster.url,
        ) as operator,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(operator.manager.run())
        await obey({"await_passes": lambda count: passes(operator, count)})
        operator.manager.stop()


if __name__ == "__main__":
    run(main(msgspec.json.decode(sys.argv[1], type=Site)))
