"""Garbage collection: dependents follow their owners, in the order that the deletion asked for."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.controllers.garbage import GarbageCollector
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import CONFIG_MAPS, NAMESPACES, config_map, exists, names, owned


async def create(plane: Plane, name: str, *owners: JsonObject, block: bool = False) -> JsonObject:
    tree = config_map(name)
    return await plane.client.create(CONFIG_MAPS, owned(tree, *owners, block=block) if owners else tree)


async def hold(plane: Plane, name: str, *finalizers: str) -> None:
    await plane.client.merge(f"{CONFIG_MAPS}/{name}", {"metadata": {"finalizers": list(finalizers)}})


async def delete(plane: Plane, name: str, policy: str = "Background") -> None:
    await plane.client.delete(f"{CONFIG_MAPS}/{name}", {"propagationPolicy": policy})
    await plane.settle()


async def present(plane: Plane) -> list[str]:
    await plane.settle()
    return names(await plane.client.get(CONFIG_MAPS))


def collector(plane: Plane) -> GarbageCollector:
    return next(one for one in plane._controllers if isinstance(one, GarbageCollector))


async def test_dependents_follow_their_owner_through_generations(plane: Plane) -> None:
    grandparent = await create(plane, "grandparent")
    parent = await create(plane, "parent", grandparent)
    await create(plane, "child", parent)
    await create(plane, "stranger")
    await delete(plane, "grandparent")
    assert await present(plane) == ["stranger"]


async def test_dependent_stays_while_one_of_its_owners_lives(plane: Plane) -> None:
    one, other = await create(plane, "one"), await create(plane, "other")
    await create(plane, "child", one, other)
    await delete(plane, "one")
    child = await plane.client.get(f"{CONFIG_MAPS}/child")
    assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["other"]
    await delete(plane, "other")
    assert await present(plane) == []


async def test_dependent_of_an_owner_that_never_was_is_garbage(plane: Plane) -> None:
    owner = await create(plane, "owner")
    owner["metadata"]["uid"] = "11111111-2222-4333-8444-555555555555"
    await create(plane, "child", owner)
    assert await present(plane) == ["owner"]


async def test_owner_of_an_unknown_kind_counts_as_alive(plane: Plane) -> None:
    owner = await create(plane, "owner")
    await create(plane, "child", {**owner, "apiVersion": "nobody.example.com/v1", "kind": "Thing"})
    assert await present(plane) == ["child", "owner"]


async def test_cluster_scoped_owner_owns_across_namespaces(plane: Plane) -> None:
    namespace = await plane.client.create(NAMESPACES, {"metadata": {"name": "owner"}})
    await create(plane, "child", {"apiVersion": "v1", "kind": "Namespace", **namespace})
    assert await present(plane) == ["child"]
    await plane.client.delete(f"{NAMESPACES}/owner")
    assert await present(plane) == []


async def test_namespaced_owner_in_another_namespace_is_no_owner(plane: Plane) -> None:
    elsewhere = "/api/v1/namespaces/kube-system/configmaps"
    owner = await plane.client.create(elsewhere, config_map("owner"))
    await create(plane, "child", owner)
    assert await present(plane) == []


async def test_recreated_owner_is_another_owner(plane: Plane) -> None:
    owner = await create(plane, "owner")
    await create(plane, "child", owner)
    await hold(plane, "child", "example.com/hold")
    await delete(plane, "owner")
    await create(plane, "owner")
    await hold(plane, "child")
    assert await present(plane) == ["owner"]


async def test_background_deletion_waits_for_nobody(plane: Plane) -> None:
    owner = await create(plane, "owner")
    await create(plane, "child", owner, block=True)
    await hold(plane, "child", "example.com/hold")
    await delete(plane, "owner")
    assert await present(plane) == ["child"]
    child = await plane.client.get(f"{CONFIG_MAPS}/child")
    assert "deletionTimestamp" in child["metadata"]


async def test_foreground_deletion_waits_for_dependents_that_block(plane: Plane) -> None:
    owner = await create(plane, "owner")
    await create(plane, "child", owner, block=True)
    await hold(plane, "child", "example.com/hold")
    await delete(plane, "owner", "Foreground")
    assert await present(plane) == ["child", "owner"]
    waiting = (await plane.client.get(f"{CONFIG_MAPS}/owner"))["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"]
    await hold(plane, "child")
    assert await present(plane) == []


async def test_foreground_deletion_goes_down_to_the_last_generation(plane: Plane) -> None:
    owner = await create(plane, "owner")
    child = await create(plane, "child", owner, block=True)
    await create(plane, "grandchild", child, block=True)
    await hold(plane, "grandchild", "example.com/hold")
    await delete(plane, "owner", "Foreground")
    assert await present(plane) == ["child", "grandchild", "owner"]
    await hold(plane, "grandchild")
    assert await present(plane) == []


async def test_foreground_deletion_does_not_wait_for_dependents_that_do_not_block(plane: Plane) -> None:
    owner = await create(plane, "owner")
    await create(plane, "child", owner)
    await hold(plane, "child", "example.com/hold")
    await delete(plane, "owner", "Foreground")
    assert await present(plane) == ["child"]


@pytest.mark.parametrize("block", [True, False], ids=["blocking", "not-blocking"])
async def test_foreground_deletion_spares_a_dependent_with_another_owner(plane: Plane, block: bool) -> None:
    one, other = await create(plane, "one"), await create(plane, "other")
    await create(plane, "child", one, other, block=block)
    await delete(plane, "one", "Foreground")
    assert await present(plane) == ["child", "other"]
    child = await plane.client.get(f"{CONFIG_MAPS}/child")
    assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["other"]


async def test_foreground_deletion_without_dependents_is_over_at_once(plane: Plane) -> None:
    await create(plane, "owner")
    await delete(plane, "owner", "Foreground")
    assert await present(plane) == []


async def test_orphaned_dependents_forget_their_owner_and_stay(plane: Plane) -> None:
    owner, other = await create(plane, "owner"), await create(plane, "other")
    await create(plane, "child", owner)
    await create(plane, "shared", owner, other)
    await delete(plane, "owner", "Orphan")
    assert await present(plane) == ["child", "other", "shared"]
    child = await plane.client.get(f"{CONFIG_MAPS}/child")
    shared = await plane.client.get(f"{CONFIG_MAPS}/shared")
    assert "ownerReferences" not in child["metadata"]
    assert [one["name"] for one in shared["metadata"]["ownerReferences"]] == ["other"]


async def test_owner_that_is_orphaned_later_lets_its_dependents_go(plane: Plane) -> None:
    owner = await create(plane, "owner")
    await create(plane, "child", owner, block=True)
    await hold(plane, "owner", "example.com/hold")
    await delete(plane, "owner", "Orphan")
    await hold(plane, "owner")
    assert await present(plane) == ["child"]


async def test_adopted_object_follows_its_new_owner(plane: Plane) -> None:
    owner = await create(plane, "owner")
    child = await create(plane, "child")
    await plane.client.replace(f"{CONFIG_MAPS}/child", owned(child, owner))
    await delete(plane, "owner")
    assert await present(plane) == []


async def test_circle_of_owners_is_no_trap(plane: Plane) -> None:
    one = await create(plane, "one")
    other = await create(plane, "other", one, block=True)
    await plane.client.replace(f"{CONFIG_MAPS}/one", owned(one, other, block=True))
    await delete(plane, "one")
    assert await present(plane) == []


async def test_index_forgets_what_is_gone(plane: Plane) -> None:
    owner = await create(plane, "owner")
    for number in range(5):
        await create(plane, f"child{number}", owner)
    assert len(collector(plane)._owners) == 5
    await delete(plane, "owner")
    assert not await exists(plane, f"{CONFIG_MAPS}/child0")
    assert collector(plane)._owners == {}
    assert collector(plane)._dependents == {}
