"""Flags about kinds become one value."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from edgekeeper.cli.kind_options import KindSettings, kind_options
from edgekeeper.cli.kinds import MODULES
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.rates import ROUTE53, ROUTE53_CHANGE
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.module import tenant_options
from edgekeeper.controllers.cloudfront.wiring import TenantOptions
from edgekeeper.core.drift import Policy

ROLE = "arn:aws:iam::123456789012:role/dns"


def command(found: list[KindSettings]) -> click.Command:
    @click.command()
    @kind_options
    def run(kinds: KindSettings) -> None:
        found.append(kinds)

    return run


def parsed(*arguments: str, **variables: str) -> KindSettings:
    found: list[KindSettings] = []
    result = CliRunner(env=variables).invoke(command(found), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return found[0]


def complaint(*arguments: str) -> str:
    result = CliRunner().invoke(command([]), arguments)
    assert result.exit_code == 2
    return result.output.strip().splitlines()[-1]


def test_defaults_change_nothing() -> None:
    settings = parsed()
    assert replace(settings, values={}) == KindSettings()
    assert tenant_options(settings.common, settings.values) == TenantOptions(predecessor_namespace="default")
    assert settings.modules == MODULES


def test_everything_can_be_told(tmp_path: Path) -> None:
    policy = tmp_path / "hostnames.yaml"
    policy.write_text("team-a: [a.example.com]\n'*': []\n")
    settings = parsed(
        *("--aws-region", "eu-west-1", "--aws-endpoint-url", "http://127.0.0.1:1", "--cluster-id", "prod"),
        *("--drift-policy", "report", "--tenant-name-template", "{cluster}-{namespace}-{name}"),
        *("--cleanup-timeout", "0s", "--allowed-role-arns", ROLE, "--allowed-hosted-zones", "Z1"),
        *("--allowed-hosted-zones", "Z2", "--hostname-policy", str(policy)),
        *("--allowed-distributions", "E1", "--allowed-connection-groups", "cg_1"),
        *("--budget", "route53=9.5/20", "--budget", "route53-change=50"),
    )
    assert settings.aws == AwsSettings(region="eu-west-1", endpoint_url="http://127.0.0.1:1")
    assert tenant_options(settings.common, settings.values) == TenantOptions(
        cluster="prod",
        drift_policy=Policy.REPORT,
        tenant_name_template="{cluster}-{namespace}-{name}",
        guards=Guards(
            role_arns=frozenset({ROLE}),
            hosted_zones=frozenset({"Z1", "Z2"}),
            hostnames={"team-a": ("a.example.com",), "*": ()},
            distributions=frozenset({"E1"}),
            connection_groups=frozenset({"cg_1"}),
        ),
        cleanup_timeout=timedelta(0),
        predecessor_namespace="default",
    )
    assert settings.rates == {ROUTE53: LaneRate(9.5, 20), ROUTE53_CHANGE: LaneRate(50, 1200, within=ROUTE53)}


@pytest.mark.parametrize(
    ("variable", "value"),
    [("EDGEKEEPER_DRIFT_POLICY", "suspend"), ("EDGEKEEPER_CLUSTER_ID", "blue")],
)
def test_variables_mean_the_same(variable: str, value: str) -> None:
    settings = parsed(**{variable: value})
    assert value in (settings.common.drift_policy, settings.common.cluster)


def test_lost_clusters_are_named_by_flag_or_variable() -> None:
    named = parsed("--adopt-from-cluster", "blue", "--adopt-from-cluster", "green").common
    assert named.lost_clusters == parsed(EDGEKEEPER_ADOPT_FROM_CLUSTER="green blue").common.lost_clusters
    assert named.lost_clusters == frozenset({"blue", "green"})
    assert parsed().common.lost_clusters == frozenset()


@pytest.mark.parametrize("policy", ["", "auto", "ENFORCE", "Report"])
def test_drift_policy_is_spelled_exactly(policy: str) -> None:
    assert "is not one of 'enforce', 'report', 'suspend'" in complaint("--drift-policy", policy)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--tenant-name-template", "edge", "lacks {name}"),
        ("--tenant-name-template", "{name}-{zone}", "may contain {name}, {namespace} and {cluster} only"),
        ("--tenant-name-template", "{name", "may contain"),
        ("--cleanup-timeout", "5", "'5' is not a duration"),
        ("--budget", "route53", "is not LANE=CALLS-PER-SECOND/BURST"),
        ("--budget", "nothing=5", "with a lane of acm"),
        ("--budget", "route53=0", "is not LANE=CALLS-PER-SECOND/BURST"),
        ("--hostname-policy", "/no/such", "cannot be read"),
        ("--controllers", "tenants", "there is no controller 'tenants': choose from distributiontenant"),
        ("--controllers", ",".join(f"-{module.name}" for module in MODULES), "leaves no controller"),
        ("--cloudflare-api-base", "http://api.example.com", "an API token is only sent over https"),
        ("--drift-interval", "5", "'5' is not a duration"),
        ("--progress-interval", "0s", "'0s' is less than 1s"),
        ("--adopt-from-cluster", "the old one", "'the old one' is not the id of a cluster"),
        ("--role", "gardener", "there is no role 'gardener': choose one of manager"),
    ],
)
def test_bad_values_are_told_with_flag_and_remedy(option: str, value: str, message: str) -> None:
    told = complaint(option, value)
    assert f"'{option}'" in told
    assert message in told


@pytest.mark.parametrize("text", ["- a", "team-a: a.example.com", "team-a: [1]", "a: [b"])
def test_hostname_policy_that_makes_no_sense_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "hostnames.yaml"
    file.write_text(text)
    assert "--hostname-policy" in complaint("--hostname-policy", str(file))


@pytest.mark.parametrize("text", ["*", "", "*,distributiontenant"])
def test_controllers_are_all_unless_named(text: str) -> None:
    assert parsed("--controllers", text).modules == MODULES


@pytest.mark.parametrize("text", ["distributiontenant", "DistributionTenant"])
def test_controllers_are_chosen_by_name(text: str) -> None:
    assert [module.name for module in parsed("--controllers", text).modules] == ["distributiontenant"]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("manager", "manager"),
        ("MANAGER", "manager"),
        ("kube_worker", "kube-worker"),
        ("cloudflare_worker", "cloudflare-worker"),
        ("cloudflare-worker", "cloudflare-worker"),
    ],
)
def test_role_is_taken_from_its_variable(text: str, role: str) -> None:
    settings = parsed(ROLE=text)
    assert settings.role == role
    assert settings.modules
    assert {str(module.role) for module in settings.modules} == {role}


def test_variables_of_the_described_operator_are_understood() -> None:
    settings = parsed(
        OPERATOR_NAMESPACE="cloudflare-zero-trust",
        POD_NAME="operator-1",
        CLOUDFLARE_API_BASE="http://127.0.0.1:1/client/v4/",
    )
    assert settings.operator_namespace == "cloudflare-zero-trust"
    assert settings.common.pod_name == "operator-1"
    assert settings.cloudflare_url == "http://127.0.0.1:1/client/v4"


def test_zero_trust_can_be_told_where_it_runs_and_how_often_it_looks() -> None:
    settings = parsed("--operator-deployment", "edge", "--drift-interval", "0s")
    assert settings.common.operator_deployment == "edge"
    assert settings.common.drift_interval == timedelta(0)
    assert parsed().cloudflare_url == "https://api.cloudflare.com/client/v4"
    assert parsed().common.drift_interval == timedelta(minutes=5)


def test_aws_is_not_needed_by_roles_that_do_not_call_it() -> None:
    assert parsed(ROLE="kube_worker").aws_clients() is None


def test_progress_interval_is_that_of_work_in_progress() -> None:
    assert parsed("--progress-interval", "2s").common.intervals.in_progress == timedelta(seconds=2)
    assert parsed().common.intervals.in_progress == timedelta(seconds=30)
