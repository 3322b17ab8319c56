"""Preview of DistributionTenants for `edgekeeper plan`: the steps that the operator would perform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from edgekeeper.api.cloudfront import read_tenant
from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.wiring import KIND, TenantOptions, tenant_kind
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.preview import Preview, Previewer, store_of
from edgekeeper.runtime.contract import Request

FIRST_LISTING: Final = timedelta(minutes=2)


async def preview_tenants(
    account: CloudFrontAccount,
    claims: Claims,
    options: TenantOptions,
    objects: Iterable[JsonObject],
    keys: Sequence[Key],
) -> list[Preview]:
    """Preview the objects of `keys`. `objects` must be all objects of the kind, since they may conflict.

    Raise PassError if the AWS account cannot be read.
    """

    async def listed(request: Request) -> None:
        dns = read_tenant(request.object).spec.dns
        if dns is not None:
            await account.dns.zone(dns.hosted_zone_id, dns.assume_role_arn).mirror.wait_listed()

    store = await store_of(KIND, objects)
    claims.objects.follow(KIND, [store])
    kind = tenant_kind(account, Memory(account.clock), claims, options)
    previewer = Previewer(kind, store, listed)
    return await previewer.preview_beside(account, partial(_confirm_listed, account), keys)


async def _confirm_listed(account: CloudFrontAccount) -> None:
    """Wait for the first listings. Raise their error, unless IAM denies listing: tenants are read one by one then."""
    await account.warm_up(FIRST_LISTING)
    problem = account.tenants.mirror.problem
    if problem is not None and not account.tenants.is_listing_denied:
        raise problem
