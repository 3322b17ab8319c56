"""Server certificates: from a directory, reloaded when its files change, or self-signed.

Certificates are replaced while the process runs, by cert-manager or by hand. OpenSSL reads the certificate of a context
when a connection is opened, so it is replaced in the context that the server uses: new connections get the new
certificate, open ones keep theirs.

Expected flow
    1. `DirectoryCertificate(directory, flag)` reads `tls.crt` and `tls.key`, or raises CertificateError.
    2. A server listens with its `context`.
    3. `follow` checks the files every ten seconds, and loads them when either of them has changed.

Guarantees
    - Files that are missing, incomplete, encrypted or do not match are not used: the present certificate stays, and the
      reason is logged. (While a certificate and its key are being replaced, the two files do not match for a moment.)
    - Only a valid pair is loaded into the context in use. OpenSSL drops the old key before it rejects a new one, so
      every pair is first loaded into a new context, and then from the same bytes into the one in use.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NoReturn, TypeAlias

from edgekeeper.core.clock import timestamp
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

POLL_INTERVAL = timedelta(seconds=10)
_LARGEST_FILE = 1024 * 1024

_State: TypeAlias = tuple[tuple[int, int, int], ...] | None
"""Modification time, inode and size of both files; None if one of them is missing."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The names of the files in a directory."""

    certificate: str = "tls.crt"
    key: str = "tls.key"


USUAL_FILES = CertificateFiles()
"""The names in a mounted Secret of type kubernetes.io/tls."""


class CertificateError(Exception):
    """There is no usable certificate. The message contains its location and the remedy."""


class _EncryptedError(ValueError):
    """The key needs a password."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its chain, and its key, as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class DirectoryCertificate:
    """The certificate in two files of a directory, as a mounted Secret has them."""

    def __init__(self, directory: Path, flag: str, files: CertificateFiles = USUAL_FILES) -> None:
        """Read it. `flag` is the option that named the directory, for the message of CertificateError."""
        self._directory = directory
        self._files = files
        self._seen = self._state()
        try:
            pair = self._read()
            self.context = server_context(pair)
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"cannot serve with the certificate in {directory}: {_why(error, files)}; "
                f"{flag} needs a directory with {files.certificate} and {files.key}"
            ) from error
        _log_loaded(directory, pair)

    async def follow(self) -> NoReturn:
        """Call `refresh` every `POLL_INTERVAL` until cancelled."""
        while True:
            await asyncio.sleep(POLL_INTERVAL.total_seconds())
            self.refresh()

    def refresh(self) -> bool:
        """Load the files if they have changed. Return whether a new certificate is in use."""
        state = self._state()
        if state == self._seen:
            return False
        self._seen = state
        try:
            pair = self._read()
            server_context(pair)
            show(self.context, pair)
        except (OSError, ValueError) as error:
            log.warning(
                "New certificate cannot be used, the present one stays",
                directory=str(self._directory),
                why=_why(error, self._files),
            )
            return False
        _log_loaded(self._directory, pair)
        return True

    def _state(self) -> _State:
        try:
            stats = [(self._directory / name).stat() for name in (self._files.certificate, self._files.key)]
        except OSError:
            return None
        return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in stats)

    def _read(self) -> Pair:
        return Pair(
            _read(self._directory / self._files.certificate), _read(self._directory / self._files.key)
        )


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"{path.name} is larger than {_LARGEST_FILE} bytes")
    return content


def server_context(pair: Pair) -> ssl.SSLContext:
    """The TLS context of a server. Raise ValueError or ssl.SSLError if certificate and key do not match."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    show(context, pair)
    return context


def show(context: ssl.SSLContext, pair: Pair) -> None:
    """Use the certificate for all connections that are opened from now on."""
    # The standard library loads certificates from files only. This one is deleted at once, and has mode 0600.
    with tempfile.NamedTemporaryFile(prefix="edgekeeper-", suffix=".pem") as pem:
        pem.write(pair.certificate + b"\n" + pair.key)
        pem.flush()
        context.load_cert_chain(pem.name, password=_no_password)


def _no_password() -> str:
    """Prevents OpenSSL from asking for a password on the terminal."""
    raise _EncryptedError


def self_signed(hosts: Sequence[str], now: datetime) -> Pair:
    """A self-signed certificate, for connections that need encryption but no authentication of the server."""
    from edgekeeper.runtime.x509 import make_self_signed  # noqa: PLC0415 - see there

    return Pair(*make_self_signed(hosts, now))


def _log_loaded(directory: Path, pair: Pair) -> None:
    from edgekeeper.runtime.x509 import expiry_of  # noqa: PLC0415 - see there

    try:
        expires = timestamp(expiry_of(pair.certificate))
    except ValueError:
        expires = "unknown"  # OpenSSL accepts it although `cryptography` cannot parse it
    log.info("Serving with certificate", directory=str(directory), expires=expires)


def _why(error: Exception, files: CertificateFiles) -> str:
    """A description of the error, without the names of C functions."""
    match error:
        case _EncryptedError():
            return f"{files.key} is encrypted, which is not supported"
        case FileNotFoundError():
            return f"{Path(error.filename).name} is missing"
        case ssl.SSLError(reason="KEY_VALUES_MISMATCH"):
            return f"{files.certificate} and {files.key} do not belong together"
        case ssl.SSLError():
            return f"{files.certificate} or {files.key} is no PEM: {error.reason or error}"
        case OSError():
            return f"{Path(error.filename).name if error.filename else 'it'} cannot be read: {error.strerror}"
        case _:
            return str(error)
