"""CloudFront's resources as values: a change makes a new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

IN_PROGRESS = "InProgress"
DEPLOYED = "Deployed"


@dataclass(frozen=True)
class ParameterDefinition:
    """A parameter that the tenants of a distribution fill in."""

    name: str
    required: bool = True
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class Distribution:
    """A parent of tenants, or an ordinary distribution with aliases of its own."""

    id: str
    arn: str
    endpoint: str
    etag: str
    modified: datetime
    deployed_at: float
    """The moment at which the deployment under way is done."""
    tenant_only: bool = True
    enabled: bool = True
    aliases: tuple[str, ...] = ()
    parameters: tuple[ParameterDefinition, ...] = ()
    certificate: str | None = None
    """The ARN of its certificate; without one it has CloudFront's own, which covers nobody's domain."""
    web_acl: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ConnectionGroup:
    """What DNS points to: the routing endpoint that some tenants share."""

    id: str
    name: str
    arn: str
    endpoint: str
    etag: str
    created: datetime
    modified: datetime
    deployed_at: float
    enabled: bool = True
    ipv6: bool = True
    is_default: bool = False
    anycast: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tenant:
    """A customer's domains on a shared distribution."""

    id: str
    name: str
    arn: str
    distribution: str
    domains: tuple[str, ...]
    group: str
    etag: str
    created: datetime
    modified: datetime
    deployed_at: float
    enabled: bool = True
    parameters: tuple[tuple[str, str], ...] = ()
    customizations: Mapping[str, Any] = field(default_factory=dict)
    """As in the API: WebAcl, Certificate, GeoRestrictions."""
    tags: Mapping[str, str] = field(default_factory=dict)
    managed_certificate: str | None = None
    serving: frozenset[str] = frozenset()
    """The domains that were active when the deployment under way began: they stay so while it lasts."""

    @property
    def certificate(self) -> str | None:
        return (self.customizations.get("Certificate") or {}).get("Arn")

    @property
    def web_acl(self) -> str | None:
        return (self.customizations.get("WebAcl") or {}).get("Arn")
