"""Values of the chart: each is in the schema, and what is off by default leaves no trace in the manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from edgekeeper.cli.rbac import all_rules_of, process_roles
from edgekeeper.cli.run import run
from edgekeeper.lifecycle.rbac import rights_of
from tests.unit.chart.test_manifests import pod
from tests.unit.chart.test_rules import VALUES, objects
from tools.chart import CHART, VARIANTS

SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def unknown(values: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """The keys of values that the schema neither names nor allows."""
    if not isinstance(values, dict) or "properties" not in schema:
        return
    for key, value in values.items():
        known = schema["properties"].get(key)
        if known is not None:
            yield from unknown(value, known, f"{path}.{key}")
        elif schema.get("additionalProperties") is False:
            yield f"{path}.{key}".lstrip(".")


def test_every_value_is_in_the_schema() -> None:
    assert list(unknown(VALUES, SCHEMA)) == []


def test_key_that_the_schema_does_not_have_is_found() -> None:
    values = {"statusPage": {"enabled": True, "port": 1}, "features": {"anything": True}}
    assert list(unknown(values, SCHEMA)) == ["statusPage.port"]


@pytest.mark.parametrize("name", VARIANTS)
def test_status_page_is_off_by_default(name: str) -> None:
    assert VALUES["statusPage"]["enabled"] is False
    (container,) = pod(name)["containers"]
    assert run.make_context("run", container["args"][1:]).params["web_bind_address"] is None
    assert "status" not in {port["name"] for port in container["ports"]}
    assert not [obj for obj in objects(name) if obj["metadata"]["name"].endswith("-status")]


@pytest.mark.parametrize("option", ["metrics.enabled", "statusPage.enabled"])
@pytest.mark.parametrize("role", process_roles())
def test_process_that_serves_readers_may_ask_who_they_are(role: str, option: str) -> None:
    rights = {right for right in rights_of(all_rules_of(role)) if right.option in ("", option)}
    asked = {(right.resource, right.verb) for right in rights}
    assert {("tokenreviews", "create"), ("subjectaccessreviews", "create")} <= asked
