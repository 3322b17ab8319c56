"""The contract between a kind's author and the runtime: what one writes, and what the other hands in.

An author writes a `Reconciler`: a function from how things are to an `Outcome`. It gets a `Request` with a copy of
the object, may raise one of the four errors of `core.errors`, and never writes its object itself. More methods are there
for those who need them:

    finalize    `Finalizing`: undo what was made for an object that is being deleted
    explain     `Explaining`: say in the status why a pass failed
    pause       `Pausing`: say in the status that the object is paused
    log_level   `LogLevels`: say from which level on a pass is logged
"""

from __future__ import annotations

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
    """What a pass is about."""

    key: Key
    raw: bytes
    """The object as the store had it when the pass began: JSON, without managedFields."""
    object: JsonObject
    """The same as a tree: a copy that may be changed freely, and to no effect."""
    reconcile_id: str
    """Names the pass: every line that is logged within it carries it, with the object's name."""

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
    """Brings one object, and what it stands for, closer to what its spec says."""

    async def reconcile(self, request: Request) -> Outcome:
        """Do the next thing. Called again and again, after crashes too, until there is nothing left to do."""


@runtime_checkable
class Finalizing(Protocol):
    """A reconciler that has to clean up. A controller with a finalizer needs one."""

    async def finalize(self, request: Request) -> Outcome:
        """Undo the next thing. An outcome without a requeue that leaves nothing to write says that all is done."""


@runtime_checkable
class Explaining(Protocol):
    """A reconciler that tells in the status why it failed."""

    def explain(self, request: Request, error: PassError) -> Outcome:
        """The write, and the events, that tell of `error`. When the next pass follows is the error's business."""


@runtime_checkable
class Pausing(Protocol):
    """A reconciler that shows in the status that an object is paused."""

    def pause(self, request: Request) -> Outcome:
        """The write that says so. Nothing else happens to a paused object."""


@runtime_checkable
class LogLevels(Protocol):
    """A reconciler that knows from which level on the passes of an object are logged, from another object, say."""

    def log_level(self, request: Request) -> str | None:
        """The level, or None for that of the object itself, or of the process. Asked before every pass: be quick."""


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """How a controller works."""

    name: str
    """In metrics and logs, in lower case."""
    kind: Kind
    labels: str = ""
    """Only objects that this label selector selects."""
    scope: Scope = ANYWHERE
    """In other namespaces than the process looks at, by name, or metadata only."""
    finalizer: str | None = None
    generation_predicate: bool = True
    """Changes of the status alone cause no pass."""
    validator: Validator | None = None
    """What is asked about objects before they are stored, where admission webhooks are served."""
    role: str = ""
    """The role that this controller belongs to, where a process may be limited to one."""
    log_level: tuple[str, ...] = ()
    """Where an object may say from which level on its passes are logged, such as `("spec", "logLevel")`."""

    max_concurrent: int = 16
    deadline: timedelta = timedelta(minutes=2)
    """How long `reconcile` may take. The write that follows has the client's deadline."""
    backoff: Backoff = field(default_factory=Backoff)
    resync: timedelta = timedelta(hours=10)
    """When an object that needs nothing is looked at all the same, at the latest."""
    resync_jitter: float = 0.2


class Result(StrEnum):
    """How a pass ended, as `controller_runtime_reconcile_total` labels it."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE = "requeue"
    REQUEUE_AFTER = "requeue_after"


class ControllerMetrics(QueueMetrics, Protocol):
    """What a controller tells about itself and its queue: the `controller_runtime_…` and `workqueue_…` metrics."""

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
        """`reconcile_panics_total`: an exception that nobody had thought of."""


class RuntimeMetrics(Protocol):
    """What the runtime tells about itself."""

    def controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        """The metrics of one controller, at zero."""

    def forget_controller(self, name: str) -> None:
        """The controller is gone for good, and its metrics with it."""

    def loop_lag(self, seconds: float) -> None:
        """`edgekeeper_event_loop_lag_seconds`: how much later than asked for something ran."""


class EventSink(Protocol):
    """Where events go: `kube.events.Recorder`. The manager starts and stops it."""

    def record(self, subject: JsonObject, event: Event) -> None: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class SilentControllerMetrics(SilentQueueMetrics):
    """Tells nobody."""

    def pass_started(self) -> None: ...

    def pass_ended(self, result: Result | None, seconds: float) -> None: ...

    def failed(self) -> None: ...

    def stalled(self) -> None: ...

    def panicked(self) -> None: ...


class SilentMetrics:
    """Tells nobody."""

    def controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        return SilentControllerMetrics()

    def forget_controller(self, name: str) -> None: ...

    def loop_lag(self, seconds: float) -> None: ...


class SilentEvents:
    """Tells nobody."""

    def record(self, subject: JsonObject, event: Event) -> None: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What all controllers of a process share."""

    client: KubeClient
    informers: Informers
    clock: Clock
    recorder: EventSink = field(default_factory=SilentEvents)
    metrics: RuntimeMetrics = field(default_factory=SilentMetrics)
    random: Random = field(default_factory=Random)
    namespaces: tuple[str, ...] = ()
    """Look at objects in these namespaces only, at first; empty for all. `Manager.set_namespaces` changes it."""
