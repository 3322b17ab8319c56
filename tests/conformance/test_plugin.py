"""kubectl finds edgekeeper as its plugin, and completes its arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT as KIND
from kubesim.plane.plane import PlaneConfig
from kubesim.serving import api_server
from tests.conformance.servers import give_up
from tools.real_server import find

SCRIPTS = {"kubectl-edge": "main", "kubectl_complete-edge": "complete"}
TENANTS = f"/apis/{KIND.group}/{KIND.version}/namespaces/default/{KIND.plural}"


class Kubectl:
    """A real kubectl, with the plugin on its path and a cluster with one object."""

    def __init__(self, program: Path, environment: dict[str, str]) -> None:
        self._program = program
        self._environment = environment

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._program), *arguments]
        return subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    programs = find(os.environ)
    if programs is None:
        give_up("kubectl is not built: make conformance")
    for name, function in SCRIPTS.items():
        script = tmp_path / name
        script.write_text(f"#!{sys.executable}\nfrom edgekeeper.cli.plugin import {function}\n{function}()\n")
        script.chmod(0o755)
    with api_server(PlaneConfig(simulators=frozenset())) as server:
        server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", KIND.definition())
        server.settle()
        spec = {"distributionId": "E1XNX8R2GOAABC", "domains": [{"domain": "shop.example.com"}]}
        api = {"apiVersion": f"{KIND.group}/{KIND.version}", "kind": KIND.kind}
        server.call("POST", TENANTS, {**api, "metadata": {"name": "shop"}, "spec": spec})
        paths = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
        environment = {**os.environ, **paths, "KUBECONFIG": str(server.kubeconfig)}
        yield Kubectl(programs / "kubectl", environment)


def test_commands_of_edgekeeper_are_commands_of_kubectl(kubectl: Kubectl) -> None:
    listed = kubectl("edge", "get", "-A", "-o", "name")
    assert (listed.returncode, listed.stdout) == (0, f"{KIND.plural}.{KIND.group}/shop\n")
    explained = kubectl("edge", "explain", "dt/shop")
    assert explained.returncode == 1
    assert "DistributionTenant default/shop is not ready: Pending" in explained.stdout
    assert "'kubectl edge get --help'" in kubectl("edge", "get", "--nothing").stderr


def test_kubectl_completes_commands_kinds_and_names(kubectl: Kubectl) -> None:
    assert kubectl("__complete", "edge", "exp").stdout.splitlines()[0].startswith("explain\t")
    assert kubectl("__complete", "edge", "get", "distr").stdout.splitlines() == ["distributiontenants", ":4"]
    assert kubectl("__complete", "edge", "explain", "dt/").stdout.splitlines() == ["dt/shop", ":4"]
