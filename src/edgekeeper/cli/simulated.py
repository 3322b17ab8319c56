"""The simulated cloud of `edgekeeper up`, and the very operator that keeps it as declared.

The account is furnished: a multi-tenant distribution with a certificate for example.com and a zone of that name, so
that the examples work as they are. It also listens on loopback, for the AWS CLI and boto3.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.embedded import LocalServer
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.cloud.aws.clients import AwsClients, AwsSettings
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
from kubesim.aws.cloud import ACCOUNT, AwsCloud
from kubesim.aws.http import serve
from kubesim.aws.saving import keep
from kubesim.aws.session import session_class
from kubesim.aws.settings import UNLIMITED
from kubesim.transport import InProcessTransport

REGION = "us-east-1"
DISTRIBUTION = "E1XNX8R2GOAABC"
ZONE, ZONE_NAME = "Z0EXAMPLE", "example.com"
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FIELD_MANAGER = "edgekeeper-up"

_UNHURRIED = {name: LaneRate(50, 50, within=lane.within) for name, lane in DEFAULT_RATES.items()}
"""Nobody has to be protected from us here."""
_UNHEARD = ServerOptions(health_address=None, metrics_address=None, webhook_address=Address("127.0.0.1", 0))
"""Heard by the API server only, which asks about objects before it stores them."""


@dataclass(frozen=True)
class SimulationOptions:
    """How fast the simulated world turns, and what it remembers."""

    deploy_time: timedelta = timedelta(seconds=5)
    """How long CloudFront takes to deploy a tenant; other durations follow it."""
    poll_interval: timedelta = timedelta(seconds=2)
    drift_interval: timedelta = timedelta(seconds=5)
    data_dir: Path | None = None
    """Where the cloud is kept over a restart."""


@dataclass(frozen=True)
class Simulation:
    """A cloud that listens, and the operator at work."""

    cloud: AwsCloud
    url: str
    operator: Operator
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
    """Install the kinds, start the cloud and the operator, and stop both in the end."""
    for kind in DEFINITIONS:
        await server.apply(f"{CRD_PATH}/{kind.name}", kind.definition(), FIELD_MANAGER)
    await server.plane.settle()
    cloud = open_cloud(options)
    chosen = OperatorOptions(
        RuntimeOptions(server=_UNHEARD),
        CommonOptions(intervals=_intervals(options)),
        _UNHURRIED,
        local_webhooks=True,
        signals=False,
    )
    transport = InProcessTransport(server.plane, server.plane.admin_token)
    async with (
        serve(cloud) as listening,
        assembled(chosen, transport, _clients(cloud, listening.url), host="embedded") as operator,
    ):
        working = asyncio.create_task(operator.manager.run(), name="operator")
        try:
            yield Simulation(cloud, listening.url, operator)
        finally:
            operator.manager.stop()
            await working
