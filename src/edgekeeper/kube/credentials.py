"""Credentials for the API server: tokens and certificates, which expire and are replaced while the process runs.

    Credentials
      ├ StoredCredentials     in a kubeconfig, or in files that are replaced by others
      └ ExecCredentials       from an exec plugin (`kube.execplugin`)

The transport gets the credentials before every request, so that a new token is used at once. After a 401 it calls
`on_unauthorized`, and repeats the request if the credentials have changed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.log import get_logger
from edgekeeper.kube.transport import TransportError

log = get_logger(__name__)

READ_INTERVAL = 60.0
"""After so many seconds a file is read again. Kubelets replace tokens long before they expire."""


class CredentialsError(TransportError):
    """There are no usable credentials, so the request was not sent."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate with its chain, and its key, as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Credentials(Protocol):
    """The credentials of a client. Methods raise CredentialsError if there are none."""

    async def headers(self) -> Mapping[str, str]:
        """The current authentication headers."""

    async def certificate(self) -> ClientCertificate | None:
        """The client certificate for new connections, if any."""

    async def on_unauthorized(self, refused: Mapping[str, str]) -> bool:
        """The server answered 401 to these headers. Return whether there are different ones now."""


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def basic(username: str, password: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"}


class WatchedFile:
    """A file that may be replaced: read again after `READ_INTERVAL`, or by `refresh`.

    The last content stays in use while the file cannot be read, for example while it is being replaced.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._content = b""
        self._read_at = float("-inf")

    def read(self) -> bytes:
        if self._clock.monotonic() - self._read_at >= READ_INTERVAL:
            self.refresh()
        return self._content

    def refresh(self) -> None:
        try:
            content = _read_filled(self._path)
        except OSError as error:
            if not self._content:
                raise CredentialsError(f"cannot read {self._path}: {error.strerror or error}") from error
            log.warning(
                "file cannot be read; its last content stays in use", path=str(self._path), error=str(error)
            )
        else:
            self._content = content
        self._read_at = self._clock.monotonic()


def _read_filled(path: Path) -> bytes:
    content = path.read_bytes()
    if not content.strip():
        raise OSError("it is empty")
    return content


class StoredCredentials:
    """Credentials from a kubeconfig or from files. Without any, requests are anonymous."""

    def __init__(
        self,
        headers: Mapping[str, str] | None = None,
        *,
        token_file: Path | None = None,
        certificate: bytes | Path | None = None,
        key: bytes | Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        """A token file takes precedence over `headers`."""
        self._headers = dict(headers or {})
        clock = clock or SystemClock()
        self._token_file = WatchedFile(token_file, clock) if token_file else None
        self._certificate = _Pair(_source(certificate, clock), _source(key, clock))

    async def headers(self) -> Mapping[str, str]:
        if self._token_file is None:
            return self._headers
        return bearer(self._token_file.read().decode(errors="replace").strip())

    async def certificate(self) -> ClientCertificate | None:
        return self._certificate.read()

    async def on_unauthorized(self, refused: Mapping[str, str]) -> bool:
        if self._token_file is None:
            return False
        self._token_file.refresh()
        return await self.headers() != refused


class _Pair:
    """A certificate and its key, each as bytes or as a file."""

    def __init__(self, certificate: bytes | WatchedFile | None, key: bytes | WatchedFile | None) -> None:
        self._certificate = certificate
        self._key = key

    def read(self) -> ClientCertificate | None:
        certificate, key = _content(self._certificate), _content(self._key)
        return ClientCertificate(certificate, key) if certificate and key else None


def _source(given: bytes | Path | None, clock: Clock) -> bytes | WatchedFile | None:
    return WatchedFile(given, clock) if isinstance(given, Path) else given


def _content(source: bytes | WatchedFile | None) -> bytes | None:
    return source.read() if isinstance(source, WatchedFile) else source
