"""The dashboard and the alerts of the chart use metrics that the code exports, with labels that they have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.unit.chart.promql import names_in
from tools.chart import CHART, idle_operator

ALERTS = CHART / "files/alerts.yaml"
DASHBOARD = CHART / "files/dashboard.json"
SCRAPED = frozenset({"job", "instance", "pod", "namespace", "le"})
"""Labels that Prometheus adds, and that of buckets."""
OF_THE_SYSTEM = frozenset({"process_resident_memory_bytes", "process_cpu_seconds_total"})
"""Exported by prometheus_client where /proc exists."""
_SUFFIXES = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_count", "_sum"),
    "gauge": ("",),
    "info": ("_info",),
}


def expressions(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        for panel in json.loads(path.read_text())["panels"]:
            yield from (target["expr"] for target in panel.get("targets", ()))
        return
    for group in yaml.safe_load(path.read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


@cache
def exported() -> dict[str, frozenset[str]]:
    """By metric, its labels, of a process with all kinds."""
    return asyncio.run(_exported())


async def _exported() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    async with idle_operator() as operator:
        registry = operator.metrics.registry
        for family in registry.collect():
            collector = registry._names_to_collectors.get(family.name)
            labels = {name for sample in family.samples for name in sample.labels}
            labels |= set(getattr(family, "_labelnames", ()) or ())
            labels |= set(getattr(collector, "_labelnames", ()) or ())
            for suffix in _SUFFIXES.get(family.type, ("",)):
                found[f"{family.name}{suffix}"] = frozenset(labels)
    return found


@pytest.mark.parametrize("expression", [*expressions(ALERTS), *expressions(DASHBOARD)])
def test_expression_names_metrics_and_labels_that_are_exported(expression: str) -> None:
    named = names_in(expression)
    assert named.metrics, "an expression without a metric measures nothing"
    assert named.metrics <= exported().keys() | OF_THE_SYSTEM
    known = SCRAPED.union(*(exported().get(metric, frozenset()) for metric in named.metrics))
    assert named.labels <= known


def test_names_are_found_in_expressions() -> None:
    """The proof that the others prove something."""
    named = names_in(
        'sum by (a, le) (rate(first_total{b="x y", c!~"z"}[5m])) > 0.5 and on (d) second offset 5m'
    )
    assert named.metrics == {"first_total", "second"}
    assert named.labels == {"a", "le", "b", "c", "d"}


def test_every_alert_says_what_is_wrong_and_what_follows() -> None:
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        for rule in group["rules"]:
            assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
            assert rule["labels"]["severity"] in ("info", "warning", "critical")


def test_panels_have_ids_and_places_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells), "panels overlap"
    assert max(x for x, _ in cells) < 24
