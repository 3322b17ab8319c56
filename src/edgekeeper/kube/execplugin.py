"""Credentials made by a program: the exec plugins of a kubeconfig, as cloud providers ship them.

*Expected flow*
 1. The plugin runs when credentials are needed for the first time. It is told what is asked of it in the environment
    variable KUBERNETES_EXEC_INFO, and prints an `ExecCredential` with a token, a certificate or both.
 2. It runs again before what it made expires, and when the server answers 401.
 3. While a new run fails, credentials that have not expired stay in use.

*Guarantees*: at most one run at a time, which callers wait for together and whose failure they share. A run ends within
its time limit, or with the caller on whose behalf it was started, and whatever it started then ends with it; the next
caller starts another one. Its output is never logged.

*Assumptions*: there is no terminal, so a plugin that wants to talk to somebody cannot be used here.

Lifetimes are measured on the monotonic clock from the moment a credential was made: a wall clock that jumps neither
makes us run the plugin for every request nor keeps us from running it.
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
"""Seconds before the end of a credential's life at which it is replaced; a fifth of its life where that is less."""
_SHORTEST_USE = 10.0
"""Seconds for which a credential is used whatever it says about itself: a plugin must not run for every request."""
_LONGEST_COMPLAINT = 500
_LARGEST_OUTPUT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that makes credentials."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = API_VERSIONS[0]
    cluster: JsonObject | None = None
    """What the plugin is told about the cluster, if it wants to know."""
    install_hint: str = ""

    def info(self) -> str:
        """What the plugin finds in KUBERNETES_EXEC_INFO."""
        spec: JsonObject = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        tree = {"kind": "ExecCredential", "apiVersion": self.api_version, "spec": spec}
        return msgspec.json.encode(tree).decode()


@dataclass(frozen=True, slots=True)
class _Made:
    """What one run of the plugin made."""

    headers: Mapping[str, str] = field(repr=False)
    certificate: ClientCertificate | None
    made_at: float
    renew_at: float
    """When to make another one."""
    ends_at: float
    """From when on it is of no use."""


class ExecCredentials:
    """What a plugin last made, kept fresh."""

    def __init__(self, plugin: ExecPlugin, clock: Clock, time_limit: timedelta = TIME_LIMIT) -> None:
        self._plugin = plugin
        self._clock = clock
        self._time_limit = time_limit
        self._made: _Made | None = None
        self._running = asyncio.Lock()
        self._runs = 0
        self._failure: str | None = None

    async def headers(self) -> Mapping[str, str]:
        return (await self._current()).headers

    async def certificate(self) -> ClientCertificate | None:
        return (await self._current()).certificate

    async def on_unauthorized(self, refused: Mapping[str, str]) -> bool:
        made = self._made
        if made is None or made.headers != refused:
            return True
        if self._clock.monotonic() - made.made_at < _SHORTEST_USE:
            return False
        await self._renew()
        return True

    async def _current(self) -> _Made:
        made = self._made
        if made is not None and self._clock.monotonic() < made.renew_at:
            return made
        try:
            return await self._renew()
        except CredentialsError as error:
            if made is None or self._clock.monotonic() >= made.ends_at:
                raise
            log.warning("credentials cannot be renewed yet; the present ones stay in use", error=str(error))
            return made

    async def _renew(self) -> _Made:
        """Run the plugin, or share the result of the run that was under way."""
        runs = self._runs
        async with self._running:
            if self._runs == runs:
                await self._run()
        if self._failure is not None:
            raise CredentialsError(self._failure)
        assert self._made is not None  # noqa: S101 - a run either failed or made something
        return self._made

    async def _run(self) -> None:
        try:
            output = await _output_of(self._plugin, self._time_limit)
            self._made = _parse(self._plugin, output, self._clock)
            self._failure = None
        except CredentialsError as error:
            self._failure = str(error)
        self._runs += 1


async def _output_of(plugin: ExecPlugin, time_limit: timedelta) -> bytes:
    # Files, not pipes: a pipe ends when the last process lets go of it, which may be one that the plugin left behind.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        code = await _run_to_end(plugin, output, complaints, time_limit)
        if code != 0:
            said = redact_text(_content(complaints).decode(errors="replace").strip())[-_LONGEST_COMPLAINT:]
            raise CredentialsError(
                f"cannot get credentials: {plugin.command} failed with exit code {code}: {said}"
            )
        return _content(output)


async def _run_to_end(
    plugin: ExecPlugin, output: IO[bytes], complaints: IO[bytes], time_limit: timedelta
) -> int:
    starting = asyncio.create_task(_start(plugin, output, complaints))
    try:
        # To be cancelled half way would leave a process of which we know nothing.
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


async def _start(plugin: ExecPlugin, output: IO[bytes], complaints: IO[bytes]) -> asyncio.subprocess.Process:
    environment = {**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": plugin.info()}
    try:
        return await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=complaints,
            start_new_session=True,  # so that what the plugin starts can be ended with it
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
    """End a plugin that is still running, and what it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _parse(plugin: ExecPlugin, output: bytes, clock: Clock) -> _Made:
    """Read an ExecCredential. Messages tell what is wrong with it, never what is in it."""
    try:
        tree = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _useless(plugin, "its output is not JSON") from error
    if dig(tree, "kind") != "ExecCredential" or dig(tree, "apiVersion") != plugin.api_version:
        raise _useless(plugin, f"its output is no ExecCredential of {plugin.api_version}")
    status = dig_object(tree, "status")
    token, certificate, key = (
        _text(status, name) for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not certificate and not key:
        raise _useless(plugin, "it returned neither a token nor a certificate")
    if bool(certificate) != bool(key):
        raise _useless(plugin, "it returned a certificate without a key, or a key without a certificate")
    pair = ClientCertificate(certificate.encode(), key.encode()) if certificate else None
    lifetime = _lifetime(plugin, status.get("expirationTimestamp"), clock)
    made_at = clock.monotonic()
    return _Made(
        headers=bearer(token) if token else {},
        certificate=pair,
        made_at=made_at,
        renew_at=made_at + max(_SHORTEST_USE, lifetime - min(_MARGIN, lifetime / 5)),
        ends_at=made_at + lifetime,
    )


def _text(status: JsonObject, name: str) -> str:
    value = status.get(name)
    return value if isinstance(value, str) else ""


def _lifetime(plugin: ExecPlugin, expiry: Any, clock: Clock) -> float:
    """Seconds that a credential has left; those without an end are used until the server refuses them."""
    if expiry is None:
        return float("inf")
    try:
        return (parse_timestamp(expiry) - clock.now()).total_seconds()
    except (TypeError, ValueError) as error:
        raise _useless(plugin, "its expirationTimestamp is no time") from error


def _useless(plugin: ExecPlugin, why: str) -> CredentialsError:
    return CredentialsError(f"cannot get credentials from {plugin.command}: {why}")
