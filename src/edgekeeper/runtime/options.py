"""The options of an operator process. `cli.operator_options` reads them from flags and environment variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal

from edgekeeper.kube.client import DEFAULT_OPTIONS, ClientOptions
from edgekeeper.kube.lease import LeaseOptions
from edgekeeper.runtime.certificates import USUAL_FILES, CertificateFiles
from edgekeeper.runtime.http_server import Address

HEALTH_ADDRESS = Address("", 8081)
WEBHOOK_ADDRESS = Address("", 9443)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The addresses to listen on, and their certificates."""

    health_address: Address | None = HEALTH_ADDRESS
    metrics_address: Address | None = None
    metrics_secure: bool = True
    """Serve metrics by HTTPS, to callers that the API server authorizes for `/metrics`."""
    metrics_cert_path: Path | None = None
    """A directory with a certificate and its key; without it a self-signed certificate is used."""
    metrics_cert_files: CertificateFiles = USUAL_FILES
    webhook_address: Address | None = WEBHOOK_ADDRESS
    webhook_cert_path: Path | None = None
    """A directory with a certificate and its key, which the webhook configuration trusts already."""
    webhook_cert_files: CertificateFiles = USUAL_FILES
    webhook_service: str = ""
    """The Service of the webhooks: without `webhook_cert_path` a certificate for it is created, stored and published."""
    web_address: Address | None = None
    """Where the status page is served."""
    web_cert_path: Path | None = None
    """A directory with its certificate and key; without it a self-signed certificate is used."""
    enable_http2: bool = False


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Settings of the log; None for those of the environment variables and the terminal."""

    format: Literal["json", "text"] | None = None
    color: Literal["auto", "always", "never"] | None = None
    level: str | None = None


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """The options of a process that do not depend on the kinds it serves."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    """The namespaces to watch; empty for all."""
    requests_per_second: float | None = None
    burst: int = DEFAULT_OPTIONS.burst
    dry_run: bool = False

    leader_elect: bool = False
    lease: LeaseOptions = field(default_factory=LeaseOptions)
    max_concurrent_reconciles: int = 16
    resync: timedelta | None = None
    """How often objects that need nothing are reconciled; None for the interval of each controller."""

    server: ServerOptions = field(default_factory=ServerOptions)
    otlp_endpoint: str = ""
    """Where traces are sent; empty for no traces."""
    log: LogOptions = field(default_factory=LogOptions)

    def client_options(self) -> ClientOptions:
        return ClientOptions(
            requests_per_second=self.requests_per_second, burst=self.burst, dry_run=self.dry_run
        )
