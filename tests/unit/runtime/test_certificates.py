"""Certificates that are replaced while we serve with them."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from edgekeeper.runtime.certificates import (
    CertificateError,
    CertificateFiles,
    DirectoryCertificate,
    self_signed,
    server_context,
)
from edgekeeper.runtime.http_server import plain
from kubesim.plane.auth.certificates import CertificateAuthority, KeyPair
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.unit.runtime.wire import NOW, issue, listening, put, shown_certificate

FLAG = "--webhook-cert-path"


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority.create(NOW)


@pytest.fixture
def directory(tmp_path: Path, authority: CertificateAuthority) -> Path:
    return put(tmp_path, issue(authority))


async def greet(_: web.BaseRequest) -> web.Response:
    return plain("hello")


def encrypted(pair: KeyPair) -> KeyPair:
    key = load_pem_private_key(pair.key, None)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    return KeyPair(pair.certificate, secret)


async def test_new_handshakes_get_the_new_certificate(
    directory: Path, authority: CertificateAuthority
) -> None:
    certificate = DirectoryCertificate(directory, FLAG)
    first = (directory / "tls.crt").read_bytes()
    second = issue(authority)
    async with listening(greet, certificate.context) as port:
        assert await shown_certificate(port) == first
        put(directory, second)
        assert await shown_certificate(port) == first
        assert certificate.refresh()
        assert await shown_certificate(port) == second.certificate


async def test_open_connections_outlive_a_rotation(directory: Path, authority: CertificateAuthority) -> None:
    certificate = DirectoryCertificate(directory, FLAG)
    async with listening(greet, certificate.context) as port:
        trust = ssl.create_default_context(cadata=authority.certificate.decode())
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        put(directory, issue(authority))
        certificate.refresh()
        writer.write(b"GET / HTTP/1.1\r\nHost: us\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).endswith(b"hello")
        writer.close()


def test_unchanged_files_are_not_loaded_again(directory: Path) -> None:
    certificate = DirectoryCertificate(directory, FLAG)
    with capture_logs() as logs:
        assert not certificate.refresh()
    assert logs == []


def test_files_may_have_other_names(directory: Path) -> None:
    (directory / "tls.crt").rename(directory / "server.pem")
    (directory / "tls.key").rename(directory / "server-key.pem")
    DirectoryCertificate(directory, FLAG, CertificateFiles("server.pem", "server-key.pem"))
    with pytest.raises(
        CertificateError, match=r"other\.pem is missing; .* with other\.pem and server-key\.pem"
    ):
        DirectoryCertificate(directory, FLAG, CertificateFiles("other.pem", "server-key.pem"))


def _no_key(directory: Path, pair: KeyPair) -> None:
    put(directory, pair)
    (directory / "tls.key").unlink()


def _other_key(directory: Path, pair: KeyPair) -> None:
    (directory / "tls.crt").write_bytes(pair.certificate)


def _torn(directory: Path, pair: KeyPair) -> None:
    put(directory, KeyPair(pair.certificate[:100], pair.key))


def _empty(directory: Path, _: KeyPair) -> None:
    put(directory, KeyPair(b"", b""))


def _locked(directory: Path, pair: KeyPair) -> None:
    put(directory, encrypted(pair))


def _endless(directory: Path, pair: KeyPair) -> None:
    put(directory, KeyPair(pair.certificate * 5000, pair.key))


BREAK = {
    "no key": (_no_key, "tls.key is missing"),
    "another's key": (_other_key, "tls.crt and tls.key do not belong together"),
    "torn": (_torn, "is no PEM"),
    "empty": (_empty, "is no PEM"),
    "encrypted": (_locked, "tls.key is encrypted"),
    "endless": (_endless, "tls.crt is larger than"),
}


@pytest.mark.parametrize("name", BREAK)
async def test_broken_files_keep_the_present_certificate_and_are_told_once(
    name: str, directory: Path, authority: CertificateAuthority
) -> None:
    certificate = DirectoryCertificate(directory, FLAG)
    first = (directory / "tls.crt").read_bytes()
    spoil, why = BREAK[name]
    async with listening(greet, certificate.context) as port:
        spoil(directory, issue(authority))
        with capture_logs() as logs:
            assert not certificate.refresh()
            assert not certificate.refresh()
        assert [line["event"] for line in logs] == ["New certificate cannot be used, the present one stays"]
        assert why in logs[0]["why"]
        assert await shown_certificate(port) == first
        mended = issue(authority)
        put(directory, mended)
        assert certificate.refresh()
        assert await shown_certificate(port) == mended.certificate


@pytest.mark.parametrize("name", BREAK)
def test_broken_files_at_the_start_are_an_error_that_names_the_flag(
    name: str, directory: Path, authority: CertificateAuthority
) -> None:
    spoil, why = BREAK[name]
    spoil(directory, issue(authority))
    with pytest.raises(CertificateError, match=why) as caught:
        DirectoryCertificate(directory, FLAG)
    assert str(caught.value).endswith("--webhook-cert-path needs a directory with tls.crt and tls.key")


def test_keys_appear_in_no_text(directory: Path, authority: CertificateAuthority) -> None:
    pair = self_signed(("localhost",), NOW)
    assert "PRIVATE" not in repr(pair)
    _other_key(directory, issue(authority))
    with pytest.raises(CertificateError) as caught:
        DirectoryCertificate(directory, FLAG)
    assert "BEGIN" not in str(caught.value)


def test_rotation_is_noticed_within_ten_seconds(directory: Path, authority: CertificateAuthority) -> None:
    @virtual_time
    async def scenario() -> list[str]:
        certificate = DirectoryCertificate(directory, FLAG)
        following = asyncio.create_task(certificate.follow())
        await asyncio.sleep(3600)
        put(directory, issue(authority))
        with capture_logs() as logs:
            await asyncio.sleep(10)
        following.cancel()
        await asyncio.wait([following])
        return [line["event"] for line in logs]

    assert scenario() == ["Serving with certificate"]


def test_secret_volumes_are_followed_through_their_links(
    tmp_path: Path, authority: CertificateAuthority
) -> None:
    """The kubelet swaps one link, behind which both files are replaced at once."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        put(tmp_path / name, issue(authority))
    data = tmp_path / "..data"
    data.symlink_to("first")
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    certificate = DirectoryCertificate(tmp_path, FLAG)
    swap = tmp_path / "..data_tmp"
    swap.symlink_to("second")
    swap.rename(data)
    assert certificate.refresh()


def test_loaded_certificate_is_logged_with_its_end(directory: Path) -> None:
    with capture_logs() as logs:
        DirectoryCertificate(directory, FLAG)
    assert logs[0]["event"] == "Serving with certificate"
    assert logs[0]["expires"].endswith("Z")


def test_self_signed_certificate_is_made_out_to_all_hosts() -> None:
    pair = self_signed(("pod-7", "127.0.0.1", "::1"), NOW)
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["pod-7"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    assert certificate.not_valid_before_utc < datetime.now(UTC) - timedelta(minutes=30)


def test_long_host_names_make_no_difference() -> None:
    assert self_signed((f"{'x' * 60}.{'y' * 60}", "localhost"), NOW).certificate


def test_context_speaks_nothing_older_than_tls_1_2() -> None:
    context = server_context(self_signed(("localhost",), NOW))
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
