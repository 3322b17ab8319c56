"""S-07: nobody gets a certificate that is not for the tenant's domains, however it is named and whenever it is asked for.

Certificates of an account are everybody's who has its domains: a wildcard is there to be shared. What a tenant may not
have is one that does not cover its domains, one of another account, and one that CloudFront manages for another tenant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import Key
from kubesim.aws.acm.store import Certificates
from kubesim.aws.cloud import ACCOUNT
from kubesim.virtual import run_virtual, virtual_time
from tests.security.forgery import ATTACKER, KIOSK, LATER, STALL, VICTIM, Holdings, forge, two_teams
from tests.tenants.estate import NEIGHBOUR
from tests.tenants.scene import Scene
from tests.tenants.system import tenant

TEAMMATE = Key("alpha", "wildcard")
REFUSED = {"CertificateSANMismatch", "ValidationFailed", "InvalidSpec"}
WILDCARD = {"validationTokenHost": "cloudfront", "primaryDomainName": "*.example.com"}


def acm(scene: Scene) -> Certificates:
    return scene.cloud.account().certificates()


def imported(*names: str) -> Callable[[Scene], str]:
    return lambda scene: acm(scene).add_issued(*names).arn


def of_the_neighbour(scene: Scene) -> str:
    """It covers the domain, but it is in another account."""
    return scene.cloud.account(NEIGHBOUR).certificates().add_issued(STALL).arn


def pending(scene: Scene) -> str:
    return acm(scene).request((STALL,), "DNS").arn


def victims(scene: Scene) -> str:
    return str(scene.object(VICTIM)["spec"]["customizations"]["certificate"]["arn"])


def managed(scene: Scene) -> str:
    """The victim's, which covers every name beside its own."""
    arn = scene.aws(TEAMMATE.name).managed_certificate
    assert arn
    return arn


CERTIFICATES: dict[str, Callable[[Scene], str]] = {
    "the victim's": victims,
    "the victim's wildcard, managed for it": managed,
    "of a parent": imported("example.com"),
    "of a name below": imported(f"a.{STALL}", f"*.{STALL}"),
    "of a name that begins alike": imported(f"{STALL}.evil.example.net"),
    "of a name that ends alike": imported(f"not{STALL}"),
    "not issued": pending,
    "of another account": of_the_neighbour,
    "of another account, with an id of this one": lambda scene: victims(scene).replace(ACCOUNT, NEIGHBOUR),
    "of nobody": lambda _: f"arn:aws:acm:us-east-1:{ACCOUNT}:certificate/none",
    "of everybody": lambda _: "arn:aws:acm:us-east-1:*:certificate/*",
    "of two lines": lambda scene: f"{victims(scene)}\n",
    "of a partition that is none": lambda _: f"arn:aws-evil:acm:us-east-1:{ACCOUNT}:certificate/1",
    "of another service": lambda _: f"arn:aws:acm:us-east-1:{ACCOUNT}:private-ca/1",
    "of another region": lambda _: f"arn:aws:acm:eu-west-1:{ACCOUNT}:certificate/1",
}


def using(arn: str) -> JsonObject:
    return {"certificate": {"arn": arn}}


async def settled(scene: Scene) -> dict[str, str]:
    """The victim has a certificate of its own, and another object of its team a managed one. Return all ARNs."""
    await scene.edit(VICTIM, customizations=using(acm(scene).add_issued(KIOSK).arn))
    await scene.create(tenant(TEAMMATE, "*.example.com", dns=scene.dns(), managedCertificateRequest=WILDCARD))
    await scene.says("CertificateReady", "Validated", TEAMMATE)
    await scene.ready(VICTIM)
    arns = {variant: certificate(scene) for variant, certificate in CERTIFICATES.items()}
    await scene.elapse(**LATER)
    return arns


async def admits(attempt: Awaitable[None]) -> bool:
    try:
        await attempt
    except InvalidError:
        return False
    return True


async def refused(scene: Scene, variant: str) -> None:
    await scene.until(lambda: scene.is_current(ATTACKER) and scene.fact("Ready", ATTACKER).reason in REFUSED)
    assert scene.fact("Synced", ATTACKER).reason == scene.fact("Ready", ATTACKER).reason, variant


@pytest.mark.parametrize("has_dns", [True, False], ids=["with DNS", "without DNS"])
def test_certificate_that_is_not_for_the_tenant_gets_nobody_anything(has_dns: bool) -> None:
    async def play() -> None:
        async with two_teams(attacking=False) as scene:
            arns = await settled(scene)
            before, dns = Holdings.of(scene), {"dns": scene.dns()} if has_dns else {}
            for variant, arn in arns.items():
                if not await admits(scene.create(tenant(ATTACKER, STALL, customizations=using(arn), **dns))):
                    continue
                await refused(scene, variant)
                before.confirm(scene, variant)
                await scene.delete(ATTACKER)
                await scene.gone(ATTACKER)
            before.confirm(scene)

    run_virtual(play)


@pytest.mark.parametrize("has_dns", [True, False], ids=["with DNS", "without DNS"])
def test_later_edit_gets_no_more_than_a_new_object(has_dns: bool) -> None:
    async def play() -> None:
        async with two_teams(attacking=False) as scene:
            arns = await settled(scene)
            await scene.create(tenant(ATTACKER, STALL, **({"dns": scene.dns()} if has_dns else {})))
            await scene.ready(ATTACKER)
            before = Holdings.of(scene)
            for variant, arn in arns.items():
                if await admits(scene.edit(ATTACKER, customizations=using(arn))):
                    await refused(scene, variant)
                before.confirm(scene, variant)
            shared = acm(scene).add_issued("*.example.com").arn
            await scene.edit(ATTACKER, customizations=using(shared))
            await scene.ready(ATTACKER)
            assert scene.aws(ATTACKER.name).certificate == shared, "what covers the domain is for all to use"

    run_virtual(play)


@virtual_time
async def test_certificate_in_a_status_is_not_attached() -> None:
    """CloudFront says which certificate it manages for a tenant; a status does not."""
    async with two_teams(attacking=False) as scene:
        arns = await settled(scene)
        wish = {"validationTokenHost": "self-hosted", "primaryDomainName": STALL}
        await scene.create(tenant(ATTACKER, STALL, dns=scene.dns(), managedCertificateRequest=wish))
        await scene.says("CertificateReady", "PendingValidation", ATTACKER)
        await scene.ready(ATTACKER)
        before = Holdings.of(scene)
        for variant in ("the victim's", "the victim's wildcard, managed for it", "of another account"):
            await forge(scene, ATTACKER, certificateArn=arns[variant], managedCertificateStatus="issued")
            await scene.elapse(**LATER)
            before.confirm(scene, variant)
            assert "customizations" not in scene.object(ATTACKER)["spec"], variant
            assert scene.fact("CertificateReady", ATTACKER).reason == "PendingValidation", variant
