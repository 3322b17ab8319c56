"""A cluster is lost, and its objects are restored into a new one: what they left in the clouds is theirs again, by one flag."""

from __future__ import annotations

from collections import Counter

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.lifecycle.preview import Preview, Verdict
from kubesim.virtual import virtual_time
from tests.recovery.world import HOME, OURS, Clouds, Cluster, cluster, fleet

MARKING = {
    "TagResource",
    "AddTagsToCertificate",
    "POST /accounts/{account}/access/tags",
    "PUT /accounts/{account}/access/apps/{application}",
    "POST /zones/{zone}/dns_records/batch",
}
"""The calls that write marks."""
ROTATION = "POST /accounts/{account}/access/service_tokens/{token}/rotate"


async def _lost(clouds: Clouds, objects: list[JsonObject], common: CommonOptions | None = None) -> str:
    """A cluster in which all objects became ready, and which is gone; its id."""
    async with cluster(clouds, 1, common) as first:
        await first.start()
        await first.apply(*objects)
        await first.ready()
        await first.elapse(minutes=10)
        return first.id


async def _stalled(second: Cluster) -> None:
    """Wait until all objects but LambdaPermissions, whose statements have no mark, report a conflict."""

    def is_over() -> bool:
        told = {name: one for name, one in second.told().items() if not name.startswith("LambdaPermission/")}
        return all(ready == "False" and reason for ready, reason, _ in told.values())

    await second.until(is_over)


async def _rest(clouds: Clouds, second: Cluster, lost: str) -> None:
    """Nothing is written after a restart."""
    clouds.forget_writes()
    await second.start({lost})
    await second.elapse(minutes=30)
    assert not clouds.writes()


async def _story(size: int, *, rests: bool) -> None:
    clouds = Clouds()
    objects = fleet(clouds, size)
    lost = await _lost(clouds, objects)
    before = clouds.contents()
    async with cluster(clouds, 2) as second:
        clouds.forget_writes()
        await second.start()
        await second.apply(*objects)
        await _stalled(second)
        await second.elapse(minutes=2)
        assert not clouds.writes(), "without the flag nothing is touched"
        for name, (_, _, message) in second.unready().items():
            assert "--adopt-from-cluster" in message or name.startswith("Shop/"), f"{name}: {message}"
        await second.stop()

        plan = await second.plan({lost})
        assert not clouds.writes(), "a plan writes nothing"
        _confirm_plan(plan)

        await second.start({lost})
        await second.ready()
        await second.elapse(minutes=10)
        assert clouds.contents() == before, "only marks were written"
        calls = Counter(clouds.writes())
        assert set(calls) - MARKING == {ROTATION}
        assert calls[ROTATION] == size, "the Secrets of service tokens were lost with the cluster"
        assert second.owned_by() == {second.id}
        _confirm_events(second, lost)

        if rests:
            await _rest(clouds, second, lost)
        await second.delete(*(one for one in reversed(objects) if one["kind"] in OURS))
        await second.gone()
        await second.elapse(minutes=10)
    _confirm_clean(clouds)


PLANNED = {
    "DistributionTenant": ("adopt tenant", "adopt CNAME", "tag"),
    "APIGatewayDomain": ("adopt CNAME", "belongs to the object", "tag domain name"),
    "LambdaPermission": ("adopt statements",),
    "HTTPRoute": ("adopt", "write DNS records"),
}
"""What the plan says about each object."""


def _confirm_plan(plan: list[Preview]) -> None:
    """Every object adopts what it had; nothing is created, and nothing goes."""
    assert {one.verdict for one in plan if one.kind in PLANNED} == {Verdict.CHANGES}, plan
    for preview in plan:
        steps = [str(step) for step in preview.steps]
        for words in PLANNED.get(preview.kind, ()):
            assert any(step.startswith(words) or words in step for step in steps), (preview.key, steps)
        assert not any(
            step.startswith(("create", "delete", "disable", "remove", "request")) for step in steps
        )


def _confirm_events(second: Cluster, lost: str) -> None:
    """Each takeover is an event that names the lost cluster."""
    notes = second.events("Adopted")
    for kind in ("tenant ", "domain name ", "certificate ", "statements ", "Access application "):
        assert any(
            note.startswith(f"adopted {kind}") and (lost in note or "lost cluster" in note) for note in notes
        ), kind
    assert any("service token" in note for note in notes)


def _confirm_clean(clouds: Clouds) -> None:
    left = clouds.contents()
    assert [one["imported"] for one in left.pop("certificates")] == [True]
    assert all("SOA" in one or "NS" in one for one in left.pop("records"))
    assert not any(left.values()), left


@virtual_time
async def test_objects_of_a_lost_cluster_are_recovered_by_one_flag() -> None:
    await _story(1, rests=False)


@virtual_time
async def test_fleet_of_fifty_objects_is_recovered_and_can_be_deleted() -> None:
    await _story(5, rests=True)


@virtual_time
async def test_objects_with_new_uids_in_a_cluster_of_the_same_id_are_recovered_by_the_flag() -> None:
    clouds, common = Clouds(), CommonOptions("blue")
    objects = fleet(clouds)
    assert await _lost(clouds, objects, common) == "blue"
    before = clouds.contents()
    async with cluster(clouds, 2, common) as second:
        clouds.forget_writes()
        await second.start()
        await second.apply(*objects)
        await second.until(lambda: all(reason for _, reason, _ in second.told().values()))
        await second.elapse(minutes=10)
        assert not clouds.writes()
        unready = second.unready()
        assert {name for name in unready if not name.startswith("Shop/")} == {
            "DistributionTenant/plain-0",
            "DistributionTenant/managed-0",
            "DistributionTenant/shop-0",
            "APIGatewayDomain/create-0",
            "APIGatewayDomain/discover-0",
            "HTTPRoute/programs-0",
        }, "marks of Cloudflare have no uid, so that those of the same cluster are still ours"
        for name, (_, _, message) in unready.items():
            assert "--adopt-from-cluster blue" in message or name.startswith("Shop/"), f"{name}: {message}"
        await second.start({"blue"})
        await second.ready()
        assert clouds.contents() == before
        assert set(clouds.writes()) - MARKING == {ROTATION}
        await second.delete(*(one for one in reversed(objects) if one["kind"] in OURS))
        await second.gone()
        await second.elapse(minutes=10)
    _confirm_clean(clouds)


@pytest.mark.parametrize("has_secrets", [True, False], ids=["with Secrets", "without Secrets"])
@virtual_time
async def test_objects_that_are_restored_with_status_and_finalizers_are_recovered(has_secrets: bool) -> None:
    clouds = Clouds()
    objects = fleet(clouds)
    async with cluster(clouds, 1) as first:
        await first.start()
        await first.apply(*objects)
        await first.ready()
        lost = first.id
        backup = _backup(first, "programs-0-cfzt-service-token" if has_secrets else "")
    before = clouds.contents()
    async with cluster(clouds, 2) as second:
        clouds.forget_writes()
        await second.start({lost})
        await second.apply(*(one for one in objects if one["kind"] not in (*OURS, "Secret")))
        await second.restore(*backup)
        await second.until(lambda: second.owned_by() == {second.id})
        await second.elapse(minutes=30)
        await second.ready()
        assert clouds.contents() == before
        assert set(clouds.writes()) - MARKING == (set() if has_secrets else {ROTATION})
        assert sum(note.startswith("adopted tenant ") for note in second.events("Adopted")) == 3
        await second.delete(*(one for one in reversed(objects) if one["kind"] in OURS))
        await second.gone()
        await second.elapse(minutes=10)
    _confirm_clean(clouds)


def _backup(first: Cluster, secret: str) -> list[JsonObject]:
    """What Velero restores, in its order: Secrets and ConfigMaps come before objects of other kinds."""
    found = first.snapshot("Secret", "ConfigMap", *OURS, status=True)
    names = {"cloudflare", secret}
    return [
        one
        for one in found
        if (one["kind"] != "Secret" or one["metadata"]["name"] in names)
        and (one["kind"] != "ConfigMap" or one["metadata"]["namespace"] == HOME)
    ]


@virtual_time
async def test_states_that_are_restored_before_their_routes_withdraw_nothing() -> None:
    clouds = Clouds()
    objects = fleet(clouds)
    async with cluster(clouds, 1) as first:
        await first.start()
        await first.apply(*objects)
        await first.ready()
        lost, backup = first.id, _backup(first, "")
        await first.elapse(hours=1)
    before = clouds.contents()
    early = [one for one in backup if one["kind"] in ("Secret", "ConfigMap")]
    async with cluster(clouds, 2) as second:
        clouds.forget_writes()
        await second.start({lost})
        await second.apply(*(one for one in objects if one["kind"] == "CloudflareZeroTrustTenant"))
        await second.restore(*early)
        await second.elapse(hours=2)
        assert not clouds.writes()
        assert len(second.events("RestoredState")) == 3
        await second.apply(*(one for one in objects if one["kind"] == "ResourceGraphDefinition"))
        await second.restore(*(one for one in backup if one not in early))
        await second.until(lambda: second.owned_by() == {second.id})
        await second.elapse(minutes=30)
        await second.ready()
        assert clouds.contents() == before


@virtual_time
async def test_copies_in_a_second_live_cluster_can_be_deleted_without_harm() -> None:
    """Everything but statements, which have no mark: a copy of a LambdaPermission cannot be told from the original."""
    clouds = Clouds()
    objects = fleet(clouds)
    async with cluster(clouds, 1) as first, cluster(clouds, 2) as second:
        await first.start()
        await first.apply(*objects)
        await first.ready()
        backup = [one for one in _backup(first, "") if one["kind"] != "LambdaPermission"]
        await first.elapse(hours=1)
        before = clouds.contents(marks=True)
        await second.apply(*(one for one in objects if one["kind"] not in (*OURS, "Secret")))
        await second.start()
        await second.restore(*backup)
        await second.elapse(minutes=30)
        assert clouds.contents(marks=True) == before
        await second.delete(
            *(one for one in reversed(backup) if one["kind"] in OURS and one["metadata"]["name"] != "shop-0")
        )
        await second.delete(*(one for one in backup if one["kind"] == "Shop"))
        await second.gone()
        await second.elapse(minutes=30)
        assert clouds.contents(marks=True) == before
        assert not first.unready()


@virtual_time
async def test_marks_of_a_third_cluster_stay_foreign() -> None:
    clouds = Clouds()
    objects = fleet(clouds)
    await _lost(clouds, objects)
    before = clouds.contents(marks=True)
    async with cluster(clouds, 2) as second:
        await second.start({"another-cluster", second.id})
        await second.apply(*(one for one in objects if one["kind"] != "LambdaPermission"))
        await _stalled(second)
        await second.elapse(minutes=10)
        assert clouds.contents(marks=True) == before
        await second.delete(
            *(one for one in reversed(objects) if one["kind"] in OURS and one["kind"] != "LambdaPermission")
        )
        await second.gone()
        assert clouds.contents(marks=True) == before, "what was never adopted stays"


@virtual_time
async def test_routes_are_recovered_by_the_tag_of_the_lost_cluster() -> None:
    """Its id may be known to nobody: marks at Cloudflare have a hash only."""
    clouds = Clouds()
    objects = [
        one for one in fleet(clouds) if one["kind"] in ("Secret", "CloudflareZeroTrustTenant", "HTTPRoute")
    ]
    await _lost(clouds, objects)
    before = clouds.contents()
    async with cluster(clouds, 2) as second:
        await second.start()
        await second.apply(*objects)
        await _stalled(second)
        named = {message.rpartition(" ")[2] for _, _, message in second.unready().values()}
        assert len(named) == 1, "every message names the same tag"
        await second.start(named)
        await second.ready()
        assert clouds.contents() == before


@virtual_time
async def test_objects_of_other_names_inherit_nothing() -> None:
    clouds = Clouds()
    objects = fleet(clouds)
    lost = await _lost(clouds, objects)
    before = clouds.contents(marks=True)
    renamed = [
        {**one, "metadata": {**one["metadata"], "name": f"new-{one['metadata']['name']}"}}
        for one in objects
        if one["kind"] in ("APIGatewayDomain", "HTTPRoute") and "programs" not in one["metadata"]["name"]
    ]
    async with cluster(clouds, 2) as second:
        await second.start({lost})
        await second.apply(
            *(one for one in objects if one["kind"] in ("Secret", "CloudflareZeroTrustTenant")), *renamed
        )
        await _stalled(second)
        await second.elapse(minutes=10)
        assert clouds.contents(marks=True) == before
