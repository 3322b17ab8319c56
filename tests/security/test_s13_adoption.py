"""S-13: the annotation that takes over a tenant takes one that nobody has: not another's, and not one of another name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX, Owner
from edgekeeper.kube.kinds import Key
from kubesim.virtual import virtual_time
from tests.security.forgery import ATTACKER, KIOSK, LATER, VICTIM, Holdings, forge, two_teams
from tests.tenants.scene import Scene
from tests.tenants.system import CLUSTER, OPTIONS, tenant

LEGACY = Key("beta", "legacy")
POLICY = {"alpha": ("example.com",), "beta": ("beta.example.com",)}
GUARDED = replace(OPTIONS, guards=Guards(hostnames=POLICY))

MARKED: dict[str, Mapping[str, str]] = {
    "another-cluster": Owner("elsewhere", "beta", "another-cluster", "1-2").tags(),
    "another-object": Owner(CLUSTER, "alpha", "kiosk", "1-2").tags(),
    "an-earlier-object-elsewhere": Owner("elsewhere", "beta", "an-earlier-object-elsewhere", "1-2").tags(),
    "unreadable": {f"{TAG_PREFIX}uid": "?"},
}
"""Marks of others, by the name of the tenant that bears them."""
MISSPELT = ("yes", "1", " true", "true ", "", "ture")


def adopting(key: Key, *domains: str, value: str = "true", **spec: Any) -> JsonObject:
    obj = tenant(key, *domains, **spec)
    obj["metadata"]["annotations"] = {"edgekeeper.io/adopt": value}
    return obj


async def deleted(scene: Scene, *keys: Key) -> None:
    for key in keys:
        await scene.delete(key)
    for key in keys:
        await scene.gone(key)


@virtual_time
async def test_tenant_that_bears_anothers_mark_is_not_taken_over() -> None:
    async with two_teams(attacking=False) as scene:
        for name, tags in MARKED.items():
            scene.estate.make_tenant(name, f"{name}.example.com", tags=tags)
        await scene.elapse(**LATER)
        before = Holdings.of(scene)
        keys = [Key("beta", name) for name in MARKED]
        for key in keys:
            await scene.create(adopting(key, f"mine-{key.name}.example.com", dns=scene.dns()))
        for key in keys:
            assert "another object" in (await scene.says("Ready", "NameConflict", key)).message
            live = scene.aws(key.name)
            await forge(scene, key, id=live.id, arn=live.arn, eTag=live.etag)
        await scene.elapse(**LATER)
        await deleted(scene, *keys)
        before.confirm(scene)


@virtual_time
async def test_tenant_of_an_object_that_is_there_is_not_taken_over() -> None:
    """Its name in another namespace, and while it bears no mark: the older object has it."""
    async with two_teams(attacking=False) as scene:
        live = scene.aws(VICTIM.name)
        scene.cloud.cloudfront.tenants.put(live.id, replace(live, tags={}))
        before = Holdings.of(scene)
        namesake = Key("beta", VICTIM.name)
        await scene.create(adopting(namesake, "beta.example.com", dns=scene.dns()))
        assert str(VICTIM) in (await scene.says("Ready", "NameConflict", namesake)).message
        await forge(scene, namesake, id=live.id, arn=live.arn, eTag=live.etag)
        await scene.elapse(**LATER)
        before.confirm(scene)
        await deleted(scene, namesake)
        before.confirm(scene)


@virtual_time
async def test_annotation_points_to_nothing_but_the_tenant_of_its_own_name() -> None:
    """An id in the status is no address."""
    async with two_teams(attacking=False) as scene:
        unmanaged = scene.estate.make_tenant("unmanaged", "unmanaged.example.com")
        for theirs in (unmanaged, scene.aws(VICTIM.name)):
            before = Holdings.of(scene)
            await scene.create(adopting(ATTACKER, "stall.example.com", dns=scene.dns()))
            await forge(scene, ATTACKER, id=theirs.id, arn=theirs.arn, eTag=theirs.etag)
            await scene.ready(ATTACKER)
            assert scene.status(ATTACKER)["id"] == scene.aws(ATTACKER.name).id
            await forge(scene, ATTACKER, id=theirs.id, arn=theirs.arn, eTag=theirs.etag)
            await deleted(scene, ATTACKER)
            before.confirm(scene, theirs.name, untouched=False)


@virtual_time
async def test_misspelt_annotation_takes_over_nothing() -> None:
    async with two_teams(attacking=False) as scene:
        keys = {value: Key("beta", f"legacy-{number}") for number, value in enumerate(MISSPELT)}
        for key in keys.values():
            scene.estate.make_tenant(key.name, f"{key.name}.example.com")
        await scene.elapse(**LATER)
        before = Holdings.of(scene)
        for value, key in keys.items():
            await scene.create(adopting(key, f"{key.name}.example.com", value=value))
        for key in keys.values():
            assert "edgekeeper.io/adopt" in (await scene.says("Ready", "InvalidAnnotation", key)).message
        for key in keys.values():
            await scene.delete(key)
        await scene.elapse(**LATER)
        before.confirm(scene)
        assert not any(scene.find(key) for key in keys.values()), "nothing was claimed, so nothing keeps them"


@virtual_time
async def test_tenant_that_serves_the_domain_of_an_older_object_is_not_taken_over() -> None:
    """Taken over, it would lose the domain, which is not the attacker's to take away."""
    async with two_teams(attacking=False) as scene:
        scene.estate.make_tenant(LEGACY.name, "waiting.example.com")
        await scene.elapse(**LATER)
        waiting = Key("alpha", "waiting")
        await scene.create(tenant(waiting, "waiting.example.com"))
        await scene.says("Ready", "DomainConflict", waiting)
        before = Holdings.of(scene)
        await scene.create(adopting(LEGACY, "beta.example.com"))
        assert str(waiting) in (await scene.says("Ready", "DomainConflict", LEGACY)).message
        await scene.elapse(**LATER)
        await deleted(scene, LEGACY)
        before.confirm(scene)


@virtual_time
async def test_policy_of_hostnames_holds_for_what_is_taken_over() -> None:
    """A team that may not have a name may not take it off the tenant that has it either."""
    async with two_teams(GUARDED, attacking=False) as scene:
        legacy = scene.estate.make_tenant(LEGACY.name, "legacy.example.com")
        await scene.elapse(**LATER)
        before = Holdings.of(scene)
        await scene.create(adopting(LEGACY, "legacy.beta.example.com"))
        assert "legacy.example.com" in (await scene.says("Ready", "DomainConflict", LEGACY)).message
        await forge(scene, LEGACY, id=legacy.id, arn=legacy.arn, eTag=legacy.etag)
        await scene.elapse(**LATER)
        await deleted(scene, LEGACY)
        before.confirm(scene)


@virtual_time
async def test_tenant_of_nobody_comes_with_the_records_that_lead_to_it() -> None:
    """They say exactly what would be written, and the object is annotated to take over what is there."""
    async with two_teams(attacking=False) as scene:
        scene.estate.make_tenant(LEGACY.name, "legacy.example.com")
        scene.estate.make_record("legacy.example.com", f"{scene.endpoint}.")
        await scene.elapse(**LATER)
        await scene.create(adopting(LEGACY, "legacy.example.com", dns=scene.dns()))
        await scene.ready(LEGACY)
        assert [one["name"] for one in scene.status(LEGACY)["inventory"]] == ["legacy.example.com"]
        assert len(scene.events("Adopted", LEGACY)) == 1
        await deleted(scene, LEGACY)
        assert scene.names == [VICTIM.name]
        assert set(scene.records) == {f"CNAME {KIOSK}"}


@virtual_time
async def test_tenant_that_bears_the_mark_of_an_earlier_object_of_the_name_is_taken_over_if_asked() -> None:
    """That object is gone, for its name is taken by this one; nobody but this namespace could have had it."""
    async with two_teams(attacking=False) as scene:
        scene.estate.make_tenant(
            LEGACY.name, "legacy.example.com", tags=Owner(CLUSTER, *LEGACY, "1-2").tags()
        )
        await scene.elapse(**LATER)
        before = Holdings.of(scene)
        await scene.create(tenant(LEGACY, "legacy.example.com"))
        assert 'edgekeeper.io/adopt: "true"' in (await scene.says("Ready", "NameConflict", LEGACY)).message
        await scene.elapse(**LATER)
        before.confirm(scene)
        await scene.annotate(LEGACY, adopt="true")
        await scene.ready(LEGACY)
        await deleted(scene, LEGACY)
        assert scene.names == [VICTIM.name]
