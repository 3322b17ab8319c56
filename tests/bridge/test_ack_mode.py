"""`ack` mode: the same through objects of ACK, of which nothing is left behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from edgekeeper.controllers.bridge.ack import API_MAPPING, CERTIFICATE, DOMAIN_NAME
from edgekeeper.controllers.bridge.domains.wiring import DomainOptions
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import Owner
from edgekeeper.kube.kinds import Key, Kind
from kubesim.plane.resource import GroupResource
from kubesim.virtual import virtual_time
from tests.bridge.world import (
    ACK_MODE,
    API,
    CLUSTER,
    DOMAIN,
    DOMAINS,
    NAME,
    Scene,
    domain,
    playing,
)

CHILD = Key("default", "api-example-com")


def _children(scene: Scene) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for kind in (DOMAIN_NAME, API_MAPPING, CERTIFICATE):
        collection = scene.stage.plane.store.collection(GroupResource(kind.group, kind.plural))
        for item in collection.ordered():
            found[kind.kind] = item.decode()
    return found


def _writes(scene: Scene) -> set[str]:
    """What the operator itself has changed in AWS."""
    reads = ("Get", "List", "Describe")
    return {one.operation for one in scene.cloud.journal.entries if not one.operation.startswith(reads)}


@virtual_time
async def test_gold_created_deleted_and_created_again_ten_times() -> None:
    """B1: neither a domain name nor a mapping, a certificate or an object of ACK is left behind."""
    async with playing(ACK_MODE) as scene:
        await scene.api()
        before = scene.estate.state()
        for _ in range(10):
            await scene.create(domain(certificateStrategy="create"))
            await scene.ready(DOMAIN)
            assert scene.mapped() == {"": (API, "$default")}
            assert set(_children(scene)) == {"DomainName", "APIMapping", "Certificate"}
            await scene.delete(DOMAINS, DOMAIN)
            await scene.gone(DOMAIN)
            assert not _children(scene)
            assert scene.estate.state() == before
        assert _writes(scene) == {"ChangeResourceRecordSets"}


@virtual_time
async def test_children_are_ours_and_say_so() -> None:
    async with playing(ACK_MODE) as scene:
        arn = scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        children, uid = _children(scene), scene.object(DOMAIN)["metadata"]["uid"]
        assert set(children) == {"DomainName", "APIMapping"}
        for child in children.values():
            metadata = child["metadata"]
            assert metadata["name"] == CHILD.name
            assert metadata["labels"] == {"app.kubernetes.io/created-by": "ack-bridge"}
            assert metadata["annotations"]["services.k8s.aws/deletion-policy"] == "delete"
            (owner,) = metadata["ownerReferences"]
            assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (uid, True, True)
        (configuration,) = children["DomainName"]["spec"]["domainNameConfigurations"]
        assert configuration["certificateARN"] == arn
        assert scene.live().tags["edgekeeper.io/uid"] == uid
        assert scene.status(DOMAIN)["managed"] is True


@virtual_time
async def test_changes_go_through_the_children() -> None:
    async with playing(ACK_MODE) as scene:
        first, second = scene.certificate(), scene.certificate("*.example.com")
        await scene.api()
        other = scene.estate.gateway.add_api("other")
        await scene.api(other, "other")
        await scene.create(domain(certificateStrategy="use-arn", certificateArn=first))
        await scene.ready(DOMAIN)
        await scene.edit(DOMAINS, DOMAIN, certificateArn=second, apiRef={"name": "other"})
        await scene.until(lambda: scene.live().configuration["CertificateArn"] == second)
        await scene.until(lambda: scene.mapped() == {"": (other, "$default")})
        await scene.ready(DOMAIN)
        await scene.edit(DOMAINS, DOMAIN, apiMappingKey="v1")
        await scene.until(lambda: scene.mapped() == {"v1": (other, "$default")})
        await scene.ready(DOMAIN)
        assert _writes(scene) == {"ChangeResourceRecordSets"}


@virtual_time
async def test_existing_domain_is_used_and_stays() -> None:
    async with playing(ACK_MODE) as scene:
        scene.estate.make_domain(NAME, API, scene.certificate())
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        assert not _children(scene)
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}


@virtual_time
async def test_existing_domain_of_another_api_is_a_conflict_until_it_is_adopted() -> None:
    """B5: "already exists" is judged by what AWS has, not by ACK's message."""
    async with playing(ACK_MODE) as scene:
        other = scene.estate.gateway.add_api("other")
        scene.estate.make_domain(NAME, other, scene.certificate())
        await scene.api()
        await scene.create(domain())
        await scene.says(DOMAIN, "DomainNameReady", "DomainConflict")
        assert scene.mapped() == {"": (other, "$default")}
        assert not _children(scene)
        await scene.edit(DOMAINS, DOMAIN, adoptExisting=True)
        await scene.ready(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}
        assert scene.status(DOMAIN)["managed"] is True
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.names


@virtual_time
async def test_domain_of_direct_mode_is_taken_over_by_ack() -> None:
    async with playing(ACK_MODE, start=False) as scene:
        scene.certificate()
        await scene.api()
        uid_tags = {"edgekeeper.io/cluster": CLUSTER, "edgekeeper.io/namespace": "default"}
        await scene.create(domain())
        uid = scene.object(DOMAIN)["metadata"]["uid"]
        scene.estate.make_domain(NAME, API, scene.certificate())
        marks = {**uid_tags, "edgekeeper.io/name": DOMAIN.name, "edgekeeper.io/uid": uid}
        scene.estate.gateway.keep(scene.live(), tags=marks)
        scene.stage.start_operator()
        await scene.ready(DOMAIN)
        child = _children(scene)["DomainName"]
        assert child["metadata"]["annotations"]["services.k8s.aws/adoption-policy"] == "adopt-or-create"
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.names
        assert not _children(scene)


@virtual_time
async def test_object_of_somebody_else_is_not_touched() -> None:
    """B8"""
    async with playing(ACK_MODE) as scene:
        scene.certificate("*.example.com")
        await scene.api()
        theirs = {"domainName": "theirs.example.com"}
        await _create(scene, DOMAIN_NAME, CHILD, theirs)
        await scene.create(domain())
        fact = await scene.says(DOMAIN, "Ready", "NameConflict")
        assert "api-example-com" in fact.message
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert _children(scene)["DomainName"]["spec"] == theirs


@virtual_time
async def test_trouble_of_ack_is_told() -> None:
    async with playing(ACK_MODE) as scene:
        scene.certificate()
        await scene.create(domain(apiRef={"apiId": "nosuchapi"}))
        fact = await scene.says(DOMAIN, "APIMappingReady", "WaitingForACK")
        assert "nosuchapi" in fact.message
        scene.estate.gateway.add_api("nosuchapi")
        await scene.ready(DOMAIN)


@virtual_time
async def test_dead_ack_does_not_keep_an_object_for_ever() -> None:
    async with playing(replace(ACK_MODE, cleanup_timeout=timedelta(minutes=5))) as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        assert scene.estate.ack is not None
        scene.estate.ack.is_running = False
        await scene.delete(DOMAINS, DOMAIN)
        await scene.elapse(seconds=60)
        assert "waiting for ACK" in scene.status(DOMAIN)["lastError"]["message"]
        await scene.gone(DOMAIN)
        assert scene.events(DOMAIN, "CleanupAbandoned")


@virtual_time
async def test_retained_domain_stays() -> None:
    async with playing(ACK_MODE) as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain(deletionPolicy="Retain"))
        await scene.ready(DOMAIN)
        child = _children(scene)["DomainName"]
        assert child["metadata"]["annotations"]["services.k8s.aws/deletion-policy"] == "retain"
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}
        assert not _children(scene)


@virtual_time
async def test_mode_is_detected_by_the_kinds_of_ack() -> None:
    auto = DomainOptions(CLUSTER)
    async with playing(auto) as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.until(lambda: "DomainName" in _children(scene))
    async with playing(auto, ack_kinds=False) as scene:
        scene.certificate()
        await scene.create(domain(apiRef={"apiId": API}))
        await scene.ready(DOMAIN)
        assert scene.calls("CreateDomainName") == 1


async def _create(scene: Scene, kind: Kind, key: Key, spec: JsonObject) -> None:
    metadata = {"name": key.name, "namespace": key.namespace}
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
    await scene.stage.user.create(kind, obj)


@virtual_time
async def test_domain_name_that_a_lost_cluster_has_left_is_adopted_by_ack() -> None:
    lost = Owner("lost-cluster", DOMAIN.namespace, DOMAIN.name, "00000000-0000-4000-8000-000000000000")
    async with playing(replace(ACK_MODE, lost_clusters=frozenset({lost.cluster}))) as scene:
        scene.estate.make_domain(NAME, API, scene.certificate())
        live = scene.estate.gateway.keep(scene.estate.gateway.domains[NAME], tags=lost.tags())
        scene.estate.make_record(NAME, f"{live.target}.")
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        uid = scene.object(DOMAIN)["metadata"]["uid"]
        assert scene.live().tags["edgekeeper.io/uid"] == uid
        assert scene.live().target == live.target
        assert [one["name"] for one in scene.status(DOMAIN)["inventory"]] == [NAME]
        assert not _writes(scene), "everything was there"
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.names
        assert not scene.records
