"""Who is believed, whom we show ourselves as, and that both follow their files."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from edgekeeper.core.clock import Clock, SystemClock, VirtualClock
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import (
    READ_INTERVAL,
    ClientCertificate,
    Credentials,
    CredentialsError,
    StoredCredentials,
)
from edgekeeper.kube.http import HttpTransport, UntrustedServerError
from edgekeeper.kube.tls import TlsContexts
from edgekeeper.kube.transport import ApiRequest, TransportError
from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.auth.certificates import CertificateAuthority
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import QUIET
from tests.unit.kube.hostile import HostileServer, hostile, reply, serving_context

NOW = datetime.now(UTC)
OURS = CertificateAuthority.create(NOW, "ours")
THEIRS = CertificateAuthority.create(NOW, "theirs")
SOON = timedelta(seconds=5)


@asynccontextmanager
async def _serving(authority: CertificateAuthority, *names: str) -> AsyncIterator[HostileServer]:
    async with hostile(reply(200), serving_context(authority, *names)) as server:
        yield server


async def _status(
    url: str, trust: Trust, credentials: Credentials | None = None, path: str = "/version"
) -> int:
    """Ask once, on a connection of its own."""
    cluster = ClusterConfig(url, trust, credentials or StoredCredentials())
    transport = HttpTransport(cluster, environ={})
    try:
        return (await transport.send(ApiRequest("GET", path), SOON)).status
    finally:
        await transport.close()


# Whom we believe


async def test_server_signed_by_a_trusted_authority_is_believed() -> None:
    async with _serving(OURS, "127.0.0.1") as server:
        assert await _status(server.url, Trust(OURS.certificate)) == 200


async def test_server_signed_by_another_authority_is_not_believed() -> None:
    async with _serving(THEIRS, "127.0.0.1") as server:
        with pytest.raises(UntrustedServerError, match="certificate verify failed"):
            await _status(server.url, Trust(OURS.certificate))
        assert server.heard == []


async def test_server_of_another_name_is_not_believed() -> None:
    async with _serving(OURS, "api.example.com") as server:
        with pytest.raises(UntrustedServerError, match="IP address mismatch"):
            await _status(server.url, Trust(OURS.certificate))
        assert server.heard == []


async def test_server_of_the_name_we_expect_is_believed_wherever_it_is() -> None:
    async with _serving(OURS, "api.example.com") as server:
        assert await _status(server.url, Trust(OURS.certificate, server_name="api.example.com")) == 200
        with pytest.raises(UntrustedServerError, match="Hostname mismatch"):
            await _status(server.url, Trust(OURS.certificate, server_name="other.example.com"))


async def test_anyone_is_believed_only_when_that_is_asked_for() -> None:
    async with _serving(THEIRS, "api.example.com") as server:
        assert await _status(server.url, Trust(insecure=True)) == 200
        with pytest.raises(UntrustedServerError):
            await _status(server.url, Trust())


async def test_bundles_of_other_libraries_change_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(THEIRS.certificate)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, str(bundle))
    async with _serving(OURS, "127.0.0.1") as server, _serving(THEIRS, "127.0.0.1") as impostor:
        assert await _status(server.url, Trust(OURS.certificate)) == 200
        with pytest.raises(UntrustedServerError):
            await _status(impostor.url, Trust(OURS.certificate))


async def test_server_without_tls_is_not_spoken_to_in_tls() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TransportError, match="SSL"):
            await _status(f"https://127.0.0.1:{port}", Trust(OURS.certificate))


# Whom we show ourselves as


@asynccontextmanager
async def _plane() -> AsyncIterator[tuple[Plane, str, Trust]]:
    async with Plane(replace(QUIET, now=utc_now, auth=True)) as plane:
        endpoint = await plane.serve()
        yield plane, endpoint.url, Trust(endpoint.ca_pem)


async def test_certificate_makes_us_who_it_says() -> None:
    path = "/api/v1/namespaces/default"
    async with _plane() as (plane, url, trust):
        certificate, key = plane.client_certificate("root", "system:masters")
        assert await _status(url, trust, StoredCredentials(certificate=certificate, key=key), path) == 200
        certificate, key = plane.client_certificate("nobody")
        assert await _status(url, trust, StoredCredentials(certificate=certificate, key=key), path) == 403
        assert await _status(url, trust, None, path) == 403


async def test_new_certificate_is_shown_once_its_files_are_replaced(tmp_path: Path) -> None:
    request = ApiRequest("GET", "/api/v1/namespaces/default")
    clock = VirtualClock()
    certificate_file, key_file = tmp_path / "tls.crt", tmp_path / "tls.key"
    async with _plane() as (plane, url, trust):

        def store(user: str, *groups: str) -> None:
            certificate, key = plane.client_certificate(user, *groups)
            certificate_file.write_bytes(certificate)
            key_file.write_bytes(key)

        store("nobody")
        credentials = StoredCredentials(certificate=certificate_file, key=key_file, clock=clock)
        transport = HttpTransport(ClusterConfig(url, trust, credentials), clock=clock, environ={})
        assert (await transport.send(request, SOON)).status == 403
        store("root", "system:masters")
        assert (await transport.send(request, SOON)).status == 403
        clock.advance(timedelta(seconds=READ_INTERVAL))
        assert (await transport.send(request, SOON)).status == 200
        await transport.close()


async def test_authorities_are_read_again_when_their_file_is_replaced(tmp_path: Path) -> None:
    authorities, clock = tmp_path / "ca.crt", VirtualClock()
    authorities.write_bytes(OURS.certificate)
    async with _serving(THEIRS, "127.0.0.1") as server:
        transport = HttpTransport(ClusterConfig(server.url, Trust(authorities)), clock=clock, environ={})
        with pytest.raises(UntrustedServerError):
            await transport.send(ApiRequest("GET", "/"), SOON)
        authorities.write_bytes(OURS.certificate + THEIRS.certificate)
        clock.advance(timedelta(seconds=READ_INTERVAL))
        assert (await transport.send(ApiRequest("GET", "/"), SOON)).status == 200
        await transport.close()


# Contexts


def _pair(user: str) -> ClientCertificate:
    pair = OURS.issue_client(user, (), NOW)
    return ClientCertificate(pair.certificate, pair.key)


def _contexts(trust: Trust | None = None, clock: Clock | None = None) -> TlsContexts:
    return TlsContexts(trust or Trust(OURS.certificate), clock or SystemClock())


def test_context_stays_while_nothing_changes() -> None:
    """Connections are pooled by it."""
    contexts, pair = _contexts(), _pair("a")
    assert contexts.context(pair) is contexts.context(ClientCertificate(pair.certificate, pair.key))
    assert contexts.context(pair) is not contexts.context(_pair("b"))


def test_context_survives_a_certificate_whose_key_is_not_there_yet() -> None:
    contexts, old, new = _contexts(), _pair("a"), _pair("a")
    present = contexts.context(old)
    assert contexts.context(ClientCertificate(new.certificate, old.key)) is present
    assert contexts.context(new) is not present


@pytest.mark.parametrize(
    ("trust", "certificate"),
    [
        (Trust(b"nonsense"), None),
        (Trust(b"\xff"), None),
        (Trust(OURS.certificate), ClientCertificate(b"nonsense", b"nonsense")),
        (Trust(OURS.certificate), ClientCertificate(_pair("a").certificate, _pair("b").key)),
    ],
    ids=[
        "authorities that are none",
        "authorities that are no text",
        "certificate that is none",
        "another key",
    ],
)
def test_context_of_nonsense_is_refused(trust: Trust, certificate: ClientCertificate | None) -> None:
    with pytest.raises(CredentialsError, match="cannot use the certificates"):
        _contexts(trust).context(certificate)


def test_context_refuses_old_protocols() -> None:
    assert _contexts().context(None).minimum_version == ssl.TLSVersion.TLSv1_2


def test_key_is_not_shown() -> None:
    assert "PRIVATE" not in repr(_pair("a"))
