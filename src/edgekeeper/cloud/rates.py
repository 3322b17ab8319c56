"""The default rate of each lane: a bit less than the provider allows.

Rates are per credential, since that is what providers count by, and per class of calls, a *lane*. Calls of a lane may count
in another one as well, one each, whatever they cost in their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CLOUDFRONT_READ = "cloudfront-read"
CLOUDFRONT_WRITE = "cloudfront-write"
ROUTE53 = "route53"
ROUTE53_CHANGE = "route53-change"
ACM = "acm"
ACM_LIST = "acm-list"
ACM_REQUEST = "acm-request"
API_GATEWAY = "apigateway"
API_GATEWAY_DOMAIN = "apigateway-domain"
LAMBDA = "lambda"
STS = "sts"
CLOUDFLARE = "cloudflare"


@dataclass(frozen=True, slots=True)
class LaneRate:
    """`rate` calls per second, and `burst` at once after a pause."""

    rate: float
    burst: int = 1
    within: str = ""
    """A lane in which each call counts as well."""

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.burst < 1:
            raise ValueError("a lane needs a positive rate and room for at least one call")


DEFAULT_RATES: Mapping[str, LaneRate] = MappingProxyType(
    {
        # Nothing is published. Twenty writes at once are known to pass, and some eighty to fail.
        CLOUDFRONT_READ: LaneRate(10, 20),
        CLOUDFRONT_WRITE: LaneRate(2, 4),
        # The older of two published figures: 5 a second. The newer one is 10, and 50 at once.
        ROUTE53: LaneRate(5, 5),
        # Records rather than calls: CREATE and DELETE cost 1, UPSERT costs 2. Published: 100, and 1,500 at once.
        ROUTE53_CHANGE: LaneRate(90, 1_200, within=ROUTE53),
        # Published per operation and region: 10 for most, 5 to request or tag, 1 to list.
        ACM: LaneRate(8, 8),
        ACM_LIST: LaneRate(0.9, 1),
        ACM_REQUEST: LaneRate(4, 4),
        # 10 a second, and 40 at once, shared by all clients of the account.
        API_GATEWAY: LaneRate(5, 20),
        # One call in 30 s, a fixed quota. A second more, because network latency varies.
        API_GATEWAY_DOMAIN: LaneRate(1 / 31, 1, within=API_GATEWAY),
        # 15 a second for everything but invoking.
        LAMBDA: LaneRate(10, 10),
        STS: LaneRate(10, 20),
        # 1,200 calls in 5 minutes. A client that exceeds this is blocked for the next 5.
        CLOUDFLARE: LaneRate(3.6, 20),
    }
)
