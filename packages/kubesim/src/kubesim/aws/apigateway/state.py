"""What one account has at API Gateway in one region. There are no ETags here: the last writer wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from kubesim.aws.acm.certificate import ISSUED
from kubesim.aws.acm.store import Certificates
from kubesim.aws.errors import AwsError
from kubesim.aws.shelf import Shelf
from kubesim.aws.world import World

ALIAS_ZONES = {
    "us-east-1": "Z1UJRXOUMOOFQ8",
    "us-east-2": "ZOJJZC49E0EPZ",
    "us-west-1": "Z2MUQ32089INYE",
    "us-west-2": "Z2OJLYMUO9EFXC",
    "eu-west-1": "ZLY8HYME6SFDD",
    "eu-west-2": "ZJ5UAJN8Y3Z2Q",
    "eu-west-3": "Z3KY65QIEKYHQQ",
    "eu-central-1": "Z1U9ULNL0V5AJ3",
    "eu-north-1": "Z3UWIKFBOOGXPP",
    "ap-northeast-1": "Z1YSHQZHG15GKL",
    "ap-southeast-1": "ZL327KTPIQFUL",
    "ap-southeast-2": "Z2RPCDW04V8134",
}
"""The hosted zones that aliases to regional domains name."""
OTHER_ALIAS_ZONE = "Z0000000000000000000"


@dataclass(frozen=True)
class Mapped:
    """A base path of a domain, and the stage of an API behind it."""

    id: str
    api: str
    stage: str
    key: str = ""


@dataclass(frozen=True)
class Rule:
    """Where requests go that meet conditions; the lowest priority number is tried first."""

    id: str
    priority: int
    conditions: list[dict[str, Any]]
    actions: list[dict[str, Any]]


@dataclass(frozen=True)
class ApiDomain:
    """A custom domain name with its single configuration."""

    name: str
    target: str
    configuration: Mapping[str, Any]
    ready_at: float
    routing_mode: str = "API_MAPPING_ONLY"
    mutual_tls: Mapping[str, Any] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    mappings: tuple[Mapped, ...] = ()
    rules: tuple[Rule, ...] = ()


class SavedApiGateway(msgspec.Struct):
    """What an account has in a region."""

    domains: list[ApiDomain]
    apis: dict[str, tuple[str, ...]]


class ApiGateway:
    """See the module."""

    def __init__(
        self, world: World, account: str, region: str, certificates: Callable[[str], Certificates]
    ) -> None:
        self.world = world
        self.account = account
        self.region = region
        self.certificates = certificates
        self.domains: Shelf[str, ApiDomain] = Shelf(world.time, lambda: world.behaviour.read_lag)
        self.apis: dict[str, tuple[str, ...]] = {}
        """The stages of each API. Scenarios make them."""
        certificates(region).users.append(self._uses)

    def add_api(self, name: str | None = None, stages: Iterable[str] = ("$default",)) -> str:
        """An API with its stages; return its id."""
        api = name or self.world.ids.lower(10)
        self.apis[api] = tuple(stages)
        return api

    def domain(self, name: str) -> ApiDomain:
        """The present state of a domain."""
        return _existing(self.domains.get(name.lower()))

    def domain_seen(self, name: str) -> ApiDomain:
        """A domain as a reader sees it."""
        return _existing(self.domains.seen(name.lower()))

    def arn(self, domain: ApiDomain, *below: str) -> str:
        path = "/".join(("domainnames", domain.name, *below))
        return f"arn:aws:apigateway:{self.region}::/{path}"

    def keep(self, domain: ApiDomain, **changes: Any) -> ApiDomain:
        kept = replace(domain, **changes)
        self.domains.put(kept.name, kept)
        return kept

    def check_stage(self, api: str, stage: str) -> None:
        if api not in self.apis:
            raise AwsError("NotFoundException", f"Invalid API identifier specified {self.account}:{api}")
        if stage not in self.apis[api]:
            raise AwsError("BadRequestException", f"Invalid stage identifier specified {stage}")

    def check_certificate(self, name: str, configuration: Mapping[str, Any]) -> None:
        """A domain needs an issued certificate of its region, or of us-east-1 where it is served at the edge."""
        arn = configuration.get("CertificateArn")
        edge = configuration.get("EndpointType") == "EDGE"
        store = self.certificates("us-east-1" if edge else self.region)
        store.settle()
        certificate = store.shelf.get(arn or "")
        if certificate is None or certificate.status != ISSUED:
            raise AwsError(
                "BadRequestException", f"Invalid certificate ARN: {arn}. Certificate must be in ISSUED state."
            )
        if not certificate.covers(name):
            raise AwsError(
                "BadRequestException", f"The domain name {name} is not covered by the specified certificate."
            )

    def save(self) -> SavedApiGateway:
        return SavedApiGateway(list(self.domains.values()), self.apis)

    def restore(self, saved: SavedApiGateway) -> None:
        self.apis = dict(saved.apis)
        for domain in saved.domains:
            self.domains.put(domain.name, domain)

    def _uses(self) -> Iterator[tuple[str, str]]:
        """Certificates in use, and what uses them."""
        return (
            (domain.configuration["CertificateArn"], self.arn(domain)) for domain in self.domains.values()
        )


def _existing(domain: ApiDomain | None) -> ApiDomain:
    if domain is None:
        raise AwsError("NotFoundException", "Invalid domain name identifier specified")
    return domain


def page(items: list[Any], params: Mapping[str, Any], largest: int = 500) -> tuple[list[Any], str | None]:
    """One page of a listing, and the token of the next."""
    token = params.get("NextToken") or "0"
    size = int(params.get("MaxResults") or largest)
    if not token.isdigit() or size < 1:
        raise AwsError("BadRequestException", "Invalid pagination parameters specified")
    start, size = int(token), min(size, largest)
    following = str(start + size) if len(items) > start + size else None
    return items[start : start + size], following
