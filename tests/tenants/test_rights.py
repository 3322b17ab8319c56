"""With the rights that the documentation asks for; and with the fewest that tenants were ever kept with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from kubesim.aws.route53.records import Record
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

FEWEST = (
    "cloudfront:CreateDistributionTenant",
    "cloudfront:GetDistributionTenant",
    "cloudfront:UpdateDistributionTenant",
    "cloudfront:DeleteDistributionTenant",
    "cloudfront:GetDistribution",
    "cloudfront:GetManagedCertificateDetails",
    "cloudfront:GetConnectionGroup",
    "cloudfront:ListConnectionGroups",
    "acm:RequestCertificate",
    "acm:DescribeCertificate",
    "route53:ChangeResourceRecordSets",
    "route53:GetChange",
)
POLICIES = {
    path.stem: json.loads(path.read_text())
    for path in (Path(__file__).parents[2] / "docs" / "iam").glob("cloudfront-tenants*.json")
}
SHOP = "CNAME shop.example.com"
MANAGED = {"validationTokenHost": "cloudfront", "primaryDomainName": "shop.example.com"}


def _actions(policy: JsonObject) -> set[str]:
    return {action for statement in policy["Statement"] for action in statement["Action"]}


@pytest.mark.parametrize("name", POLICIES)
@virtual_time
async def test_documented_policy_is_enough_for_every_life_and_says_no_more(name: str) -> None:
    policy = POLICIES[name]
    async with playing(start=False) as scene:
        scene.estate.govern(policy)
        scene.estate.make_tenant("somebody-elses", "taken.example.com")
        scene.stage.start_operator()
        managed, grouped, refused = KEY, Key("default", "grouped"), Key("default", "refused")
        await scene.create(tenant(managed, dns=scene.dns(), managedCertificateRequest=MANAGED))
        await scene.says("CertificateReady", "Validated")
        group = scene.cloud.cloudfront.keep_group(scene.cloud.cloudfront.new_group("new"))
        await scene.create(
            tenant(
                grouped, "www.example.com", connectionGroupId=group.id, dns=scene.dns(), tags=[{"key": "a"}]
            )
        )
        await scene.ready(grouped)
        await scene.create(tenant(refused, "taken.example.com"))
        await scene.says("Ready", "DomainConflict", refused)
        await scene.edit(domains=[{"domain": "shop.example.com"}, {"domain": "new.example.com"}])
        await scene.until(lambda: set(scene.aws().domains) == {"shop.example.com", "new.example.com"})
        await scene.ready()
        scene.cloud.cloudfront.change_tenant(managed.name, enabled=False)
        await scene.until(lambda: scene.aws().enabled)
        await scene.ready()
        for key in (managed, grouped, refused):
            await scene.delete(key)
            await scene.gone(key)
        assert (scene.names, scene.records) == (["somebody-elses"], {})
        assert scene.cloud.guard.granted == _actions(policy)
        is_refused = any("Denied" in code for code in scene.cloud.journal.codes)
        assert is_refused == name.endswith("small"), "the larger one lacks nothing that is ever asked for"


def test_smaller_policy_is_exactly_what_tenants_were_ever_kept_with() -> None:
    assert _actions(POLICIES["cloudfront-tenants-small"]) == set(FEWEST)
    assert _actions(POLICIES["cloudfront-tenants-small"]) < _actions(POLICIES["cloudfront-tenants"])


async def _created(scene: Scene, **spec: object) -> None:
    scene.estate.restrict(*FEWEST)
    scene.stage.start_operator()
    await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns(), **spec))
    await scene.ready()


@virtual_time
async def test_tenant_lives_its_whole_life_with_the_fewest_rights() -> None:
    async with playing(start=False) as scene:
        await _created(scene, managedCertificateRequest=MANAGED)
        await scene.says("CertificateReady", "Validated")
        assert scene.records == {SHOP: scene.endpoint}
        await scene.edit(domains=[{"domain": "shop.example.com"}, {"domain": "new.example.com"}])
        await scene.until(lambda: len(scene.aws().domains) == 2)
        await scene.ready()
        assert set(scene.records) == {SHOP, "CNAME new.example.com"}
        scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
        await scene.until(lambda: scene.aws().enabled)
        await scene.ready()
        await scene.delete()
        await scene.gone()
        assert (scene.names, scene.records) == ([], {})


@virtual_time
async def test_what_is_done_without_is_told_once() -> None:
    with capture_logs() as lines:
        async with playing(start=False) as scene:
            await _created(scene, managedCertificateRequest=MANAGED)
            await scene.elapse(hours=3)
    named = ("event", "what", "mirror", "zone")
    warnings = [[line.get(name) for name in named] for line in lines if line["log_level"] == "warning"]
    told = [" ".join(filter(None, words)) for words in warnings]
    assert len(told) == len(set(told)), told
    for what in ("Tenants may not be listed", "tagging", "Zone cannot be listed"):
        assert sum(what in line for line in told) == 1


@virtual_time
async def test_denied_calls_are_not_made_again_and_again() -> None:
    async with playing(start=False) as scene:
        await _created(scene)
        before = scene.cloud.journal.codes["AccessDenied"]
        await scene.elapse(hours=3)
        assert scene.cloud.journal.codes["AccessDenied"] - before <= 3 * 3 * 13
        assert scene.errors("access_denied") == 0, "what can be done without is no error"


@virtual_time
async def test_record_of_somebody_else_is_safe_from_one_who_may_not_look() -> None:
    async with playing(start=False) as scene:
        theirs = Record("shop.example.com.", "CNAME", 60, ("old.example.net.",))
        scene.cloud.route53.put_record(scene.zone, theirs)
        scene.estate.restrict(*FEWEST)
        scene.stage.start_operator()
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.says("Ready", "DNSConflict")
        await scene.delete()
        await scene.gone()
        assert scene.records == {SHOP: "old.example.net"}


@virtual_time
async def test_creation_that_was_not_written_down_is_found_by_its_name() -> None:
    """Without tags nothing proves whose it is, so a person is asked, and nothing is created twice."""
    async with playing(start=False) as scene:
        scene.estate.restrict(*FEWEST)
        scene.stage.start_operator()
        await scene.create(tenant())
        await scene.until(lambda: scene.names == [KEY.name])
        await scene.stage.operator.stop()
        known = scene.aws().id
        await scene.stage.user.merge_patch(KIND, KEY, {"status": None}, subresource="status")
        scene.stage.start_operator()
        await scene.says("Ready", "NameConflict")
        await scene.annotate(adopt="true")
        await scene.ready()
        assert scene.status()["id"] == known
