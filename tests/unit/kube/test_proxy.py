"""Which proxy is used, and that it is."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.proxy import proxy_for
from edgekeeper.kube.transport import ApiRequest, TransportError
from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.auth.certificates import CertificateAuthority
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import QUIET
from tests.unit.kube.hostile import Heard, hostile, reply, reset, serving_context

OURS = CertificateAuthority.create(utc_now(), "ours")
SERVER = "https://api.example.com:6443"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "http://small:3128", "HTTPS_PROXY": "http://large:3128"}, "http://small:3128"),
        ({"HTTPS_PROXY": "proxy:3128"}, "http://proxy:3128"),
        ({"HTTP_PROXY": "http://proxy:3128"}, ""),
        ({"HTTPS_PROXY": ""}, ""),
    ],
    ids=["none", "large letters", "small letters first", "without scheme", "for another scheme", "empty"],
)
def test_proxy_is_the_one_for_the_scheme(environ: dict[str, str], expected: str) -> None:
    assert proxy_for(SERVER, environ) == expected


@pytest.mark.parametrize(
    ("server", "exempt", "direct"),
    [
        (SERVER, "*", True),
        (SERVER, "example.com", True),
        (SERVER, ".example.com", True),
        (SERVER, "*.example.com", True),
        (SERVER, "api.example.com", True),
        (SERVER, "api.example.com:6443", True),
        (SERVER, "api.example.com:443", False),
        (SERVER, "ample.com", False),
        (SERVER, "other.com, EXAMPLE.com", True),
        (SERVER, "other.com,,", False),
        ("https://example.com", ".example.com", False),
        ("https://10.96.0.1:443", "10.96.0.0/12", True),
        ("https://10.96.0.1:443", "10.96.0.1", True),
        ("https://10.96.0.1:443", "10.96.0.1:443", True),
        ("https://10.96.0.1:443", "10.97.0.0/16", False),
        ("https://[fd00::1]:443", "fd00::/8", True),
        ("https://[fd00::1]:443", "[fd00::1]:443", True),
        ("https://[fd00::1]:443", "[fd00::1]:444", False),
        ("https://127.0.0.1:6443", "", True),
        ("https://localhost:6443", "", True),
        ("https://[::1]:6443", "", True),
    ],
)
def test_what_no_proxy_names_is_reached_directly(server: str, exempt: str, direct: bool) -> None:
    environ = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": exempt}
    assert (proxy_for(server, environ) == "") is direct


# A proxy that tunnels


@dataclass
class Tunnels:
    url: str = ""
    heads: list[str] = field(default_factory=list)


@asynccontextmanager
async def _proxy(accepts: bool = True, tls: ssl.SSLContext | None = None) -> AsyncIterator[Tunnels]:
    tunnels = Tunnels()
    tasks: set[asyncio.Task[None]] = set()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        tunnels.heads.append(head)
        if not accepts:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            writer.close()
            return
        host, _, port = head.split(" ")[1].rpartition(":")
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for source, target in ((reader, inner_writer), (inner_reader, writer)):
            tasks.add(asyncio.create_task(_pump(source, target)))

    listening = await asyncio.start_server(connect, "127.0.0.1", 0, ssl=tls)
    tunnels.url = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield tunnels
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for what is closed to be gone


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        with suppress(ConnectionError):
            while chunk := await source.read(65536):
                target.write(chunk)
                await target.drain()
    finally:
        target.close()


async def _ask(cluster: ClusterConfig, environ: dict[str, str] | None = None) -> int:
    transport = HttpTransport(cluster, environ=environ or {})
    try:
        return (await transport.send(ApiRequest("GET", "/readyz"), timedelta(seconds=5))).status
    finally:
        await transport.close()


async def test_server_is_reached_through_the_proxy_of_its_kubeconfig() -> None:
    async with Plane(replace(QUIET, now=utc_now)) as plane, _proxy() as proxy:
        endpoint = await plane.serve()
        cluster = ClusterConfig(endpoint.url, Trust(endpoint.ca_pem), proxy=f"http://user:word@{proxy.url}")
        assert await _ask(cluster) == 200
    address = endpoint.url.removeprefix("https://")
    assert proxy.heads[0].startswith(f"CONNECT {address} ")
    assert f"Proxy-Authorization: Basic {b64encode(b'user:word').decode()}" in proxy.heads[0]


async def test_proxy_of_the_kubeconfig_wins_over_the_environment() -> None:
    async with Plane(replace(QUIET, now=utc_now)) as plane, _proxy() as proxy, _proxy() as other:
        endpoint = await plane.serve()
        cluster = ClusterConfig(endpoint.url, Trust(endpoint.ca_pem), proxy=f"http://{proxy.url}")
        assert await _ask(cluster, {"HTTPS_PROXY": f"http://{other.url}"}) == 200
        assert (len(proxy.heads), len(other.heads)) == (1, 0)


async def test_proxy_that_refuses_is_named_without_its_password() -> None:
    async with hostile(reply(200)) as server, _proxy(accepts=False) as proxy:
        url = server.url.replace("http:", "https:")
        with pytest.raises(TransportError, match="407") as caught:
            await _ask(ClusterConfig(url, proxy=f"http://user:password1@{proxy.url}"))
    assert "password1" not in str(caught.value)


async def test_proxy_that_hangs_up_is_told_from_the_server() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        reset(writer)

    async with hostile(talk) as proxy:
        with pytest.raises(TransportError, match=r"disconnected \(by the proxy "):
            await _ask(ClusterConfig(SERVER, proxy=proxy.url))


async def test_proxy_may_speak_tls_itself() -> None:
    async with Plane(replace(QUIET, now=utc_now)) as plane:
        endpoint = await plane.serve()
        async with _proxy(tls=serving_context(OURS, "127.0.0.1")) as proxy:
            trust = Trust(endpoint.ca_pem + OURS.certificate)
            assert await _ask(ClusterConfig(endpoint.url, trust, proxy=f"https://{proxy.url}")) == 200
            assert len(proxy.heads) == 1


async def test_proxy_without_a_tunnel_reads_the_whole_address() -> None:
    async with hostile(reply(200)) as proxy:
        via = proxy.url.replace("://", "://user:word@")
        assert await _ask(ClusterConfig("http://api.example.com:8080/base", proxy=via)) == 200
        heard = proxy.heard[0]
    assert heard.target == "http://api.example.com:8080/base/readyz"
    assert heard.headers["host"] == "api.example.com:8080"
    assert heard.headers["proxy-authorization"] == f"Basic {b64encode(b'user:word').decode()}"
