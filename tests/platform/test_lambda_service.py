"""TubiLambdaService: from ten lines to a function behind a domain name, and what changes of it mean in AWS."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.bridge.estate import REGION
from tests.platform.world import APPS, CODE, World, instance, platform

KIND, NAME, DOMAIN = "TubiLambdaService", "orders", "orders.example.com"
ACCOUNT = "111122223333"


def _domain_names(world: World) -> list[str]:
    return sorted(one.name for one in world.aws.gateway.domains.values())


def _existing(world: World, kind: str) -> list[str]:
    return sorted(name for found, name in world.ack.aws.existing if found == kind)


def _leading(world: World) -> dict[str, str]:
    """The records that lead to API Gateway."""
    return {name: value for name, value in world.records.items() if "execute-api" in value}


@virtual_time
async def test_service_gets_function_api_domain_certificate_and_record() -> None:
    async with platform(KIND) as world:
        await world.apply(
            instance(KIND, NAME, code=CODE, domain={"name": DOMAIN, "certificateStrategy": "create"})
        )
        status = await world.active(KIND, NAME)
        (statement,) = world.function(NAME).statements[""].values()
        api = world.get("API", NAME)["status"]["apiID"]
        assert statement["Principal"] == {"Service": "apigateway.amazonaws.com"}
        assert (
            statement["Condition"]["ArnLike"]["AWS:SourceArn"]
            == f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{api}/*/*"
        )
        live = world.aws.gateway.domain(DOMAIN)
        assert [(one.api, one.stage) for one in live.mappings] == [(api, "$default")]
        certificate = world.aws.certificates.shelf[live.configuration["CertificateArn"]]
        assert (certificate.names, certificate.status) == ((DOMAIN,), "ISSUED")
        assert list(_leading(world).values()) == [live.target]
        assert {name: status[name] for name in status if name != "conditions"} == {
            "state": "ACTIVE",
            "httpEndpoint": f"https://{api}.execute-api.{REGION}.amazonaws.com",
            "functionArn": world.function(NAME).arn,
            "functionState": "Active",
            "url": f"https://{DOMAIN}",
            "domainPhase": "READY",
            "domainEndpoint": live.target,
            "certificateArn": certificate.arn,
            "dnsRecordName": DOMAIN,
            "tableNames": [],
        }


@virtual_time
async def test_service_without_domain_has_an_endpoint_of_its_api_only() -> None:
    async with platform(KIND) as world:
        await world.apply(instance(KIND, NAME, code=CODE))
        status = await world.active(KIND, NAME)
        assert status["httpEndpoint"].startswith("https://")
        assert not {"url", "domainEndpoint", "certificateArn", "dnsRecordName"} & set(status)
        assert "APIGatewayDomain" not in world.children(NAME)
        assert not _domain_names(world)
        assert not _leading(world)


@virtual_time
async def test_service_passes_on_settings_tables_and_bucket_by_name() -> None:
    async with platform(KIND) as world:
        spec = {"env": {"LOG_LEVEL": "info"}, "tables": ["orders", "carts"], "bucket": True, "memory": 512}
        await world.apply(instance(KIND, NAME, code=CODE, **spec))
        status = await world.active(KIND, NAME)
        configuration = world.function(NAME).configuration
        assert configuration["environment"]["variables"] == {
            "LOG_LEVEL": "info",
            "DYNAMODB_TABLE0_NAME": "apps-orders-orders",
            "DYNAMODB_TABLE1_NAME": "apps-orders-carts",
            "BUCKET_NAME": "apps-orders",
        }
        assert configuration["memorySize"] == 512
        assert _existing(world, "Table") == ["apps-orders-carts", "apps-orders-orders"]
        assert _existing(world, "Bucket") == ["apps-orders"]
        assert status["tableNames"] == ["apps-orders-orders", "apps-orders-carts"]


@virtual_time
async def test_service_uses_the_role_and_the_certificate_that_it_is_given() -> None:
    role = f"arn:aws:iam::{ACCOUNT}:role/team"
    async with platform(KIND) as world:
        arn = world.aws.certificates.add_issued("*.example.com").arn
        domain = {"name": DOMAIN, "certificateStrategy": "use-arn", "certificateArn": arn}
        await world.apply(instance(KIND, NAME, code=CODE, roleArn=role, domain=domain))
        status = await world.active(KIND, NAME)
        assert world.function(NAME).configuration["role"] == role
        assert not _existing(world, "Role")
        assert status["certificateArn"] == arn
        assert world.aws.gateway.domain(DOMAIN).configuration["CertificateArn"] == arn
        await world.delete(KIND, NAME)
        await world.gone(KIND, NAME)
        assert arn in world.aws.certificates.shelf


@virtual_time
async def test_service_waits_for_the_ack_role_that_it_names() -> None:
    async with platform(KIND) as world:
        await world.apply(instance(KIND, NAME, code=CODE, roleName="team"))
        await world.elapse(minutes=2)
        assert "Role apps/team is not ready" in world.condition(KIND, NAME)["message"]
        role = {
            "apiVersion": "iam.services.k8s.aws/v1alpha1",
            "kind": "Role",
            "metadata": {"name": "team", "namespace": APPS},
            "spec": {"name": "team", "assumeRolePolicyDocument": "{}"},
        }
        await world.apply(role)
        await world.active(KIND, NAME)
        assert world.function(NAME).configuration["role"].endswith("role/team")
        await world.delete(KIND, NAME)
        await world.gone(KIND, NAME)
        assert _existing(world, "Role") == ["team"], "it was not ours"


@virtual_time
async def test_changes_of_code_and_settings_reach_aws() -> None:
    async with platform(KIND) as world:
        await world.apply(
            instance(KIND, NAME, code=CODE, env={"LOG_LEVEL": "info", "OLD": "1"}, tables=["a", "b"])
        )
        await world.active(KIND, NAME)
        function = world.function(NAME)
        new = {**CODE, "key": "orders/2.0.0/bootstrap.zip"}
        await world.edit(
            KIND, NAME, code=new, env={"LOG_LEVEL": "debug", "OLD": None}, tables=["b"], timeout=30
        )
        await world.active(KIND, NAME)
        await world.until(lambda: _existing(world, "Table") == ["apps-orders-b"])
        assert function.configuration["code"] == {"s3Bucket": new["bucket"], "s3Key": new["key"]}
        assert function.configuration["timeout"] == 30
        assert function.configuration["environment"]["variables"] == {
            "LOG_LEVEL": "debug",
            "DYNAMODB_TABLE0_NAME": "apps-orders-b",
        }
        assert world.function(NAME) is function, "it is the same function"


@virtual_time
async def test_domain_is_added_renamed_and_removed() -> None:
    async with platform(KIND) as world:
        before = world.records
        await world.apply(instance(KIND, NAME, code=CODE))
        await world.active(KIND, NAME)
        for name in (DOMAIN, "sales.example.com"):
            await world.edit(KIND, NAME, domain={"name": name, "certificateStrategy": "create"})
            status = await world.active(KIND, NAME)
            assert status["url"] == f"https://{name}"
            await world.until(lambda name=name: _domain_names(world) == [name])  # type: ignore[misc]
            assert len(_leading(world)) == 1
        await world.edit(KIND, NAME, domain={"name": ""})
        await world.until(lambda: not _domain_names(world))
        status = await world.active(KIND, NAME)
        assert "url" not in status
        assert world.records == before
        assert not world.aws.certificates.shelf


@virtual_time
async def test_change_in_aws_reaches_the_object_of_the_user() -> None:
    """The status propagation flow: AWS, ACK's object, the bridge's object, the instance."""
    async with platform(KIND) as world:
        await world.apply(
            instance(KIND, NAME, code=CODE, domain={"name": DOMAIN, "certificateStrategy": "create"})
        )
        first = await world.active(KIND, NAME)
        world.function(NAME).state = "Failed"
        await world.until(lambda: world.status(KIND, NAME).get("functionState") == "Failed")
        assert world.status(KIND, NAME)["state"] == "IN_PROGRESS"
        assert "lambda" in world.condition(KIND, NAME)["message"]
        world.function(NAME).state = "Active"
        await world.active(KIND, NAME)
        # Somebody deletes the domain name; ACK makes it anew, and everybody learns its new endpoint.
        world.aws.gateway.domains.remove(DOMAIN)
        await world.until(lambda: world.status(KIND, NAME).get("domainEndpoint") != first["domainEndpoint"])
        await world.active(KIND, NAME)
        world.aws.dangling.clear()  # that was not the operator's doing
        live = world.aws.gateway.domain(DOMAIN)
        assert world.status(KIND, NAME)["domainEndpoint"] == live.target
        assert list(_leading(world).values()) == [live.target]


@virtual_time
async def test_bad_certificate_is_told_by_the_object_of_the_user() -> None:
    async with platform(KIND) as world:
        arn = world.aws.certificates.add_issued("other.example.org").arn
        domain = {"name": DOMAIN, "certificateStrategy": "use-arn", "certificateArn": arn}
        await world.apply(instance(KIND, NAME, code=CODE, domain=domain))
        said = "it covers other.example.org, but not orders.example.com"
        await world.until(lambda: said in str(world.condition(KIND, NAME).get("message")))
        assert not _domain_names(world)
        assert world.status(KIND, NAME)["state"] != "ACTIVE"
