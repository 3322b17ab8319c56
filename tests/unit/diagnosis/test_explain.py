"""`edgekeeper explain` on prepared failures: the cause and the remedy are in the output, and nothing is changed."""

from __future__ import annotations

import pytest

from edgekeeper.api.lambda_permission import LAMBDA_PERMISSION
from edgekeeper.cli.explain import answer
from edgekeeper.cli.failure import CommandError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, HTTP_ROUTE, NAMESPACE, SECRET, Key
from kubesim.aws.faults import error
from kubesim.virtual import virtual_time
from tests.platform.world import APPS, CODE, instance, platform
from tests.tenants.estate import NEIGHBOUR
from tests.unit.diagnosis.explained import (
    NO_DEFINITIONS,
    broken_definition,
    domain,
    explained,
    permission,
    previous_operator,
    route,
    says,
    tenant,
)


@virtual_time
async def test_tenants_say_conflicts_zones_roles_and_certificates() -> None:
    async with platform(NO_DEFINITIONS) as world:
        zone = {"provider": "route53", "hostedZoneId": world.aws.zone.id}
        await world.apply(tenant("first", "shop.example.com", dns=zone))
        await says(
            world, "dt/first", "is ready", "hostnames: shop.example.com", f"hosted zone {world.aws.zone.id}"
        )
        await world.apply(tenant("second", "shop.example.com"))
        await world.apply(tenant("lost", "lost.example.com", dns={**zone, "hostedZoneId": "Z0MISSING"}))
        role = f"arn:aws:iam::{NEIGHBOUR}:role/dns"
        await world.apply(tenant("foreign", "foreign.example.com", dns={**zone, "assumeRoleArn": role}))
        wish = {"validationTokenHost": "self-hosted", "primaryDomainName": "own.example.com"}
        await world.apply(tenant("own", "own.example.com", managedCertificateRequest=wish))
        misspelt = tenant("misspelt", "misspelt.example.com")
        misspelt["metadata"]["annotations"] = {"edgekeeper.io/drift-policy": "ignore"}
        await world.apply(misspelt)

        text = await says(world, "dt/second", "is not ready: DomainConflict", "shop.example.com is served by")
        assert "DistributionTenant apps/first (has what this one wants) is there" in text
        assert text.endswith(
            "Root cause: DistributionTenant apps/second: DomainConflict\n"
            "What to do: remove the domain from one of the two; the other then continues by itself\n"
        )
        await says(
            world, "dt/lost", "DNSError", "Z0MISSING", "What to do: correct the zone and role of the spec"
        )
        await says(world, "dt/foreign", role, "allow the operator to assume the role")
        await says(
            world,
            "dt/own",
            "PendingValidation",
            "waiting for the validation tokens to be served",
            "serve the tokens that the message has",
        )
        await says(
            world,
            "dt/misspelt",
            "InvalidAnnotation",
            "drift-policy",
            "What to do: use one of the keys or values",
        )


@virtual_time
async def test_tenant_without_credentials_says_so() -> None:
    async with platform(NO_DEFINITIONS) as world:
        words = "The security token included in the request is invalid."
        world.aws.cloud.faults.add(error("InvalidClientTokenId", words, 403), times=None)
        await world.apply(tenant("shop", "shop.example.com"))
        await says(
            world,
            "dt/shop",
            "CloudUnavailable",
            "the operator's credentials are missing or not accepted by the cloud",
            "What to do: check the role annotation of the ServiceAccount and its trust policy",
        )


@virtual_time
async def test_routes_say_what_is_wrong_down_to_the_token() -> None:
    async with platform(NO_DEFINITIONS) as world:
        await world.apply(route("ready"))
        text = await says(world, "httproute/ready", "is ready")
        assert "hostnames: ready.example.com" in text
        await world.apply(route("typo", acessApp="true"))
        await world.apply(route("nowhere", tenant="absent"))
        world.cloudflare.account.quotas.applications = 0
        await world.apply(route("guarded", accessApp="true", allowEmails="ada@example.com"))
        await world.apply(route("zone"))
        await world.user.merge_patch(
            HTTP_ROUTE, Key(APPS, "zone"), {"spec": {"hostnames": ["shop.example.org"]}}
        )
        await says(
            world, "routes/typo", "InvalidAnnotation", "acessApp", "What to do: correct the key or value"
        )
        text = await says(world, "httproute/nowhere", "TenantNotFound")
        assert "CloudflareZeroTrustTenant apps/absent (its tenant) does not exist" in text
        assert "What to do: create the tenant, or name another one in the annotation" in text
        text = await says(world, "httproute/guarded", "QuotaExceeded", "have the limit raised")
        assert "(its task) is not ready: QuotaExceeded" in text
        await says(
            world, "httproute/zone", "ZoneNotFound", "add the zone to the account, correct the hostname"
        )

        # The token is revoked: the next change of a route fails, and so does the tenant.
        world.cloudflare.cloud.world.tokens.clear()
        await world.apply(route("late"))
        text = await says(world, "httproute/late", "AuthFailed", "(its task) is not ready: AuthFailed")
        assert "create a token with the permissions of" in text
        await says(world, "cloudflarezerotrusttenant/main", "check the token in the Secret")

        # The Secret is gone.
        await world.user.delete(SECRET, Key(APPS, "cloudflare"))
        text = await says(world, "cloudflarezerotrusttenant/main", "is not ready: CredentialNotFound")
        assert "Secret apps/cloudflare (the API token) does not exist" in text
        assert "Root cause: Secret apps/cloudflare: Missing" in text
        assert "What to do: create the Secret with an API token of Cloudflare" in text
        await world.apply(route("last"))
        text = await says(world, "httproute/last", "(its task) is not ready: CredentialNotFound")
        assert "Root cause: Secret apps/cloudflare: Missing" in text
        assert "CloudflareZeroTrustTenant apps/main (its tenant) is not ready: CredentialNotFound" in text


@virtual_time
async def test_tenant_without_its_tunnel_says_which() -> None:
    async with platform(NO_DEFINITIONS) as world:
        world.cloudflare.cloud.act(
            "DELETE", f"/accounts/{world.cloudflare.account.id}/cfd_tunnel/{world.cloudflare.tunnel}"
        )
        await says(
            world,
            "cloudflarezerotrusttenant/main",
            f"has no tunnel {world.cloudflare.tunnel}",
            "What to do: correct `spec.tunnelId`, or create the tunnel",
        )


@virtual_time
async def test_bridge_says_which_function_or_api_is_missing_or_not_granted() -> None:
    async with platform(NO_DEFINITIONS) as world:
        await world.user.create(NAMESPACE, {"metadata": {"name": "other"}})
        await world.apply(permission("gone", {"functionName": "gone"}))
        await world.apply(permission("ack", {"name": "absent"}))
        await world.apply(domain("alone", {"name": "absent"}))
        await world.apply(domain("across", {"name": "api", "namespace": "other"}))
        await says(world, "lperm/gone", "FunctionNotFound", "What to do: create the function, or correct")
        text = await says(world, "lperm/ack", "ReferenceNotFound")
        assert "Function apps/absent (the function) does not exist" in text
        assert "What to do: create it, or correct the reference in the spec" in text
        text = await says(world, "agd/alone", "ReferenceNotFound", "Root cause: API apps/absent: Missing")
        assert "What to do: create it, or correct the reference in the spec" in text
        text = await says(world, "agd/across", "ReferenceNotGranted")
        assert "create a ReferenceGrant in the namespace of the API" in text


@virtual_time
async def test_instance_is_followed_to_the_resource_that_blocks_it() -> None:
    async with platform("TubiLambdaService") as world:
        arn = world.aws.certificates.add_issued("other.example.org").arn
        wish = {"name": "orders.example.com", "certificateStrategy": "use-arn", "certificateArn": arn}
        await world.apply(instance("TubiLambdaService", "orders", code=CODE, domain=wish))
        text = await says(
            world,
            "tubilambdaservice/orders",
            "it covers other.example.org, but not orders.example.com",
            "Root cause: APIGatewayDomain apps/orders-orders.example.com: InvalidCertificate",
            "What to do: name another one in `spec.certificateArn`",
        )
        assert "TubiLambdaService apps/orders is not ready: NotReady" in text
        assert "APIGatewayDomain apps/orders-orders.example.com (resource customDomain)" in text

        await world.apply(broken_definition())
        await says(world, "rgd/broken", "InvalidResourceGraph", "nothing", "What to do: correct the fields")


@virtual_time
async def test_kinds_and_objects_that_are_not_there_are_named() -> None:
    async with platform(NO_DEFINITIONS) as world:
        await world.apply(tenant("shop", "shop.example.com"))
        with pytest.raises(
            CommandError, match="there is no DistributionTenant default/shop; there is one with -n apps"
        ):
            await answer(world.user, world.clock, "dt", "shop", "default")
        with pytest.raises(CommandError, match="there is no kind 'pod' among those of edgekeeper"):
            await answer(world.user, world.clock, "pod", "shop", APPS)
        await world.user.delete(CUSTOM_RESOURCE_DEFINITION, Key("", LAMBDA_PERMISSION.name))
        await world.plane.settle()
        with pytest.raises(CommandError, match=r"does not serve lambdapermissions.*; edgekeeper crds"):
            await answer(world.user, world.clock, "lperm", "x", APPS)


@virtual_time
async def test_object_that_nobody_looks_after_says_who_should() -> None:
    async with platform(NO_DEFINITIONS) as world:
        await world.apply(previous_operator())
        await world.elapse(minutes=1)
        await world.apply(tenant("shop", "shop.example.com"))
        await world.elapse(minutes=2)
        explanation, text = await explained(world, "dt/shop")
        assert explanation.problems[0].reason == "PredecessorActive"
        assert (
            "cloudfront-tenant-operator is still running: Deployment edgekeeper-system/old is available"
            in text
        )
        assert "What to do: scale its Deployment to zero" in text
