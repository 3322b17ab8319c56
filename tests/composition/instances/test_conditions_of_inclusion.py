"""Resources with conditions, and what depends on them."""

from __future__ import annotations

from tests.composition.cluster import each_server
from tests.composition.world import composing, instance, rgd

OPTIONAL = rgd(
    "optionals",
    "Optional",
    "{enabled: boolean | default=false}",
    """
- id: config
  includeWhen: ["${schema.spec.enabled}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {a: b}}
- id: secret
  template: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.metadata.name}"}, stringData: {a: "${config.data.a}"}}
- id: account
  template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${schema.metadata.name}"}}
""",
)


@each_server
async def test_excluded_resources_and_their_dependents_are_not_created() -> None:
    """Others are, and the instance is complete without those."""
    async with composing() as world:
        await world.define(OPTIONAL)
        await world.apply(instance("Optional", "demo"))
        await world.settle()
        assert await world.children("Optional", "demo") == {"ServiceAccount default/demo"}
        assert await world.state("Optional", "demo") == "ACTIVE"


@each_server
async def test_instance_of_which_everything_is_excluded_is_active() -> None:
    async with composing() as world:
        resources = [
            {**one, "includeWhen": ["${schema.spec.enabled}"]} for one in OPTIONAL["spec"]["resources"]
        ]
        await world.define({**OPTIONAL, "spec": {**OPTIONAL["spec"], "resources": resources}})
        await world.apply(instance("Optional", "demo"))
        await world.settle()
        assert await world.children("Optional", "demo") == set()
        assert await world.state("Optional", "demo") == "ACTIVE"


@each_server
async def test_exclusion_reaches_those_whose_condition_reads_the_excluded() -> None:
    async with composing() as world:
        await world.define(
            rgd(
                "reaches",
                "Reach",
                "{enabled: boolean | default=false}",
                """
- id: parent
  includeWhen: ["${schema.spec.enabled}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: parent}, data: {a: b}}
- id: child
  includeWhen: ["${parent.data.a == 'b'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: child}}
""",
            )
        )
        await world.apply(instance("Reach", "demo"))
        await world.settle()
        assert await world.children("Reach", "demo") == set()
        assert await world.state("Reach", "demo") == "ACTIVE"
        await world.patch("Reach", "demo", {"spec": {"enabled": True}})
        await world.settle()
        assert len(await world.children("Reach", "demo")) == 2
