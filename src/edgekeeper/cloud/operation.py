"""The types of a cloud call: the operation, and what a failure means.

An adapter describes each operation of its provider once, as an `Operation`, and translates each error of its provider
into a `Failure`. Nothing else here is specific to a provider.

    verdict        what is known                                   the transport
    REFUSED        processed, without effect                       raises the failure's error
    THROTTLED      not processed: too many calls                   pauses the lane for all; retries idempotent calls
    UNANSWERED     no response, or an unusable one (5xx, a login   counts for the circuit; retries idempotent calls
                   page): it may have taken effect
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
    """The provider's name, such as `CreateDistributionTenant`."""
    mutating: bool
    idempotent: bool
    """Whether it may be retried when it is unknown whether it took effect."""
    lane: str
    """The class of calls for the rate limit: see `cloud.rates`."""
    deadline: timedelta
    """The time limit of the whole call: the wait for the rate limit, all attempts and the pauses between them."""


class Verdict(StrEnum):
    """What is known about a failed call; see the table above."""

    REFUSED = "refused"
    THROTTLED = "throttled"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Failure:
    """A provider's error, translated."""

    error: PassError
    """The error to raise, with the provider's message unchanged."""
    error_type: str
    """The label in metrics."""
    verdict: Verdict = Verdict.REFUSED
    retry_after: timedelta | None = None
    """The pause that the provider requested, if any."""


Classifier: TypeAlias = Callable[[Operation, Exception], Failure | None]
"""Classifies an exception of `send`. None if it is not an error of the provider, but a bug."""


class KeptBack(Wait):
    """A dry run: the mutation was not sent."""

    def __init__(self, operation: Operation, subject: str) -> None:
        what = f"{operation.name} {subject}".rstrip()
        super().__init__(timedelta(minutes=5), "DryRun", f"kept back by dry run: {what}")
