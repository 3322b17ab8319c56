"""Writes that overtake each other while admission webhooks take their time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.webhook import AdmissionRequest
from packages.kubesim.tests.plane.cluster import CONFIG_MAPS, config_map, exists, names

Meanwhile = Callable[[], Awaitable[object]]


class SlowWebhooks:
    """Consent to everything, but not before something else has happened."""

    def __init__(self, *meanwhile: Meanwhile) -> None:
        self._meanwhile = list(meanwhile)

    def may_mutate(self) -> bool:
        return False

    def may_validate(self) -> bool:
        return True

    async def validate(self, _request: AdmissionRequest) -> list[str]:
        await asyncio.sleep(0)
        if self._meanwhile:
            await self._meanwhile.pop(0)()
        return []

    async def close(self) -> None:
        pass


@pytest.fixture
def delay(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(*meanwhile: Meanwhile) -> None:
        monkeypatch.setattr(plane.cluster.admission, "webhooks", SlowWebhooks(*meanwhile))

    return install


Delay = Callable[..., None]


async def create(plane: Plane, name: str, **data: str) -> JsonObject:
    return await plane.client.create(CONFIG_MAPS, config_map(name, **data))


async def test_overtaken_patches_are_computed_again(plane: Plane, delay: Delay) -> None:
    await create(plane, "a")
    delay()
    patches = [plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {f"k{number}": "v"}}) for number in range(5)]
    await asyncio.gather(*patches)
    assert len((await plane.client.get(f"{CONFIG_MAPS}/a"))["data"]) == 5


async def test_overtaken_replacement_that_insists_on_a_version_conflicts(plane: Plane, delay: Delay) -> None:
    created = await create(plane, "a", k="1")
    delay(lambda: plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "2"}}))
    with pytest.raises(StatusError, match="the object has been modified") as refused:
        await plane.client.replace(f"{CONFIG_MAPS}/a", {**created, "data": {"k": "3"}})
    assert refused.value.code == 409
    assert (await plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "2"}


async def test_overtaken_replacement_of_any_version_wins(plane: Plane, delay: Delay) -> None:
    await create(plane, "a", k="1")
    delay(lambda: plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "2"}}))
    await plane.client.replace(f"{CONFIG_MAPS}/a", config_map("a", k="3"))
    assert (await plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "3"}


async def test_patch_of_an_object_that_vanishes_is_not_found(plane: Plane, delay: Delay) -> None:
    await create(plane, "a")
    delay(lambda: plane.client.delete(f"{CONFIG_MAPS}/a"))
    with pytest.raises(StatusError) as refused:
        await plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    assert refused.value.code == 404


async def test_creation_that_was_overtaken_finds_the_name_taken(plane: Plane, delay: Delay) -> None:
    delay(lambda: create(plane, "a", k="quicker"))
    with pytest.raises(StatusError) as refused:
        await create(plane, "a", k="slower")
    assert refused.value.reason == "AlreadyExists"
    assert (await plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "quicker"}


async def test_two_deletions_of_one_collection_do_not_get_in_each_others_way(
    plane: Plane, delay: Delay
) -> None:
    for name in "abc":
        await create(plane, name)
    delay()
    await asyncio.gather(*(plane.client.delete(CONFIG_MAPS) for _ in range(2)))
    assert names(await plane.client.get(CONFIG_MAPS)) == []


@pytest.mark.parametrize("condition", ["uid", "resourceVersion"])
async def test_deletion_spares_another_object_of_the_same_name(
    plane: Plane, delay: Delay, condition: str
) -> None:
    created = await create(plane, "a", k="old")

    async def recreate() -> None:
        await plane.client.delete(f"{CONFIG_MAPS}/a")
        await create(plane, "a", k="new")

    delay(recreate)
    options = {"preconditions": {condition: created["metadata"][condition]}}
    with pytest.raises(StatusError, match="in the precondition") as refused:
        await plane.client.delete(f"{CONFIG_MAPS}/a", options)
    assert refused.value.code == 409
    assert (await plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "new"}


async def test_deletion_of_an_object_that_vanishes_is_not_found(plane: Plane, delay: Delay) -> None:
    await create(plane, "a")
    delay(lambda: plane.client.delete(f"{CONFIG_MAPS}/a"))
    with pytest.raises(StatusError) as refused:
        await plane.client.delete(f"{CONFIG_MAPS}/a")
    assert refused.value.code == 404
    assert not await exists(plane, f"{CONFIG_MAPS}/a")
