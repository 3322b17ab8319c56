"""The world of pages about installation: a real API server with a node, simulated clouds, and a person with helm and kubectl."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from edgekeeper.cli import simulated
from edgekeeper.core.json import JsonObject
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.http import serve
from kubesim.cloudflare.state import Account
from kubesim.plane.kinds import gateway_crds
from tests.conformance.client import Client, eventually
from tests.conformance.installation import NO_HELM, Site, find_helm
from tests.conformance.kinds import DEFINITIONS
from tests.conformance.pods import PodRunner
from tests.conformance.real import write_kubeconfig
from tests.conformance.servers import give_up
from tests.docs.node import Node, Program
from tests.docs.page import Example
from tests.docs.person import environment_of_a_person
from tests.docs.session import Follower, Session

Look = Callable[[str], Coroutine[Any, Any, None]]
"""Told what a command has printed."""
DEPLOY_TIME: Final = timedelta(seconds=0.2)
PATIENCE: Final = 60.0
WAITING: Final = "Waiting: the previous operator is running"
"""What edgekeeper logs."""
WEB_APPS = """
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: web-apps}
spec:
  schema: {apiVersion: v1alpha1, kind: WebApp, spec: {text: string}}
  resources:
    - id: settings
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {text: "${schema.spec.text}"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web-apps, labels: {rbac.kro.run/aggregate-to-controller: "true"}}
rules:
  - {apiGroups: [kro.run], resources: [webapps, webapps/status], verbs: ["*"]}
  - {apiGroups: [""], resources: [configmaps], verbs: ["*"]}
"""
"""A composed kind, and the rights for what it consists of."""


@dataclass
class World:
    """A cluster, its clouds, and somebody who follows a page there."""

    site: Site
    cloudflare: simulated.CloudflareAccess
    node: Node
    folder: Path
    environment: dict[str, str]

    @property
    def api(self) -> Client:
        return self.site.api

    @property
    def aws(self) -> AwsCloud:
        return self.site.aws

    async def follow(self, session: Session, **after: Look) -> None:
        """Do everything that the page says. After a command that contains a word, what `after` has for it is done."""
        loop, pending = asyncio.get_running_loop(), dict(after)

        def look(example: Example, printed: str) -> None:
            for word in [word for word in pending if word.replace("_", " ") in example.command]:
                asyncio.run_coroutine_threadsafe(pending.pop(word)(printed), loop).result()

        def work() -> None:
            with Follower(self.folder, self.environment) as reader:
                reader.follow(session, look)
            assert reader.executed == len(session.commands()) > 0

        try:
            await asyncio.to_thread(work)
        except AssertionError as error:
            raise AssertionError(f"{error}\nlogs: {self.node.runner.logs()}") from error
        assert not pending, f"the page has no command with {', '.join(pending)}"

    async def run(self, command: str) -> str:
        """What a command prints that the page does not have, and that must succeed."""
        return await asyncio.to_thread(self._run, command)

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    @property
    def account(self) -> Account:
        """The account at Cloudflare."""
        return self.cloudflare.cloud.world.account(self.cloudflare.account_id)

    def writes(self) -> list[str]:
        """The calls that have changed something in a cloud."""
        reading = ("Get", "List", "Describe", "Test")
        aws = [one.operation for one in self.aws.journal.calls() if not one.operation.startswith(reading)]
        return [*aws, *(one.operation for one in self.cloudflare.cloud.journal.writes())]

    def clear_journals(self) -> None:
        self.aws.journal.clear()
        self.cloudflare.cloud.journal.clear()

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds in the clouds or on the node."""

        async def looked() -> bool | None:
            return holds() or None

        try:
            await eventually(looked, PATIENCE, what=what)
        except AssertionError as error:
            raise AssertionError(f"{error}; logs: {self.node.runner.logs()}") from error

    async def define(self, command: str) -> None:
        """Run a command that creates definitions, and wait until all are served."""
        await self.run(command)
        found = (await self.api.get(DEFINITIONS.path())).expect(200)
        for definition in found["items"]:
            await self.site.is_served(definition)

    async def until_waiting_for(self, operator: str) -> None:
        """Wait until the operator has noticed that a previous one is running. Until then it has written nothing."""
        log = self.node.runner.directory / "edgekeeper.log"

        def waits() -> bool:
            lines = log.read_text().splitlines() if log.exists() else []
            return any(WAITING in line and f'"operator":"{operator}"' in line for line in lines)

        await self.until(waits, f"edgekeeper waits for {operator}")
        assert self.writes() == []

    async def until_printed(self, command: str, text: str) -> None:
        """Wait until a command prints something."""

        async def looked() -> bool | None:
            return text in await self.run(command) or None

        await eventually(looked, PATIENCE, what=f"{command} prints {text}: {self.node.runner.logs()}")

    async def deploy(self, namespace: str, name: str, image: str, **labels: str) -> None:
        """Somebody else's operator."""
        selector = {"app": name}
        deployment: JsonObject = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": selector},
                "template": {
                    "metadata": {"labels": selector},
                    "spec": {"containers": [{"name": "manager", "image": image}]},
                },
            },
        }
        await self.site.apply([_namespace(namespace), deployment])


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@asynccontextmanager
async def installing(
    api: Client, folder: Path, programs: Mapping[str, Program] | None = None
) -> AsyncIterator[World]:
    """A cluster with the Gateway API and nothing else. `programs` are run by Deployments of these names."""
    logs = folder / "logs"
    logs.mkdir()
    aws = simulated.open_cloud(simulated.SimulationOptions(deploy_time=DEPLOY_TIME))
    async with serve(aws) as served, simulated._cloudflare() as cloudflare:
        site = Site(api, api.server, logs, aws, served.url, cloudflare.url)
        await site.define(gateway_crds())
        node = Node(PodRunner(api, logs, served.url, cloudflare.url), dict(programs or {}))
        environment = {
            **environment_of_a_person(folder),
            "KUBECONFIG": str(write_kubeconfig(folder / "kubeconfig", api.server)),
            "AWS_ENDPOINT_URL": served.url,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_DEFAULT_REGION": "us-east-1",
            "CLOUDFLARE_API_BASE": cloudflare.url,
        }
        _add_helm(folder)
        async with node.running():
            yield World(site, cloudflare, node, folder, environment)


def _add_helm(folder: Path) -> None:
    helm = find_helm()
    if helm is None:
        give_up(NO_HELM)
    (folder / "tools" / "helm").symlink_to(helm)
    os.chmod(folder / "kubeconfig", 0o600)  # helm warns of others
