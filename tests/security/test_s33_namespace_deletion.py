"""S-33: a namespace is deleted with everything in it, and what its objects need for their clean-up goes first.

Nothing is left in a cloud without a record of it in the cluster, and a namespace that stays in Terminating has an object that
says why. The order in which a namespace is emptied is chosen by nobody, so it is played in several.
"""

from __future__ import annotations

import pytest

from edgekeeper.cli.manifest import load_manifests
from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import HTTP_ROUTE, NAMESPACE, REFERENCE_GRANT, SECRET, Key, Kind
from kubesim.virtual import virtual_time
from tests.platform.world import APPS, EXAMPLES, platform
from tests.zerotrust.acceptance_world import HOME, SECRET_NAME, AcceptanceWorld, operating, route

TEAM = "team"
HOST = "web.example.com"
ROUTE = {
    "hostname": HOST,
    "accessApp": "true",
    "allowEmails": "a@example.com",
    "serviceToken": "true",
    "tenant": "own",
}
REASONS = {"CredentialNotFound", "TenantNotFound"}


async def publish(here: AcceptanceWorld) -> None:
    await here.create(here.credential(TEAM), here.tenant("own", TEAM))
    await here.create(route("web", TEAM, **ROUTE))
    await here.ready("web", namespace=TEAM)
    assert here.rule(HOST) is not None


async def delete_namespace(here: AcceptanceWorld) -> None:
    await here.user.delete(NAMESPACE, Key("", TEAM))


def terminating(here: AcceptanceWorld) -> bool:
    return bool(dig(here.find(NAMESPACE, Key("", TEAM)), "status", "phase") == "Terminating")


def leftovers(here: AcceptanceWorld) -> list[object]:
    """What is at Cloudflare because of the route."""
    there = [here.rule(HOST), here.application(HOST), *here.records(HOST), *here.tokens()]
    return [one for one in there if one is not None]


FIRST: dict[str, tuple[tuple[Kind, str], ...]] = {
    "the Secret": ((SECRET, SECRET_NAME),),
    "the tenant": ((TENANT, "own"),),
    "both": ((SECRET, SECRET_NAME), (TENANT, "own")),
    "nothing": (),
}
"""What vanishes before the namespace is deleted. Its other objects go at once then, the route waits for its finalizer."""


@pytest.mark.parametrize("first", FIRST)
@virtual_time
async def test_route_says_what_is_missing_and_nothing_is_forgotten(first: str) -> None:
    async with operating((TEAM,)) as here:
        await publish(here)
        for kind, name in FIRST[first]:
            await here.delete(name, TEAM, kind)
        await delete_namespace(here)
        await here.until(lambda: not leftovers(here) or here.said("web", TEAM)[1] in REASONS, minutes=2)
        if not leftovers(here):
            await here.until(lambda: here.find(NAMESPACE, Key("", TEAM)) is None, minutes=2)
            return
        assert terminating(here)
        _, _, message = here.said("web", TEAM)
        assert "own" in message or SECRET_NAME in message, "what is missing is named"
        assert (TEAM, "web") in here.states(), "what is at Cloudflare is known"


@virtual_time
async def test_namespace_is_let_go_after_the_timeout_and_the_clean_up_is_made_up_for() -> None:
    """The state of the route outlives it in the operator's namespace, and is worked off when the tenant is there again."""
    async with operating((TEAM,)) as here:
        await publish(here)
        await here.delete(SECRET_NAME, TEAM, SECRET)
        await delete_namespace(here)
        await here.until(lambda: here.find(NAMESPACE, Key("", TEAM)) is None, minutes=120)
        assert leftovers(here), "nothing could be removed without the token"
        state = here.states()[TEAM, "web"]
        assert state["metadata"]["namespace"] == HOME
        assert HOST in str(state["data"]), (
            "and says what is left, since a terminating namespace takes no events"
        )
        await here.user.create(NAMESPACE, {"metadata": {"name": TEAM}})
        await here.create(here.credential(TEAM), here.tenant("own", TEAM))
        await here.until(lambda: not leftovers(here) and not here.states() and not here.all(TASK))


@virtual_time
async def test_credentials_of_the_platform_outlive_the_namespaces_of_teams() -> None:
    """With the tenant in the operator's namespace the clean-up is complete, and quick."""
    async with operating((TEAM,)) as here:
        await here.create(here.credential(HOME), here.tenant("shared", HOME))
        await here.create(route("web", TEAM, **{**ROUTE, "tenant": "shared"}))
        await here.ready("web", namespace=TEAM)
        await delete_namespace(here)
        await here.until(lambda: here.find(NAMESPACE, Key("", TEAM)) is None, minutes=2)
        assert leftovers(here) == []
        assert here.states() == {}


@virtual_time
async def test_grant_that_goes_first_keeps_nothing_from_being_removed() -> None:
    grant: JsonObject = {
        "apiVersion": REFERENCE_GRANT.api_version,
        "kind": REFERENCE_GRANT.kind,
        "metadata": {"name": "routes", "namespace": "backends"},
        "spec": {
            "from": [{"group": HTTP_ROUTE.group, "kind": HTTP_ROUTE.kind, "namespace": TEAM}],
            "to": [{"group": "", "kind": "Service"}],
        },
    }
    async with operating((TEAM, "backends")) as here:
        await here.create(here.credential(HOME), here.tenant("shared", HOME), grant)
        body = route("web", TEAM, **{**ROUTE, "tenant": "shared"})
        body["spec"]["rules"][0]["backendRefs"][0]["namespace"] = "backends"
        await here.create(body)
        await here.ready("web", namespace=TEAM)
        await here.user.delete(NAMESPACE, Key("", "backends"))
        await delete_namespace(here)
        await here.until(lambda: here.find(NAMESPACE, Key("", TEAM)) is None, minutes=2)
        assert leftovers(here) == []


CLOUDS = ("aws", "functions", "apis", "existing", "tenants", "cloudflare", "names")


@virtual_time
async def test_composed_service_goes_with_its_namespace_without_a_trace() -> None:
    """Its function, API, tables, domain name and records, whichever of its objects the namespace loses first."""
    async with platform() as world:
        before = {name: world.portrait()[name] for name in CLOUDS}
        body = next(one.body for one in load_manifests([EXAMPLES / "instances"]) if one.name == "checkout")
        await world.apply(body)
        await world.active("TubiLambdaService", "checkout")
        assert {name: world.portrait()[name] for name in CLOUDS} != before
        await world.user.delete(NAMESPACE, Key("", APPS))
        await world.until(lambda: world.find("Namespace", APPS, "") is None, minutes=30)
        assert {name: world.portrait()[name] for name in CLOUDS} == before
