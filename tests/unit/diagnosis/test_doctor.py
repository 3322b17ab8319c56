"""`edgekeeper doctor` on installations that are in order, and on prepared failures: cause and remedy are in the output."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.api.lambda_permission import LAMBDA_PERMISSION
from edgekeeper.cli.doctor import exit_code, surroundings
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.kind_options import KindSettings
from edgekeeper.cli.kinds import DEFINITIONS, MODULES
from edgekeeper.cli.rbac import ALL, all_rules_of
from edgekeeper.cloud.reachability import EndpointError, Reached, Step
from edgekeeper.core.calls import Calls
from edgekeeper.diagnosis.aws_checks import SERVICES
from edgekeeper.diagnosis.checks import Check, Findings, Result, Verdict, ok, run_checks
from edgekeeper.diagnosis.clocks import judge_clock
from edgekeeper.diagnosis.definition_checks import judge_definition
from edgekeeper.diagnosis.doctor import Installation, examine
from edgekeeper.diagnosis.right_checks import Surroundings, check_rights, questions_of
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, LEASE, NAMESPACE, SECRET, Key
from edgekeeper.kube.transport import ApiRequest, ApiResponse, TransportError
from edgekeeper.lifecycle.module import Cloud
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.request import User
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, virtual_time
from tests.platform.world import APPS, HOME, platform
from tests.tenants.estate import NEIGHBOUR
from tests.unit.diagnosis.examined import (
    OPTIONS,
    Answering,
    WithDate,
    described,
    examined,
    http_date,
    installation,
    lease,
    told,
)
from tests.unit.diagnosis.explained import NO_DEFINITIONS, previous_operator, tenant
from tests.unit.diagnosis.read_only import ReadOnly, confirm_no_writes

DEPLOY = Path(__file__).parents[3] / "deploy" / "all-in-one" / "edgekeeper.yaml"


def failures(results: list[Result]) -> list[Result]:
    return [one for one in results if one.verdict is Verdict.FAILED]


@virtual_time
async def test_installation_in_order_has_no_failure() -> None:
    async with platform(NO_DEFINITIONS) as world:
        zone = {"provider": "route53", "hostedZoneId": world.aws.zone.id}
        await world.apply(tenant("shop", "shop.example.com", dns=zone))
        await world.elapse(minutes=20)
        await world.apply(lease(world.clock.now()))
        results = await examined(world)
        text = told(results)
    assert failures(results) == []
    assert exit_code(results) == ExitCode.OK
    for part in (
        "the API server answers, version v1.",
        f"all {len(DEFINITIONS)} CustomResourceDefinitions are installed",
        "this user has all",
        "edgekeeper-1 leads (Lease edgekeeper-system/edgekeeper",
        "none of cloudfront-tenant-operator, ack-bridge, cloudflare-zero-trust-operator, kro is running",
        "all 2 are ready",
        "in account 111122223333, region eu-west-1",
        "reads that were tried are allowed",
        "the API token is active",
        "1 active zones",
        "3 of 10000 records",
        "0 Access applications; the usual limit is 500",
        "endpoint aws sts",
    ):
        assert part in text


@virtual_time
async def test_failures_in_the_cluster_are_named_with_their_remedies() -> None:
    async with platform(NO_DEFINITIONS) as world:
        await world.apply(previous_operator())
        await world.apply(lease(world.clock.now()))
        await world.user.delete(CUSTOM_RESOURCE_DEFINITION, Key("", LAMBDA_PERMISSION.name))
        world.cloudflare.account.quotas.applications = 0
        await world.user.delete(SECRET, Key(APPS, "cloudflare"))
        await world.elapse(minutes=30)
        results = await examined(world)
        text = told(results)
    assert exit_code(results) == ExitCode.FAILED
    for cause, remedy in (
        (
            "lambdapermissions.bridge.ack.tubi.internal is not installed",
            "edgekeeper crds | kubectl apply -f -",
        ),
        (
            "cloudfront-tenant-operator is running: Deployment edgekeeper-system/old is available",
            "scale it to zero",
        ),
        (
            "no operator is running: Lease edgekeeper-system/edgekeeper is held by edgekeeper-1, renewed 30m",
            "look at the pods",
        ),
        (
            "Secret apps/cloudflare does not exist, or has no key 'token'",
            "create the Secret with an API token",
        ),
        ("cloudflarezerotrusttenant/main (CredentialNotFound)", "edgekeeper explain KIND/NAME"),
    ):
        assert cause in text
        line = next(line for line in text.splitlines() if cause in line)
        below = text.split(f"{line}\n", 1)[1].splitlines()[0]
        assert below.strip().startswith(f"do: {remedy}")


@virtual_time
async def test_failures_in_clouds_are_named_with_their_remedies() -> None:
    async with platform(NO_DEFINITIONS) as world:
        role = f"arn:aws:iam::{NEIGHBOUR}:role/dns"
        lost = {"provider": "route53", "hostedZoneId": "Z0MISSING"}
        await world.apply(tenant("lost", "lost.example.com", dns=lost))
        mine = {"provider": "route53", "hostedZoneId": world.aws.zone.id, "assumeRoleArn": role}
        await world.apply(tenant("foreign", "foreign.example.com", dns=mine))
        full = world.aws.cloud.route53.add_zone("full.example.com")
        world.aws.cloud.world.quotas = replace(world.aws.cloud.world.quotas, records_per_zone=2)
        await world.apply(tenant("full", "a.full.example.com", dns={**lost, "hostedZoneId": full.id}))
        account, tunnel = world.cloudflare.account, world.cloudflare.tunnel
        world.cloudflare.cloud.act("DELETE", f"/accounts/{account.id}/cfd_tunnel/{tunnel}")
        world.aws.restrict("cloudfront:ListConnectionGroups", "apigateway:*", "acm:*", "route53:*", "sts:*")
        text = told(await examined(world))
        assert "cloudfront:ListDistributionTenants is denied: no DistributionTenant is reconciled" in text
        assert "do: allow cloudfront:ListDistributionTenants in the policy of the operator's role" in text
        assert re.search(rf"failed +aws role +{role}: ", text)
        assert "do: allow sts:AssumeRole on the role to the operator" in text
        assert re.search(r"failed +aws zone +Z0MISSING: ", text)
        assert "do: correct the id of the hosted zone" in text
        assert "2 of 2 records" in text
        assert "do: have the quota of records per hosted zone raised, or remove records" in text
        assert f"the account has no tunnel {tunnel}" in text
        assert "do: correct spec.tunnelId of the tenant, or create the tunnel" in text

        world.cloudflare.cloud.world.tokens.clear()
        world.aws.has_credentials = False
        text = told(await examined(world))
        assert "the API token cannot be used" in text
        assert "do: create a token with the permissions of" in text
        assert "the operator's credentials are missing or not accepted by the cloud" in text
        assert "do: give the operator credentials: annotate its ServiceAccount with a role" in text


@virtual_time
async def test_cluster_that_does_not_answer_leaves_the_clouds_to_be_checked() -> None:
    async with platform(NO_DEFINITIONS) as world:
        one = installation(world, transport=_Dead(world))
        text = told(await examined(world, one))
    assert "failed    cluster" in text
    assert "do: check that it runs and can be reached" in text
    assert "in account 111122223333" in text
    assert "definitions" not in text


class _Dead(WithDate):
    """A server that nobody reaches."""

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        raise TransportError("connection refused")


@virtual_time
async def test_clock_that_is_off_is_told_with_both_clouds_and_cluster() -> None:
    async with platform(NO_DEFINITIONS) as world:
        ahead = timedelta(minutes=7)
        transport = WithDate(world, ahead)
        one = installation(world, transport=transport, probe=Answering(world.clock, -ahead))
        text = told(await examined(world, one))
    assert "our clock is 7m behind that of the API server" in text
    assert "our clock is 7m ahead of that of aws sts" in text
    assert "do: synchronise the clock of the node (NTP, chrony)" in text


def test_small_differences_of_clocks_are_no_failure() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    cases = {5: Verdict.OK, 100: Verdict.WARNING, 299: Verdict.WARNING, 300: Verdict.FAILED}
    for seconds, verdict in cases.items():
        for sign in (1, -1):
            date = http_date(moment + timedelta(seconds=sign * seconds))
            judged = judge_clock("x", date, moment)
            assert judged is not None
            assert judged.verdict is verdict, seconds
    assert judge_clock("x", "", moment) is None
    assert judge_clock("x", "yesterday", moment) is None


@virtual_time
async def test_endpoint_that_cannot_be_reached_is_told_with_the_step_that_failed() -> None:
    async def refuse(url: str) -> Reached:
        raise EndpointError(Step.NAME, "the name cannot be resolved: Cannot connect to host")

    async with platform(NO_DEFINITIONS) as world:
        text = told(await examined(world, installation(world, probe=refuse)))
    assert "failed    endpoint cloudflare" in text
    assert "https://cloudflare.test/client/v4: the name cannot be resolved" in text
    assert "do: check the DNS of the node or pod" in text


# Rights


ACCOUNT = User(
    f"system:serviceaccount:{HOME}:edgekeeper",
    groups=("system:serviceaccounts", f"system:serviceaccounts:{HOME}", "system:authenticated"),
)


@asynccontextmanager
async def shipped() -> AsyncIterator[tuple[Plane, KubeClient, LoopClock]]:
    """A server with RBAC, the definitions and the shipped roles, and its administrator."""
    clock = LoopClock()
    config = PlaneConfig(auth=True, simulators=frozenset(), now=clock.now, tokens={"operator": ACCOUNT})
    async with Plane(config) as plane:
        admin = KubeClient(InProcessTransport(plane, plane.admin_token), Calls(), clock)
        await admin.create(NAMESPACE, {"metadata": {"name": HOME}})
        for kind in DEFINITIONS:
            await admin.create(CUSTOM_RESOURCE_DEFINITION, kind.definition())
        await plane.settle()
        discovery = Discovery(admin, clock)
        for document in yaml.safe_load_all(DEPLOY.read_text()):
            if document is None or "Role" not in document["kind"]:
                continue
            group, _, version = document["apiVersion"].rpartition("/")
            served = await discovery.find(group, document["kind"], version)
            assert served is not None
            await admin.create(served.kind, document)
        yield plane, admin, clock


@virtual_time
async def test_rights_of_the_shipped_roles_suffice_and_a_missing_one_is_named() -> None:
    async with shipped() as (_, admin, _):
        rules = all_rules_of(ALL)
        around = Surroundings(HOME, options=OPTIONS, subject=Key(HOME, "edgekeeper"))
        (fine,) = await check_rights(admin, rules, around)
        assert fine.verdict is Verdict.OK, fine.message
        stranger = replace(around, subject=Key(HOME, "stranger"))
        found = await check_rights(admin, rules, stranger)
        messages = [one.message for one in found]
        assert (
            "ServiceAccount edgekeeper-system/stranger may not list, patch, watch "
            "distributiontenants.cloudfront-tenant-operator.io in all namespaces"
        ) in messages
        assert all("apply the roles of the chart" in one.remedy for one in found)
        # Whoever asks is asked about where no ServiceAccount is named.
        (own,) = await check_rights(admin, rules, replace(around, subject=None))
        assert own.message.startswith("this user has all")


def test_right_that_metrics_and_the_status_page_need_is_asked_for_once() -> None:
    address = Address("", 8444)
    both = ServerOptions(metrics_address=address, web_address=address)
    for server, times in ((both, 1), (replace(both, metrics_address=None), 1), (ServerOptions(), 0)):
        around = surroundings(
            RuntimeOptions(server=server), KindSettings(), ClusterConfig("https://plane.test")
        )
        asked = [question.resource for question in questions_of(all_rules_of(ALL), around)]
        assert asked.count("tokenreviews") == asked.count("subjectaccessreviews") == times


@virtual_time
async def test_operator_examines_itself_with_its_own_rights() -> None:
    """What it may not read is said to be unknown, never to be missing."""
    async with shipped() as (plane, admin, clock):
        await admin.create(LEASE, lease(clock.now()))
        around = Surroundings(HOME, options=OPTIONS, webhook_service="hooks")
        client = KubeClient(ReadOnly(InProcessTransport(plane, "operator")), Calls(), clock)
        one = Installation(client, clock, MODULES, DEFINITIONS, all_rules_of(ALL), around, described)
        text = told(await examine(one))
        confirm_no_writes()
        assert "failed" not in text.replace("hooks", ""), text
        assert "edgekeeper-1 leads" in text
        assert f"all {len(DEFINITIONS)} CustomResourceDefinitions are installed" in text
        assert "this user has all" in text
        assert "not checked: this user may not read validatingwebhookconfigurations" in text
        nobody = KubeClient(InProcessTransport(plane, "unknown"), Calls(), clock)
        text = told(await examine(replace(one, client=nobody)))
        assert "does not accept our credentials" in text
        assert "do: renew them" in text


# Definitions


def test_definition_that_is_older_newer_or_missing_is_told() -> None:
    installed = DISTRIBUTION_TENANT.definition()
    assert list(judge_definition(DISTRIBUTION_TENANT, installed)) == []
    fields = installed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    ttl = fields["dns"]["properties"].pop("ttl")
    (older,) = judge_definition(DISTRIBUTION_TENANT, installed)
    assert older.verdict is Verdict.FAILED
    assert "lacks spec.dns.ttl" in older.message
    assert older.remedy == "edgekeeper crds | kubectl apply -f -"
    fields["dns"]["properties"] |= {"ttl": ttl, "later": {"type": "string"}}
    (newer,) = judge_definition(DISTRIBUTION_TENANT, installed)
    assert newer.verdict is Verdict.WARNING
    assert "has spec.dns.later, which this version does not know" in newer.message
    del fields["dns"]["properties"]["later"]
    installed["status"] = {"storedVersions": ["v1alpha0", "v1alpha1"]}
    (stored,) = judge_definition(DISTRIBUTION_TENANT, installed)
    assert "objects stored in version v1alpha0" in stored.message
    installed["spec"]["versions"][0]["name"] = "v2"
    (other,) = judge_definition(DISTRIBUTION_TENANT, installed)
    assert "is not served in version v1alpha1, only in v2" in other.message
    (missing,) = judge_definition(DISTRIBUTION_TENANT, None)
    assert "is not installed" in missing.message


def test_endpoints_of_all_controllers_that_call_aws_are_checked() -> None:
    assert set(SERVICES) == {module.name for module in MODULES if Cloud.AWS in module.clouds}


# How checks run


@virtual_time
async def test_checks_run_at_once_and_one_that_hangs_or_fails_stops_no_other() -> None:
    async def hang() -> Findings:
        await asyncio.sleep(3600)
        return []

    async def fail() -> Findings:
        raise RuntimeError("surprise")

    async def slow() -> Findings:
        await asyncio.sleep(5)
        return [ok("slow", "done")]

    done: list[str] = []
    began = asyncio.get_running_loop().time()
    results = await run_checks(
        [Check("hang", hang), Check("fail", fail), Check("slow", slow)],
        limit=timedelta(seconds=6),
        tell=done.append,
    )
    assert asyncio.get_running_loop().time() - began == pytest.approx(6)
    assert [(one.check, one.verdict) for one in results] == [
        ("hang", Verdict.FAILED),
        ("fail", Verdict.FAILED),
        ("slow", Verdict.OK),
    ]
    assert "no result within 6 s" in results[0].message
    assert "RuntimeError: surprise" in results[1].message
    assert done == ["fail", "slow", "hang"]
