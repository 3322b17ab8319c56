"""S-34: an older version that meets what a later one has written does not delete it as somebody else's, or nobody's.

Before the operator starts, a settled fleet of all kinds is changed into what a later version might have made of it. What is only
added to a mark or an object changes nothing. A mark, an inventory or a state that cannot be read is a reason to do nothing: no
cloud is written to, and the objects concerned say so. When users delete them all the same, what nobody can prove to be
ours stays. R-28 shows the rest: fields that this version does not know are kept.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key
from kubesim.virtual import run_virtual
from tests.recovery.world import Clouds, Cluster
from tests.reliability.formats import settled_fleet, states
from tests.reliability.test_r28_upgrade import key_of, served_kind
from tests.results import Figures

FINALIZER = "edgekeeper.io/cleanup-of-a-later-version"
Change = Callable[[Cluster], Awaitable[None]]


# Marks in the clouds


def tagged(change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> Change:
    """A change of the tags of everything of ours in AWS."""

    async def apply(found: Cluster) -> None:
        aws = found.clouds.aws
        for tenant in list(aws.cloud.cloudfront.tenants.values()):
            aws.cloud.cloudfront.change_tenant(tenant.name, tags=dict(change(tenant.tags)))
        for domain in list(aws.gateway.domains.values()):
            aws.gateway.keep(domain, tags=dict(change(domain.tags)))

    return apply


def commented(change: Callable[[str], str]) -> Change:
    """A change of the comments of all records at Cloudflare."""

    async def apply(found: Cluster) -> None:
        for record in found.clouds.cloudflare.zone.records.values():
            record["comment"] = change(record["comment"])

    return apply


async def applications_tagged(found: Cluster) -> None:
    for application in found.clouds.cloudflare.account.applications.values():
        application["tags"] = [f"edgekeeper-v2-{tag}" for tag in application["tags"]]


def _other_keys(tags: Mapping[str, str]) -> Mapping[str, str]:
    return {f"{TAG_PREFIX}owner": json.dumps(dict(tags))} if tags else {}


def _other_uid(tags: Mapping[str, str]) -> Mapping[str, str]:
    return {name: f"v2:{value}" if name.endswith("/uid") else value for name, value in tags.items()}


# What is in the cluster


async def finalized(found: Cluster) -> None:
    """A later version has more to clean up."""
    for kind, obj in found.ours():
        finalizers = [*obj["metadata"].get("finalizers", []), FINALIZER]
        await found.user.merge_patch(
            await served_kind(found, kind), key_of(obj), {"metadata": {"finalizers": finalizers}}
        )


def inventoried(**fields: Any) -> Change:
    """All entries of inventories in a status have other values."""

    async def apply(found: Cluster) -> None:
        await _allow_any_status(found)
        for kind, obj in found.ours():
            entries = [{**entry, **fields} for entry in dig_list(obj, "status", "inventory")]
            if entries:
                patch = {"status": {"inventory": entries}}
                await found.user.merge_patch(
                    await served_kind(found, kind), key_of(obj), patch, subresource="status"
                )

    return apply


async def _allow_any_status(found: Cluster) -> None:
    """The definitions of a later version are installed, which this one does not know."""
    for definition in found.all(CUSTOM_RESOURCE_DEFINITION.kind):
        versions = definition["spec"]["versions"]
        for version in versions:
            version["schema"]["openAPIV3Schema"]["properties"]["status"] = {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
            }
        key = Key("", definition["metadata"]["name"])
        await found.user.merge_patch(CUSTOM_RESOURCE_DEFINITION, key, {"spec": {"versions": versions}})
    await found.plane.settle()


def stated(change: Callable[[JsonObject], JsonObject]) -> Change:
    """A change of the state ConfigMaps of routes."""

    async def apply(found: Cluster) -> None:
        for obj in states(found):
            await found.user.merge_patch(CONFIG_MAP, key_of(obj), {"data": change(obj["data"])})

    return apply


def _more_items(data: JsonObject) -> JsonObject:
    return {"inventory": json.dumps([*json.loads(data["inventory"]), {"kind": "MutualTls", "id": "m-1"}])}


def _other_form(data: JsonObject) -> JsonObject:
    return {"inventory": json.dumps({"version": 2, "items": json.loads(data["inventory"])})}


ADDED: dict[str, Change] = {
    "tags beside the mark": tagged(lambda tags: {**tags, f"{TAG_PREFIX}format": "2"} if tags else tags),
    "words after the mark": commented(lambda comment: f"{comment} v2"),
    "another finalizer": finalized,
}
AWS = ("tenants", "domains", "certificates", "records")
CLOUDFLARE = ("applications", "policies", "tokens", "rules", "names")
UNREADABLE: dict[str, tuple[Change, tuple[str, ...]]] = {
    "tags with other keys": (tagged(_other_keys), AWS),
    "a uid in another form": (tagged(_other_uid), AWS),
    "comments in another form": (
        commented(lambda comment: f"edgekeeper owner=v2 {comment}"),
        ("names", "rules"),
    ),
    "applications with other tags": (applications_tagged, ("applications", "policies", "tokens")),
    "states of records that nobody knows": (inventoried(state="Handed over"), (*AWS, "statements")),
    "targets of another type": (inventoried(target=["a"], function={"name": "shop"}), (*AWS, "statements")),
    "things of routes that nobody knows": (stated(_more_items), CLOUDFLARE),
    "states in another form": (stated(_other_form), CLOUDFLARE),
}
"""With the parts of the clouds that nobody can prove to be ours any more."""


@pytest.mark.parametrize("name", ADDED)
def test_addition_of_a_later_version_is_nothing_to_correct(name: str, figures: Figures) -> None:
    async def play() -> None:
        clouds = Clouds()
        async with settled_fleet(clouds) as found:
            await ADDED[name](found)
            before = clouds.contents()
            await found.start()
            await found.elapse(hours=2)
            assert clouds.contents() == before
            assert not found.unready()
            figures.count("formats of a later version")

    run_virtual(play)


@pytest.mark.parametrize("name", UNREADABLE)
def test_format_of_a_later_version_is_a_reason_to_do_nothing(name: str, figures: Figures) -> None:
    change, parts = UNREADABLE[name]

    async def play() -> None:
        clouds = Clouds()
        async with settled_fleet(clouds) as found:
            await change(found)
            before = clouds.contents(marks=True)
            clouds.forget_writes()
            await found.start()
            await found.elapse(hours=2)
            assert clouds.writes() == []
            assert found.unready()
            for kind, obj in found.ours():
                await found.user.delete(await served_kind(found, kind), key_of(obj))
            await found.elapse(minutes=30)
            after = clouds.contents(marks=True)
            assert {part: after[part] for part in parts} == {part: before[part] for part in parts}
            figures.count("formats of a later version")

    run_virtual(play)
