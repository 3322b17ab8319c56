"""Time from the call that starts the embedded server to its first successful `/readyz`, in a fresh process.

Imports come before the clock starts; `edgekeeper up` is measured with them.
"""

from __future__ import annotations

import asyncio
import ssl
import time

import aiohttp
import msgspec

from benchmarks.plane.process import pin_to_core
from benchmarks.plane.serving import SERVER_CORE
from kubesim.plane import Plane, PlaneConfig


async def main() -> None:
    started = time.perf_counter()
    async with Plane(PlaneConfig()) as plane:
        endpoint = await plane.serve(host="127.0.0.1", port=0)
        trust = ssl.create_default_context(cadata=endpoint.ca_pem.decode())
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{endpoint.url}/readyz", ssl=trust) as answer,
        ):
            answer.raise_for_status()
        seconds = time.perf_counter() - started
    print(msgspec.json.encode({"seconds": seconds}).decode())


if __name__ == "__main__":
    pin_to_core(SERVER_CORE)
    asyncio.run(main())
