"""A fleet that another operator has left behind is taken over without an edit and without disturbing anybody.

What it left: objects with its finalizer and status, tenants without a mark, records that are in no inventory.
"""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.api.cloudfront import FINALIZER
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import Key
from kubesim.aws.route53.records import Record
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

WRITES = ("CreateDistributionTenant", "UpdateDistributionTenant", "DeleteDistributionTenant")
CHANGE, TAG = "ChangeResourceRecordSets", "TagResource"


async def _left_behind(scene: Scene, key: Key, *domains: str, **spec: Any) -> None:
    """An object as the other operator leaves it, with its tenant and its records."""
    live = scene.estate.make_tenant(key.name, *domains)
    for domain in domains:
        record = Record(f"{domain}.", "CNAME", 300, (f"{scene.endpoint}.",))
        scene.cloud.route53.put_record(scene.zone, record)
    obj = tenant(key, *domains, **{"dns": scene.dns(), **spec})
    obj["metadata"]["finalizers"] = [FINALIZER]
    await scene.create(obj)
    status: JsonObject = {
        "observedGeneration": 1,
        "id": live.id,
        "arn": live.arn,
        "eTag": live.etag,
        "distributionTenantStatus": "Deployed",
        "domainResults": [{"domain": domain, "status": "active"} for domain in domains],
        "dnsTarget": scene.endpoint,
        "driftDetected": False,
        "conditions": [
            _condition("Ready", "Deployed"),
            _condition("Synced", "InSync"),
            _condition("CertificateReady", "NotConfigured"),
            _condition("DNSReady", "DNSReady"),
        ],
    }
    await scene.stage.user.merge_patch(KIND, key, {"status": status}, subresource="status")


def _condition(type_: str, reason: str) -> JsonObject:
    return {
        "type": type_,
        "status": "True",
        "reason": reason,
        "message": "as another operator puts it",
        "observedGeneration": 1,
        "lastTransitionTime": "2025-11-05T12:00:00Z",
    }


@virtual_time
async def test_fleet_is_taken_over_with_nothing_but_marks() -> None:
    async with playing(start=False) as scene:
        keys = [Key("default", f"tenant-{number}") for number in range(8)]
        for key in keys:
            await _left_behind(scene, key, f"{key.name}.example.com", f"www-{key.name}.example.com")
        records = scene.records
        scene.stage.start_operator()
        await scene.elapse(minutes=20)
        assert sum(map(scene.calls, WRITES)) == 0
        assert scene.calls(CHANGE) == 0
        assert scene.calls(TAG) == len(keys)
        assert scene.records == records
        for key in keys:
            uid = scene.object(key)["metadata"]["uid"]
            assert scene.aws(key.name).tags[f"{TAG_PREFIX}uid"] == uid
            assert scene.fact("Ready", key)[:2] == ("True", "Deployed")
            assert scene.fact("DNSReady", key)[:2] == ("True", "DNSReady")
            assert len(scene.status(key)["inventory"]) == 2
            assert {one.status for one in scene.reasons("Ready", key)} == {"True"}, "it never seemed broken"


@virtual_time
async def test_domain_that_was_changed_meanwhile_is_carried_out() -> None:
    async with playing(start=False) as scene:
        await _left_behind(scene, KEY, "shop.example.com", "old.example.com")
        await scene.edit(domains=[{"domain": "shop.example.com"}, {"domain": "new.example.com"}])
        scene.stage.start_operator()
        await scene.ready()
        assert scene.aws().domains == ("shop.example.com", "new.example.com")
        assert set(scene.records) == {"CNAME shop.example.com", "CNAME new.example.com"}
        assert [scene.calls(one) for one in WRITES] == [0, 1, 0]


@virtual_time
async def test_new_domain_of_a_taken_over_object_takes_nobodys_record() -> None:
    async with playing(start=False) as scene:
        await _left_behind(scene, KEY, "shop.example.com")
        theirs = Record("new.example.com.", "CNAME", 60, ("theirs.example.net.",))
        scene.cloud.route53.put_record(scene.zone, theirs)
        await scene.edit(domains=[{"domain": "shop.example.com"}, {"domain": "new.example.com"}])
        scene.stage.start_operator()
        await scene.says("Ready", "DNSConflict")
        assert scene.records["CNAME new.example.com"] == "theirs.example.net"


@virtual_time
async def test_taken_over_object_can_be_deleted() -> None:
    async with playing(start=False) as scene:
        await _left_behind(scene, KEY, "shop.example.com")
        await scene.delete()
        scene.stage.start_operator()
        await scene.gone()
        assert scene.names == []
        assert scene.records == {}


@virtual_time
async def test_id_in_the_status_of_a_tenant_with_another_name_is_not_believed() -> None:
    async with playing(start=False) as scene:
        await _left_behind(scene, KEY, "shop.example.com")
        victim = scene.estate.make_tenant("victim", "victim.example.com")
        forged = {"id": victim.id, "arn": victim.arn, "eTag": victim.etag}
        await scene.stage.user.merge_patch(KIND, KEY, {"status": forged}, subresource="status")
        scene.stage.start_operator()
        await scene.elapse(minutes=10)
        assert scene.aws("victim") == victim
        await scene.delete()
        await scene.elapse(minutes=10)
        assert scene.aws("victim") == victim


@virtual_time
async def test_object_that_was_restored_elsewhere_does_not_touch_the_tenant_of_the_first() -> None:
    """Its status is a copy: id and name are right, but the mark is another's."""
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        before, status = scene.aws(), scene.status()
        await scene.stage.operator.stop()
        await scene.delete()
        await scene.stage.patch(KIND, KEY, {"metadata": {"finalizers": None}})
        await scene.create(tenant(KEY, "www.example.com"))
        await scene.stage.user.merge_patch(KIND, KEY, {"status": status}, subresource="status")
        scene.stage.start_operator()
        told = (await scene.says("Ready", "NameConflict")).message
        assert "an earlier object of this name" in told
        assert 'edgekeeper.io/adopt: "true"' in told
        await scene.delete()
        await scene.gone()
        assert scene.aws() == before


@virtual_time
async def test_creation_that_the_other_operator_had_begun_is_finished() -> None:
    async with playing(start=False) as scene:
        obj = tenant(KEY, "shop.example.com", dns=scene.dns())
        obj["metadata"]["finalizers"] = [FINALIZER]
        await scene.create(obj)
        record = Record("shop.example.com.", "CNAME", 300, (f"{scene.endpoint}.",))
        scene.cloud.route53.put_record(scene.zone, record)
        change = scene.cloud.route53.submit("Managed by cloudfront-tenant-operator")
        status = {"dnsChangeId": change.id, "dnsTarget": scene.endpoint}
        await scene.stage.user.merge_patch(KIND, KEY, {"status": status}, subresource="status")
        scene.stage.start_operator()
        await scene.ready()
        assert scene.calls(CHANGE) == 0
        assert scene.names == [KEY.name]


@pytest.mark.parametrize("is_managed", [False, True], ids=["own certificate", "managed certificate"])
@virtual_time
async def test_certificate_of_a_taken_over_object_is_not_requested_again(is_managed: bool) -> None:
    async with playing(start=False) as scene:
        wish = {"validationTokenHost": "cloudfront", "primaryDomainName": "shop.example.com"}
        await _left_behind(
            scene, KEY, "shop.example.com", **({"managedCertificateRequest": wish} if is_managed else {})
        )
        if is_managed:
            managed = (
                scene.cloud.account()
                .certificates()
                .request(("shop.example.com",), "HTTP", managed_by="CLOUDFRONT", validation_host="cloudfront")
            )
            live = scene.aws()
            scene.cloud.cloudfront.change_tenant(live.id, managed_certificate=managed.arn)
        scene.stage.start_operator()
        await scene.ready()
        requests = [
            one for one in scene.cloud.journal.calls(WRITES[1]) if "ManagedCertificateRequest" in one.params
        ]
        assert not requests
