"""The partner that does nothing: aiohttp over the same TLS, answering each body with itself.

What remains between it and the embedded server is the price of being an API server.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from pathlib import Path

from aiohttp import web

from benchmarks.plane.process import pin_to_core
from benchmarks.plane.serving import SERVER_CORE, serve_until_closed
from benchmarks.plane.target import Target
from tests.conformance.pki import Authority


async def echo(request: web.BaseRequest) -> web.Response:
    return web.Response(status=201, body=await request.read(), content_type="application/json")


async def main(directory: Path) -> None:
    authority = Authority(directory)
    pair = authority.serving("echo")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pair.certificate, pair.key)
    runner = web.ServerRunner(web.Server(echo, access_log=None))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        port = runner.addresses[0][1]
        await serve_until_closed(Target(f"https://127.0.0.1:{port}", str(authority.files.certificate)))
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    pin_to_core(SERVER_CORE)
    asyncio.run(main(Path(sys.argv[1])))
