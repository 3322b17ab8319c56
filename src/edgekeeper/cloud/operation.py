"""The types of a cloud call: the operation, and what a failure means.

An adapter describes each operation of its provider once, as an `Operation`, and translates each error of its provider
into a `Failure`. Nothing else here is specific to a provider.

    verdict        what is known                                   the transport
    REFUSED        looked at, without effect                       raises the failure's error
    THROTTLED      not looked at: too many calls                   pauses the lane for all; repeats idempotent calls
    UNANSWERED     no answer, or one that says nothing (5xx, a     counts for the circuit; repeats idempotent calls
                   login page): it may have taken effect
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from edgekeeper.core.errors import PassError, Wait


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a provider's API."""

    provider: str
    """`aws` or `cloudflare`."""
    service: str
    """`cloudfront`, `route53`, `acm`, `apigateway`, `lambda`, `sts`, `cloudflare`."""
    name: str
    """As the provider calls it: `CreateDistributionTenant`."""
    mutating: bool
    idempotent: bool
    """Whether it may be repeated when it is not known whether it took effect."""
    lane: str
    """The class of calls whose budget it takes from: see `cloud.rates`."""
    deadline: timedelta
    """For the whole call: the wait for the budget, every attempt and the pauses between them."""


class Verdict(StrEnum):
    """What is known about a call that failed: the table at the top explains each."""

    REFUSED = "refused"
    THROTTLED = "throttled"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Failure:
    """A provider's error, translated."""

    error: PassError
    """What the caller gets, with the provider's message unchanged."""
    error_type: str
    """The label in metrics."""
    verdict: Verdict = Verdict.REFUSED
    retry_after: timedelta | None = None
    """The pause that the provider asked for, where it did."""


Classifier: TypeAlias = Callable[[Operation, Exception], Failure | None]
"""An adapter's translation of what `send` raised. None: it is no error of the provider, but a bug."""


class KeptBack(Wait):
    """A dry run: the mutation was not sent."""

    def __init__(self, operation: Operation, subject: str) -> None:
        what = f"{operation.name} {subject}".rstrip()
        super().__init__(timedelta(minutes=5), "DryRun", f"kept back by dry run: {what}")
