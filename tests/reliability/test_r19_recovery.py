"""R-19: no mistake is a trap. From every error that a spec can lead to, a good spec leads out within two passes.

Three ways lead in and out: bad at first and then good; bad, bad otherwise, and then good; good, bad, and taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.virtual import run_virtual
from tests.results import Figures
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

SHOP, WANTED = "shop.example.com", "wanted.example.com"
OWNED, TAKEN = "owned.example.com", "taken.example.com"
FOREIGN_RECORD = "record.example.com"
NO_CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/none"
PASSES = 2

Spec = Callable[[Scene], JsonObject]


@dataclass(frozen=True)
class Mistake:
    """Fields that should not be so, and the reason that is given."""

    reason: str
    spec: Spec


def fields(**spec: Any) -> Spec:
    return lambda _: spec


def domain(name: str) -> Spec:
    return fields(domains=[{"domain": name}])


def dns(**settings: Any) -> Spec:
    return lambda scene: {"dns": scene.dns(**settings)}


def unproven(scene: Scene) -> JsonObject:
    """CloudFront is to validate a domain that does not lead to it."""
    request = {"validationTokenHost": "cloudfront", "primaryDomainName": WANTED}
    return {"domains": [{"domain": WANTED}], "managedCertificateRequest": request, "dns": None}


def customised(**customizations: Any) -> Spec:
    return fields(customizations=customizations)


MISTAKES = {
    "no domain name": Mistake("ValidationFailed", domain("no domain")),
    "no such distribution": Mistake("ValidationFailed", fields(distributionId="ENOSUCHTHING")),
    "no such country": Mistake(
        "ValidationFailed",
        customised(geoRestrictions={"restrictionType": "whitelist", "locations": ["XX"]}),
    ),
    "domain of another object": Mistake("DomainConflict", domain(OWNED)),
    "domain of somebody else": Mistake("DomainConflict", domain(TAKEN)),
    "certificate does not cover": Mistake("CertificateSANMismatch", domain("shop.example.org")),
    "no such certificate": Mistake("InvalidSpec", customised(certificate={"arn": NO_CERTIFICATE})),
    "no such parameter": Mistake(
        "ValidationFailed", fields(parameters=[{"name": "nobody", "value": "knows"}])
    ),
    "too many tags": Mistake("ValidationFailed", fields(tags=[{"key": f"k{n}"} for n in range(47)])),
    "no such connection group": Mistake("InvalidSpec", fields(connectionGroupId="cg_nosuchgroup")),
    "no such zone": Mistake("DNSError", dns(hostedZoneId="ZNOSUCHZONE")),
    "no such role": Mistake("DNSError", dns(assumeRoleArn="arn:aws:iam::444455556666:role/unlent")),
    "record of somebody else": Mistake("DNSConflict", domain(FOREIGN_RECORD)),
    "domain cannot be validated": Mistake("DomainValidationPending", unproven),
}
OTHER = MISTAKES["no such country"]
REASONS = {mistake.reason for mistake in MISTAKES.values()}
FOREIGN = {f"CNAME {FOREIGN_RECORD}": "elsewhere.example.net"}
HISTORIES = ("bad, good", "bad, worse, good", "good, bad, good")


async def arrive(scene: Scene, mistake: Mistake, history: str) -> None:
    """Get into an error by one of the ways."""
    good = tenant(KEY, SHOP, dns=scene.dns())
    if history == "good, bad, good":
        await scene.create(good)
        await scene.ready()
        await scene.edit(**mistake.spec(scene))
        await scene.says("Ready", mistake.reason)
        return
    bad = {name: value for name, value in mistake.spec(scene).items() if value is not None}
    spec = {**good["spec"], **bad}
    for name in mistake.spec(scene).keys() - bad.keys():
        del spec[name]
    await scene.create({**good, "spec": spec})
    await scene.says("Ready", mistake.reason)
    if history == "bad, worse, good":
        await scene.edit(**OTHER.spec(scene))
        await scene.until(lambda: scene.is_current() and scene.fact("Ready").reason in REASONS)


async def correct(scene: Scene, mistake: Mistake) -> None:
    good: JsonObject = tenant(KEY, SHOP, dns=scene.dns(assumeRoleArn=None))["spec"]
    changed = {**mistake.spec(scene), **OTHER.spec(scene)}
    await scene.edit(**{name: good.get(name) for name in changed})


def passes(scene: Scene) -> float:
    results = ("success", "error", "requeue", "requeue_after")
    return sum(
        scene.metric("controller_runtime_reconcile_total", controller="distributiontenant", result=result)
        for result in results
    )


async def others(scene: Scene) -> None:
    """Those who have what the object must not have."""
    scene.estate.make_tenant("foreign", TAKEN)
    scene.estate.make_record(FOREIGN_RECORD, "elsewhere.example.net")
    elder = KEY._replace(name="elder")
    await scene.create(tenant(elder, OWNED))
    await scene.ready(elder)


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_good_spec_leads_out_of_every_error(mistake: Mistake, history: str, figures: Figures) -> None:
    async def play() -> None:
        async with playing(loose=True) as scene:  # what our definition refuses may have been stored before it
            await others(scene)
            await arrive(scene, mistake, history)
            await scene.elapse(minutes=7)
            before = passes(scene)
            await correct(scene, mistake)
            while not scene.is_current() or scene.fact("Ready").reason in REASONS:
                assert passes(scene) - before <= PASSES
                await scene.elapse(seconds=0.01)
            figures.count("ways into an error and out of it")
            await scene.ready()
            assert scene.aws().domains == (SHOP,)
            assert scene.records == {f"CNAME {SHOP}": scene.endpoint, **FOREIGN}

    run_virtual(play)
