"""The first example of docs/import.md, against the clouds of `edgekeeper up --no-operator`: a shell runs the very lines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml

PAGE: Final = (Path(__file__).parents[2] / "docs" / "import.md").read_text()
EDGEKEEPER: Final = [sys.executable, "-m", "edgekeeper.cli"]
PATIENCE: Final = 60.0
AWS: Final = """
import botocore.session, sys
service, operation, *rest = sys.argv[1:]
assert (service, operation) == ("cloudfront", "create-distribution-tenant"), sys.argv
given = dict(zip(rest[::2], rest[1::2], strict=True))
client = botocore.session.get_session().create_client(service)
client.create_distribution_tenant(
    DistributionId=given["--distribution-id"],
    Name=given["--name"],
    Domains=[{"Domain": given["--domains"].removeprefix("Domain=")}],
)
"""
KUBECTL: Final = """
import asyncio, sys
from pathlib import Path
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.config import load_config
from edgekeeper.kube.http import HttpTransport

assert sys.argv[1:3] == ["apply", "-f"], sys.argv

async def main():
    client = KubeClient(HttpTransport(load_config()), Calls(), SystemClock())
    for manifest in load_manifests([Path(sys.argv[3])]):
        await client.create(KIND, manifest.body)
    await client.close()

asyncio.run(main())
"""


@contextmanager
def clouds(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a shell beside a running `edgekeeper up --no-operator`, with stand-ins for other programs."""
    endpoints = tmp_path / "e.json"
    options = ("--no-operator", "--endpoints", str(endpoints), "--kubeconfig", str(tmp_path / "kubeconfig"))
    process = subprocess.Popen(
        [*EDGEKEEPER, "up", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not endpoints.exists():
            assert time.monotonic() < deadline, "the server never came up"
            time.sleep(0.05)
        at = json.loads(endpoints.read_text())
        tools = tmp_path / "tools"
        tools.mkdir()
        for name, text in (
            ("aws", AWS),
            ("kubectl", KUBECTL),
            ("edgekeeper", "from edgekeeper.cli.main import main\nmain()"),
        ):
            (tools / name).write_text(f"#!{sys.executable}\n{text}")
            (tools / name).chmod(0o755)
        yield {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "KUBECONFIG": at["kubeconfig"],
            "AWS_ENDPOINT_URL": at["aws"],
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        process.kill()
        process.wait()


def example() -> list[tuple[str, list[str]]]:
    """The commands before the first table, each with the lines that the page shows below it."""
    prose = re.sub(r"```.*?```", "", PAGE.partition("\n| command |")[0], flags=re.DOTALL)
    shown = [line[4:] for line in prose.splitlines() if line.startswith("    ")]
    steps: list[tuple[str, list[str]]] = []
    for line in shown:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and line != "…":
            steps[-1][1].append(line)
    return steps


def test_page_shows_what_happens(tmp_path: Path) -> None:
    manifest = next(iter(re.findall(r"```yaml\n# tenants.yaml\n(.*?)```", PAGE, re.DOTALL)))
    steps = example()
    assert [command.split()[0] for command, _ in steps] == ["aws", "edgekeeper", "edgekeeper", "kubectl"]
    with clouds(tmp_path) as environment:
        for command, expected in steps:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            code = 2 if command.startswith("edgekeeper plan") else 0
            assert done.returncode == code, done.stderr
            printed = re.sub(r"dt_\w+", "dt_…", done.stdout + done.stderr)
            assert printed.splitlines()[: len(expected)] == expected
        assert yaml.safe_load((tmp_path / "tenants.yaml").read_text()) == yaml.safe_load(manifest)
        again = subprocess.run(
            ["edgekeeper", "import", "tenants"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (again.returncode, again.stdout) == (0, "")
        assert "skipped: declared by DistributionTenant default/blog" in again.stderr
