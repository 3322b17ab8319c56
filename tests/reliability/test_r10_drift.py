"""R-10: whatever is changed behind the back of a DistributionTenant, under each policy.

    enforce    repaired within one poll interval and a pass
    report     left, and said
    suspend    left, and known

Tags are the exception that AWS makes: no listing tells them, and no ETag changes with them. They are repaired when the
tenant is read the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.route53.records import Record
from kubesim.virtual import run_virtual
from tests.results import Figures
from tests.tenants.estate import DISTRIBUTION
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

SHOP = "shop.example.com"
ONE_PASS = 10.0
INTERVAL = OPTIONS.intervals.steady.total_seconds()

Look = Callable[[Scene], Any]


@dataclass(frozen=True)
class Drift:
    """Something that somebody does to a tenant."""

    happens: Callable[[Scene], Any]
    seen: Look
    """What it changes."""
    spec: Callable[[Scene], JsonObject] = field(default=lambda _: {})


def in_console(**changes: Any) -> Callable[[Scene], Any]:
    return lambda scene: scene.cloud.cloudfront.change_tenant(KEY.name, **changes)


def customised(**customizations: Any) -> Callable[[Scene], Any]:
    return in_console(customizations=customizations)


def setting(name: str) -> Look:
    return lambda scene: getattr(scene.aws(), name)


def with_dns(scene: Scene) -> JsonObject:
    return {"dns": scene.dns()}


def with_certificate(scene: Scene) -> JsonObject:
    arn = scene.cloud.account().certificates().add_issued("*.example.com").arn
    return {"customizations": {"certificate": {"arn": arn}}}


def with_group(scene: Scene) -> JsonObject:
    cloudfront = scene.cloud.cloudfront
    return {"connectionGroupId": cloudfront.keep_group(cloudfront.new_group("fast")).id}


def with_parameters(scene: Scene) -> JsonObject:
    definitions = (ParameterDefinition("colour", required=False),)
    scene.cloud.cloudfront.change_distribution(DISTRIBUTION, parameters=definitions)
    return {"parameters": [{"name": "colour", "value": "red"}]}


def moved_to_another_distribution(scene: Scene) -> None:
    other = scene.cloud.cloudfront.add_distribution()
    scene.cloud.cloudfront.change_tenant(KEY.name, distribution=other.id)


def put_into_another_group(scene: Scene) -> None:
    scene.cloud.cloudfront.change_tenant(KEY.name, group=scene.cloud.cloudfront.default_group().id)


def led_elsewhere(scene: Scene) -> None:
    scene.cloud.route53.put_record(scene.zone, Record(f"{SHOP}.", "CNAME", 300, ("elsewhere.example.net.",)))


def remembered_for_long(scene: Scene) -> None:
    scene.cloud.route53.put_record(scene.zone, Record(f"{SHOP}.", "CNAME", 86_400, (scene.endpoint,)))


def recorded(scene: Scene) -> Any:
    return [(one.type, one.ttl, one.values) for one in scene.zone.at(f"{SHOP}.")]


GEO = {"geoRestrictions": {"restrictionType": "blacklist", "locations": ["DE", "FR"]}}
ACL = {"webAcl": {"action": "override", "arn": "arn:aws:wafv2:us-east-1:111122223333:global/webacl/a/1"}}

DRIFTS = {
    "distribution": Drift(moved_to_another_distribution, setting("distribution")),
    "domains": Drift(in_console(domains=(SHOP, "rogue.example.com")), setting("domains")),
    "enabled": Drift(in_console(enabled=False), setting("enabled")),
    "connection group": Drift(put_into_another_group, setting("group"), with_group),
    "parameters": Drift(in_console(parameters=(("colour", "blue"),)), setting("parameters"), with_parameters),
    "parameters removed": Drift(in_console(parameters=()), setting("parameters"), with_parameters),
    "web ACL": Drift(
        customised(WebAcl={"Action": "disable"}), setting("customizations"), lambda _: {"customizations": ACL}
    ),
    "web ACL where none is wanted": Drift(
        customised(WebAcl={"Action": "disable"}), setting("customizations")
    ),
    "certificate": Drift(customised(), setting("certificate"), with_certificate),
    "geo restrictions": Drift(
        customised(GeoRestrictions={"RestrictionType": "blacklist", "Locations": ["DE"]}),
        setting("customizations"),
        lambda _: {"customizations": GEO},
    ),
    "tenant deleted": Drift(lambda scene: scene.estate.lose_tenant(KEY.name), lambda scene: scene.names),
    "record leads elsewhere": Drift(led_elsewhere, recorded, with_dns),
    "record is remembered too long": Drift(remembered_for_long, recorded, with_dns),
    "record deleted": Drift(lambda scene: scene.estate.lose_record(SHOP), recorded, with_dns),
}


async def drifted(scene: Scene, drift: Drift) -> tuple[Any, Any]:
    """A tenant that is as declared, and then is not. Return what was seen before and after."""
    await scene.create(tenant(KEY, SHOP, **drift.spec(scene)))
    await scene.ready()
    before = drift.seen(scene)
    drift.happens(scene)
    assert drift.seen(scene) != before
    return before, drift.seen(scene)


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_drift_is_repaired_within_an_interval(drift: Drift, figures: Figures) -> None:
    async def play() -> None:
        async with playing() as scene:
            before, _ = await drifted(scene, drift)
            figures.count("kinds of drift repaired")
            await scene.elapse(seconds=INTERVAL + ONE_PASS)
            assert drift.seen(scene) == before
            await scene.ready()

    run_virtual(play)


@pytest.mark.parametrize("policy", [Policy.REPORT, Policy.SUSPEND])
@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_drift_is_left_as_it_is_and_known(drift: Drift, policy: Policy) -> None:
    async def play() -> None:
        async with playing(replace(OPTIONS, drift_policy=policy)) as scene:
            _, after = await drifted(scene, drift)
            writes = scene.estate.writes
            await scene.elapse(seconds=INTERVAL + ONE_PASS)
            assert scene.status()["driftDetected"] is True
            is_said = scene.fact("Synced")[:2] == ("False", "DriftDetected")
            assert is_said == (policy is Policy.REPORT)
            await scene.elapse(hours=1)
            assert drift.seen(scene) == after
            assert scene.estate.writes == writes

    run_virtual(play)


def test_drift_of_tags_is_repaired_with_the_next_change() -> None:
    async def play() -> None:
        async with playing() as scene:
            await scene.create(tenant(KEY, SHOP, tags=[{"key": "team", "value": "red"}]))
            await scene.ready()
            stolen = {**scene.aws().tags, "team": "blue"}
            scene.cloud.cloudfront.change_tenant(KEY.name, tags=stolen, enabled=False)
            await scene.elapse(seconds=INTERVAL + ONE_PASS)
            assert scene.aws().tags["team"] == "red"
            assert scene.aws().enabled

    run_virtual(play)
