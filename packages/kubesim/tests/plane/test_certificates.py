"""The cluster's certificate authority, up to real TLS handshakes."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from kubesim.plane.auth.certificates import CertificateAuthority, KeyPair, load_key, new_key

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority.create(NOW)


def der(pair: KeyPair) -> bytes:
    return x509.load_pem_x509_certificate(pair.certificate).public_bytes(Encoding.DER)


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """Complete a TLS handshake in memory and return the server's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    client_side = client.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(4):
        for side in (client_side, server_side):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return server_side


def server_context(authority: CertificateAuthority, hosts: list[str], folder: Path) -> ssl.SSLContext:
    pair = authority.issue_serving(hosts, NOW)
    (folder / "server.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate.decode())
    context.load_cert_chain(folder / "server.pem")
    return context


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"])
def test_serving_certificate_is_trusted_for_each_of_its_hosts(
    authority: CertificateAuthority, tmp_path: Path, host: str
) -> None:
    hosts = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"]
    client = ssl.create_default_context(cadata=authority.certificate.decode())
    shake_hands(server_context(authority, hosts, tmp_path), client, host)


def test_serving_certificate_is_not_trusted_for_another_host(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    client = ssl.create_default_context(cadata=authority.certificate.decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_context(authority, ["localhost"], tmp_path), client, "elsewhere")


def test_client_certificate_reaches_the_server(authority: CertificateAuthority, tmp_path: Path) -> None:
    pair = authority.issue_client("alice", ["devs", "ops"], NOW)
    (tmp_path / "client.pem").write_bytes(pair.certificate + pair.key)
    server = server_context(authority, ["localhost"], tmp_path)
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cadata=authority.certificate.decode())
    client.load_cert_chain(tmp_path / "client.pem")
    presented = shake_hands(server, client, "localhost").getpeercert(binary_form=True)
    assert presented == der(pair)


def test_client_certificate_carries_user_and_groups(authority: CertificateAuthority) -> None:
    certificate = authority.recognise_client(der(authority.issue_client("alice", ["devs", "ops"], NOW)))
    assert certificate is not None
    names = [attribute.value for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = [
        attribute.value for attribute in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    ]
    assert (names, groups) == (["alice"], ["devs", "ops"])


def test_authority_does_not_recognise_the_client_of_another(authority: CertificateAuthority) -> None:
    other = CertificateAuthority.create(NOW)
    assert authority.recognise_client(der(other.issue_client("alice", ["system:masters"], NOW))) is None


def test_authority_does_not_take_a_server_for_a_client(authority: CertificateAuthority) -> None:
    assert authority.recognise_client(der(authority.issue_serving(["alice"], NOW))) is None


def test_authority_does_not_take_itself_for_a_client(authority: CertificateAuthority) -> None:
    assert authority.recognise_client(der(authority.pair)) is None


def test_authority_recognises_no_garbage(authority: CertificateAuthority) -> None:
    assert authority.recognise_client(b"garbage") is None


def test_authority_survives_being_stored(authority: CertificateAuthority) -> None:
    restored = CertificateAuthority.load(authority.pair)
    assert restored.pair == authority.pair
    assert restored.recognise_client(der(authority.issue_client("alice", [], NOW))) is not None
    assert authority.recognise_client(der(restored.issue_client("alice", [], NOW))) is not None


def test_certificates_are_valid_from_before_they_were_made(authority: CertificateAuthority) -> None:
    leaf = x509.load_pem_x509_certificate(authority.issue_client("alice", [], NOW).certificate)
    assert leaf.not_valid_before_utc < NOW
    assert leaf.not_valid_after_utc > NOW + timedelta(days=300)


def test_key_of_another_kind_is_refused() -> None:
    key = rsa.generate_private_key(65537, 2048)
    with pytest.raises(TypeError, match="not an EC key"):
        load_key(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def test_keys_are_never_the_same() -> None:
    assert new_key().private_numbers() != new_key().private_numbers()
