"""Manifests that stand alone on a page are accepted by an API server with our definitions, as dry runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.serving import ApiServer, api_server
from tests.docs.coverage import manifests
from tests.docs.page import Block


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as server:
        for definition in DEFINITIONS:
            server.call(
                "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition.definition()
            )
        server.settle()
        yield server


def path_of(server: ApiServer, obj: JsonObject) -> str:
    """Where objects of this kind are created; their namespace is made if there is none."""
    version, namespace = obj["apiVersion"], obj["metadata"].get("namespace", "default")
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    (served,) = [
        one
        for one in server.call("GET", base)["resources"]
        if one["kind"] == obj["kind"] and "/" not in one["name"]
    ]
    if not served["namespaced"]:
        return f"{base}/{served['name']}"
    names = [one["metadata"]["name"] for one in server.call("GET", "/api/v1/namespaces")["items"]]
    if namespace not in names:
        server.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    return f"{base}/namespaces/{namespace}/{served['name']}"


def dry_run(server: ApiServer, obj: JsonObject) -> JsonObject:
    return server.call("POST", f"{path_of(server, obj)}?dryRun=All&fieldValidation=Strict", obj)


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=f"{page}:{block.line}") for page, block in manifests()]
)
def test_manifest_of_a_page_is_accepted(server: ApiServer, block: Block) -> None:
    for obj in yaml.safe_load_all(block.text):
        assert dry_run(server, obj)["metadata"]["uid"]


@pytest.mark.parametrize(
    "spec", [{}, {"distributionId": "E1XNX8R2GOAABC", "domains": [{"domain": "a.example.com"}], "typo": 1}]
)
def test_manifest_that_is_wrong_is_refused(server: ApiServer, spec: JsonObject) -> None:
    """The proof that the others prove something."""
    tenant = {
        "apiVersion": "cloudfront-tenant-operator.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {"name": "shop"},
        "spec": spec,
    }
    with pytest.raises(StatusError):
        dry_run(server, tenant)
