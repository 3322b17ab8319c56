"""The pages about migrations and recovery, as somebody follows them: what others have left is taken over, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.ownership import TAG_PREFIX
from kubesim.ack.definitions import KINDS as ACK_KINDS
from tests.conformance.ack import ack_running
from tests.conformance.client import Client, eventually
from tests.conformance.installation import examples
from tests.conformance.servers import give_up
from tests.conformance.test_kro import kro_running
from tests.docs.cluster_sessions import FROM_ACK_BRIDGE, FROM_KRO, FROM_TENANTS, FROM_ZERO_TRUST, RECOVERY
from tests.docs.comparison import agrees
from tests.docs.installing import PATIENCE, WEB_APPS, World, installing
from tests.docs.page import blocks, read
from tests.docs.predecessors import REGION, leave_domain, leave_routes, leave_tenants
from tools import kro

TENANTS = ("quickstart/10-namespace.yaml", "quickstart/20-tenants.yaml")
LOST = "35bf992d-c9e9-4616-a12e-7696a6cecc1b"
INSTALL = "helm install edgekeeper charts/edgekeeper --namespace edgekeeper-system --create-namespace"


def tenants() -> tuple[JsonObject, list[JsonObject]]:
    """A namespace, and tenants whose certificate is nobody's business."""
    namespace, *objects = examples(*TENANTS)
    return namespace, [obj for obj in objects if obj["metadata"]["name"] != "docs"]


async def until_said(world: World, obj: JsonObject, reason: str) -> str:
    """The message of the condition Ready, once it has this reason."""

    async def said() -> str | None:
        live = await world.site.read(obj) or {}
        found = [one for one in dig_list(live, "status", "conditions") if one["type"] == "Ready"]
        return str(found[0]["message"]) if found and found[0]["reason"] == reason else None

    return await eventually(said, PATIENCE, what=f"{reason} is said: {world.node.runner.logs()}")


# A cluster is lost


async def test_page_about_recovery_shows_what_happens(owner: Client, folder: Path) -> None:
    namespace, objects = tenants()

    async def until_recovered(_: str) -> None:
        await world.site.until_ready(objects)
        assert await owners(world, objects) == marks(world)
        assert {*world.writes()} <= {"TagResource"}, "only marks are written"

    async with installing(owner, folder) as world:
        await lose_cluster(world, namespace, objects)
        await world.run(INSTALL)
        await world.site.apply(objects)
        told = await until_said(world, objects[0], "NameConflict")
        (shown,) = (one.text for one in blocks(read(RECOVERY.page)) if one.form == "text")
        assert agrees(told, " ".join(shown.split()).replace("2yX…", "…").replace("0326324d-…", "…"))
        world.clear_journals()
        await world.follow(RECOVERY, helm_upgrade=until_recovered)
        assert LOST not in await world.run("kubectl -n edgekeeper-system get deployment edgekeeper -o yaml")


async def lose_cluster(world: World, namespace: JsonObject, objects: list[JsonObject]) -> None:
    """Let a cluster of another id make everything, and forget all of it."""
    await world.run(f"{INSTALL} --set operator.clusterId={LOST}")
    await world.site.apply([namespace, *objects])
    await world.site.until_ready(objects)
    await world.run("helm uninstall edgekeeper --namespace edgekeeper-system --wait")
    await world.until(lambda: not world.node.pods, "the operator has stopped")
    for obj in objects:
        kind = await world.site.kind_of(obj)
        path = kind.path(obj["metadata"]["namespace"], obj["metadata"]["name"])
        (await world.api.patch(path, {"metadata": {"finalizers": None}})).expect(200)
    await world.site.delete(objects)


async def owners(world: World, objects: list[JsonObject]) -> dict[str, str]:
    """By name, the uids of objects."""
    live = {obj["metadata"]["name"]: await world.site.read(obj) for obj in objects}
    return {name: str(dig(obj, "metadata", "uid")) for name, obj in live.items()}


def marks(world: World) -> dict[str, Any]:
    """By name, the uids in the tags of tenants."""
    return {one.name: one.tags.get(f"{TAG_PREFIX}uid") for one in world.aws.cloudfront.tenants.values()}


# cloudfront-tenant-operator

OLD_CHART = {
    "Chart.yaml": "{apiVersion: v2, name: cloudfront-tenant-operator, version: 0.3.0}",
    "values.yaml": "{}",
    "templates/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: cloudfront-tenant-operator, labels: {app.kubernetes.io/name: cloudfront-tenant-operator}}
spec:
  selector: {matchLabels: {app: old}}
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: manager, image: example.com/cloudfront-tenant-operator:0.3.0}]}
""",
}
OLD_VALUES = "aws.region=us-east-1,controller.driftPolicy=report"


async def test_page_about_tenants_shows_what_happens(owner: Client, folder: Path) -> None:
    namespace, (shop, *_) = tenants()
    objects = [shop, renamed(shop, "blog")]

    async def look(_: str) -> None:
        await world.until_waiting_for("cloudfront-tenant-operator")

    async with installing(owner, folder) as world:
        for name, text in OLD_CHART.items():
            (folder / "old" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "old" / name).write_text(text)
        release = "helm install cloudfront-tenant-operator ./old --namespace cloudfront --create-namespace"
        await world.run(f"{release} --set {OLD_VALUES}")
        await world.define("edgekeeper crds | kubectl create -f -")
        await world.site.apply([namespace])
        await leave_tenants(world, *objects)
        ids = {one.name: one.id for one in world.aws.cloudfront.tenants.values()}
        world.clear_journals()
        await world.follow(FROM_TENANTS, helm_install=look)
        assert "--drift-policy=report" in await world.run(
            "kubectl -n cloudfront get deployment edgekeeper -o yaml"
        )
        expected = await owners(world, objects)
        await world.until(lambda: marks(world) == expected, "tenants are taken over")
        await world.site.until_ready(objects)
        assert {one.name: one.id for one in world.aws.cloudfront.tenants.values()} == ids
        assert {*world.writes()} == {"TagResource"}
        assert "Plan: 2 as declared" in await world.run("edgekeeper plan")


def renamed(tenant: JsonObject, name: str) -> JsonObject:
    """Another tenant like this one."""
    spec = {**tenant["spec"], "domains": [{"domain": f"{name}.example.com"}]}
    return {**tenant, "metadata": {**tenant["metadata"], "name": name}, "spec": spec}


# cloudflare-zero-trust-operator


@pytest.mark.parametrize("generation", ["v0.1", "v0.2"])
async def test_page_about_zero_trust_shows_what_happens(owner: Client, folder: Path, generation: str) -> None:
    async def look(_: str) -> None:
        await world.until_waiting_for("cloudflare-zero-trust-operator")

    async with installing(owner, folder) as world:
        await world.define("edgekeeper crds | kubectl create -f -")
        fleet = await leave_routes(world, generation)
        applications = set(world.account.applications)
        world.clear_journals()
        await world.follow(FROM_ZERO_TRUST, helm_install=look)
        routes = [
            {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": metadata}
            for metadata in ({"name": left.name, "namespace": "default"} for left in fleet)
        ]
        await world.site.until_ready(routes)
        assert set(world.account.applications) == applications
        assert not [one for one in world.writes() if one.startswith("DELETE")]
        assert {"admin", "api"} == {one["name"] for one in world.account.applications.values()}
        assert "as declared" in await world.run("edgekeeper plan --operator-namespace cloudflare-zero-trust")


# ack-bridge


async def test_page_about_ack_bridge_shows_what_happens(owner: Client, folder: Path) -> None:
    objects = examples("bridge")
    *made, permission, domain = objects
    domain["spec"].pop("certificateStrategy")

    async def look(_: str) -> None:
        await world.until_waiting_for("ack-bridge")

    async with installing(owner, folder) as world:
        await world.site.define([one.definition() for one in ACK_KINDS])
        await world.define("edgekeeper crds | kubectl create -f -")
        await world.deploy("kro-system", "ack-bridge", "example.com/ack-bridge:1", app="ack-bridge")
        async with ack_running(owner, world.aws, REGION):
            await world.site.apply(made)
            (api,) = (obj for obj in made if obj["kind"] == "API")
            await leave_domain(world, domain, await id_of(world, api))
            await world.site.apply([permission])
            world.clear_journals()
            await world.follow(FROM_ACK_BRIDGE, helm_install=look)
            await world.site.until_ready([permission])
            await until_inherited(world, domain)


async def id_of(world: World, api: JsonObject) -> str:
    """The id of an API, once ACK has made it."""

    async def made() -> str | None:
        found = dig(await world.site.read(api), "status", "apiID")
        return str(found) if found else None

    return await eventually(made, PATIENCE, what="ACK makes the API")


async def until_inherited(world: World, domain: JsonObject) -> None:
    """The domain is ours, and ready, with what was there."""

    async def inherited() -> bool | None:
        status = dig(await world.site.read(domain), "status")
        return (dig(status, "managed") is True and bool(dig(status, "inventory"))) or None

    await eventually(inherited, PATIENCE, what=f"the domain is taken over: {world.node.runner.logs()}")
    await world.site.until_ready([domain])


# kro

INSTANCE = "{apiVersion: kro.run/v1alpha1, kind: WebApp, metadata: {name: shop, namespace: default}, spec: {text: hello}}"
MANAGERS = "kubectl get rgd web-apps --show-managed-fields -o jsonpath='{..manager}'"
SETTINGS = "kubectl get configmap shop -o jsonpath='{.metadata.uid} {.data.text}'"


async def test_page_about_kro_shows_what_happens(owner: Client, folder: Path) -> None:
    """kro itself has made an instance, which edgekeeper goes on with: its child stays what it is until it changes."""
    programs = kro.find(os.environ)
    if programs is None:
        give_up("kro is not built: python3 -m tools.kro")
    definition, role = yaml.safe_load_all(WEB_APPS)
    instance = yaml.safe_load(INSTANCE)

    async def look(_: str) -> None:
        await world.until_waiting_for("kro")

    running = {"kro": lambda: kro_running(owner.server, folder / "logs")}
    async with installing(owner, folder, running) as world:
        await world.define(f"kubectl create -f {programs / kro.CRDS}")
        await world.deploy("kro-system", "kro", "example.com/kro:0.9", **{"app.kubernetes.io/name": "kro"})
        await world.site.apply([role, definition])
        await world.site.until_ready([definition])
        await world.site.apply([instance])
        await world.site.until_ready([instance])
        before = (await world.run(SETTINGS)).split()
        await world.follow(FROM_KRO, helm_install=look)
        await world.until_printed(MANAGERS, "edgekeeper")
        assert (await world.run(SETTINGS)).split() == before
        await world.run("""kubectl patch webapp shop --type merge --patch '{"spec": {"text": "bye"}}'""")
        await world.until_printed(SETTINGS, " bye")
        assert (await world.run(SETTINGS)).split()[0] == before[0], "the child is the same"
