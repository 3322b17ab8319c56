"""The chart in a cluster, and the operator with nothing but the rights that the chart gives it.

A cluster of the conformance suite has no nodes, so `Site.run_pods` plays them: for each Deployment of the operator it creates the
ReplicaSet and the Pod, starts `edgekeeper run` with the container's own arguments and environment and the token of the pod's
ServiceAccount, and marks the Deployment as available. Only addresses differ from a real installation.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import yaml

from edgekeeper.cli import simulated
from edgekeeper.cli.crds import render
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.cli.readiness import assess
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.readiness import PENDING, Readiness
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.http import serve
from kubesim.plane.kinds import gateway_crds
from tests.conformance.client import Client, eventually
from tests.conformance.kinds import DEPLOYMENTS, PODS, REPLICA_SETS, Kind
from tests.conformance.servers import Server
from tools.chart import DEPLOY, NAMESPACE, rendered

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TEAM = "apps"
"""A namespace whose Secrets the operator may use: tenants and routes of the examples are there."""
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
PATIENCE = 100.0
MANAGER = "installer"


def find_helm() -> Path | None:
    """The helm that is there. Building it is left to `tools/helm.py` itself."""
    command = [sys.executable, str(ROOT / "tools/helm.py"), "--no-build", "--print-path"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def manifests(mode: str) -> list[JsonObject]:
    """The chart's objects, from helm, or else from deploy/ with the binding that `secrets.namespaces` would make."""
    helm = find_helm()
    if helm is not None:
        return _loaded(rendered(helm, f"--set=mode={mode}", f"--set=secrets.namespaces={{{TEAM}}}"))
    objects = _loaded((DEPLOY / mode / "edgekeeper.yaml").read_text())
    bindings = [
        each for each in objects if each["kind"] == "RoleBinding" and _role(each).endswith("-secrets")
    ]
    return [*objects, *({**each, "metadata": {**each["metadata"], "namespace": TEAM}} for each in bindings)]


def _role(binding: JsonObject) -> str:
    return str(binding["roleRef"]["name"])


def _loaded(text: str) -> list[JsonObject]:
    return [document for document in yaml.safe_load_all(text) if document]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@dataclass
class Site:
    """A cluster with the chart, clouds, and the processes of the operator."""

    api: Client
    server: Server
    directory: Path
    aws: AwsCloud
    aws_url: str
    cloudflare_url: str
    stack: ExitStack = field(default_factory=ExitStack)
    paths: dict[tuple[str, str], Kind] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    """By Deployment, where metrics are served."""
    webhook_port: int = field(default_factory=free_port)

    # Objects

    async def kind_of(self, obj: JsonObject) -> Kind:
        """How the server addresses objects of this kind."""
        version, kind = str(obj["apiVersion"]), str(obj["kind"])
        if (version, kind) not in self.paths:
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            found = (await self.api.get(root)).expect(200)
            group, _, number = version.rpartition("/")
            for each in found["resources"]:
                if "/" not in each["name"]:
                    known = Kind(group, number, each["name"], each["kind"], each["namespaced"])
                    self.paths[version, each["kind"]] = known
        return self.paths[version, kind]

    async def apply(self, objects: Iterable[JsonObject]) -> None:
        """Apply objects as an installation does, and remember what the server warns of."""
        for obj in objects:
            kind = await self.kind_of(obj)
            metadata = obj["metadata"]
            namespace = metadata.get("namespace", "") if kind.namespaced else ""
            answer = await self.api.apply(kind.path(namespace, metadata["name"]), obj, MANAGER, force=True)
            assert answer.status in (200, 201), f"{kind.kind} {metadata['name']}: {answer.text[:2000]}"
            self.warnings += answer.warnings

    async def define(self, definitions: Iterable[JsonObject]) -> None:
        """Install definitions and wait until they are served."""
        definitions = list(definitions)
        await self.apply(definitions)
        for definition in definitions:
            await self.is_served(definition)

    async def is_served(self, definition: JsonObject) -> None:
        spec = definition["spec"]
        version = next(each["name"] for each in spec["versions"] if each["served"])
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"

        async def served() -> bool | None:
            return (await self.api.get(path)).status == 200 or None

        await eventually(served, PATIENCE, what=f"{path} is served")

    async def read(self, obj: JsonObject) -> JsonObject | None:
        kind = await self.kind_of(obj)
        namespace = obj["metadata"].get("namespace", "") if kind.namespaced else ""
        answer = await self.api.get(kind.path(namespace, obj["metadata"]["name"]))
        return answer.body if answer.status == 200 else None

    async def until_ready(self, objects: Iterable[JsonObject]) -> None:
        waiting = list(objects)
        seen: dict[str, str] = {}

        async def ready() -> bool | None:
            for obj in list(waiting):
                live = await self.read(obj)
                state = _readiness(live) if live is not None else None
                if state is not None and state.ready:
                    waiting.remove(obj)
                else:
                    seen[f"{obj['kind']} {obj['metadata']['name']}"] = str(state)
            return not waiting or None

        try:
            await eventually(ready, PATIENCE, what="all is ready")
        except AssertionError as error:
            late = {f"{obj['kind']} {obj['metadata']['name']}" for obj in waiting}
            states = {name: state for name, state in seen.items() if name in late}
            raise AssertionError(f"not ready: {states}; logs: {self.logs()}") from error

    async def delete(self, objects: Iterable[JsonObject]) -> None:
        """Delete objects, and wait until they are gone."""
        objects = list(objects)
        for obj in objects:
            kind = await self.kind_of(obj)
            await self.api.delete(kind.path(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))

        async def gone() -> bool | None:
            return not [obj for obj in objects if await self.read(obj) is not None] or None

        try:
            await eventually(gone, PATIENCE, what="all is gone")
        except AssertionError as error:
            raise AssertionError(f"{error}; logs: {self.logs()}") from error

    # Pods

    async def run_pods(self, name: str) -> None:
        """Run the pod of a Deployment as a process, once."""
        deployment = (await self.api.get(DEPLOYMENTS.path(NAMESPACE, name))).expect(200)
        template = deployment["spec"]["template"]
        replica_set = await self._create_owned(
            REPLICA_SETS, f"{name}-1", deployment, _replica_set(deployment)
        )
        pod = await self._create_owned(PODS, f"{name}-1-a", replica_set, template)
        self._start(name, pod, await self._token(template["spec"]["serviceAccountName"]))
        await self.mark_available(name)

    async def mark_available(self, name: str, namespace: str = NAMESPACE) -> None:
        """Say what the controller of Deployments would say once the pod runs."""
        deployment = (await self.api.get(DEPLOYMENTS.path(namespace, name))).expect(200)
        replicas = deployment["spec"]["replicas"]
        counts = dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas
        )
        status = {"observedGeneration": deployment["metadata"]["generation"], **counts}
        path = DEPLOYMENTS.path(namespace, name, "status")
        (await self.api.patch(path, {"status": status})).expect(200)

    async def _create_owned(
        self, kind: Kind, name: str, owner: JsonObject, content: JsonObject
    ) -> JsonObject:
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            **dig_object(content, "metadata"),
            "name": name,
            "namespace": NAMESPACE,
            "ownerReferences": [reference],
        }
        body = {**kind.new(name), "metadata": metadata, "spec": content["spec"]}
        answer = await self.api.create(kind.path(NAMESPACE), body)
        self.warnings += answer.warnings
        return answer.expect(201)

    async def _token(self, account: str) -> str:
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str((await self.api.create(path, body)).expect(201)["status"]["token"])

    def _start(self, name: str, pod: JsonObject, token: str) -> None:
        container = pod["spec"]["containers"][0]
        self.ports[name] = free_port()
        webhooks = self.webhook_port if name == "edgekeeper" else free_port()
        addresses = (
            f"--health-probe-bind-address=127.0.0.1:{free_port()}",
            f"--metrics-bind-address=127.0.0.1:{self.ports[name]}",
            f"--webhook-bind-address=127.0.0.1:{webhooks}",
        )
        log = self.stack.enter_context((self.directory / f"{name}.log").open("wb"))
        process = subprocess.Popen(
            [sys.executable, "-m", "edgekeeper.cli", *container["args"], *addresses],
            stdout=log,
            stderr=log,
            env={**self._environment(name, token), **_variables(container, pod)},
        )
        self.stack.callback(_stop, process)

    def _environment(self, name: str, token: str) -> dict[str, str]:
        inherited = ("PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
        kubeconfig = self.directory / f"{name}.kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(self.server, token)))
        return {
            **{key: os.environ[key] for key in inherited if key in os.environ},
            "KUBECONFIG": str(kubeconfig),
            "AWS_ENDPOINT_URL": self.aws_url,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "CLOUDFLARE_API_BASE": self.cloudflare_url,
        }

    def logs(self) -> str:
        """The ends of the logs, for messages."""
        return "\n".join(path.read_text()[-3000:] for path in self.directory.glob("*.log"))


def _readiness(obj: JsonObject) -> Readiness:
    """As `assess`, but an instance of a composed kind of which nothing is said yet is not ready."""
    is_untold = obj["apiVersion"].startswith("kro.run/") and not dig_list(obj, "status", "conditions")
    return PENDING if is_untold else assess(obj)


def _variables(container: JsonObject, pod: JsonObject) -> dict[str, str]:
    """The environment of a container."""
    found: dict[str, str] = {}
    for each in container["env"]:
        path = str(dig(each, "valueFrom", "fieldRef", "fieldPath") or "")
        found[each["name"]] = str(dig(pod, *path.split("."))) if path else str(each["value"])
    return found


def _replica_set(deployment: JsonObject) -> JsonObject:
    spec = deployment["spec"]
    return {
        "metadata": {"labels": spec["selector"]["matchLabels"]},
        "spec": {"replicas": 1, "selector": spec["selector"], "template": spec["template"]},
    }


def _kubeconfig(server: Server, token: str) -> JsonObject:
    bundle = base64.b64encode(server.authority.bundle).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "tests", "cluster": {"server": server.url, "certificate-authority-data": bundle}}
        ],
        "users": [{"name": "pod", "user": {"token": token}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "pod"}}],
        "current-context": "tests",
    }


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def namespaces() -> Iterator[JsonObject]:
    """The operator's namespace with the strictest level of Pod Security, and those of teams."""
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": RESTRICTED},
    }
    for name in (TEAM, "edge"):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def examples(*names: str) -> list[JsonObject]:
    """The objects of example files, or of all files of a directory of them."""
    paths = [path for name in names for path in _files(EXAMPLES / name)]
    return [obj for path in paths for obj in _loaded(path.read_text())]


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.yaml")) if path.is_dir() else [path]


@asynccontextmanager
async def installed(api: Client, directory: Path, mode: str, *flags: str) -> AsyncIterator[Site]:
    """Install the definitions and the chart into a cluster, and start clouds. No process of the operator runs yet.

    `flags` are what `operator.extraArgs` of the chart would add.
    """
    aws = simulated.open_cloud(simulated.SimulationOptions(deploy_time=timedelta(seconds=0.2)))
    async with AsyncExitStack() as clouds:
        served = await clouds.enter_async_context(serve(aws))
        cloudflare = await clouds.enter_async_context(simulated._cloudflare())
        site = Site(api, api.server, directory, aws, served.url, cloudflare.url)
        with site.stack:
            await site.apply(namespaces())
            foreign = [*gateway_crds(), *(kind.definition() for kind in ACK_KINDS)]
            await site.define([*foreign, *(yaml.safe_load(render(kind)) for kind in DEFINITIONS)])
            await site.apply(await _supported(site, _flagged(manifests(mode), flags)))
            await _reach_webhooks_here(site)
            yield site


def _flagged(objects: list[JsonObject], flags: Iterable[str]) -> list[JsonObject]:
    for obj in objects:
        if obj["kind"] == "Deployment":
            obj["spec"]["template"]["spec"]["containers"][0]["args"] += flags
    return objects


async def _supported(site: Site, objects: list[JsonObject]) -> list[JsonObject]:
    """Without kinds that the embedded server does not have: it is asked, and the real one has all."""
    found = []
    for obj in objects:
        try:
            await site.kind_of(obj)
        except KeyError:
            assert site.server.name == "embedded", obj
        else:
            found.append(obj)
    return found


async def _reach_webhooks_here(site: Site) -> None:
    """There is no network of Services: the API server calls the address where the process listens."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/edgekeeper-webhooks"
    configuration = (await site.api.get(path)).expect(200)
    operations: list[JsonObject] = []
    for number, webhook in enumerate(dig_list(configuration, "webhooks")):
        url = f"https://127.0.0.1:{site.webhook_port}{webhook['clientConfig']['service']['path']}"
        operations.append(
            {"op": "replace", "path": f"/webhooks/{number}/clientConfig", "value": {"url": url}}
        )
    answer = await site.api.patch(path, operations, content_type="application/json-patch+json")
    answer.expect(200)
