"""S-07 for the bridge: no domain name gets a certificate that is not for it, however that is named or found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edgekeeper.kube.kinds import Key
from kubesim.virtual import virtual_time
from tests.bridge.world import DOMAIN, DOMAINS, NAME, Scene, domain, playing
from tests.tenants.estate import NEIGHBOUR

VICTIM = Key("default", "victim")


def _imported(*names: str) -> Callable[[Scene], str]:
    return lambda scene: scene.certificate(*names)


def _of_the_neighbour(scene: Scene) -> str:
    """It covers the domain, but it is in another account."""
    return str(scene.cloud.account(NEIGHBOUR).certificates("eu-west-1").add_issued(NAME).arn)


def _of_another_region(scene: Scene) -> str:
    return str(scene.cloud.account().certificates("us-west-2").add_issued(NAME).arn)


def _pending(scene: Scene) -> str:
    return str(scene.estate.certificates.request((NAME,), "DNS").arn)


def _expired(scene: Scene) -> str:
    arn = scene.certificate()
    scene.estate.certificates.fail(arn, "EXPIRED")
    return arn


def _revoked(scene: Scene) -> str:
    arn = scene.certificate()
    scene.estate.certificates.fail(arn, "REVOKED")
    return arn


CERTIFICATES: dict[str, Callable[[Scene], str]] = {
    "of the parent": _imported("example.com"),
    "of a sibling": _imported("other.example.com"),
    "of a wildcard one level too high": _imported("*.com"),
    "of a wildcard below": _imported(f"*.{NAME}"),
    "with the name as a suffix": _imported(f"x{NAME}"),
    "of another account": _of_the_neighbour,
    "of another region": _of_another_region,
    "that is pending": _pending,
    "that has expired": _expired,
    "that is revoked": _revoked,
}


@pytest.mark.parametrize("certificate", CERTIFICATES.values(), ids=CERTIFICATES.keys())
@virtual_time
async def test_certificate_that_is_not_for_the_domain_is_refused(certificate: Callable[[Scene], str]) -> None:
    async with playing() as scene:
        await scene.api()
        arn = certificate(scene)
        await scene.create(domain(certificateStrategy="use-arn", certificateArn=arn))
        await scene.until(lambda: scene.fact(DOMAIN, "CertificateReady").status == "False")
        await scene.elapse(minutes=10)
        assert scene.fact(DOMAIN, "CertificateReady").message
        assert not scene.names
        assert not scene.estate.writes


@pytest.mark.parametrize("certificate", CERTIFICATES.values(), ids=CERTIFICATES.keys())
@virtual_time
async def test_certificate_that_is_not_for_the_domain_is_not_discovered(
    certificate: Callable[[Scene], str],
) -> None:
    async with playing() as scene:
        await scene.api()
        certificate(scene)
        await scene.create(domain())
        await scene.says(DOMAIN, "CertificateReady", "CertificateNotFound")
        assert not scene.names
        assert not scene.estate.writes


@virtual_time
async def test_certificate_of_another_object_outlives_whoever_names_it() -> None:
    async with playing() as scene:
        await scene.api()
        await scene.create(domain("shop.example.com", key=VICTIM, certificateStrategy="create"))
        await scene.ready(VICTIM)
        arn = scene.status(VICTIM)["certificateArn"]
        await scene.create(domain(certificateStrategy="use-arn", certificateArn=arn))
        await scene.says(DOMAIN, "CertificateReady", "InvalidCertificate")
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert arn in scene.estate.certificates.shelf
        assert scene.live("shop.example.com").configuration["CertificateArn"] == arn
