"""The cloudflare-worker of a process: one for all its controllers, and one for previews."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from edgekeeper.controllers.zerotrust.worker import CloudflareWorker, WorkerOptions
from edgekeeper.lifecycle.module import CommonOptions, Process

UNKNOWN_POD: Final = "unknown"


def cloudflare_worker(process: Process) -> CloudflareWorker:
    """What the controllers share: API tokens, and what is in doubt. To be had by `process.once`."""
    options = worker_options(process.options)
    return CloudflareWorker(process.services, process.cloudflare, process.registry, options)


def worker_options(common: CommonOptions) -> WorkerOptions:
    return WorkerOptions(
        cluster=common.cluster,
        lost_clusters=common.lost_clusters,
        namespace=common.namespace,
        worker=common.pod_name or UNKNOWN_POD,
        drift_interval=common.drift_interval,
        poll_interval=common.intervals.steady,
        max_concurrent=common.max_concurrent,
        intervals=common.intervals,
    )


@asynccontextmanager
async def looking(process: Process) -> AsyncIterator[CloudflareWorker | None]:
    """Watches and mirrors run inside the context, for a process without controllers. None where it calls no Cloudflare."""
    accounts = process.cloudflare_accounts
    await process.services.informers.start()
    tasks = [] if accounts is None else [asyncio.create_task(accounts.run(), name="Cloudflare accounts")]
    try:
        yield None if accounts is None else process.once(cloudflare_worker)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await process.services.informers.stop()
