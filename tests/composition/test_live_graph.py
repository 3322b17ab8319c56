"""`edgekeeper graph --live`: the states of an instance's resources, as they are in a cluster; nothing is written."""

from __future__ import annotations

import pytest

from edgekeeper.cli.explain import answer
from edgekeeper.cli.graph import drawn
from edgekeeper.controllers.composition.live_states import LiveInstance, UnknownInstanceError, read_instance
from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE, Key, Kind
from kubesim.plane.plane import PlaneConfig
from kubesim.plane.request import User
from kubesim.virtual import LoopClock, virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery
from tests.composition.definitions.test_rights import grant
from tests.composition.test_together import DEPLOYED, instantiate, set_available

FIELDS = {"name": "string", "replicas": "integer | default=1", "public": "boolean | default=true"}
RESOURCES = [
    {
        "id": "shared",
        "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}},
    },
    *DEPLOYED,
    {**config_map("notes", "${service.metadata.name}-notes"), "includeWhen": ["${schema.spec.public}"]},
    {
        "id": "all",
        "externalRef": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"selector": {"matchLabels": {"team": "edge"}}},
        },
    },
]


class _Writes:
    """Counts what changes something."""

    def __init__(self) -> None:
        self.count = 0

    async def before(self, call: CallRecord) -> None:
        self.count += call.mutating

    async def after(self, call: CallRecord) -> None: ...


async def look(scene: DefinitionScene, kind: str = "webapp", name: str = "shop") -> LiveInstance:
    calls, writes = Calls(), _Writes()
    calls.hooks.append(writes)
    client = KubeClient(scene.cluster.connect(), calls, scene.clock)
    try:
        return await read_instance(client, scene.clock, kind, name, "default")
    finally:
        await client.close()
        assert writes.count == 0


async def share(scene: DefinitionScene) -> None:
    body = {"metadata": {"name": "shared", "labels": {"team": "edge"}}}
    await scene.user.create(CONFIG_MAP, body, namespace="default")
    await scene.settle()


@each_server
async def test_states_of_resources_follow_the_instance() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", *RESOURCES, spec=FIELDS))
        await instantiate(scene, "shop")
        live = await look(scene)
        assert live.states == {
            "shared": "Waiting",
            "deployment": "NotReady",
            "service": "Waiting",
            "notes": "Waiting",
            "all": "Ready",
        }
        text = drawn(live, "text")
        assert "WebApp default/shop is IN_PROGRESS" in text
        assert "shared: resource shared waits for ConfigMap default/shared to exist" in text
        assert "deployment: resource deployment: Deployment default/shop is not ready" in text
        await share(scene)
        await set_available(scene, 1)
        assert set((await look(scene)).states.values()) == {"Ready"}
        await scene.user.merge_patch(WEB_APP, Key("default", "shop"), {"spec": {"public": False}})
        await scene.settle()
        live = await look(scene)
        assert live.states["notes"] == "Excluded"
        assert 'n_notes["notes<br/>v1 ConfigMap<br/>includeWhen<br/>Excluded"]' in drawn(live, "mermaid")
        assert ">Excluded</text>" in drawn(live, "svg")


@virtual_time
async def test_objects_that_are_missing_or_changed_while_nobody_runs_are_named() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition("web-apps", *DEPLOYED, spec=FIELDS))
            await instantiate(scene, "shop")
            await set_available(scene, 1)
        await scene.user.delete(SERVICE, Key("default", "shop"))
        assert (await look(scene)).states == {"deployment": "Ready", "service": "Missing"}
        await scene.user.merge_patch(DEPLOYMENT, Key("default", "shop"), {"spec": {"replicas": 7}})
        assert (await look(scene)).states == {"deployment": "Outdated", "service": "Waiting"}


@virtual_time
async def test_graph_is_that_of_the_revision_in_force() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await instantiate(scene, "shop")
        await scene.edit(resources=[config_map(a="${unknown.spec}")])
        assert (await look(scene)).states == {"config": "Ready"}


@virtual_time
async def test_instance_that_is_not_there_is_an_error_that_says_what_there_is() -> None:
    async with scenery() as scene, scene.operating():
        with pytest.raises(UnknownInstanceError, match="defines webapp: there is none at all"):
            await look(scene)
        await scene.create(definition())
        with pytest.raises(UnknownInstanceError, match="defines site: there are WebApp"):
            await look(scene, "site")
        with pytest.raises(UnknownInstanceError, match="WebApp default/shop does not exist"):
            await look(scene)


@virtual_time
async def test_kind_of_several_groups_is_named_with_its_group() -> None:
    elsewhere = Kind("example.com", "v1alpha1", "WebApp", "webapps")
    async with scenery() as scene, scene.operating():
        await scene.create(definition("a", config_map("here")))
        await scene.create(definition("b", config_map("there", "there"), group="example.com"))
        await instantiate(scene, "shop")
        await instantiate(scene, "shop", elsewhere)
        choices = "define webapp: say WebApp.example.com or WebApp.kro.run"
        with pytest.raises(UnknownInstanceError, match=choices):
            await look(scene)
        assert (await look(scene, "webapp.kro.run")).states == {"here": "Ready"}
        live = await look(scene, "WebApp.example.com")
        assert (live.kind, live.states) == (elsewhere, {"there": "Ready"})


@virtual_time
async def test_explanation_follows_the_graph_of_the_right_group() -> None:
    elsewhere = Kind("example.com", "v1alpha1", "WebApp", "webapps")
    failing = {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable"}
    async with scenery() as scene, scene.operating():
        await scene.create(definition("a", config_map("here")))
        await scene.create(definition("b", *DEPLOYED, spec=FIELDS, group="example.com"))
        await instantiate(scene, "shop", elsewhere)
        status = {"status": {"conditions": [failing]}}
        await scene.user.merge_patch(DEPLOYMENT, Key("default", "shop"), status, subresource="status")
        await scene.settle()
        found = await answer(scene.user, scene.clock, "webapp.example.com", "shop", "default")
        assert [one.role for one in found.causes] == ["resource deployment"]


@virtual_time
async def test_kind_that_may_not_be_read_is_said_of_its_resource_alone() -> None:
    config = PlaneConfig(
        simulators=frozenset(),
        gateway_api=False,
        now=LoopClock().now,
        auth=True,
        tokens={"of-a-reader": User("edgekeeper", ())},
    )
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "${schema.spec.name}"}}
    async with scenery(config) as scene:
        async with scene.operating():
            await scene.create(definition("web-apps", config_map(), {"id": "secret", "template": secret}))
            await instantiate(scene, "shop")
        read = {"verbs": ["get", "list"], "resources": ["*"]}
        groups = {"apiGroups": ["kro.run", "internal.kro.run"]}
        await grant(
            scene, "read", [{**read, **groups}, {**read, "apiGroups": [""], "resources": ["configmaps"]}]
        )
        discovering = {"nonResourceURLs": ["/api", "/apis", "/openapi/*"], "verbs": ["get"]}
        await grant(scene, "discover", [discovering])
        client = KubeClient(scene.cluster.connect("of-a-reader"), Calls(), scene.clock)
        live = await read_instance(client, scene.clock, "WebApp", "shop", "default")
        assert live.states == {"config": "Ready", "secret": "Failed"}
        assert "secrets" in live.messages["secret"]
