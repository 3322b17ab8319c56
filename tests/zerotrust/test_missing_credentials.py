"""A tenant, or the Secret with its API token, that is missing: whoever waits for it goes on as soon as it is there."""

from __future__ import annotations

from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.kube.kinds import SECRET
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import SECRET_NAME, TENANT_NAME, AcceptanceWorld, operating, route

HOST = "web.example.com"
AT_ONCE = 0.5
"""Minutes: far below the interval at which stalled objects are looked at again."""


def nothing_left(here: AcceptanceWorld) -> bool:
    there = here.rule(HOST), here.records(HOST), here.states(), here.all(TASK)
    return not any(there)


@virtual_time
async def test_publication_goes_on_when_the_secret_of_the_tenant_comes() -> None:
    async with operating() as here:
        await here.delete(SECRET_NAME, kind=SECRET)
        await here.create(route("web", hostname=HOST))
        await here.says("CredentialNotFound", "web")
        await here.elapse(minutes=1)
        await here.create(here.credential())
        await here.until(lambda: here.said("web")[1] == "Published", minutes=AT_ONCE)


@virtual_time
async def test_publication_goes_on_when_tenant_and_secret_come_in_any_order() -> None:
    for tenant_first in (True, False):
        async with operating() as here:
            await here.delete(TENANT_NAME, kind=TENANT)
            await here.delete(SECRET_NAME, kind=SECRET)
            await here.create(route("web", hostname=HOST))
            await here.says("TenantNotFound", "web")
            await here.elapse(minutes=1)
            first, second = here.tenant(), here.credential()
            await here.create(*((first, second) if tenant_first else (second, first)))
            await here.until(lambda here=here: here.said("web")[1] == "Published", minutes=AT_ONCE)  # type: ignore[misc]


@virtual_time
async def test_withdrawal_goes_on_when_the_secret_of_the_tenant_comes() -> None:
    async with operating() as here:
        await here.create(route("web", hostname=HOST))
        await here.ready("web")
        await here.delete(SECRET_NAME, kind=SECRET)
        await here.delete("web")
        await here.says("CredentialNotFound", "web")
        assert here.states()
        await here.elapse(minutes=7)
        await here.create(here.credential())
        await here.until(lambda: nothing_left(here), minutes=AT_ONCE)
        await here.gone("web")


@virtual_time
async def test_withdrawal_goes_on_when_tenant_and_secret_come() -> None:
    async with operating() as here:
        await here.create(route("web", hostname=HOST))
        await here.ready("web")
        await here.delete(TENANT_NAME, kind=TENANT)
        await here.delete(SECRET_NAME, kind=SECRET)
        await here.delete("web")
        await here.says("TenantNotFound", "web")
        await here.create(here.tenant())
        await here.says("CredentialNotFound", "web")
        await here.elapse(minutes=7)
        await here.create(here.credential())
        await here.until(lambda: nothing_left(here), minutes=AT_ONCE)
