"""Objects of ack-bridge are taken over as they are, once it has stopped."""

from __future__ import annotations

from dataclasses import replace

from edgekeeper.api.lambda_permission import PERMISSION_FINALIZER
from edgekeeper.controllers.bridge.ack import API_MAPPING, DOMAIN_NAME
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import DEPLOYMENT, NAMESPACE, Key, Kind
from kubesim.virtual import virtual_time
from tests.bridge.world import (
    ACK_MODE,
    API,
    DOMAIN,
    DOMAINS,
    NAME,
    OPTIONS,
    PERMISSION,
    PERMISSIONS,
    SOURCE,
    Scene,
    domain,
    permission,
    playing,
    statement,
)

CHILD = Key("default", "api-example-com")
FINALIZER = "bridge.ack.tubi.internal/apigateway-domain"


async def _inherited(scene: Scene) -> None:
    """What ack-bridge leaves: children that retain, a CNAME, and a status without an inventory."""
    arn = scene.certificate()
    await scene.api()
    obj = domain()
    obj["metadata"]["finalizers"] = [FINALIZER]
    await scene.create(obj)
    owner = scene.object(DOMAIN)["metadata"]["uid"]
    settings = {"certificateARN": arn, "endpointType": "REGIONAL", "securityPolicy": "TLS_1_2"}
    await _child(scene, DOMAIN_NAME, owner, {"domainName": NAME, "domainNameConfigurations": [settings]})
    await scene.until(lambda: scene.names == [NAME])
    await _child(scene, API_MAPPING, owner, {"apiID": API, "domainName": NAME, "stage": "$default"})
    await scene.until(lambda: bool(scene.mapped()))
    scene.estate.make_record(NAME, scene.live().target)
    status = {
        "ready": True,
        "certificateArn": arn,
        "domainNameEndpoint": scene.live().target,
        "hostedZoneId": scene.estate.zone.id,
        "dnsRecordName": NAME,
        "observedGeneration": 1,
        "conditions": [
            {
                "type": type_,
                "status": "True",
                "reason": "Ready",
                "message": "",
                "lastTransitionTime": "2025-12-01T00:00:00Z",
                "observedGeneration": 1,
            }
            for type_ in ("Ready", "CertificateReady", "DomainNameReady", "APIMappingReady", "DNSReady")
        ],
    }
    await scene.stage.user.merge_patch(DOMAINS, DOMAIN, {"status": status}, subresource="status")


async def _child(scene: Scene, kind: Kind, owner: str, spec: JsonObject) -> None:
    reference = {
        "apiVersion": DOMAINS.api_version,
        "kind": DOMAINS.kind,
        "name": DOMAIN.name,
        "uid": owner,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": CHILD.name,
        "namespace": CHILD.namespace,
        "annotations": {"services.k8s.aws/deletion-policy": "retain"},
        "ownerReferences": [reference],
    }
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
    await scene.stage.user.create(kind, obj)


@virtual_time
async def test_domain_of_ack_bridge_becomes_ours_and_goes_whole() -> None:
    async with playing(ACK_MODE, start=False) as scene:
        await _inherited(scene)
        target = scene.live().target
        scene.stage.start_operator()
        await scene.until(lambda: scene.status(DOMAIN).get("managed") is True)
        await scene.ready(DOMAIN)
        assert scene.live().target == target
        assert scene.records == {f"CNAME {NAME}": target}
        assert [one["name"] for one in scene.status(DOMAIN)["inventory"]] == [NAME]
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.names
        assert not scene.records


@virtual_time
async def test_nothing_is_written_while_ack_bridge_runs() -> None:
    async with playing(replace(OPTIONS, predecessor_namespace="edgekeeper"), start=False) as scene:
        scene.certificate()
        await scene.api()
        user = scene.stage.user
        await user.create(NAMESPACE, {"metadata": {"name": "kro-system"}})
        labels, key = {"app": "ack-bridge"}, Key("kro-system", "ack-bridge")
        pod = {"containers": [{"name": "bridge", "image": "ack-bridge:1"}]}
        spec = {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        await user.create(
            DEPLOYMENT,
            {"metadata": {"name": key.name, "namespace": key.namespace, "labels": labels}, "spec": spec},
        )
        running = {"status": {"replicas": 1, "availableReplicas": 1, "readyReplicas": 1}}
        await user.merge_patch(DEPLOYMENT, key, running, subresource="status")
        scene.stage.start_operator()
        await scene.create(domain())
        await scene.elapse(minutes=5)
        assert not scene.names
        await user.delete(DEPLOYMENT, key)
        await scene.ready(DOMAIN)


@virtual_time
async def test_permission_of_ack_bridge_is_served_as_it_is_and_goes_whole_once_adopted() -> None:
    """Statements have no mark, and what ack-bridge says in the status is not documented: so the user says whose they are."""
    async with playing(start=False) as scene:
        scene.estate.make_statement("api", SOURCE)
        scene.estate.statements()["api"]["Principal"] = {"Service": "apigateway.amazonaws.com"}
        before = dict(scene.estate.statements())
        obj = permission(statement("api"))
        obj["metadata"]["finalizers"] = [PERMISSION_FINALIZER]
        await scene.create(obj)
        writes = scene.estate.writes
        scene.stage.start_operator()
        await scene.ready(PERMISSION)
        await scene.annotate(PERMISSIONS, PERMISSION, adopt="true")
        await scene.until(lambda: bool(scene.status(PERMISSION).get("inventory")))
        assert scene.estate.writes == writes
        assert scene.estate.statements() == before
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert not scene.estate.statements()
