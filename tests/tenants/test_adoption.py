"""Orphaning, adopting and foreign things that get in the way: what is not provably ours is never changed or deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import Key
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.faults import error
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

SHOP = "CNAME shop.example.com"
OTHER = Key("default", "other-tenant")


def _untag(scene: Scene, found: Tenant) -> None:
    """Somebody removes the tags of a tenant by hand; that changes no ETag."""
    scene.cloud.cloudfront.tenants.put(found.id, replace(found, tags={}))


# Orphan, then create again


@virtual_time
async def test_orphaned_tenant_bears_no_mark_and_can_be_adopted_again() -> None:
    async with playing() as scene:
        await scene.create(
            tenant(KEY, "shop.example.com", dns=scene.dns(), tags=[{"key": "team", "value": "a"}])
        )
        await scene.ready()
        live, records = scene.aws(), scene.records
        await scene.annotate(deletion_policy="Orphan")
        await scene.delete()
        await scene.gone()
        assert scene.aws().tags == {"team": "a"}
        again = tenant(KEY, "shop.example.com", dns=scene.dns(), tags=[{"key": "team", "value": "a"}])
        again["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        await scene.create(again)
        await scene.ready()
        assert (scene.aws().id, scene.records) == (live.id, records)
        assert scene.aws().tags[f"{TAG_PREFIX}uid"] == scene.object()["metadata"]["uid"]
        await scene.delete()
        await scene.gone()
        assert (scene.names, scene.records) == ([], {})


@virtual_time
async def test_tenant_of_an_object_that_lost_its_finalizer_is_adopted_by_its_namesake() -> None:
    """The mark differs in the uid only; without the annotation the message names it."""
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        live = scene.aws()
        await scene.stage.operator.stop()
        await scene.stage.patch(KIND, KEY, {"metadata": {"finalizers": None}})
        await scene.delete()
        scene.stage.start_operator()
        await scene.create(tenant(KEY, "shop.example.com"))
        told = (await scene.says("Ready", "NameConflict")).message
        assert 'edgekeeper.io/adopt: "true"' in told
        assert scene.aws() == live
        await scene.annotate(adopt="true")
        await scene.ready()
        assert scene.aws().id == live.id


@virtual_time
async def test_tag_removed_by_hand_is_seen_by_a_stalled_object_at_its_next_attempt() -> None:
    async with playing() as scene:
        theirs = {f"{TAG_PREFIX}cluster": "gone", f"{TAG_PREFIX}name": "x", f"{TAG_PREFIX}uid": "1-2"}
        found = scene.estate.make_tenant(KEY.name, "shop.example.com", tags=theirs)
        await scene.elapse(minutes=6)
        obj = tenant(KEY, "shop.example.com")
        obj["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        await scene.create(obj)
        await scene.says("Ready", "NameConflict")
        await scene.elapse(minutes=1)
        _untag(scene, found)
        await scene.elapse(minutes=5, seconds=30)
        assert scene.status()["id"] == found.id


@virtual_time
async def test_orphaning_that_cannot_remove_the_mark_says_so() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        scene.cloud.guard.denied.add("cloudfront:UntagResource")
        await scene.annotate(deletion_policy="Orphan")
        await scene.delete()
        await scene.gone()
        await scene.elapse(seconds=30)
        (note,) = scene.events("Orphaned")
        assert "tags could not be removed" in note


# Records that were there before


@virtual_time
async def test_identical_record_is_adopted_and_goes_with_the_object() -> None:
    async with playing() as scene:
        scene.estate.make_record("shop.example.com", f"{scene.endpoint}.")
        await scene.elapse(minutes=6)
        obj = tenant(KEY, "shop.example.com", dns=scene.dns())
        obj["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        await scene.create(obj)
        await scene.ready()
        await scene.delete()
        await scene.gone()
        assert (scene.names, scene.records) == ([], {})


@virtual_time
async def test_identical_record_without_adoption_stays_and_is_named_in_condition_and_event() -> None:
    async with playing() as scene:
        scene.estate.make_record("shop.example.com", f"{scene.endpoint}.")
        await scene.elapse(minutes=6)
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        told = scene.fact("DNSReady")
        assert told.status == "True"
        assert f"not managed, because it was created outside the operator: {SHOP}" in told.message
        assert 'edgekeeper.io/adopt: "true"' in told.message
        await scene.delete()
        await scene.gone()
        assert (scene.names, list(scene.records)) == ([], [SHOP])
        await scene.elapse(seconds=30)
        (note,) = scene.events("RecordsLeft")
        assert SHOP in note


# A tenant that somebody makes by hand under our name


@pytest.mark.parametrize("tags", [{}, {"team": "shop"}])
@virtual_time
async def test_tenant_made_by_hand_while_records_are_written_outlives_the_object(
    tags: dict[str, str],
) -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.until(lambda: scene.fact("DNSReady").reason in ("DNSRecordCreating", "DNSPropagating"))
        theirs = scene.estate.make_tenant(KEY.name, "by-hand.example.com", tags=tags)
        await scene.says("Ready", "NameConflict")
        await scene.elapse(minutes=10)
        assert "id" not in scene.status()
        await scene.delete()
        await scene.gone()
        assert scene.aws() == theirs
        assert scene.records == {}, "the record that was written for our own tenant is gone"


@virtual_time
async def test_tenant_made_by_hand_while_ours_is_being_deleted_is_not_touched() -> None:
    """Proof is asked for at each step: ours is gone, and what has its name now is another's."""
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        await scene.delete()
        await scene.until(lambda: not scene.aws().enabled)
        scene.estate.lose_tenant(KEY.name)
        theirs = scene.estate.make_tenant(KEY.name, "shop.example.com", enabled=False)
        await scene.gone()
        assert scene.aws() == theirs


@virtual_time
async def test_tenant_that_was_made_by_hand_is_not_deleted_where_tags_are_denied() -> None:
    """Without the right to tag, the status says whose a tenant is; but only one that we have created."""
    async with playing(start=False) as scene:
        scene.cloud.guard.denied.add("cloudfront:TagResource")
        scene.stage.start_operator()
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.until(lambda: scene.fact("DNSReady").reason in ("DNSRecordCreating", "DNSPropagating"))
        theirs = scene.estate.make_tenant(KEY.name, "by-hand.example.com")
        await scene.says("Ready", "NameConflict")
        await scene.delete()
        await scene.gone()
        assert scene.aws() == theirs


# Claims: who serves a domain keeps it


@virtual_time
async def test_older_object_does_not_get_the_domain_that_a_younger_one_serves() -> None:
    async with playing() as scene:
        await scene.create(tenant(OTHER, "old.example.com", dns=scene.dns()))
        await scene.ready(OTHER)
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        before = scene.aws()
        domains = [{"domain": "old.example.com"}, {"domain": "shop.example.com"}]
        await scene.edit(OTHER, domains=domains)
        told = (await scene.says("Ready", "DomainConflict", OTHER)).message
        assert told == f"the domain shop.example.com is served by the tenant of {KEY}"
        await scene.elapse(minutes=30)
        await scene.edit(parameters=None, enabled=False)
        await scene.until(lambda: not scene.aws().enabled)
        await scene.ready()
        assert scene.aws().domains == before.domains
        assert scene.aws(OTHER.name).domains == ("old.example.com",)
        await scene.edit(domains=[{"domain": "new.example.com"}])
        await scene.ready(OTHER)
        assert set(scene.aws(OTHER.name).domains) == {"old.example.com", "shop.example.com"}


# Cleanup


@virtual_time
async def test_absence_of_the_operator_does_not_count_as_failing_cleanup() -> None:
    async with playing(replace(OPTIONS, cleanup_timeout=timedelta(minutes=10))) as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        await scene.stage.operator.stop()
        await scene.delete()
        await scene.elapse(hours=3)
        unavailable = error("ServiceUnavailable", "later", status=503)
        scene.cloud.faults.add(
            unavailable, operation="UpdateDistributionTenant", times=None, until=timedelta(minutes=3)
        )
        scene.stage.start_operator()
        await scene.gone()
        assert scene.names == []
        assert not scene.events("CleanupAbandoned")
