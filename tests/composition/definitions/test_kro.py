"""Beside a running kro: compositions are left to it, and taken over when it stops."""

from __future__ import annotations

from edgekeeper.controllers.composition.definition_options import DEFINITION_CONTROLLER
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.clock import timestamp
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, LEASE, NAMESPACE, Key
from edgekeeper.runtime.validation import User
from kubesim.virtual import virtual_time
from tests.composition.definitions.scene import DefinitionScene, config_map, definition, scenery

HOME = "kro-system"
INVALID = definition("invalid", config_map(a="${unknown.spec}"), kind="Invalid")


async def install_kro(scene: DefinitionScene, *, available: int = 1) -> None:
    labels = {"app.kubernetes.io/name": "kro"}
    await scene.user.create(NAMESPACE, {"metadata": {"name": HOME}})
    await scene.user.create(
        DEPLOYMENT,
        {
            "metadata": {"name": "kro", "namespace": HOME, "labels": labels},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "kro", "image": "kro:v0.9.3"}]},
                },
            },
        },
    )
    await set_available(scene, available)


async def set_available(scene: DefinitionScene, number: int, *, settle: float = 10) -> None:
    counts = {"replicas": number, "readyReplicas": number, "availableReplicas": number}
    await scene.user.merge_patch(DEPLOYMENT, Key(HOME, "kro"), {"status": counts}, subresource="status")
    await scene.settle(settle)


@virtual_time
async def test_nothing_is_written_while_kro_is_available_in_any_namespace() -> None:
    async with scenery() as scene:
        await install_kro(scene)
        async with scene.operating(composition="auto") as operator:
            await scene.create(definition())
            await scene.settle(600)
            assert scene.writes == []
            assert "status" not in await scene.get()
            assert scene.graphs.find("web-apps") is None
            (controller,) = [
                one for one in operator.manager.controllers if one.options.name == DEFINITION_CONTROLLER
            ]
            assert controller.options.validator is not None
            assert not await controller.options.validator.validate(None, INVALID, User()), "kro judges"
            await set_available(scene, 0)
            assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_held_lease_of_kro_counts_as_running_until_it_expires() -> None:
    async with scenery() as scene:
        await install_kro(scene, available=0)
        spec = {
            "holderIdentity": "kro-1",
            "leaseDurationSeconds": 15,
            "renewTime": timestamp(scene.clock.now()).replace("Z", ".000000Z"),
        }
        await scene.user.create(
            LEASE, {"metadata": {"name": "6f0f64a5.kro.run", "namespace": HOME}, "spec": spec}
        )
        async with scene.operating(composition="auto"):
            await scene.create(definition())
            assert scene.writes == []
            await scene.settle(60)
            assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_composition_that_is_on_does_not_look_for_kro() -> None:
    async with scenery() as scene:
        await install_kro(scene)
        async with scene.operating(composition="on"):
            await scene.create(definition())
            assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_kro_elsewhere_does_not_count_where_its_namespace_is_given() -> None:
    async with scenery() as scene:
        await install_kro(scene)
        async with scene.operating(composition="auto", kro_namespace="elsewhere"):
            await scene.create(definition())
            await scene.settle()
            assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_definitions_of_kro_are_taken_over_without_a_new_revision() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
        crd = await scene.crd()
        del crd["metadata"]["annotations"]
        crd["metadata"]["labels"]["kro.run/kro-version"] = "v0.9.1"
        await scene.user.replace(CUSTOM_RESOURCE_DEFINITION, Key("", "webapps.kro.run"), crd)
        legacy: JsonObject = {
            "type": "ResourceGraphAccepted",
            "status": "True",
            "reason": "Valid",
            "message": "",
        }
        legacy |= {"lastTransitionTime": timestamp(scene.clock.now()), "observedGeneration": 1}
        await scene.user.merge_patch(
            DEFINITION_KIND, Key("", "web-apps"), {"status": {"conditions": [legacy]}}, subresource="status"
        )
        scene.writes.clear()
        async with scene.operating():
            await scene.settle()
        assert await scene.numbers() == [1]
        assert (await scene.status())["state"] == "Active"
        assert "ResourceGraphAccepted" not in await scene.conditions()
        assert scene.writes.count("PATCH customresourcedefinitions webapps.kro.run") == 1
