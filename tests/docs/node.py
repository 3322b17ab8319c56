"""A node for a cluster that has none: it runs the pods of Deployments, as far as pages about installation need them.

The operator's run as processes with the container's arguments (`tests.conformance.pods`), and so does kro. Those of anybody else
are only said to be available. A Deployment that is changed, scaled or deleted is followed within a moment, and webhooks are
reached through their Services.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from edgekeeper.core.json import JsonObject, dig_list
from tests.conformance.installation import QUICK
from tests.conformance.kinds import DEPLOYMENTS, SERVICES, Kind
from tests.conformance.pods import PodRunner, Ports, RunningPod
from tests.conformance.servers import give_up

ENDPOINT_SLICES: Final = Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
OPERATOR: Final = "edgekeeper"
INTERVAL_SECONDS: Final = 0.2
Name = tuple[str, str]
"""Namespace and name of a Deployment."""
Program = Callable[[], AbstractContextManager[object]]
"""Runs what a Deployment stands for, until its block ends."""


def own_address() -> str:
    """An address of this machine that an EndpointSlice may have, which must not be a loopback one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError as error:
            give_up(f"this machine has only a loopback address: {error}")
        found: str = probe.getsockname()[0]
    return found


@dataclass
class Node:
    """Runs pods until its block ends."""

    runner: PodRunner
    programs: dict[str, Program] = field(default_factory=dict)
    """By the name of a Deployment, what else it runs."""
    pods: dict[Name, RunningPod] = field(default_factory=dict)
    """The operator's that are running."""
    _seen: dict[Name, str] = field(default_factory=dict)
    """What each Deployment was when it was followed last."""
    _stacks: dict[Name, ExitStack] = field(default_factory=dict)
    _started: int = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._work(), name="node")
        try:
            yield
            if task.done():
                task.result()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            for name in list(self._stacks):
                await self._stop(name)

    async def _work(self) -> None:
        while True:
            found = (await self.runner.api.get(DEPLOYMENTS.path())).expect(200)
            listed = (DEPLOYMENTS.new() | one for one in dig_list(found, "items"))
            deployments = {_name(one): one for one in listed}
            for name in [name for name in self._seen if name not in deployments]:
                await self._stop(name)
                del self._seen[name]
            for name, deployment in deployments.items():
                state = json.dumps(deployment["spec"], sort_keys=True)
                if self._seen.get(name) != state:
                    await self._follow(name, deployment)
                    self._seen[name] = state
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _follow(self, name: Name, deployment: JsonObject) -> None:
        await self._stop(name)
        if deployment["spec"]["replicas"] > 0:
            stack = self._stacks[name] = ExitStack()
            if _is_operator(deployment):
                await self._run(name, deployment, stack)
            elif name[1] in self.programs:
                await asyncio.to_thread(stack.enter_context, self.programs[name[1]]())
        await self.runner.mark_available(deployment)

    async def _run(self, name: Name, deployment: JsonObject, stack: ExitStack) -> None:
        self._started += 1
        ports = Ports(host="")
        pod = await self.runner.run(deployment, ports, self._started, QUICK)
        stack.callback(pod.stop)
        self.pods[name] = pod
        stack.callback(self.pods.pop, name)
        await self._connect(name[0], ports)

    async def _connect(self, namespace: str, ports: Ports) -> None:
        """Let the Services of webhooks lead to the process."""
        api = self.runner.api
        services = dig_list((await api.get(SERVICES.path(namespace))).expect(200), "items")
        for service in services:
            name = service["metadata"]["name"]
            if any(port["name"] == "webhooks" for port in service["spec"]["ports"]):
                slice_ = ENDPOINT_SLICES.new(
                    name,
                    metadata={"namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
                    addressType="IPv4",
                    endpoints=[{"addresses": [own_address()], "conditions": {"ready": True}}],
                    ports=[{"name": "webhooks", "port": ports.webhooks, "protocol": "TCP"}],
                )
                path = ENDPOINT_SLICES.path(namespace, name)
                answer = await api.apply(path, slice_, "node", force=True)
                assert answer.status in (200, 201), answer.text

    async def _stop(self, name: Name) -> None:
        """Off the event loop: the clouds that the process talks to are served there."""
        stack = self._stacks.pop(name, None)
        if stack is not None:
            await asyncio.to_thread(stack.close)


def _name(deployment: JsonObject) -> Name:
    return deployment["metadata"]["namespace"], deployment["metadata"]["name"]


def _is_operator(deployment: JsonObject) -> bool:
    image = str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])
    return image.rpartition("/")[2].partition(":")[0] == OPERATOR
