"""What costs nothing: a fleet that is as it should be is looked at by listings, and written to by nobody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.lease import LeaseOptions
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, facts, playing
from tests.tenants.system import KEY, OPTIONS, tenant

PASSES = "controller_runtime_reconcile_total"
SELF_HOSTED = {"validationTokenHost": "self-hosted", "primaryDomainName": "shop.other.example"}


@virtual_time
async def test_own_writes_cause_no_pass() -> None:
    """W9: a day of steady state is a look every five minutes, and no write."""
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        await scene.elapse(minutes=10)
        versions, writes = len(scene.versions), scene.estate.writes
        passes = _passes(scene)
        await scene.elapse(hours=5)
        assert len(scene.versions) == versions
        assert scene.estate.writes == writes
        assert _passes(scene) - passes <= 5 * 12 + 1


@pytest.mark.parametrize("managed", [False, True], ids=["own certificate", "managed certificate"])
@virtual_time
async def test_creation_writes_a_status_for_each_fact_and_no_more(managed: bool) -> None:
    """Four until the tenant is Ready. What follows is an update: the issued certificate is attached and deployed."""
    async with playing() as scene:
        request = {"validationTokenHost": "cloudfront", "primaryDomainName": "shop.example.com"}
        wish = {"managedCertificateRequest": request} if managed else {}
        await scene.create(tenant(dns=scene.dns(), **wish))
        await scene.ready()
        told = [_news(version) for version in scene.versions if "status" in version]
        assert told == ["DNSRecordCreating", "DNSPropagating", "Deploying", "Deployed"]
        assert _status_writes(scene) == len(told)
        if managed:
            await scene.says("CertificateReady", "Validated")
        await scene.elapse(hours=1)
        await scene.ready()
        assert _status_writes(scene) == len(told) + (2 if managed else 0)


@pytest.mark.parametrize("elected", [False, True])
@virtual_time
async def test_idle_operator_asks_nothing_of_the_api_server(elected: bool) -> None:
    """Changes are told by watches, and so is a previous operator that comes back. Only a lease has to be renewed."""
    async with playing(replace(OPTIONS, predecessor_namespace="default"), start=False) as scene:
        scene.stage.start_operator(lease=LeaseOptions() if elected else None)
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        await scene.elapse(minutes=10)
        before = len(scene.stage.trace.calls)
        await scene.elapse(minutes=30)
        asked = [one for one in scene.stage.trace.calls[before:] if one.target == "kubernetes"]
        watched = {one.operation for one in asked if one.operation.startswith("WATCH")}
        assert watched == {"WATCH distributiontenants", "WATCH leases", "WATCH deployments"}
        assert {one.operation for one in asked} - watched == ({"PUT leases"} if elected else set())


@virtual_time
async def test_calls_do_not_grow_with_the_number_of_tenants() -> None:
    """W13: listings for all, not a read for each; groups and distributions are read once for everybody."""
    async with playing() as scene:
        keys = [Key("default", f"tenant-{number}") for number in range(30)]
        for key in keys:
            await scene.create(tenant(key, f"{key.name}.example.com", dns=scene.dns()))
        for key in keys:
            await scene.ready(key)
        assert scene.calls("GetDistribution") == 1
        assert scene.calls("DescribeCertificate") == 1
        assert scene.calls("ChangeResourceRecordSets") <= 2
        scene.cloud.journal.clear()
        await scene.elapse(hours=1)
        listings = scene.calls("ListDistributionTenants") + scene.calls("ListResourceRecordSets")
        assert listings <= 2 * 13
        assert len(scene.cloud.journal) < 90, scene.cloud.journal.counts  # a read for each would be 360 more


@virtual_time
async def test_managed_certificate_costs_four_calls_and_a_share_of_the_listings() -> None:
    """Create, the certificate's ARN, a look before the update, the update: listings tell the rest, of all at once."""
    async with playing() as scene:
        keys = [Key("default", f"tenant-{number}") for number in range(20)]
        for key in keys:
            domain = f"{key.name}.example.com"
            wish = {"validationTokenHost": "cloudfront", "primaryDomainName": domain}
            await scene.create(tenant(key, domain, managedCertificateRequest=wish, dns=scene.dns()))
        for key in keys:
            await scene.says("CertificateReady", "Validated", key)
            await scene.ready(key)
        once = ("CreateDistributionTenant", "GetManagedCertificateDetails", "UpdateDistributionTenant")
        assert [scene.calls(operation) for operation in once] == [len(keys)] * 3
        assert scene.calls("GetDistributionTenant") <= 1.5 * len(keys)
        assert len(scene.cloud.journal) <= 6 * len(keys), scene.cloud.journal.counts


@virtual_time
async def test_connection_groups_are_read_to_the_last_page() -> None:
    """W13: the default one may be on the second."""
    async with playing(start=False, virgin=True) as scene:
        cloudfront = scene.cloud.cloudfront
        scene.cloud.world.quotas.connection_groups = 300
        for number in range(150):
            cloudfront.keep_group(cloudfront.new_group(f"group-{number}"))
        endpoint = cloudfront.default_group().endpoint
        scene.stage.start_operator()
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        assert scene.records == {"CNAME shop.example.com": endpoint}


@pytest.mark.parametrize("policy", [Policy.REPORT, Policy.SUSPEND])
@virtual_time
async def test_drift_that_is_left_does_not_keep_other_work_from_being_done(policy: Policy) -> None:
    """W10: the certificate is attached, and Ready is told, beside the drift."""
    async with playing(replace(OPTIONS, drift_policy=policy)) as scene:
        await scene.create(tenant(KEY, "shop.other.example", managedCertificateRequest=SELF_HOSTED))
        await scene.ready()
        geo = {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}}
        scene.cloud.cloudfront.change_tenant(KEY.name, customizations=geo)
        await scene.until(lambda: scene.status()["driftDetected"] is True)
        await scene.ready()
        scene.cloud.serve_token("shop.other.example")
        await scene.says("CertificateReady", "Validated")
        assert scene.aws().certificate == scene.aws().managed_certificate


@virtual_time
async def test_settings_that_are_taken_back_are_taken_from_the_tenant() -> None:
    """W11: an update says everything, also that there is nothing any more."""
    async with playing() as scene:
        geo = {"restrictionType": "whitelist", "locations": ["DE"]}
        await scene.create(tenant(customizations={"geoRestrictions": geo}))
        await scene.ready()
        await scene.edit(customizations=None)
        await scene.ready()
        assert scene.aws().customizations == {}


@virtual_time
async def test_empty_settings_that_aws_adds_are_no_drift() -> None:
    """W11: an empty object is as good as none."""
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        none = {"GeoRestrictions": {"RestrictionType": "none"}}
        scene.cloud.cloudfront.change_tenant(KEY.name, customizations=none)
        await scene.elapse(hours=1)
        assert scene.calls("UpdateDistributionTenant") == 0


def _passes(scene: Scene) -> float:
    results = ("success", "error", "requeue", "requeue_after")
    return sum(scene.metric(PASSES, controller="distributiontenant", result=one) for one in results)


def _status_writes(scene: Scene) -> int:
    return [call.operation for call in scene.stage.trace.calls].count("PATCH distributiontenants/status")


def _news(version: JsonObject) -> str:
    """What a version of an object is about: its DNS, as long as that is not done, then the tenant."""
    known = facts(version)
    return known["DNSReady" if known["DNSReady"].status == "False" else "Ready"].reason
