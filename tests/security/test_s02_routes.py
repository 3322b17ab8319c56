"""S-02 for routes: nobody gets a hostname that another namespace has, however it is written.

With `--hostname-policy` a namespace gets nothing but what is listed for it. Without, whoever asks first has a name; but even
then the same name in another spelling is the same name.
"""

from __future__ import annotations

import pytest

from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from edgekeeper.lifecycle.module import CommonOptions
from kubesim.virtual import virtual_time
from tests.security.hostnames import OWNED, all_variants, disguises, lookalikes, neighbours, spellings
from tests.zerotrust.acceptance_world import CLUSTER, HOME, AcceptanceWorld, operating, route

POLICY = {"alpha": ("example.com",), "beta": ("beta.example.com",)}
OPEN = CommonOptions(CLUSTER, HOME)
GUARDED = CommonOptions(CLUSTER, HOME, hostnames=POLICY)
REFUSED = {"DomainConflict", "HostnameNotAllowed", "InvalidAnnotation", "NoHostname", "UnsupportedRoute"}
ACCESS = {"accessApp": "true", "allowEmails": "victim@example.com"}


async def victim(world: AcceptanceWorld) -> str:
    """Alpha's route is published. Return what is at Cloudflare."""
    for namespace in ("alpha", "beta"):
        await world.create(world.credential(namespace), world.tenant("main", namespace))
    world.estate.guarded.add(OWNED)
    await world.create(route("kiosk", "alpha", hostname=OWNED, **ACCESS))
    await world.ready("kiosk", namespace="alpha")
    return world.everything()


async def attack(world: AcceptanceWorld, names: list[str], how: str) -> list[str]:
    """Claim names as a hostname of the annotation or of the spec. Return the routes that the server let in."""
    admitted = []
    for number, name in enumerate(names):
        attacker = f"attacker-{number:03}"
        if how == "annotation":
            obj = route(attacker, "beta", hostname=name)
        else:
            obj = route(attacker, "beta", hostname=f"a{number}.beta.example.com,{name}")
        await world.user.create(HTTP_ROUTE, obj)
        admitted.append(attacker)
    await world.elapse(minutes=5)
    return admitted


@pytest.mark.parametrize("how", ["annotation", "second of the annotation"])
@virtual_time
async def test_policy_keeps_every_variant_out(how: str) -> None:
    async with operating(("alpha", "beta"), common=GUARDED) as world:
        before, writes = await victim(world), world.estate.writes
        names = all_variants()[:: 2 if how == "annotation" else 9]
        for attacker in await attack(world, names, how):
            assert world.said(attacker, "beta")[1] in REFUSED, world.annotations(attacker, "beta")
        assert (world.everything(), world.estate.writes) == (before, writes)


@virtual_time
async def test_without_a_policy_another_spelling_is_the_same_name() -> None:
    async with operating(("alpha", "beta"), common=OPEN) as world:
        before, writes = await victim(world), world.estate.writes
        for attacker in await attack(world, [*spellings()][::3], "annotation"):
            assert world.said(attacker, "beta")[1] in REFUSED, world.annotations(attacker, "beta")
        assert (world.everything(), world.estate.writes) == (before, writes)


@virtual_time
async def test_disguise_of_it_is_refused_or_another_name() -> None:
    """Letters of other scripts make names of their own, as IDNA maps them. What is no name at all is refused."""
    async with operating(("alpha", "beta"), common=OPEN) as world:
        await victim(world)
        mine = (world.rule(OWNED), world.records(OWNED), world.application(OWNED))
        for attacker in await attack(world, [*disguises()][::2], "annotation"):
            ready, reason, message = world.said(attacker, "beta")
            assert ready == "True" or reason in {*REFUSED, "ZoneNotFound"}, (reason, message)
        assert (world.rule(OWNED), world.records(OWNED), world.application(OWNED)) == mine
        others = [one["hostname"] for one in world.rules() if one.get("hostname") not in (OWNED, None)]
        assert others
        assert [one["hostname"] for one in world.rules() if "kiosk" in one.get("hostname", "")] == [OWNED]


@virtual_time
async def test_names_around_it_take_nothing_from_it() -> None:
    """Without a policy they may be had; the victim keeps its own rules, records and application, and loses no request."""
    async with operating(("alpha", "beta"), common=OPEN) as world:
        await victim(world)
        mine = (world.rule(OWNED), world.records(OWNED), world.application(OWNED))
        attackers = await attack(world, [*[*lookalikes()][::4], *neighbours()], "annotation")
        assert (world.rule(OWNED), world.records(OWNED), world.application(OWNED)) == mine
        hostnames = [one.get("hostname", "") for one in world.rules()]
        assert "*.example.com" in hostnames
        assert hostnames.index(OWNED) < hostnames.index("*.example.com"), (
            "the wildcard would get its requests"
        )
        for attacker in attackers:
            await world.delete(attacker, "beta")
        await world.gone(*attackers, namespace="beta")
        assert (world.rule(OWNED), world.records(OWNED), world.application(OWNED)) == mine


@pytest.mark.parametrize("common", [GUARDED, OPEN], ids=["with a policy", "without a policy"])
@virtual_time
async def test_later_edit_gets_no_more_than_a_new_route(common: CommonOptions) -> None:
    async with operating(("alpha", "beta"), common=common) as world:
        await victim(world)
        await world.create(route("attacker", "beta", hostname="x.beta.example.com"))
        await world.ready("attacker", namespace="beta")
        before, writes = world.everything(), world.estate.writes
        for name in [*list(spellings())[::8], f"x.beta.example.com,{OWNED}"]:
            await world.annotate("attacker", "beta", hostname=name)
            await world.elapse(seconds=5)
            assert world.said("attacker", "beta")[1] in REFUSED
        assert (world.everything(), world.estate.writes) == (before, writes)


@virtual_time
async def test_name_is_free_only_when_nothing_of_it_is_left() -> None:
    async with operating(("alpha", "beta"), common=OPEN) as world:
        await victim(world)
        await world.create(route("attacker", "beta", hostname=OWNED.upper()))
        await world.says("DomainConflict", "attacker", "beta")
        await world.delete("kiosk", "alpha")
        while world.find(HTTP_ROUTE, Key("alpha", "kiosk")) is not None:
            assert world.said("attacker", "beta")[1] == "DomainConflict"
            await world.elapse(seconds=0.25)
        world.estate.guarded.clear()  # it is the attacker's public name from now on
        await world.ready("attacker", namespace="beta")
        assert world.application(OWNED) is None
