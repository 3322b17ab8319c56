"""Cloudflare's objects, with the fields that are used, validated when they arrive.

Unknown fields are dropped, except where an object is written back as a whole: applications keep theirs in `document`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from edgekeeper.core.redaction import REDACTED


class SecretText:
    """A string that is not included in logs or reprs; `reveal` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretText) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return REDACTED

    __str__ = __repr__


class AccountRef(msgspec.Struct, frozen=True):
    """The account that something belongs to."""

    id: str


class Zone(msgspec.Struct, frozen=True):
    """A zone that the token may see."""

    id: str
    name: str
    account: AccountRef
    status: str | None = None


class DnsRecord(msgspec.Struct, frozen=True):
    """A DNS record."""

    id: str
    name: str
    type: str
    content: str = ""
    ttl: int = 1
    proxied: bool = False
    comment: str | None = None
    tags: tuple[str, ...] = ()


class BatchResult(msgspec.Struct, frozen=True):
    """The result of a batch. Cloudflare omits empty lists, or sets them to null."""

    deletes: list[DnsRecord] | None = None
    patches: list[DnsRecord] | None = None
    puts: list[DnsRecord] | None = None
    posts: list[DnsRecord] | None = None


class TunnelConfiguration(msgspec.Struct, frozen=True):
    """The configuration of a tunnel: null until it is first written."""

    tunnel_id: str
    version: int
    config: dict[str, Any] | None = None


class Tunnel(msgspec.Struct, frozen=True):
    """A tunnel. Deleted tunnels can still be read."""

    id: str
    name: str
    status: str | None = None
    """healthy, degraded, down or inactive."""
    conns_active_at: datetime | None = None
    """Since when a cloudflared is connected, where one is."""
    conns_inactive_at: datetime | None = None
    """Since when none is, where none is."""
    deleted_at: str | None = None

    @property
    def connected(self) -> bool | None:
        """Whether a cloudflared is connected; None where that is not known."""
        return None if self.status is None else self.status in ("healthy", "degraded")

    @property
    def since(self) -> datetime | None:
        """Since when it is connected, or is not."""
        return self.conns_active_at if self.connected else self.conns_inactive_at


class AttachedPolicy(msgspec.Struct, frozen=True):
    """A policy of an application, with all fields even if it is a reusable policy."""

    id: str
    name: str = ""
    decision: str = ""
    precedence: int | None = None
    reusable: bool = False
    include: tuple[dict[str, Any], ...] = ()
    exclude: tuple[dict[str, Any], ...] = ()
    require: tuple[dict[str, Any], ...] = ()


class Application(msgspec.Struct, frozen=True):
    """An Access application."""

    id: str
    type: str
    name: str = ""
    domain: str = ""
    aud: str = ""
    tags: tuple[str, ...] = ()
    policies: tuple[AttachedPolicy, ...] = ()
    document: dict[str, Any] = {}
    """The complete response, including unknown fields."""


class Policy(msgspec.Struct, frozen=True):
    """A reusable policy."""

    id: str
    name: str
    decision: str
    include: tuple[dict[str, Any], ...] = ()
    exclude: tuple[dict[str, Any], ...] = ()
    require: tuple[dict[str, Any], ...] = ()
    session_duration: str | None = None
    app_count: int | None = None


class Group(msgspec.Struct, frozen=True):
    """An Access group, which rules name by id."""

    id: str
    name: str


class IdentityProvider(msgspec.Struct, frozen=True):
    """An identity provider of the account."""

    id: str
    name: str
    type: str
    """`azureAD`, `okta`, `google-apps`, `github`, `saml`, `oidc`, `onetimepin`, …"""


class Tag(msgspec.Struct, frozen=True):
    """A tag for applications."""

    name: str


class Organization(msgspec.Struct, frozen=True):
    """The Zero Trust organisation of an account."""

    auth_domain: str

    @property
    def team(self) -> str:
        """The team's name, as in the configuration of cloudflared."""
        return self.auth_domain.removesuffix(".cloudflareaccess.com")


class ServiceToken(msgspec.Struct, frozen=True):
    """A service token, without its secret."""

    id: str
    client_id: str
    name: str
    duration: str = ""
    enabled: bool = True
    expires_at: datetime | None = None


class Issued(msgspec.Struct, frozen=True):
    """The response for a service token with its secret. Converted to `IssuedToken` immediately."""

    id: str
    client_id: str
    client_secret: str
    name: str = ""
    duration: str = ""
    enabled: bool = True
    expires_at: datetime | None = None

    def without_secret(self) -> ServiceToken:
        return ServiceToken(self.id, self.client_id, self.name, self.duration, self.enabled, self.expires_at)

    def __repr__(self) -> str:
        return f"Issued(id={self.id!r})"


class IssuedToken(msgspec.Struct, frozen=True):
    """A service token that was created or rotated. Its secret is returned only this once."""

    id: str
    client_id: str
    client_secret: SecretText
    name: str = ""
    expires_at: datetime | None = None


class TokenStatus(msgspec.Struct, frozen=True):
    """The status of the API token of the request."""

    id: str
    status: str
    expires_on: datetime | None = None
    not_before: datetime | None = None
