"""Servers on free ports of the loopback interface, certificates for them, and ways to talk to them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from edgekeeper.runtime.http_server import Address, Handler, Listener
from kubesim.plane.auth.certificates import CertificateAuthority, KeyPair

LOOPBACK = "127.0.0.1"
ANYWHERE = Address(LOOPBACK, 0)
NOW = datetime.now(UTC)


@asynccontextmanager
async def listening(handle: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve `handle` and yield its port."""
    listener = Listener(handle, ANYWHERE, "--flag", tls)
    await listener.start()
    try:
        yield listener.port
    finally:
        await listener.stop()


def issue(authority: CertificateAuthority) -> KeyPair:
    return authority.issue_serving((LOOPBACK, "localhost"), NOW)


def put(directory: Path, pair: KeyPair) -> Path:
    """Write a certificate and key as a mounted Secret has them: each file is replaced as a whole."""
    for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key)):
        fresh = directory / f".{name}"
        fresh.write_bytes(content)
        fresh.replace(directory / name)
    return directory


def trusting(authority: CertificateAuthority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate.decode())


def believing() -> ssl.SSLContext:
    """Believe whoever answers."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def shown_certificate(port: int) -> bytes:
    """The certificate (PEM) that a new connection is shown."""
    _, writer = await asyncio.open_connection(LOOPBACK, port, ssl=believing())
    try:
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return ssl.DER_cert_to_PEM_cert(der).encode()
    finally:
        writer.close()


async def say(port: int, request: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back until the server hangs up."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


async def get(url: str, **options: object) -> tuple[int, str]:
    """The status and text of an answer."""
    async with aiohttp.ClientSession() as session, session.get(url, **options) as response:  # type: ignore[arg-type] # options are aiohttp's own
        return response.status, await response.text()
