"""Sends all calls to clouds: numbers, rate-limits, retries, audits and classifies them.

The steps of every attempt:

    number ─► hooks before ─► dry run? ─► circuit ─► budget ─► still leading? ─► send ─► hooks after ─► errors
                                 │ mutations end here

*Guarantees*
 - A call that is not idempotent is sent at most once. Others are retried within the deadline if there was no response or
   they were throttled. Each attempt is a call with its own number.
 - Throttling pauses the lane for all users of the credential.
 - A call that cannot be sent within its deadline (budget, pause, open circuit) raises `Wait` at once. At least half of the
   deadline is for sending.
 - In a dry run, and without leadership, no mutation is sent. A dry run raises `KeptBack`, which is a `Wait`.
 - Every mutation that was sent leaves an audit line, also where it was cancelled.
 - Errors of a provider are raised as one of the four errors of `core.errors`, with the metric label in `error_type`, and
   with the cause in `unavailable` if the cloud cannot be used at present: no response, throttling, an open circuit.
   Exceptions of hooks and of the leadership check, and bugs, are not converted.

*Caveats*
 - After an error with the verdict UNANSWERED a mutation may have taken effect: read before it is repeated.
 - The sender must refuse redirects, large bodies and unexpected content types.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil
from random import Random
from typing import Generic, TypeVar

from edgekeeper.cloud import audit
from edgekeeper.cloud.availability import Availability, Service
from edgekeeper.cloud.budget import Budget, TooLongError
from edgekeeper.cloud.call_context import Actor, CallContext, Priority, acting_for, current_context, sweeping
from edgekeeper.cloud.circuit import Circuit, Circuits, State
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.operation import Classifier, Failure, KeptBack, Operation, Verdict
from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import Cause, PassError, Retry, Wait

__all__ = [
    "Actor",
    "Classifier",
    "Failure",
    "KeptBack",
    "Operation",
    "Priority",
    "Transport",
    "Verdict",
    "acting_for",
    "sweeping",
]

T = TypeVar("T")

_CAUSES = {Verdict.UNANSWERED: Cause.UNREACHABLE, Verdict.THROTTLED: Cause.THROTTLED}
"""Verdicts that mean an outage. Classifiers may set further causes, such as credentials."""
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 5.0


def _unclassified(_: Operation, __: Exception) -> None:
    return None


@dataclass(frozen=True, slots=True)
class _Order(Generic[T]):
    """A call with all its arguments."""

    operation: Operation
    subject: str
    send: Callable[[], Awaitable[T]]
    credential: str
    region: str
    classify: Classifier
    cost: int
    context: CallContext
    until: float
    """The deadline, by the clock of the event loop."""

    @property
    def account(self) -> str:
        """The account for the rate limit: providers count each region of an account separately."""
        return f"{self.credential}/{self.region}" if self.region else self.credential


class _FailedError(Exception):
    """An attempt failed with an error that could be classified."""

    def __init__(self, failure: Failure, cause: Exception) -> None:
        super().__init__()
        self.failure = failure
        self.cause = cause


class Transport:
    """Sends calls to clouds."""

    def __init__(
        self,
        calls: Calls,
        clock: Clock,
        budget: Budget,
        metrics: CloudMetrics,
        *,
        dry_run: bool = False,
        leadership: Callable[[], None] | None = None,
    ) -> None:
        self.budget = budget
        self.dry_run = dry_run
        self.leadership = leadership
        """Called before every mutation; raises if this process may no longer write."""
        self._calls = calls
        self._clock = clock
        self._metrics = metrics
        self._circuits = Circuits(clock, metrics)
        self._availability = Availability(clock, metrics)

    async def call(  # noqa: PLR0913 - all but three by name
        self,
        operation: Operation,
        subject: str,
        send: Callable[[], Awaitable[T]],
        *,
        credential: str,
        region: str = "",
        classify: Classifier = _unclassified,
        cost: int = 1,
        priority: Priority | None = None,
        actor: Actor | None = None,
    ) -> T:
        """Send a call, and retry it if possible, within its deadline.

        `credential` is the name of the credential, never its value. `region` is empty for a global service. `cost` is
        the number of tokens that the call takes from its lane. `priority` and `actor` are those of the call context
        (`acting_for`, `sweeping`) by default.
        """
        context = current_context()
        if actor is not None:
            context = replace(context, actors=(actor,))
        if priority is not None:
            context = replace(context, priority=priority)
        until = asyncio.get_running_loop().time() + operation.deadline.total_seconds()
        order = _Order(operation, subject, send, credential, region, classify, cost, context, until)
        return await self._send_with_retries(order)

    async def _send_with_retries(self, order: _Order[T]) -> T:
        loop = asyncio.get_running_loop()
        operation = order.operation
        failed: _FailedError | None = None
        attempt = 0
        while True:
            attempt += 1
            record = self._calls.record(
                operation.service, operation.name, order.subject, mutating=operation.mutating
            )
            try:
                result = await self._attempt(order, record)
            except _FailedError as error:
                self.report(operation, order.credential, error.failure)
                failed = _more_severe(failed, error)
                pause = self._pause_before_retry(order, error.failure, attempt, record.number)
                if pause is None or loop.time() + pause >= order.until:
                    raise failed.failure.error from failed.cause
            except Wait:  # another attempt is not possible: report the error of the last one
                if failed is None:
                    raise
                raise failed.failure.error from failed.cause
            else:
                self._availability.answered(Service(operation.provider, operation.service, order.credential))
                return result
            await asyncio.sleep(pause)

    def report(self, operation: Operation, credential: str, failure: Failure) -> None:
        """Record a failure for the availability of its service, also if no call was sent."""
        service = Service(operation.provider, operation.service, credential)
        if failure.error.unavailable is None:  # a refusal is a response
            self._availability.answered(service)
        else:
            self._availability.failed(service, failure.error)

    async def _attempt(self, order: _Order[T], record: CallRecord) -> T:
        operation = order.operation
        try:
            await self._calls.before(record)
        except OSError as error:
            raise _FailedError(_unanswered(operation, error), error) from error
        if operation.mutating and self.dry_run:
            audit.audit(record, operation, order.account, order.context, audit.KEPT_BACK)
            raise KeptBack(operation, order.subject)
        circuit = self._circuit(order)
        circuit.check()
        await self._wait_for_turn(order)
        if operation.mutating and self.leadership is not None:
            self.leadership()
        with circuit.passage() as passage:
            try:
                result = await self._traced(order, record)
            except _FailedError as failed:
                passage.answered = failed.failure.verdict is not Verdict.UNANSWERED
                raise
            passage.answered = True
            return result

    def _circuit(self, order: _Order[T]) -> Circuit:
        return self._circuits.of(order.operation.provider, order.operation.service, order.region)

    async def _wait_for_turn(self, order: _Order[T]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        longest_wait = (order.until - began) / 2  # the other half is for sending
        context, lane = order.context, order.operation.lane
        try:
            async with asyncio.timeout(longest_wait):
                await self.budget.acquire(
                    order.account,
                    lane,
                    order.cost,
                    priority=context.priority,
                    namespace=context.namespace,
                    caller=f"{order.operation.name} {order.subject}",
                    within=timedelta(seconds=longest_wait),
                )
        except TooLongError as error:
            raise _wait_for_budget(lane, error) from error
        except TimeoutError as error:  # others were admitted first
            expected = self.budget.expected_wait(
                order.account, lane, priority=context.priority, namespace=context.namespace
            )
            raise _wait_for_budget(lane, TooLongError(expected)) from error
        self._metrics.observe_wait(lane, loop.time() - began)

    async def _traced(self, order: _Order[T], record: CallRecord) -> T:
        with self._calls.tracer.call(record) as span:
            try:
                answer = await self._send(order, record)
            except _FailedError as failed:
                span.end(failed.failure.error_type, failed=True)
                raise
            span.end(audit.DONE)
            return answer

    async def _send(self, order: _Order[T], record: CallRecord) -> T:
        operation = order.operation
        result, failure = audit.UNKNOWN, None
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout_at(_end_of_attempt(order)):
                answer = await order.send()
            await self._calls.after(record)
            result = audit.DONE
        except Exception as error:
            failure = _judge(order, error)
            if failure is None:
                raise
            result = audit.result_of(failure)
            raise _FailedError(failure, error) from error
        else:
            return answer
        finally:
            error_type = (
                "" if result == audit.DONE else failure.error_type if failure is not None else "unknown"
            )
            self._metrics.observe_call(operation, self._clock.monotonic() - began, error_type)
            if failure is not None:
                self._metrics.count_error(operation, failure.error_type)
            audit.audit(record, operation, order.account, order.context, result, failure)

    def _pause_before_retry(
        self, order: _Order[T], failure: Failure, attempt: int, number: int
    ) -> float | None:
        """Seconds until the next attempt, or None if the call is not retried.

        The jitter is derived from the number of the call, so that the pauses of a run are reproducible.
        """
        if failure.verdict is Verdict.THROTTLED:
            pause = self.budget.penalise(order.account, order.operation.lane, failure.retry_after)
            return pause.total_seconds() if order.operation.idempotent else None
        if failure.verdict is Verdict.REFUSED or not order.operation.idempotent:
            return None
        if self._circuit(order).state is not State.CLOSED:
            return None
        jitter = 0.5 + Random(number).random() / 2
        return min(_FIRST_PAUSE * 2.0 ** (attempt - 1), _LONGEST_PAUSE) * jitter


def _more_severe(before: _FailedError | None, now: _FailedError) -> _FailedError:
    """The failure to report: an earlier attempt may have taken effect even if this one did not."""
    return now if before is None or now.failure.verdict is not Verdict.THROTTLED else before


def _end_of_attempt(order: _Order[T]) -> float:
    """When an attempt times out. One that may be retried leaves half of the time for the next."""
    if not order.operation.idempotent:
        return order.until
    now = asyncio.get_running_loop().time()
    return now + (order.until - now) / 2


def _judge(order: _Order[T], error: Exception) -> Failure | None:
    failure = order.classify(order.operation, error)
    if failure is None and isinstance(error, PassError):
        failure = Failure(error, error.error_type or "unknown")
    if failure is None and isinstance(error, OSError):  # TimeoutError is one
        failure = _unanswered(order.operation, error)
    if failure is not None:
        failure.error.error_type = failure.error_type
        failure.error.unavailable = failure.error.unavailable or _CAUSES.get(failure.verdict)
    return failure


def _unanswered(operation: Operation, error: OSError) -> Failure:
    why = str(error) or type(error).__name__
    retry = Retry(f"no answer to {operation.name}: {why}", "Unreachable")
    retry.error_type, retry.unavailable = "retryable", Cause.UNREACHABLE
    return Failure(retry, retry.error_type, Verdict.UNANSWERED)


def _wait_for_budget(lane: str, error: TooLongError) -> Wait:
    expected = timedelta(seconds=ceil(error.expected.total_seconds()))
    message = (
        f"the rate limit of {lane} is reached: the call is expected to be sent in {format_duration(expected)}"
    )
    wait = Wait(error.retry_after, "BudgetExhausted", message)
    wait.unavailable = Cause.THROTTLED if error.paused else None  # a long queue is not an outage
    return wait
