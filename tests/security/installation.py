"""The operator as the manifests of `deploy/` install it, on an embedded API server with RBAC: with the token of its
ServiceAccount, and its probes, metrics and webhooks on ports of this machine.

    async with installed() as site:
        assert await site.get("metrics", "/metrics", token=await site.token("apps", "somebody")) == (403, …)

It has the controllers of Zero Trust and of composition. Everybody else has the rights that a test gives them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec
import yaml

from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.composition.module import DefinitionModule, RevisionModule
from edgekeeper.controllers.zerotrust.modules import ZERO_TRUST_MODULES
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, VALIDATING_WEBHOOKS, Key, Kind
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.request import Request
from kubesim.transport import InProcessTransport
from tests.unit.runtime.wire import ANYWHERE, LOOPBACK, believing
from tests.zerotrust_worker.world import Estate
from tools import chart

HOME: Final = chart.NAMESPACE
"""The operator's namespace."""
PATIENCE: Final = 30.0
WEBHOOKS: Final = "edgekeeper-webhooks"
_SERVERS: Final = ServerOptions(
    health_address=ANYWHERE, metrics_address=ANYWHERE, webhook_address=ANYWHERE, webhook_service=WEBHOOKS
)
_MODULES: Final = (*ZERO_TRUST_MODULES, DefinitionModule(), RevisionModule())


@dataclass
class Site:
    """See the module."""

    plane: Plane
    admin: KubeClient
    estate: Estate
    operator: Operator | None = None
    own_token: str = ""
    """That of the operator, once it runs."""

    # The operator

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Operator]:
        """The operator at work, until the end of the block. Its webhooks are called where they listen."""
        options = OperatorOptions(
            RuntimeOptions(server=_SERVERS, log=LogOptions(level="debug")),
            CommonOptions("blue", HOME, pod_name="edgekeeper-1"),
            values={"composition": "on"},
            modules=_MODULES,
            signals=False,
            cloudflare_url="https://cloudflare.test/client/v4",
            cloudflare_sender=self.estate.send,
        )
        self.own_token = await self.token(HOME, "edgekeeper")
        transport = InProcessTransport(self.plane, self.own_token)
        async with (
            assembled(options, transport, None, host="plane") as operator,
            operator.manager.running(),
        ):
            await until(lambda: _is_true(operator.manager.is_ready))
            self.operator = operator
            await self._reach_webhooks()
            yield operator

    def port(self, name: str) -> int:
        """The port of `probes`, `metrics` or `admission`."""
        assert self.operator is not None
        port = self.operator.server.port(name)
        assert port is not None
        return port

    async def _reach_webhooks(self) -> None:
        """There is no network of Services."""
        key = Key("", WEBHOOKS)
        tree = await self.admin.get(VALIDATING_WEBHOOKS, key)
        for webhook in tree["webhooks"]:
            path = webhook["clientConfig"].get("service", {}).get("path") or _path_of(webhook)
            webhook["clientConfig"] = {"url": f"https://{LOOPBACK}:{self.port('admission')}{path}"}
        await self.admin.replace(VALIDATING_WEBHOOKS, key, tree)

        async def trusted() -> bool:
            found = await self.admin.get(VALIDATING_WEBHOOKS, key)
            return all(one["clientConfig"].get("caBundle") for one in found["webhooks"])

        await until(trusted)

    # Other people

    async def token(self, namespace: str, name: str) -> str:
        """A token of a ServiceAccount, which is created if there is none."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        await self.plane.client.apply(f"{path}/{name}", body, manager="tests")
        answer = await self.plane.client.create(f"{path}/{name}/token", {"spec": {"audiences": None}})
        return str(answer["status"]["token"])

    async def bind(self, namespace: str, name: str, role: str) -> None:
        """Give a ServiceAccount a ClusterRole in the whole cluster."""
        binding = {
            "metadata": {"name": f"{name}-{role}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        await self.plane.client.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)

    def client(self, token: str) -> KubeClient:
        return KubeClient(InProcessTransport(self.plane, token), Calls(), SystemClock())

    async def send(
        self,
        token: str,
        method: str,
        path: str,
        body: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        """The status of the API server's answer to a request with a token; empty for none."""
        given = {"authorization": f"Bearer {token}"} if token else {}
        given |= {name.lower(): value for name, value in (headers or {}).items()}
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        raw = b"" if body is None else msgspec.json.encode(body)
        response = await self.plane.handle(Request.of(method, path, raw, content_type=content, **given))
        return response.status

    async def request(
        self, server: str, method: str, path: str, *, scheme: str = "https", **options: Any
    ) -> tuple[int, str]:
        """The status and the text of an answer of the operator."""
        url = f"{scheme}://{LOOPBACK}:{self.port(server)}{path}"
        connector = aiohttp.TCPConnector(ssl=believing())
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.request(method, url, **options) as response,
        ):
            return response.status, await response.text()


def _path_of(webhook: JsonObject) -> str:
    """The path of a webhook that is called by its address already."""
    return "/" + str(webhook["clientConfig"]["url"]).partition("//")[2].partition("/")[2]


async def _is_true(value: bool) -> bool:
    return value


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.02)


@asynccontextmanager
async def installed(*namespaces: str) -> AsyncIterator[Site]:
    """A cluster with the manifests, and no operator yet."""
    config = PlaneConfig(auth=True, simulators=frozenset(), gateway_api=True)
    async with Plane(config) as plane:
        admin = KubeClient(InProcessTransport(plane, plane.admin_token), Calls(), SystemClock())
        for definition in DEFINITIONS:
            await admin.create(CUSTOM_RESOURCE_DEFINITION, definition.definition())
        await plane.settle()
        for name in (HOME, *namespaces):
            await admin.create(NAMESPACE, {"metadata": {"name": name}})
        kinds = {(kind.api_version, kind.kind): kind for kind in _served(plane)}
        for obj in yaml.safe_load_all((chart.DEPLOY / "all-in-one/edgekeeper.yaml").read_text()):
            kind = kinds.get((obj["apiVersion"], obj["kind"]))
            if kind is not None:  # the embedded server has no policies
                await admin.create(kind, obj, namespace=obj["metadata"].get("namespace", ""))
        yield Site(plane, admin, Estate(SystemClock()))


def _served(plane: Plane) -> list[Kind]:
    return [
        Kind(one.group, one.version, one.kind, one.plural, namespaced=one.namespaced)
        for one in plane.registry.all()
    ]
