"""The first log line of `edgekeeper run`: version, cluster, AWS account, region and the main options.

It lets an administrator check that the right cluster and account are used. An account that cannot be read is logged as
unknown, with the reason, and does not delay the start.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import timedelta
from typing import Final

from edgekeeper import __version__
from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.assembly import Operator
from edgekeeper.cli.crds import INSTALL
from edgekeeper.cli.kinds import kind_of
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import PassError
from edgekeeper.core.log import get_logger
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.errors import ApiError, NotFoundError
from edgekeeper.runtime.logs import STARTED

log = get_logger(__name__)

PATIENCE: Final = timedelta(seconds=5)
"""How long to wait for AWS to return the account."""
UNKNOWN: Final = "unknown"


async def announce(operator: Operator, cluster: ClusterConfig) -> None:
    """Log the start, and a warning for each kind whose CustomResourceDefinition is not installed."""
    options = operator.options
    kinds = [module.definition for module in options.modules]
    account, problem = await _account(operator.access) if operator.access else ("", "")
    log.info(
        STARTED,
        version=__version__,
        server=cluster.server,
        cluster=cluster.origin,
        cluster_id=options.common.cluster,
        **({"account": account} if account else {}),
        **({"account_error": problem} if problem else {}),
        **({"region": operator.access.clients.region} if operator.access else {}),
        drift_policy=str(options.common.drift_policy),
        dry_run=options.runtime.dry_run,
        leader_elect=options.runtime.leader_elect,
        namespaces=list(options.runtime.namespaces) or "all",
        kinds=[kind.kind for kind in kinds],
        **({"role": options.role} if options.role else {}),
    )
    for kind in kinds:
        if not await _is_served(operator.client, kind, options.runtime.namespaces):
            log.warning("Kind is not installed; waiting for it", resource=kind.name, remedy=INSTALL)


async def _account(access: AwsAccess) -> tuple[str, str]:
    """The AWS account and an empty error, or `unknown` and the reason."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await access.identify(), ""
    except PassError as error:
        return UNKNOWN, error.message
    except TimeoutError:
        return UNKNOWN, f"AWS gave no answer within {format_duration(PATIENCE)}"


async def _is_served(client: KubeClient, kind: CustomKind, namespaces: tuple[str, ...]) -> bool:
    """Whether the cluster serves a kind. Other errors count as served: the watch makes the same call and reports them."""
    pages = client.pages(kind_of(kind), namespace=namespaces[0] if namespaces else "", page_size=1)
    try:
        async with aclosing(pages):
            await anext(pages)
    except NotFoundError:
        return False
    except ApiError as error:
        log.debug("Kind cannot be listed", resource=kind.name, error=str(error))
    return True
