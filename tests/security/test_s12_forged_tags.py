"""S-12: what somebody else puts into AWS under our names and marks is not taken for ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.ownership import TAG_PREFIX, Owner, parse_tags
from edgekeeper.kube.kinds import Key
from kubesim.aws.route53.records import Record
from kubesim.virtual import virtual_time
from tests.security.forgery import ATTACKER, LATER, VICTIM, Holdings, forge, two_teams
from tests.tenants.scene import Scene, facts
from tests.tenants.system import CLUSTER, tenant

Tags = Callable[[Owner], Mapping[str, str]]

MARKS: dict[str, Tags] = {
    "none": lambda _: {},
    "tags of its own": lambda _: {"team": "squatters", "uid": "1-2"},
    "another uid": lambda owner: replace(owner, uid="11111111-2222").tags(),
    "another cluster": lambda owner: replace(owner, cluster="elsewhere").tags(),
    "another namespace": lambda owner: replace(owner, namespace="gamma").tags(),
    "another name": lambda owner: replace(owner, name="other").tags(),
    "nothing but the uid": lambda owner: {f"{TAG_PREFIX}uid": owner.uid},
    "nothing but the name": lambda owner: {f"{TAG_PREFIX}name": owner.name},
    "a uid that is none": lambda owner: {**owner.tags(), f"{TAG_PREFIX}uid": "*"},
    "the uid twice": lambda owner: {**owner.tags(), f"{TAG_PREFIX}uid": f"{owner.uid},{owner.uid}"},
    "a prefix like ours": lambda owner: {
        key.replace("edgekeeper.io", "edgekeeper.lo"): value for key, value in owner.tags().items()
    },
}


def owner_of(scene: Scene, key: Key) -> Owner:
    return Owner(CLUSTER, key.namespace, key.name, scene.object(key)["metadata"]["uid"])


def retag(scene: Scene, name: str, tags: Mapping[str, str]) -> None:
    """Somebody tags a tenant. That changes no ETag, so no listing tells."""
    live = scene.aws(name)
    scene.cloud.cloudfront.tenants.put(live.id, replace(live, tags=dict(tags)))


@virtual_time
async def test_tenant_that_stands_under_our_name_is_neither_adopted_nor_deleted() -> None:
    """Whatever its tags say, as long as it is not the whole mark of the object."""
    async with two_teams(attacking=False) as scene:
        await scene.stage.operator.stop()
        keys = {variant: Key("beta", f"squatted-{number}") for number, variant in enumerate(MARKS)}
        for variant, key in keys.items():
            await scene.create(tenant(key, f"{key.name}.example.com", dns=scene.dns()))
            marks = MARKS[variant](owner_of(scene, key))
            scene.estate.make_tenant(key.name, f"theirs-{key.name}.example.com", tags=marks)
        before = Holdings.of(scene)
        scene.stage.start_operator()
        for variant, key in keys.items():
            fact = await scene.says("Ready", "NameConflict", key)
            assert scene.aws(key.name).id in fact.message, variant
            if parse_tags(scene.aws(key.name).tags) is not None:
                await forge(scene, key, id=scene.aws(key.name).id)
        await scene.elapse(**LATER)
        before.confirm(scene)
        for key in keys.values():
            await scene.delete(key)
        for key in keys.values():
            await scene.gone(key)
        before.confirm(scene)


@virtual_time
async def test_mark_on_anothers_tenant_gives_nothing() -> None:
    """Its name is the victim's, and the victim's object is there: whoever else is marked on it, it is not theirs."""
    async with two_teams() as scene:
        kiosk = scene.aws(VICTIM.name)
        retag(scene, VICTIM.name, owner_of(scene, ATTACKER).tags())
        before = Holdings.of(scene)
        await forge(scene, ATTACKER, id=kiosk.id, arn=kiosk.arn, eTag=kiosk.etag)
        await scene.elapse(**LATER)
        before.confirm(scene)
        assert scene.status(ATTACKER)["id"] == scene.aws(ATTACKER.name).id
        await forge(scene, ATTACKER, id=kiosk.id, arn=kiosk.arn, eTag=kiosk.etag)
        await scene.delete(ATTACKER)
        await scene.gone(ATTACKER)
        assert scene.names == [VICTIM.name]
        assert scene.aws(VICTIM.name).etag == kiosk.etag


@virtual_time
async def test_tenant_that_got_anothers_mark_is_left_and_that_is_told() -> None:
    """It is not provably ours any more. Nobody fights about it, nobody deletes it, and nobody says that it is gone."""
    async with two_teams(attacking=False) as scene:
        retag(scene, VICTIM.name, owner_of(scene, VICTIM).tags() | {f"{TAG_PREFIX}name": "other"})
        before = scene.estate.state()
        await scene.edit(VICTIM, enabled=False)
        assert "another object" in (await scene.says("Ready", "NameConflict", VICTIM)).message
        await scene.elapse(minutes=30)
        assert len(scene.events("NameConflict", VICTIM)) == 1
        await scene.delete(VICTIM)
        await scene.gone(VICTIM)
        await scene.elapse(seconds=30)
        assert scene.estate.state() == before
        (note,) = scene.events("Orphaned", VICTIM)
        assert scene.aws(VICTIM.name).id in note
        assert not scene.events("Deleted", VICTIM)


@virtual_time
async def test_tenant_that_lost_its_mark_gets_it_again_from_its_owner_alone() -> None:
    async with two_teams() as scene:
        before = Holdings.of(scene)
        retag(scene, VICTIM.name, {})
        await forge(scene, ATTACKER, id=scene.aws(VICTIM.name).id)
        await scene.elapse(**LATER)
        assert not scene.aws(VICTIM.name).tags
        await scene.stage.patch(KIND, VICTIM, {"spec": {"tags": [{"key": "team", "value": "alpha"}]}})
        await scene.until(lambda: scene.aws(VICTIM.name).tags.get("team") == "alpha")
        assert owner_of(scene, VICTIM).tags().items() <= scene.aws(VICTIM.name).tags.items()
        assert facts(scene.object(VICTIM)) == before.said


@virtual_time
async def test_tenant_that_bears_the_whole_mark_is_adopted_and_that_is_told() -> None:
    """Whoever may write to the account can forge a mark to the letter. It becomes what the object says, and no secret."""
    async with two_teams(attacking=False) as scene:
        await scene.stage.operator.stop()
        await scene.create(tenant(ATTACKER, "stall.example.com"))
        made = scene.estate.make_tenant(
            ATTACKER.name, "evil.example.com", tags=owner_of(scene, ATTACKER).tags()
        )
        scene.stage.start_operator()
        await scene.ready(ATTACKER)
        assert scene.aws(ATTACKER.name).domains == ("stall.example.com",)
        (note,) = scene.events("Adopted", ATTACKER)
        assert made.id in note


@virtual_time
async def test_record_that_stands_at_our_domain_is_neither_replaced_nor_removed() -> None:
    async with two_teams(attacking=False) as scene:
        theirs = {
            "cname": Record("cname.example.com.", "CNAME", 300, ("theirs.example.net.",)),
            "other-time": Record("other-time.example.com.", "CNAME", 60, (f"{scene.endpoint}.",)),
            "other-group": Record("other-group.example.com.", "CNAME", 300, ("d0.cloudfront.net.",)),
        }
        for record in theirs.values():
            scene.cloud.route53.put_record(scene.zone, record)
        await scene.elapse(**LATER)
        before = Holdings.of(scene)
        keys = [Key("beta", name) for name in theirs]
        for key in keys:
            await scene.create(tenant(key, f"{key.name}.example.com", dns=scene.dns()))
        for key in keys:
            await scene.says("Ready", "DNSConflict", key)
        before.confirm(scene)
        for key in keys:
            await scene.delete(key)
        for key in keys:
            await scene.gone(key)
        before.confirm(scene)


@virtual_time
async def test_tags_that_aws_refuses_do_not_cost_anybody_the_mark() -> None:
    """Else whoever asks for such a tag would have all later tenants created without a sign of whose they are."""
    async with two_teams(attacking=False) as scene:
        await scene.stage.operator.stop()
        kept = {"ForAnyValue:StringEquals": {"aws:TagKeys": ["CostCentre"]}}
        refusing = {"Effect": "Deny", "Action": "cloudfront:TagResource", "Resource": "*", "Condition": kept}
        allowing = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        scene.estate.govern({"Statement": [allowing, refusing]})
        scene.stage.start_operator()
        await scene.create(tenant(ATTACKER, tags=[{"key": "CostCentre", "value": "theirs"}]))
        fact = await scene.says("Ready", "AccessDenied", ATTACKER)
        assert "TagResource" in fact.message
        later = Key("alpha", "later")
        await scene.create(tenant(later, "later.example.com"))
        await scene.ready(later)
        for key in (ATTACKER, later):
            assert scene.aws(key.name).tags == owner_of(scene, key).tags()
        await scene.edit(ATTACKER, tags=[{"key": "team", "value": "beta"}])
        await scene.ready(ATTACKER)
        assert scene.aws(ATTACKER.name).tags["team"] == "beta"
