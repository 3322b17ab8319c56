"""Flags and variables become one value."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from edgekeeper.cli.operator_options import operator_options
from edgekeeper.kube.lease import LeaseOptions
from edgekeeper.runtime.certificates import CertificateFiles
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions

PAGE = (Path(__file__).parents[3] / "docs" / "runtime.md").read_text()


def command(found: list[RuntimeOptions]) -> click.Command:
    @click.command()
    @operator_options
    @click.option("--extra", default="none")
    def run(options: RuntimeOptions, extra: str) -> None:
        assert extra in {"none", "some"}
        found.append(options)

    return run


def parsed(*arguments: str, **variables: str) -> RuntimeOptions:
    found: list[RuntimeOptions] = []
    result = CliRunner(env=variables).invoke(command(found), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return found[0]


def complaint(*arguments: str, **variables: str) -> str:
    result = CliRunner(env=variables).invoke(command([]), arguments)
    assert result.exit_code == 2
    return result.output.strip().splitlines()[-1].removeprefix("Error: ")


def test_defaults_are_the_documented_ones() -> None:
    assert parsed() == RuntimeOptions()
    assert RuntimeOptions() == RuntimeOptions(
        max_concurrent_reconciles=16,
        leader_elect=False,
        server=ServerOptions(
            health_address=Address("", 8081),
            metrics_address=None,
            metrics_secure=True,
            webhook_address=Address("", 9443),
        ),
        lease=LeaseOptions(timedelta(seconds=15), timedelta(seconds=10), timedelta(seconds=2)),
    )


def test_everything_can_be_told(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.touch()
    options = parsed(
        *("--kubeconfig", str(kubeconfig), "--context", "prod", "--namespace", "a,b", "--namespace", "b,c"),
        *("--qps", "20", "--burst", "40", "--dry-run", "--max-concurrent-reconciles", "4"),
        *(
            "--leader-elect",
            "--lease-duration",
            "30s",
            "--lease-renew-deadline=20s",
            "--lease-retry-period",
            "5s",
        ),
        *("--health-probe-bind-address", "0", "--metrics-bind-address", "127.0.0.1:8443"),
        *("--metrics-cert-path", str(tmp_path), "--webhook-cert-path", str(tmp_path)),
        *("--metrics-cert-name", "m.crt", "--metrics-cert-key", "m.key"),
        *("--webhook-cert-name", "w.crt", "--webhook-cert-key", "w.key"),
        *("--webhook-bind-address", ":10250", "--webhook-service", "edgekeeper", "--enable-http2"),
        *("--log-format", "text", "--log-color", "never", "--log-level", "DEBUG", "--extra", "some"),
    )
    assert options == RuntimeOptions(
        kubeconfig=kubeconfig,
        context="prod",
        namespaces=("a", "b", "c"),
        requests_per_second=20.0,
        burst=40,
        dry_run=True,
        leader_elect=True,
        lease=LeaseOptions(timedelta(seconds=30), timedelta(seconds=20), timedelta(seconds=5)),
        max_concurrent_reconciles=4,
        server=ServerOptions(
            health_address=None,
            metrics_address=Address("127.0.0.1", 8443),
            metrics_cert_path=tmp_path,
            metrics_cert_files=CertificateFiles("m.crt", "m.key"),
            webhook_address=Address("", 10250),
            webhook_cert_path=tmp_path,
            webhook_cert_files=CertificateFiles("w.crt", "w.key"),
            webhook_service="edgekeeper",
            enable_http2=True,
        ),
        log=LogOptions("text", "never", "DEBUG"),
    )


@pytest.mark.parametrize(
    ("arguments", "secure"),
    [
        ("", True),
        ("--metrics-secure", True),
        ("--metrics-secure=true", True),
        ("--metrics-secure=false", False),
        ("--metrics-secure=0", False),
        ("--metrics-secure --leader-elect", True),
    ],
)
def test_switches_have_the_forms_of_go(arguments: str, secure: bool) -> None:
    assert parsed(*arguments.split()).server.metrics_secure is secure


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        (
            "EDGEKEEPER_METRICS_BIND_ADDRESS",
            ":8080",
            {"server": ServerOptions(metrics_address=Address("", 8080))},
        ),
        ("EDGEKEEPER_METRICS_SECURE", "false", {"server": ServerOptions(metrics_secure=False)}),
        ("EDGEKEEPER_LEADER_ELECT", "true", {"leader_elect": True}),
        ("EDGEKEEPER_DRY_RUN", "1", {"dry_run": True}),
        ("EDGEKEEPER_QPS", "5.5", {"requests_per_second": 5.5}),
        ("WATCH_NAMESPACES", "team-a, team-b,,", {"namespaces": ("team-a", "team-b")}),
        ("WATCH_NAMESPACES", "", {}),
        ("POLL_INTERVAL_SECONDS", "60", {"resync": timedelta(seconds=60)}),
        ("POLL_INTERVAL_SECONDS", "5m", {"resync": timedelta(minutes=5)}),
        ("POLL_INTERVAL_SECONDS", "", {}),
        ("LOG_LEVEL", "WARNING", {"log": LogOptions(level="WARNING")}),
        ("LOG_FORMAT", "json", {"log": LogOptions(format="json")}),
        ("LOG_COLOR", "always", {"log": LogOptions(color="always")}),
    ],
)
def test_variables_mean_the_same(variable: str, value: str, expected: dict[str, object]) -> None:
    assert parsed(**{variable: value}) == RuntimeOptions(**expected)  # type: ignore[arg-type] # by name


def test_flags_win_over_variables() -> None:
    assert parsed("--burst", "7", EDGEKEEPER_BURST="9").burst == 7
    assert parsed("--namespace", "b", WATCH_NAMESPACES="a").namespaces == ("b",)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--zap-devel", LogOptions("text", None, "debug")),
        ("--zap-devel=false", LogOptions()),
        ("--zap-encoder=console", LogOptions("text")),
        ("--zap-encoder=json --zap-devel", LogOptions("json", None, "debug")),
        ("--zap-log-level=info", LogOptions(level="info")),
        ("--zap-log-level=0", LogOptions(level="info")),
        ("--zap-log-level=5", LogOptions(level="debug")),
        ("--zap-log-level=panic", LogOptions(level="error")),
        ("--zap-log-level=debug --log-level=warning", LogOptions(level="warning")),
        ("--zap-stacktrace-level=error --zap-time-encoding=rfc3339", LogOptions()),
    ],
)
def test_flags_of_zap_mean_what_they_mean_elsewhere(arguments: str, expected: LogOptions) -> None:
    assert parsed(*arguments.split()).log == expected


def test_deployment_of_the_operator_in_go_starts_unchanged(tmp_path: Path) -> None:
    """All flags that it has, as its charts and manifests write them."""
    options = parsed(
        *("--leader-elect=true", "--health-probe-bind-address=:8081", "--metrics-bind-address=:8443"),
        *("--metrics-secure=true", f"--metrics-cert-path={tmp_path}", "--metrics-cert-name=tls.crt"),
        *("--metrics-cert-key=tls.key", f"--webhook-cert-path={tmp_path}", "--webhook-cert-name=tls.crt"),
        *("--webhook-cert-key=tls.key", "--enable-http2=false", "--max-concurrent-reconciles=1"),
        *("--zap-encoder=json", "--zap-log-level=info"),
    )
    assert (options.leader_elect, options.max_concurrent_reconciles) == (True, 1)


COMPLAINTS = {
    "--zap-log-level loud": (
        "Invalid value for '--zap-log-level': 'loud' is none of debug, info, error, panic, nor a number"
    ),
    "--metrics-bind-address 8080": (
        "Invalid value for '--metrics-bind-address': "
        "'8080' is not an address such as :8080 or 127.0.0.1:8080, nor 0 for none"
    ),
    "--max-concurrent-reconciles 0": (
        "Invalid value for '--max-concurrent-reconciles': 0 is not in the range x>=1."
    ),
    "--lease-duration 5s": (
        "the lease duration must be longer than the renew deadline; "
        "change --lease-duration, --lease-renew-deadline or --lease-retry-period"
    ),
    "--lease-duration 15": (
        "Invalid value for '--lease-duration': '15' is not a duration such as 30s, 5m or 1h"
    ),
    "--namespace Team_A": (
        "Invalid value for '--namespace' (env var: 'WATCH_NAMESPACES'): "
        "'Team_A' is not the name of a namespace, such as team-a,team-b"
    ),
    "--log-level loud": (
        "Invalid value for '--log-level' (env var: 'LOG_LEVEL'): "
        "unknown log level 'loud', known are debug, info, warning, error, critical"
    ),
    "--metrics-cert-path /no/such": (
        "Invalid value for '--metrics-cert-path': Directory '/no/such' does not exist."
    ),
}


@pytest.mark.parametrize("arguments", COMPLAINTS)
def test_bad_values_are_told_with_flag_and_remedy(arguments: str) -> None:
    assert complaint(*arguments.split()) == COMPLAINTS[arguments]


def test_bad_variables_are_told_too() -> None:
    assert "'--leader-elect'" in complaint(EDGEKEEPER_LEADER_ELECT="perhaps")


def test_client_options_follow() -> None:
    client = parsed("--qps", "3", "--burst", "4", "--dry-run").client_options()
    assert (client.requests_per_second, client.burst, client.dry_run) == (3.0, 4, True)


@pytest.mark.parametrize(
    "option",
    [each for each in command([]).params if isinstance(each, click.Option)],
    ids=lambda each: each.name,
)
def test_every_option_has_help_and_a_line_in_the_documentation(option: click.Option) -> None:
    if option.name == "extra":
        return
    assert option.help
    assert f"`{option.opts[0]}`" in PAGE
