"""The same toy operator with kopf and its defaults, as a process of its own.

    python -m benchmarks.runtime.kopf_operator TARGET-JSON

It logs what `kopf run` logs. The finalizer is kopf's doing: it claims every object that has a handler for its deletion.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import kopf
import msgspec

from benchmarks.plane.process import CLIENT_CORE, pin_to_core
from benchmarks.plane.target import Target
from benchmarks.runtime.workload import SITE, ready_status

KIND = (SITE.group, SITE.version, SITE.plural)


def register(target: Target) -> None:
    """Tell kopf where the server is, and what to do for its objects."""

    @kopf.on.login()
    def login(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=target.url, ca_path=target.ca_file, token=target.token or None)

    @kopf.on.create(*KIND)
    @kopf.on.update(*KIND)
    @kopf.on.resume(*KIND)
    async def reconcile(patch: kopf.Patch, **_: Any) -> None:
        patch.status.update(ready_status())

    @kopf.on.delete(*KIND)
    async def finalize(**_: Any) -> None:
        """Nothing was made that would have to go."""


def until_closed() -> threading.Event:
    """Set when the parent closes our standard input, or is gone."""
    closed = threading.Event()

    def read() -> None:
        sys.stdin.read()
        closed.set()

    threading.Thread(target=read, daemon=True).start()
    return closed


if __name__ == "__main__":
    pin_to_core(CLIENT_CORE)
    kopf.configure()
    register(msgspec.json.decode(sys.argv[1], type=Target))
    kopf.run(clusterwide=True, stop_flag=until_closed())
