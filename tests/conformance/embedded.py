"""The embedded server on a loop of its own: tests have theirs, and the server must outlive each of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kubesim.plane import Endpoint, Plane, PlaneConfig, User
from kubesim.plane.auth.certificates import CertificateAuthority, KeyPair
from tests.conformance.pki import Authority
from tests.conformance.servers import CERTIFICATE_GROUP, CERTIFICATE_USER, GROUPS, TOKENS, Server


@contextmanager
def embedded_server(directory: Path) -> Iterator[Server]:
    """Start a plane with the users of the suite, RBAC on, and nothing simulated."""
    authority = Authority(directory)
    files = authority.files
    pair = KeyPair(files.certificate.read_bytes(), files.key.read_bytes())
    config = PlaneConfig(
        auth=True,
        authority=CertificateAuthority.load(pair),
        tokens={token: User(name, (GROUPS[name],), f"{name}-uid") for name, token in TOKENS.items()},
        simulators=frozenset(),
        gateway_api=False,
    )
    with _running(config) as (plane, endpoint, loop):
        yield Server(
            name="embedded",
            url=endpoint.url,
            authority=authority,
            certificate=authority.client(CERTIFICATE_USER, CERTIFICATE_GROUP),
            compact=lambda: _on(loop, plane.store.compact),
        )


@contextmanager
def _running(config: PlaneConfig) -> Iterator[tuple[Plane, Endpoint, asyncio.AbstractEventLoop]]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded server", daemon=True)
    thread.start()
    try:
        plane = Plane(config)
        asyncio.run_coroutine_threadsafe(plane.start(), loop).result()
        endpoint = asyncio.run_coroutine_threadsafe(plane.serve(), loop).result()
        yield plane, endpoint, loop
        asyncio.run_coroutine_threadsafe(plane.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _on(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    """Run a plain function on the server's loop and wait for it."""
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    loop.call_soon_threadsafe(run)
    done.wait()
