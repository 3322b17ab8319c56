"""S-25: metrics are for those whom RBAC lets read them, and probes tell nobody what the operator looks after."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from edgekeeper.controllers.zerotrust.route_index import TENANT
from edgekeeper.core.json import dig_list
from edgekeeper.kube.kinds import SECRET, Key
from tests.security.installation import HOME, Site, installed, until

TEAM = "victim-team"
NAMES = (TEAM, "secret-project", "acme", "blue", HOME, "cloudflare")
"""What a stranger must not learn: namespaces, objects, accounts, clusters, and which clouds there are."""


async def nobody(_: Site) -> dict[str, str]:
    return {}


async def stranger(_: Site) -> dict[str, str]:
    return {"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."}


async def password(_: Site) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(b'admin:admin').decode()}"}


async def impersonator(_: Site) -> dict[str, str]:
    return {
        "Impersonate-User": "system:admin",
        "X-Remote-User": "system:admin",
        "X-Forwarded-For": "127.0.0.1",
    }


async def endless(_: Site) -> dict[str, str]:
    return {"Authorization": f"Bearer {'x' * 7000}"}


async def pod(site: Site) -> dict[str, str]:
    return {"Authorization": f"Bearer {await site.token(TEAM, 'default')}"}


async def viewer(site: Site) -> dict[str, str]:
    await site.bind(TEAM, "viewer", "edgekeeper-viewer")
    return {"Authorization": f"Bearer {await site.token(TEAM, 'viewer')}"}


async def editor(site: Site) -> dict[str, str]:
    await site.bind(TEAM, "editor", "edgekeeper-editor")
    return {"Authorization": f"Bearer {await site.token(TEAM, 'editor')}"}


async def operator(site: Site) -> dict[str, str]:
    return {"Authorization": f"Bearer {await site.token(HOME, 'edgekeeper')}"}


Caller = Callable[[Site], Awaitable[dict[str, str]]]
CALLERS: dict[Caller, int] = {
    nobody: 401,
    stranger: 401,
    password: 401,
    impersonator: 401,
    endless: 401,
    pod: 403,
    viewer: 403,
    editor: 403,
    operator: 403,
}
"""Who asks for metrics, and what they get."""


async def populate(site: Site) -> None:
    """Objects of a team, one of which is in trouble."""
    tenant = {
        "metadata": {"name": "secret-project"},
        "spec": {
            "accountId": site.estate.account.id,
            "tunnelId": site.estate.tunnel,
            "credentialRef": {"name": "missing"},
        },
    }
    await site.admin.create(TENANT, tenant, namespace=TEAM)

    async def told() -> bool:
        found = await site.admin.get(TENANT, Key(TEAM, "secret-project"))
        return any(one["status"] == "False" for one in dig_list(found, "status", "conditions"))

    await until(told)


async def test_metrics_are_refused_to_whoever_has_not_the_right() -> None:
    async with installed(TEAM) as site, site.running():
        await populate(site)
        for caller, expected in CALLERS.items():
            status, text = await site.request("metrics", "GET", "/metrics", headers=await caller(site))
            assert status == expected, caller.__name__
            assert len(text) < 40, text
            assert not [name for name in NAMES if name in text]


async def test_metrics_are_served_to_the_role_of_the_chart_only_as_metrics() -> None:
    async with installed(TEAM) as site, site.running():
        await site.bind(TEAM, "prometheus", "edgekeeper-metrics-reader")
        token = await site.token(TEAM, "prometheus")
        headers = {"Authorization": f"Bearer {token}"}
        status, text = await site.request("metrics", "GET", "/metrics", headers=headers)
        assert (status, "controller_runtime_reconcile_total" in text) == (200, True)
        for path in ("/", "/debug/pprof", "/metrics/../readyz", "/configz"):
            assert (await site.request("metrics", "GET", path, headers=headers))[0] == 404
        assert (await site.request("metrics", "POST", "/metrics", headers=headers))[0] == 405
        with pytest.raises(Exception, match="forbidden"):
            await site.client(token).get(SECRET, Key(HOME, "edgekeeper-webhooks-cert"))


async def test_metrics_are_not_served_without_encryption() -> None:
    async with installed() as site, site.running():
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await site.request("metrics", "GET", "/metrics", scheme="http")


PATHS = (
    "/healthz",
    "/healthz?verbose",
    "/readyz",
    "/readyz?verbose",
    "/readyz?exclude=manager&verbose",
    "/readyz/manager",
    "/readyz/nothing",
    "/livez",
    "/",
    "/metrics",
    f"/readyz/{TEAM}",
    "/readyz?verbose&exclude=secret-project",
)


async def test_health_tells_no_names_to_anybody() -> None:
    async with installed(TEAM) as site, site.running():
        await populate(site)
        for path in PATHS:
            await tells_nothing(site, path)
        running = site.operator
        assert running is not None
        running.server.ready.add("another", lambda: False)
        for path in PATHS:
            await tells_nothing(site, path)
        status, text = await site.request("probes", "GET", "/readyz", scheme="http")
        assert (status, "reason withheld" in text) == (500, True)


async def tells_nothing(site: Site, path: str) -> None:
    status, text = await site.request("probes", "GET", path, scheme="http")
    assert status in (200, 404, 500)
    assert len(text) < 200
    assert not [name for name in NAMES if name in text], (path, text)
