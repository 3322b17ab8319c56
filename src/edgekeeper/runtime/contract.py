"""The interfaces between the runtime and the implementation of a kind.

A kind implements a `Reconciler`, which gets a `Request` with a copy of the object and returns an `Outcome`. It may
raise one of the four errors of `core.errors`, and never writes its object itself. Further methods are optional:

    finalize    `Finalizing`: clean up for an object that is being deleted
    explain     `Explaining`: report in the status why a pass failed
    pause       `Pausing`: report in the status that the object is paused
    log_level   `LogLevels`: choose the log level of a pass
    manages     `Selective`: choose the objects that get the finalizer
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from random import Random
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.outcome import Event, Outcome
from edgekeeper.core.tracing import NO_TRACES, Tracer
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.finalizers import is_deleting
from edgekeeper.runtime.queue import QueueMetrics, SilentQueueMetrics
from edgekeeper.runtime.sources import ANYWHERE, Scope
from edgekeeper.runtime.validation import Validator

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """The object that a pass reconciles."""

    key: Key
    raw: bytes
    """The object as the store had it when the pass began: JSON, without managedFields."""
    object: JsonObject
    """The same, decoded: a copy. Changing it has no effect on the store or on what is written."""
    reconcile_id: str
    """Identifies the pass in the log: every line within the pass carries it."""

    @property
    def deleting(self) -> bool:
        return is_deleting(self.object)

    @property
    def generation(self) -> int:
        generation = dig(self.object, "metadata", "generation")
        return generation if isinstance(generation, int) else 0

    def decode(self, type_: type[T]) -> T:
        """The object as an instance of `type_`. Raise msgspec.ValidationError where it does not fit."""
        return msgspec.json.decode(self.raw, type=type_)


class Reconciler(Protocol):
    """Reconciles one object: brings what it stands for closer to its spec."""

    async def reconcile(self, request: Request) -> Outcome:
        """Perform the next step. Called repeatedly, also after crashes, so it must be idempotent."""


@runtime_checkable
class Finalizing(Protocol):
    """A reconciler that cleans up when an object is deleted. Required for a controller with a finalizer."""

    async def finalize(self, request: Request) -> Outcome:
        """Perform the next step of the clean-up. It is complete when an outcome has no requeue and nothing to write."""


@runtime_checkable
class Explaining(Protocol):
    """A reconciler that reports in the status why a pass failed."""

    def explain(self, request: Request, error: PassError) -> Outcome:
        """The write and the events that report `error`. The error, not this outcome, decides about the requeue."""


@runtime_checkable
class Pausing(Protocol):
    """A reconciler that reports in the status that an object is paused."""

    def pause(self, request: Request) -> Outcome:
        """The write that reports it. Nothing else is done for a paused object."""


@runtime_checkable
class LogLevels(Protocol):
    """A reconciler that chooses the log level of passes, for example from another object."""

    def log_level(self, request: Request) -> str | None:
        """The level, or None for that of the object or the process. Called before every pass, so it must be fast."""


@runtime_checkable
class LogFields(Protocol):
    """A reconciler that adds fields to all log lines of a pass, for example the name of another object."""

    def log_fields(self, request: Request) -> JsonObject:
        """The fields. Called before every pass, so it must be fast."""


@runtime_checkable
class Selective(Protocol):
    """A reconciler that manages only some of the objects of its kind, such as those with an annotation."""

    def manages(self, request: Request) -> bool:
        """Whether an object that has no finalizer of ours gets it.

        One that does not is passed to `reconcile` nevertheless, and so is one that has the finalizer and is no longer
        managed: when nothing is left to clean up, its outcome removes the finalizer.
        """


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Settings of a controller."""

    name: str
    """The name in metrics and logs, in lower case."""
    kind: Kind
    labels: str = ""
    """A label selector; empty for all objects."""
    scope: Scope = ANYWHERE
    """Limits the watch to certain namespaces, to named objects, or to metadata."""
    finalizer: str | None = None
    generation_predicate: bool = True
    """Whether changes of the status alone are ignored."""
    validator: Validator | None = None
    """Validates objects on admission, if webhooks are served."""
    role: str = ""
    """The role that this controller belongs to, where a process may be limited to one."""
    log_level: tuple[str, ...] = ()
    """The field of an object that sets the log level of its passes, such as `("spec", "logLevel")`."""
    log_fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields of an object that all log lines of its passes show, by the name that they have there."""

    max_concurrent: int = 16
    deadline: timedelta = timedelta(minutes=2)
    """How long `reconcile` may take. The write that follows has the client's deadline."""
    backoff: Backoff = field(default_factory=Backoff)
    resync: timedelta = timedelta(hours=10)
    """The longest time between two passes of an object for which nothing has changed."""
    resync_jitter: float = 0.2


class Result(StrEnum):
    """How a pass ended, as `controller_runtime_reconcile_total` labels it."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE = "requeue"
    REQUEUE_AFTER = "requeue_after"


class ControllerMetrics(QueueMetrics, Protocol):
    """The metrics of a controller and its queue: `controller_runtime_…` and `workqueue_…`."""

    def pass_started(self) -> None:
        """`active_workers` rises."""

    def pass_ended(self, result: Result | None, seconds: float) -> None:
        """`active_workers` falls; `reconcile_total` of the result and `reconcile_time_seconds` count it.

        A pass that was cancelled has no result, and is not counted.
        """

    def failed(self) -> None:
        """`reconcile_errors_total`."""

    def stalled(self) -> None:
        """`terminal_reconcile_errors_total`: a person must act."""

    def panicked(self) -> None:
        """`reconcile_panics_total`: an unexpected exception."""


class RuntimeMetrics(Protocol):
    """The metrics of the runtime."""

    def controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        """The metrics of one controller, at zero."""

    def forget_controller(self, name: str) -> None:
        """Drop the metrics of a controller that was removed."""

    def loop_lag(self, seconds: float) -> None:
        """`edgekeeper_event_loop_lag_seconds`: how much later than scheduled a timer fired."""


class EventSink(Protocol):
    """Where events go: `kube.events.Recorder`. The manager starts and stops it."""

    def record(self, subject: JsonObject, event: Event) -> None: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class SilentControllerMetrics(SilentQueueMetrics):
    """Discards the metrics of a controller."""

    def pass_started(self) -> None: ...

    def pass_ended(self, result: Result | None, seconds: float) -> None: ...

    def failed(self) -> None: ...

    def stalled(self) -> None: ...

    def panicked(self) -> None: ...


class SilentMetrics:
    """Discards all metrics."""

    def controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        return SilentControllerMetrics()

    def forget_controller(self, name: str) -> None: ...

    def loop_lag(self, seconds: float) -> None: ...


class SilentEvents:
    """Discards all events."""

    def record(self, subject: JsonObject, event: Event) -> None: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Services:
    """The dependencies that all controllers of a process share."""

    client: KubeClient
    informers: Informers
    clock: Clock
    recorder: EventSink = field(default_factory=SilentEvents)
    metrics: RuntimeMetrics = field(default_factory=SilentMetrics)
    random: Random = field(default_factory=Random)
    namespaces: tuple[str, ...] = ()
    """The namespaces to watch at the start; empty for all. `Manager.set_namespaces` changes them."""
    tracer: Tracer = NO_TRACES
