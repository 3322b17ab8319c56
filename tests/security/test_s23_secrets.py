"""S-23 for routes: a Secret that somebody else has under the name of a token's Secret is neither overwritten nor deleted."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import SECRET, Key
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import APPS, operating, route

NAME = "api-cfzt-service-token"
ROUTE = {
    "hostname": "api.example.com",
    "accessApp": "true",
    "allowEmails": "a@example.com",
    "serviceToken": "true",
}


def theirs(**fields: object) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME, "namespace": APPS}, **fields}


FOREIGN = {
    "other keys": theirs(stringData={"password": "theirs"}),
    "same keys": theirs(stringData={"client_id": "x.access", "client_secret": "theirs"}),
    "another type": theirs(
        type="kubernetes.io/basic-auth", stringData={"username": "x", "password": "theirs"}
    ),
    "empty": theirs(),
}


@pytest.mark.parametrize("what", FOREIGN)
@virtual_time
async def test_foreign_secret_is_neither_overwritten_nor_deleted(what: str) -> None:
    async with operating() as world:
        await world.create(FOREIGN[what])
        before = await world.user.get(SECRET, Key(APPS, NAME))
        world.estate.guarded.add("api.example.com")
        await world.create(route("api", **ROUTE))
        message = await world.says("SecretConflict", "api")
        assert NAME in message
        assert world.tokens() == [], "nobody would ever know its secret"
        assert world.rule("api.example.com") is None
        await world.delete("api")
        await world.gone("api")
        assert await world.user.get(SECRET, Key(APPS, NAME)) == before


@virtual_time
async def test_secret_that_was_taken_over_by_others_is_left_at_deletion() -> None:
    """Somebody replaced our Secret by one of their own: without our mark it is not ours."""
    async with operating() as world:
        await world.create(route("api", **ROUTE))
        await world.ready("api")
        await world.user.delete(SECRET, Key(APPS, NAME))
        await world.create(FOREIGN["other keys"])
        before = await world.user.get(SECRET, Key(APPS, NAME))
        await world.delete("api")
        await world.gone("api")
        assert await world.user.get(SECRET, Key(APPS, NAME)) == before
        assert world.tokens() == []


@virtual_time
async def test_secret_of_another_namespace_is_out_of_reach() -> None:
    """Secrets go into the namespace of the route, whatever its annotations and templates say."""
    async with operating(("victim",)) as world:
        await world.create(route("api", **ROUTE, serviceTokenSecretName="victim/stolen"))
        await world.until(
            lambda: world.said("api")[0] == "True" or world.said("api")[1] == "InvalidAnnotation"
        )
        assert [one for one in world.all(SECRET) if one["metadata"]["namespace"] == "victim"] == []
