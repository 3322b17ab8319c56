"""What is watched: the kinds that instances use, as long as they do, in the namespaces of the process."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.composition.world import World, composing, instance, rgd

CONFIG = (
    "{id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${schema.metadata.name}'}}}"
)
SECRET = "{id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: '${schema.metadata.name}'}}}"
ACCOUNT = "{id: account, externalRef: {apiVersion: v1, kind: ServiceAccount, metadata: {name: someone}}}"
ELSEWHERE = """
- {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: here}}}
- id: far
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-far", namespace: "${schema.spec.place}"}}
"""
REFERRING = """
- id: settings
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: "${schema.spec.place}"}}
- id: copy
  template: {apiVersion: v1, kind: Secret, metadata: {name: copy}, stringData: {text: "${settings.data.text}"}}
"""
SELECTING = """
- id: settings
  externalRef:
    apiVersion: v1
    kind: ConfigMap
    metadata: {namespace: "${schema.spec.place}", selector: {matchLabels: {role: settings}}}
- id: copy
  template: {apiVersion: v1, kind: Secret, metadata: {name: copy}, stringData: {count: "${string(size(settings))}"}}
"""


def watched(world: World) -> set[str]:
    """The built-in kinds that are watched."""
    assert world.informers is not None
    return {one.kind.plural for one in world.informers if not one.kind.group}


def places(world: World, plural: str) -> set[str]:
    assert world.informers is not None
    return {one.selection.namespace for one in world.informers if one.kind.plural == plural}


@virtual_time
async def test_kind_that_no_definition_uses_any_more_is_no_longer_watched() -> None:
    async with composing() as world:
        await world.define(rgd("apps", "App", "{}", f"[{CONFIG}, {SECRET}, {ACCOUNT}]"))
        await world.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "someone"}})
        assert watched(world) == set()
        await world.apply(instance("App", "demo"))
        await world.settle()
        assert watched(world) == {"configmaps", "secrets", "serviceaccounts"}
        await world.define(rgd("apps", "App", "{}", f"[{CONFIG}]"))
        await world.settle()
        assert not await world.exists("Secret", "demo"), "it was pruned before"
        assert watched(world) == {"configmaps"}
        assert await world.state("App", "demo") == "ACTIVE"


@virtual_time
async def test_kinds_are_watched_until_the_last_instance_that_uses_them_is_gone() -> None:
    async with composing() as world:
        await world.define(rgd("apps", "App", "{}", f"[{CONFIG}]"))
        await world.define(rgd("vaults", "Vault", "{}", f"[{CONFIG}, {SECRET}]"))
        await world.apply(instance("App", "app"))
        await world.apply(instance("Vault", "vault"))
        await world.settle()
        await world.delete("Vault", "vault")
        await world.settle()
        assert watched(world) == {"configmaps"}
        await world.delete("ConfigMap", "app")
        await world.settle()
        assert await world.exists("ConfigMap", "app"), "drift is seen"
        await world.delete("App", "app")
        await world.settle()
        assert watched(world) == set()
        await world.apply(instance("Vault", "again"))
        await world.settle()
        assert await world.state("Vault", "again") == "ACTIVE"


@virtual_time
async def test_instance_that_lost_its_finalizer_is_forgotten_when_it_is_gone() -> None:
    async with composing() as world:
        await world.define(rgd("apps", "App", "{}", f"[{CONFIG}]"))
        await world.apply(instance("App", "demo"))
        await world.settle()
        await world.patch("App", "demo", {"metadata": {"annotations": {"kro.run/reconcile": "suspended"}}})
        await world.settle()
        await world.patch("App", "demo", {"metadata": {"finalizers": []}})
        await world.delete("App", "demo")
        await world.settle()
        assert not await world.exists("App", "demo")
        assert world.controllers is not None
        assert world.controllers.world.size == 0
        assert watched(world) == set()


@virtual_time
async def test_withdrawn_definition_leaves_no_watch_behind() -> None:
    async with composing() as world:
        await world.define(rgd("apps", "App", "{}", f"[{CONFIG}, {ACCOUNT}]"))
        await world.apply(instance("App", "demo"))
        await world.settle()
        world.withdraw("apps")
        await world.settle()
        assert watched(world) == set()


@virtual_time
async def test_instances_follow_the_watched_namespaces() -> None:
    async with composing(operating=False) as world:
        await world.namespace("one", "two")
        world.namespaces = ("one",)
        async with world.operating() as controllers:
            await world.define(rgd("farms", "Farm", "{place: string}", ELSEWHERE))
            await world.apply(instance("Farm", "first", {"place": "two"}, namespace="one"))
            await world.apply(instance("Farm", "second", {"place": "two"}, namespace="two"))
            await world.settle()
            found = (await world.conditions("Farm", "one/first"))["Ready"]
            assert found["reason"] == "NamespaceNotPermitted"
            assert "status" not in await world.get("Farm", "two/second")
            assert places(world, "configmaps") == {"one"}
            controllers.set_namespaces(("one", "two"))
            await world.settle()
            assert await world.state("Farm", "one/first") == "ACTIVE"
            assert places(world, "configmaps") == places(world, "farms") == {"one", "two"}
            await world.delete("ConfigMap", "two/first-far")
            await world.settle()
            assert await world.exists("ConfigMap", "two/first-far"), "drift is seen"
            controllers.set_namespaces(())
            await world.settle()
            assert places(world, "configmaps") == places(world, "farms") == {""}
            assert await world.state("Farm", "one/first") == "ACTIVE"


@virtual_time
async def test_namespace_that_is_no_longer_watched_is_left_as_it_is_and_blocks_deletions() -> None:
    async with composing(operating=False) as world:
        await world.namespace("one", "two")
        async with world.operating() as controllers:
            await world.define(rgd("farms", "Farm", "{place: string}", ELSEWHERE))
            await world.apply(instance("Farm", "demo", {"place": "two"}, namespace="one"))
            await world.settle()
            assert await world.state("Farm", "one/demo") == "ACTIVE"
            controllers.set_namespaces(("one",))
            await world.settle()
            assert await world.exists("ConfigMap", "two/demo-far")
            await world.delete("Farm", "one/demo")
            await world.settle(30)
            found = (await world.conditions("Farm", "one/demo"))["ResourcesReady"]
            assert found["reason"] == "NamespaceNotWatched"
            assert found["message"] == (
                "deletion is blocked: configmaps in namespace two, which the operator does not watch: "
                "add it to --namespace"
            )
            assert await world.names("ConfigMap") == ["one/here", "two/demo-far"], "nothing is stranded"
            controllers.set_namespaces(("one", "two"))
            await world.settle()
            assert not await world.exists("Farm", "one/demo")
            assert await world.names("ConfigMap") == []


@virtual_time
async def test_reference_outside_the_watched_namespaces_says_so() -> None:
    async with composing(operating=False) as world:
        await world.namespace("one", "two")
        metadata = {"name": "settings", "namespace": "two", "labels": {"role": "settings"}}
        await world.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": "a"}}
        )
        world.namespaces = ("one",)
        async with world.operating() as controllers:
            await world.define(rgd("namers", "Namer", "{place: string}", REFERRING))
            await world.define(rgd("choosers", "Chooser", "{place: string}", SELECTING))
            for kind in ("Namer", "Chooser"):
                await world.apply(instance(kind, "demo", {"place": "two"}, namespace="one"))
            await world.settle()
            for kind in ("Namer", "Chooser"):
                found = (await world.conditions(kind, "one/demo"))["Ready"]
                assert found["reason"] == "NamespaceNotWatched"
                assert found["message"].startswith(
                    "resource settings: ConfigMap is in namespace two, which the operator does not watch"
                )
            controllers.set_namespaces(("one", "two"))
            await world.settle()
            assert await world.state("Namer", "one/demo") == "ACTIVE"
