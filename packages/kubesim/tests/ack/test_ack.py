"""ACK, simulated: what its controllers do with objects, and what they tell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kubesim.ack.controller import acting
from kubesim.ack.definitions import (
    API,
    API_MAPPING,
    CERTIFICATE,
    DB_INSTANCE,
    DOMAIN_NAME,
    FUNCTION,
    KINDS,
    ROLE,
    STAGE,
    AckKind,
)
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.settings import UNLIMITED
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.virtual import LoopClock, virtual_time

REGION, NAME = "eu-west-1", "api.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Tree = dict[str, Any]


class Scene:
    """A server with ACK's kinds, and a cloud."""

    def __init__(self, plane: Plane, cloud: AwsCloud) -> None:
        self.plane = plane
        self.cloud = cloud
        self.gateway = cloud.account().apigateway(REGION)
        self.certificates = cloud.account().certificates(REGION)

    async def create(self, kind: AckKind, spec: Tree, **annotations: str) -> None:
        named = {f"services.k8s.aws/{key.replace('_', '-')}": value for key, value in annotations.items()}
        metadata = {"name": "one", "annotations": named}
        body = {"apiVersion": f"{kind.group}/v1alpha1", "kind": kind.kind, "metadata": metadata, "spec": spec}
        await self.plane.client.create(_path(kind).rpartition("/")[0], body)
        await asyncio.sleep(15)

    async def read(self, kind: AckKind) -> Tree:
        return await self.plane.client.get(_path(kind))

    async def condition(self, kind: AckKind, type_: str) -> tuple[str, str]:
        conditions = (await self.read(kind))["status"]["conditions"]
        found = {one["type"]: (one["status"], one["message"]) for one in conditions}
        return found.get(type_, ("", ""))

    async def delete(self, kind: AckKind) -> None:
        await self.plane.client.delete(_path(kind))
        await asyncio.sleep(15)

    def domain_spec(self, certificate: str = "") -> Tree:
        arn = certificate or self.certificates.add_issued(NAME).arn
        settings = {"certificateARN": arn, "endpointType": "REGIONAL", "securityPolicy": "TLS_1_2"}
        return {"domainName": NAME, "domainNameConfigurations": [settings], "tags": {"team": "shop"}}


def _path(kind: AckKind) -> str:
    return f"/apis/{kind.group}/v1alpha1/namespaces/default/{kind.plural}/one"


@asynccontextmanager
async def playing() -> AsyncIterator[Scene]:
    clock = LoopClock()
    cloud = AwsCloud(clock, rates=UNLIMITED)
    async with Plane(PlaneConfig(simulators=frozenset(), gateway_api=False, now=clock.now)) as plane:
        for kind in KINDS:
            await plane.client.create(DEFINITIONS, kind.definition())
        await plane.settle()
        async with acting(plane, cloud, REGION):
            yield Scene(plane, cloud)


@virtual_time
async def test_object_becomes_what_it_asks_for_and_goes_with_it() -> None:
    async with playing() as scene:
        await scene.create(DOMAIN_NAME, scene.domain_spec())
        made = await scene.read(DOMAIN_NAME)
        assert made["metadata"]["finalizers"] == ["finalizers.apigatewayv2.services.k8s.aws/DomainName"]
        assert made["status"]["ackResourceMetadata"]["region"] == REGION
        assert made["status"]["ackResourceMetadata"]["arn"].endswith(NAME)
        assert (await scene.condition(DOMAIN_NAME, "ACK.ResourceSynced"))[0] == "True"
        assert (await scene.condition(DOMAIN_NAME, "Ready"))[0] == "True"
        assert scene.gateway.domain(NAME).tags == {"team": "shop"}
        await scene.delete(DOMAIN_NAME)
        assert not scene.gateway.domains
        with pytest.raises(StatusError):
            await scene.read(DOMAIN_NAME)


@virtual_time
async def test_what_exists_already_is_terminal_unless_it_is_adopted() -> None:
    async with playing() as scene:
        await scene.create(DOMAIN_NAME, scene.domain_spec())
        await scene.plane.client.merge(
            _path(DOMAIN_NAME), {"metadata": {"annotations": {"services.k8s.aws/deletion-policy": "retain"}}}
        )
        await scene.delete(DOMAIN_NAME)
        assert list(scene.gateway.domains.values())
        await scene.create(DOMAIN_NAME, scene.domain_spec())
        assert await scene.condition(DOMAIN_NAME, "ACK.Terminal") == ("True", "Resource already exists")
        assert (await scene.condition(DOMAIN_NAME, "ACK.ResourceSynced"))[0] == "False"
        adopt = {"services.k8s.aws/adoption-policy": "adopt-or-create"}
        await scene.plane.client.merge(_path(DOMAIN_NAME), {"metadata": {"annotations": adopt}})
        await asyncio.sleep(15)
        assert await scene.condition(DOMAIN_NAME, "ACK.Terminal") == ("", "")
        await scene.delete(DOMAIN_NAME)
        assert not scene.gateway.domains


@virtual_time
async def test_changed_object_changes_what_it_stands_for() -> None:
    async with playing() as scene:
        await scene.create(DOMAIN_NAME, scene.domain_spec())
        other = scene.certificates.add_issued("*.example.com").arn
        await scene.plane.client.merge(_path(DOMAIN_NAME), {"spec": scene.domain_spec(other)})
        await asyncio.sleep(15)
        assert scene.gateway.domain(NAME).configuration["CertificateArn"] == other


@virtual_time
async def test_bad_request_is_terminal_and_conflict_is_recoverable() -> None:
    async with playing() as scene:
        await scene.create(DOMAIN_NAME, scene.domain_spec("arn:aws:acm:eu-west-1:111122223333:certificate/x"))
        status, message = await scene.condition(DOMAIN_NAME, "ACK.Terminal")
        assert (status, "BadRequestException" in message) == ("True", True)
        await scene.plane.client.merge(_path(DOMAIN_NAME), {"spec": scene.domain_spec()})
        await asyncio.sleep(15)
        api = scene.gateway.add_api()
        spec = {"apiID": api, "domainName": NAME, "stage": "$default"}
        await scene.create(API_MAPPING, spec)
        live = scene.gateway.domain(NAME)
        assert [one.api for one in live.mappings] == [api]
        await scene.plane.client.merge(f"{_path(API_MAPPING)}/status", {"status": {"apiMappingID": None}})
        await asyncio.sleep(15)
        status, message = await scene.condition(API_MAPPING, "ACK.Recoverable")
        assert (status, "ConflictException" in message) == ("True", True)


@virtual_time
async def test_certificate_shows_how_it_is_validated() -> None:
    async with playing() as scene:
        await scene.create(CERTIFICATE, {"domainName": NAME})
        status = (await scene.read(CERTIFICATE))["status"]
        assert status["status"] == "PENDING_VALIDATION"
        assert status["domainValidations"][0]["resourceRecord"]["type_"] == "CNAME"
        scene.certificates.approve(status["ackResourceMetadata"]["arn"])
        await asyncio.sleep(15)
        assert (await scene.read(CERTIFICATE))["status"]["status"] == "ISSUED"


@virtual_time
async def test_reference_is_waited_for() -> None:
    async with playing() as scene:
        await scene.create(STAGE, {"apiRef": {"from": {"name": "one"}}, "stageName": "beta"})
        status, message = await scene.condition(STAGE, "ACK.Recoverable")
        assert (status, "API default/one" in message) == ("True", True)
        await scene.create(API, {"name": "shop", "protocolType": "HTTP"})
        await asyncio.sleep(15)
        api = (await scene.read(API))["status"]
        assert scene.gateway.apis == {api["apiID"]: ("beta",)}
        assert api["apiEndpoint"].startswith(f"https://{api['apiID']}.")


@virtual_time
async def test_function_has_what_its_object_says_and_waits_for_its_role() -> None:
    async with playing() as scene:
        functions = scene.cloud.account().functions(REGION)
        spec = {"name": "shop", "roleRef": {"from": {"name": "one"}}, "memorySize": 128}
        await scene.create(FUNCTION, spec)
        assert (await scene.condition(FUNCTION, "ACK.Recoverable"))[0] == "True"
        assert not functions.save()
        await scene.create(ROLE, {"name": "team", "assumeRolePolicyDocument": "{}"})
        (made,) = functions.save()
        assert made.configuration["role"].endswith("role/team")
        patch = {"spec": {"memorySize": 512}}
        await scene.plane.client.merge(_path(FUNCTION), patch)
        await asyncio.sleep(15)
        assert made.configuration["memorySize"] == 512
        made.state = "Inactive"
        await asyncio.sleep(15)
        assert (await scene.read(FUNCTION))["status"]["state"] == "Inactive"


@virtual_time
async def test_object_whose_reference_is_gone_can_be_deleted() -> None:
    async with playing() as scene:
        await scene.create(ROLE, {"name": "team", "assumeRolePolicyDocument": "{}"})
        await scene.create(FUNCTION, {"name": "shop", "roleRef": {"from": {"name": "one"}}})
        await scene.delete(ROLE)
        await scene.delete(FUNCTION)
        assert not scene.cloud.account().functions(REGION).save()
        with pytest.raises(StatusError):
            await scene.read(FUNCTION)


@virtual_time
async def test_database_tells_where_the_password_is_that_rds_has_made() -> None:
    async with playing() as scene:
        spec = {"dbInstanceIdentifier": "ledger", "dbInstanceClass": "db.t4g.medium", "engine": "postgres"}
        await scene.create(DB_INSTANCE, {**spec, "manageMasterUserPassword": True})
        status = (await scene.read(DB_INSTANCE))["status"]
        assert status["dbInstanceStatus"] == "available"
        assert ":secretsmanager:" in status["masterUserSecret"]["secretARN"]
