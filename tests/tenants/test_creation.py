"""Creating a tenant: once, with an owner's mark, and with a word for everything that keeps it from being created."""

from __future__ import annotations

from edgekeeper.api.cloudfront import FINALIZER
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import Key
from kubesim.aws.faults import error
from kubesim.virtual import virtual_time
from tests.tenants.scene import Fact, playing
from tests.tenants.system import CLUSTER, KEY, tenant

FIRST = Key("default", "first")
CREATE = "CreateDistributionTenant"
MANAGED = {"primaryDomainName": "shop.example.com"}
UNREADABLE = "The request is invalid: 100% of it."


@virtual_time
async def test_new_tenant_is_claimed_then_validated_then_created_once() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.says("Ready", "Deploying")
        first, status = scene.versions[1], scene.status()
        assert first["metadata"]["finalizers"] == [FINALIZER]
        assert "status" not in first
        assert scene.reasons("Ready") == [Fact("False", "Creating"), Fact("False", "Deploying")]
        assert (scene.calls("GetDistribution"), scene.calls(CREATE)) == (1, 1)
        live = scene.aws()
        assert (status["id"], status["arn"], status["eTag"]) == (live.id, live.arn, live.etag)
        assert status["distributionTenantStatus"] == "InProgress"
        assert scene.fact("Synced")[:2] == ("True", "InSync")
        assert scene.fact("CertificateReady")[:2] == ("True", "NotConfigured")
        assert scene.fact("DNSReady")[:2] == ("True", "DNSNotConfigured")
        await scene.ready()
        assert scene.calls(CREATE) == 1


@virtual_time
async def test_created_tenant_bears_the_mark_of_its_object() -> None:
    async with playing() as scene:
        await scene.create(tenant(tags=[{"key": "team", "value": "shop"}]))
        await scene.ready()
        uid = scene.object()["metadata"]["uid"]
        marks = {"cluster": CLUSTER, "namespace": KEY.namespace, "name": KEY.name, "uid": uid}
        assert scene.aws().tags == {"team": "shop", **{TAG_PREFIX + key: one for key, one in marks.items()}}


@virtual_time
async def test_domain_of_another_tenant_stalls_and_names_the_holder() -> None:
    async with playing() as scene:
        await scene.create(tenant(FIRST, "shop.example.com"))
        await scene.ready(FIRST)
        scene.stage.operator.die()  # so that no object of the cluster claims the domain
        await scene.stage.patch(KIND, FIRST, {"metadata": {"finalizers": None}})
        await scene.delete(FIRST)
        scene.stage.start_operator()
        await scene.create(tenant(KEY, "shop.example.com"))
        fact = await scene.says("Ready", "DomainConflict")
        assert fact.status == "False"
        assert "belongs to tenant first" in fact.message
        assert scene.fact("Synced")[:2] == ("False", "DomainConflict")
        await scene.elapse(minutes=14)
        assert scene.calls(CREATE) == 1 + 3, "a terminal error is looked at again every five minutes"
        assert len(scene.events("DomainConflict")) == 1
        assert scene.errors("domain_conflict") == 1


@virtual_time
async def test_deployed_tenant_is_ready() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        assert scene.reasons("Ready") == [
            Fact("False", "Creating"),
            Fact("False", "Deploying"),
            Fact("True", "Deployed"),
        ]
        status = scene.status()
        assert status["distributionTenantStatus"] == "Deployed"
        assert status["domainResults"] == [{"domain": "shop.example.com", "status": "active"}]
        assert status["observedGeneration"] == scene.object()["metadata"]["generation"]


@virtual_time
async def test_throttled_creation_is_tried_again_a_minute_later_without_a_word() -> None:
    async with playing(start=False) as scene:
        scene.cloud.faults.add(error("Throttling", "Rate exceeded", 400), operation=CREATE, times=100)
        scene.stage.start_operator()
        await scene.create(tenant())
        await scene.until(lambda: scene.errors("throttling") > 0)
        assert "status" not in scene.object()
        assert not scene.events()
        scene.cloud.faults.clear()
        await scene.elapse(seconds=61)
        assert scene.names == [KEY.name]


@virtual_time
async def test_distribution_that_may_not_be_read_does_not_keep_tenants_from_being_created() -> None:
    async with playing() as scene:
        scene.cloud.guard.denied.add("cloudfront:GetDistribution")
        await scene.create(tenant())
        await scene.ready()


@virtual_time
async def test_refusal_while_cloudfront_validates_the_domain_is_pending_not_wrong() -> None:
    async with playing() as scene:
        await scene.create(tenant(managedCertificateRequest={"validationTokenHost": "cloudfront", **MANAGED}))
        fact = await scene.says("Ready", "DomainValidationPending")
        assert fact.status == "False"
        assert "DNS may still be propagating" in fact.message
        calls = scene.calls(CREATE)
        await scene.elapse(minutes=4)
        assert scene.calls(CREATE) == calls
        await scene.elapse(minutes=2)
        assert scene.calls(CREATE) == calls + 1
        assert len(scene.events("DomainValidationPending")) == 1
        assert scene.errors("domain_validation_pending") == 1


@virtual_time
async def test_refusal_with_a_self_hosted_token_blames_the_spec() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error("InvalidArgument", UNREADABLE), operation=CREATE, times=None)
        await scene.create(
            tenant(managedCertificateRequest={"validationTokenHost": "self-hosted", **MANAGED})
        )
        fact = await scene.says("Ready", "InvalidSpec")
        assert UNREADABLE in fact.message, "what AWS says is told word for word"


@virtual_time
async def test_refusal_without_a_managed_certificate_blames_the_spec() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error("InvalidArgument", UNREADABLE), operation=CREATE, times=None)
        await scene.create(tenant())
        assert (await scene.says("Ready", "InvalidSpec")).status == "False"
        await scene.elapse(seconds=5)
        assert [UNREADABLE in note for note in scene.events("InvalidSpec")] == [True]
        assert scene.errors("invalid_spec") == 1
