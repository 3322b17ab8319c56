"""Code on pages, run: what docs/runtime.md and docs/embedded-plane.md show in Python, expressions of docs/metrics.md and docs/drift.md."""

from __future__ import annotations

import asyncio
import textwrap
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.outcome import Outcome, StatusWrite, done, requeue
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.contract import ControllerOptions, Request
from edgekeeper.runtime.validation import Problem
from kubesim.serving import ApiServer
from tests.docs.page import blocks, read
from tests.unit.chart.promql import names_in
from tests.unit.chart.test_monitoring import exported
from tests.unit.chart.test_values import SCHEMA, unknown

RUNTIME = "docs/runtime.md"
PLANE = "docs/embedded-plane.md"
METRICS = "docs/metrics.md"
DRIFT = "docs/drift.md"


def code(page: str, form: str, section: str = "") -> list[str]:
    """The blocks of a page, of one section or of all."""
    return [one.text for one in blocks(read(page)) if one.form == form and section in ("", one.section)]


def run(text: str, **names: Any) -> SimpleNamespace:
    """What a block defines, given the names that it uses."""
    exec(compile(text, "page", "exec"), names)  # noqa: S102 - our own page
    return SimpleNamespace(**names)


class Widgets:
    """The service of the example."""

    def __init__(self) -> None:
        self.built: list[Key] = []

    async def find(self, key: Key) -> SimpleNamespace | None:
        return SimpleNamespace(built=True) if key in self.built else None

    async def create(self, key: Key) -> None:
        self.built.append(key)


async def test_reconciler_of_the_page_does_what_it_says() -> None:
    (text,) = code(RUNTIME, "python", "A controller")
    shown = run(
        text,
        Request=Request,
        Outcome=Outcome,
        Conditions=Conditions,
        DECLARATION=Declaration(required=("Built",)),
        StatusWrite=StatusWrite,
        done=done,
        requeue=requeue,
        timedelta=timedelta,
    )
    reconciler, key = shown.WidgetReconciler(), Key("default", "one")
    reconciler.clock, reconciler.service = (
        SimpleNamespace(now=lambda: datetime(2026, 1, 1, tzinfo=UTC)),
        Widgets(),
    )
    request = Request(key, b"{}", {"metadata": {"generation": 1}}, "")
    assert await reconciler.reconcile(request) == requeue(timedelta(seconds=5))
    assert reconciler.service.built == [key]
    write = (await reconciler.reconcile(request)).write
    assert {"Built": "True", "Ready": "True"}.items() <= {
        one["type"]: one["status"] for one in write.status["conditions"]
    }.items()


async def test_validator_of_the_page_refuses() -> None:
    (text,) = code(RUNTIME, "python", "Admission webhooks")
    widget = Kind("example.com", "v1", "Widget", "widgets")
    shown = run(text, Problem=Problem, ControllerOptions=ControllerOptions, WIDGET=widget)
    small, large = {"spec": {"size": 1}}, {"spec": {"size": 2}}
    assert await shown.NoShrinking().validate(large, small, None) == [Problem("spec.size", "cannot shrink")]
    assert await shown.NoShrinking().validate(small, large, None) == []
    assert await shown.NoShrinking().validate(None, small, None) == []


def test_server_of_the_page_answers(kube_api_server: ApiServer) -> None:
    fixture, in_a_loop = code(PLANE, "python")
    run(fixture).test_namespaces(kube_api_server)
    imports, _, body = in_a_loop.partition("\n\n")
    shown = run(f"{imports}\n\nasync def main():\n{textwrap.indent(body, '    ')}")
    asyncio.run(shown.main())


@pytest.mark.parametrize(
    "expression",
    [line for page in (METRICS, DRIFT) for text in code(page, "promql") for line in text.splitlines()],
)
def test_expression_of_a_page_names_metrics_that_exist(expression: str) -> None:
    named = names_in(expression.partition("#")[0])
    assert named.metrics
    assert named.metrics <= exported().keys()


def test_values_of_the_page_are_those_of_the_chart() -> None:
    (text,) = code(METRICS, "yaml", "Traces")
    values = yaml.safe_load(text)
    assert values["traces"]["otlpEndpoint"]
    assert list(unknown(values, SCHEMA)) == []
