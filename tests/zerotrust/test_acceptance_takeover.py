"""Fleets of each generation of the described operator are taken over without an edit, and stay protected throughout."""

from __future__ import annotations

import pytest

from edgekeeper.api.zerotrust import FINALIZER
from edgekeeper.controllers.zerotrust.route_index import TASK
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import DEPLOYMENT, HTTP_ROUTE, Key
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import APPS, HOME, AcceptanceWorld, cluster, running
from tests.zerotrust.fleets import FLEETS, KOPF_FINALIZER, Left, kopf

every_generation = pytest.mark.parametrize("generation", FLEETS)


async def taken_over(world: AcceptanceWorld, generation: str) -> list[Left]:
    """A fleet whose protected hostnames are looked at after every call."""
    fleet: list[Left] = await FLEETS[generation](world)
    world.estate.guarded |= {left.hostname for left in fleet if "accessAppId" in left.ids}
    world.cloud.journal.clear()
    return fleet


def deletions(world: AcceptanceWorld) -> list[str]:
    return [one.operation for one in world.cloud.journal.writes() if one.operation.startswith("DELETE")]


@every_generation
@virtual_time
async def test_fleet_is_taken_over_as_it_is(generation: str) -> None:
    async with cluster() as world:
        fleet = await taken_over(world, generation)
        rules, records = world.rules(), {one["id"]: one for one in world.records()}
        secrets = {left.name: world.secret(left.secret) for left in fleet if left.secret}
        specs = {left.name: world.annotations(left.name) for left in fleet}
        async with running(world):
            await world.ready(*(left.name for left in fleet))
            await world.elapse(minutes=10)
        assert not world.estate.wrongs, world.estate.wrongs
        assert deletions(world) == []
        assert len(world.account.applications) == len(world.estate.guarded)
        for left in fleet:
            annotations = world.annotations(left.name)
            written = {name: annotations.get(name) for name in left.ids}
            # A token that existing policies do not admit gets a policy beside them: the old ids stay.
            assert {**written, "accessPolicyIds": ""} == {**left.ids, "accessPolicyIds": ""}
            old = set(filter(None, left.ids.get("accessPolicyIds", "").split(",")))
            assert old <= set(annotations.get("accessPolicyIds", "").split(","))
            own = {name for name in specs[left.name] if name not in {*left.ids, "lastReconcile"}}
            assert {name: annotations.get(name) for name in own} == {
                name: specs[left.name][name] for name in own
            }
            finalizers = world.get(HTTP_ROUTE, left.name)["metadata"]["finalizers"]
            assert finalizers == [FINALIZER]
            assert "inventory" in world.states()[APPS, left.name]["data"]
            assert world.states()[APPS, left.name]["metadata"]["name"] == f"cfzt-{APPS}-{left.name}"
        assert {one["hostname"]: one["service"] for one in world.rules() if "hostname" in one} == {
            one["hostname"]: one["service"] for one in rules if "hostname" in one
        }
        after = {one["id"]: one for one in world.records()}
        assert {id_: (one["name"], one["content"]) for id_, one in after.items()} == {
            id_: (one["name"], one["content"]) for id_, one in records.items()
        }
        assert {left.name: world.secret(left.secret) for left in fleet if left.secret} == secrets
        assert len(world.tokens()) == len(secrets)


@every_generation
@virtual_time
async def test_fleet_that_was_taken_over_can_be_withdrawn_wholly(generation: str) -> None:
    async with cluster() as world:
        fleet = await taken_over(world, generation)
        foreign = {one["id"] for one in world.records()} - {
            left.ids.get(name) for left in fleet for name in ("cnameRecordId", "dnsRecordId")
        }
        async with running(world):
            await world.ready(*(left.name for left in fleet))
            for left in fleet:
                await world.delete(left.name)
            await world.gone(*(left.name for left in fleet))
            await world.elapse(minutes=1)
        assert not world.estate.wrongs, world.estate.wrongs
        assert world.account.applications == {}
        assert world.tokens() == []
        assert [one for one in world.rules() if "hostname" in one] == []
        assert {one["id"] for one in world.records()} == foreign
        assert world.states() == {}
        assert world.all(TASK) == []
        assert all(world.secret(left.secret) is None for left in fleet if left.secret)


@every_generation
@virtual_time
async def test_fleet_whose_routes_are_deleted_first_is_withdrawn(generation: str) -> None:
    """The original was stopped, and the routes were deleted before the operator ran for the first time."""
    async with cluster() as world:
        fleet = await taken_over(world, generation)
        foreign = {one["id"] for one in world.records()} - {
            left.ids.get(name) for left in fleet for name in ("cnameRecordId", "dnsRecordId")
        }
        for left in fleet:
            await world.delete(left.name)
        async with running(world):
            await world.gone(*(left.name for left in fleet))
            await world.until(lambda: world.states() == {} and not world.all(TASK))
        assert not world.estate.wrongs, world.estate.wrongs
        assert world.account.applications == {}
        assert world.tokens() == []
        assert [one for one in world.rules() if "hostname" in one] == []
        assert {one["id"] for one in world.records()} == foreign


@virtual_time
async def test_records_made_by_hand_are_left_to_their_makers_unless_adopted() -> None:
    async with cluster() as world:
        fleet = await taken_over(world, "single pod")
        by_hand = world.records("plain.example.com")
        async with running(world):
            await world.ready(*(left.name for left in fleet))
            assert world.records("plain.example.com") == by_hand
            assert "edgekeeper.io/adopt" in world.said("plain")[2]
            assert "cnameRecordId" not in world.annotations("plain")
            await world.annotate("admin", **{"edgekeeper.io/adopt": "true"})
            await world.until(lambda: "cnameRecordId" in world.annotations("admin"))
            await world.ready("admin")
            assert world.said("admin")[2] == "published as admin.example.com"
            for left in fleet:
                await world.delete(left.name)
            await world.gone(*(left.name for left in fleet))
        assert {one["name"] for one in world.records()} == {"plain.example.com", "api.example.com"}
        told = {one["involvedObject"]["name"]: one["message"] for one in world.events("RecordsLeft")}
        assert set(told) == {"plain", "api"}
        assert "plain.example.com" in told["plain"]


@virtual_time
async def test_nothing_is_written_while_the_original_runs() -> None:
    async with cluster() as world:
        fleet = await taken_over(world, "v0.2")
        name = "cloudflare-zero-trust-operator"
        labels = {"app": name}
        image = "ghcr.io/wheetazlab/cloudflare-zero-trust-operator:v0.2.3"
        await world.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "namespace": HOME},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [{"name": "operator", "image": image}]},
                    },
                },
            }
        )
        await world.until(lambda: dig(world.get(DEPLOYMENT, name, HOME), "status", "availableReplicas") == 1)
        async with running(world):
            await world.elapse(minutes=10)
            assert world.estate.writes == 0
            assert world.get(HTTP_ROUTE, "api")["metadata"]["finalizers"] == [KOPF_FINALIZER]
            await world.user.merge_patch(DEPLOYMENT, Key(HOME, name), {"spec": {"replicas": 0}})
            await world.ready(*(left.name for left in fleet))
        assert not world.estate.wrongs


@virtual_time
async def test_application_that_was_replaced_since_is_not_taken_for_ours() -> None:
    """Ids that the original left count only where the live object has that id and name."""
    async with cluster() as world:
        fleet = await kopf(world)
        admin = next(left for left in fleet if left.name == "admin")
        world.act("DELETE", f"access/apps/{admin.ids['accessAppId']}")
        body = {"name": "by hand", "domain": admin.hostname, "type": "self_hosted"}
        everyone = {"name": "all", "decision": "allow", "include": [{"everyone": {}}], "precedence": 1}
        foreign = world.act("POST", "access/apps", {**body, "policies": [everyone]})
        async with running(world):
            message = await world.says("ApplicationConflict", "admin")
            assert foreign["id"] in message
            assert world.application(admin.hostname) == world.account.applications[foreign["id"]]
