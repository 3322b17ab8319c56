"""A certificate, and what has to be in DNS before it is issued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import md5

PENDING = "PENDING_VALIDATION"
ISSUED = "ISSUED"
TIMED_OUT = "VALIDATION_TIMED_OUT"


@dataclass(frozen=True)
class Certificate:
    """One certificate. Moments are monotonic seconds, dates are for people."""

    arn: str
    names: tuple[str, ...]
    """The domain name first, then the alternative names."""
    method: str
    created: datetime
    requested_at: float
    status: str = PENDING
    validated_since: float | None = None
    issued: datetime | None = None
    failure_reason: str | None = None
    managed_by: str | None = None
    validation_host: str | None = None
    """Who serves the validation token of a managed certificate: `cloudfront` or `self-hosted`."""
    imported: bool = False
    idempotency_token: str | None = None
    key_algorithm: str = "RSA_2048"
    transparency: str = "ENABLED"
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]

    def covers(self, domain: str) -> bool:
        return any(covers(name, domain) for name in self.names)


@dataclass(frozen=True)
class ValidationRecord:
    """The CNAME that proves control of a domain."""

    name: str
    value: str


def covers(name: str, domain: str) -> bool:
    """Whether a name in a certificate stands for a domain; an asterisk stands for exactly one label."""
    name, domain = name.lower(), domain.lower()
    if name == domain:
        return True
    return name.startswith("*.") and domain.partition(".")[2] == name[2:] and not domain.startswith("*.")


def validation_record(account: str, domain: str) -> ValidationRecord:
    """The same for every certificate of an account, and the same for a domain and its wildcard, as at AWS."""
    base = domain.removeprefix("*.").lower()
    return ValidationRecord(
        f"_{_token(account, base, 'name')}.{base}.",
        f"_{_token(account, base, 'value')}.{_token(account, base, 'host')[:10]}.acm-validations.aws.",
    )


def _token(*parts: str) -> str:
    return md5("/".join(parts).encode(), usedforsecurity=False).hexdigest()
