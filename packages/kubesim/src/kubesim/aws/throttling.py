"""Request limits: token buckets per account, region and lane, and the words in which each service says no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.errors import AwsError
from kubesim.aws.route53.batches import cost
from kubesim.aws.settings import Rate, Rates

GLOBAL = ("cloudfront", "route53", "sts")

_ANSWERS = {
    "cloudfront": ("Throttling", "Rate exceeded"),
    "route53": ("Throttling", "Rate exceeded"),
    "acm": ("ThrottlingException", "Rate exceeded"),
    "apigateway": ("TooManyRequestsException", "Too Many Requests"),
    "lambda": ("TooManyRequestsException", "Rate exceeded"),
    "sts": ("Throttling", "Rate exceeded"),
}
_ALONE = {
    "acm": ("RequestCertificate", "ListCertificates"),
    "lambda": ("GetFunction", "GetPolicy"),
}
_DOMAIN_MUTATIONS = ("CreateDomainName", "UpdateDomainName", "DeleteDomainName")


def lanes(service: str, operation: str, mutating: bool, params: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The lanes that a call goes through, and what it costs in each."""
    if service == "cloudfront":
        return [("cloudfront-write" if mutating else "cloudfront-read", 1)]
    if operation == "ChangeResourceRecordSets":
        changes = (params.get("ChangeBatch") or {}).get("Changes") or ()
        return [("route53", 1), ("route53-changes", cost(changes))]
    if operation in _DOMAIN_MUTATIONS:
        return [("apigateway-domains", 1), ("apigateway", 1)]
    if operation in _ALONE.get(service, ()):
        return [(f"{service}-{operation}", 1)]
    return [(service, 1)]


@dataclass
class _Bucket:
    rate: Rate
    level: float
    filled: float

    def fill(self, now: float) -> None:
        self.level = min(self.rate.burst, self.level + (now - self.filled) * self.rate.per_second)
        self.filled = now


class Throttle:
    """Counts calls and refuses what comes too fast. A refused call costs nothing."""

    def __init__(self, time: CloudTime, rates: Rates) -> None:
        self._time = time
        self._buckets: dict[tuple[str, str, str], _Bucket] = {}
        self.rates = rates

    def admit(self, account: str, region: str, service: str, taken: Sequence[tuple[str, float]]) -> None:
        """Let a call through, or raise what the service answers instead."""
        where = "" if service in GLOBAL else region
        limited = [(lane, tokens) for lane, tokens in taken if lane in self.rates]
        buckets = [(self._bucket(account, where, lane), tokens) for lane, tokens in limited]
        # Rounding must not refuse whoever waits exactly as long as the published rate says.
        if any(bucket.level + 1e-6 < tokens for bucket, tokens in buckets):
            raise AwsError(*_ANSWERS[service])
        for bucket, tokens in buckets:
            bucket.level -= tokens

    def _bucket(self, account: str, region: str, lane: str) -> _Bucket:
        rate, now = self.rates[lane], self._time.monotonic()
        bucket = self._buckets.get((account, region, lane))
        if bucket is None or bucket.rate != rate:
            bucket = self._buckets[account, region, lane] = _Bucket(rate, rate.burst, now)
        bucket.fill(now)
        return bucket
