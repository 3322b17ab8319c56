"""Spans of traces, as the code that does the work sees them: they are made, or nothing happens.

    with tracer.call(record) as span:
        …
        span.end("200")

`Tracer` itself makes no spans and is used unless traces are asked for (`runtime.traces`). Attributes name kinds, objects and
operations, and never have contents or messages.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from edgekeeper.core.calls import CallRecord


class Span:
    """One piece of work. This one is not recorded."""

    def end(self, result: str, *, failed: bool = False) -> None:
        """Say how it ended. Without it, the exception that leaves the context says it."""


_UNRECORDED: Final = nullcontext(Span())


class Tracer:
    """Makes spans. Those of calls within a pass are children of the span of the pass. This one makes none."""

    def reconciliation(
        self, controller: str, kind: str, namespace: str, name: str, id_: str
    ) -> AbstractContextManager[Span]:
        """The span of one pass over an object."""
        return _UNRECORDED

    def call(self, record: CallRecord) -> AbstractContextManager[Span]:
        """The span of one call to a cloud, or of one write to the API server."""
        return _UNRECORDED

    async def close(self) -> None:
        """Send what is left."""


NO_TRACES: Final = Tracer()
