"""Failures by plan: which calls go wrong, how, and how often.

    cloud.faults.add(error("ServiceUnavailable", status=503), operation="CreateDistributionTenant")
    cloud.faults.add(lost_response(), service="route53", times=3)
    cloud.faults.add(html(502), probability=0.3, times=None)
    cloud.faults.add(refused(), until=timedelta(minutes=5), times=None)

A fault either replaces an operation, which then never happens, or spoils the answer of one that did happen: that
difference is what callers of operations without idempotency must be able to live with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.errors import AwsError
from kubesim.aws.request import Answer, Delivery

_PAGE = "<html><head><title>{status}</title></head><body><center><h1>{status} Service Unavailable</h1></center></body></html>"


@dataclass(frozen=True)
class Fault:
    """One way to go wrong."""

    name: str
    happens: bool
    """Whether the operation is carried out all the same."""
    delay: timedelta = timedelta()
    error: AwsError | None = None
    spoil: Callable[[Answer], Answer] = lambda answer: answer


def error(code: str, message: str = "", status: int | None = None) -> Fault:
    """The service refuses, with this code."""
    return Fault("error", happens=False, error=AwsError(code, message or code, status))


def delay(interval: timedelta) -> Fault:
    """The answer takes its time."""
    return Fault("delay", happens=True, delay=interval)


def lost_request() -> Fault:
    """The connection closes, and the operation never happened."""
    return Fault("lost-request", happens=False, spoil=_delivered(Delivery.LOST))


def lost_response() -> Fault:
    """The connection closes, and the operation happened."""
    return Fault("lost-response", happens=True, spoil=_delivered(Delivery.LOST))


def truncated() -> Fault:
    """The operation happened; half of its answer arrives."""
    return Fault("truncated", happens=True, spoil=_delivered(Delivery.TRUNCATED))


def cut() -> Fault:
    """The operation happened; half of its answer arrives, and claims to be all of it."""
    return Fault(
        "cut",
        happens=True,
        spoil=lambda answer: Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2]),
    )


def silence() -> Fault:
    """No answer ever comes; the operation happened."""
    return Fault("silence", happens=True, spoil=_delivered(Delivery.SILENT))


def refused() -> Fault:
    """Nobody listens."""
    return Fault("refused", happens=False, spoil=_delivered(Delivery.REFUSED))


def html(status: int = 503) -> Fault:
    """A load balancer answers in the service's stead, in a language of its own."""
    body = _PAGE.format(status=status).encode()
    return Fault("html", happens=False, spoil=lambda _: Answer(status, {"content-type": "text/html"}, body))


def _delivered(delivery: Delivery) -> Callable[[Answer], Answer]:
    return lambda answer: answer.delivered(delivery)


KINDS: dict[str, Callable[..., Fault]] = {
    "error": error,
    "delay": delay,
    "lost-request": lost_request,
    "lost-response": lost_response,
    "truncated": truncated,
    "cut": cut,
    "silence": silence,
    "refused": refused,
    "html": html,
}


@dataclass
class Rule:
    """When a fault strikes. What is None matches everything."""

    fault: Fault
    service: str | None = None
    operation: str | None = None
    account: str | None = None
    times: int | None = 1
    """How often it strikes; None for ever."""
    skip: int = 0
    """How many calls pass unharmed first."""
    probability: float = 1.0
    ends: float | None = None
    """The moment after which it strikes no more."""
    struck: int = field(default=0, init=False)

    def matches(self, service: str, operation: str, account: str) -> bool:
        wanted = ((self.service, service), (self.operation, operation), (self.account, account))
        return all(rule in (None, value) for rule, value in wanted)


class FaultPlan:
    """The rules in force; of those that match a call the first strikes."""

    def __init__(self, time: CloudTime, seed: int = 0) -> None:
        self._time = time
        self._random = Random(seed)
        self.rules: list[Rule] = []

    def add(self, fault: Fault, *, until: timedelta | None = None, **conditions: Any) -> Rule:
        """Put a rule in force: conditions are those of `Rule`; `until` is counted from now."""
        rule = Rule(fault, **conditions)
        if until is not None:
            rule.ends = self._time.after(until)
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        self.rules.clear()

    def strike(self, service: str, operation: str, account: str) -> Fault | None:
        """The fault that meets this call, if any. Rules that are used up or over are forgotten."""
        if not self.rules:
            return None
        self.rules = [rule for rule in self.rules if not self._over(rule)]
        for rule in self.rules:
            if not rule.matches(service, operation, account):
                continue
            if rule.skip > 0:
                rule.skip -= 1
                continue
            if rule.probability < 1 and self._random.random() >= rule.probability:
                continue
            rule.struck += 1
            return rule.fault
        return None

    def _over(self, rule: Rule) -> bool:
        used_up = rule.times is not None and rule.struck >= rule.times
        return used_up or (rule.ends is not None and self._time.passed(rule.ends))
