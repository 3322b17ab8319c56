"""The status page over a cache with many objects: `python -m benchmarks.web.server COUNT`.

Prints one line of JSON when it listens. Each line on standard input changes one object; it prints when, by the monotonic
clock of the machine.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from itertools import count
from pathlib import Path

import msgspec

from benchmarks.web.objects import KIND, tenant
from edgekeeper.cli.kinds import MODULES
from edgekeeper.cloud.budget import Budget
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.store import Change
from edgekeeper.runtime.http_server import Address, Listener
from edgekeeper.web.access import LinkGate
from edgekeeper.web.directory import Directory
from edgekeeper.web.journal import Journal
from edgekeeper.web.live import Hub
from edgekeeper.web.server import StatusPage
from edgekeeper.web.site import Site

TOKEN = "benchmark"  # noqa: S105 - opens nothing but the benchmark


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def main(objects: int) -> None:
    informer = Informer(KIND, Selection())
    for number in range(objects):
        obj = tenant(number)
        key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        informer.store.put(key, msgspec.json.encode(obj))
    informer.store.mark_synced()
    gc.collect()
    before = resident_mb()
    directory = Directory([informer], MODULES)
    hub = Hub(directory.row, "benchmark")
    directory.on_rows = hub.rows_changed
    journal = Journal(NO_TRACES, SystemClock())
    page = StatusPage(Site(directory, journal, [informer], Budget()), hub, LinkGate(TOKEN))
    listener = Listener(page.handle, Address("127.0.0.1", 0), "--flag", limit=None)
    await listener.start()
    started = time.monotonic()
    running = asyncio.create_task(page.run())
    await asyncio.sleep(0)
    await directory.settled()
    built = time.monotonic() - started
    gc.collect()
    print(json.dumps({"port": listener.port, "built": built, "memory": resident_mb() - before}), flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    for turn in count(1):
        if not await reader.readline():
            break
        _change(informer, turn)
    running.cancel()
    await listener.stop()


def _change(informer: Informer, turn: int) -> None:
    """Let an object say something else."""
    obj = tenant(5, turn)
    key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
    raw = msgspec.json.encode(obj)
    old = informer.store.put(key, raw)
    at = time.monotonic()
    informer.deliver(Change(key, old, raw, initial=False))
    print(json.dumps({"at": at}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
