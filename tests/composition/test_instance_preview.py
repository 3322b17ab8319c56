"""The preview of an instance: which children its next passes would change, in which fields, and what is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.controllers.composition.comparison import value_covers
from edgekeeper.controllers.composition.instance_preview import InstancePreviewer, child_differences
from edgekeeper.controllers.composition.live_states import read_instance
from edgekeeper.core.calls import Calls
from edgekeeper.core.delta import ABSENT, ChangedField, Difference, changed_fields
from edgekeeper.core.json import JsonObject
from edgekeeper.core.redaction import REDACTED
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import DEPLOYMENT, SERVICE, Key
from edgekeeper.lifecycle.preview import Preview, Verdict
from kubesim.virtual import virtual_time
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery
from tests.composition.test_together import DEPLOYED, instantiate, set_available

FIELDS = {"name": "string", "replicas": "integer | default=1", "public": "boolean | default=true"}
NOTES = {**config_map("notes", "${schema.spec.name}-notes"), "includeWhen": ["${schema.spec.public}"]}
SHOP = Key("default", "shop")


async def preview(scene: DefinitionScene) -> Preview:
    client = KubeClient(scene.cluster.connect(), Calls(), scene.clock)
    try:
        live = await read_instance(client, scene.clock, "WebApp", "shop", "default")
        previewer = InstancePreviewer(client, Discovery(client, scene.clock))
        return await previewer.preview(live.graph, live.kind, live.key, live.object)
    finally:
        await client.close()


def told(found: Preview) -> list[tuple[str, str, Sequence[Any]]]:
    return [(str(step), step.reason, step.changes()) for step in found.steps]


@virtual_time
async def test_instance_that_is_as_declared_has_no_steps() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", *DEPLOYED, NOTES, spec=FIELDS))
        await instantiate(scene, "shop")
        await set_available(scene, 1)
        found = await preview(scene)
        assert (found.verdict, told(found)) == (Verdict.SETTLED, [])


@virtual_time
async def test_children_that_are_missing_changed_or_not_wanted_are_steps() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition("web-apps", *DEPLOYED, NOTES, spec=FIELDS))
            await instantiate(scene, "shop")
            await set_available(scene, 1)
        await scene.user.delete(SERVICE, SHOP)
        found = await preview(scene)
        created = ("create Service default/shop", "resource service of the graph wants it", ())
        assert (found.verdict, told(found)) == (Verdict.CHANGES, [created])
        await scene.user.merge_patch(DEPLOYMENT, SHOP, {"spec": {"replicas": 7}})
        changed, waiting = told(await preview(scene))
        assert changed == (
            "update Deployment default/shop",
            "it is not as resource deployment of the graph says",
            (Difference("spec.replicas", 7, 1),),
        )
        assert waiting[0] == "wait for resource service"
        assert "waits for deployment" in waiting[1]


@virtual_time
async def test_child_that_is_not_wanted_any_more_is_deleted() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition("web-apps", *DEPLOYED, NOTES, spec=FIELDS))
            await instantiate(scene, "shop")
            await set_available(scene, 1)
        await scene.user.merge_patch(WEB_APP, SHOP, {"spec": {"public": False}})
        assert told(await preview(scene)) == [
            ("delete ConfigMap default/shop-notes", "the instance does not want it any more", ())
        ]


@virtual_time
async def test_deletion_lists_all_children_the_last_first() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition("web-apps", *DEPLOYED, spec=FIELDS))
            await instantiate(scene, "shop")
            await set_available(scene, 1)
        await scene.user.delete(WEB_APP, SHOP)
        found = await preview(scene)
        assert (found.verdict, found.deleting) == (Verdict.CHANGES, True)
        assert [one[0] for one in told(found)] == [
            "delete Service default/shop",
            "delete Deployment default/shop",
        ]


@virtual_time
async def test_instance_that_waits_or_is_paused_says_so() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", *DEPLOYED, spec=FIELDS))
        await instantiate(scene, "shop")
        found = await preview(scene)
        assert found.verdict is Verdict.WAITING
        assert [one[0] for one in told(found)] == [
            "wait for resource deployment",
            "wait for resource service",
        ]
        paused = {"metadata": {"annotations": {"edgekeeper.io/paused": "true"}}}
        await scene.user.merge_patch(WEB_APP, SHOP, paused)
        assert (await preview(scene)).verdict is Verdict.PAUSED


async def installed(scene: DefinitionScene) -> None:
    """A shop that was reconciled, and an operator that does not run any more."""
    async with scene.operating():
        await scene.create(definition("web-apps", *DEPLOYED, spec=FIELDS))
        await instantiate(scene, "shop")
        await set_available(scene, 1)


@pytest.mark.parametrize(
    ("annotations", "verdict", "removed"),
    [
        ({"kro.run/reconcile": "suspended"}, Verdict.CHANGES, True),
        ({"edgekeeper.io/paused": "true"}, Verdict.PAUSED, False),
    ],
    ids=["suspended", "paused"],
)
@virtual_time
async def test_deletion_of_a_suspended_instance_goes_on_and_that_of_a_paused_one_does_not(
    annotations: dict[str, str], verdict: Verdict, removed: bool
) -> None:
    async with scenery() as scene:
        await installed(scene)
        await scene.user.merge_patch(WEB_APP, SHOP, {"metadata": {"annotations": annotations}})
        assert (await preview(scene)).verdict is Verdict.PAUSED
        await scene.user.delete(WEB_APP, SHOP)
        assert (await preview(scene)).verdict is verdict
        async with scene.operating():
            await scene.settle()
            assert (await scene.find(SERVICE, "shop") is None) == removed


@virtual_time
async def test_child_that_is_being_deleted_is_waited_for() -> None:
    async with scenery() as scene:
        await installed(scene)
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        for kind in (SERVICE, DEPLOYMENT):
            await scene.user.merge_patch(kind, SHOP, held)
        await scene.user.delete(SERVICE, SHOP)
        await scene.user.delete(WEB_APP, SHOP)
        found = await preview(scene)
        assert found.verdict is Verdict.CHANGES
        assert told(found) == [
            (
                "wait until Service default/shop is gone",
                "Service default/shop is held by example.com/held",
                (),
            ),
            ("delete Deployment default/shop", "the instance is being deleted", ()),
        ]
        await scene.user.delete(DEPLOYMENT, SHOP)
        assert (await preview(scene)).verdict is Verdict.WAITING


@virtual_time
async def test_instance_that_is_being_deleted_without_our_finalizer_is_settled() -> None:
    async with scenery() as scene:
        await installed(scene)
        finalizers = {"metadata": {"finalizers": ["example.com/held"]}}
        await scene.user.merge_patch(WEB_APP, SHOP, finalizers)
        await scene.user.delete(WEB_APP, SHOP)
        found = await preview(scene)
        assert (found.verdict, found.deleting, told(found)) == (Verdict.SETTLED, True, [])


def secret(**data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": data}


def pod(*env: JsonObject) -> JsonObject:
    spec = {"containers": [{"name": "app", "env": list(env)}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize(
    ("wanted", "live", "expected"),
    [
        (secret(a="bmV3"), secret(a="b2xk", b="eA=="), ChangedField("data.a", REDACTED, REDACTED)),
        (secret(a="bmV3"), secret(), ChangedField("data.a", None, REDACTED)),
        (secret(a="bmV3"), {**secret(), "data": None}, ChangedField("data", None, f'{{"a": "{REDACTED}"}}')),
        (
            pod({"name": "DB_PASSWORD", "value": "new-pw"}),
            pod({"name": "DB_PASSWORD", "value": "old-pw"}),
            ChangedField("spec.containers[0].env[0].value", REDACTED, REDACTED),
        ),
    ],
)
def test_values_of_secrets_are_not_shown(
    wanted: JsonObject, live: JsonObject, expected: ChangedField
) -> None:
    assert changed_fields(child_differences(wanted, live), 10) == [expected]


def test_quantities_that_are_written_otherwise_are_no_difference() -> None:
    wanted = {"apiVersion": "v1", "kind": "Pod", "spec": {"cpu": "1000m", "memory": "1Gi"}}
    live = {"apiVersion": "v1", "kind": "Pod", "spec": {"cpu": "1", "memory": "2Gi", "node": "n"}}
    assert list(child_differences(wanted, live)) == [Difference("spec.memory", "2Gi", "1Gi")]


def containers(*entries: JsonObject) -> JsonObject:
    return {**pod(), "spec": {"containers": list(entries)}}


APP = {"name": "app", "image": "a:1", "ports": [{"containerPort": 80}]}
SERVED_APP = {**APP, "imagePullPolicy": "Always", "ports": [{"containerPort": 80, "protocol": "TCP"}]}
SIDECAR = {"name": "sidecar", "image": "s"}


@pytest.mark.parametrize(
    ("wanted", "live", "expected"),
    [
        (containers(APP), containers(SIDECAR, SERVED_APP), []),
        (containers(APP, SIDECAR), containers(SIDECAR, SERVED_APP), []),
        (
            containers({**APP, "image": "a:2"}),
            containers(SIDECAR, SERVED_APP),
            [Difference("spec.containers[0].image", "a:1", "a:2")],
        ),
        (
            containers(SIDECAR, {"name": "new"}, APP),
            containers(SERVED_APP, SIDECAR),
            [Difference("spec.containers[1]", ABSENT, {"name": "new"})],
        ),
        (
            containers({**APP, "args": ["a"]}),
            containers({**SERVED_APP, "args": ["a", "b"]}),
            [Difference("spec.containers[0].args[1]", "b", ABSENT)],
        ),
        (containers({**APP, "env": [], "resources": {}}), containers(SERVED_APP), []),
    ],
    ids=["entry of others", "another order", "changed", "added", "list without keys", "empty values"],
)
def test_entries_of_lists_are_compared_by_their_keys(
    wanted: JsonObject, live: JsonObject, expected: list[Difference]
) -> None:
    assert list(child_differences(wanted, live)) == expected


def _named(entries: dict[str, Any]) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in entries.items()]


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["", "1", "1k", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3).map(_named)
    ),
    max_leaves=12,
)


def _added_to(value: Any) -> Any:
    """What the server and others make of a value: more fields, more entries in another order."""
    if isinstance(value, dict):
        return {**{key: _added_to(inner) for key, inner in value.items()}, "added": 1}
    if not isinstance(value, list):
        return value
    entries = [_added_to(one) for one in value]
    keyed = value and all(isinstance(one, dict) and "name" in one for one in value)
    return [{"name": "added"}, *reversed(entries)] if keyed else entries


@given(TREES, TREES)
def test_object_that_has_all_that_is_wanted_has_no_differences(tree: Any, other: Any) -> None:
    wanted = {**pod(), "spec": tree}
    for spec in (_added_to(tree), other):
        live = {**pod(), "spec": spec}
        if value_covers(live, wanted):
            assert list(child_differences(wanted, live)) == []
