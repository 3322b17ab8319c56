"""Specs by the thousand: good ones, ones with a flaw, and ones that somebody wrote to hurt.

Determined by their number. Most fields are good most of the time, so that flaws are met alone as well as together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from edgekeeper.core.json import JsonObject
from tests.tenants.estate import DISTRIBUTION

T = TypeVar("T")

_LONG = "x" * 70
_HOSTILE_TEXTS = (
    "",
    " ",
    "\n",
    "\x1b[31mred",
    "a\u0000b",
    "%s%n{0}{{x}}",
    "'; drop table tenants; --",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "ünïcödé",
    "\u202egnp.exe",
    "9" * 400,
)
_HOSTILE_DOMAINS = (
    "localhost",
    "*.*.example.com",
    "a..example.com",
    f"{_LONG}.example.com",
    ".".join(["abcdefgh"] * 40),
    "-dash.example.com",
    "under_score.example.com",
    "shop.example.com:443",
    "http://shop.example.com/",
    "xn--e1afmkfd.example.com",
    "пример.example.com",
    "169.254.169.254",
    "SHOP.Example.COM.",
    "example.com",
    "*.example.com",
    "shop.example.org",
    *_HOSTILE_TEXTS,
)
_ARNS = (
    "arn:aws:acm:us-east-1:111122223333:certificate/none",
    "arn:aws:acm:eu-west-1:111122223333:certificate/none",
    "arn:aws-cn:acm:cn-north-1:111122223333:certificate/none",
    "arn:aws:acm:us-east-1:*:certificate/*",
    *_HOSTILE_TEXTS,
)


class Generator:
    """Makes the specs of one number."""

    def __init__(self, number: int, zone: str) -> None:
        self._random = Random(number)
        self._number = number
        self._zone = zone

    def spec(self) -> JsonObject:
        spec: JsonObject = {"distributionId": self._mostly(DISTRIBUTION, "ENOSUCHTHING", *_HOSTILE_TEXTS, 7)}
        spec["domains"] = self._domains()
        for name, make in _OPTIONAL.items():
            if self._random.random() < 0.3:
                spec[name] = make(self)
        if self._random.random() < 0.03:
            del spec[self._random.choice(list(spec))]
        return spec

    def _mostly(self, good: T, *others: Any) -> T | Any:
        return good if self._random.random() < 0.9 else self._random.choice(others)

    def _some(self, make: Callable[[], T], most: int = 3) -> list[T]:
        return [make() for _ in range(self._random.randint(0, most))]

    def _domains(self) -> Any:
        names = [f"n{self._number}-{index}.example.com" for index in range(self._random.randint(1, 3))]
        domains = [{"domain": self._mostly(name, *_HOSTILE_DOMAINS)} for name in names]
        return self._mostly(domains, [], domains * 2, domains * 60, None, "shop.example.com", [{}])

    def enabled(self) -> Any:
        return self._mostly(self._random.random() < 0.5, "yes", None)

    def group(self) -> Any:
        return self._mostly("", "cg_nosuchgroup", *_HOSTILE_TEXTS)

    def parameters(self) -> Any:
        def parameter() -> JsonObject:
            name = self._mostly("colour", "nobody-knows", *_HOSTILE_TEXTS)
            return {"name": name, "value": self._mostly("red", *_HOSTILE_TEXTS)}

        return self._some(parameter, 2)

    def customizations(self) -> JsonObject:
        acl = {"action": self._mostly("disable", "override", "allow"), "arn": self._mostly("", *_ARNS)}
        countries: Sequence[str] = ("DE", "FR", "XX", "de", "", "DEU")
        geo = {
            "restrictionType": self._mostly("whitelist", "none", "blacklist", "all"),
            "locations": self._some(lambda: self._mostly("DE", *countries)),
        }
        parts = {
            "webAcl": acl,
            "certificate": {"arn": self._random.choice(_ARNS)},
            "geoRestrictions": geo,
        }
        return {name: part for name, part in parts.items() if self._random.random() < 0.3}

    def request(self) -> JsonObject:
        first = f"n{self._number}-0.example.com"
        return {
            "validationTokenHost": self._mostly("self-hosted", "cloudfront", "nobody"),
            "primaryDomainName": self._mostly(first, *_HOSTILE_DOMAINS),
        }

    def tags(self) -> Any:
        keys = ("team", "aws:reserved", "edgekeeper.io/uid", "k" * 129, *_HOSTILE_TEXTS)
        tags = self._some(lambda: {"key": self._mostly("cost", *keys), "value": "1"})
        return self._mostly(tags, [{"key": f"k{index}"} for index in range(80)])

    def dns(self) -> JsonObject:
        dns = {
            "provider": self._mostly("route53", "bind"),
            "hostedZoneId": self._mostly(self._zone, "ZNOSUCHZONE", *_HOSTILE_TEXTS),
            "ttl": self._mostly(300, 59, 10**9, -1, "300"),
        }
        if self._random.random() < 0.1:
            dns["assumeRoleArn"] = self._random.choice(_ARNS)
        return dns


_OPTIONAL: dict[str, Callable[[Generator], Any]] = {
    "enabled": Generator.enabled,
    "connectionGroupId": Generator.group,
    "parameters": Generator.parameters,
    "customizations": Generator.customizations,
    "managedCertificateRequest": Generator.request,
    "tags": Generator.tags,
    "dns": Generator.dns,
    "nobodyKnowsThis": lambda generator: generator.tags(),
}
