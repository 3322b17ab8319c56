"""The options of every command that runs controllers: one decorator, one value.

    @click.command()
    @operator_options
    def run(options: RuntimeOptions) -> int: ...

Names, defaults and forms are those of operators written in Go, so that their Deployments work unchanged: a switch may
stand alone or have a value (`--leader-elect`, `--leader-elect=true`, `--metrics-secure=false`). Every option has an
environment variable of the same meaning, `EDGEKEEPER_METRICS_BIND_ADDRESS` for `--metrics-bind-address`, and a flag wins
over its variable. Some variables have older names: LOG_FORMAT, LOG_COLOR, LOG_LEVEL, WATCH_NAMESPACES and
POLL_INTERVAL_SECONDS. KUBECONFIG is
not the variable of `--kubeconfig`: it may name several files, and the loader of the configuration knows it. The flags of
zap, the logger of those operators, are understood where ours say nothing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import click

from edgekeeper.cli.duration import Duration
from edgekeeper.kube.lease import LeaseOptions
from edgekeeper.runtime import traces
from edgekeeper.runtime.certificates import USUAL_FILES, CertificateFiles
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.logs import parse_level
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions

Command: TypeAlias = Callable[..., Any]

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_ENCODERS: Final[Mapping[str | None, Literal["json", "text"]]] = {"json": "json", "console": "text"}
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class BindAddress(click.ParamType[Address | None]):
    """Where to listen: `:8080`, `127.0.0.1:8080`, or `0` for nowhere."""

    name = "address"

    def convert(
        self, value: str | Address, param: click.Parameter | None, ctx: click.Context | None
    ) -> Address | None:
        if isinstance(value, Address):
            return value
        try:
            return Address.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class LogLevel(click.ParamType[str]):
    """A level of the log, in upper or lower case."""

    name = "level"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            parse_level(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


class ZapLevel(click.ParamType[str]):
    """A level as zap has them: words of its own, and numbers for more and more detail."""

    name = "level"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = {"debug": "debug", "info": "info", "error": "error", "panic": "error"}
        if value.lower() in known:
            return known[value.lower()]
        if not value.isdecimal():
            self.fail(f"{value!r} is none of {', '.join(known)}, nor a number", param, ctx)
        return "debug" if int(value) > 0 else "info"


class PollInterval(Duration):
    """A duration, or a number of seconds, as the older variable has it."""

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        text = f"{value}s" if isinstance(value, str) and value.isdecimal() else value
        interval = super().convert(text, param, ctx)
        if interval <= timedelta(0):
            self.fail(f"{value!r} is not above zero", param, ctx)
        return interval


class Namespaces(click.ParamType[tuple[str, ...]]):
    """Names of namespaces, separated by commas."""

    name = "namespaces"
    envvar_list_splitter = ","

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(part.strip() for part in value.split(",") if part.strip())
        for name in names:
            if not _NAMESPACE.fullmatch(name):
                self.fail(f"{name!r} is not the name of a namespace, such as team-a,team-b", param, ctx)
        return names


class OtlpEndpoint(click.ParamType[str]):
    """Where a collector of traces listens. What sends them must be installed."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", value):
            self.fail(
                f"{value!r} is not the address of a collector, such as http://collector:4318", param, ctx
            )
        if value and not traces.is_installed():
            self.fail(f"traces need packages that are not installed; {traces.INSTALL}", param, ctx)
        return value


@dataclass(frozen=True)
class _Option:
    """A parameter, and how it is declared."""

    name: str
    flag: str
    settings: Mapping[str, Any]

    def decorate(self, command: Command, **changed: Any) -> Command:
        decorated: Command = click.option(self.flag, self.name, **{**self.settings, **changed})(command)
        return decorated


def _option(flag: str, variable: str = "", **more: Any) -> _Option:
    name = flag.removeprefix("--").replace("-", "_")
    envvar = variable or f"EDGEKEEPER_{name.upper()}"
    return _Option(name, flag, {"envvar": envvar, "show_envvar": bool(variable), **more})


def _switch(flag: str, *, default: bool, **more: Any) -> _Option:
    """A switch as Go has them: alone it means true."""
    form: dict[str, Any] = {"is_flag": False, "flag_value": "true", "type": bool, "metavar": "[BOOL]"}
    return _option(flag, default=default, **form, **more)


def _file_name(flag: str, default: str, meaning: str) -> _Option:
    return _option(flag, default=default, show_default=True, metavar="NAME", help=meaning)


_OPTIONS = (
    # Which cluster
    _option(
        "--kubeconfig",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Use the cluster of this kubeconfig.  [default: $KUBECONFIG, the pod's cluster, ~/.kube/config]",
    ),
    _option("--context", metavar="NAME", help="Use this context of the kubeconfig."),
    _option(
        "--namespace",
        "WATCH_NAMESPACES",
        type=Namespaces(),
        multiple=True,
        metavar="NAME,…",
        help="Watch these namespaces only. Repeatable.  [default: all]",
    ),
    _option(
        "--qps",
        type=click.FloatRange(min=0),
        default=0.0,
        metavar="NUMBER",
        help="Requests to the API server per second; 0 leaves the limit to the server.",
        show_default=True,
    ),
    _option(
        "--burst",
        type=click.IntRange(min=1),
        default=RuntimeOptions().burst,
        metavar="NUMBER",
        help="Requests that may be sent at once where --qps limits them.",
        show_default=True,
    ),
    # What to do
    _switch("--dry-run", default=False, help="Write nothing, neither to the cluster nor to a cloud."),
    _option(
        "--max-concurrent-reconciles",
        type=click.IntRange(min=1),
        default=RuntimeOptions().max_concurrent_reconciles,
        metavar="NUMBER",
        help="Objects of a kind that are reconciled at the same time.",
        show_default=True,
    ),
    _option(
        "--poll-interval",
        "POLL_INTERVAL_SECONDS",
        type=PollInterval(),
        metavar="DURATION",
        help="Reconcile objects for which nothing has changed this often.  [default: depends on the kind]",
    ),
    # Replicas
    _switch(
        "--leader-elect", default=False, help="Elect a leader among replicas; only the leader reconciles."
    ),
    _option(
        "--lease-duration",
        type=Duration(),
        default=LeaseOptions().duration,
        metavar="DURATION",
        help="How long other replicas wait for a leader that does not renew its Lease.  [default: 15s]",
    ),
    _option(
        "--lease-renew-deadline",
        type=Duration(),
        default=LeaseOptions().renew_deadline,
        metavar="DURATION",
        help="How long a leader tries to renew its Lease before it gives up.  [default: 10s]",
    ),
    _option(
        "--lease-retry-period",
        type=Duration(),
        default=LeaseOptions().retry_period,
        metavar="DURATION",
        help="The pause between two attempts to acquire or renew the Lease.  [default: 2s]",
    ),
    # Probes, metrics and webhooks
    _option(
        "--health-probe-bind-address",
        type=BindAddress(),
        default=":8081",
        metavar="ADDRESS",
        help="Serve probes there (/healthz, /readyz); 0 disables them.",
        show_default=True,
    ),
    _option(
        "--metrics-bind-address",
        type=BindAddress(),
        default="0",
        metavar="ADDRESS",
        help="Serve /metrics there: usually :8443, or :8080 without --metrics-secure; 0 disables it.",
        show_default=True,
    ),
    _switch(
        "--metrics-secure",
        default=True,
        help="Serve metrics over HTTPS to clients that RBAC allows; false for plain HTTP.",
        show_default=True,
    ),
    _option(
        "--metrics-cert-path",
        type=_DIRECTORY,
        metavar="DIR",
        help="The directory of the certificate for metrics.  [default: a self-signed one]",
    ),
    _file_name("--metrics-cert-name", USUAL_FILES.certificate, "The certificate's file there."),
    _file_name("--metrics-cert-key", USUAL_FILES.key, "Its key's file."),
    _option(
        "--webhook-bind-address",
        type=BindAddress(),
        default=":9443",
        metavar="ADDRESS",
        help="Serve admission webhooks there; 0 disables them.",
        show_default=True,
    ),
    _option(
        "--webhook-cert-path",
        type=_DIRECTORY,
        metavar="DIR",
        help="The directory of the certificate for admission webhooks.  [default: see --webhook-service]",
    ),
    _file_name("--webhook-cert-name", USUAL_FILES.certificate, "The certificate's file there."),
    _file_name("--webhook-cert-key", USUAL_FILES.key, "Its key's file."),
    _option(
        "--webhook-service",
        default="",
        metavar="NAME",
        help="Create a certificate for this Service, store it in Secret NAME-cert, and set its CA in"
        " ValidatingWebhookConfiguration NAME.",
    ),
    _option(
        "--web-bind-address",
        type=BindAddress(),
        default="0",
        metavar="ADDRESS",
        help="Serve the status page there over HTTPS, to those whom RBAC allows to get /status: usually :8444; 0 disables it.",
        show_default=True,
    ),
    _option(
        "--web-cert-path",
        type=_DIRECTORY,
        metavar="DIR",
        help="The directory of the certificate for the status page.  [default: a self-signed one]",
    ),
    _switch("--enable-http2", default=False, help="Accepted for compatibility; HTTP/1.1 is served."),
    # Traces
    _option(
        "--otlp-endpoint",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        type=OtlpEndpoint(),
        default="",
        metavar="URL",
        help="Send traces there by OTLP over HTTP, such as http://collector:4318.  [default: no traces]",
    ),
    # Logging
    _option(
        "--log-format",
        "LOG_FORMAT",
        type=click.Choice(["json", "text"]),
        help="The format of log lines.  [default: text on a terminal, else json]",
    ),
    _option(
        "--log-color",
        "LOG_COLOR",
        type=click.Choice(["auto", "always", "never"]),
        help="Colours in text.  [default: auto]",
    ),
    _option(
        "--log-level",
        "LOG_LEVEL",
        type=LogLevel(),
        metavar="LEVEL",
        help="The lowest level that is logged: debug, info, warning or error.  [default: info]",
    ),
    # Logging flags of operators written in Go
    _switch("--zap-devel", default=False, hidden=True, help="As --log-format=text --log-level=debug."),
    _option(
        "--zap-encoder",
        type=click.Choice(["json", "console"]),
        hidden=True,
        help="As --log-format, where console is text.",
    ),
    _option(
        "--zap-log-level",
        type=ZapLevel(),
        hidden=True,
        help="As --log-level: debug, info, error, panic, or a number that is above 0 for details.",
    ),
    _option("--zap-stacktrace-level", hidden=True, help="Accepted; errors always have theirs."),
    _option("--zap-time-encoding", hidden=True, help="Accepted; times are always RFC 3339."),
)


def operator_options(command: Command) -> Command:
    """Add the options to a command, which gets them as one argument: `options`."""
    return _with_options(command, _OPTIONS, {})


def embedded_operator_options(command: Command) -> Command:
    """Like `operator_options`, for a command that runs the operator together with its own API server.

    Without the options that choose a cluster, and with no probes and metrics unless an address is given.
    """
    within = tuple(option for option in _OPTIONS if option.name not in _CLUSTER_OPTIONS)
    return _with_options(command, within, _LOCAL_ADDRESSES)


_CLUSTER_OPTIONS: Final = ("kubeconfig", "context")
_LOCAL_ADDRESSES: Final = {
    "health_probe_bind_address": "0",
    "metrics_bind_address": "0",
    "webhook_bind_address": "127.0.0.1:0",
    "web_bind_address": "127.0.0.1:0",
}
"""Defaults: no probes and metrics, webhooks only for the local API server, and the status page on this machine."""


def _with_options(command: Command, options: Sequence[_Option], defaults: Mapping[str, str]) -> Command:
    @functools.wraps(command)
    def collected(*args: Any, **given: Any) -> Any:
        values = {option.name: given.pop(option.name) for option in options}
        return command(*args, options=_options_of({**_NO_CLUSTER, **values}), **given)

    decorated: Command = collected
    for option in reversed(options):
        changed = {"default": defaults[option.name], "show_default": False} if option.name in defaults else {}
        decorated = option.decorate(decorated, **changed)
    return decorated


_NO_CLUSTER: Final[Mapping[str, Any]] = dict.fromkeys(_CLUSTER_OPTIONS)


def _options_of(values: Mapping[str, Any]) -> RuntimeOptions:
    return RuntimeOptions(
        kubeconfig=values["kubeconfig"],
        context=values["context"],
        namespaces=tuple(dict.fromkeys(name for names in values["namespace"] for name in names)),
        requests_per_second=values["qps"] or None,
        burst=values["burst"],
        dry_run=values["dry_run"],
        leader_elect=values["leader_elect"],
        lease=_lease(values),
        max_concurrent_reconciles=values["max_concurrent_reconciles"],
        resync=values["poll_interval"],
        server=ServerOptions(
            health_address=values["health_probe_bind_address"],
            metrics_address=values["metrics_bind_address"],
            metrics_secure=values["metrics_secure"],
            metrics_cert_path=values["metrics_cert_path"],
            metrics_cert_files=CertificateFiles(values["metrics_cert_name"], values["metrics_cert_key"]),
            webhook_address=values["webhook_bind_address"],
            webhook_cert_path=values["webhook_cert_path"],
            webhook_cert_files=CertificateFiles(values["webhook_cert_name"], values["webhook_cert_key"]),
            webhook_service=values["webhook_service"],
            web_address=values["web_bind_address"],
            web_cert_path=values["web_cert_path"],
            enable_http2=values["enable_http2"],
        ),
        otlp_endpoint=values["otlp_endpoint"],
        log=_log(values),
    )


def _log(values: Mapping[str, Any]) -> LogOptions:
    """Our own flags, else what zap's would mean here: its console is text, and development is text with all details."""
    is_devel = values["zap_devel"]
    encoder = _ENCODERS.get(values["zap_encoder"])
    return LogOptions(
        values["log_format"] or encoder or ("text" if is_devel else None),
        values["log_color"],
        values["log_level"] or values["zap_log_level"] or ("debug" if is_devel else None),
    )


def _lease(values: Mapping[str, Any]) -> LeaseOptions:
    try:
        return LeaseOptions(
            values["lease_duration"], values["lease_renew_deadline"], values["lease_retry_period"]
        )
    except ValueError as error:
        flags = "--lease-duration, --lease-renew-deadline or --lease-retry-period"
        raise click.UsageError(f"{error}; change {flags}") from error
