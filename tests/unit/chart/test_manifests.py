"""The manifests: what the operator is started with, and how its pod is confined."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import yaml

from edgekeeper import __version__
from edgekeeper.cli.run import run
from edgekeeper.core.json import JsonObject
from tests.unit.chart.test_rules import objects
from tools.chart import CHART, DEPLOY, NAMESPACE, ROOT, VARIANTS

IMDS = ("169.254.169.254/32", "fd00:ec2::254/128")


def one(name: str, kind: str) -> JsonObject:
    (found,) = (obj for obj in objects(name) if obj["kind"] == kind)
    return found


def pod(name: str) -> dict[str, Any]:
    found: dict[str, Any] = one(name, "Deployment")["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("name", VARIANTS)
def test_arguments_are_understood(name: str) -> None:
    (container,) = pod(name)["containers"]
    command, *arguments = container["args"]
    assert command == "run"
    context = run.make_context("run", list(arguments))
    assert context.params["leader_elect"] is True
    assert context.params["webhook_service"] == "edgekeeper-webhooks"


@pytest.mark.parametrize("name", VARIANTS)
def test_pod_is_confined(name: str) -> None:
    """S-31: what the restricted level of Pod Security asks for, and no file system to write to but /tmp."""
    spec = pod(name)
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 65532
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert [volume["name"] for volume in spec["volumes"]] == ["tmp"]
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - the pod's own


@pytest.mark.parametrize("name", VARIANTS)
def test_network_policy_lets_out_to_listed_ports_and_not_to_the_metadata_of_the_node(name: str) -> None:
    """S-32."""
    spec = one(name, "NetworkPolicy")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    ports = {port["port"] for rule in spec["egress"] for port in rule["ports"]}
    assert ports == {53, 80, 443, 6443}
    assert all(rule.get("to") for rule in spec["egress"]), "a rule without peers reaches everything"
    blocks = [peer["ipBlock"] for rule in spec["egress"] for peer in rule["to"] if "ipBlock" in peer]
    assert not [block for block in blocks if block["cidr"] in IMDS]
    wide = {block["cidr"]: block["except"] for block in blocks if block["cidr"].endswith("/0")}
    assert wide == {"0.0.0.0/0": ["169.254.0.0/16"], "::/0": ["fd00:ec2::/32", "fe80::/10"]}
    (container,) = pod(name)["containers"]
    assert {"name": "AWS_EC2_METADATA_DISABLED", "value": "true"} in container["env"]


def test_workers_have_accounts_of_their_own() -> None:
    annotations = one("split/edgekeeper.yaml", "Deployment")["metadata"]["annotations"]
    accounts = {
        obj["metadata"]["name"] for obj in objects("split/edgekeeper.yaml") if obj["kind"] == "ServiceAccount"
    }
    assert accounts == {"edgekeeper", *annotations.values()}
    assert len(accounts) == 3


@pytest.mark.parametrize("name", VARIANTS)
def test_everything_with_a_namespace_is_in_that_of_the_operator(name: str) -> None:
    assert {obj["metadata"].get("namespace", NAMESPACE) for obj in objects(name)} == {NAMESPACE}


def test_versions_agree() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["version"] == chart["appVersion"] == project["version"] == __version__


def test_kustomization_names_files_that_exist() -> None:
    for path in DEPLOY.rglob("kustomization.yaml"):
        for resource in yaml.safe_load(path.read_text())["resources"]:
            assert (path.parent / resource).exists(), resource
