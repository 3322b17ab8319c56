"""Certificates for one test run: an authority, a serving certificate for loopback, a client's, a webhook's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LOOPBACK = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]


@dataclass(frozen=True)
class KeyPair:
    """Where a certificate and its private key are, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that lives as long as the directory it writes into."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _distinguished_name("conformance-ca")
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        certificate = self._certificate(self._name, self._key).add_extension(constraints, critical=True)
        self.files = self._write("ca", certificate.sign(self._key, hashes.SHA256()), self._key)

    @property
    def bundle(self) -> bytes:
        """The certificate that clients of our servers trust, as PEM."""
        return self.files.certificate.read_bytes()

    def serving(self, name: str) -> KeyPair:
        """Issue a certificate for servers on loopback."""
        alternatives = x509.SubjectAlternativeName(_LOOPBACK)
        return self._issue(name, _distinguished_name(name), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, user: str, *groups: str) -> KeyPair:
        """Issue a certificate that authenticates `user` as a member of `groups`."""
        alternatives = x509.SubjectAlternativeName([x509.DNSName(user)])
        subject = _distinguished_name(user, *groups)
        return self._issue(user, subject, ExtendedKeyUsageOID.CLIENT_AUTH, alternatives)

    def _issue(
        self,
        file_name: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._certificate(subject, key)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(alternatives, critical=False)
        )
        return self._write(file_name, certificate.sign(self._key, hashes.SHA256()), key)

    def _certificate(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=1))
        )

    def _write(self, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
        files = KeyPair(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return files


def _distinguished_name(common_name: str, *organizations: str) -> x509.Name:
    """Kubernetes reads the user from the common name and the groups from the organizations."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
