"""S-01: an object takes nothing from one of the same name in another namespace, whatever it says and whenever it comes.

A tenant's name is unique within an account, and by default it is the object's own. So two namespaces can ask for the same
tenant; it belongs to the object whose mark it bears.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import NAMESPACE, Key
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import OPTIONS, tenant

ALPHA, BETA = Key("alpha", "kiosk"), Key("beta", "kiosk")
OWNED, OTHER = "kiosk.example.com", "other.example.com"
HALF_AN_HOUR = 1800
ADOPT = {"edgekeeper.io/adopt": "true"}


def claim(
    key: Key, domain: str = OTHER, annotations: dict[str, str] | None = None, **spec: Any
) -> JsonObject:
    obj = tenant(key, domain, **spec)
    obj["metadata"]["annotations"] = annotations or {}
    return obj


async def namespaces(scene: Scene, *names: str) -> None:
    for name in names or (ALPHA.namespace, BETA.namespace):
        await scene.stage.user.create(NAMESPACE, {"metadata": {"name": name}})


async def victim(scene: Scene) -> Tenant:
    """Alpha's tenant, with records, and nothing left to do."""
    await namespaces(scene)
    await scene.create(claim(ALPHA, OWNED, dns=scene.dns()))
    await scene.ready(ALPHA)
    await scene.elapse(minutes=2)
    return scene.aws(ALPHA.name)


async def pretend(scene: Scene, key: Key, status: JsonObject) -> None:
    """Write another object's status into this one's: all but the conditions, which take nothing from anybody."""
    forged = {name: value for name, value in status.items() if name != "conditions"}
    await scene.stage.user.merge_patch(KIND, key, {"status": forged}, subresource="status")


@virtual_time
async def test_younger_object_changes_nothing_while_the_elder_lives() -> None:
    """Plain, ready to adopt, to be orphaned, made for drift, with the elder's domain, with the elder's status."""
    attacks = [
        claim(BETA),
        claim(BETA, dns={"provider": "route53", "hostedZoneId": "Z1"}),
        claim(BETA, annotations=ADOPT),
        claim(BETA, OWNED, annotations=ADOPT),
        claim(BETA, annotations={"edgekeeper.io/deletion-policy": "Orphan", **ADOPT}),
        claim(BETA, annotations={"edgekeeper.io/drift-policy": "enforce"}, enabled=False),
    ]
    async with playing() as scene:
        live = await victim(scene)
        before, writes = scene.estate.state(), scene.estate.writes
        for number, attack in enumerate(attacks):
            forged = scene.status(ALPHA) if number % 2 else {}
            await scene.create(attack)
            fact = await scene.says("Ready", "NameConflict", BETA)
            assert str(ALPHA) in fact.message
            await pretend(scene, BETA, forged)
            await scene.edit(BETA, enabled=False, domains=[{"domain": "more.example.com"}])
            await scene.says("Ready", "NameConflict", BETA)
            await pretend(scene, BETA, forged)
            await scene.delete(BETA)
            await scene.gone(BETA)
        assert scene.aws(ALPHA.name) == live
        assert (scene.estate.state(), scene.estate.writes) == (before, writes)
        assert scene.fact("Ready", ALPHA)[:2] == ("True", "Deployed")


@pytest.mark.parametrize("annotations", [{}, ADOPT], ids=["plain", "ready to adopt"])
@virtual_time
async def test_younger_object_gets_a_tenant_of_its_own_after_the_elder_is_gone(
    annotations: dict[str, str],
) -> None:
    async with playing() as scene:
        live = await victim(scene)
        await scene.create(claim(BETA, OWNED, annotations, dns=scene.dns()))
        await scene.says("Ready", "NameConflict", BETA)
        await scene.delete(ALPHA)
        async with asyncio.timeout(HALF_AN_HOUR):
            while scene.find(ALPHA) is not None:
                assert scene.status(BETA).get("id") is None, "what goes is not taken over"
                await scene.elapse(seconds=1)
        await scene.ready(BETA)
        heir = scene.aws(BETA.name)
        assert heir.id == scene.status(BETA)["id"] != live.id
        assert heir.tags[f"{TAG_PREFIX}namespace"] == BETA.namespace
        assert scene.calls("CreateDistributionTenant") == 2
        assert not scene.estate.chronicle.wrongs


@virtual_time
async def test_tenant_that_the_elder_left_behind_is_nobodys_to_take() -> None:
    """With `Orphan` it stays, and where its mark cannot be removed that stays as well: whoever wants the tenant has to
    take the mark off in AWS, where that is guarded."""
    async with playing() as scene:
        await victim(scene)
        scene.cloud.guard.denied |= {"cloudfront:UntagResource"}
        await scene.annotate(ALPHA, deletion_policy="Orphan")
        await scene.delete(ALPHA)
        await scene.gone(ALPHA)
        live, writes = scene.aws(ALPHA.name), scene.estate.writes
        await scene.create(claim(BETA, OWNED, ADOPT))
        fact = await scene.says("Ready", "NameConflict", BETA)
        assert "another object" in fact.message
        await scene.elapse(hours=1)
        await scene.delete(BETA)
        await scene.gone(BETA)
        assert (scene.aws(ALPHA.name), scene.estate.writes) == (live, writes)


@pytest.mark.parametrize("forges", [False, True], ids=["honest", "with its status"])
@virtual_time
async def test_tenant_without_a_mark_is_not_taken_from_the_elder(forges: bool) -> None:
    """Tags may not be allowed, or were taken off: then the elder is known by its age, and the other by its youth."""
    async with playing() as scene:
        await victim(scene)
        scene.cloud.guard.denied |= {"cloudfront:TagResource"}
        live = scene.cloud.cloudfront.change_tenant(ALPHA.name, tags={})
        await scene.elapse(minutes=10)
        writes = scene.estate.writes
        await scene.create(claim(BETA, OWNED, ADOPT))
        await scene.says("Ready", "NameConflict", BETA)
        if forges:
            await pretend(scene, BETA, scene.status(ALPHA))
        await scene.delete(BETA)
        await scene.gone(BETA)
        assert (scene.aws(ALPHA.name), scene.estate.writes) == (live, writes)


@virtual_time
async def test_of_two_that_come_at_once_one_has_it_and_keeps_it() -> None:
    async with playing(start=False) as scene:
        await namespaces(scene)
        await scene.create(claim(ALPHA, OWNED, ADOPT))
        await scene.create(claim(BETA, OTHER, ADOPT))
        scene.stage.start_operator()
        await scene.until(lambda: "Deployed" in {scene.fact("Ready", key).reason for key in (ALPHA, BETA)})
        winner = ALPHA if scene.fact("Ready", ALPHA).reason == "Deployed" else BETA
        loser = BETA if winner == ALPHA else ALPHA
        live, writes = scene.aws(ALPHA.name), scene.estate.writes
        for _ in range(3):
            scene.stage.operator.die()
            scene.stage.start_operator()
            await scene.elapse(minutes=10)
            assert scene.fact("Ready", loser).reason == "NameConflict"
            assert scene.fact("Ready", winner).reason == "Deployed"
        assert (scene.aws(ALPHA.name), scene.estate.writes) == (live, writes)


@virtual_time
async def test_template_with_the_namespace_gives_each_its_own() -> None:
    options = replace(OPTIONS, tenant_name_template="{namespace}-{name}")
    async with playing(options) as scene:
        await namespaces(scene)
        await scene.create(claim(ALPHA, OWNED))
        await scene.create(claim(BETA, OTHER))
        await scene.ready(ALPHA)
        await scene.ready(BETA)
        kept = scene.aws("alpha-kiosk")
        await scene.delete(BETA)
        await scene.gone(BETA)
        assert (scene.names, scene.aws("alpha-kiosk")) == (["alpha-kiosk"], kept)


@virtual_time
async def test_names_that_a_template_makes_alike_are_told_apart() -> None:
    """`a-b` of `c` and `a` of `b-c`: nobody becomes somebody else by where the dash is."""
    options = replace(OPTIONS, tenant_name_template="{namespace}-{name}")
    elder, younger = Key("team-a", "kiosk"), Key("team", "a-kiosk")
    async with playing(options) as scene:
        await namespaces(scene, elder.namespace, younger.namespace)
        await scene.create(claim(elder, OWNED))
        await scene.ready(elder)
        live, writes = scene.aws("team-a-kiosk"), scene.estate.writes
        await scene.create(claim(younger, OTHER, ADOPT))
        await scene.says("Ready", "NameConflict", younger)
        await pretend(scene, younger, scene.status(elder))
        await scene.delete(younger)
        await scene.gone(younger)
        assert (scene.aws("team-a-kiosk"), scene.estate.writes) == (live, writes)
