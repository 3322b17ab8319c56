"""CloudFront and ACM for all tenants of an AWS account: shared mirrors and caches.

    tenants         mirror of all tenants                  GetDistributionTenant only for what listings do not contain
    groups          mirror of connection groups            with their endpoints
    certificates    mirror of managed certificates         and the names of others, cached
    dns             Route 53 zones (`cloud.aws.dns`)
    distributions   cache with an expiry

If IAM denies listing tenants, connection groups or certificates, they are read one by one as far as IAM allows, and this is
logged once.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.distributions import ConnectionGroup
from edgekeeper.cloud.aws.managed_certificates import ManagedCertificates
from edgekeeper.cloud.aws.mirrors import (
    ConnectionGroups,
    Distributions,
    Tenants,
    connection_groups,
    default_group,
)
from edgekeeper.cloud.mirror import wait_listed
from edgekeeper.core.errors import Stall


class CloudFrontAccount:
    """The mirrors and caches of CloudFront and ACM that all tenants of an account share."""

    def __init__(self, shared: AwsAccount) -> None:
        clock, metrics = shared.clock, shared.metrics
        self.shared = shared
        self.clock = clock
        self.rights = shared.rights
        self.dns = shared.dns
        self.cloudfront = CloudFront(shared.access.caller())
        self.tenants = Tenants(self.cloudfront, clock, metrics, options=shared.options)
        self.groups = connection_groups(self.cloudfront, clock, metrics)
        self.certificates = ManagedCertificates(shared, self.cloudfront)
        self.distributions = Distributions(self.cloudfront, clock)
        self._unlisted_groups = ConnectionGroups(self.cloudfront, clock)

    async def run(self) -> None:
        """Run all mirrors until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (self.tenants, self.groups, self.certificates, self.shared):
                group.create_task(work.run())

    async def warm_up(self, limit: timedelta) -> None:
        """Wait for the first listing of tenants and connection groups, successful or not, at most for `limit`."""
        await wait_listed((self.tenants.mirror, self.groups), limit)

    async def connection_group(self, group_id: str) -> ConnectionGroup | None:
        """A connection group, or the account's default for an empty id: from the mirror, else read by its id.

        If IAM denies listing, groups are read by id and the default cannot be determined: the refusal is raised for it.
        Raise NotSyncedError before the first listing.
        """
        problem = None if self.groups.synced else self.groups.problem
        if isinstance(problem, Stall):
            if not group_id:
                raise problem
            return await self._unlisted_groups.get(group_id)
        if not group_id:
            return default_group(self.groups)
        return self.groups.get(group_id) or await self._unlisted_groups.get(group_id)
