"""The collections of an AWS account that are kept as local copies.

    Tenants                 every distribution tenant, from listings; parameters and tags are read once per ETag
    Distributions           those that tenants name, read now and then
    connection_groups       where tenants' DNS points to
    ConnectionGroups        those that are in no listing, read now and then
    (records of a zone are with their writer, in `zone`)

Listings replace periodic reads of each tenant. A listing lacks parameters and tags, but has the ETag: a tenant is read only
if its ETag has changed. If listing is denied, tenants are read one by one.

For a while after an own write, listings and reads may return the previous state. A tenant has the time of its last
change, so a state older than the last own write is ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.cloudfront import PAGE_SIZE, CloudFront
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.tenants import DistributionTenant, TenantSummary
from edgekeeper.cloud.cache import DEFAULT_LIFETIME, LookupCache
from edgekeeper.cloud.call_context import sweeping
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import Handler, Mirror, MirrorOptions
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError, Stall, fresh
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

RARE_LISTINGS: Final = MirrorOptions(slow=timedelta(minutes=10))
"""For what people change now and then, and no drift is looked for."""
GRACE: Final = timedelta(minutes=2)
"""How long CloudFront may show what was before an own write: no tenant, another one, or one that is gone."""
ABSENCE_REMEMBERED: Final = timedelta(seconds=30)
"""Shorter: somebody may be about to create it."""


class Tenants:
    """All tenants of an account."""

    def __init__(
        self,
        cloudfront: CloudFront,
        clock: Clock,
        metrics: CloudMetrics,
        *,
        options: MirrorOptions | None = None,
    ) -> None:
        self.is_listing_denied = False
        """Whether we may not list tenants."""
        self.mirror: Mirror[str, TenantSummary] = Mirror(
            "tenants",
            self._list,
            clock,
            metrics,
            options=options or MirrorOptions(),
            confirm=self._confirm,
        )
        self._followed_every = (options or MirrorOptions()).fast
        self._cloudfront = cloudfront
        self._clock = clock
        self._written: dict[str, tuple[float, DistributionTenant | None]] = {}
        """What we wrote ourselves, and when; None for what we deleted."""
        self._ids_by_name: dict[str, str] = {}
        self._ids_by_domain: dict[str, str] = {}
        self._details: dict[str, DistributionTenant] = {}
        self._doubted: set[str] = set()
        """Tenants that we tried to write, and had no answer."""
        self._unfinished: set[str] = set()
        """Tenants that are in progress at CloudFront."""
        self._unread: PassError | None = None
        """Why one of them could not be read the last time."""
        self._news = asyncio.Event()
        self.mirror.subscribe(self._index)

    async def run(self) -> None:
        """Keep the copy fresh until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.mirror.run(), name="mirror of tenants")
            group.create_task(self._follow(), name="tenants in progress")

    @property
    def problem(self) -> PassError | None:
        """Why tenants can be neither listed nor read at present; None where they can."""
        return self._unread or self.mirror.problem

    def subscribe(self, handler: Handler[str, TenantSummary]) -> Callable[[], None]:
        """Call `handler` for every tenant that changes, by id. Returns a function that ends the subscription."""
        return self.mirror.subscribe(handler)

    def get(self, tenant_id: str) -> TenantSummary | None:
        """A tenant as it was listed last. Raise NotSyncedError where nothing was listed yet."""
        return self.mirror.get(tenant_id)

    def get_by_name(self, name: str) -> TenantSummary | None:
        """The same by name, which is unique within the account."""
        return self.mirror.get(self._ids_by_name.get(name, ""))

    async def find_by_name(self, name: str) -> TenantSummary | None:
        """The same where tenants may not be listed, too: then it is read."""
        return await self.read(name) if self.is_listing_denied else self.get_by_name(name)

    def holder_of(self, domain: str) -> TenantSummary | None:
        """The tenant that serves a domain, as it was listed last; CloudFront lets no two have the same.

        Raise NotSyncedError where nothing was listed yet. None where tenants may not be listed.
        """
        return None if self.is_listing_denied else self.mirror.get(self._ids_by_domain.get(domain, ""))

    async def details(self, tenant_id: str) -> DistributionTenant | None:
        """A tenant with its parameters and tags: read live if its ETag is another than at the last reading."""
        if not self.is_listing_denied and self.mirror.get(tenant_id) is None:
            return None
        return self.recall(tenant_id) or await self.read(tenant_id)

    def recall(self, tenant_id: str) -> DistributionTenant | None:
        """The same without a call; None where it takes one."""
        if self.is_listing_denied or self.is_doubted(tenant_id):
            return None
        details, summary = self._details.get(tenant_id), self.mirror.get(tenant_id)
        if details is None or summary is None or details.etag != summary.etag:
            return None
        return _completed(details, summary)

    async def read(self, identifier: str) -> DistributionTenant | None:
        """A tenant live, by id, ARN or name. The copy is updated."""
        tenant = await self._cloudfront.find_tenant(identifier)
        tenant_id = tenant.id if tenant else self._ids_by_name.get(identifier, identifier)
        self._doubted.discard(tenant_id)
        if self._is_past(tenant_id, tenant):
            return self._written[tenant_id][1]
        if tenant is not None:
            self._keep(tenant)
        else:
            self.mirror.remove(tenant_id)
        return tenant

    def mark_uncertain(self, tenant_id: str) -> None:
        """A write of ours had no answer: the copy may be outdated until the tenant is read again."""
        self._doubted.add(tenant_id)

    def is_doubted(self, tenant_id: str) -> bool:
        return tenant_id in self._doubted

    def put(self, tenant: DistributionTenant) -> None:
        """Record an own write."""
        self._written[tenant.id] = (self._clock.monotonic(), tenant)
        self._keep(tenant)

    def remove(self, tenant_id: str) -> None:
        """Record an own deletion."""
        self._written[tenant_id] = (self._clock.monotonic(), None)
        self.mirror.remove(tenant_id)

    def _keep(self, tenant: DistributionTenant) -> None:
        self._details[tenant.id] = tenant
        self.mirror.put(tenant.id, tenant.summary)

    def _is_past(self, tenant_id: str, shown: TenantSummary | None) -> bool:
        """Are we shown how a tenant was before we wrote it?"""
        moment, written = self._written.get(tenant_id, (float("-inf"), None))
        if self._clock.monotonic() - moment > GRACE.total_seconds():
            self._written.pop(tenant_id, None)
            return False
        if written is None or shown is None:
            return written is not shown
        return bool(written.modified and shown.modified and shown.modified < written.modified)

    async def _follow(self) -> None:
        """Look more often while something is in progress: at each tenant, or where that is cheaper, at all."""
        while True:
            await self._news.wait()
            await asyncio.sleep(self._followed_every.total_seconds())
            if len(self._unfinished) > 1 + self.mirror.count // PAGE_SIZE and not self.is_listing_denied:
                self.mirror.hasten()
                continue
            for tenant_id in sorted(self._unfinished):
                with sweeping():
                    await self._look(tenant_id)

    async def _look(self, tenant_id: str) -> None:
        self._unread = None
        try:
            await self.read(tenant_id)
        except PassError as error:
            self._unread = fresh(error)
            if error.unavailable is None:  # an outage is logged by the transport
                log.warning("Tenant in progress cannot be read", tenant=tenant_id, error=error.message)

    async def _list(self) -> AsyncIterator[dict[str, TenantSummary]]:
        listed: set[str] = set()
        try:
            async for page in self._cloudfront.tenants():
                listed.update(page)
                yield self._present(page)
        except Stall as refusal:
            if not self.is_listing_denied and refusal.error_type == "access_denied":
                log.warning("Tenants may not be listed and are read one by one", error=refusal.message)
                self.is_listing_denied = True
            raise
        self.is_listing_denied = False
        yield self._present(dict.fromkeys(self._written.keys() - listed))

    def _present(self, shown: Mapping[str, TenantSummary | None]) -> dict[str, TenantSummary]:
        """A page, with what we wrote in place of what was before."""
        page: dict[str, TenantSummary] = {}
        for tenant_id, summary in shown.items():
            is_past = self._is_past(tenant_id, summary)
            written = self._written[tenant_id][1] if is_past else None
            current = (written.summary if written else None) if is_past else summary
            if current is not None:
                page[tenant_id] = current
        return page

    async def _confirm(self, tenant_id: str) -> TenantSummary | None:
        tenant = await self._cloudfront.find_tenant(tenant_id)
        return None if tenant is None else tenant.summary

    def _index(self, tenant_id: str, old: TenantSummary | None, new: TenantSummary | None) -> None:
        self._index_names(tenant_id, old, new)
        if new is None:
            self._details.pop(tenant_id, None)
        if new is not None and new.in_progress:
            self._unfinished.add(tenant_id)
        else:
            self._unfinished.discard(tenant_id)
        if self._unfinished:
            self._news.set()
        else:
            self._news.clear()
            self._unread = None

    def _index_names(self, tenant_id: str, old: TenantSummary | None, new: TenantSummary | None) -> None:
        if old is not None and self._ids_by_name.get(old.name) == tenant_id:
            del self._ids_by_name[old.name]
        for domain in _names(old):
            if self._ids_by_domain.get(domain) == tenant_id:
                del self._ids_by_domain[domain]
        if new is not None:
            self._ids_by_name[new.name] = tenant_id
            self._ids_by_domain.update(dict.fromkeys(_names(new), tenant_id))


def _names(tenant: TenantSummary | None) -> frozenset[str]:
    return tenant.served if tenant else frozenset()


def _completed(details: DistributionTenant, summary: TenantSummary) -> DistributionTenant:
    """A tenant with the fields of its latest listing, and those that only a read has."""
    return replace(details, **{field.name: getattr(summary, field.name) for field in fields(summary)})


class Distributions(LookupCache[str, Distribution | None]):
    """Distributions, at most a few minutes old: all their tenants ask for the same few."""

    def __init__(self, cloudfront: CloudFront, clock: Clock) -> None:
        super().__init__(cloudfront.find_distribution, clock, _lasting)


class ConnectionGroups(LookupCache[str, ConnectionGroup | None]):
    """Connection groups that no listing shows: it is too old for them, or we may not list."""

    def __init__(self, cloudfront: CloudFront, clock: Clock) -> None:
        super().__init__(cloudfront.find_connection_group, clock, _lasting)


def _lasting(answer: Distribution | ConnectionGroup | None) -> timedelta:
    """How long an answer counts."""
    if answer is None or (isinstance(answer, ConnectionGroup) and not answer.routing_endpoint):
        return ABSENCE_REMEMBERED
    return DEFAULT_LIFETIME


def connection_groups(
    cloudfront: CloudFront, clock: Clock, metrics: CloudMetrics, *, options: MirrorOptions = RARE_LISTINGS
) -> Mirror[str, ConnectionGroup]:
    """The connection groups of an account, by id."""
    return Mirror(
        "connection groups",
        cloudfront.connection_groups,
        clock,
        metrics,
        options=options,
        in_progress=lambda group: group.status == "InProgress",
    )


def default_group(groups: Mirror[str, ConnectionGroup]) -> ConnectionGroup | None:
    """The group of tenants that name none. An account that never had a tenant has none either."""
    return next((group for _, group in groups.items() if group.is_default), None)
