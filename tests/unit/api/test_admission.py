"""What the API server refuses at admission, in words that say what to write instead, and what it must not refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT, FINALIZER, read_tenant
from edgekeeper.core.json import JsonObject
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.errors import StatusError
from tests.tenants.system import loosened
from tests.unit.api.admission_cases import ADMITTED, PREDECESSOR, REFUSED, STALE, domains

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TENANTS = "/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/default/distributiontenants"


@asynccontextmanager
async def serving(definition: JsonObject) -> AsyncIterator[Plane]:
    async with Plane(PlaneConfig()) as plane:
        await plane.client.create(DEFINITIONS, definition)
        await plane.settle()
        yield plane


def manifest(name: str = "shop", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "cloudfront-tenant-operator.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {"name": name},
        "spec": {"distributionId": "E1XNX8R2GOAABC", "domains": [{"domain": "shop.example.com"}], **spec},
    }


async def refusal(**spec: Any) -> str:
    async with serving(DISTRIBUTION_TENANT.definition()) as plane:
        with pytest.raises(StatusError) as refused:
            await plane.client.create(TENANTS, manifest(**spec))
    return str(refused.value)


@pytest.mark.parametrize(("spec", "field", "remedy"), REFUSED)
async def test_server_refuses_what_cloudfront_would_and_says_what_to_write(
    spec: JsonObject, field: str, remedy: str
) -> None:
    told = await refusal(**spec)
    assert f"{field}: " in told
    assert remedy in told


@pytest.mark.parametrize("spec", PREDECESSOR, ids=["minimal", "full", "certificate", "DNS"])
async def test_server_admits_the_samples_of_the_predecessor(spec: JsonObject) -> None:
    async with serving(DISTRIBUTION_TENANT.definition()) as plane:
        stored = await plane.client.create(TENANTS, manifest(**spec))
    assert spec.items() <= stored["spec"].items()


@pytest.mark.parametrize("spec", ADMITTED)
async def test_server_admits_what_cloudfront_takes(spec: JsonObject) -> None:
    """Among it the largest lists: what rules cost at most is within what kube-apiserver allows one of them."""
    async with serving(DISTRIBUTION_TENANT.definition()) as plane:
        stored = await plane.client.create(TENANTS, manifest(**spec))
    assert spec.items() <= stored["spec"].items()


@asynccontextmanager
async def tightened() -> AsyncIterator[Plane]:
    """A server with an object that was stored before there were rules."""
    definition = DISTRIBUTION_TENANT.definition()
    async with serving(loosened(definition)) as plane:
        held = {**manifest(**STALE), "metadata": {"name": "shop", "finalizers": [FINALIZER]}}
        await plane.client.create(TENANTS, held)
        known = await plane.client.get(f"{DEFINITIONS}/{DISTRIBUTION_TENANT.name}")
        await plane.client.replace(
            f"{DEFINITIONS}/{DISTRIBUTION_TENANT.name}", {**known, "spec": definition["spec"]}
        )
        await plane.settle()
        yield plane


async def test_object_of_before_there_were_rules_can_be_changed_elsewhere() -> None:
    async with tightened() as plane:
        await plane.client.merge(f"{TENANTS}/shop", {"metadata": {"labels": {"team": "a"}}})
        await plane.client.merge(f"{TENANTS}/shop", {"spec": {"enabled": False}})
        await plane.client.merge(f"{TENANTS}/shop", {"spec": {"dns": {"ttl": 60}}})
        condition = {"type": "Ready", "status": "False", "reason": "A", "message": ""}
        since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
        await plane.client.merge(
            f"{TENANTS}/shop/status", {"status": {"conditions": [{**condition, **since}]}}
        )
        stored = await plane.client.get(f"{TENANTS}/shop")
    assert (stored["spec"]["enabled"], stored["spec"]["dns"]["ttl"]) == (False, 60)
    assert stored["status"]["conditions"][0]["reason"] == "A"


async def test_object_of_before_there_were_rules_can_be_deleted() -> None:
    async with tightened() as plane:
        await plane.client.delete(f"{TENANTS}/shop")
        await plane.client.merge(f"{TENANTS}/shop", {"metadata": {"finalizers": []}})
        await plane.settle()
        assert (await plane.client.get(TENANTS))["items"] == []


async def test_object_of_before_there_were_rules_gets_no_new_mistake() -> None:
    async with tightened() as plane:
        with pytest.raises(StatusError, match=r"spec\.domains\[0\]\.domain"):
            await plane.client.merge(f"{TENANTS}/shop", {"spec": domains("not a domain")})
        await plane.client.merge(f"{TENANTS}/shop", {"spec": domains("shop.example.com")})


def test_object_of_before_there_were_rules_is_decoded() -> None:
    """The controller must be able to say what is wrong with it."""
    assert read_tenant(manifest(**STALE)).spec.distribution_id == "nonsense"
    assert len(read_tenant(manifest(**domains(f"{'a' * 300}.io"))).spec.domains[0].domain) == 303
