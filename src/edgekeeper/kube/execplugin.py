"""Credentials from the exec plugin of a kubeconfig, as cloud providers ship them.

*Expected flow*
 1. The plugin runs when credentials are needed for the first time. It gets its input in the environment variable
    KUBERNETES_EXEC_INFO, and prints an `ExecCredential` with a token, a certificate or both.
 2. It runs again before the credentials expire, and when the server answers 401.
 3. If a run fails, credentials that have not expired stay in use.

*Guarantees*: at most one run at a time, whose result all waiting callers share. A run ends within its time limit, or
when the caller that started it is cancelled; its process group is then killed, and the next caller starts another run.
The output is never logged.

*Assumptions*: there is no terminal, so interactive plugins cannot be used.

Lifetimes are measured on the monotonic clock from the time of the run: when the wall clock jumps, the plugin runs
neither for every request nor too late.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import IO, Any

import msgspec

from edgekeeper.core.clock import Clock, parse_timestamp
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.log import get_logger
from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.credentials import ClientCertificate, CredentialsError, bearer

log = get_logger(__name__)

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIME_LIMIT = timedelta(seconds=30)

_MARGIN = 60.0
"""How many seconds before its expiry a credential is renewed; a fifth of its lifetime if that is less."""
_SHORTEST_USE = 10.0
"""How many seconds a credential is used at least, whatever its expiry: the plugin must not run for every request."""
_LONGEST_MESSAGE = 500
_LARGEST_OUTPUT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """The command of an exec plugin, and its input."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = API_VERSIONS[0]
    cluster: JsonObject | None = None
    """The information about the cluster for `spec.cluster`; None without `provideClusterInfo`."""
    install_hint: str = ""

    def info(self) -> str:
        """The value of KUBERNETES_EXEC_INFO."""
        spec: JsonObject = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        tree = {"kind": "ExecCredential", "apiVersion": self.api_version, "spec": spec}
        return msgspec.json.encode(tree).decode()


@dataclass(frozen=True, slots=True)
class _Issued:
    """The credentials of one run of the plugin."""

    headers: Mapping[str, str] = field(repr=False)
    certificate: ClientCertificate | None
    issued_at: float
    renew_at: float
    """When to run the plugin again."""
    expires_at: float


class ExecCredentials:
    """The credentials of an exec plugin, renewed before they expire."""

    def __init__(self, plugin: ExecPlugin, clock: Clock, time_limit: timedelta = TIME_LIMIT) -> None:
        self._plugin = plugin
        self._clock = clock
        self._time_limit = time_limit
        self._issued: _Issued | None = None
        self._running = asyncio.Lock()
        self._runs = 0
        self._failure: str | None = None

    async def headers(self) -> Mapping[str, str]:
        return (await self._current()).headers

    async def certificate(self) -> ClientCertificate | None:
        return (await self._current()).certificate

    async def on_unauthorized(self, refused: Mapping[str, str]) -> bool:
        issued = self._issued
        if issued is None or issued.headers != refused:
            return True
        if self._clock.monotonic() - issued.issued_at < _SHORTEST_USE:
            return False
        await self._renew()
        return True

    async def _current(self) -> _Issued:
        issued = self._issued
        if issued is not None and self._clock.monotonic() < issued.renew_at:
            return issued
        try:
            return await self._renew()
        except CredentialsError as error:
            if issued is None or self._clock.monotonic() >= issued.expires_at:
                raise
            log.warning("credentials cannot be renewed yet; the present ones stay in use", error=str(error))
            return issued

    async def _renew(self) -> _Issued:
        """Run the plugin, or share the result of the run that was under way."""
        runs = self._runs
        async with self._running:
            if self._runs == runs:
                await self._run()
        if self._failure is not None:
            raise CredentialsError(self._failure)
        assert self._issued is not None  # noqa: S101 - a run either failed or returned credentials
        return self._issued

    async def _run(self) -> None:
        try:
            output = await _output_of(self._plugin, self._time_limit)
            self._issued = _parse(self._plugin, output, self._clock)
            self._failure = None
        except CredentialsError as error:
            self._failure = str(error)
        self._runs += 1


async def _output_of(plugin: ExecPlugin, time_limit: timedelta) -> bytes:
    # Files, not pipes: a pipe stays open until the last process closes it, perhaps one that the plugin left running.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as stderr:
        code = await _run_to_end(plugin, output, stderr, time_limit)
        if code != 0:
            message = redact_text(_content(stderr).decode(errors="replace").strip())[-_LONGEST_MESSAGE:]
            raise CredentialsError(
                f"cannot get credentials: {plugin.command} failed with exit code {code}: {message}"
            )
        return _content(output)


async def _run_to_end(plugin: ExecPlugin, output: IO[bytes], stderr: IO[bytes], time_limit: timedelta) -> int:
    starting = asyncio.create_task(_start(plugin, output, stderr))
    try:
        # A cancellation while the process starts would leave it running unnoticed.
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _end(await starting)
        raise
    try:
        async with asyncio.timeout(time_limit.total_seconds()):
            return await process.wait()
    except TimeoutError as error:
        raise CredentialsError(
            f"cannot get credentials: {plugin.command} did not finish within {time_limit.total_seconds():g} s"
        ) from error
    finally:
        await _end(process)


async def _start(plugin: ExecPlugin, output: IO[bytes], stderr: IO[bytes]) -> asyncio.subprocess.Process:
    environment = {**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": plugin.info()}
    try:
        return await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=stderr,
            start_new_session=True,  # so that child processes of the plugin can be killed with it
        )
    except OSError as error:
        hint = f"; {plugin.install_hint.strip()}" if plugin.install_hint else ""
        raise CredentialsError(
            f"cannot get credentials: cannot run {plugin.command}: {error.strerror}{hint}"
        ) from error


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(_LARGEST_OUTPUT)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a plugin that is still running, with its child processes."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _parse(plugin: ExecPlugin, output: bytes, clock: Clock) -> _Issued:
    """Parse an ExecCredential. Messages of errors never contain its content."""
    try:
        tree = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unusable(plugin, "its output is not JSON") from error
    if dig(tree, "kind") != "ExecCredential" or dig(tree, "apiVersion") != plugin.api_version:
        raise _unusable(plugin, f"its output is no ExecCredential of {plugin.api_version}")
    status = dig_object(tree, "status")
    token, certificate, key = (
        _text(status, name) for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not certificate and not key:
        raise _unusable(plugin, "it returned neither a token nor a certificate")
    if bool(certificate) != bool(key):
        raise _unusable(plugin, "it returned a certificate without a key, or a key without a certificate")
    pair = ClientCertificate(certificate.encode(), key.encode()) if certificate else None
    lifetime = _lifetime(plugin, status.get("expirationTimestamp"), clock)
    issued_at = clock.monotonic()
    return _Issued(
        headers=bearer(token) if token else {},
        certificate=pair,
        issued_at=issued_at,
        renew_at=issued_at + max(_SHORTEST_USE, lifetime - min(_MARGIN, lifetime / 5)),
        expires_at=issued_at + lifetime,
    )


def _text(status: JsonObject, name: str) -> str:
    value = status.get(name)
    return value if isinstance(value, str) else ""


def _lifetime(plugin: ExecPlugin, expiry: Any, clock: Clock) -> float:
    """The remaining lifetime in seconds; infinite without an expiry, until the server answers 401."""
    if expiry is None:
        return float("inf")
    try:
        return (parse_timestamp(expiry) - clock.now()).total_seconds()
    except (TypeError, ValueError) as error:
        raise _unusable(plugin, "its expirationTimestamp is not a time") from error


def _unusable(plugin: ExecPlugin, why: str) -> CredentialsError:
    return CredentialsError(f"cannot get credentials from {plugin.command}: {why}")
