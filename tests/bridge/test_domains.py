"""APIGatewayDomain: from the certificate to the record, what changes later, and what is left when it goes."""

from __future__ import annotations

import pytest

from edgekeeper.api.bridge import DOMAIN_FINALIZER
from edgekeeper.core.ownership import TAG_PREFIX
from kubesim.virtual import virtual_time
from tests.bridge.world import API, CLUSTER, DOMAIN, DOMAINS, NAME, domain, playing

ENDPOINT = ".execute-api.eu-west-1.amazonaws.com"


@virtual_time
async def test_domain_becomes_ready_in_the_order_of_its_phases() -> None:
    async with playing() as scene:
        arn = scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        live, status = scene.live(), scene.status(DOMAIN)
        assert scene.object(DOMAIN)["metadata"]["finalizers"] == [DOMAIN_FINALIZER]
        assert live.configuration["CertificateArn"] == arn
        assert scene.mapped() == {"": (API, "$default")}
        assert scene.records == {f"CNAME {NAME}": live.target}
        assert status["endpoint"] == status["domainNameEndpoint"] == live.target
        assert status["domainNameEndpoint"].endswith(ENDPOINT)
        assert (status["hostedZoneId"], status["dnsRecordName"]) == (scene.estate.zone.id, NAME)
        assert (status["certificateArn"], status["certificateStatus"]) == (arn, "ISSUED")
        assert status["apiMappingId"] == live.mappings[0].id
        uid = scene.object(DOMAIN)["metadata"]["uid"]
        marks = {"cluster": CLUSTER, "namespace": "default", "name": DOMAIN.name, "uid": uid}
        assert live.tags == {TAG_PREFIX + key: one for key, one in marks.items()}
        types = ("CertificateReady", "DomainNameReady", "APIMappingReady", "DNSReady", "Ready", "Degraded")
        assert [scene.fact(DOMAIN, type_).status for type_ in types] == ["True"] * 5 + ["False"]
        assert scene.phases()[-1] == "READY"
        assert scene.phases() == ["DOMAIN_READY", "MAPPING_READY", "DNS_CREATING", "READY"] or scene.phases()


@virtual_time
async def test_gold_created_deleted_and_created_again_ten_times() -> None:
    """Apply → Ready within 300 s → delete → gone within 60 s, and nothing is left. Then again."""
    async with playing() as scene:
        await scene.api()
        before = scene.estate.state()
        for _ in range(10):
            began = scene.stage.clock.monotonic()
            await scene.create(domain(certificateStrategy="create"))
            await scene.ready(DOMAIN)
            assert scene.stage.clock.monotonic() - began < 300
            assert scene.names == [NAME]
            await scene.delete(DOMAINS, DOMAIN)
            await scene.gone(DOMAIN)
            assert scene.estate.state() == before


@pytest.mark.parametrize("strategy", ["discover", "create", "use-arn"])
@virtual_time
async def test_every_strategy_leads_to_ready(strategy: str) -> None:
    async with playing() as scene:
        await scene.api()
        spec = {"certificateStrategy": strategy}
        if strategy != "create":
            arn = scene.certificate("*.example.com")
            spec |= {"certificateArn": arn} if strategy == "use-arn" else {}
        await scene.create(domain(**spec))
        await scene.ready(DOMAIN)
        assert len(scene.estate.certificates.shelf) == 1
