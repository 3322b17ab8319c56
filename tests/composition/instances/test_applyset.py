"""The inventory of an instance, the marks on its children, and what is pruned."""

from __future__ import annotations

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.instance_plan import Address
from edgekeeper.controllers.composition.inventory import GROUP_KINDS, HASH, NAMESPACES, TOOLING, apply_set_id
from edgekeeper.controllers.composition.watched import PATIENCE
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import World, composing, instance, rgd

PAIR = rgd(
    "pairs",
    "Pair",
    "{name: string, second: boolean | default=true, text: string | default=a}",
    """
- id: first
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.spec.name}-first"}, data: {text: "${schema.spec.text}"}}
- id: second
  includeWhen: ["${schema.spec.second}"]
  template:
    apiVersion: v1
    kind: Secret
    metadata: {name: "${schema.spec.name}-second", labels: {team: edge}}
    stringData: {text: "${first.data.text}"}
""",
)


def _metadata(obj: JsonObject) -> tuple[dict[str, str], dict[str, str]]:
    return obj["metadata"].get("labels", {}), obj["metadata"].get("annotations", {})


async def _paired(world: World, name: str = "demo", **spec: object) -> None:
    await world.define(PAIR)
    await world.apply(instance("Pair", name, {"name": name, **spec}))
    await world.settle()


@each_server
async def test_instance_and_children_carry_the_marks_of_an_apply_set() -> None:
    """The instance names itself as the parent and what it contains; each child names its parent, its node and its wave."""
    async with composing() as world:
        served = await world.define(PAIR)
        await world.apply(instance("Pair", "demo", {"name": "demo"}))
        await world.settle()
        parent = await world.get("Pair", "demo")
        marks, notes = _metadata(parent)
        wanted = apply_set_id(served.kind, Key("default", "demo"))
        assert parent["metadata"]["finalizers"] == [labels.FINALIZER]
        assert marks == {
            labels.OWNED: "true",
            labels.VERSION: labels.KRO_VERSION,
            labels.DEFINITION_ID: served.uid,
            labels.DEFINITION_NAME: "pairs",
            labels.APPLY_SET_ID: wanted,
        }
        assert notes[TOOLING] == f"kro/{labels.KRO_VERSION}"
        assert notes[GROUP_KINDS] == "ConfigMap,Secret"
        assert notes[NAMESPACES] == ""
        assert notes[HASH].startswith("sha256:")
        marks, notes = _metadata(await world.get("Secret", "demo-second"))
        assert marks == {
            "team": "edge",
            labels.OWNED: "true",
            labels.VERSION: labels.KRO_VERSION,
            labels.INSTANCE_ID: parent["metadata"]["uid"],
            labels.INSTANCE_NAME: "demo",
            labels.INSTANCE_NAMESPACE: "default",
            labels.INSTANCE_GROUP: "kro.run",
            labels.INSTANCE_VERSION: "v1alpha1",
            labels.INSTANCE_KIND: "Pair",
            labels.NODE_ID: "second",
            labels.MANAGED_BY: "kro",
            labels.PART_OF: wanted,
        }
        assert notes[labels.APPLY_ORDER] == "2"
        assert _metadata(await world.get("ConfigMap", "demo-first"))[1][labels.APPLY_ORDER] == "1"


@each_server
async def test_child_is_pruned_when_its_condition_no_longer_holds() -> None:
    async with composing() as world:
        await _paired(world)
        assert await world.children("Pair", "demo") == {
            "ConfigMap default/demo-first",
            "Secret default/demo-second",
        }
        await world.patch("Pair", "demo", {"spec": {"second": False}})
        await world.settle()
        assert await world.children("Pair", "demo") == {"ConfigMap default/demo-first"}
        assert await world.state("Pair", "demo") == "ACTIVE"


@each_server
async def test_inventory_grows_before_and_shrinks_after_the_children() -> None:
    """Of kinds and of namespaces."""
    async with composing() as world:
        await world.namespace("other")
        resources = """
- {id: first, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}}}
- id: second
  includeWhen: ["${schema.spec.second}"]
  template: {apiVersion: v1, kind: Secret, metadata: {name: second, namespace: other}}
"""
        await world.define(rgd("spreads", "Spread", "{second: boolean | default=false}", resources))
        await world.apply(instance("Spread", "demo"))
        for second, kinds, namespaces in (
            (False, "ConfigMap", ""),
            (True, "ConfigMap,Secret", "other"),
            (False, "ConfigMap", ""),
        ):
            await world.patch("Spread", "demo", {"spec": {"second": second}})
            await world.settle()
            notes = _metadata(await world.get("Spread", "demo"))[1]
            assert (notes[GROUP_KINDS], notes[NAMESPACES]) == (kinds, namespaces)
            assert await world.exists("Secret", "other/second") is second


UPSTREAM = rgd(
    "chains",
    "Chain",
    "{enabled: string}",
    """
- id: source
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: source}, data: {enabled: "${schema.spec.enabled}"}}
- id: middle
  includeWhen: ["${source.data.enabled == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: middle}, data: {a: b}}
- id: last
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}, data: {a: "${middle.data.a}"}}
""",
)


@each_server
async def test_condition_on_another_resource_is_followed_when_that_changes() -> None:
    """What it excludes goes, with all that depends on it, and comes back."""
    async with composing() as world:
        await world.define(UPSTREAM)
        await world.apply(instance("Chain", "demo", {"enabled": "yes"}))
        await world.settle()
        everything = {f"ConfigMap default/{name}" for name in ("source", "middle", "last")}
        assert await world.children("Chain", "demo") == everything
        await world.patch("Chain", "demo", {"spec": {"enabled": "no"}})
        await world.settle()
        assert await world.children("Chain", "demo") == {"ConfigMap default/source"}
        assert await world.state("Chain", "demo") == "ACTIVE"
        await world.patch("Chain", "demo", {"spec": {"enabled": "yes"}})
        await world.settle()
        assert await world.children("Chain", "demo") == everything


STATUS_BACKED = rgd(
    "gates",
    "Gate",
    "{}",
    """
- id: deployment
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: gate}
    spec:
      replicas: 1
      selector: {matchLabels: {app: gate}}
      template: {metadata: {labels: {app: gate}}, spec: {containers: [{name: web, image: nginx}]}}
- id: extra
  includeWhen: ["${deployment.status.readyReplicas > 1}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: extra}, data: {a: b}}
""",
)


@each_server
async def test_condition_on_a_status_waits_for_it_and_is_followed() -> None:
    async with composing() as world:
        await world.define(STATUS_BACKED)
        await world.apply(instance("Gate", "demo"))
        await world.settle()
        assert not await world.exists("ConfigMap", "extra")
        assert await world.state("Gate", "demo") == "IN_PROGRESS"
        await world.set_status("Deployment", "gate", {"replicas": 2, "readyReplicas": 2})
        await world.settle()
        assert await world.exists("ConfigMap", "extra")
        assert await world.state("Gate", "demo") == "ACTIVE"
        await world.set_status("Deployment", "gate", {"replicas": 2, "readyReplicas": 1})
        await world.settle()
        assert not await world.exists("ConfigMap", "extra")


@each_server
async def test_pruning_leaves_children_of_other_instances_and_definitions() -> None:
    async with composing() as world:
        await world.define(UPSTREAM)
        await world.apply(instance("Chain", "other", {"enabled": "yes"}))
        await _paired(world)
        await world.apply(instance("Pair", "sibling", {"name": "sibling"}))
        await world.settle()
        await world.patch("Pair", "demo", {"spec": {"second": False}})
        await world.settle()
        assert await world.children("Pair", "demo") == {"ConfigMap default/demo-first"}
        assert len(await world.children("Pair", "sibling")) == 2
        assert len(await world.children("Chain", "other")) == 3


@each_server
async def test_labels_and_annotations_of_users_stay_on_the_instance() -> None:
    async with composing() as world:
        await world.define(PAIR)
        written = instance("Pair", "demo", {"name": "demo"})
        written["metadata"] |= {
            "labels": {"mine": "l"},
            "annotations": {"mine": "a"},
            "finalizers": ["user.io/f"],
        }
        await world.apply(written)
        await world.settle()
        parent = await world.get("Pair", "demo")
        marks, notes = _metadata(parent)
        assert (marks["mine"], notes["mine"]) == ("l", "a")
        assert sorted(parent["metadata"]["finalizers"]) == [labels.FINALIZER, "user.io/f"]
        world.requests.clear()
        await world.patch("Pair", "demo", {"metadata": {"labels": {"mine": "m"}}})
        await world.settle()
        assert world.requests.writes == []


@each_server
async def test_resource_that_left_the_definition_is_pruned_though_another_is_not_ready() -> None:
    """Not ready is not unknown: all that is wanted is applied, so that the rest may go."""
    async with composing() as world:
        resources = """
- {id: gone, template: {apiVersion: v1, kind: Secret, metadata: {name: gone}}}
- id: waiting
  readyWhen: ["${waiting.data.done == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: waiting}, data: {done: "no"}}
"""
        await world.define(rgd("prunings", "Pruning", "{}", resources))
        await world.apply(instance("Pruning", "demo"))
        await world.settle()
        assert len(await world.children("Pruning", "demo")) == 2
        kept = "\n".join(line for line in resources.splitlines() if "gone" not in line)
        await world.define(rgd("prunings", "Pruning", "{}", kept))
        await world.settle()
        assert await world.children("Pruning", "demo") == {"ConfigMap default/waiting"}
        assert await world.state("Pruning", "demo") == "IN_PROGRESS"
        assert _metadata(await world.get("Pruning", "demo"))[1][GROUP_KINDS] == "ConfigMap"


@virtual_time
async def test_kind_that_left_the_definition_while_nobody_ran_is_pruned() -> None:
    """The inventory on the instance remembers it."""
    async with composing(operating=False) as world:
        async with world.operating():
            await _paired(world)
        smaller = {**PAIR, "spec": {**PAIR["spec"], "resources": PAIR["spec"]["resources"][:1]}}
        await world.define(smaller)
        async with world.operating():
            await world.settle()
            assert await world.children("Pair", "demo") == {"ConfigMap default/demo-first"}


@virtual_time
async def test_nothing_is_pruned_while_something_wanted_is_unknown() -> None:
    """A resource that cannot be named yet may be the very one that would be removed."""
    async with composing() as world:
        await _paired(world)
        blocked = rgd(
            "pairs",
            "Pair",
            "{name: string, second: boolean | default=true, text: string | default=a}",
            """
- id: late
  readyWhen: ["${late.data.done == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {done: "no"}}
- id: second
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${late.data.done}"}}
""",
        )
        await world.define(blocked)
        await world.settle()
        assert await world.exists("ConfigMap", "demo-first")
        assert await world.exists("Secret", "demo-second")


@virtual_time
async def test_inventory_keeps_a_kind_until_its_last_object_is_gone() -> None:
    async with composing() as world:
        await _paired(world)
        await world.patch("Secret", "demo-second", {"metadata": {"finalizers": ["tests.io/hold"]}})
        await world.patch("Pair", "demo", {"spec": {"second": False}})
        await world.settle()
        notes = _metadata(await world.get("Pair", "demo"))[1]
        assert notes[GROUP_KINDS] == "ConfigMap,Secret"
        await world.patch("Secret", "demo-second", {"metadata": {"finalizers": None}})
        await world.settle()
        notes = _metadata(await world.get("Pair", "demo"))[1]
        assert notes[GROUP_KINDS] == "ConfigMap"
        assert not await world.exists("Secret", "demo-second")


@virtual_time
async def test_object_that_no_watch_has_shown_yet_counts_as_a_child_for_a_while() -> None:
    """The server has accepted it, so that it must be found by whoever removes children."""
    async with composing() as world:
        await _paired(world)
        assert world.controllers is not None
        children = world.controllers.world.children
        wanted = _metadata(await world.get("ConfigMap", "demo-first"))[0][labels.PART_OF]
        metadata = {
            "name": "unseen",
            "namespace": "default",
            "uid": "u-1",
            "resourceVersion": "999999",
            "labels": {labels.PART_OF: wanted},
        }
        address = Address(CONFIG_MAP, Key("default", "unseen"))
        children.note(address, {"metadata": metadata}, applied="x")
        assert set(children.of_part(CONFIG_MAP, wanted)) == {Key("default", "demo-first"), address.key}
        assert children.find(address) is not None
        await world.settle(PATIENCE + 1)
        assert set(children.of_part(CONFIG_MAP, wanted)) == {Key("default", "demo-first")}
        assert children.find(address) is None
