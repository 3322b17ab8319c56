"""Traces: a span for each pass, and below it those of its calls; no content, and nothing at all unless asked for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from click import BadParameter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from edgekeeper.cli import assembly
from edgekeeper.cli.operator_options import OtlpEndpoint
from edgekeeper.core.calls import Calls
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from edgekeeper.runtime import traces
from edgekeeper.runtime.traces import OtelTracer, open_tracer
from kubesim.cloudflare.faults import Fault
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import APPS, AcceptanceWorld, cluster, route, running

PROTECTED = {
    "hostname": "api.example.com",
    "accessApp": "true",
    "allowEmails": "a@example.com",
    "serviceToken": "true",
}


@asynccontextmanager
async def traced(
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[AcceptanceWorld, InMemorySpanExporter]]:
    """The operator at work, with its traces."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(assembly, "open_tracer", lambda _: OtelTracer(provider))
    async with cluster() as world, running(world):
        yield world, exporter


def attribute(span: Any, name: str) -> str:
    return str(span.attributes.get(f"edgekeeper.{name}", ""))


@virtual_time
async def test_calls_of_a_pass_are_children_of_its_span(monkeypatch: pytest.MonkeyPatch) -> None:
    async with traced(monkeypatch) as (world, exporter):
        await world.create(route("api", **PROTECTED))
        await world.ready("api")
        spans = exporter.get_finished_spans()
    passes = {span.context.span_id: span for span in spans if span.name == "reconcile CloudflareTask"}
    assert {attribute(span, "namespace") for span in passes.values()} == {"cloudflare-zero-trust"}
    assert {attribute(span, "result") for span in passes.values()} <= {
        "success",
        "requeue_after",
        "requeue",
    }
    children = [span for span in spans if span.parent is not None and span.parent.span_id in passes]
    assert {attribute(span, "target") for span in children} == {"cloudflare", "kubernetes"}
    created = [span for span in children if "service_tokens" in attribute(span, "subject") + span.name]
    assert created, sorted({span.name for span in children})
    assert all(span.status.status_code is StatusCode.OK for span in passes.values())
    routes = [span for span in spans if span.name == "reconcile HTTPRoute"]
    assert {attribute(span, "name") for span in routes} == {"api"}


@virtual_time
async def test_reads_of_the_cluster_have_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    async with traced(monkeypatch) as (world, exporter):
        await world.create(route("api", **PROTECTED))
        await world.ready("api")
        operations = {
            attribute(span, "operation").split()[0]
            for span in exporter.get_finished_spans()
            if attribute(span, "target") == "kubernetes"
        }
    assert operations <= {"POST", "PATCH", "PUT", "DELETE"}
    assert operations


@virtual_time
async def test_failed_call_has_its_type_and_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    async with traced(monkeypatch) as (world, exporter):
        message = "what was sent: canary"
        world.cloud.faults.add(Fault("error", method="POST", status=500, code=1000, message=message))
        await world.create(route("api", **PROTECTED))
        await world.ready("api")
        spans = exporter.get_finished_spans()
    failed = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    assert [span for span in failed if attribute(span, "target") == "cloudflare"]
    assert all(attribute(span, "result") for span in failed)
    assert "canary" not in "".join(span.to_json() for span in spans)


@virtual_time
async def test_secrets_are_in_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    async with traced(monkeypatch) as (world, exporter):
        await world.create(route("api", **PROTECTED))
        await world.ready("api")
        await world.annotate("api", serviceToken__rotate="now")
        await world.elapse(minutes=2)
        secrets = [one.value for many in world.account.secrets.values() for one in many]
        await world.user.delete(HTTP_ROUTE, Key(APPS, "api"))
        await world.gone("api")
        said = "".join(span.to_json() for span in exporter.get_finished_spans())
        token = world.estate.token.value
    assert len(secrets) >= 1
    assert "api-cfzt-service-token" in said, "names are told"
    assert not [secret for secret in (token, *secrets) if secret in said]


def test_nothing_is_imported_without_an_endpoint() -> None:
    code = (
        "import sys, edgekeeper.cli.main, edgekeeper.cli.run\n"
        "from edgekeeper.runtime.traces import open_tracer\n"
        "open_tracer('')\n"
        "sys.exit(sorted(name for name in sys.modules if name.startswith('opentelemetry')) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_an_endpoint_there_is_nothing_to_do_for_a_span() -> None:
    tracer = open_tracer("")
    assert tracer is NO_TRACES
    record = Calls().record("cloudfront", "Create", "x", mutating=True)
    assert tracer.call(record) is tracer.call(record)


class _Collector(BaseHTTPRequestHandler):
    received: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        self.received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the base's name


async def test_spans_are_sent_to_the_endpoint_at_the_latest_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "edgekeeper-of-tests")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    received: list[tuple[str, bytes]] = []
    handler = type("Collector", (_Collector,), {"received": received})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            tracer = open_tracer(f"http://127.0.0.1:{server.server_port}")
            with tracer.reconciliation("tenants", "DistributionTenant", "edge", "shop", "1") as span:
                span.end("success")
            async with asyncio.timeout(timedelta(seconds=20).total_seconds()):
                await tracer.close()
        finally:
            server.shutdown()
            thread.join()
    ((path, body),) = received
    assert path == "/v1/traces"
    assert b"reconcile DistributionTenant" in body
    assert b"edgekeeper-of-tests" in body


@pytest.mark.parametrize("value", ["collector:4318", "grpc://collector:4317", "http://"])
def test_endpoint_that_is_no_address_is_refused(value: str) -> None:
    with pytest.raises(BadParameter, match="such as http://collector:4318"):
        OtlpEndpoint().convert(value, None, None)


def test_endpoint_without_the_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "is_installed", lambda: False)
    with pytest.raises(BadParameter, match=r"pip install 'edgekeeper\[otel\]'"):
        OtlpEndpoint().convert("http://collector:4318", None, None)
