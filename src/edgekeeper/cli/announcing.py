"""The first log line of `edgekeeper run`: version, cluster, AWS account, region and the main options.

It lets an administrator check that the right cluster and account are used. An account that cannot be read is logged as
unknown, with the reason, and does not delay the start.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

from edgekeeper import __version__
from edgekeeper.cli.assembly import Operator
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import PassError
from edgekeeper.core.log import get_logger
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.runtime.logs import STARTED

log = get_logger(__name__)

PATIENCE: Final = timedelta(seconds=5)
"""How long to wait for AWS to return the account."""
UNKNOWN: Final = "unknown"


async def announce(operator: Operator, cluster: ClusterConfig) -> None:
    """Log what has been started. Kinds that the cluster does not know are logged by their watches."""
    options = operator.options
    kinds = dict.fromkeys(module.kind.kind for module in options.modules)
    account, problem = await _account(operator.access) if operator.access else ("", "")
    log.info(
        STARTED,
        version=__version__,
        server=cluster.server,
        cluster=cluster.origin,
        cluster_id=options.common.cluster,
        **({"adopt_from_clusters": sorted(lost)} if (lost := options.common.lost_clusters) else {}),
        **({"account": account} if account else {}),
        **({"account_error": problem} if problem else {}),
        **({"region": operator.access.clients.region} if operator.access else {}),
        drift_policy=str(options.common.drift_policy),
        dry_run=options.runtime.dry_run,
        leader_elect=options.runtime.leader_elect,
        namespaces=list(options.runtime.namespaces) or "all",
        kinds=list(kinds),
        **({"role": options.role} if options.role else {}),
    )


async def _account(access: AwsAccess) -> tuple[str, str]:
    """The AWS account and an empty error, or `unknown` and the reason."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await access.identify(), ""
    except PassError as error:
        return UNKNOWN, error.message
    except TimeoutError:
        return UNKNOWN, f"AWS gave no answer within {format_duration(PATIENCE)}"
