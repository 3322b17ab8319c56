"""`edgekeeper up`: as a process, the way people and scripts run it, and its refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run
from kubesim.aws.cloud import ACCOUNT

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart"
UP = [sys.executable, "-m", "edgekeeper.cli", "up"]
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
TENANT = """\
apiVersion: cloudfront-tenant-operator.io/v1alpha1
kind: DistributionTenant
metadata: {name: blog, namespace: edge}
spec:
  distributionId: E1XNX8R2GOAABC
  domains: [{domain: blog.example.com}]
"""
STUCK_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: stuck}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: x, image: x}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


@contextmanager
def up_running(*options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Start the command and give what it printed until it was ready to stay."""
    with subprocess.Popen([*UP, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        try:
            yield process, lines
        finally:
            process.kill()


def test_up_keeps_a_simulated_cloud_and_leaves_when_all_is_ready(tmp_path: Path, kubeconfig: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    for name in ("10-namespace.yaml", "40-workload.yaml"):
        (manifests / name).write_text((QUICKSTART / name).read_text())
    (manifests / "20-tenant.yaml").write_text(TENANT)
    options = ["--apply", str(manifests), "--deploy-time", "100ms", "--wait", "--kubeconfig", str(kubeconfig)]
    finished = subprocess.run(
        [*UP, *options], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    assert re.fullmatch(r"edgekeeper \S+ serves Kubernetes at https://127\.0\.0\.1:\d+", lines[0])
    assert re.fullmatch(r"A simulated AWS is at http://127\.0\.0\.1:\d+", lines[1])
    assert re.fullmatch(r"A simulated Cloudflare is at http://127\.0\.0\.1:\d+/client/v4", lines[2])
    assert "ready    Deployment edge/gateway (MinimumReplicasAvailable)" in lines
    assert "ready    Service edge/gateway (AddressAssigned)" in lines
    assert "ready    DistributionTenant edge/blog (Deployed)" in lines
    assert not any("terminal" in line or "export" in line for line in lines)
    assert lines[-1].startswith("Stopping now because of --wait; without it the server keeps running")
    assert "\x1b" not in finished.stdout
    assert not kubeconfig.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
def test_up_stays_until_it_is_stopped(number: signal.Signals, kubeconfig: Path) -> None:
    with up_running("--no-controllers", "--kubeconfig", str(kubeconfig)) as (process, lines):
        address = lines[0].rpartition(" ")[2]
        config = yaml.safe_load(kubeconfig.read_text())
        assert config["clusters"][0]["cluster"]["server"] == address
        process.send_signal(number)
        assert process.wait() == ExitCode.OK
        assert process.stdout
        assert process.stdout.read() == f"Stopped by {number.name}.\n"
    assert not kubeconfig.exists()


def test_up_keeps_objects_and_kubeconfig_in_its_data_directory(tmp_path: Path) -> None:
    manifest, data = tmp_path / "one.yaml", tmp_path / "data"
    manifest.write_text(CONFIG_MAP)
    arguments = ["up", "--no-controllers", "--data-dir", str(data), "--apply", str(manifest), "--wait"]
    assert run(arguments) == ExitCode.OK
    assert (data / "kubeconfig").exists()
    assert run(arguments) == ExitCode.OK


def _kept_tenant(data: Path) -> tuple[str, str]:
    """Id and ETag of the one tenant of the simulated AWS that is kept in a directory."""
    state = json.loads((data / "aws.json").read_text())
    (tenant,) = state["accounts"][ACCOUNT]["cloudfront"]["tenants"]
    assert tenant["name"] == "blog"
    return tenant["id"], tenant["etag"]


@pytest.mark.parametrize(
    "moment",
    ["waiting  DistributionTenant default/blog (Deploying)", "Everything is ready"],
    ids=["deploying", "ready"],
)
def test_up_killed_at_any_moment_goes_on_with_the_same_aws(moment: str, tmp_path: Path) -> None:
    manifest, data = tmp_path / "tenant.yaml", tmp_path / "data"
    manifest.write_text(TENANT.replace(", namespace: edge", ""))
    options = ["--data-dir", str(data), "--apply", str(manifest)]
    with subprocess.Popen(
        [*UP, *options, "--deploy-time", "2s"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert any(line.startswith(moment) for line in process.stdout)
        process.kill()
    before = _kept_tenant(data)
    again = subprocess.run(
        [*UP, *options, "--deploy-time", "100ms", "--wait"], capture_output=True, text=True, check=False
    )
    assert (again.returncode, again.stderr) == (ExitCode.OK, "")
    assert "ready    DistributionTenant default/blog (Deployed)" in again.stdout.splitlines()
    assert _kept_tenant(data) == before  # neither made anew nor changed


def test_up_refuses_an_aws_that_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "aws.json").write_text("{")
    assert run(["up", "--data-dir", str(tmp_path), "--wait"]) == ExitCode.FAILED
    told = capsys.readouterr().err
    assert f"cannot read the simulated AWS from {tmp_path / 'aws.json'}: " in told
    assert told.endswith("; move the file away to begin with a new one\n")


def test_up_names_what_did_not_become_ready(
    tmp_path: Path, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(STUCK_JOB)
    arguments = [
        "up",
        "--no-controllers",
        "--no-simulators",
        "--apply",
        str(manifest),
        "--wait",
        "--timeout",
        "200ms",
    ]
    assert run([*arguments, "--kubeconfig", str(kubeconfig)]) == ExitCode.NOT_READY
    expected = "not ready after 200ms: Job default/stuck (Running); increase --timeout to wait longer"
    assert capsys.readouterr().err == f"edgekeeper: error: {expected}\n"


def test_up_interrupted_while_it_waits_says_so(tmp_path: Path, kubeconfig: Path) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(STUCK_JOB)
    options = ["--no-controllers", "--no-simulators", "--apply", str(manifest), "--wait"]
    options += ["--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(
        [*UP, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        while not process.stdout.readline().startswith("waiting"):
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait() == ExitCode.INTERRUPTED
        assert process.stderr.read() == "edgekeeper: error: stopped by SIGINT before the work was done\n"


def test_up_works_with_authentication_on(
    tmp_path: Path, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "tenant.yaml"
    manifest.write_text(TENANT.replace(", namespace: edge", ""))
    arguments = ["up", "--auth", "--apply", str(manifest), "--deploy-time", "100ms", "--wait"]
    assert run([*arguments, "--kubeconfig", str(kubeconfig)]) == ExitCode.OK
    assert "ready    DistributionTenant default/blog (Deployed)" in capsys.readouterr().out


def test_up_with_authentication_lets_nobody_in_without_credentials(kubeconfig: Path) -> None:
    with up_running("--no-controllers", "--auth", "--kubeconfig", str(kubeconfig)):
        tree = yaml.safe_load(kubeconfig.read_text())
        status = {}
        for name, token in (("administrator", tree["users"][0]["user"]["token"]), ("anybody", "wrong")):
            url = f"{tree['clusters'][0]['cluster']['server']}/api/v1/secrets"
            request = Request(url, headers={"authorization": f"Bearer {token}"})  # noqa: S310 - https
            authority = b64decode(tree["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
            try:
                context = ssl.create_default_context(cadata=authority)
                with urlopen(request, context=context) as answer:  # noqa: S310 - https
                    status[name] = answer.status
            except HTTPError as error:
                status[name] = error.code
                error.close()
    assert status == {"administrator": 200, "anybody": 401}


def test_up_works_whatever_is_configured_for_the_real_aws(
    tmp_path: Path, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "tenant.yaml"
    manifest.write_text(TENANT.replace(", namespace: edge", ""))
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://aws.example.com")
    arguments = ["up", "--apply", str(manifest), "--deploy-time", "100ms", "--wait"]
    assert run([*arguments, "--kubeconfig", str(kubeconfig)]) == ExitCode.OK
    captured = capsys.readouterr()
    assert "ready    DistributionTenant default/blog (Deployed)" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--port", "70000"], ExitCode.USAGE, "70000 is not in the range"),
        (["--simulate", "clouds"], ExitCode.USAGE, "'clouds' is not one of"),
        (["--simulate", "jobs", "--no-simulators"], ExitCode.USAGE, "exclude each other"),
        (["--apply", "absent.yaml"], ExitCode.USAGE, "'absent.yaml' does not exist"),
        (["--timeout", "5"], ExitCode.USAGE, "'5' is not a duration"),
        (["--kubeconfig", os.devnull], ExitCode.FAILED, "choose another --kubeconfig"),
    ],
    ids=["port", "simulator", "contradiction", "missing file", "duration", "foreign kubeconfig"],
)
def test_up_refuses_in_one_line_before_it_starts_anything(
    options: list[str], code: ExitCode, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["up", *options]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_up_names_a_data_directory_that_is_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--no-controllers", "--data-dir", str(tmp_path)]
    with up_running(*arguments):
        before = (tmp_path / "kubeconfig").read_text()
        assert run(["up", *arguments]) == ExitCode.FAILED
        assert (tmp_path / "kubeconfig").read_text() == before
    assert f"{tmp_path} is in use by another server; stop that one, or" in capsys.readouterr().err


def test_up_names_a_port_that_is_taken(
    tmp_path: Path, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with up_running("--no-controllers", "--kubeconfig", str(kubeconfig)) as (_, lines):
        port = lines[0].rpartition(":")[2]
        assert run(["up", "--port", port, "--kubeconfig", str(tmp_path / "another")]) == ExitCode.FAILED
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err
