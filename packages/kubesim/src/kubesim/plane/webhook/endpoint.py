"""One HTTPS call to a webhook, and every way in which it can fail.

Failures are told in the words of kube-apiserver's own HTTP client, because the fixes people find by searching for
them (a wrong CA bundle, a service without endpoints) apply here too. Redirects are never followed: they would carry
objects to places that no configuration names.
"""

from __future__ import annotations

import os
import ssl
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

import aiohttp

from kubesim.plane.webhook.review import CallError

ServiceResolver = Callable[[str, str, str, int], str | None]
"""Find the URL behind a service `(namespace, name, path, port)`; `None` where nothing answers for it."""

LARGEST_ANSWER = 8 * 1024 * 1024
_CHUNK = 64 * 1024
_LONGEST_EXCERPT = 2048
_REMEMBERED_BUNDLES = 64

_MEANING_OF_CODE = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a webhook listens: at a URL, or behind a service."""

    url: str
    service_namespace: str
    service_name: str
    service_path: str
    service_port: int
    ca_bundle: str
    """PEM in base64, as configurations have it; empty to trust the system's authorities."""

    async def post(
        self, session: aiohttp.ClientSession, body: bytes, within: timedelta, resolve: ServiceResolver
    ) -> bytes:
        """Send `body` and return the answer's. Raise CallError for anything but a success."""
        seconds = within.total_seconds()
        shown = _with_timeout(self._shown_target(), seconds)
        target = self._target(resolve)
        if target is None:
            raise _failure(shown, f'service "{self.service_name}" not found')
        try:
            async with session.post(
                _with_timeout(target, seconds),
                data=body,
                headers={"Content-Type": "application/json", "Accept": "application/json, */*"},
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
                ssl=_tls_context(self.ca_bundle),
                server_hostname=self._server_name(),
            ) as response:
                answer = await _read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _failure(shown, _explained(error)) from error
        if not 200 <= response.status <= 206:
            raise CallError(f"failed to call webhook: {_complaint(response, answer)}")
        if not answer:
            received = (
                f"status code: {response.status} and content type: {response.headers.get('Content-Type', '')}"
            )
            raise CallError(f"failed to call webhook: 0-length response with {received}")
        return answer

    def _target(self, resolve: ServiceResolver) -> str | None:
        if self.url:
            return self.url
        return resolve(self.service_namespace, self.service_name, self.service_path, self.service_port)

    def _server_name(self) -> str | None:
        """The certificate of a service is made out to its name, whatever address it was found at."""
        return None if self.url else f"{self.service_name}.{self.service_namespace}.svc"

    def _shown_target(self) -> str:
        path = self.service_path if self.service_path.startswith("/") else f"/{self.service_path}"
        return self.url or f"https://{self._server_name()}:{self.service_port}{path}"


@lru_cache(_REMEMBERED_BUNDLES)
def _tls_context(ca_bundle: str) -> ssl.SSLContext:
    """Trust the bundle, or the system's authorities without one. A bundle may hold the server's own certificate."""
    context = ssl.create_default_context(cadata=b64decode(ca_bundle).decode("ascii") if ca_bundle else None)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise CallError(f"failed to call webhook: the answer is larger than {LARGEST_ANSWER} bytes")
    return bytes(body)


def _with_timeout(target: str, seconds: float) -> str:
    """Tell the webhook how long it has: the timeout travels as a parameter."""
    return f"{target}{'&' if '?' in target else '?'}timeout={seconds:g}s"


def _failure(url: str, cause: str) -> CallError:
    return CallError(f'failed to call webhook: Post "{url}": {cause}')


def _explained(error: Exception) -> str:
    match error:
        case TimeoutError():
            return "context deadline exceeded"
        case aiohttp.ClientConnectorCertificateError():
            return f"tls: failed to verify certificate: x509: {_certificate_problem(error)}"
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {error.host}: no such host"
        case aiohttp.ClientConnectorSSLError():
            return "tls: first record does not look like a TLS handshake"
        case aiohttp.ClientConnectorError() if error.os_error.errno:
            why = os.strerror(error.os_error.errno).lower()
            return f"dial tcp {error.host}:{error.port}: connect: {why}"
        case aiohttp.ClientConnectorError() | aiohttp.ServerDisconnectedError():
            return "EOF"
        case ssl.SSLError():
            return "unable to load root certificates: unable to parse bytes as PEM block"
        case _:
            return str(error) or type(error).__name__


def _certificate_problem(error: aiohttp.ClientConnectorCertificateError) -> str:
    problem = error.certificate_error
    if not isinstance(problem, ssl.SSLCertVerificationError):
        return str(problem)
    if "issuer" in problem.verify_message or "self-signed" in problem.verify_message:
        return "certificate signed by unknown authority"
    if "mismatch" in problem.verify_message:
        return f"certificate is not valid for {error.host}"
    return problem.verify_message


def _complaint(response: aiohttp.ClientResponse, body: bytes) -> str:
    """Say what an unsuccessful answer means; only text is worth quoting."""
    content_type = response.headers.get("Content-Type", "")
    is_text = not content_type or content_type.startswith("text/")
    excerpt = body[:_LONGEST_EXCERPT].decode(errors="replace").strip() if is_text else "unknown"
    code = response.status
    if code in _MEANING_OF_CODE:
        return _MEANING_OF_CODE[code]
    if code in {403, 406, 415}:
        return excerpt
    if code >= 500:
        return f'an error on the server ("{excerpt}") has prevented the request from succeeding'
    return f"the server responded with the status code {code} but did not return more information"
