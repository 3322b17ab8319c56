"""The chart, installed: the operator does all its work with exactly the rights of the table, and nothing is refused to it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import subprocess
from pathlib import Path

import aiohttp
import pytest

from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.cli.rbac import ALL, all_rules_of
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.lifecycle.module import Role
from edgekeeper.lifecycle.rbac import WEBHOOKS, Place, Right, rights_of
from tests.conformance.ack import ack_running
from tests.conformance.client import Client, eventually
from tests.conformance.installation import (
    NO_HELM,
    PATIENCE,
    QUICK,
    TEAM,
    WORKERS,
    Site,
    examples,
    find_helm,
    installed,
    manifests,
    namespaces,
)
from tests.conformance.kinds import CLUSTER_ROLE_BINDINGS, DEPLOYMENTS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from tests.conformance.kinds import DEFINITIONS as CUSTOM_DEFINITIONS
from tests.conformance.real import write_kubeconfig
from tests.conformance.servers import Server, give_up
from tools.chart import CHART, NAMESPACE

REGION = "us-east-1"
"""That of the chart's values."""
ACCOUNTS: dict[str, dict[str, str]] = {
    "all-in-one": {"edgekeeper": ALL},
    "split": {
        "edgekeeper": Role.MANAGER,
        WORKERS[0]: Role.KUBE_WORKER,
        WORKERS[1]: Role.CLOUDFLARE_WORKER,
    },
}
"""By mode, the ServiceAccounts, each with the role of its process."""
OFF = frozenset({"composition.allowCrdDeletion"})
"""Options that the chart leaves off."""
FLAGS = {"all-in-one": QUICK, "split": (*QUICK, "--bridge-mode=direct")}
"""By mode, flags that differ from the defaults. By default domains are made by ACK, where it is installed."""


async def test_operator_works_with_exactly_the_rights_of_the_chart(
    admin: Client, tmp_path: Path, mode: str
) -> None:
    """All examples become ready, and leave nothing in AWS when they are deleted."""
    async with installed(admin, tmp_path, mode, *FLAGS[mode]) as site, ack_running(admin, site.aws, REGION):
        await site.run_all_pods(mode)
        await site.apply(examples("platform/rights"))
        first = examples("quickstart/10-namespace.yaml", "quickstart/20-tenants.yaml", "zero-trust", "bridge")
        await site.apply([obj for obj in first if obj["kind"] != OPERATOR_CONFIG])
        await site.until_trusted()
        apis, instances = examples("platform"), examples("platform/instances")
        await site.apply(apis)
        await site.until_ready([*reconciled(first), *apis])
        await site.apply(instances)
        await run_workload(site, "handbook")
        await site.until_ready(instances)
        configs = [obj for obj in first if obj["kind"] == OPERATOR_CONFIG]
        await site.apply(configs)
        await follow_rollouts(site, configs)
        assert site.aws.cloudfront.tenants, "the clouds have what was declared"
        assert names_in_aws(site) == {"checkout.example.com", "orders.example.com"}
        await site.delete([*instances, *deletable(first)])
        await site.delete(apis)
        assert not site.aws.cloudfront.tenants
        assert names_in_aws(site) == set()
        if site.server.name == "real":
            assert refused_requests(tmp_path / "audit.log") == []
        for name in site.ports:
            assert await refusals(site, name) == 0, f"{name} was refused something: {site.logs()}"
        assert site.warnings == []
        if site.server.name == "real":
            assert_used(tmp_path / "audit.log", mode)


OPERATOR_CONFIG = "CloudflareZeroTrustOperatorConfig"
PUBLISHED = ("HTTPRoute", "DistributionTenant", "APIGatewayDomain", "LambdaPermission")
"""Kinds of the examples that stand for something in a cloud, and must go before what they refer to."""


def reconciled(objects: list[JsonObject]) -> list[JsonObject]:
    """Those that the operator, or ACK, reports about without further help."""
    return [obj for obj in objects if obj["kind"] not in ("Namespace", "Secret", OPERATOR_CONFIG)]


def deletable(objects: list[JsonObject]) -> list[JsonObject]:
    """What is published, and the OperatorConfig. Tenants of Zero Trust must outlive their routes."""
    return [obj for obj in objects if obj["kind"] in (*PUBLISHED, OPERATOR_CONFIG)]


def names_in_aws(site: Site) -> set[str]:
    """The domain names of API Gateway."""
    return {domain.name for domain in site.aws.account().apigateway(REGION).domains.values()}


async def run_workload(site: Site, name: str) -> None:
    """Say that the Deployment of an instance runs: there are no nodes."""
    path = DEPLOYMENTS.path(TEAM, name)

    async def created() -> bool | None:
        return (await site.api.get(path)).status == 200 or None

    await eventually(created, PATIENCE, what=f"{name} is created: {site.logs()}")
    await site.mark_available(name, TEAM)


async def follow_rollouts(site: Site, objects: list[JsonObject]) -> None:
    """Complete the rollouts that an OperatorConfig begins, until it is ready."""
    for _ in range(50):
        for name in site.ports:
            await site.mark_available(name)
        live = [await site.read(obj) for obj in objects]
        if all(dig(obj, "status", "deploymentReady") is True for obj in live):
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"the OperatorConfig is not ready: {live}; {site.logs()}")


# What is refused, and what is used


async def refusals(site: Site, name: str) -> float:
    """How many requests of a process the API server has refused, by its own metrics: read as Prometheus reads them."""
    token = await reader_token(site)
    url = f"https://127.0.0.1:{site.ports[name]}/metrics"
    headers = {"Authorization": f"Bearer {token}"}

    async def scraped() -> str | None:
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=_untrusted())) as http,
            http.get(url, headers=headers) as answer,
        ):
            return await answer.text() if answer.status == 200 else None

    text = await eventually(scraped, PATIENCE, what="metrics are served to their reader")
    found = re.findall(r'^rest_client_requests_total\{code="403".*\} (\S+)$', text, re.MULTILINE)
    assert 'code="200"' in text
    return sum(map(float, found))


def _untrusted() -> ssl.SSLContext:
    """The certificate of metrics signs itself."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def reader_token(site: Site) -> str:
    """A ServiceAccount with the ClusterRole for readers of metrics and nothing else."""
    account, path = "prometheus", SERVICE_ACCOUNTS.path(TEAM, "prometheus")
    await site.api.apply(path, SERVICE_ACCOUNTS.new(account, metadata={"namespace": TEAM}), "tests")
    binding = CLUSTER_ROLE_BINDINGS.new(
        account,
        roleRef={
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "edgekeeper-metrics-reader",
        },
        subjects=[{"kind": "ServiceAccount", "name": account, "namespace": TEAM}],
    )
    await site.api.apply(CLUSTER_ROLE_BINDINGS.path(name=account), binding, "tests")
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str((await site.api.create(f"{path}/token", body)).expect(201)["status"]["token"])


def requests_of(log: Path, account: str = "") -> list[JsonObject]:
    """The requests of a ServiceAccount of the operator, or of all, from the audit log of the server."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    entries = map(json.loads, log.read_text().splitlines())
    return [entry for entry in entries if entry["user"]["username"].startswith(user)]


def refused_requests(log: Path) -> list[str]:
    return sorted(
        {
            f"{entry['user']['username']} {entry['verb']} {entry['requestURI']}"
            for entry in requests_of(log)
            if dig(entry, "responseStatus", "code") == 403
        }
    )


def assert_used(log: Path, mode: str) -> None:
    """No right is declared that nothing needs: the story uses it, or `NEEDED_OTHERWISE` says what does."""
    for account, role in ACCOUNTS[mode].items():
        used = {
            (entry["verb"], dig(entry, "objectRef", "apiGroup") or "", _resource(entry))
            for entry in requests_of(log, account)
            if "objectRef" in entry
            and entry["user"]["username"] == f"system:serviceaccount:{NAMESPACE}:{account}"
        }
        declared = {(right.verb, right.group, right.resource) for right in granted(role)}
        if mode == "split":
            declared -= {right for right in declared if right[2] in MADE_BY_ACK}
        unused = {" ".join((verb, f"{resource}.{group}")) for verb, group, resource in declared - used}
        needless = sorted(unused - NEEDED_OTHERWISE.keys())
        assert not needless, f"{account} never needs {needless}"


MADE_BY_ACK = frozenset({"domainnames", "apimappings", "certificates"})
"""What `--bridge-mode=direct` makes without ACK."""
NEEDED_OTHERWISE = {
    "create apimappings.apigatewayv2.services.k8s.aws": "an apply that creates, which the log has as patch",
    "create certificates.acm.services.k8s.aws": "as above",
    "create domainnames.apigatewayv2.services.k8s.aws": "as above",
    "create deployments.apps": "workers: as above",
    "delete deployments.apps": "workers of an earlier split",
    "delete graphrevisions.internal.kro.run": "definitions that have changed more often than revisions are kept",
    "get cloudflaretasks.cfzt.cloudflare.com": "a task whose name is taken",
    "get configmaps.": "a state whose name is taken",
    "get events.events.k8s.io": "an event that somebody else has written",
    "list customresourcedefinitions.apiextensions.k8s.io": "kinds that are not served at the start",
    "list services.": "routes that lead to a LoadBalancer",
    "patch cloudflaretasks.cfzt.cloudflare.com": "tasks of routes that are gone and cannot be collected",
    "patch configmaps.": "drift, and states of routes that are gone and cannot be collected",
    "patch customresourcedefinitions.apiextensions.k8s.io": "definitions that change",
    "patch events.events.k8s.io": "events that come again",
    "patch graphrevisions.internal.kro.run": "definitions that are created again",
    "patch secrets.": "rotation of service tokens, and of the certificate of webhooks",
    "update cloudflaretasks.cfzt.cloudflare.com": "routes that change while their task is carried out",
    "update configmaps.": "routes that change",
    "watch customresourcedefinitions.apiextensions.k8s.io": "kinds that are not served at the start",
    "update apigatewaydomains/finalizers.bridge.ack.tubi.internal": "clusters that enforce rights of owners",
    "watch services.": "routes that lead to a LoadBalancer",
}
"""Rights that the story does not use, with what needs them. Tests of the kinds do these things."""


def _resource(entry: JsonObject) -> str:
    resource, part = dig(entry, "objectRef", "resource"), dig(entry, "objectRef", "subresource")
    return f"{resource}/{part}" if part else str(resource)


def granted(role: str) -> frozenset[Right]:
    return rights_of(rule for rule in all_rules_of(role) if rule.option not in OFF)


# The table


async def test_rights_in_each_namespace_are_those_of_the_table(
    admin: Client, tmp_path: Path, mode: str
) -> None:
    """S-20: whoever steals a token of the operator can do this and no more."""
    places = {
        NAMESPACE: set(Place),
        TEAM: {Place.CLUSTER, Place.WATCHED, Place.SECRETS, Place.KRO},
        "edge": {Place.CLUSTER, Place.WATCHED, Place.KRO},
    }
    async with installed(admin, tmp_path, mode) as site:
        nobody = await may(site, "nobody", "edge")
        for account, role in ACCOUNTS[mode].items():
            for namespace, applying in places.items():
                found = await may(site, account, namespace) - nobody
                assert found == expected(role, applying), (account, namespace)
                if site.server.kubectl is not None:
                    listed = kubectl_lists(site, account, namespace) - nobody
                    assert listed == expected(role, applying), (account, namespace)


def expected(role: str, places: set[Place]) -> set[tuple[str, str, str, str]]:
    rights = rights_of(rule for rule in all_rules_of(role) if rule.option not in OFF and rule.place in places)
    return {
        (right.group, right.resource, right.name.replace(WEBHOOKS, "edgekeeper-webhooks"), right.verb)
        for right in rights
    }


async def may(site: Site, account: str, namespace: str) -> set[tuple[str, str, str, str]]:
    """Every verb that a ServiceAccount may use on a resource in a namespace, as the server says."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    headers = {"Impersonate-User": user, "Impersonate-Group": groups[0]}
    answer = (await site.api.request("POST", path, body, headers=headers)).expect(201)
    return {
        (group, resource, name, verb)
        for rule in answer["status"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
        for verb in rule["verbs"]
    }


def kubectl_lists(site: Site, account: str, namespace: str) -> set[tuple[str, str, str, str]]:
    """The same in the words of `kubectl auth can-i --list`."""
    kubeconfig = write_kubeconfig(site.directory / "admin.kubeconfig", site.server)
    command = [
        str(site.server.kubectl),
        f"--kubeconfig={kubeconfig}",
        "auth",
        "can-i",
        "--list",
        "--no-headers",
    ]
    user = f"--as=system:serviceaccount:{NAMESPACE}:{account}"
    shown = subprocess.run(
        [*command, user, f"--namespace={namespace}"], capture_output=True, text=True, check=True
    ).stdout
    found = set()
    for line in shown.splitlines():
        match = re.fullmatch(r"(\S*)\s+\[(.*?)\]\s+\[(.*?)\]\s+\[(.*?)\]\s*", line)
        assert match is not None, line
        resource, paths, names, verbs = match.groups()
        if paths:
            continue
        resource, part = resource.partition("/")[::2]
        plural, _, group = resource.partition(".")
        full = f"{plural}/{part}" if part else plural
        found |= {(group, full, name, verb) for name in names.split() or [""] for verb in verbs.split()}
    return found


# Helm


async def test_helm_installs_upgrades_and_uninstalls(
    real_cluster: Server, admin: Client, tmp_path: Path
) -> None:
    helm = find_helm()
    if helm is None:
        give_up(NO_HELM)
    kubeconfig = write_kubeconfig(tmp_path / "admin.kubeconfig", real_cluster)

    def run(*arguments: str) -> str:
        command = [str(helm), *arguments, f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}"]
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        assert "warn" not in done.stderr.lower().replace("kubernetes configuration file", "")
        return done.stdout

    for namespace in namespaces():
        (await admin.create(NAMESPACES.path(), namespace)).expect(201)
    notes = run("install", "edgekeeper", str(CHART))
    assert "rollout status deployment/edgekeeper" in notes
    assert "edgekeeper crds | kubectl apply --server-side" in notes
    path = DEPLOYMENTS.path(NAMESPACE, "edgekeeper")
    assert (await admin.get(path)).expect(200)["spec"]["replicas"] == 1
    for kind in DEFINITIONS:
        (await admin.get(CUSTOM_DEFINITIONS.path(name=kind.name))).expect(200)
    run("upgrade", "edgekeeper", str(CHART), "--set=replicaCount=2,mode=split")
    upgraded = (await admin.get(path)).expect(200)
    assert upgraded["spec"]["replicas"] == 2
    run("uninstall", "edgekeeper")
    assert (await admin.get(path)).status == 404
    for kind in DEFINITIONS:
        (await admin.get(CUSTOM_DEFINITIONS.path(name=kind.name))).expect(200)


# Admission


@pytest.fixture
def real_cluster(cluster: Server) -> Server:
    """Policies and Pod Security are the real server's: the embedded one has neither."""
    if cluster.name != "real":
        pytest.skip("the embedded server has no ValidatingAdmissionPolicies and no Pod Security")
    return cluster


async def test_unknown_value_of_an_annotation_is_refused_when_it_is_written(
    real_cluster: Server, admin: Client, tmp_path: Path
) -> None:
    async with installed(admin, tmp_path, "all-in-one") as site:
        (tenant, *_) = examples("quickstart/20-tenants.yaml")
        path = (await site.kind_of(tenant)).path("edge", tenant["metadata"]["name"])

        async def refused() -> JsonObject | None:
            wrong = {**tenant, "metadata": {**tenant["metadata"], "annotations": {KEY: "orphaned"}}}
            answer = await admin.apply(path, wrong, "tests", dryRun="All")
            return answer.body if answer.status == 422 else None

        told = await eventually(refused, PATIENCE, what="the policy is in force")
        assert f"annotation {KEY} must be one of Delete, Orphan" in told["message"]
        right = {**tenant, "metadata": {**tenant["metadata"], "annotations": {KEY: "orphan"}}}
        (await admin.apply(path, right, "tests")).expect(201)
        assert (await admin.patch(path, {"metadata": {"annotations": {KEY: "no"}}})).status == 422
        (await admin.patch(path, {"metadata": {"annotations": {KEY: None}}})).expect(200)


async def test_object_with_an_unknown_value_from_before_can_be_changed_and_deleted(
    real_cluster: Server, admin: Client, tmp_path: Path
) -> None:
    async with installed(admin, tmp_path, "all-in-one") as site:
        (tenant, *_) = examples("quickstart/20-tenants.yaml")
        path = (await site.kind_of(tenant)).path("edge", tenant["metadata"]["name"])
        binding = f"{POLICIES}bindings/edgekeeper-annotations"
        kept = (await admin.get(binding)).expect(200)
        (await admin.delete(binding)).expect(200)
        metadata = {**tenant["metadata"], "annotations": {KEY: "no"}, "finalizers": ["example.com/held"]}

        async def created() -> bool | None:
            answer = await admin.apply(path, {**tenant, "metadata": metadata}, "tests")
            return answer.status == 201 or None

        await eventually(created, PATIENCE, what="the policy is out of force")
        await site.apply([{**kept, "metadata": {"name": "edgekeeper-annotations"}}])
        bad = {"metadata": {"annotations": {KEY: "still-no"}}}

        async def refused() -> bool | None:
            return (await admin.patch(path, bad, dryRun="All")).status == 422 or None

        await eventually(refused, PATIENCE, what="the policy is in force again")
        (await admin.patch(path, {"metadata": {"labels": {"changed": "yes"}}})).expect(200)
        (await admin.delete(path)).expect(200)
        (await admin.patch(path, {"metadata": {"finalizers": None}})).expect(200)
        assert (await admin.get(path)).status == 404


KEY = "edgekeeper.io/deletion-policy"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicy"


LOOSER: dict[str, tuple[JsonObject, JsonObject]] = {
    "user 0": ({"securityContext": {"runAsUser": 0, "runAsNonRoot": True}}, {}),
    "network of the node": ({"hostNetwork": True}, {}),
    "processes of the node": ({"hostPID": True}, {}),
    "files of the node": ({"volumes": [{"name": "tmp", "hostPath": {"path": "/"}}]}, {}),
    "a capability": ({}, {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}),
    "more privileges than its parent": ({}, {"securityContext": {"allowPrivilegeEscalation": True}}),
}
"""By what it asks for, what such a pod has in place of the operator's: in its spec, and in its container."""


async def test_pod_security_accepts_the_pod_and_nothing_looser(real_cluster: Server, admin: Client) -> None:
    """S-31: the namespace has the level `restricted`."""
    (deployment,) = (obj for obj in manifests("all-in-one") if obj["kind"] == "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    for namespace in namespaces():
        (await admin.create(NAMESPACES.path(), namespace)).expect(201)
    path = PODS.path(NAMESPACE)
    accepted = await admin.create(path, PODS.new("operator", spec=spec), dryRun="All")
    accepted.expect(201)
    assert accepted.warnings == ()
    (own,) = spec["containers"]
    for what, (pod, container) in LOOSER.items():
        looser = {**spec, **pod, "containers": [{**own, **container}]}
        refused = await admin.create(path, PODS.new("looser", spec=looser), dryRun="All")
        assert "violates PodSecurity" in refused.refuse(403, "Forbidden")["message"], what
