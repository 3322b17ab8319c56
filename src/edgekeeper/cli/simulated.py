"""The simulated clouds of `edgekeeper up`, and the operator that reconciles them. It is the same code as in production.

The clouds listen on loopback, for the AWS CLI, boto3, curl and SDKs, and have the resources that the examples need:

    AWS         a multi-tenant distribution with a certificate for example.com, and a zone of that name
    ACK         AWS Controllers for Kubernetes: their kinds, and controllers that make APIs, functions and domain names in AWS
    Cloudflare  an account with a tunnel, a zone example.com, an Access group Engineering, and an API token, which a Secret
                of the cluster has
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from edgekeeper import __version__
from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.embedded import LocalServer
from edgekeeper.cli.kind_options import KindSettings
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
from kubesim.ack.controller import acting
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.aws.cloud import ACCOUNT, AwsCloud
from kubesim.aws.http import serve
from kubesim.aws.saving import keep
from kubesim.aws.session import session_class
from kubesim.aws.settings import UNLIMITED
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.http import serving as cloudflare_serving
from kubesim.transport import InProcessTransport

REGION = "us-east-1"
DISTRIBUTION = "E1XNX8R2GOAABC"
ZONE, ZONE_NAME = "Z0EXAMPLE", "example.com"
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FIELD_MANAGER = "edgekeeper-up"

_UNHURRIED = {name: LaneRate(50, 50, within=lane.within) for name, lane in DEFAULT_RATES.items()}
"""Rate limits for a simulated cloud, which needs no protection."""
SILENT = ServerOptions(health_address=None, metrics_address=None, webhook_address=Address("127.0.0.1", 0))
"""Server options without probes and metrics: only webhooks are served, to the local API server."""
NAMESPACE = "edgekeeper-system"
"""The namespace of the operator's Deployment and Secret, unless the options name another one."""
DEPLOYMENT = "edgekeeper"
TOKEN_SECRET = "cloudflare-api-token"  # noqa: S105 - a name
TOKEN = "simulated-api-token"  # noqa: S105 - opens nothing but the simulated Cloudflare
GROUP = "Engineering"


@dataclass(frozen=True)
class SimulationOptions:
    """The durations of the simulated clouds, where they are stored, and the options of the operator."""

    deploy_time: timedelta = timedelta(seconds=5)
    """How long CloudFront takes to deploy a tenant; also used for propagation and certificates."""
    poll_interval: timedelta = timedelta(seconds=2)
    drift_interval: timedelta = timedelta(seconds=5)
    data_dir: Path | None = None
    """Where the simulated AWS is stored; None for in memory only."""
    operator: bool = True
    """Whether to run the operator in this process."""
    runtime: RuntimeOptions = field(default_factory=lambda: RuntimeOptions(server=SILENT))
    kinds: KindSettings = field(default_factory=KindSettings)


@dataclass(frozen=True)
class CloudflareAccess:
    """A running simulated Cloudflare: its address, ids and token."""

    cloud: CloudflareCloud
    url: str
    account_id: str
    tunnel_id: str
    zone_id: str
    token: str


@dataclass(frozen=True)
class Simulation:
    """The running simulated clouds, and the operator if it runs in this process."""

    cloud: AwsCloud
    url: str
    cloudflare: CloudflareAccess
    operator: Operator | None

    @property
    def page_url(self) -> str:
        """The link to the status page, with its token; empty if it is not served."""
        port = self.operator.server.port("page") if self.operator is not None else None
        if self.operator is None or port is None:
            return ""
        return f"http://127.0.0.1:{port}/?token={self.operator.options.link_token}"

    region: str = REGION
    """A region for clients that require one; the simulated AWS accepts any."""


def furnish(cloud: AwsCloud, options: SimulationOptions) -> None:
    """Create the distribution and the zone that the examples use, and set short durations."""
    set_durations(cloud, options)
    cloud.cloudfront.add_distribution(DISTRIBUTION, covers=(ZONE_NAME, f"*.{ZONE_NAME}"))
    cloud.route53.add_zone(ZONE_NAME, id=ZONE)
    cloud.changed()


def set_durations(cloud: AwsCloud, options: SimulationOptions) -> None:
    """Set the durations of deployments, propagation and certificates to `options.deploy_time`."""
    timings, step = cloud.world.timings, options.deploy_time
    timings.tenant_deployment = timings.group_deployment = timings.distribution_deployment = step
    timings.record_propagation = timings.certificate_issuance = timings.domain_update = step


def open_cloud(options: SimulationOptions) -> AwsCloud:
    """The stored cloud, or a new one with the resources of the examples."""
    cloud = AwsCloud(rates=UNLIMITED)
    set_durations(cloud, options)
    if options.data_dir is None or not keep(cloud, options.data_dir / "aws.json"):
        furnish(cloud, options)
    return cloud


def _intervals(options: SimulationOptions) -> Intervals:
    """Short intervals. The simulated cloud is strongly consistent, so listings count immediately after a write."""
    asked = options.kinds.common.intervals.in_progress
    poll = options.poll_interval if asked == Intervals().in_progress else asked
    return Intervals(poll, options.drift_interval, settling=timedelta(0))


def _drift_interval(options: SimulationOptions) -> timedelta:
    """How often Cloudflare is compared: as asked for, and often where nobody asked."""
    asked = options.kinds.common.drift_interval
    return options.drift_interval if asked == CommonOptions().drift_interval else asked


def _own_namespace(options: SimulationOptions) -> str:
    return options.kinds.operator_namespace or NAMESPACE


def _clients(cloud: AwsCloud, url: str) -> AwsClients:
    """Clients of the simulated cloud, independent of the AWS configuration of the environment."""
    return AwsClients(
        AwsSettings(region=REGION, endpoint_url=url),
        session=static_session(ACCOUNT, "simulated"),
        http_session_class=session_class(cloud),
    )


@asynccontextmanager
async def simulating(server: LocalServer, options: SimulationOptions) -> AsyncIterator[Simulation]:
    """Install the CustomResourceDefinitions, start the clouds and the operator, and stop them at the end."""
    foreign = [kind.definition() for kind in ACK_KINDS]
    for definition in (*(kind.definition() for kind in DEFINITIONS), *foreign):
        await server.apply(f"{CRD_PATH}/{definition['metadata']['name']}", definition, FIELD_MANAGER)
    await server.plane.settle()
    cloud = open_cloud(options)
    async with AsyncExitStack() as stack:
        aws = await stack.enter_async_context(serve(cloud))
        await stack.enter_async_context(acting(server.plane, cloud, REGION))
        cloudflare = await stack.enter_async_context(_cloudflare())
        await _furnish_cluster(server, cloudflare, _own_namespace(options))
        operator = None
        if options.operator:
            clients = _clients(cloud, aws.url)
            operator = await stack.enter_async_context(_operating(server, clients, cloudflare, options))
        yield Simulation(cloud, aws.url, cloudflare, operator)


@asynccontextmanager
async def _operating(
    server: LocalServer, clients: AwsClients, cloudflare: CloudflareAccess, options: SimulationOptions
) -> AsyncIterator[Operator]:
    kinds = options.kinds
    common = replace(
        kinds.common,
        intervals=_intervals(options),
        drift_interval=_drift_interval(options),
        namespace=_own_namespace(options),
        operator_deployment=kinds.common.operator_deployment or DEPLOYMENT,
    )
    chosen = OperatorOptions(
        options.runtime,
        common,
        {**_UNHURRIED, **kinds.rates},
        kinds.values,
        kinds.modules,
        kinds.role,
        local_webhooks=True,
        signals=False,
        link_token=secrets.token_urlsafe(18),
        cloudflare_url=cloudflare.url,
        cloudflare_sender=cloudflare.cloud.send,
    )
    transport = InProcessTransport(server.plane, server.plane.admin_token)
    async with (
        assembled(chosen, transport, clients, host="embedded") as operator,
        operator.manager.running() as working,
    ):
        await _listening(operator, working)
        yield operator


async def _listening(operator: Operator, working: asyncio.Task[None]) -> None:
    """Wait until the servers of the operator listen. Raise what ended it before."""
    started = asyncio.create_task(operator.server.started.wait())
    await asyncio.wait((started, working), return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    if working.done():
        working.result()


@asynccontextmanager
async def _cloudflare() -> AsyncIterator[CloudflareAccess]:
    """Run a simulated Cloudflare with an account, a zone, a tunnel and a token, whose ids are the same every time."""
    cloud = CloudflareCloud(SystemClock())
    account = cloud.add_account("example")
    zone = cloud.add_zone(account.id, ZONE_NAME)
    tunnel = cloud.add_tunnel(account.id)
    token = cloud.add_token(TOKEN)
    members = {"name": GROUP, "include": [{"email_domain": {"domain": ZONE_NAME}}]}
    cloud.act("POST", f"/accounts/{account.id}/access/groups", members)
    async with cloudflare_serving(cloud) as url:
        yield CloudflareAccess(cloud, url, account.id, tunnel, zone.id, token.value)


async def _furnish_cluster(server: LocalServer, cloudflare: CloudflareAccess, namespace: str) -> None:
    """Create the operator's namespace, its Deployment, and the Secret with the Cloudflare token."""
    labels = {"app.kubernetes.io/name": "edgekeeper"}
    pod = {"containers": [{"name": "edgekeeper", "image": f"edgekeeper:{__version__}", "args": ["run"]}]}
    in_namespace = f"/namespaces/{namespace}"
    objects: list[tuple[str, JsonObject]] = [
        ("/api/v1", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        (
            f"/api/v1{in_namespace}",
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": TOKEN_SECRET, "namespace": namespace},
                "stringData": {"token": cloudflare.token},
            },
        ),
        (
            f"/apis/apps/v1{in_namespace}",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": DEPLOYMENT, "namespace": namespace, "labels": labels},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": pod},
                },
            },
        ),
    ]
    for path, obj in objects:
        plural = f"{obj['kind'].lower()}s"
        await server.apply(f"{path}/{plural}/{obj['metadata']['name']}", obj, FIELD_MANAGER)
