"""The certificates that our servers show: from a directory that others keep fresh, or made for the occasion.

Certificates are replaced while we run, by cert-manager or by hand. OpenSSL reads the certificate of a context when a
connection is opened, so replacing it in the living context is all it takes: new handshakes show the new certificate,
open connections go on with the one they began with.

Expected flow
    1. `DirectoryCertificate(directory, flag)` reads `tls.crt` and `tls.key`, or says what is wrong with them.
    2. A server listens with its `context`.
    3. `follow` looks at the files every ten seconds, and loads them when either of them has changed.

Guarantees
    - Files that are missing, torn, encrypted or do not belong together change nothing: the present certificate stays,
      and one line of the log says why. A certificate and its key are two files, so in between they never fit.
    - Only what was found good reaches the living context. OpenSSL forgets the old key before it refuses a new one, so
      every pair is tried on a context of its own first, and then loaded from the same bytes.
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
"""What tells one version of the files from another; None while one of them is missing."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """How the files of a directory are called."""

    certificate: str = "tls.crt"
    key: str = "tls.key"


USUAL_FILES = CertificateFiles()
"""As a mounted Secret has them."""


class CertificateError(Exception):
    """There is no certificate to serve with. The message says where it was looked for and what to do."""


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
        """Keep the certificate as fresh as its files, until cancelled."""
        while True:
            await asyncio.sleep(POLL_INTERVAL.total_seconds())
            self.refresh()

    def refresh(self) -> bool:
        """Load the files if they have changed. Return whether there is a new certificate now."""
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
            found = [(self._directory / name).stat() for name in (self._files.certificate, self._files.key)]
        except OSError:
            return None
        return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in found)

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
    """TLS for a server. Raise ValueError or ssl.SSLError where certificate and key are no pair."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    show(context, pair)
    return context


def show(context: ssl.SSLContext, pair: Pair) -> None:
    """Show the certificate on every connection that is opened from now on."""
    # The standard library reads certificates from files only: this one lives just that long, and only we can read it.
    with tempfile.NamedTemporaryFile(prefix="edgekeeper-", suffix=".pem") as pem:
        pem.write(pair.certificate + b"\n" + pair.key)
        pem.flush()
        context.load_cert_chain(pem.name, password=_no_password)


def _no_password() -> str:
    """OpenSSL would ask the terminal."""
    raise _EncryptedError


def self_signed(hosts: Sequence[str], now: datetime) -> Pair:
    """A certificate that proves nothing, for connections that need encryption and no more."""
    from edgekeeper.runtime.x509 import make_self_signed  # noqa: PLC0415 - see there

    return Pair(*make_self_signed(hosts, now))


def _log_loaded(directory: Path, pair: Pair) -> None:
    from edgekeeper.runtime.x509 import expiry_of  # noqa: PLC0415 - see there

    try:
        expires = timestamp(expiry_of(pair.certificate))
    except ValueError:
        expires = "unknown"  # OpenSSL takes it, and is the one who has to
    log.info("Serving with certificate", directory=str(directory), expires=expires)


def _why(error: Exception, files: CertificateFiles) -> str:
    """What is wrong, without the names of C functions."""
    match error:
        case _EncryptedError():
            return f"{files.key} is encrypted, and there is nobody to ask for its password"
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
