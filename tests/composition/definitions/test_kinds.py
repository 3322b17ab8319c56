"""The kinds that a definition uses: any version, installed later, defined by other definitions, changed, gone."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key, Kind
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import WEB_APP, config_map, definition, scenery

BUCKETS = Key("", "buckets.cloud.example.com")


def bucket_definition(version: str = "v1", **fields: Any) -> JsonObject:
    """A CustomResourceDefinition that is none of ours."""
    properties = {"size": {"type": "integer"}, **fields}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": properties},
            "status": {"type": "object", "properties": {"url": {"type": "string"}}},
        },
    }
    return {
        "metadata": {"name": BUCKETS.name},
        "spec": {
            "group": "cloud.example.com",
            "names": {"kind": "Bucket", "plural": "buckets", "listKind": "BucketList", "singular": "bucket"},
            "scope": "Namespaced",
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


def bucket(version: str = "v1", **spec: Any) -> JsonObject:
    body = {
        "apiVersion": f"cloud.example.com/{version}",
        "kind": "Bucket",
        "metadata": {"name": "${schema.spec.name}"},
        "spec": spec or {"size": 1},
    }
    return {"id": "bucket", "template": body}


@virtual_time
async def test_kind_that_is_installed_later_is_waited_for_and_accepted_at_once() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", bucket()))
        status, reason, message = await scene.condition("GraphAccepted")
        assert (status, reason) == ("False", "InvalidResourceGraph")
        assert message == (
            'spec.resources[0].template: failed to build resource "bucket": failed to get schema for resource bucket: '
            "schema not found: cloud.example.com/v1 Bucket"
        )
        assert await scene.numbers() == []
        await scene.settle(3600)
        await scene.user.create(CUSTOM_RESOURCE_DEFINITION, bucket_definition())
        await scene.settle(5)
        assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_definition_of_a_kind_that_another_definition_defines_waits_for_it() -> None:
    async with scenery() as scene, scene.operating():
        inner = {
            "id": "app",
            "template": {
                "apiVersion": "kro.run/v1alpha1",
                "kind": "WebApp",
                "metadata": {"name": "${schema.spec.name}"},
                "spec": {"name": "${schema.spec.name}"},
            },
        }
        await scene.create(definition("sites", inner, kind="Site"))
        assert (
            "schema not found: kro.run/v1alpha1 WebApp"
            in (await scene.condition("GraphAccepted", "sites"))[2]
        )
        await scene.create(definition())
        assert (await scene.status("sites"))["state"] == "Active"
        await scene.edit("sites", resources=[{**inner, "readyWhen": ["${app.spec.nothing == 'x'}"]}])
        assert "undefined field 'nothing'" in (await scene.condition("GraphAccepted", "sites"))[2]


@each_server
async def test_definition_that_embeds_another_with_unknown_fields_is_accepted() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(spec={"name": "string", "extra": "object"}))
        inner = {
            "id": "app",
            "template": {
                "apiVersion": "kro.run/v1alpha1",
                "kind": "WebApp",
                "metadata": {"name": "${schema.spec.name}"},
                "spec": {"name": "x", "extra": {"any": {"depth": "${schema.spec.name}"}}},
            },
        }
        await scene.create(definition("sites", inner, kind="Site"))
        assert (await scene.status("sites"))["state"] == "Active"


@pytest.mark.parametrize("version", ["v1api20200601", "v1beta1patch2"])
@each_server
async def test_kinds_with_versions_outside_the_convention_are_resolved(version: str) -> None:
    async with scenery() as scene, scene.operating():
        await scene.user.create(CUSTOM_RESOURCE_DEFINITION, bucket_definition(version))
        await scene.settle()
        await scene.create(definition("web-apps", bucket(version)))
        assert (await scene.status())["state"] == "Active"
        await scene.instantiate(WEB_APP, "shop", {"name": "shop"})
        found = await scene.find(Kind("cloud.example.com", version, "Bucket", "buckets"), "shop")
        assert dig(found, "spec") == {"size": 1}


@each_server
async def test_reference_to_a_kind_with_a_version_outside_the_convention_is_resolved() -> None:
    async with scenery() as scene, scene.operating():
        await scene.user.create(CUSTOM_RESOURCE_DEFINITION, bucket_definition("v1api20200601"))
        await scene.settle()
        reference = {
            "id": "bucket",
            "externalRef": {
                "apiVersion": "cloud.example.com/v1api20200601",
                "kind": "Bucket",
                "metadata": {"name": "shared"},
            },
        }
        await scene.create(definition("web-apps", reference, config_map(a="${bucket.status.url}")))
        assert (await scene.status())["state"] == "Active"
        await scene.instantiate(WEB_APP, "shop", {"name": "shop"})
        assert await scene.find(CONFIG_MAP, "shop") is None
        kind = Kind("cloud.example.com", "v1api20200601", "Bucket", "buckets")
        shared = {"metadata": {"name": "shared"}, "status": {"url": "https://bucket.example.com"}}
        await scene.user.create(kind, shared, namespace="default")
        await scene.settle()
        assert dig(await scene.find(CONFIG_MAP, "shop"), "data") == {"a": "https://bucket.example.com"}
        await scene.edit(resources=[reference, config_map(a="${bucket.status.nothing}")])
        assert "undefined field 'nothing'" in (await scene.condition("GraphAccepted"))[2]


@virtual_time
async def test_definition_may_declare_custom_resource_definitions() -> None:
    async with scenery() as scene, scene.operating():
        template = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            **bucket_definition(),
        }
        await scene.create(definition("web-apps", {"id": "crd", "template": template}))
        assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_change_of_a_schema_is_noticed_and_so_is_its_return() -> None:
    async with scenery() as scene, scene.operating():
        await scene.user.create(CUSTOM_RESOURCE_DEFINITION, bucket_definition(colour={"type": "string"}))
        await scene.settle()
        await scene.create(definition("web-apps", bucket(colour="${schema.spec.name}")))
        assert (await scene.status())["state"] == "Active"
        changes: list[tuple[dict[str, Any], str]] = [
            ({}, "Inactive"),
            ({"colour": {"type": "string"}}, "Active"),
        ]
        for fields, state in changes:
            crd = await scene.user.get(CUSTOM_RESOURCE_DEFINITION, BUCKETS)
            crd["spec"] = bucket_definition("v1", **fields)["spec"]
            await scene.user.replace(CUSTOM_RESOURCE_DEFINITION, BUCKETS, crd)
            await scene.settle()
            assert (await scene.status())["state"] == state
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.graph is not None
        assert await scene.numbers() == [1]


@virtual_time
async def test_kind_that_goes_leaves_instances_alone_until_it_is_back() -> None:
    async with scenery() as scene, scene.operating():
        await scene.user.create(CUSTOM_RESOURCE_DEFINITION, bucket_definition())
        await scene.settle()
        await scene.create(definition("web-apps", bucket()))
        await scene.user.delete(CUSTOM_RESOURCE_DEFINITION, BUCKETS)
        await scene.settle()
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.graph is None
        assert "schema not found" in served.error
        assert (await scene.conditions())["GraphRevisionsResolved"] == ("False", "Failed")
        await scene.user.create(CUSTOM_RESOURCE_DEFINITION, bucket_definition())
        await scene.settle()
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.graph is not None
        assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_kinds_outside_the_allow_list_are_refused_with_their_path() -> None:
    async with scenery() as scene, scene.operating(composition_allowed_kinds=("ConfigMap", "*.apps")):
        await scene.create(definition())
        assert (await scene.status())["state"] == "Active"
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "all"},
            "rules": [],
        }
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "kube-system"}}
        resources = [config_map(), {"id": "role", "template": role}, {"id": "secret", "externalRef": secret}]
        await scene.edit(resources=resources)
        status, reason, message = await scene.condition("GraphAccepted")
        assert (status, reason) == ("False", "KindNotAllowed")
        assert (
            "spec.resources[1].template.kind: kind ClusterRole.rbac.authorization.k8s.io is not allowed"
            in message
        )
        assert "spec.resources[2].externalRef.kind: kind Secret is not allowed" in message
        assert "--composition-allowed-kinds" in message
        assert await scene.numbers() == [1]
