"""S-11: neither finalizers nor labels nor a status that is forged to the letter make anything somebody else's."""

from __future__ import annotations

from typing import Any

from edgekeeper.api.cloudfront import FINALIZER, DistributionTenantSpec
from edgekeeper.controllers.cloudfront.desired import tags_fingerprint
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX, Owner
from edgekeeper.kube.kinds import Key
from kubesim.aws.faults import error
from kubesim.virtual import virtual_time
from tests.security.forgery import ATTACKER, KIOSK, LATER, STALL, VICTIM, Holdings, entry, forge, two_teams
from tests.tenants.scene import Scene
from tests.tenants.system import CLUSTER, tenant
from tests.tenants.test_rights import FEWEST

LEGACY, OLD = Key("beta", "legacy"), "legacy.example.com"


async def gone(scene: Scene, key: Key) -> None:
    await scene.delete(key)
    await scene.gone(key)


async def set_finalizers(scene: Scene, key: Key, *names: str) -> None:
    await scene.stage.patch(KIND, key, {"metadata": {"finalizers": list(names)}})


@virtual_time
async def test_finalizer_that_was_removed_comes_back() -> None:
    async with two_teams() as scene:
        before = Holdings.of(scene)
        await set_finalizers(scene, ATTACKER)
        await scene.until(lambda: scene.object(ATTACKER)["metadata"].get("finalizers") == [FINALIZER])
        await scene.elapse(**LATER)
        before.confirm(scene)


@virtual_time
async def test_object_that_escaped_its_finalizer_leaves_a_tenant_that_no_other_object_gets() -> None:
    async with two_teams() as scene:
        before = Holdings.of(scene)
        await scene.stage.operator.stop()
        await scene.delete(ATTACKER)
        await set_finalizers(scene, ATTACKER)
        assert scene.find(ATTACKER) is None
        scene.stage.start_operator()
        await scene.elapse(**LATER)
        before.confirm(scene)
        other = Key(VICTIM.namespace, ATTACKER.name)
        obj = tenant(other, "other.example.com", dns=scene.dns())
        obj["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        await scene.create(obj)
        assert "another object" in (await scene.says("Ready", "NameConflict", other)).message
        await gone(scene, other)
        before.confirm(scene)


@virtual_time
async def test_labels_and_annotations_prove_nothing() -> None:
    """What is written on an object is its user's; nothing of it says whose a tenant is."""
    async with two_teams() as scene:
        before = Holdings.of(scene)
        marks = Owner(CLUSTER, *VICTIM, scene.object(VICTIM)["metadata"]["uid"]).tags()
        known = {f"{TAG_PREFIX}id": scene.aws(VICTIM.name).id, "edgekeeper.io/deletion-policy": "delete"}
        forged: JsonObject = {"labels": marks, "annotations": {**marks, **known}}
        await scene.stage.patch(KIND, ATTACKER, {"metadata": forged})
        await scene.elapse(**LATER)
        before.confirm(scene)
        await gone(scene, ATTACKER)
        assert scene.names == [VICTIM.name]
        assert list(scene.records) == [f"CNAME {KIOSK}"]


def as_if_ours(scene: Scene, key: Key) -> JsonObject:
    """The status that an object would have if the tenant of its name were its own, in every detail."""
    live, obj = scene.aws(key.name), scene.object(key)
    owner = Owner(CLUSTER, key.namespace, key.name, obj["metadata"]["uid"])
    spec = DistributionTenantSpec(live.distribution, [])
    return {
        "id": live.id,
        "arn": live.arn,
        "eTag": live.etag,
        "observedGeneration": obj["metadata"]["generation"],
        "tagsFingerprint": tags_fingerprint(spec, owner),
        "dnsTarget": scene.endpoint,
        "inventory": [entry(scene, domain) for domain in live.domains],
    }


async def anothers(scene: Scene, **spec: Any) -> None:
    """A tenant of another cluster, with its record, and an object of the same name."""
    tags = Owner("elsewhere", *LEGACY, "1-2").tags()
    scene.estate.make_tenant(LEGACY.name, OLD, tags=tags)
    scene.estate.make_record(OLD, f"{scene.endpoint}.")
    await scene.elapse(**LATER)
    await scene.create(tenant(LEGACY, "mine.example.com", **spec))
    await scene.says("Ready", "NameConflict", LEGACY)


@virtual_time
async def test_status_that_says_everything_right_does_not_make_anothers_tenant_ours() -> None:
    """Everything in a status can be computed by whoever may write it; the tags of the tenant are in AWS."""
    async with two_teams(attacking=False) as scene:
        for spec in ({}, {"dns": scene.dns()}, {"enabled": False}):
            await anothers(scene, **spec)
            before = Holdings.of(scene)
            await forge(scene, LEGACY, **as_if_ours(scene, LEGACY))
            await scene.elapse(**LATER)
            before.confirm(scene, spec)
            assert scene.fact("Ready", LEGACY).reason == "NameConflict", spec
            await forge(scene, LEGACY, **as_if_ours(scene, LEGACY))
            await gone(scene, LEGACY)
            before.confirm(scene, spec)
            scene.estate.lose_record(OLD)
            scene.estate.lose_tenant(LEGACY.name)


@virtual_time
async def test_record_of_an_object_that_has_no_tenant_yet_is_its_own() -> None:
    """Records come first. Until the tenant is there, the objects themselves say whose they are."""
    async with two_teams() as scene:
        slow, name = Key("alpha", "slow"), "slow.example.com"
        full = error("EntityLimitExceeded", status=400)
        scene.cloud.faults.add(full, operation="CreateDistributionTenant", times=1_000)
        await scene.create(tenant(slow, name, dns=scene.dns()))
        await scene.says("Ready", "QuotaExceeded", slow)
        before = Holdings.of(scene)
        forged = [entry(scene, STALL), entry(scene, name)]
        await forge(scene, ATTACKER, inventory=forged)
        await scene.elapse(**LATER)
        before.confirm(scene)
        assert scene.records[f"CNAME {name}"] == scene.endpoint
        await forge(scene, ATTACKER, inventory=forged)
        await gone(scene, ATTACKER)
        assert set(scene.records) == {f"CNAME {KIOSK}", f"CNAME {name}"}
        scene.cloud.faults.clear()
        await scene.elapse(minutes=31)
        await scene.ready(slow)


@virtual_time
async def test_record_of_another_is_safe_from_an_operator_that_may_not_look() -> None:
    """Without the right to list, nobody sees which tenant serves a name; the cluster's objects still say it."""
    async with two_teams() as scene:
        await scene.stage.operator.stop()
        scene.estate.restrict(*FEWEST)
        scene.stage.start_operator()
        await scene.elapse(**LATER)
        before = Holdings.of(scene)
        forged = [entry(scene, STALL), entry(scene, KIOSK)]
        await forge(scene, ATTACKER, inventory=forged)
        await scene.elapse(**LATER)
        before.confirm(scene)
        await forge(scene, ATTACKER, inventory=forged)
        await gone(scene, ATTACKER)
        assert list(scene.records) == [f"CNAME {KIOSK}"]


@virtual_time
async def test_record_of_nobody_we_know_is_not_replaced_because_a_status_says_so() -> None:
    for may_look in (True, False):
        async with two_teams(attacking=False) as scene:
            scene.estate.make_record("taken.example.com", "theirs.example.net.")
            if not may_look:
                await scene.stage.operator.stop()
                scene.estate.restrict(*FEWEST)
                scene.stage.start_operator()
            await scene.elapse(**LATER)
            before = Holdings.of(scene)
            await scene.create(tenant(ATTACKER, "taken.example.com", dns=scene.dns()))
            await scene.says("Ready", "DNSConflict", ATTACKER)
            await forge(scene, ATTACKER, inventory=[entry(scene, "taken.example.com", ttl=60)])
            await scene.elapse(**LATER)
            before.confirm(scene, may_look)
            await gone(scene, ATTACKER)
            before.confirm(scene, may_look)
