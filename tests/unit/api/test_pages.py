"""The pages about kinds and clouds leave nothing out: they are compared with the types, the code and the simulator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.api.cloudfront import DistributionTenantSpec, DistributionTenantStatus
from edgekeeper.api.schema import schema_of
from edgekeeper.cloud.aws import error_table
from edgekeeper.cloud.error_table import ErrorRow
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.controllers.cloudfront import refusals
from edgekeeper.controllers.cloudfront.metrics import ERROR_TYPES, TenantMetrics
from edgekeeper.controllers.cloudfront.report import CERTIFICATE_MANAGER
from edgekeeper.core.annotations import KEYS
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outages import CAUSE_TEXTS, CLOUD_UNAVAILABLE
from edgekeeper.lifecycle.preview import Verdict
from kubesim.aws.control import COMMANDS

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
KIND = (DOCS / "kinds" / "distribution-tenant.md").read_text()
SOURCES = ROOT / "src" / "edgekeeper"
TELLING = (
    *("controllers/cloudfront/report", "controllers/cloudfront/kind", "controllers/cloudfront/steps"),
    *("cloud/aws/dns/steps", "lifecycle/reconciler", "lifecycle/status"),
)
"""Where conditions and events get their reasons."""
POLICIES = {
    name: json.loads((DOCS / "iam" / f"{name}.json").read_text())
    for name in ("cloudfront-tenants", "cloudfront-tenants-small")
}


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", KIND, re.DOTALL | re.MULTILINE)
    assert found, f"there is no section {title}"
    return found[1]


def fields(schema: JsonObject, path: str = "") -> Iterator[str]:
    """The leaves of a schema, as the tables write them: `domains[].domain`."""
    for name, below in schema.get("properties", {}).items():
        place = f"{path}{name}"
        if below["type"] == "object" and "properties" in below:
            yield from fields(below, f"{place}.")
        elif below["type"] == "array" and "properties" in below["items"]:
            yield from fields(below["items"], f"{place}[].")
        else:
            yield place


def reasons() -> set[str]:
    """Every reason that a condition or an event of a tenant may have."""
    text = "".join((SOURCES / f"{name}.py").read_text() for name in TELLING)
    found = set(re.findall(r'(?:True|False), "([A-Z]\w+)"', text))
    found |= set(re.findall(r'"(?:Normal|Warning)",\s+"([A-Z]\w+)"', text))
    found |= {
        refusals.VALIDATION_FAILED,
        error_table.NAME_CONFLICT,
        error_table.DOMAIN_CONFLICT,
        refusals.SAN_MISMATCH,
    }
    stalls = [one for one in vars(error_table).values() if isinstance(one, ErrorRow)]
    found |= {one.reason for one in stalls if one.kind is Stall}
    return found | {error_table.DOMAIN_VALIDATION_PENDING, error_table.QUOTA_EXCEEDED, CLOUD_UNAVAILABLE}


@pytest.mark.parametrize("field", list(fields(schema_of(DistributionTenantSpec))))
def test_page_has_every_field_of_the_spec(field: str) -> None:
    assert f"`{field}`" in section("Spec")


@pytest.mark.parametrize("field", list(fields(schema_of(DistributionTenantStatus))))
def test_page_has_every_field_of_the_status(field: str) -> None:
    parent, _, leaf = field.rpartition("[].")
    told = section("Status")
    assert f"`{field}`" in told or (f"`{parent}[]`" in told and f"`{leaf}`" in told)


def test_page_names_no_field_that_is_not_there() -> None:
    known = set(fields(schema_of(DistributionTenantSpec)))
    rows = re.findall(r"^\| (`[^|]+`) \|", section("Spec"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == known


@pytest.mark.parametrize("reason", sorted(reasons()))
def test_page_explains_every_reason(reason: str) -> None:
    assert f"`{reason}`" in section("Conditions") + section("Events")


def troubles() -> set[str]:
    """Every reason of a condition that is not True, as the page about the kind has them."""
    rows = re.findall(r"^\| [^|]+ \| (?:False|Unknown) \|([^|]+)\|", section("Conditions"), re.MULTILINE)
    return {reason for row in rows for reason in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("reason", sorted(troubles()))
def test_troubleshooting_says_what_to_do_about_every_reason(reason: str) -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    assert f"`{reason}`" in page or f"## {reason}\n" in page


def test_troubleshooting_has_the_words_of_every_outage() -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    assert [words for words in CAUSE_TEXTS.values() if f"`{words}: …`" not in page] == []


@pytest.mark.parametrize("annotation", KEYS)
def test_page_has_every_annotation(annotation: str) -> None:
    assert f"| `{annotation}` |" in section("Annotations")


def test_pages_tell_gitops_tools_whose_the_certificate_is() -> None:
    assert f"managedFieldsManagers: [{CERTIFICATE_MANAGER}]" in section("Argo CD and Flux")


@pytest.mark.parametrize("policy", Policy)
def test_drift_page_has_every_policy(policy: Policy) -> None:
    assert f"| `{policy}`" in (DOCS / "drift.md").read_text()


def test_metrics_page_has_every_metric_and_error_type() -> None:
    page = (DOCS / "metrics.md").read_text()
    registry = CollectorRegistry()
    CloudMetrics(registry)
    TenantMetrics(registry)
    names = {metric.name + ("_total" if metric.type == "counter" else "") for metric in registry.collect()}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
    assert [name for name in ERROR_TYPES if f"`{name}`" not in page] == []


@pytest.mark.parametrize("lane", DEFAULT_RATES)
def test_clouds_page_has_every_lane_with_its_rate(lane: str) -> None:
    rate = DEFAULT_RATES[lane]
    within = f" `{rate.within}` " if rate.within else " "
    row = f"| `{lane}` | {rate.rate:.2g} | {rate.burst} |{within}|"
    assert row in (DOCS / "clouds.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_clouds_page_has_every_command_of_the_simulator(command: str) -> None:
    assert f"`{command}`" in (DOCS / "clouds.md").read_text()


@pytest.mark.parametrize("verdict", Verdict)
def test_command_page_has_every_verdict_of_a_plan(verdict: Verdict) -> None:
    assert f"`{verdict}`" in (DOCS / "cli.md").read_text()


# What AWS has to allow


def actions(policy: JsonObject) -> list[str]:
    return [action for statement in policy["Statement"] for action in statement["Action"]]


def test_smaller_policy_lacks_what_the_page_says() -> None:
    lost = set(actions(POLICIES["cloudfront-tenants"])) - set(actions(POLICIES["cloudfront-tenants-small"]))
    assert [action for action in sorted(lost) if f"`{action}`" not in section("IAM")] == []
