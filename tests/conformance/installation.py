"""The chart in a cluster, and the operator with nothing but the rights that the chart gives it.

A cluster of the conformance suite has no nodes, so `Site.run_pods` plays them (`pods`), and marks Deployments as available.
"""

from __future__ import annotations

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
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.core.readiness import PENDING, Readiness
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.http import serve
from kubesim.plane.kinds import gateway_crds
from tests.conformance.client import Client, eventually
from tests.conformance.kinds import DEPLOYMENTS, Kind
from tests.conformance.pods import PodRunner, Ports, free_port, has_page
from tests.conformance.servers import Server, give_up
from tools.chart import DEPLOY, NAMESPACE, rendered

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TEAM = "apps"
"""A namespace whose Secrets the operator may use: tenants and routes of the examples are there."""
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
PATIENCE = 100.0
MANAGER = "installer"
NO_HELM = "there is no helm: install Go and run tools/helm.py, or set HELM to the program"
WORKERS = ("edgekeeper-kube-worker", "edgekeeper-cloudflare-worker")
UNLIMITED = ("apigateway-domain", "acm-list", "cloudflare", "cloudfront-write")
QUICK = ("--progress-interval=1s", *(f"--budget={lane}=50/50" for lane in UNLIMITED))
"""Flags for simulated clouds, which need no protection."""
WEBHOOK_PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/edgekeeper-webhooks"


def find_helm() -> Path | None:
    """The helm that is there. Building it is left to `tools/helm.py` itself."""
    command = [sys.executable, str(ROOT / "tools/helm.py"), "--no-build", "--print-path"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def manifests(mode: str, *values: str) -> list[JsonObject]:
    """The chart's objects, from helm, or else from deploy/ with the binding that `secrets.namespaces` would make.

    `values` are further ones, such as `statusPage.enabled=true`; they need helm.
    """
    helm = find_helm()
    if helm is not None:
        settings = (f"mode={mode}", f"secrets.namespaces={{{TEAM}}}", *values)
        return _loaded(rendered(helm, *(f"--set={setting}" for setting in settings)))
    if values:
        give_up(NO_HELM)
    objects = _loaded((DEPLOY / mode / "edgekeeper.yaml").read_text())
    bindings = [
        each for each in objects if each["kind"] == "RoleBinding" and _role(each).endswith("-secrets")
    ]
    return [*objects, *({**each, "metadata": {**each["metadata"], "namespace": TEAM}} for each in bindings)]


def _role(binding: JsonObject) -> str:
    return str(binding["roleRef"]["name"])


def _loaded(text: str) -> list[JsonObject]:
    return [document for document in yaml.safe_load_all(text) if document]


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
    pages: dict[str, int] = field(default_factory=dict)
    """By Deployment, where its status page is served, if it has one."""
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

    @property
    def runner(self) -> PodRunner:
        return PodRunner(self.api, self.directory, self.aws_url, self.cloudflare_url, self.warnings)

    async def run_pods(self, name: str) -> None:
        """Run the pod of a Deployment as a process, once."""
        deployment = (await self.api.get(DEPLOYMENTS.path(NAMESPACE, name))).expect(200)
        ports = Ports(webhooks=self.webhook_port) if name == "edgekeeper" else Ports()
        pod = await self.runner.run(deployment, ports)
        self.stack.callback(pod.stop)
        self.ports[name] = ports.metrics
        if has_page(pod.arguments):
            self.pages[name] = ports.page
        await self.mark_available(name)

    async def run_all_pods(self, mode: str) -> None:
        """Run the pod of the chart, and those of the workers, which the manager creates."""
        await self.run_pods("edgekeeper")
        for name in WORKERS if mode == "split" else ():
            path = DEPLOYMENTS.path(NAMESPACE, name)

            async def created(path: str = path) -> bool | None:
                return (await self.api.get(path)).status == 200 or None

            await eventually(created, PATIENCE, what=f"the manager creates {name}: {self.logs()}")
            worker = (await self.api.get(path)).expect(200)
            assert worker["spec"]["template"]["spec"]["serviceAccountName"] == name
            await self.run_pods(name)

    async def mark_available(self, name: str, namespace: str = NAMESPACE) -> None:
        deployment = (await self.api.get(DEPLOYMENTS.path(namespace, name))).expect(200)
        await self.runner.mark_available(deployment)

    async def until_trusted(self) -> None:
        """Wait until the operator has written what the API server trusts its webhooks by."""

        async def trusted() -> bool | None:
            found = (await self.api.get(WEBHOOK_PATH)).expect(200)
            return all(webhook["clientConfig"].get("caBundle") for webhook in found["webhooks"]) or None

        await eventually(trusted, PATIENCE, what=f"webhooks are trusted: {self.logs()}")

    def logs(self) -> str:
        """The ends of the logs, for messages."""
        return self.runner.logs()


def _readiness(obj: JsonObject) -> Readiness:
    """As `assess`, but an instance of a composed kind of which nothing is said yet is not ready."""
    is_untold = obj["apiVersion"].startswith("kro.run/") and not dig_list(obj, "status", "conditions")
    return PENDING if is_untold else assess(obj)


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
async def installed(
    api: Client, directory: Path, mode: str, *flags: str, values: Iterable[str] = ()
) -> AsyncIterator[Site]:
    """Install the definitions and the chart into a cluster, and start clouds. No process of the operator runs yet.

    `flags` are what `operator.extraArgs` of the chart would add, and `values` are set in the chart.
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
            await site.apply(await _supported(site, _flagged(manifests(mode, *values), flags)))
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
    configuration = (await site.api.get(WEBHOOK_PATH)).expect(200)
    operations: list[JsonObject] = []
    for number, webhook in enumerate(dig_list(configuration, "webhooks")):
        url = f"https://127.0.0.1:{site.webhook_port}{webhook['clientConfig']['service']['path']}"
        operations.append(
            {"op": "replace", "path": f"/webhooks/{number}/clientConfig", "value": {"url": url}}
        )
    answer = await site.api.patch(WEBHOOK_PATH, operations, content_type="application/json-patch+json")
    answer.expect(200)
