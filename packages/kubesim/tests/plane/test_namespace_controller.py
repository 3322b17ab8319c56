"""The end of a namespace: emptied first, and open about what holds it up."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import NAMESPACES, config_map, define, exists, widget

INSIDE = "/api/v1/namespaces/doomed/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/doomed/widgets"


async def furnish(plane: Plane) -> None:
    """A namespace with objects of a built-in and of a custom kind."""
    await define(plane)
    await plane.client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
    await plane.client.create(INSIDE, config_map("a"))
    await plane.client.create(WIDGETS, widget("w"))
    await plane.client.create(
        "/apis/apps/v1/namespaces/doomed/deployments",
        {
            "metadata": {"name": "d"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template()},
        },
    )


def template() -> JsonObject:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_namespace_goes_with_everything_in_it(plane: Plane) -> None:
    await furnish(plane)
    marked = await plane.client.delete(f"{NAMESPACES}/doomed")
    assert marked["status"]["phase"] == "Terminating"
    assert "deletionGracePeriodSeconds" not in marked["metadata"]
    await plane.settle()
    for target in (f"{NAMESPACES}/doomed", f"{INSIDE}/a", f"{WIDGETS}/w"):
        assert not await exists(plane, target)
    assert not any(key[0] == "doomed" for collection in plane.store.collections() for key in collection.items)


async def test_other_namespaces_are_left_alone(plane: Plane) -> None:
    await plane.client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
    await plane.client.create("/api/v1/namespaces/default/configmaps", config_map("kept"))
    await plane.client.delete(f"{NAMESPACES}/doomed")
    await plane.settle()
    assert await exists(plane, "/api/v1/namespaces/default/configmaps/kept")


async def test_namespace_says_what_it_waits_for_and_goes_when_that_is_gone(plane: Plane) -> None:
    await plane.client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await plane.client.create(INSIDE, held)
    await plane.client.delete(f"{NAMESPACES}/doomed")
    await plane.settle()
    status = (await plane.client.get(f"{NAMESPACES}/doomed"))["status"]
    told = {one["type"]: one["message"] for one in status["conditions"] if one["status"] == "True"}
    assert "1 resource instances" in told["NamespaceContentRemaining"]
    assert told["NamespaceFinalizersRemaining"].endswith("example.com/hold in 1 resource instances")
    await plane.client.merge(f"{INSIDE}/held", {"metadata": {"finalizers": None}})
    await plane.settle()
    assert not await exists(plane, f"{NAMESPACES}/doomed")


async def test_nothing_new_is_created_in_a_terminating_namespace(plane: Plane) -> None:
    await plane.client.create(
        NAMESPACES, {"metadata": {"name": "doomed", "finalizers": ["example.com/hold"]}}
    )
    await plane.client.create(INSIDE, config_map("a"))
    await plane.client.delete(f"{NAMESPACES}/doomed")
    with pytest.raises(StatusError, match="because it is being terminated") as refused:
        await plane.client.create(INSIDE, config_map("b"))
    assert refused.value.code == 403
    assert refused.value.details is not None
    assert refused.value.details["causes"][0]["reason"] == "NamespaceTerminating"
    await plane.settle()
    assert not await exists(plane, f"{INSIDE}/a")
    assert await exists(plane, f"{NAMESPACES}/doomed")
    await plane.client.merge(f"{NAMESPACES}/doomed", {"metadata": {"finalizers": None}})
    await plane.settle()
    assert not await exists(plane, f"{NAMESPACES}/doomed")


async def test_foreign_finalizer_of_the_spec_keeps_a_namespace(plane: Plane) -> None:
    spec = {"finalizers": ["kubernetes", "example.com/spec"]}
    await plane.client.create(NAMESPACES, {"metadata": {"name": "doomed"}, "spec": spec})
    await plane.client.delete(f"{NAMESPACES}/doomed")
    await plane.settle()
    left = await plane.client.get(f"{NAMESPACES}/doomed")
    assert left["spec"]["finalizers"] == ["example.com/spec"]
    await plane.client.replace(f"{NAMESPACES}/doomed/finalize", {**left, "spec": {}})
    assert not await exists(plane, f"{NAMESPACES}/doomed")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_namespaces_of_the_cluster_cannot_be_deleted(plane: Plane, name: str) -> None:
    with pytest.raises(StatusError, match="this namespace may not be deleted") as refused:
        await plane.client.delete(f"{NAMESPACES}/{name}")
    assert refused.value.code == 403


async def test_nothing_is_created_in_a_namespace_that_is_not_there(plane: Plane) -> None:
    with pytest.raises(StatusError, match='namespaces "nowhere" not found') as refused:
        await plane.client.create("/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    assert refused.value.code == 404


async def test_namespace_of_the_same_name_can_be_created_again(plane: Plane) -> None:
    for _ in range(3):
        await plane.client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
        await plane.client.create(INSIDE, config_map("a"))
        await plane.client.delete(f"{NAMESPACES}/doomed")
        await plane.settle()
    assert not await exists(plane, f"{NAMESPACES}/doomed")
