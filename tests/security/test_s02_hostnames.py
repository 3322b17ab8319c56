"""S-02: nobody gets a hostname that another namespace has, however it is written, and whenever it is asked for.

With `--hostname-policy` a namespace gets nothing but what is listed for it. Without, as in the systems before, whoever
asks first has a name; but even then the same name in another spelling is the same name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.wiring import TenantOptions
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import NAMESPACE, Key
from kubesim.virtual import virtual_time
from tests.results import Figures
from tests.security.hostnames import OWNED, all_variants, disguises, lookalikes, neighbours, spellings
from tests.tenants.scene import Scene, playing
from tests.tenants.system import OPTIONS, tenant

VICTIM = Key("alpha", "kiosk")
BETA = Key("beta", "attacker")
INNOCENT = "beta.example.com"
POLICY = {"alpha": ("example.com",), "beta": ("beta.example.com",)}
GUARDED = replace(OPTIONS, guards=Guards(hostnames=POLICY))
HALF_AN_HOUR = 1800
REFUSED = {"ValidationFailed", "DomainConflict"}


def attacker(number: int) -> Key:
    return Key("beta", f"attacker-{number:03}")


async def victim(scene: Scene) -> JsonObject:
    """Alpha's tenant is up. Return the account."""
    for name in ("alpha", "beta"):
        await scene.stage.user.create(NAMESPACE, {"metadata": {"name": name}})
    await scene.create(tenant(VICTIM, OWNED, dns=scene.dns()))
    await scene.ready(VICTIM)
    return scene.estate.state()


async def attack(scene: Scene, names: Iterable[str], *, second: bool = False) -> list[Key]:
    """Claim names. Return the objects that the server let in."""
    admitted: list[Key] = []
    for number, name in enumerate(names):
        domains = (f"a{number}.beta.example.com", name) if second else (name,)
        try:
            await scene.create(tenant(attacker(number), *domains, dns=scene.dns()))
        except InvalidError:
            continue
        admitted.append(attacker(number))
    await scene.elapse(minutes=5)
    return admitted


def test_there_are_enough_variants() -> None:
    assert len(all_variants()) >= 200


@pytest.mark.parametrize("second", [False, True], ids=["first domain", "second domain"])
@virtual_time
async def test_policy_keeps_every_variant_out(second: bool, figures: Figures) -> None:
    async with playing(GUARDED) as scene:
        before, writes = await victim(scene), scene.estate.writes
        names = all_variants()[:: 5 if second else 1]
        figures.count("hostname variants", 0 if second else len(names))
        for key in await attack(scene, names, second=second):
            ready = scene.fact("Ready", key)
            assert ready.reason in REFUSED, scene.object(key)
            assert "spec.domains" in ready.message or str(VICTIM) in ready.message
        assert (scene.estate.state(), scene.estate.writes) == (before, writes)


@pytest.mark.parametrize("second", [False, True], ids=["first domain", "second domain"])
@virtual_time
async def test_without_a_policy_another_spelling_is_the_same_name(second: bool) -> None:
    async with playing() as scene:
        before, writes = await victim(scene), scene.estate.writes
        names = [*spellings(), *disguises()][:: 5 if second else 1]
        for key in await attack(scene, names, second=second):
            assert scene.fact("Ready", key).reason in REFUSED, scene.object(key)
        assert (scene.estate.state(), scene.estate.writes) == (before, writes)


@virtual_time
async def test_names_like_it_and_around_it_take_nothing_from_it() -> None:
    """They are other names. Without a policy they may be had; the victim keeps its own, whatever becomes of them."""
    async with playing() as scene:
        before = await victim(scene)
        attackers = await attack(scene, [*[*lookalikes()][::4], *neighbours()])
        assert scene.estate.state()["tenants"][VICTIM.name] == before["tenants"][VICTIM.name]
        for key in attackers:
            await scene.delete(key)
        for key in attackers:
            await scene.gone(key)
        assert (scene.estate.state(), scene.estate.chronicle.wrongs) == (before, [])


@pytest.mark.parametrize("options", [GUARDED, OPTIONS], ids=["with a policy", "without a policy"])
@virtual_time
async def test_later_edit_gets_no_more_than_a_new_object(options: TenantOptions) -> None:
    async with playing(options) as scene:
        await victim(scene)
        await scene.create(tenant(BETA, INNOCENT, dns=scene.dns()))
        await scene.ready(BETA)
        before, writes = scene.estate.state(), scene.estate.writes
        for name in list(spellings())[::8]:
            for domains in ([{"domain": INNOCENT}, {"domain": name}], [{"domain": name}]):
                await scene.edit(BETA, domains=domains)
                await scene.elapse(seconds=5)
                assert scene.is_current(BETA)
                assert scene.fact("Ready", BETA).reason in REFUSED
        wish = {"validationTokenHost": "cloudfront", "primaryDomainName": OWNED}
        await scene.edit(BETA, domains=[{"domain": INNOCENT}], managedCertificateRequest=wish)
        await scene.says("Ready", "ValidationFailed", BETA)
        own = [record for record in before["records"] if INNOCENT in record]
        left = {**before, "records": [record for record in before["records"] if record not in own]}
        assert len(own) == 1
        assert scene.estate.state() == left, (
            "its own record went with its own domain, and nothing else happened"
        )
        assert scene.estate.writes == writes + 1


@pytest.mark.parametrize("options", [GUARDED, OPTIONS], ids=["with a policy", "without a policy"])
@virtual_time
async def test_name_is_free_only_when_nothing_of_it_is_left(options: TenantOptions) -> None:
    """While the victim's object goes, the next in line waits; with a policy it waits in vain."""
    async with playing(options) as scene:
        await victim(scene)
        await scene.create(tenant(BETA, OWNED.upper(), dns=scene.dns()))
        await scene.until(lambda: scene.fact("Ready", BETA).reason in REFUSED)
        await scene.delete(VICTIM)
        async with asyncio.timeout(HALF_AN_HOUR):
            while scene.find(VICTIM) is not None:
                assert BETA.name not in scene.names
                assert scene.fact("Ready", BETA).reason in REFUSED
                await scene.elapse(seconds=1)
        await scene.elapse(minutes=10)
        assert (BETA.name in scene.names) == (options is OPTIONS)
        assert not scene.estate.chronicle.wrongs


@pytest.mark.parametrize("options", [GUARDED, OPTIONS], ids=["with a policy", "without a policy"])
@virtual_time
async def test_who_comes_back_for_a_name_is_served_by_the_policy_and_not_by_the_race(
    options: TenantOptions,
) -> None:
    """Without a policy whoever asked first has it, and both are told: one that it is theirs, one whose it is."""
    async with playing(options) as scene:
        await victim(scene)
        await scene.create(tenant(BETA, OWNED, dns=scene.dns()))
        await scene.elapse(seconds=2)
        await scene.delete(VICTIM)
        await scene.gone(VICTIM)
        await scene.create(tenant(VICTIM, OWNED, dns=scene.dns()))
        winner, loser = (VICTIM, BETA) if options is GUARDED else (BETA, VICTIM)
        await scene.ready(winner)
        assert scene.fact("Ready", loser).reason in REFUSED
        assert scene.names == [winner.name]
        assert not scene.estate.chronicle.wrongs
