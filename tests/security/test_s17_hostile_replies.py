"""S-17: whoever answers in the place of a cloud or of the API server gains nothing but an error in conditions.

Each attack is served over a socket to the clients of production, with the limits of production: the answer ends in an
error of ordinary length, in bounded time and memory, and no request goes anywhere else. The same clients get their
answer where the server is honest. What mutated documents do is in `test_s17_documents`.
"""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import aiohttp.connector
import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws import operations as aws
from edgekeeper.cloud.aws.access import AwsAccess, AwsCall
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.cloudflare import operations as cloudflare
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.models import Zone
from edgekeeper.cloud.cloudflare.sender import HttpSender, SenderOptions
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.errors import PassError
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.cluster import Trust
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.auth.certificates import CertificateAuthority
from tests.results import Figures
from tests.unit.cloud.aws.world import session_of
from tests.unit.kube.hostile import (
    Heard,
    HostileServer,
    Talk,
    hostile,
    reply,
    serving_context,
)
from tests.unit.kube.transports import transport_to

MIB: Final = 1024 * 1024
DEADLINE: Final = timedelta(seconds=2)
MOST_SECONDS: Final = 20
"""On a busy machine. A call ends with its deadline; unpacking and decoding are what may come on top of it."""
LONGEST_MESSAGE: Final = 2500
TOKEN: Final = "token-that-stays-here"

Ask = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Client:
    """A client of production."""

    name: str
    asking: Callable[[str], AbstractAsyncContextManager[Ask]]
    """Makes a function that reads something from the server at an address."""
    honest: bytes
    """What an honest server answers."""
    most_memory: int
    """Bytes that one answer may take: its largest size, as it arrives and as a whole."""


@asynccontextmanager
async def _aws(url: str) -> AsyncIterator[Ask]:
    clock = SystemClock()
    transport = Transport(Calls(), clock, Budget(), CloudMetrics(CollectorRegistry()))
    clients = AwsClients(AwsSettings(endpoint_url=url), session=session_of("key"))
    once = replace(aws.LIST_TENANTS, idempotent=False, deadline=DEADLINE)
    try:
        caller = AwsAccess(transport, clients, clock).caller()
        await clients.warm_up("cloudfront")
        yield lambda: caller.call(AwsCall(once, "", {}, _tenants))
    finally:
        await clients.close()


def _tenants(answer: JsonObject) -> list[str]:
    return [one["Id"] for one in answer["DistributionTenantList"]]


@asynccontextmanager
async def _cloudflare(url: str) -> AsyncIterator[Ask]:
    transport = Transport(Calls(), SystemClock(), Budget(), CloudMetrics(CollectorRegistry()))
    sender = HttpSender(SenderOptions(proxy_from_environment=False))
    client = CloudflareClient(transport, sender, Credential("a/b/c", lambda: TOKEN), f"{url}/client/v4")
    endpoint = cloudflare.LIST_ZONES
    once = replace(endpoint, operation=replace(endpoint.operation, idempotent=False, deadline=DEADLINE))
    try:
        yield lambda: client.call(CloudflareCall(once, {}), list[Zone])
    finally:
        await sender.close()


@asynccontextmanager
async def _kubernetes(url: str) -> AsyncIterator[Ask]:
    async with transport_to(url) as transport:
        client = KubeClient(transport, Calls(), SystemClock(), ClientOptions(deadline=DEADLINE))
        yield lambda: client.get(CONFIG_MAP, Key("default", "one"))


AWS: Final = Client(
    "aws",
    _aws,
    b"<ListDistributionTenantsResult><DistributionTenantList><DistributionTenantSummary><Id>1</Id>"
    b"</DistributionTenantSummary></DistributionTenantList></ListDistributionTenantsResult>",
    32 * MIB,
)
CLOUDFLARE: Final = Client(
    "cloudflare",
    _cloudflare,
    b'{"success":true,"result":[{"id":"1","name":"example.com","account":{"id":"1"}}]}',
    96 * MIB,
)
KUBERNETES: Final = Client("kubernetes", _kubernetes, b'{"kind":"ConfigMap"}', 560 * MIB)
CLIENTS: Final = (AWS, CLOUDFLARE, KUBERNETES)
each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name)


# Attacks


def _forever(head: bytes, part: bytes, pause: float = 0) -> Talk:
    """Begin an answer, and go on with the same part until the other side has had enough."""

    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 -\r\n" + head)
        while True:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)

    return talk


def _raw(data: bytes) -> Talk:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return talk


def _bomb(size: int) -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    parts = [packing.compress(b" " * MIB) for _ in range(size // MIB)]
    return b"".join([*parts, packing.flush()])


BOMB: Final = _bomb(320 * MIB)
DEEP: Final = 200_000
DEEP_JSON: Final = b'{"a":' * DEEP + b"1" + b"}" * DEEP
DEEP_LIST: Final = b"[" * DEEP + b"]" * DEEP
DEEP_XML: Final = b"<a>" * DEEP + b"</a>" * DEEP
ENTITIES: Final = b"".join(
    b'<!ENTITY e%d "%s">' % (number, b"&e%d;" % (number - 1) * 10) for number in range(1, 12)
)
LAUGHS: Final = (
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e0 "lol">' + ENTITIES + b"]>"
    b"<ListDistributionTenantsResult><NextMarker>&e11;</NextMarker></ListDistributionTenantsResult>"
)
FILE: Final = (
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
    b"<ListDistributionTenantsResult><NextMarker>&e;</NextMarker></ListDistributionTenantsResult>"
)

ATTACKS: Final[dict[str, Talk]] = {
    "endless body": _forever(b"transfer-encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 0x10000 + b"\r\n"),
    "declared huge body": _forever(b"content-length: 1000000000000\r\n\r\n", b"[" * 0x10000),
    "dripping body": _forever(b"content-length: 1000000\r\n\r\n", b" ", pause=0.05),
    "dripping headers": _forever(b"", b"x-a: b\r\n", pause=0.05),
    "endless header": _forever(b"x-long: ", b"a" * 0x10000),
    "many headers": _raw(b"HTTP/1.1 200 -\r\n" + b"x-a: b\r\n" * 1_000_000 + b"\r\n{}"),
    "gzip bomb": reply(200, BOMB, "application/json", content_encoding="gzip"),
    "nested gzip": reply(200, gzip.compress(BOMB), "application/json", content_encoding="gzip, gzip"),
    "truncated gzip": reply(200, BOMB[:100], "application/json", content_encoding="gzip"),
    "unknown encoding": reply(200, b"abc", "application/json", content_encoding="zstd"),
    "not HTTP": _raw(b"220 mail.example.com ESMTP\r\n"),
    "closed at once": _raw(b""),
    "truncated": _raw(b'HTTP/1.1 200 -\r\ncontent-length: 1000\r\n\r\n{"success":true,'),
    "two lengths": _raw(b"HTTP/1.1 200 -\r\ncontent-length: 2\r\ncontent-length: 900\r\n\r\n{}"),
    "negative length": _raw(b"HTTP/1.1 200 -\r\ncontent-length: -1\r\n\r\n{}"),
    "page of HTML": reply(200, b"<html><body>Please sign in</body></html>", "text/html"),
    "deep JSON": reply(200, DEEP_JSON),
    "deep list": reply(200, DEEP_LIST),
    "deep XML": reply(200, DEEP_XML, "text/xml"),
    "deep JSON of an error": reply(500, DEEP_JSON),
    "deep list of an error": reply(500, DEEP_LIST),
    "deep XML of an error": reply(500, DEEP_XML, "text/xml"),
    "entities that multiply": reply(200, LAUGHS, "text/xml"),
    "entity of a file": reply(200, FILE, "text/xml"),
    "invalid characters": reply(200, b'{"a":"\xff\xfe\x00"}'),
    "huge number": reply(200, b'{"success":true,"result":' + b"9" * 100_000 + b"}"),
    "other type": reply(200, b'{"success":"yes","result":7,"kind":[]}'),
    "list": reply(200, b"[]"),
    "null": reply(200, b"null"),
    "huge error": reply(400, b'{"success":false,"errors":[{"code":1,"message":"' + b"x" * MIB + b'"}]}'),
}
VALID: Final = {
    ("kubernetes", "other type"),  # any object is one: whoever reads a field checks it
    ("kubernetes", "huge number"),
    ("kubernetes", "deep JSON"),  # fields without a schema may be nested: see `kube.nesting`
}


@pytest.mark.parametrize(
    ("client", "attack"),
    [
        pytest.param(client, attack, id=f"{client.name}-{attack}")
        for client in CLIENTS
        for attack in ATTACKS
        if (client.name, attack) not in VALID
    ],
)
async def test_hostile_answer_ends_in_an_error(client: Client, attack: str, figures: Figures) -> None:
    loop = asyncio.get_running_loop()
    async with hostile(ATTACKS[attack]) as server, client.asking(server.url) as ask:
        began = loop.time()
        tracemalloc.start()
        try:
            with pytest.raises((PassError, ApiError)) as caught:
                await ask()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert len(server.heard) == 1 or client is KUBERNETES  # which repeats reads
    assert peak < client.most_memory
    assert loop.time() - began < MOST_SECONDS
    assert 0 < len(str(caught.value)) <= LONGEST_MESSAGE
    figures.count("hostile answers")


@each_client
async def test_honest_answer_is_read(client: Client) -> None:
    async with hostile(reply(200, client.honest)) as server, client.asking(server.url) as ask:
        assert await ask()


# Redirects


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("scheme", ["elsewhere", "metadata", "file", "here"])
@each_client
async def test_redirect_is_not_followed(client: Client, scheme: str, status: int, figures: Figures) -> None:
    """Neither to another host, which would get the credentials, nor to the metadata service, nor to the same host."""
    async with hostile(reply(200, client.honest)) as other:
        targets = {
            "elsewhere": f"{other.url.replace('127.0.0.1', 'localhost')}/x",
            "metadata": "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
            "file": "file:///etc/hostname",
            "here": "/elsewhere",
        }
        talk = reply(status, b"", location=targets[scheme])
        async with hostile(talk) as server, client.asking(server.url) as ask:
            with pytest.raises((PassError, ApiError)) as caught:
                await ask()
            assert len(server.heard) == 1
        assert other.heard == []
    assert TOKEN not in str(caught.value)
    figures.count("redirects")


# Certificates


@dataclass(frozen=True)
class Identity:
    """A certificate that a server shows, and whether it may be accepted."""

    name: str
    is_known: bool = True
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1")
    age: timedelta = timedelta()

    @property
    def is_right(self) -> bool:
        return self.is_known and "127.0.0.1" in self.hosts and not self.age


IDENTITIES: Final = (
    Identity("right"),
    Identity("of another host", hosts=("api.example.com",)),
    Identity("of a name that contains ours", hosts=("127.0.0.1.example.com",)),
    Identity("of an unknown authority", is_known=False),
    Identity("of an expired authority", age=timedelta(days=4000)),
)


@asynccontextmanager
async def _showing(
    identity: Identity, client: Client, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[HostileServer, Ask]]:
    """A server with this certificate, and a client that trusts its authority if that is known."""
    authority, stranger = (CertificateAuthority.create(utc_now() - identity.age) for _ in range(2))
    bundle = directory / "ca.crt"
    bundle.write_bytes((authority if identity.is_known else stranger).certificate)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    # As aiohttp does when it is imported, which was before the variable was set.
    made = aiohttp.connector._make_ssl_context(True)
    monkeypatch.setattr(aiohttp.connector, "_SSL_CONTEXT_VERIFIED", made)
    context = serving_context(authority, *identity.hosts)
    async with hostile(reply(200, client.honest), context) as server:
        if client is KUBERNETES:
            async with transport_to(server.url, trust=Trust(bundle)) as transport:
                kube = KubeClient(transport, Calls(), SystemClock(), ClientOptions(deadline=DEADLINE))
                yield server, lambda: kube.get(CONFIG_MAP, Key("default", "one"))
        else:
            async with client.asking(server.url) as ask:
                yield server, ask


@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda one: one.name)
@each_client
async def test_certificate_of_the_server_is_checked(
    client: Client, identity: Identity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    async with _showing(identity, client, tmp_path, monkeypatch) as (server, ask):
        if identity.is_right:
            assert await ask()
            assert len(server.heard) == 1
        else:
            with pytest.raises((PassError, ApiError)) as caught:
                await ask()
            assert "certificate" in str(caught.value).lower()
            assert server.heard == []
    figures.count("certificates")
