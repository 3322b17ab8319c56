"""TLS contexts that are rebuilt when their certificate files change.

Certificates are replaced while the process runs: those of the trusted authorities, and the client's own. When one has
changed, a new context is created. Connection pools distinguish connections by context, so new requests open new
connections, while open ones, such as watches, are not interrupted.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from edgekeeper.core.clock import Clock
from edgekeeper.core.log import get_logger
from edgekeeper.kube.cluster import Trust
from edgekeeper.kube.credentials import ClientCertificate, CredentialsError, WatchedFile

log = get_logger(__name__)


class TlsContexts:
    """The current TLS context of a client, rebuilt when a certificate has changed."""

    def __init__(self, trust: Trust, clock: Clock) -> None:
        self._trust = trust
        pem = trust.authorities
        self._authorities = WatchedFile(pem, clock) if isinstance(pem, Path) else pem
        self._made_of: tuple[bytes | None, ClientCertificate | None] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        """The context with this client certificate; the same one as long as nothing has changed."""
        source = self._authorities
        authorities = source.read() if isinstance(source, WatchedFile) else source
        if self._context is None or self._made_of != (authorities, certificate):
            self._context = self._replaced(authorities, certificate)
        return self._context

    def _replaced(self, authorities: bytes | None, certificate: ClientCertificate | None) -> ssl.SSLContext:
        try:
            context = build_context(self._trust, authorities, certificate)
        except (ssl.SSLError, ValueError) as error:
            if self._context is None:
                raise CredentialsError(f"cannot use the certificates or their key: {error}") from error
            # A certificate and its key are two files: while they are being replaced, they do not match.
            log.warning("new certificates cannot be used; the present ones stay in use", error=str(error))
            return self._context
        self._made_of = (authorities, certificate)
        return context


def build_context(
    trust: Trust, authorities: bytes | None, certificate: ClientCertificate | None
) -> ssl.SSLContext:
    """The TLS context of a client. Only `trust` decides what is trusted: no environment variable, no library's bundle."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authorities is not None:
        _trust(context, authorities)
    else:
        context.load_default_certs()
    if certificate is not None:
        _show(context, certificate)
    return context


def _trust(context: ssl.SSLContext, authorities: bytes) -> None:
    try:
        context.load_verify_locations(cadata=authorities.decode())
    except (ssl.SSLError, ValueError) as error:
        raise ValueError("the certificate authority is no certificate in PEM form") from error


def _show(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    # The standard library loads certificates from files only. This one is deleted at once, and has mode 0600.
    with tempfile.NamedTemporaryFile(prefix="edgekeeper-", suffix=".pem") as pem:
        pem.write(certificate.certificate + b"\n" + certificate.key)
        pem.flush()
        context.load_cert_chain(pem.name)
