"""What users do with ResourceGraphDefinitions and their instances, and what happens to them."""

from __future__ import annotations

import asyncio
from typing import Any

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.definition_report import DELETION_BLOCKED
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.composition_crash.definitions import (
    LODGER,
    MALL,
    REFERENCE,
    SHOP,
    instance,
    lodgers,
    malls,
    shops,
)
from tests.composition_crash.estate import Estate
from tests.crash.stage import Stage
from tests.crash.system import Scenarios

scenarios: Scenarios[Estate] = Scenarios()
"""In an installation that keeps generated CustomResourceDefinitions."""
departures: Scenarios[Estate] = Scenarios()
"""In one that lets them go with their definitions."""

SHOPS = Key("", "shops")
DEMO = Key("default", "demo")
OTHER = Key("default", "other")
RULES = Key("default", REFERENCE)


async def defined(stage: Stage[Estate], *definitions: JsonObject) -> None:
    """Definitions that are in force when the scenario begins."""
    for one in definitions or (shops(),):
        await stage.create(one)
        await stage.settled()
    stage.begin()


async def opened(stage: Stage[Estate], **spec: Any) -> None:
    """A shop that is open when the scenario begins."""
    await defined(stage)
    await stage.create(instance(SHOP, DEMO.name, **spec))
    await stage.settled()
    stage.begin()


async def change(stage: Stage[Estate], **spec: Any) -> None:
    await stage.patch(SHOP, DEMO, {"spec": spec})
    await stage.settled()


async def redefine(stage: Stage[Estate], definition: JsonObject) -> None:
    await stage.patch(DEFINITION_KIND, SHOPS, {"spec": {"resources": definition["spec"]["resources"]}})
    await stage.settled()


async def rules(stage: Stage[Estate], text: str) -> None:
    """Somebody else's ConfigMap, which lodgers refer to."""
    body = {"metadata": {"name": RULES.name, "namespace": RULES.namespace}, "data": {"text": text}}
    await stage.user.create(CONFIG_MAP, body)


async def gone(stage: Stage[Estate]) -> None:
    """Wait until no instance is left."""
    kinds = {SHOP.kind, MALL.kind, LODGER.kind}
    await stage.until(lambda: not any(obj["kind"] in kinds for obj in stage.objects()))
    await stage.settled()


# Definitions


@scenarios.add
async def definition_created(stage: Stage[Estate]) -> None:
    await stage.create(shops())
    await stage.settled()


@scenarios.add
async def definition_changed(stage: Stage[Estate]) -> None:
    """All children change, and a resource is no longer part of the definition."""
    await opened(stage, values=["a"], extra=True)
    await redefine(stage, shops("second", extra=False))


@scenarios.add
async def definition_changed_and_changed_back(stage: Stage[Estate]) -> None:
    await opened(stage)
    await redefine(stage, shops("second"))
    await redefine(stage, shops("first"))


@scenarios.add_race
async def definition_changed_while_instances_are_created(stage: Stage[Estate]) -> None:
    await defined(stage)
    await stage.create(instance(SHOP, DEMO.name, values=["a"]))
    await redefine(stage, shops("second"))


@scenarios.add
async def definition_created_for_instances_that_wait(stage: Stage[Estate]) -> None:
    """The kind is still served, from a definition that was deleted."""
    await defined(stage)
    await stage.delete(DEFINITION_KIND, SHOPS)
    await stage.until(lambda: not list(stage.objects()))
    await stage.create(instance(SHOP, DEMO.name, values=["a"]))
    await stage.elapse(seconds=5)
    stage.begin()
    await stage.create(shops("second"))
    await stage.settled()


# Instances


@scenarios.add
async def instance_created(stage: Stage[Estate]) -> None:
    await defined(stage)
    await stage.create(instance(SHOP, DEMO.name, values=["a", "b"], extra=True))
    await stage.settled()


@scenarios.add
async def instance_changed(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a"], extra=True)
    await change(stage, text="z")


@scenarios.add
async def resource_excluded_and_included(stage: Stage[Estate]) -> None:
    await opened(stage, extra=True)
    await change(stage, extra=False)
    await change(stage, extra=True)


@scenarios.add
async def collection_grown_and_shrunk(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a"])
    await change(stage, values=["b", "a", "c"])
    await change(stage, values=["c"])


@scenarios.add
async def everything_changed_at_once(stage: Stage[Estate]) -> None:
    """Values change, the collection loses one and gains one, and a resource is excluded."""
    await opened(stage, values=["a", "b"], extra=True)
    await change(stage, values=["b", "c"], extra=False, text="z")


@scenarios.add
async def instance_deleted(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a", "b"], extra=True)
    await stage.delete(SHOP, DEMO)
    await gone(stage)


@scenarios.add_race
async def instance_deleted_while_it_is_created(stage: Stage[Estate]) -> None:
    await defined(stage)
    first = asyncio.Event()

    def observe(resource: GroupResource, event: Event) -> None:
        if resource.plural == CONFIG_MAP.plural and event.previous is None:
            first.set()

    stage.plane.store.listen(observe)
    await stage.create(instance(SHOP, DEMO.name, values=["a", "b"], extra=True))
    await first.wait()
    await stage.delete(SHOP, DEMO)
    await gone(stage)


@scenarios.add
async def instance_deleted_and_created_again(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a"])
    await stage.delete(SHOP, DEMO)
    await gone(stage)
    await stage.create(instance(SHOP, DEMO.name, values=["a"], text="again"))
    await stage.settled()


@scenarios.add
async def one_of_two_instances_deleted(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a"])
    await stage.create(instance(SHOP, OTHER.name, values=["a"]))
    await stage.settled()
    stage.begin()
    await stage.delete(SHOP, OTHER)
    await stage.until(lambda: not any(obj["metadata"]["name"] == OTHER.name for obj in stage.objects()))
    await stage.settled()


@scenarios.add
async def child_stays_by_its_deletion_policy(stage: Stage[Estate]) -> None:
    await defined(stage, shops(orphaned=True))
    await stage.create(instance(SHOP, DEMO.name, values=["a"]))
    await stage.settled()
    stage.begin()
    await stage.delete(SHOP, DEMO)
    await gone(stage)
    kept = stage.outside.by_name()["ConfigMap demo-base"]
    marks = {*dig_object(kept, "metadata", "labels"), *dig_object(kept, "metadata", "annotations")}
    assert not marks, "what stays has no marks of ours"
    assert kept["data"] == {"text": "a", "edition": "first"}


# Drift


@scenarios.add
async def child_deleted_by_somebody_else(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a"])
    await stage.user.delete(CONFIG_MAP, Key("default", "demo-base"))
    await stage.settled()


@scenarios.add
async def child_changed_by_somebody_else(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a"])
    await stage.user.merge_patch(CONFIG_MAP, Key("default", "demo-a"), {"data": {"text": "drifted"}})
    await stage.settled()


# Instances of instances


@scenarios.add
async def nested_instance_created(stage: Stage[Estate]) -> None:
    await defined(stage, shops(), malls())
    await stage.create(instance(MALL, DEMO.name))
    await stage.settled()


@scenarios.add
async def nested_instance_changed(stage: Stage[Estate]) -> None:
    await defined(stage, shops(), malls())
    await stage.create(instance(MALL, DEMO.name))
    await stage.settled()
    stage.begin()
    await stage.patch(MALL, DEMO, {"spec": {"text": "z"}})
    await stage.settled()


@scenarios.add
async def nested_instance_deleted(stage: Stage[Estate]) -> None:
    await defined(stage, shops(), malls())
    await stage.create(instance(MALL, DEMO.name))
    await stage.settled()
    stage.begin()
    await stage.delete(MALL, DEMO)
    await gone(stage)


# Objects of others


@scenarios.add
async def reference_created_after_the_instance(stage: Stage[Estate]) -> None:
    await defined(stage, lodgers())
    await stage.create(instance(LODGER, DEMO.name))
    await stage.until(lambda: _waits(stage))
    await rules(stage, "quiet")
    await stage.settled()


def _waits(stage: Stage[Estate]) -> bool:
    return any(
        one["type"] == "ResourcesReady" and "waits for" in one["message"]
        for obj in stage.objects()
        for one in dig_list(obj, "status", "conditions")
    )


@scenarios.add
async def reference_changed(stage: Stage[Estate]) -> None:
    await rules(stage, "quiet")
    await defined(stage, lodgers())
    await stage.create(instance(LODGER, DEMO.name))
    await stage.settled()
    stage.begin()
    await stage.user.merge_patch(CONFIG_MAP, RULES, {"data": {"text": "loud"}})
    await stage.settled()


@scenarios.add
async def instance_with_a_reference_deleted(stage: Stage[Estate]) -> None:
    await rules(stage, "quiet")
    await defined(stage, lodgers())
    await stage.create(instance(LODGER, DEMO.name))
    await stage.settled()
    stage.begin()
    await stage.delete(LODGER, DEMO)
    await gone(stage)
    assert stage.outside.by_name()[f"ConfigMap {REFERENCE}"]["data"] == {"text": "quiet"}


# The end of definitions


async def _deleted_before_its_instances(stage: Stage[Estate]) -> None:
    await opened(stage, values=["a"])
    await stage.delete(DEFINITION_KIND, SHOPS)
    await stage.until(lambda: any(_is_blocked(obj) for obj in stage.objects()))
    await stage.delete(SHOP, DEMO)
    await stage.until(lambda: not list(stage.objects()))


def _is_blocked(obj: JsonObject) -> bool:
    return any(dig(one, "type") == DELETION_BLOCKED for one in dig_list(obj, "status", "conditions"))


@scenarios.add
async def definition_deleted_before_its_instances(stage: Stage[Estate]) -> None:
    await _deleted_before_its_instances(stage)
    assert _generated(stage) == ["shops.kro.run"]


@departures.add
async def definition_and_its_kind_deleted_before_its_instances(stage: Stage[Estate]) -> None:
    await _deleted_before_its_instances(stage)
    await stage.until(lambda: not _generated(stage))


@departures.add
async def definition_and_its_kind_deleted(stage: Stage[Estate]) -> None:
    await defined(stage)
    await stage.delete(DEFINITION_KIND, SHOPS)
    await stage.until(lambda: not list(stage.objects()) and not _generated(stage))


def _generated(stage: Stage[Estate]) -> list[str]:
    """The names of generated CustomResourceDefinitions."""
    return [
        str(obj["metadata"]["name"])
        for obj in stage.outside.objects(CUSTOM_RESOURCE_DEFINITION)
        if labels.label_of(obj, labels.OWNED)
    ]
