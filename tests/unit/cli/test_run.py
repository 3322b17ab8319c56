"""`edgekeeper run` and `edgekeeper plan` as processes: a cluster over HTTPS, AWS over HTTP, nothing shared with us."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml

from edgekeeper import __version__
from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.kinds import DEFINITIONS, MODULES
from edgekeeper.cli.main import run
from edgekeeper.cli.readiness import assess
from edgekeeper.cli.run import run as run_command
from edgekeeper.cli.simulated import CRD_PATH, DISTRIBUTION, SimulationOptions, furnish
from edgekeeper.runtime.http_server import Address
from kubesim.aws.cloud import ACCOUNT, AwsCloud
from kubesim.aws.http import serve
from kubesim.aws.settings import UNLIMITED
from kubesim.plane import Plane, PlaneConfig

TENANTS = "/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/default/distributiontenants"
SHOP = {
    "apiVersion": "cloudfront-tenant-operator.io/v1alpha1",
    "kind": "DistributionTenant",
    "metadata": {"name": "shop"},
    "spec": {"distributionId": DISTRIBUTION, "domains": [{"domain": "shop.example.com"}]},
}
PATIENCE = 60


@dataclass(frozen=True)
class World:
    """A cluster and a cloud that listen."""

    plane: Plane
    cloud: AwsCloud
    options: tuple[str, ...]
    """How to reach both."""

    @property
    def server(self) -> str:
        tree = yaml.safe_load(Path(self.options[1]).read_text())
        return str(tree["clusters"][0]["cluster"]["server"])

    async def start(
        self, command: str, *options: str, environ: Mapping[str, str] = MappingProxyType({})
    ) -> Process:
        keys = {
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_DEFAULT_REGION": "eu-west-1",
            **environ,
        }
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "edgekeeper.cli", command, *self.options, *options),
            stdout=PIPE,
            stderr=PIPE,
            env={**os.environ, **keys},
        )

    async def is_ready(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not assess(await self.plane.client.get(f"{TENANTS}/shop")).ready:  # noqa: ASYNC110 - as people do
                await asyncio.sleep(0.1)


@asynccontextmanager
async def world(directory: Path, *, definitions: bool = True) -> AsyncIterator[World]:
    cloud = AwsCloud(rates=UNLIMITED)
    furnish(cloud, SimulationOptions(deploy_time=timedelta(0)))
    config = PlaneConfig(simulators=frozenset(), gateway_api=False)
    async with Plane(config) as plane, serve(cloud) as aws:
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(plane.kubeconfig(await plane.serve()))
        if definitions:
            await plane.client.create(CRD_PATH, DISTRIBUTION_TENANT.definition())
        await plane.settle()
        yield World(plane, cloud, ("--kubeconfig", str(kubeconfig), "--aws-endpoint-url", aws.url))


KINDS = list(dict.fromkeys(module.kind.kind for module in MODULES))


async def test_operator_makes_a_tenant_ready_and_leaves_when_asked(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        operator = await here.start("run", "--health-probe-bind-address=0", "--leader-elect=true")
        try:
            await here.plane.client.create(TENANTS, SHOP)
            await here.is_ready()
            assert here.cloud.cloudfront.tenant("shop").domains == ("shop.example.com",)
            planning = await here.start("plan", "dt/shop")
            shown, complaints = await planning.communicate()
            assert (planning.returncode, complaints) == (ExitCode.OK, b"")
            assert shown.decode() == "DistributionTenant default/shop: as declared\n\nPlan: 1 as declared.\n"
        finally:
            operator.send_signal(signal.SIGTERM)
            _, log = await operator.communicate()
        assert operator.returncode == ExitCode.OK, log.decode()
        assert b'"error"' not in log
        lines = [json.loads(line) for line in log.splitlines()]
        (started,) = (line for line in lines if line["msg"] == "Starting edgekeeper")
        namespace = await here.plane.client.get("/api/v1/namespaces/kube-system")
        assert {name: started[name] for name in started if name not in {"ts", "logger", "msg"}} == {
            "level": "info",
            "version": __version__,
            "server": here.server,
            "cluster": f"context 'edgekeeper' of {tmp_path / 'kubeconfig'}",
            "cluster_id": namespace["metadata"]["uid"],
            "account": ACCOUNT,
            "region": "eu-west-1",
            "drift_policy": "enforce",
            "dry_run": False,
            "leader_elect": True,
            "namespaces": "all",
            "kinds": KINDS,
        }


async def test_operator_without_its_definitions_names_the_remedy_and_waits(tmp_path: Path) -> None:
    async with world(tmp_path, definitions=False) as here:
        operator = await here.start("run", "--health-probe-bind-address=0")
        assert operator.stderr is not None
        log = b""
        try:
            async with asyncio.timeout(PATIENCE):
                while b"distributiontenants.cloudfront-tenant-operator.io" not in log:
                    log += await operator.stderr.readline()
            await here.plane.client.create(CRD_PATH, DISTRIBUTION_TENANT.definition())
            await here.plane.settle()
            await here.plane.client.create(TENANTS, SHOP)
            await here.is_ready()
        finally:
            operator.send_signal(signal.SIGTERM)
            log += (await operator.communicate())[1]
    lines = [json.loads(line) for line in log.splitlines()]
    told = [line for line in lines if "remedy" in line and "resource" in line]
    assert {(line["level"], line["resource"], line["remedy"]) for line in told} >= {
        ("warning", kind.name, "edgekeeper crds | kubectl apply -f -") for kind in DEFINITIONS
    }
    assert len({line["resource"] for line in told}) == len(told), "each kind is told once"
    texts = [value for line in lines for name, value in line.items() if name in ("msg", "error", "cause")]
    assert not any("404" in str(text) for text in texts)


@pytest.mark.parametrize("command", ["run", "plan"])
async def test_profile_that_does_not_exist_is_told_in_one_line(command: str, tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.plane.client.create(TENANTS, SHOP)
        process = await here.start(command, environ={"AWS_PROFILE": "nobody"})
        try:
            async with asyncio.timeout(PATIENCE):
                shown, told = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert (process.returncode, shown) == (ExitCode.FAILED, b"")
    assert told.decode() == (
        "edgekeeper: error: the AWS profile 'nobody' does not exist: create it in ~/.aws/config, or choose another one "
        "with AWS_PROFILE\n"
    )


async def test_address_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with world(tmp_path) as here:
            operator = await here.start("run", "--health-probe-bind-address", address, "--log-level=critical")
            _, told = await operator.communicate()
    assert operator.returncode == ExitCode.FAILED
    assert told.decode().count("\n") == 1
    assert f"cannot listen on {address}" in told.decode()


DEPLOYMENT = (
    *("--metrics-bind-address=:8443", "--health-probe-bind-address=:8081", "--leader-elect"),
    *("--aws-region=us-east-1", "--drift-policy=report", "--max-concurrent-reconciles=3"),
    *("--metrics-secure=false", "--metrics-cert-name=tls.crt", "--metrics-cert-key=tls.key"),
    *("--webhook-cert-name=tls.crt", "--webhook-cert-key=tls.key", "--enable-http2=false"),
    *("--zap-devel=false", "--zap-encoder=json", "--zap-log-level=info", "--zap-time-encoding=iso8601"),
)
"""Every flag of the operator whose manifests we read, but for paths."""


def test_flags_of_an_existing_deployment_are_understood(tmp_path: Path) -> None:
    paths = [f"--metrics-cert-path={tmp_path}", f"--webhook-cert-path={tmp_path}"]
    given = run_command.make_context("run", [*DEPLOYMENT, *paths]).params
    assert given["drift_policy"] == "report"
    assert given["aws_region"] == "us-east-1"
    assert given["max_concurrent_reconciles"] == 3
    assert given["leader_elect"] is True
    assert given["metrics_secure"] is False


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("metrics_bind_address", None),
        ("health_probe_bind_address", Address("", 8081)),
        ("leader_elect", False),
        ("aws_region", ""),
        ("drift_policy", "enforce"),
        ("max_concurrent_reconciles", 16),
        ("metrics_secure", True),
        ("metrics_cert_path", None),
        ("metrics_cert_name", "tls.crt"),
        ("metrics_cert_key", "tls.key"),
        ("webhook_cert_path", None),
        ("webhook_cert_name", "tls.crt"),
        ("webhook_cert_key", "tls.key"),
        ("enable_http2", False),
    ],
)
def test_flags_mean_the_same_where_they_are_left_out(name: str, default: object) -> None:
    assert run_command.make_context("run", []).params[name] == default


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kubeconfig", "/no/such"], "'/no/such' does not exist"),
        (["--kubeconfig", os.devnull], "has no contexts, so no cluster can be chosen"),
        (["--aws-endpoint-url", "http://aws.example.com"], "refusing the endpoint http://aws.example.com"),
        (["--drift-policy", "Report"], "'Report' is not one of"),
        (["--metrics-bind-address", "x"], "--metrics-bind-address"),
    ],
    ids=["no kubeconfig", "empty kubeconfig", "endpoint in the clear", "policy", "address"],
)
def test_wrong_options_are_told_in_one_line(
    command: str,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}], contexts: [{name: a, context: {cluster: a}}],"
        " current-context: a}"
    )
    given = arguments if "--kubeconfig" in arguments else ["--kubeconfig", str(kubeconfig), *arguments]
    assert run([command, *given]) in (ExitCode.FAILED, ExitCode.USAGE)
    captured = capsys.readouterr()
    assert message in captured.err
    assert (captured.err.count("\n"), captured.out) == (1, "")
