"""Traces by OpenTelemetry, sent by OTLP over HTTP: a span for each pass, with its calls as children.

    tracer = open_tracer("http://collector:4318")        # needs the extra `otel`

The SDK reads its own variables: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER,
OTEL_EXPORTER_OTLP_HEADERS and others. Spans are sent in batches by a thread of the SDK; if the collector does not answer they
are dropped, and nothing else suffers. Nothing of OpenTelemetry is imported unless there is an endpoint.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from edgekeeper import __version__
from edgekeeper.core.calls import CallRecord
from edgekeeper.core.tracing import NO_TRACES, Span, Tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

INSTALL: Final = "pip install 'edgekeeper[otel]'"
_PATH: Final = "/v1/traces"
_PREFIX: Final = "edgekeeper."


def is_installed() -> bool:
    """Whether the extra `otel` is installed."""
    return all(_is_found(name) for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"))


def _is_found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of a parent
        return False


def open_tracer(endpoint: str) -> Tracer:
    """A tracer that sends to an endpoint, such as http://collector:4318; one that makes no spans if that is empty."""
    if not endpoint:
        return NO_TRACES
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    name = os.environ.get("OTEL_SERVICE_NAME") or "edgekeeper"
    resource = Resource.create({SERVICE_NAME: name, SERVICE_VERSION: __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    address = endpoint if endpoint.endswith(_PATH) else f"{endpoint.rstrip('/')}{_PATH}"
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
    return OtelTracer(provider)


class OtelTracer(Tracer):
    """Makes spans with a provider of OpenTelemetry's SDK."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("edgekeeper", __version__)

    @contextmanager
    def reconciliation(
        self, controller: str, kind: str, namespace: str, name: str, id_: str
    ) -> Iterator[Span]:
        about = {
            "controller": controller,
            "kind": kind,
            "namespace": namespace,
            "name": name,
            "reconcile_id": id_,
        }
        with self._span(f"reconcile {kind}", about) as span:
            yield span

    @contextmanager
    def call(self, record: CallRecord) -> Iterator[Span]:
        about = {"target": record.target, "operation": record.operation, "subject": record.subject}
        with self._span(f"{record.target} {record.operation}", about) as span:
            yield span

    async def close(self) -> None:
        await asyncio.to_thread(self._provider.shutdown)

    @contextmanager
    def _span(self, title: str, about: Mapping[str, str]) -> Iterator[Span]:
        attributes = {f"{_PREFIX}{name}": value for name, value in about.items() if value}
        with self._tracer.start_as_current_span(
            title, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as live:
            span = _LiveSpan(live)
            try:
                yield span
            except BaseException as error:
                if not span.ended:
                    span.end(type(error).__name__, failed=True)
                raise


class _LiveSpan(Span):
    """A span that is recorded. Of an exception only its type is kept: a message may quote anything."""

    def __init__(self, live: Any) -> None:
        self._live = live
        self.ended = False

    def end(self, result: str, *, failed: bool = False) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 - optional

        self.ended = True
        self._live.set_attribute(f"{_PREFIX}result", result)
        self._live.set_status(StatusCode.ERROR if failed else StatusCode.OK)
