"""The chart as helm renders it: values, their errors, and the manifests that are kept in the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgekeeper.cli.run import run
from edgekeeper.controllers.zerotrust.operator_workers import WORKERS, worker_deployment
from edgekeeper.core.json import JsonObject
from edgekeeper.web import access
from tests.conformance.installation import find_helm
from tests.conformance.servers import give_up
from tests.security.test_s32_network import reaches
from tools.chart import CHART, DEPLOY, KUBERNETES, rendered, rendered_files


@pytest.fixture(scope="module")
def helm() -> Path:
    found = find_helm()
    if found is None:
        give_up("there is no helm: install Go and run tools/helm.py, or set HELM to the program")
    return found


def objects(helm: Path, *arguments: str) -> list[JsonObject]:
    return [document for document in yaml.safe_load_all(rendered(helm, *arguments)) if document]


def names(found: list[JsonObject], kind: str) -> set[str]:
    return {obj["metadata"]["name"] for obj in found if obj["kind"] == kind}


def test_manifests_of_the_repository_are_up_to_date(helm: Path) -> None:
    for path, text in rendered_files(helm):
        assert path.read_text() == text, f"{path.relative_to(DEPLOY.parent)} is outdated: run `make chart`"


def test_lint_finds_nothing(helm: Path) -> None:
    command = [str(helm), "lint", "--strict", f"--kube-version={KUBERNETES}", str(CHART)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("mode=both", "/mode"),
        ("replicaCount=two", "/replicaCount"),
        ("features.cloudfront=maybe", "/features/cloudfront"),
        ("operator.logLevel=loud", "/operator/logLevel"),
        ("operator.watchNamespaces={Team_A}", "/operator/watchNamespaces/0"),
        ("operator.pollIntervalSeconds=-1", "/operator/pollIntervalSeconds"),
        ("controller.driftPolicy=ignore", "/controller/driftPolicy"),
        ("controller.maxConcurrentReconciles=0", "/controller/maxConcurrentReconciles"),
        ("composition.mode=maybe", "/composition/mode"),
        ("secrets.namespaces=apps", "/secrets/namespaces"),
        ("secrets.clusterWide=1", "/secrets/clusterWide"),
        ("metrics.bindAddress=8443", "/metrics/bindAddress"),
        ("rbac.mode=admin", "/rbac/mode"),
        ("image.digest=sha256:1", "/image/digest"),
        ("networkPolicy.egressPorts={https}", "/networkPolicy/egressPorts/0"),
        ("exampleTemplates.install=true", "/exampleTemplates/install"),
        ("serviceacount.create=true", "serviceacount"),
        ("operator.loglevel=INFO", "loglevel"),
        ("tenant.create=true", "tenant.instanceName"),
        ("leaderElection.enabled=false,replicaCount=2", "replicaCount"),
        ("mode=split,features.zerotrust=false", "features.zerotrust"),
        ("traces.otlpEndpoint=collector:4318", "/traces/otlpEndpoint"),
        ("statusPage.enabled=yes", "/statusPage/enabled"),
        ("statusPage.bindAddress=8444", "/statusPage/bindAddress"),
        ("statusPage.port=8444", "port"),
        ("networkPolicy.egressCIDRs={128.0.0.0/1}", "networkPolicy.egressCIDRs"),
        ("networkPolicy.egressCIDRs={169.254.0.0/16}", "networkPolicy.egressCIDRs"),
        ("networkPolicy.egressCIDRs={fd00::/8}", "networkPolicy.egressCIDRs"),
        ("networkPolicy.egressCIDRs={fd00:ec2::/32}", "networkPolicy.egressCIDRs"),
    ],
)
def test_bad_value_is_an_error_that_names_its_key(helm: Path, value: str, key: str) -> None:
    with pytest.raises(RuntimeError, match=r".") as caught:
        rendered(helm, f"--set={value}")
    assert key in str(caught.value)


def write(path: Path, values: Any) -> str:
    path.write_text(yaml.safe_dump(values))
    return f"--values={path}"


def test_values_of_the_operator_for_tenants_work_unchanged(helm: Path, tmp_path: Path) -> None:
    values = {
        "replicaCount": 2,
        "image": {"repository": "registry.example.com/operator", "tag": "1", "pullPolicy": "IfNotPresent"},
        "imagePullSecrets": [{"name": "pull"}],
        "nameOverride": "",
        "fullnameOverride": "tenants",
        "aws": {"region": "eu-west-1"},
        "controller": {"driftPolicy": "report", "maxConcurrentReconciles": 3},
        "leaderElection": {"enabled": True},
        "metrics": {"bindAddress": ":8443", "secure": True},
        "probes": {"bindAddress": ":8082"},
        "serviceAccount": {
            "create": True,
            "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/edge"},
            "name": "tenants",
        },
        "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [],
        "affinity": {},
        "extraEnv": [{"name": "A", "value": "b"}],
    }
    found = objects(helm, write(tmp_path / "values.yaml", values))
    (deployment,) = (obj for obj in found if obj["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert deployment["spec"]["replicas"] == 2
    assert container["image"] == "registry.example.com/operator:1"
    assert {"--drift-policy=report", "--aws-region=eu-west-1", "--health-probe-bind-address=:8082"} <= set(
        container["args"]
    )
    assert {"name": "A", "value": "b"} in container["env"]
    (account,) = (obj for obj in found if obj["kind"] == "ServiceAccount")
    assert account["metadata"]["annotations"] == values["serviceAccount"]["annotations"]  # type: ignore[index]


def test_values_of_the_operator_for_routes_work_unchanged(helm: Path, tmp_path: Path) -> None:
    values = {
        "image": {"registry": "registry.example.com", "repository": "zt", "tag": "", "pullPolicy": "Always"},
        "namespaceOverride": "cloudflare",
        "operator": {
            "watchNamespaces": "web, apps",
            "logLevel": "DEBUG",
            "pollIntervalSeconds": 60,
            "cloudflareApiBase": "https://api.example.com/client/v4",
            "extraEnv": [{"name": "A", "value": "b"}],
        },
        "priorityClassName": "system-cluster-critical",
        "podAnnotations": {"a": "b"},
        "podLabels": {"c": "d"},
        "podSecurityContext": {"fsGroup": 1000, "runAsNonRoot": True},
        "securityContext": {"runAsUser": 1000, "readOnlyRootFilesystem": True},
        "rbac": {"create": True},
        "exampleTemplates": {"install": False},
        "tenant": {
            "create": True,
            "instanceName": "main",
            "accountId": "a",
            "tunnelId": "t",
            "zoneId": "z",
            "existingSecret": {"name": "token", "key": "value"},
        },
    }
    found = objects(helm, write(tmp_path / "values.yaml", values))
    (deployment,) = (obj for obj in found if obj["kind"] == "Deployment")
    assert deployment["metadata"]["namespace"] == "cloudflare"
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    environment = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert environment["WATCH_NAMESPACES"] == "web,apps"
    assert environment["POLL_INTERVAL_SECONDS"] == "60"
    assert environment["CLOUDFLARE_API_BASE"] == "https://api.example.com/client/v4"
    (tenant,) = (obj for obj in found if obj["kind"] == "CloudflareZeroTrustTenant")
    assert tenant["spec"]["credentialRef"] == {"name": "token", "key": "value"}


NODE = ("169.254.169.254", "fd00:ec2::254")


@pytest.mark.parametrize(
    ("values", "is_reached"),
    [
        ("networkPolicy.egressCIDRs={10.0.0.0/8,52.94.0.0/16,2606:4700::/32,fd12:3456::/48}", False),
        ("networkPolicy.podIdentityAgent=false", False),
        ("networkPolicy.egressPorts={80,443}", False),
        ("networkPolicy.allowInstanceMetadata=true", True),
    ],
)
def test_metadata_of_the_node_is_reached_only_if_a_value_says_so(
    helm: Path, values: str, is_reached: bool
) -> None:
    """S-32."""
    (policy,) = (obj for obj in objects(helm, f"--set={values}") if obj["kind"] == "NetworkPolicy")
    for address in NODE:
        assert reaches(policy["spec"], address, 80, None) == is_reached
        assert not reaches(policy["spec"], address, 8080, None)


def test_api_token_of_the_values_is_in_its_secret_only(helm: Path) -> None:
    """S-21."""
    token = "c4n4ry0123456789"
    tenant = "tenant.create=true,tenant.instanceName=main,tenant.accountId=a,tenant.tunnelId=t"
    found = objects(helm, f"--set={tenant},tenant.apiToken={token}")
    assert [obj["kind"] for obj in found if token in str(obj)] == ["Secret"]
    assert "apiToken" not in (CHART / "templates/NOTES.txt").read_text()


def test_listed_namespaces_limit_the_rights(helm: Path) -> None:
    found = objects(helm, "--set=operator.watchNamespaces={web}", "--set=composition.kroNamespace=kro")
    assert names(found, "ClusterRoleBinding") == {"edgekeeper", "edgekeeper-composed"}
    bound = {
        (obj["metadata"]["name"], obj["metadata"]["namespace"])
        for obj in found
        if obj["kind"] == "RoleBinding"
    }
    assert bound == {
        ("edgekeeper", "edgekeeper-system"),
        ("edgekeeper-watched", "web"),
        ("edgekeeper-watched", "edgekeeper-system"),
        ("edgekeeper-secrets", "edgekeeper-system"),
        ("edgekeeper-kro", "kro"),
    }


def test_feature_that_is_off_has_no_rights_and_no_controllers(helm: Path) -> None:
    found = objects(helm, "--set=features.zerotrust=false,features.composition=false,features.bridge=false")
    roles = [obj for obj in found if obj["kind"] in ("Role", "ClusterRole")]
    groups = {
        group
        for role in roles
        if not role["metadata"]["name"].endswith(("-viewer", "-editor"))
        for rule in role["rules"]
        for group in rule.get("apiGroups", ())
    }
    assert (
        not {"cfzt.cloudflare.com", "kro.run", "gateway.networking.k8s.io", "acm.services.k8s.aws"} & groups
    )
    assert not names(found, "ValidatingWebhookConfiguration")
    assert "edgekeeper-secrets" not in names(found, "ClusterRole")
    (deployment,) = (obj for obj in found if obj["kind"] == "Deployment")
    (off,) = (
        argument
        for argument in deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        if argument.startswith("--controllers=")
    )
    assert "-httproute" in off
    assert "-resourcegraphdefinition" in off
    assert "distributiontenant" not in off


@pytest.mark.parametrize(
    ("value", "role"),
    [("secrets.clusterWide=true", "edgekeeper-secrets"), ("rbac.mode=unrestricted", "edgekeeper-composed")],
)
def test_wider_rights_are_asked_for_by_one_value(helm: Path, value: str, role: str) -> None:
    assert role in names(objects(helm, f"--set={value}"), "ClusterRoleBinding")


def test_everything_optional_renders(helm: Path) -> None:
    found = objects(
        helm,
        "--set=metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true",
        "--set=guards.hostnamePolicy.team={a.example.com},networkPolicy.allowInstanceMetadata=true",
        "--set=tenant.create=true,tenant.instanceName=x,tenant.accountId=a,tenant.tunnelId=t,tenant.apiToken=s",
        "--set=mode=split,composition.allowCrdDeletion=true",
    )
    (rules,) = (obj for obj in found if obj["kind"] == "PrometheusRule")
    assert rules["spec"] == yaml.safe_load((CHART / "files/alerts.yaml").read_text())
    assert names(found, "ConfigMap") == {"edgekeeper-dashboard", "edgekeeper-hostname-policy"}
    assert names(found, "ServiceMonitor") == {"edgekeeper"}
    assert names(found, "Secret") == {"x-api-token"}


PAGE = "statusPage.enabled=true"


def pods_of(deployment: JsonObject, mode: str) -> list[dict[str, str]]:
    """The labels of all pods of the operator, those of the workers that its manager creates included."""
    manager = {**deployment, "metadata": {**deployment["metadata"], "uid": "1"}}
    workers = [
        worker_deployment(manager, role, live=None, image_digest="", replicas=1)
        for role in WORKERS
        if mode == "split"
    ]
    return [each["spec"]["template"]["metadata"]["labels"] for each in (deployment, *workers)]


@pytest.mark.parametrize("mode", ["all-in-one", "split"])
def test_every_process_serves_its_status_page_through_a_service_of_its_own(helm: Path, mode: str) -> None:
    found = objects(helm, f"--set=mode={mode},{PAGE},statusPage.bindAddress=:9444")
    (deployment,) = (obj for obj in found if obj["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    address = run.make_context("run", container["args"][1:]).params["web_bind_address"]
    assert address.port == 9444
    assert {"name": "status", "containerPort": 9444} in container["ports"]
    services = {
        obj["metadata"]["name"]: obj["spec"]
        for obj in found
        if obj["kind"] == "Service" and obj["metadata"]["name"].endswith("-status")
    }
    pods = pods_of(deployment, mode)
    assert len(services) == len(pods) == (1 if mode == "all-in-one" else 3)
    reached = [
        [labels for labels in pods if spec["selector"].items() <= labels.items()]
        for spec in services.values()
    ]
    assert sorted(reached, key=str) == sorted(([labels] for labels in pods), key=str)
    assert {spec["sessionAffinity"] for spec in services.values()} == {"ClientIP"}
    assert {spec["ports"][0]["targetPort"] for spec in services.values()} == {"status"}


def test_role_for_the_status_page_is_what_it_asks_for_and_nobody_has_it(helm: Path) -> None:
    found = objects(helm, f"--set={PAGE}")
    (role,) = (obj for obj in found if obj["metadata"]["name"] == "edgekeeper-status" and "rules" in obj)
    assert role["kind"] == "ClusterRole"
    assert role["rules"] == [{"nonResourceURLs": [access.PATH], "verbs": ["get"]}]
    bound = {obj["roleRef"]["name"] for obj in found if obj["kind"].endswith("RoleBinding")}
    assert "edgekeeper" in bound
    assert "edgekeeper-status" not in bound


def test_status_page_without_metrics_may_ask_who_somebody_is(helm: Path) -> None:
    for values, may in ((f"{PAGE},metrics.enabled=false", True), ("metrics.enabled=false", False)):
        found = objects(helm, f"--set={values}")
        (role,) = (
            obj for obj in found if obj["kind"] == "ClusterRole" and obj["metadata"]["name"] == "edgekeeper"
        )
        granted = {resource for rule in role["rules"] for resource in rule["resources"]}
        assert ({"tokenreviews", "subjectaccessreviews"} <= granted) is may


@pytest.mark.parametrize(
    ("values", "peers"),
    [
        pytest.param(PAGE, [{"namespaceSelector": {}}], id="everybody in the cluster"),
        pytest.param(
            f"{PAGE},networkPolicy.statusPageFrom[0].podSelector.matchLabels.app=proxy",
            [{"podSelector": {"matchLabels": {"app": "proxy"}}}],
            id="listed peers",
        ),
    ],
)
def test_network_policy_lets_peers_reach_the_status_page(helm: Path, values: str, peers: list[Any]) -> None:
    (policy,) = (obj for obj in objects(helm, f"--set={values}") if obj["kind"] == "NetworkPolicy")
    rules = {rule["ports"][0]["port"]: rule for rule in policy["spec"]["ingress"]}
    assert set(rules) == {"webhooks", "metrics", "status"}
    assert rules["status"]["from"] == peers
