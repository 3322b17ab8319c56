"""The generated definition: names, columns, and that a server accepts and applies it."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.composition.plural import pluralize
from edgekeeper.core.json import JsonObject
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.errors import StatusError
from tests.unit.controllers.composition.cases import config, definition, graph_of, workload

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("webapp", "webapps"),
        ("policy", "policies"),
        ("gateway", "gateways"),
        ("ingress", "ingresses"),
        ("database", "databases"),
        ("mesh", "meshes"),
        ("box", "boxes"),
        ("index", "indices"),
        ("vertex", "vertices"),
        ("status", "statuses"),
        ("bus", "buses"),
        ("radio", "radios"),
        ("hero", "heroes"),
        ("node", "nodes"),
        ("analysis", "analyses"),
        ("person", "people"),
        ("series", "series"),
        ("settings", "settings"),
        ("aws", "aws"),
        ("dns", "dnses"),
        ("appconfigs", "appconfigs"),
        ("house", "houses"),
        ("knife", "knives"),
        ("shelf", "shelves"),
        ("child", "children"),
        ("branch", "branches"),
    ],
)
def test_plural_is_the_one_that_kro_forms(word: str, plural: str) -> None:
    assert pluralize(word) == plural


def test_definition_is_named_after_the_kind() -> None:
    made = graph_of(definition(kind="ServicePolicy", group="platform.example")).definition
    assert made["metadata"] == {"name": "servicepolicies.platform.example"}
    assert made["spec"]["names"] == {
        "kind": "ServicePolicy",
        "listKind": "ServicePolicyList",
        "plural": "servicepolicies",
        "singular": "servicepolicy",
    }
    assert (made["spec"]["group"], made["spec"]["scope"]) == ("platform.example", "Namespaced")
    (version,) = made["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert version["subresources"] == {"status": {}}
    assert [column["name"] for column in version["additionalPrinterColumns"]] == ["State", "Ready", "Age"]


def test_definition_carries_names_categories_metadata_and_columns() -> None:
    column = {"name": "Host", "type": "string", "jsonPath": ".spec.host"}
    made = graph_of(
        definition(
            scope="Cluster",
            shortNames=["sp"],
            categories=["platform"],
            metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}},
            additionalPrinterColumns=[column],
        )
    ).definition
    assert made["metadata"]["labels"] == {"a": "b"}
    assert made["metadata"]["annotations"] == {"c": "d"}
    assert (made["spec"]["names"]["shortNames"], made["spec"]["names"]["categories"]) == (
        ["sp"],
        ["platform"],
    )
    assert made["spec"]["scope"] == "Cluster"
    assert made["spec"]["versions"][0]["additionalPrinterColumns"] == [column]


async def test_server_establishes_the_definition_and_applies_it() -> None:
    body = definition(
        workload("p"),
        config("c"),
        spec={
            "name": 'string | required=true pattern="^[a-z]+$"',
            "replicas": "integer | default=2 minimum=1",
            "size": {"unit": 'string | enum="k,m" default=k'},
            "fixed": "string | immutable=true",
        },
        status={"ready": "${p.status.ready}", "any": "${p.spec.anything}", "list": ["${c.data.key}"]},
    )
    made = graph_of(body).definition
    apps = "/apis/kro.run/v1alpha1/namespaces/default/apps"
    async with Plane(PlaneConfig()) as plane:
        await plane.client.create(DEFINITIONS, made)
        await plane.settle()
        stored = await plane.client.get(f"{DEFINITIONS}/apps.kro.run")
        conditions = {one["type"]: one["status"] for one in stored["status"]["conditions"]}
        assert conditions["Established"] == "True"
        assert "NonStructuralSchema" not in conditions
        app = await plane.client.create(apps, _app({"name": "shop", "fixed": "a"}))
        assert app["spec"] == {"name": "shop", "replicas": 2, "size": {"unit": "k"}, "fixed": "a"}
        for wrong in ({}, {"name": "A"}, {"name": "a", "replicas": 0}, {"name": "a", "size": {"unit": "x"}}):
            with pytest.raises(StatusError):
                await plane.client.create(apps, _app(wrong))
        with pytest.raises(StatusError, match="field is immutable"):
            await plane.client.merge(f"{apps}/shop", {"spec": {"fixed": "b"}})
        status = {"ready": 1, "any": {"x": 1}, "list": ["v"], "state": "ACTIVE", "lost": 1}
        written = await plane.client.merge(f"{apps}/shop/status", {"status": status})
        assert written["status"] == {"ready": 1, "any": {"x": 1}, "list": ["v"], "state": "ACTIVE"}


def _app(spec: JsonObject) -> JsonObject:
    return {"apiVersion": "kro.run/v1alpha1", "kind": "App", "metadata": {"name": "shop"}, "spec": spec}
