"""The simulated clouds of `edgekeeper up`, and the very operator that keeps them as declared.

Both are furnished, so that examples work as they are, and listen on loopback, for the AWS CLI, boto3, curl and SDKs:

    AWS         a multi-tenant distribution with a certificate for example.com, and a zone of that name
    Cloudflare  an account with a tunnel, a zone example.com, and an API token, which a Secret of the cluster has
"""

from __future__ import annotations

import asyncio
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
from edgekeeper.cloud.aws.clients import AwsClients, AwsSettings
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
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
"""Nobody has to be protected from us here."""
SILENT = ServerOptions(health_address=None, metrics_address=None, webhook_address=Address("127.0.0.1", 0))
"""An operator that listens for the API server beside it only."""
NAMESPACE = "edgekeeper-system"
"""Where the operator is said to be installed."""
TOKEN_SECRET = "cloudflare-api-token"  # noqa: S105 - a name


@dataclass(frozen=True)
class SimulationOptions:
    """How fast the simulated world turns, and what it remembers."""

    deploy_time: timedelta = timedelta(seconds=5)
    """How long CloudFront takes to deploy a tenant; other durations follow it."""
    poll_interval: timedelta = timedelta(seconds=2)
    drift_interval: timedelta = timedelta(seconds=5)
    data_dir: Path | None = None
    """Where the simulated AWS is kept over a restart."""
    operator: bool = True
    """Does the operator run here?"""
    runtime: RuntimeOptions = field(default_factory=lambda: RuntimeOptions(server=SILENT))
    kinds: KindSettings = field(default_factory=KindSettings)


@dataclass(frozen=True)
class CloudflareAccess:
    """A simulated Cloudflare that listens, and what one needs to use it."""

    cloud: CloudflareCloud
    url: str
    account_id: str
    tunnel_id: str
    zone_id: str
    token: str


@dataclass(frozen=True)
class Simulation:
    """Clouds that listen, and the operator at work, if it runs here."""

    cloud: AwsCloud
    url: str
    cloudflare: CloudflareAccess
    operator: Operator | None
    region: str = REGION
    """For those who need to name one. All are there."""


def furnish(cloud: AwsCloud, options: SimulationOptions) -> None:
    """What a company has before the first tenant, with durations that people can wait for."""
    hurry(cloud, options)
    cloud.cloudfront.add_distribution(DISTRIBUTION, covers=(ZONE_NAME, f"*.{ZONE_NAME}"))
    cloud.route53.add_zone(ZONE_NAME, id=ZONE)
    cloud.changed()


def hurry(cloud: AwsCloud, options: SimulationOptions) -> None:
    """Let the cloud take no longer over things than people can wait for."""
    timings, step = cloud.world.timings, options.deploy_time
    timings.tenant_deployment = timings.group_deployment = timings.distribution_deployment = step
    timings.record_propagation = timings.certificate_issuance = step


def open_cloud(options: SimulationOptions) -> AwsCloud:
    """The cloud that was kept, or a furnished one."""
    cloud = AwsCloud(rates=UNLIMITED)
    hurry(cloud, options)
    if options.data_dir is None or not keep(cloud, options.data_dir / "aws.json"):
        furnish(cloud, options)
    return cloud


def _intervals(options: SimulationOptions) -> Intervals:
    """Short ones. The simulated cloud never shows the past, so that what it lists can be believed at once."""
    return Intervals(options.poll_interval, options.drift_interval, settling=timedelta(0))


def _clients(cloud: AwsCloud, url: str) -> AwsClients:
    """Clients of the simulated cloud, whatever the environment says about the real one."""
    return AwsClients(
        AwsSettings(region=REGION, endpoint_url=url),
        session=static_session(ACCOUNT, "simulated"),
        http_session_class=session_class(cloud),
    )


@asynccontextmanager
async def simulating(server: LocalServer, options: SimulationOptions) -> AsyncIterator[Simulation]:
    """Install the kinds, start the clouds and, unless it runs elsewhere, the operator. Stop all in the end."""
    for kind in DEFINITIONS:
        await server.apply(f"{CRD_PATH}/{kind.name}", kind.definition(), FIELD_MANAGER)
    await server.plane.settle()
    cloud = open_cloud(options)
    async with AsyncExitStack() as stack:
        aws = await stack.enter_async_context(serve(cloud))
        cloudflare = await stack.enter_async_context(_cloudflare())
        await _furnish_cluster(server, cloudflare)
        operator = None
        if options.operator:
            operator = await stack.enter_async_context(_operating(server, cloud, aws.url, options))
        yield Simulation(cloud, aws.url, cloudflare, operator)


@asynccontextmanager
async def _operating(
    server: LocalServer, cloud: AwsCloud, url: str, options: SimulationOptions
) -> AsyncIterator[Operator]:
    kinds = options.kinds
    common = replace(kinds.common, intervals=_intervals(options), namespace=NAMESPACE)
    chosen = OperatorOptions(
        options.runtime,
        common,
        {**_UNHURRIED, **kinds.rates},
        kinds.values,
        kinds.modules,
        kinds.role,
        local_webhooks=True,
        signals=False,
    )
    transport = InProcessTransport(server.plane, server.plane.admin_token)
    async with assembled(chosen, transport, _clients(cloud, url), host="embedded") as operator:
        working = asyncio.create_task(operator.manager.run(), name="operator")
        try:
            yield operator
        finally:
            operator.manager.stop()
            await working


@asynccontextmanager
async def _cloudflare() -> AsyncIterator[CloudflareAccess]:
    """A furnished Cloudflare. Everything in it has the same ids every time."""
    cloud = CloudflareCloud(SystemClock())
    account = cloud.add_account("example")
    zone = cloud.add_zone(account.id, ZONE_NAME)
    tunnel = cloud.add_tunnel(account.id)
    token = cloud.add_token()
    async with cloudflare_serving(cloud) as url:
        yield CloudflareAccess(cloud, url, account.id, tunnel, zone.id, token.value)


async def _furnish_cluster(server: LocalServer, cloudflare: CloudflareAccess) -> None:
    """What an installation of the operator has in its namespace: its own Deployment, and the token for Cloudflare."""
    labels = {"app.kubernetes.io/name": "edgekeeper"}
    pod = {"containers": [{"name": "edgekeeper", "image": f"edgekeeper:{__version__}", "args": ["run"]}]}
    in_namespace = f"/namespaces/{NAMESPACE}"
    objects: list[tuple[str, JsonObject]] = [
        ("/api/v1", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        (
            f"/api/v1{in_namespace}",
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": TOKEN_SECRET, "namespace": NAMESPACE},
                "stringData": {"token": cloudflare.token},
            },
        ),
        (
            f"/apis/apps/v1{in_namespace}",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "edgekeeper", "namespace": NAMESPACE, "labels": labels},
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
