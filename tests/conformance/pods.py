"""Pods of the operator as processes: a cluster of the tests has no nodes.

For a Deployment of the chart the ReplicaSet and the Pod are created, and `edgekeeper run` is started with the container's own
arguments and environment and the token of the pod's ServiceAccount. Only addresses differ from a real installation.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from edgekeeper.core.json import JsonObject, dig, dig_object
from tests.conformance.client import Client
from tests.conformance.kinds import DEPLOYMENTS, PODS, REPLICA_SETS, SERVICE_ACCOUNTS, Kind
from tests.conformance.servers import Server

PAGE_FLAG: Final = "--web-bind-address="
_INHERITED: Final = ("PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
_STOP_SECONDS: Final = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@dataclass(frozen=True)
class Ports:
    """Where a pod listens."""

    metrics: int = field(default_factory=free_port)
    webhooks: int = field(default_factory=free_port)
    page: int = field(default_factory=free_port)
    host: str = "127.0.0.1"

    def flags(self, arguments: Sequence[str]) -> list[str]:
        """What takes the place of the addresses of a container with these arguments."""
        found = [
            f"--health-probe-bind-address=127.0.0.1:{free_port()}",
            f"--metrics-bind-address=127.0.0.1:{self.metrics}",
            f"--webhook-bind-address={self.host}:{self.webhooks}",
        ]
        return [*found, f"{PAGE_FLAG}127.0.0.1:{self.page}"] if has_page(arguments) else found


def has_page(arguments: Sequence[str]) -> bool:
    """Whether a container serves the status page."""
    return any(argument.startswith(PAGE_FLAG) for argument in arguments)


@dataclass(frozen=True)
class RunningPod:
    """A process of the operator."""

    process: subprocess.Popen[bytes]
    arguments: tuple[str, ...]
    """Those of the container."""
    ports: Ports

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class PodRunner:
    """Runs pods in one cluster, with simulated clouds."""

    api: Client
    directory: Path
    aws_url: str
    cloudflare_url: str
    warnings: list[str] = field(default_factory=list)
    """What the server has warned of."""

    async def run(
        self, deployment: JsonObject, ports: Ports, number: int = 1, flags: Sequence[str] = ()
    ) -> RunningPod:
        """Run the pod of a Deployment. `flags` come after the container's own."""
        template, name = deployment["spec"]["template"], deployment["metadata"]["name"]
        replica_set = await self._create_owned(
            REPLICA_SETS, f"{name}-{number}", deployment, _replica_set(deployment)
        )
        pod = await self._create_owned(PODS, f"{name}-{number}-a", replica_set, template)
        token = await self._token(pod["metadata"]["namespace"], template["spec"]["serviceAccountName"])
        return self._start(pod, name, token, ports, flags)

    def _start(
        self, pod: JsonObject, name: str, token: str, ports: Ports, flags: Sequence[str]
    ) -> RunningPod:
        container = pod["spec"]["containers"][0]
        arguments = tuple(container["args"])
        with (self.directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "edgekeeper.cli", *arguments, *flags, *ports.flags(arguments)],
                stdout=log,
                stderr=log,
                env={**self._environment(name, token), **_variables(container, pod)},
            )
        return RunningPod(process, arguments, ports)

    async def mark_available(self, deployment: JsonObject) -> None:
        """Say what the controller of Deployments would say once the pods run."""
        metadata, replicas = deployment["metadata"], deployment["spec"]["replicas"]
        counts = dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas
        )
        status = {"observedGeneration": metadata["generation"], **counts}
        path = DEPLOYMENTS.path(metadata["namespace"], metadata["name"], "status")
        answer = await self.api.patch(path, {"status": status})
        assert answer.status in (200, 404), answer.text

    def logs(self) -> str:
        """The ends of the logs, for messages."""
        return "\n".join(path.read_text()[-3000:] for path in self.directory.glob("*.log"))

    async def _create_owned(
        self, kind: Kind, name: str, owner: JsonObject, content: JsonObject
    ) -> JsonObject:
        namespace = owner["metadata"]["namespace"]
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
            "namespace": namespace,
            "ownerReferences": [reference],
        }
        body = {**kind.new(name), "metadata": metadata, "spec": content["spec"]}
        answer = await self.api.create(kind.path(namespace), body)
        self.warnings += answer.warnings
        return answer.expect(201)

    async def _token(self, namespace: str, account: str) -> str:
        path = SERVICE_ACCOUNTS.path(namespace, account, "token")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str((await self.api.create(path, body)).expect(201)["status"]["token"])

    def _environment(self, name: str, token: str) -> dict[str, str]:
        kubeconfig = self.directory / f"{name}.kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(self.api.server, token)))
        return {
            **{key: os.environ[key] for key in _INHERITED if key in os.environ},
            "KUBECONFIG": str(kubeconfig),
            "AWS_ENDPOINT_URL": self.aws_url,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "CLOUDFLARE_API_BASE": self.cloudflare_url,
        }


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
