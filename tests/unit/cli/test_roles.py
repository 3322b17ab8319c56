"""The three roles of the operator as processes of their own, against the cluster and the clouds of `edgekeeper up`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from edgekeeper.cli.manifest import load_manifests
from edgekeeper.controllers.zerotrust.route_index import TEMPLATE, TENANT
from edgekeeper.controllers.zerotrust.worker import TASK
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import DEPLOYMENT, HTTP_ROUTE, LEASE, NAMESPACE, SECRET, Key

EDGEKEEPER = [sys.executable, "-m", "edgekeeper.cli"]
EXAMPLES = Path(__file__).parents[3] / "examples" / "zero-trust"
HOME = "edgekeeper-system"
PATIENCE = 120.0
QUIET = ("--health-probe-bind-address=0", "--webhook-bind-address=0")
SHORT_LEASE = (
    *("--leader-elect", "--lease-duration=3s", "--lease-renew-deadline=2s"),
    "--lease-retry-period=200ms",
)
KINDS = {kind.kind: kind for kind in (NAMESPACE, SECRET, TENANT, TEMPLATE, HTTP_ROUTE)}


@contextmanager
def process(*arguments: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*EDGEKEEPER, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
    ) as started:
        try:
            yield started
        finally:
            started.kill()


@dataclass
class Site:
    """A cluster and clouds in a process of their own, and a user's access to both."""

    endpoints: dict[str, str]
    client: KubeClient
    http: aiohttp.ClientSession
    stack: ExitStack

    def start(self, role: str, pod_name: str) -> subprocess.Popen[bytes]:
        """Start a process of the operator with the variables of the described one."""
        return self.stack.enter_context(
            process(
                *("run", *QUIET, *SHORT_LEASE, "--operator-deployment=edgekeeper"),
                ROLE=role,
                POD_NAME=pod_name,
                OPERATOR_NAMESPACE=HOME,
                POLL_INTERVAL_SECONDS="60",
                CLOUDFLARE_API_BASE=self.endpoints["cloudflare"],
                KUBECONFIG=self.endpoints["kubeconfig"],
                AWS_ENDPOINT_URL=self.endpoints["aws"],
                AWS_ACCESS_KEY_ID="any",
                AWS_SECRET_ACCESS_KEY="any",
                AWS_DEFAULT_REGION="us-east-1",
            )
        )

    async def create(self, *names: str, only: str = "") -> None:
        for manifest in load_manifests([EXAMPLES / name for name in names]):
            if not only or manifest.name == only:
                await self.client.create(KINDS[manifest.kind], manifest.body, namespace=manifest.namespace)

    async def until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        """Processes of their own have no event for us; the clock is theirs, too."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not await holds():  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"it never happened: {what}; tasks: {await self.tasks()}") from None

    async def annotations(self, name: str) -> dict[str, str]:
        route = await self.client.get(HTTP_ROUTE, Key("apps", name))
        found: dict[str, str] = route["metadata"]["annotations"]
        return found

    async def is_ready(self, name: str) -> bool:
        return (await self.annotations(name)).get("edgekeeper.io/ready") == "True"

    async def tasks(self) -> list[JsonObject]:
        pages = self.client.pages(TASK, namespace=HOME)
        return [msgspec.json.decode(raw) async for page in pages for raw in page.items]

    async def is_there(self, key: Key) -> bool:
        try:
            await self.client.get(DEPLOYMENT, key)
        except NotFoundError:
            return False
        return True

    async def control(self, method: str, path: str, body: Any = None) -> Any:
        """The simulated Cloudflare in the hands of an administrator."""
        root = self.endpoints["cloudflare"].removesuffix("/client/v4")
        async with self.http.request(method, f"{root}/_control/{path}", json=body) as response:
            assert response.status == 200, await response.text()
            return (await response.json()).get("result")

    async def act(self, path: str) -> Any:
        (account,) = (await self.control("GET", "world"))["accounts"]
        return await self.control(
            "POST", "act", {"method": "GET", "path": f"/accounts/{account['id']}/{path}"}
        )

    async def domains(self) -> list[str]:
        return sorted(app["domain"] for app in await self.act("access/apps"))


@asynccontextmanager
async def site(directory: Path) -> AsyncIterator[Site]:
    path = directory / "endpoints.json"
    with ExitStack() as stack:
        kubeconfig = str(directory / "kubeconfig")
        arguments = ("--no-operator", "--endpoints", str(path), "--kubeconfig", kubeconfig)
        stack.enter_context(process("up", *arguments))
        async with asyncio.timeout(PATIENCE):
            while not path.exists():  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.05)
        endpoints = json.loads(path.read_text())
        transport = HttpTransport(load_config(Path(endpoints["kubeconfig"])))
        client = KubeClient(transport, Calls(), SystemClock())
        async with aiohttp.ClientSession() as http:
            try:
                yield Site(endpoints, client, http, stack)
            finally:
                await client.close()


async def test_three_processes_publish_routes_together_and_each_has_its_lease(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        for role in ("manager", "kube_worker", "cloudflare_worker"):
            here.start(role, f"pod-{role.replace('_', '-')}")
        await here.create("10-tenant.yaml", "20-templates.yaml", "30-routes.yaml")
        for name in ("simple-app", "admin-panel", "api-service", "app", "wiki"):
            await here.until(f"{name} is ready", lambda name=name: here.is_ready(name))  # type: ignore[misc]
        assert await here.domains() == [f"{name}.example.com" for name in ("admin", "api", "app", "wiki")]
        secret = await here.client.get(SECRET, Key("apps", "api-service-cfzt-service-token"))
        assert {"client_id", "client_secret"} <= set(secret["data"])
        assert len(await here.act("access/service_tokens")) == 1
        for role in ("manager", "kube-worker", "cloudflare-worker"):
            lease = await here.client.get(LEASE, Key(HOME, f"edgekeeper-{role}"))
            assert lease["spec"]["holderIdentity"].startswith(f"pod-{role}_")
        for worker in ("edgekeeper-kube-worker", "edgekeeper-cloudflare-worker"):
            key = Key(HOME, worker)
            await here.until(f"{worker} exists", lambda key=key: here.is_there(key))  # type: ignore[misc]


async def test_worker_that_dies_with_a_task_in_progress_is_succeeded_by_another(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        here.start("kube_worker", "kube-1")
        first = here.start("cloudflare_worker", "cloudflare-1")
        # The first write of the tunnel gets no answer in time, so the task stays where it is.
        fault = {"kind": "delay", "method": "PUT", "path": "*/configurations", "seconds": 600, "times": 1}
        await here.control("POST", "faults", fault)
        await here.create("10-tenant.yaml")
        await here.create("30-routes.yaml", only="admin-panel")

        async def is_in_progress() -> bool:
            tasks = await here.tasks()
            inventory = [
                dig(item, "kind") for task in tasks for item in dig_list(task, "status", "inventory")
            ]
            phases = {(dig(task, "status", "phase"), dig(task, "status", "workerPod")) for task in tasks}
            return phases == {("InProgress", "cloudflare-1")} and "AccessApplication" in inventory

        await here.until("the first worker has begun", is_in_progress)
        first.kill()
        assert not await here.is_ready("admin-panel")
        here.start("cloudflare_worker", "cloudflare-2")
        await here.until("the second worker is done", lambda: here.is_ready("admin-panel"))
        assert await here.domains() == ["admin.example.com"]
        (app,) = await here.act("access/apps")
        annotations = await here.annotations("admin-panel")
        assert annotations["cfzt.cloudflare.com/accessAppId"] == app["id"]
        assert annotations["cfzt.cloudflare.com/hostnameRouteId"]
        lease = await here.client.get(LEASE, Key(HOME, "edgekeeper-cloudflare-worker"))
        assert lease["spec"]["holderIdentity"].startswith("cloudflare-2_")
