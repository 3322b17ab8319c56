"""`edgekeeper plan` of instances that ResourceGraphDefinitions define."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.kind_options import KindSettings
from edgekeeper.cli.manifest import Manifest
from edgekeeper.cli.plan import answer
from edgekeeper.cli.plan_request import PlanRequest
from edgekeeper.core.delta import Difference
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CONFIG_MAP, SERVICE, Key, Kind
from edgekeeper.lifecycle.preview import Preview, Verdict
from kubesim.plane import Plane, PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery
from tests.composition.test_together import DEPLOYED, instantiate, set_available

COMPOSITION = KindSettings(controllers=frozenset({"resourcegraphdefinition", "graphrevision"}))
FIELDS = {"name": "string", "replicas": "integer | default=1"}


async def planned(
    scene: DefinitionScene,
    *instances: tuple[str, str],
    namespace: str = "",
    kinds: KindSettings = COMPOSITION,
    manifests: Sequence[JsonObject] = (),
    **values: Any,
) -> list[Preview]:
    """The plans of these instances, of these manifests, or of all instances, with values of flags."""
    request = PlanRequest(
        namespace=namespace or "default",
        only_namespace=bool(namespace),
        instances=instances,
        manifests=tuple(Manifest(body, Path("shop.yaml")) for body in manifests),
    )
    return await answer(request, replace(kinds, values=values), scene.cluster.connect(), None)


def told(previews: Sequence[Preview]) -> list[tuple[str, str, Verdict, list[str]]]:
    return [(one.kind, str(one.key), one.verdict, [str(step) for step in one.steps]) for one in previews]


@virtual_time
async def test_plan_has_the_pending_children_of_instances() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition("web-apps", *DEPLOYED, spec=FIELDS))
            await instantiate(scene, "shop")
            await set_available(scene, 1)
            assert told(await planned(scene)) == [("WebApp", "default/shop", Verdict.SETTLED, [])]
        await scene.user.delete(SERVICE, Key("default", "shop"))
        pending = ("WebApp", "default/shop", Verdict.CHANGES, ["create Service default/shop"])
        assert told(await planned(scene)) == [pending]
        assert told(await planned(scene, ("webapp", "shop"))) == [pending]
        assert told(await planned(scene, namespace="elsewhere")) == []


@virtual_time
async def test_plan_names_what_does_not_exist() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", config_map()))
        with pytest.raises(CommandError, match="there is no WebApp default/shop"):
            await planned(scene, ("webapps", "shop"))
        with pytest.raises(CommandError, match="there is no kind 'pod' that can be planned for"):
            await planned(scene, ("pod", "shop"))


def written(name: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "WebApp",
        "metadata": {"name": name},
        "spec": {"name": name, **spec},
    }


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}}


@virtual_time
async def test_plan_of_manifests_has_the_children_that_applying_them_would_change() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", *DEPLOYED, spec=FIELDS))
        await instantiate(scene, "shop")
        await set_available(scene, 1)
        before = await scene.user.get(WEB_APP, Key("default", "shop"))
        found = await planned(scene, manifests=[NAMESPACE, written("shop", replicas=3), written("new")])
        creating = ["create Deployment default/new", "wait for resource service"]
        changing = ["update Deployment default/shop", "wait for resource service"]
        assert told(found) == [
            ("WebApp", "default/new", Verdict.CHANGES, creating),
            ("WebApp", "default/shop", Verdict.CHANGES, changing),
        ]
        assert list(found[1].steps[0].changes()) == [Difference("spec.replicas", 1, 3)]
        (unchanged,) = await planned(scene, manifests=[written("shop")])
        assert unchanged.verdict is Verdict.SETTLED
        assert await scene.user.get(WEB_APP, Key("default", "shop")) == before
        with pytest.raises(NotFoundError):
            await scene.user.get(WEB_APP, Key("default", "new"))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"replicas": "many"}, "spec.replicas: Invalid value"),
        ({"colour": "red"}, "unknown field spec.colour"),
    ],
    ids=["wrong type", "unknown field"],
)
@virtual_time
async def test_plan_refuses_manifests_that_the_server_would_refuse(spec: dict[str, Any], why: str) -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", config_map(), spec=FIELDS))
        ((verdict, reason, message),) = refusals(await planned(scene, manifests=[written("new", **spec)]))
        assert (verdict, reason) == (Verdict.REFUSED, "Invalid")
        assert why in message


@virtual_time
async def test_plan_of_manifests_of_other_kinds_only_is_refused() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", config_map()))
        with pytest.raises(CommandError, match="no instance of a kind that the cluster defines"):
            await planned(scene, manifests=[NAMESPACE])
        manifest = written("new")
        manifest["metadata"]["namespace"] = "default"
        with pytest.raises(CommandError, match="WebApp default/new is not in elsewhere"):
            await planned(scene, manifests=[manifest], namespace="elsewhere")


ELSEWHERE = Kind("example.com", "v1alpha1", "WebApp", "webapps")
ITEMS = {
    "id": "parts",
    "forEach": [{"part": "${schema.spec.parts}"}],
    "template": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "${schema.spec.name}-${part}", "namespace": "${schema.spec.where}"},
    },
}
PARTS = {
    "name": "string",
    "parts": '[]string | default=["a","b"]',
    "where": "string | default=other",
}


def refusals(previews: Sequence[Preview]) -> list[tuple[Verdict, str, str]]:
    return [(one.verdict, one.error.reason, one.error.message) for one in previews if one.error is not None]


async def reported_by_operator(scene: DefinitionScene, type_: str) -> tuple[str, str]:
    """Reason and message of a condition of the shop."""
    shop = await scene.user.get(WEB_APP, Key("default", "shop"))
    found = [one for one in shop["status"]["conditions"] if one["type"] == type_]
    return found[0]["reason"], found[0]["message"]


@pytest.mark.parametrize(
    "limits",
    [{"composition_allowed_namespaces": ("default",)}, {"rgd_max_collection_size": 1}],
    ids=["namespaces", "collection size"],
)
@virtual_time
async def test_plan_obeys_the_limits_of_the_installation_as_the_operator_does(limits: dict[str, Any]) -> None:
    async with scenery() as scene, scene.operating(**limits):
        await scene.create(definition("web-apps", ITEMS, spec=PARTS))
        await instantiate(scene, "shop")
        reported = await reported_by_operator(scene, "Ready")
        assert refusals(await planned(scene, **limits)) == [(Verdict.REFUSED, *reported)]
        assert told(await planned(scene))[0][2] is Verdict.CHANGES


@virtual_time
async def test_plan_refuses_kinds_that_are_not_allowed_as_the_operator_does() -> None:
    limits: dict[str, Any] = {"composition_allowed_kinds": ("Service",)}
    shop = Key("default", "shop")
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await instantiate(scene, "shop")
        async with scene.operating(**limits):
            await scene.settle()
            reported = await reported_by_operator(scene, "GraphResolved")
            assert refusals(await planned(scene, **limits)) == [(Verdict.REFUSED, *reported)]
            assert "kind ConfigMap is not allowed" in reported[1]
        await scene.user.delete(WEB_APP, shop)
        deleted = ("WebApp", "default/shop", Verdict.CHANGES, ["delete ConfigMap default/shop"])
        assert told(await planned(scene, **limits)) == [deleted]


@virtual_time
async def test_plan_has_for_each_kind_the_graph_of_its_own_definition() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition("apps-here", config_map()))
            await scene.create(
                definition(
                    "apps-there", config_map("config", "${schema.spec.name}-there"), group="example.com"
                )
            )
            await scene.create(definition("apps-too-late", config_map("late", "${schema.spec.name}-late")))
            await instantiate(scene, "shop")
            await instantiate(scene, "shop", ELSEWHERE)
            assert {one[2] for one in told(await planned(scene))} == {Verdict.SETTLED}
        for name in ("shop", "shop-there"):
            await scene.user.delete(CONFIG_MAP, Key("default", name))
        here = ("WebApp", "default/shop", Verdict.CHANGES, ["create ConfigMap default/shop"])
        there = ("WebApp", "default/shop", Verdict.CHANGES, ["create ConfigMap default/shop-there"])
        assert sorted(told(await planned(scene))) == [here, there]
        assert told(await planned(scene, ("webapp.kro.run", "shop"))) == [here]
        assert told(await planned(scene, ("webapps.example.com", "shop"))) == [there]
        with pytest.raises(CommandError, match="there are several kinds 'webapp'") as caught:
            await planned(scene, ("webapp", "shop"))
        assert caught.value.remedy == "say WebApp.example.com or WebApp.kro.run"


@virtual_time
async def test_plan_of_everything_has_instances_where_only_compositions_are_installed() -> None:
    name = "cloudflarezerotrustoperatorconfig"
    kinds = KindSettings(controllers=frozenset({name, "resourcegraphdefinition", "graphrevision"}))
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await instantiate(scene, "shop")
        assert told(await planned(scene, kinds=kinds)) == [("WebApp", "default/shop", Verdict.SETTLED, [])]
        others = KindSettings(controllers=frozenset({name}))
        with pytest.raises(CommandError, match="the cluster does not serve"):
            await planned(scene, kinds=others)
        with pytest.raises(CommandError, match="the cluster does not serve"):
            await planned(scene, kinds=kinds, composition="off")
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        with pytest.raises(CommandError, match="the cluster does not serve"):
            await answer(PlanRequest(), kinds, InProcessTransport(plane), None)
