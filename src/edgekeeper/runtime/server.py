"""The HTTP servers of a process: probes, metrics and admission webhooks, each at an address of its own.

    server = Server(options, metrics, client, clock, webhooks)
    server.ready.add("manager", lambda: manager.is_ready)
    await server.start()          all of it, or ListenError / CertificateError and nothing
    await server.stop()

    what         flag                           default
    ───────────  ─────────────────────────────  ────────  ────────────────────────────────────────────────────────
    probes       --health-probe-bind-address    :8081     plain HTTP without authentication (`probes`)
    metrics      --metrics-bind-address         0 (off)   HTTPS with RBAC, or plain HTTP (`metrics_auth`)
    admission    --webhook-bind-address         :9443     HTTPS, where there are webhooks and a certificate (`webhooks`)
    page         --web-bind-address             0 (off)   the status page, which the process adds (`add_page`)

Only HTTP/1.1 is supported. `--enable-http2` is accepted, because manifests have it, and causes a warning.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from aiohttp import web

from edgekeeper.core.clock import Clock
from edgekeeper.core.log import get_logger
from edgekeeper.runtime.certificates import (
    USUAL_FILES,
    CertificateFiles,
    DirectoryCertificate,
    self_signed,
    server_context,
)
from edgekeeper.runtime.http_server import Listener
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.metrics_auth import MetricsAuthorizer, MetricsEndpoint, ReviewClient
from edgekeeper.runtime.options import ServerOptions
from edgekeeper.runtime.probes import Probes
from edgekeeper.runtime.webhook_certificate import WebhookCertificate
from edgekeeper.runtime.webhooks import LONGEST_REVIEW, Admissions, Webhook

log = get_logger(__name__)

_PROBE_LIMIT = timedelta(seconds=2)
_REVIEW_LIMIT = LONGEST_REVIEW * 2
"""The time limit of a whole request: as long for receiving its body as for its rule."""


class Page(Protocol):
    """What is served at an address of its own, by a handler that limits the time of its requests itself."""

    @property
    def secure(self) -> bool:
        """Whether it is served by HTTPS."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse: ...

    async def run(self) -> None:
        """Runs beside the server until cancelled."""

    def close(self) -> None:
        """End the responses that do not end by themselves."""


class Server:
    """The servers of one process."""

    def __init__(
        self,
        options: ServerOptions,
        metrics: Metrics,
        client: ReviewClient,
        clock: Clock,
        webhooks: Sequence[Webhook] = (),
        certificate: WebhookCertificate | None = None,
    ) -> None:
        """`certificate` is used for webhooks if the options name no directory."""
        self._options = options
        self._metrics = metrics
        self._client = client
        self._clock = clock
        self._webhooks = webhooks
        self._certificate = certificate if options.webhook_cert_path is None else None
        self._probes = Probes()
        self.live = self._probes.live
        self.ready = self._probes.ready
        self._listeners: dict[str, Listener] = {}
        self._following: list[asyncio.Task[None]] = []
        self.page: Page | None = None
        self.started = asyncio.Event()
        """Set when all servers listen."""

    def add_page(self, page: Page) -> None:
        """Serve a page at the address that the options name for it. To be called before `start`."""
        self.page = page

    def port(self, name: str) -> int | None:
        """The port of `probes`, `metrics`, `admission` or `page`, if it is served."""
        listener = self._listeners.get(name)
        return listener.port if listener else None

    async def start(self) -> None:
        """Start all servers. Raise ListenError or CertificateError if one fails; then none is left running."""
        if self._options.enable_http2:
            log.warning("HTTP/2 is not served", remedy="HTTP/1.1 is; leave out --enable-http2")
        try:
            for name, listener in (await self._build()).items():
                await listener.start()
                self._listeners[name] = listener
            if self._certificate is not None and (port := self.port("admission")) is not None:
                await self._certificate.publish(port)
        except BaseException:
            await self.stop()
            raise
        self.started.set()
        log.info("Listening", **{name: listener.port for name, listener in self._listeners.items()})

    async def stop(self) -> None:
        """Accept no further requests, and wait for those that are running."""
        if self.page is not None:
            self.page.close()
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        if self._certificate is not None:
            await self._certificate.stop()
        await asyncio.gather(*(listener.stop() for listener in self._listeners.values()))
        self._following.clear()
        self._listeners.clear()

    async def _build(self) -> dict[str, Listener]:
        made = {
            "probes": self._probing(),
            "metrics": self._metering(),
            "admission": await self._admitting(),
            "page": self._paging(),
        }
        return {name: listener for name, listener in made.items() if listener is not None}

    def _probing(self) -> Listener | None:
        address = self._options.health_address
        if address is None:
            return None
        return Listener(self._probes.handle, address, "--health-probe-bind-address", limit=_PROBE_LIMIT)

    def _metering(self) -> Listener | None:
        options = self._options
        if options.metrics_address is None:
            return None
        secure = options.metrics_secure
        endpoint = MetricsEndpoint(
            self._metrics, MetricsAuthorizer(self._client, self._clock) if secure else None
        )
        tls = self._metrics_tls() if secure else None
        return Listener(endpoint.handle, options.metrics_address, "--metrics-bind-address", tls)

    def _paging(self) -> Listener | None:
        options, page = self._options, self.page
        if page is None or options.web_address is None:
            return None
        tls = None
        if page.secure and options.web_cert_path is not None:
            tls = self._followed(options.web_cert_path, "--web-cert-path", USUAL_FILES)
        elif page.secure:
            tls = self._self_signed()
        self._following.append(asyncio.create_task(page.run(), name="status page"))
        return Listener(page.handle, options.web_address, "--web-bind-address", tls, limit=None)

    def _metrics_tls(self) -> ssl.SSLContext:
        if self._options.metrics_cert_path is not None:
            files = self._options.metrics_cert_files
            return self._followed(self._options.metrics_cert_path, "--metrics-cert-path", files)
        return self._self_signed()

    def _self_signed(self) -> ssl.SSLContext:
        hosts = (socket.gethostname(), "localhost", "127.0.0.1", "::1")
        return server_context(self_signed(hosts, self._clock.now()))

    async def _admitting(self) -> Listener | None:
        options = self._options
        if not self._webhooks or options.webhook_address is None:
            return None
        tls = await self._webhook_tls()
        if tls is None:
            log.warning(
                "Admission webhooks are not served",
                remedy="--webhook-cert-path has their certificate, or --webhook-service has one made",
            )
            return None
        admissions = Admissions(self._webhooks, self._metrics)
        return Listener(
            admissions.handle, options.webhook_address, "--webhook-bind-address", tls, _REVIEW_LIMIT
        )

    async def _webhook_tls(self) -> ssl.SSLContext | None:
        directory, files = self._options.webhook_cert_path, self._options.webhook_cert_files
        if directory is not None:
            return self._followed(directory, "--webhook-cert-path", files)
        return await self._certificate.prepare() if self._certificate is not None else None

    def _followed(self, directory: Path, flag: str, files: CertificateFiles) -> ssl.SSLContext:
        certificate = DirectoryCertificate(directory, flag, files)
        self._following.append(asyncio.create_task(certificate.follow(), name=f"follow {flag}"))
        return certificate.context
