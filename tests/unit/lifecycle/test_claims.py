"""Who has a hostname or a name within the cluster: whose it provably is in the cloud, else the oldest of any kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekeeper.core.errors import Retry
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.lifecycle.claims import HOSTNAME, Claim, ClaimSource, KindObject, Rival
from tests.unit.lifecycle.kinds import (
    FIRST,
    ROUTE,
    SECOND,
    SHOP,
    SHOP_NAME,
    THIRD,
    Register,
    build,
    hostnames_of,
    register_of,
)

ELDER = build(SHOP, "shop", "shop.io")
SHOP_IO = Claim(HOSTNAME, "shop.io")


def _oldest(register: Register, obj: KindObject) -> list[tuple[str, str, Key]]:
    """What an object has to leave to an older one, as long as nothing in the cloud proves otherwise."""
    contests = register.claims.contests(obj)
    oldest = [(*contest.claim, contest.claimants[0].key) for contest in contests]
    return [claim for claim in oldest if claim[2] != obj.key]


def _refused(obj: KindObject) -> KindObject:
    """The same object, with hostnames that it may not have."""
    return replace(obj, tree={**obj.tree, "spec": {**obj.tree["spec"], "refused": True}})


@pytest.mark.parametrize(
    ("younger", "lost"),
    [
        pytest.param(build(SHOP, "other", "other.io", since=SECOND), [], id="nothing in common"),
        pytest.param(
            build(SHOP, "other", "SHOP.io.", since=SECOND), [(HOSTNAME, "shop.io", ELDER.key)], id="hostname"
        ),
        pytest.param(
            build(SHOP, "shop", "other.io", since=SECOND, namespace="b"),
            [(SHOP_NAME, "shop", ELDER.key)],
            id="name",
        ),
        pytest.param(
            build(SHOP, "shop", "shop.io", since=SECOND, namespace="b"),
            [(SHOP_NAME, "shop", ELDER.key), (HOSTNAME, "shop.io", ELDER.key)],
            id="both",
        ),
        pytest.param(
            build(SHOP, "other", "*.shop.io", since=SECOND), [], id="a wildcard is another hostname"
        ),
        pytest.param(
            build(ROUTE, "route", "shop.io", since=SECOND),
            [(HOSTNAME, "shop.io", ELDER.key)],
            id="hostname of an object of another kind",
        ),
        pytest.param(
            build(ROUTE, "route", "other.io", "shop", since=SECOND),
            [],
            id="scopes of other kinds do not count",
        ),
    ],
)
def test_older_object_comes_first(younger: KindObject, lost: list[tuple[str, str, Key]]) -> None:
    register = register_of(ELDER, younger)
    assert _oldest(register, younger) == lost
    assert _oldest(register, ELDER) == []


@pytest.mark.parametrize("kind", [SHOP, ROUTE])
def test_of_two_of_the_same_second_exactly_one_comes_first(kind: Kind) -> None:
    one, two = build(SHOP, "one", "shop.io"), build(kind, "two", "shop.io")
    register = register_of(one, two)
    assert [bool(_oldest(register, obj)) for obj in (one, two)] == [False, True]


def test_contest_lists_objects_of_all_kinds_oldest_first() -> None:
    youngest = build(SHOP, "c", "shop.io", since=THIRD)
    middle = build(ROUTE, "b", "shop.io", since=SECOND)
    oldest = build(ROUTE, "a", "shop.io", since=FIRST)
    register = register_of(youngest, middle, oldest)
    for obj in (youngest, middle, oldest):
        (contest,) = register.claims.contests(obj)
        assert contest.claim == SHOP_IO
        assert [(each.kind, each.key.name) for each in contest.claimants] == [
            (ROUTE, "a"),
            (ROUTE, "b"),
            (SHOP, "c"),
        ]


def test_objects_of_different_kinds_with_the_same_name_are_different_objects() -> None:
    shop, route = build(SHOP, "x", "shop.io"), build(ROUTE, "x", "shop.io", since=SECOND)
    register = register_of(shop, route)
    (contest,) = register.claims.contests(route)
    assert [each.kind for each in contest.claimants] == [SHOP, ROUTE]
    assert not contest.claimants[0].is_same(route)


def test_odd_objects_claim_nothing_and_disturb_nobody() -> None:
    odd = build(SHOP, "odd", 7, None, ["x"])
    assert register_of(odd, ELDER).claims.contests(odd) == []


@pytest.mark.parametrize("kind", [SHOP, ROUTE])
def test_object_that_may_not_claim_keeps_nobody_waiting(kind: Kind) -> None:
    squatter = build(kind, "shop", "shop.io", namespace="b")
    owner = build(SHOP, "shop", "shop.io", since=SECOND)
    neighbour = build(SHOP, "other", "shop.io", since=THIRD)
    register = register_of(_refused(squatter), owner, neighbour)
    assert _oldest(register, owner) == []
    assert _oldest(register, neighbour) == [(HOSTNAME, "shop.io", owner.key)]
    assert _oldest(register_of(squatter, owner), owner) != []


def test_older_claimants_are_of_any_kind_and_may_claim() -> None:
    own = build(SHOP, "own", "y.io", since=SECOND, namespace="b")
    route = build(ROUTE, "route", "x.io")
    refused = _refused(build(ROUTE, "refused", "v.io"))
    younger = build(SHOP, "younger", "z.io", since=THIRD)
    register = register_of(ELDER, own, route, refused, younger)
    asked = [Claim(HOSTNAME, name) for name in ("shop.io", "x.io", "v.io", "z.io", "y.io")]
    assert register.claims.older_claimants(own, asked) == (
        Rival(HOSTNAME, "shop.io", "a/shop"),
        Rival(HOSTNAME, "x.io", "httproute a/route", is_same_kind=False),
    )


# The better right


SHOP_OBJECT = build(SHOP, "shop", "shop.io")
ROUTE_OBJECT = build(ROUTE, "route", "shop.io", since=SECOND)


async def test_oldest_has_the_better_right_where_nothing_is_proven() -> None:
    register = register_of(SHOP_OBJECT, ROUTE_OBJECT)
    rival = Rival(HOSTNAME, "shop.io", "shop a/shop", is_same_kind=False)
    assert await register.claims.rivals(ROUTE_OBJECT) == (rival,)
    assert await register.claims.rivals(SHOP_OBJECT) == ()


async def test_object_that_provably_has_it_wins_over_an_older_one_of_another_kind() -> None:
    register = register_of(SHOP_OBJECT, ROUTE_OBJECT)
    register.in_cloud[SHOP_IO] = "uid-a-route"
    rival = Rival(HOSTNAME, "shop.io", "httproute a/route", holds=True, is_same_kind=False)
    assert await register.claims.rivals(SHOP_OBJECT) == (rival,)
    assert await register.claims.rivals(ROUTE_OBJECT) == ()


async def test_rival_of_the_same_kind_is_named_without_it() -> None:
    younger = build(SHOP, "other", "shop.io", since=SECOND)
    register = register_of(SHOP_OBJECT, younger)
    assert await register.claims.rivals(younger) == (Rival(HOSTNAME, "shop.io", "a/shop"),)
    register.in_cloud[SHOP_IO] = "uid-a-other"
    assert await register.claims.rivals(SHOP_OBJECT) == (Rival(HOSTNAME, "shop.io", "a/other", holds=True),)


async def test_of_several_that_provably_have_it_the_oldest_wins() -> None:
    """As one that serves a hostname in each of two clouds."""
    twin = replace(ROUTE_OBJECT, tree={**ROUTE_OBJECT.tree, "metadata": {**ROUTE_OBJECT.tree["metadata"]}})
    twin.tree["metadata"]["uid"] = SHOP_OBJECT.tree["metadata"]["uid"]
    register = register_of(SHOP_OBJECT, twin)
    register.in_cloud[SHOP_IO] = "uid-a-shop"
    assert await register.claims.rivals(SHOP_OBJECT) == ()
    (rival,) = await register.claims.rivals(twin)
    assert rival.holder == "shop a/shop"


async def test_cloud_is_asked_once_for_each_kind_in_a_contest_and_not_without_one() -> None:
    others = [build(SHOP, f"other-{number}", "shop.io", since=SECOND) for number in range(5)]
    register = register_of(SHOP_OBJECT, *others, ROUTE_OBJECT)
    await register.claims.rivals(SHOP_OBJECT)
    assert register.lookups == [(SHOP, SHOP_IO), (ROUTE, SHOP_IO)]
    register.lookups.clear()
    alone = register_of(SHOP_OBJECT)
    await alone.claims.rivals(SHOP_OBJECT)
    assert alone.lookups == []


async def test_there_is_no_conclusion_while_a_proof_cannot_be_had() -> None:
    register = register_of(SHOP_OBJECT, ROUTE_OBJECT)
    register.is_cloud_down = True
    with pytest.raises(Retry):
        await register.claims.rivals(SHOP_OBJECT)


# Stores


@pytest.mark.parametrize("synced", [SHOP, ROUTE])
def test_nothing_is_concluded_while_objects_of_a_kind_are_unknown(synced: Kind) -> None:
    register = Register()
    register.put(SHOP_OBJECT)
    register.sync([synced])
    with pytest.raises(NotSyncedError):
        register.claims.contests(SHOP_OBJECT)
    with pytest.raises(NotSyncedError):
        register.claims.older_claimants(SHOP_OBJECT, [SHOP_IO])
    register.sync()
    assert register.claims.contests(SHOP_OBJECT) == []


def test_kind_that_is_not_followed_claims_nothing() -> None:
    register = register_of(SHOP_OBJECT, ROUTE_OBJECT)
    register.claims.objects.follow(SHOP, ())
    assert register.claims.contests(ROUTE_OBJECT) == []
    register.claims.objects.follow(SHOP, [register.stores[SHOP]])
    assert _oldest(register, ROUTE_OBJECT) == [(HOSTNAME, "shop.io", SHOP_OBJECT.key)]


def test_kind_is_registered_once() -> None:
    register = Register()
    with pytest.raises(ValueError, match=r"shops\.example\.com already have an index 'hostname'"):
        register.claims.register(ClaimSource(SHOP, {HOSTNAME: hostnames_of}))
