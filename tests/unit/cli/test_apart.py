"""An operator in processes of its own, against the cluster and the clouds of `edgekeeper up --no-operator`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.config import load_config
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import LEASE, NAMESPACE, Key

EDGEKEEPER = [sys.executable, "-m", "edgekeeper.cli"]
PATIENCE = 60.0
TENANT: JsonObject = yaml.safe_load("""\
apiVersion: cloudfront-tenant-operator.io/v1alpha1
kind: DistributionTenant
metadata: {name: blog, namespace: default}
spec:
  distributionId: E1XNX8R2GOAABC
  domains: [{domain: blog.example.com}]
  dns: {provider: route53, hostedZoneId: Z0EXAMPLE}
""")


def _poll(holds: object, what: str) -> None:
    """Processes of their own have no event for us; the clock is theirs, too."""
    assert callable(holds)
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@contextmanager
def _process(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*EDGEKEEPER, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _operator_env(endpoints: Mapping[str, str]) -> dict[str, str]:
    return {
        "KUBECONFIG": endpoints["kubeconfig"],
        "AWS_ENDPOINT_URL": endpoints["aws"],
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


async def test_operator_in_processes_of_its_own_keeps_the_cluster_of_another(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    with ExitStack() as stack:
        up = stack.enter_context(
            _process(
                *("up", "--no-operator", "--endpoints", str(path), "--deploy-time", "0s"),
                *("--kubeconfig", str(tmp_path / "kubeconfig")),
            )
        )
        _poll(path.exists, "the endpoints are not written")
        endpoints = json.loads(path.read_text())
        assert set(endpoints) == {"kubeconfig", "kubernetes", "aws", "cloudflare"}
        quiet = ("--health-probe-bind-address=0", "--webhook-bind-address=0", "--leader-elect")
        for _ in range(2):
            stack.enter_context(_process("run", *quiet, env=_operator_env(endpoints)))
        client = KubeClient(HttpTransport(load_config(Path(endpoints["kubeconfig"]))), Calls(), SystemClock())
        await client.create(KIND, TENANT, namespace="default")
        deadline = time.monotonic() + PATIENCE
        while not _is_ready(await client.get(KIND, Key("default", "blog"))):
            assert time.monotonic() < deadline, await client.get(KIND, Key("default", "blog"))
        lease = await client.get(LEASE, Key("default", "edgekeeper"))
        assert lease["spec"]["holderIdentity"]
        assert await client.get(NAMESPACE, Key("", "edgekeeper-system"))
        await client.close()
        up.terminate()
        assert up.wait(PATIENCE) == 0
        assert not path.exists()


def _is_ready(obj: JsonObject) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in dig_list(obj, "status", "conditions")
    )


def test_role_that_does_not_exist_is_told_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--role", "gardener"]) == ExitCode.USAGE
    assert "there is no role 'gardener': choose one of manager" in capsys.readouterr().err
