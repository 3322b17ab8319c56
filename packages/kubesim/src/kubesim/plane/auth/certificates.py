"""The cluster's certificate authority: it signs the server's certificate and those of its clients.

Every cluster makes its own authority, so that a kubeconfig of one is worthless to another. Keys are EC P-256: quick
to make, and understood by every client. Everything goes in and out as PEM, the form in which a data directory and a
kubeconfig keep it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)
_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class CertificateAuthority:
    """Signs certificates, and recognises those it has signed."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def create(cls, now: datetime, name: str = "kubernetes-ca") -> CertificateAuthority:
        key = new_key()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            _builder(subject, subject, key.public_key(), _validity(now, AUTHORITY_LIFETIME))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, pair: KeyPair) -> CertificateAuthority:
        return cls(x509.load_pem_x509_certificate(pair.certificate), load_key(pair.key))

    @property
    def pair(self) -> KeyPair:
        return KeyPair(self._certificate.public_bytes(Encoding.PEM), key_pem(self._key))

    @property
    def certificate(self) -> bytes:
        """The authority's certificate (PEM): what clients trust, `certificate-authority-data` of a kubeconfig."""
        return self._certificate.public_bytes(Encoding.PEM)

    def issue_serving(self, hosts: Sequence[str], now: datetime) -> KeyPair:
        """Sign a server certificate for host names and IP addresses."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, now, names)

    def issue_client(self, user: str, groups: Iterable[str], now: datetime) -> KeyPair:
        """Sign a client certificate: Kubernetes takes the user from CN and the groups from O."""
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, now)

    def recognise_client(self, der: bytes) -> x509.Certificate | None:
        """Return the certificate if this authority signed it for use by a client. Its dates are not looked at."""
        try:
            certificate = x509.load_der_x509_certificate(der)
            certificate.verify_directly_issued_by(self._certificate)
            usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return None
        return certificate if ExtendedKeyUsageOID.CLIENT_AUTH in usage else None

    def _issue(
        self,
        subject: x509.Name,
        purpose: ObjectIdentifier,
        now: datetime,
        names: x509.SubjectAlternativeName | None = None,
    ) -> KeyPair:
        key = new_key()
        builder = (
            _builder(subject, self._certificate.subject, key.public_key(), _validity(now, LEAF_LIFETIME))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(Encoding.PEM), key_pem(key))


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Read a private key. Raise TypeError for anything but an EC key."""
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("cannot use the private key: it is not an EC key")
    return key


def _validity(now: datetime, lifetime: timedelta) -> tuple[datetime, datetime]:
    """Certificates are valid a little before they are made: clocks of client and server differ."""
    return now - _CLOCK_SKEW, now + lifetime


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    validity: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
