"""The pages about the kinds of the bridge leave nothing out: they are compared with the types and with the code."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.api.bridge import PHASES, APIGatewayDomainSpec, APIGatewayDomainStatus
from edgekeeper.api.lambda_permission import LambdaPermissionSpec, LambdaPermissionStatus
from edgekeeper.api.schema import schema_of
from edgekeeper.controllers.bridge.domains.report import DECLARATION as DOMAIN_CONDITIONS
from edgekeeper.controllers.bridge.failures import RECOVERABLE
from edgekeeper.controllers.bridge.metrics import BridgeMetrics
from edgekeeper.controllers.bridge.permissions.report import DECLARATION as PERMISSION_CONDITIONS
from edgekeeper.core.declaration import Declaration
from tests.unit.api.test_pages import fields

DOCS = Path(__file__).parents[3] / "docs"
PAGES = {
    name: (DOCS / "kinds" / f"{name}.md").read_text() for name in ("apigateway-domain", "lambda-permission")
}
SPECS: list[tuple[str, type[msgspec.Struct]]] = [
    ("apigateway-domain", APIGatewayDomainSpec),
    ("lambda-permission", LambdaPermissionSpec),
]
STATUSES: list[tuple[str, type[msgspec.Struct]]] = [
    ("apigateway-domain", APIGatewayDomainStatus),
    ("lambda-permission", LambdaPermissionStatus),
]


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGES[page], re.DOTALL | re.MULTILINE)
    assert found, f"there is no section {title}"
    return found[1]


@pytest.mark.parametrize(
    ("page", "field"), [(page, one) for page, spec in SPECS for one in fields(schema_of(spec))]
)
def test_page_has_every_field_of_the_spec(page: str, field: str) -> None:
    assert f"`{field}`" in section(page, "Spec")


@pytest.mark.parametrize(("page", "status"), STATUSES)
def test_page_has_every_field_of_the_status(page: str, status: type[msgspec.Struct]) -> None:
    told = section(page, "Status")
    names = [name for name in schema_of(status)["properties"] if name != "conditions"]
    assert [name for name in names if f"`{name}`" not in told and f"`{name}[]`" not in told] == []


@pytest.mark.parametrize(
    ("page", "declaration"),
    [("apigateway-domain", DOMAIN_CONDITIONS), ("lambda-permission", PERMISSION_CONDITIONS)],
)
def test_page_has_every_condition(page: str, declaration: Declaration) -> None:
    told = section(page, "Conditions")
    assert [type_ for type_ in declaration.published if f"`{type_}`" not in told] == []


def test_pages_have_every_phase_and_every_reason_that_is_waited_for() -> None:
    assert [phase for phase in PHASES if f"`{phase}`" not in section("apigateway-domain", "Status")] == []
    told = "".join(section(page, "Conditions") for page in PAGES)
    assert [reason for reason in RECOVERABLE if f"`{reason}`" not in told] == []


def test_metrics_page_has_every_metric_of_the_bridge() -> None:
    page, registry = (DOCS / "metrics.md").read_text(), CollectorRegistry()
    BridgeMetrics(registry)
    names = {metric.name + ("_total" if metric.type == "counter" else "") for metric in registry.collect()}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
