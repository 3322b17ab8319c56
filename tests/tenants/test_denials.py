"""Reads that AWS denies: thirty tenants that need the same one cost no more calls than one tenant does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import pytest

from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.wiring import KIND, TenantController
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from kubesim.aws import faults, identity
from kubesim.virtual import run_virtual, virtual_time
from tests.tenants.estate import NEIGHBOUR
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

TENANTS = 30
AN_HOUR = 13
"""One in five minutes, and one for the edges of the hour."""
LISTINGS = 16
"""As many with the jitter of a mirror that cannot list."""
DENIED = faults.error("AccessDenied", "not yours", 403)
ROLE = f"arn:aws:iam::{NEIGHBOUR}:role/dns"
KEYS = [Key("default", f"tenant-{number}") for number in range(TENANTS)]


@asynccontextmanager
async def _without(*actions: str) -> AsyncIterator[Scene]:
    """A scene with an operator that may do everything else."""
    async with playing(start=False) as scene:
        scene.estate.govern(
            {
                "Statement": [
                    {"Effect": "Allow", "Action": "*", "Resource": "*"},
                    {"Effect": "Deny", "Action": list(actions), "Resource": "*"},
                ]
            }
        )
        scene.stage.start_operator()
        yield scene


def _account(scene: Scene) -> CloudFrontAccount:
    return cast("TenantController", scene.stage.operator.controllers[0]).account


def _is_told(scene: Scene, key: Key) -> bool:
    return bool(scene.fact("Ready", key).reason)


async def _create(scene: Scene, **spec: object) -> None:
    for key in KEYS:
        await scene.create(tenant(key, f"{key.name}.example.com", **spec))


async def _hour(scene: Scene) -> dict[str, int]:
    """The calls of an hour that comes after everything has settled."""
    await scene.elapse(minutes=10)
    scene.cloud.journal.clear()
    await scene.elapse(hours=1)
    return dict(scene.cloud.journal.counts)


def _plain(scene: Scene) -> JsonObject:
    return {"dns": scene.dns()}


def _in_group(scene: Scene) -> JsonObject:
    cloudfront = scene.cloud.cloudfront
    return {"dns": scene.dns(), "connectionGroupId": cloudfront.keep_group(cloudfront.new_group("edge")).id}


CASES: dict[str, tuple[tuple[str, ...], Callable[[Scene], JsonObject], str]] = {
    "GetDistribution": (("cloudfront:GetDistribution",), _plain, "Deployed"),
    "DescribeCertificate": (("acm:DescribeCertificate",), _plain, "Deployed"),
    "ListCertificates": (("acm:ListCertificates",), _plain, "Deployed"),
    "ListConnectionGroups": (("cloudfront:ListConnectionGroups",), _in_group, "Deployed"),
    "GetConnectionGroup": (
        ("cloudfront:ListConnectionGroups", "cloudfront:GetConnectionGroup"),
        _in_group,
        "AccessDenied",
    ),
    "ListResourceRecordSets": (("route53:ListResourceRecordSets",), _plain, "Deployed"),
    "AssumeRole": (
        ("sts:AssumeRole",),
        lambda scene: {"dns": scene.dns(assumeRoleArn=ROLE)},
        "DNSError",
    ),
}


@pytest.mark.parametrize("operation", CASES)
def test_denied_read_costs_thirty_tenants_what_it_costs_one(operation: str) -> None:
    async def scenario() -> None:
        actions, spec, reason = CASES[operation]
        async with _without(*actions) as scene:
            scene.cloud.world.identities.add_role(identity.Role(ROLE))
            await _create(scene, **spec(scene))
            for key in KEYS:
                await scene.says("Ready", reason, key)
            calls = await _hour(scene)
            is_paced = operation.startswith("List") or operation == "AssumeRole"
            assert 0 < calls[operation] <= (LISTINGS if is_paced else AN_HOUR), calls
            assert calls.get("GetConnectionGroup", 0) <= AN_HOUR
            assert all(scene.fact("Ready", key).reason == reason for key in KEYS)

    run_virtual(scenario)


@virtual_time
async def test_denied_read_of_its_own_costs_a_tenant_one_call_in_five_minutes() -> None:
    """Also while something is in progress, and whatever wakes the object meanwhile."""
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        scene.cloud.faults.add(DENIED, operation="GetDistributionTenant", times=None)
        scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
        await scene.edit(domains=[{"domain": "new.example.com"}])
        await scene.says("Ready", "AccessDenied")
        scene.cloud.journal.clear()
        for number in range(60):
            touched = {"annotations": {"example.com/touched": str(number)}}
            await scene.stage.patch(KIND, KEY, {"metadata": touched})
            await scene.elapse(minutes=1)
        assert 0 < scene.calls("GetDistributionTenant") <= AN_HOUR
        assert scene.calls("UpdateDistributionTenant") == 0


@virtual_time
async def test_missing_rights_that_are_granted_are_used_within_minutes() -> None:
    async with playing() as scene:
        group = _in_group(scene)
        denied = ("ListConnectionGroups", "GetConnectionGroup", "GetDistribution")
        for operation in denied:
            scene.cloud.faults.add(DENIED, operation=operation, times=None)
        await scene.stage.operator.stop()
        scene.stage.start_operator()
        await _create(scene, **group)
        for key in KEYS:
            fact = await scene.says("Ready", "AccessDenied", key)
            assert "GetConnectionGroup" in fact.message
        await scene.elapse(minutes=17)
        scene.cloud.faults.clear()
        await scene.elapse(minutes=6)
        assert all(scene.status(key).get("id") for key in KEYS)
        for key in KEYS:
            await scene.ready(key)


@virtual_time
async def test_default_group_that_may_not_be_found_is_told() -> None:
    async with _without("cloudfront:ListConnectionGroups") as scene:
        await scene.create(tenant(dns=scene.dns()))
        fact = await scene.says("Ready", "AccessDenied")
        assert "ListConnectionGroups" in fact.message
        assert scene.names == []


@virtual_time
async def test_nothing_is_remembered_for_objects_that_are_gone() -> None:
    async with _without("cloudfront:GetDistribution", "acm:DescribeCertificate") as scene:
        for number, key in enumerate(KEYS):
            arn = f"arn:aws:acm:us-east-1:111122223333:certificate/{number:08}-0000-4000-8000-000000000000"
            spec = {
                "distributionId": f"E1XNX8R2GO{number:04}",
                "customizations": {"certificate": {"arn": arn}},
            }
            await scene.create(tenant(key, f"{key.name}.example.com", **spec))
        for key in KEYS:
            await scene.until(partial(_is_told, scene, key))
        account = _account(scene)
        refusals = account.dns.zones._access.refusals
        assert len(refusals) >= TENANTS
        assert len(account.certificates._descriptions) == TENANTS
        for key in KEYS:
            await scene.delete(key)
        for key in KEYS:
            await scene.gone(key)
        await scene.elapse(minutes=10)
        assert (len(account.distributions), len(account.certificates._descriptions), len(refusals)) == (
            0,
            0,
            0,
        )
