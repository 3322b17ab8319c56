"""S-06 for the bridge: a spec that names a zone, a function or a certificate of somebody else changes nothing of theirs.

What is malformed is refused, by the server or in a condition. What is well-formed and another's is refused by the guards where
administrators have set them; where not, it is left to AWS.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.guards import Limits
from kubesim.virtual import virtual_time
from tests.bridge.world import (
    DOMAIN,
    NAME,
    OPTIONS,
    PERMISSION,
    Scene,
    domain,
    permission,
    playing,
    statement,
)
from tests.tenants.estate import NEIGHBOUR

CERTIFICATE = "arn:aws:acm:eu-west-1:111122223333:certificate/5129fb7c-6288-41a5-8c45-782198a6416d"
ZONES = ("../Z1", "Z1/../Z2", "z1", "Z1 ", " Z1", "Z1\n", "Z\u0391", "*", "/hostedzone/../Z1", "Z" * 65)
CERTIFICATES = (
    CERTIFICATE.replace("arn:aws:", "arn:aws-evil:"),
    CERTIFICATE.replace("arn:aws:", "arn:*:"),
    CERTIFICATE.replace("111122223333", "*"),
    CERTIFICATE.replace(":certificate/", ":certificate/*"),
    CERTIFICATE.replace(":acm:", ":iam:"),
    f"{CERTIFICATE}\n",
    f" {CERTIFICATE}",
    f"{CERTIFICATE}/../other",
    "not an arn",
)
FUNCTIONS = (
    "arn:aws:lambda:eu-west-1:*:function:shop",
    "arn:aws:lambda:eu-west-1:111122223333:function:*",
    "arn:aws-evil:lambda:eu-west-1:111122223333:function:shop",
    "arn:aws:lambda:eu-west-1:111122223333:function:shop\n",
    "arn:aws:iam::111122223333:role/admin",
    "../shop",
)


async def refused(scene: Scene, key: Key, obj: JsonObject) -> None:
    """The server refuses it, or it says why it is not Ready; nothing is changed in AWS."""
    try:
        await scene.create(obj)
    except InvalidError:
        return
    await scene.until(lambda: scene.is_current(key) and scene.fact(key, "Ready").status == "False")
    await scene.elapse(minutes=6)
    assert scene.status(key)["ready"] is False
    assert scene.fact(key, "Ready").message


@pytest.mark.parametrize("zone", ZONES, ids=repr)
@virtual_time
async def test_malformed_zone_is_refused(zone: str) -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await refused(scene, DOMAIN, domain(dnsConfig={"hostedZoneId": zone}))
        assert "ChangeResourceRecordSets" not in scene.cloud.journal.counts


@pytest.mark.parametrize("arn", CERTIFICATES, ids=repr)
@virtual_time
async def test_malformed_certificate_is_refused(arn: str) -> None:
    async with playing() as scene:
        await scene.api()
        await refused(scene, DOMAIN, domain(certificateStrategy="use-arn", certificateArn=arn))
        assert not scene.estate.writes
        assert not scene.names


@pytest.mark.parametrize("arn", FUNCTIONS, ids=repr)
@virtual_time
async def test_malformed_function_is_refused(arn: str) -> None:
    async with playing() as scene:
        await refused(scene, PERMISSION, permission(statement("api"), function={"arn": arn}))
        assert not scene.estate.writes
        assert not scene.estate.statements()


@virtual_time
async def test_function_of_another_account_is_left_to_aws() -> None:
    async with playing() as scene:
        theirs = scene.cloud.account(NEIGHBOUR).functions("eu-west-1").add("shop")
        await refused(scene, PERMISSION, permission(statement("api"), function={"arn": theirs.arn}))
        assert not theirs.statements
        assert not scene.estate.statements(), "the function of the same name in our account is another one"


def _guarded(**limits: Any) -> Any:
    return replace(OPTIONS, limits=Limits(**limits))


@pytest.mark.parametrize("how", ["named", "found by its name"])
@virtual_time
async def test_zone_that_is_not_allowed_is_not_written_to(how: str) -> None:
    async with playing(_guarded(hosted_zones=frozenset({"Z0ALLOWED"}))) as scene:
        scene.certificate()
        await scene.api()
        admin = scene.estate.zone
        before = dict(scene.records)
        spec: Any = {"dnsConfig": {"hostedZoneId": admin.id}} if how == "named" else {}
        await scene.create(domain(**spec))
        await scene.until(lambda: "--allowed-hosted-zones" in scene.fact(DOMAIN, "Ready").message)
        await scene.elapse(minutes=10)
        assert scene.fact(DOMAIN, "Ready")[:2] == ("False", "NotAllowed")
        assert scene.records == before
        assert not scene.names
        assert not scene.estate.writes


@virtual_time
async def test_hostname_that_is_not_the_namespaces_is_refused_before_any_write() -> None:
    policy = {"team": ("team.example.com",), "*": ("others.example.com",)}
    async with playing(_guarded(hostnames=policy)) as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.until(lambda: NAME in scene.fact(DOMAIN, "Ready").message)
        await scene.elapse(minutes=10)
        assert scene.fact(DOMAIN, "Ready").status == "False"
        assert not scene.names
        assert not scene.estate.writes
