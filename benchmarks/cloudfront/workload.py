"""The tenants of a fleet, and the operator that keeps them: the same in one process and in another.

Whatever is imported here is in the memory of the operator that is measured: nothing of the simulators.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from benchmarks.plane.target import Target
from edgekeeper.cli.assembly import OperatorOptions
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.rates import CLOUDFRONT_WRITE
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions

WRITES_PER_SECOND = 5
"""What the simulated AWS allows of CloudFront's writes, and what the operator is told that it does."""
ACCOUNT = "111122223333"
DISTRIBUTION, ZONE, ZONE_NAME = "E1XNX8R2GOAABC", "Z0EXAMPLE", "example.com"
NAMESPACE = "default"
OPTIONS = OperatorOptions(
    RuntimeOptions(server=ServerOptions(health_address=None, metrics_address=None, webhook_address=None)),
    CommonOptions(cluster="bench"),
    {CLOUDFRONT_WRITE: LaneRate(WRITES_PER_SECOND, WRITES_PER_SECOND)},
    signals=False,
)

Certificate: TypeAlias = Literal["own", "managed"]


class Site(msgspec.Struct, frozen=True):
    """Where a fleet is served."""

    cluster: Target
    aws: str


def new_clients(endpoint_url: str = "", **settings: Any) -> AwsClients:
    """Clients of the simulated AWS."""
    session = static_session(ACCOUNT, "bench")
    return AwsClients(AwsSettings("eu-west-1", endpoint_url), session=session, **settings)


def tenant(number: int, certificate: Certificate, *, dns: bool = False) -> JsonObject:
    """One object, if asked for with records. A managed certificate needs the domain's DNS, so those have them anyway."""
    domain = f"n{number:05}.{ZONE_NAME}"
    spec: JsonObject = {"distributionId": DISTRIBUTION, "domains": [{"domain": domain}]}
    if dns or certificate == "managed":
        spec["dns"] = {"provider": "route53", "hostedZoneId": ZONE}
    if certificate == "managed":
        spec["managedCertificateRequest"] = {"validationTokenHost": "cloudfront", "primaryDomainName": domain}
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": f"tenant-{number:05}"},
        "spec": spec,
    }
