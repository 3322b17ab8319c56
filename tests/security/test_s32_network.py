"""S-32: what the NetworkPolicy of the chart lets the operator reach, and who reaches it.

`reaches` judges a destination as the documentation of NetworkPolicies says. Whether a cluster enforces them is up to its
network plugin; the SDK of AWS does not ask the metadata service in any case.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml

from edgekeeper.core.json import JsonObject
from tools.chart import DEPLOY, VARIANTS

DNS = {"k8s-app": "kube-dns"}
ALLOWED = {
    "AWS": ("52.94.198.80", 443, None),
    "Cloudflare by IPv6": ("2606:4700::6810:84e5", 443, None),
    "the API server's Service": ("10.96.0.1", 443, None),
    "the API server": ("10.0.12.7", 6443, None),
    "names": ("10.96.0.10", 53, DNS),
    "the agent of Pod Identity": ("169.254.170.23", 80, None),
    "the agent of Pod Identity by IPv6": ("fd00:ec2::23", 80, None),
}
REFUSED = {
    "instance metadata": ("169.254.169.254", 80, None),
    "instance metadata by HTTPS": ("169.254.169.254", 443, None),
    "instance metadata by IPv6": ("fd00:ec2::254", 80, None),
    "instance metadata by IPv6 and HTTPS": ("fd00:ec2::254", 443, None),
    "credentials of ECS": ("169.254.170.2", 80, None),
    "another port of the agent": ("169.254.170.23", 443, None),
    "time of the node": ("169.254.169.123", 123, None),
    "a neighbour by its link": ("fe80::1", 443, None),
    "plain HTTP": ("93.184.216.34", 80, None),
    "SSH": ("10.0.0.1", 22, None),
    "mail": ("93.184.216.34", 25, None),
    "a kubelet": ("10.0.12.7", 10250, None),
    "etcd": ("10.0.12.7", 2379, None),
    "a database": ("10.0.30.4", 5432, None),
    "names elsewhere": ("8.8.8.8", 53, None),
    "another pod as if it had names": ("10.1.2.3", 53, {"app": "tunnel"}),
}


def policy(name: str) -> dict[str, Any]:
    objects = yaml.safe_load_all((DEPLOY / name).read_text())
    (found,) = (obj for obj in objects if obj and obj["kind"] == "NetworkPolicy")
    spec: dict[str, Any] = found["spec"]
    return spec


def reaches(spec: JsonObject, address: str, port: int, labels: dict[str, str] | None) -> bool:
    """Whether a pod of the policy reaches a port of an address; of a pod, where there are labels."""
    return any(
        (not rule.get("ports") or any(each["port"] == port for each in rule["ports"]))
        and (not rule.get("to") or any(_is_peer(peer, address, labels) for peer in rule["to"]))
        for rule in spec["egress"]
    )


def _is_peer(peer: JsonObject, address: str, labels: dict[str, str] | None) -> bool:
    block = peer.get("ipBlock")
    if block is None:
        wanted = peer.get("podSelector", {}).get("matchLabels", {})
        return labels is not None and wanted.items() <= labels.items()
    found = ip_address(address)
    return found in ip_network(block["cidr"]) and not any(
        found in ip_network(each) for each in block.get("except", ())
    )


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("what", ALLOWED)
def test_what_the_operator_needs_is_reached(name: str, what: str) -> None:
    assert reaches(policy(name), *ALLOWED[what])


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("what", REFUSED)
def test_everything_else_is_out_of_reach(name: str, what: str) -> None:
    assert not reaches(policy(name), *REFUSED[what])


@pytest.mark.parametrize("name", VARIANTS)
def test_only_metrics_and_webhooks_can_be_reached(name: str) -> None:
    spec = policy(name)
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in spec["ingress"] for port in rule["ports"]} == {"metrics", "webhooks"}


@pytest.mark.parametrize("name", VARIANTS)
def test_policy_selects_all_pods_of_the_operator(name: str) -> None:
    """Those of workers too, which the manager creates with its own labels but for the component."""
    selector = policy(name)["podSelector"]["matchLabels"]
    objects = yaml.safe_load_all((DEPLOY / name).read_text())
    (deployment,) = (obj for obj in objects if obj and obj["kind"] == "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert selector.items() <= labels.items()
    assert "app.kubernetes.io/component" not in selector
