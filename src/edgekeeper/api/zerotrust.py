"""Cloudflare Zero Trust: tenants and templates. Settings, tasks and the operator's own configuration are beside (`zerotrust_…`).

Fields, limits, short names and columns are those that existing manifests were written for. Additions are optional.

The schemas have no defaults. Settings are merged from several objects, and a default that the server stores would shadow
the level below it: a template that only sets a session duration would switch off the protection that the base template
switches on. Built-in values apply in code, last (`controllers.zerotrust.settings`). Nor does the server drop fields of
tenants and templates that it does not know: a misspelt section would be a setting that is not there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, field

from edgekeeper.api.definition import AGE, Column, CustomKind, condition_column
from edgekeeper.api.shared import ATOMIC_LIST, CamelStruct, Conditions, StrictStruct
from edgekeeper.api.zerotrust_settings import (
    AccessSettings,
    Duration,
    LogLevel,
    OriginTls,
    SecretKeyRef,
    ServiceRef,
    ServiceTokenSettings,
    Strings,
)

GROUP = "cfzt.cloudflare.com"
VERSION = "v1alpha1"
FINALIZER = f"{GROUP}/finalizer"
PREFIX = f"{GROUP}/"
"""Of the annotations on HTTPRoutes, and of labels."""


# CloudflareZeroTrustTenant


class TenantDefaults(StrictStruct, frozen=True):
    """Settings for all routes of the tenant, below those of templates and annotations."""

    session_duration: Duration | None = None
    origin_service: Annotated[
        str | None,
        Meta(description="The address of the origin. backend derives it from the route's backendRefs."),
    ] = None
    http_host_header: Annotated[
        str | None,
        Meta(description="The Host header that the origin gets. {{ hostname }} stands for the hostname."),
    ] = None
    http_redirect: Annotated[
        bool | None, Meta(description="Accepted, without effect: the API of tunnels has no such setting.")
    ] = None
    origin_tls: OriginTls | None = field(name="originTLS", default=None)


class TenantSpec(StrictStruct, frozen=True):
    """An account of Cloudflare, a tunnel in it, and the token to use."""

    account_id: Annotated[str, Meta(pattern="^[a-f0-9]{32}$", description="The account.")]
    tunnel_id: Annotated[
        str,
        Meta(
            pattern="^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$",
            description="The tunnel that serves the hostnames.",
        ),
    ]
    credential_ref: Annotated[SecretKeyRef, Meta(description="The API token.")]
    zone_id: Annotated[
        Annotated[str, Meta(pattern="^[a-f0-9]{32}$")] | None,
        Meta(
            description="The zone that all hostnames must be in. Needed where the token may not list zones."
        ),
    ] = None
    log_level: Annotated[
        LogLevel | None, Meta(description="The log level of work for this tenant; the operator's by default.")
    ] = None
    defaults: TenantDefaults | None = None
    allowed_namespaces: Annotated[
        Strings | None, Meta(description="Namespaces whose routes may use the tenant; all by default.")
    ] = None


class TenantSummary(CamelStruct, frozen=True):
    """How much there is of what."""

    managed_http_routes: Annotated[int, Meta(description="Routes that are published through the tenant.")] = (
        field(name="managedHTTPRoutes", default=0)
    )
    hostname_routes: Annotated[int, Meta(description="Hostnames of the tunnel.")] = 0
    access_applications: Annotated[int, Meta(description="Access applications.")] = 0
    access_policies: Annotated[int, Meta(description="Access policies.")] = 0
    service_tokens: Annotated[int, Meta(description="Service tokens.")] = 0


class TokenStatus(CamelStruct, frozen=True):
    """The API token, as far as it may read that about itself."""

    status: Annotated[
        str, Meta(description="The status of the token at Cloudflare: active, disabled or expired.")
    ] = ""
    expires_at: Annotated[
        datetime | None, Meta(description="When the token expires; unset if it does not.")
    ] = None


class TunnelStatus(CamelStruct, frozen=True):
    """The tunnel, as far as the token may read it."""

    name: Annotated[str, Meta(description="The name of the tunnel.")] = ""
    status: Annotated[str, Meta(description="healthy, degraded, down or inactive.")] = ""
    connected: Annotated[bool | None, Meta(description="Whether a cloudflared is connected.")] = None
    since: Annotated[datetime | None, Meta(description="Since when it is connected, or is not.")] = None


class TenantStatus(CamelStruct, frozen=True):
    """What is known about the tenant."""

    observed_generation: Annotated[int | None, Meta(description="The last generation that was applied.")] = (
        None
    )
    last_sync_time: Annotated[
        datetime | None, Meta(description="When the account was read, as of the last change of the status.")
    ] = None
    summary: TenantSummary | None = None
    token: TokenStatus | None = None
    tunnel: TunnelStatus | None = None
    conditions: Conditions = []


class ZeroTrustTenant(CamelStruct, frozen=True):
    """The object as controllers read it."""

    spec: TenantSpec
    status: TenantStatus = TenantStatus()


# CloudflareZeroTrustTemplate


class OriginSettings(StrictStruct, frozen=True):
    """Where requests go to."""

    url: Annotated[
        str | None,
        Meta(description="The address of the origin. backend derives it from the route's backendRefs."),
    ] = None
    http_host_header: Annotated[
        str | None,
        Meta(
            description="The Host header that the origin gets. {{ hostname }} stands for the hostname. By default the "
            "hostname for origins with the scheme https, else what was requested."
        ),
    ] = None
    http_redirect: Annotated[
        bool | None, Meta(description="Accepted, without effect: the API of tunnels has no such setting.")
    ] = None
    origin_tls: OriginTls | None = field(name="originTLS", default=None)


class DnsOnlySettings(StrictStruct, frozen=True):
    """A DNS record that leads to an address of the cluster, without a tunnel."""

    enabled: Annotated[
        bool | None, Meta(description="Whether there is a record in place of a tunnel hostname.")
    ] = None
    proxied: Annotated[bool | None, Meta(description="Whether requests pass through Cloudflare.")] = None
    ttl: Annotated[
        Annotated[int, Meta(ge=1, le=86400)] | None,
        Meta(description="Seconds; 1 is automatic, for proxied records only."),
    ] = None
    static_ip: Annotated[str | None, Meta(description="The address; several are separated by commas.")] = None
    ingress_service_ref: Annotated[
        ServiceRef | None, Meta(description="The Service whose address is used.")
    ] = None


class TemplateSpec(StrictStruct, frozen=True):
    """Settings that routes have in common. What is not set comes from the level below."""

    tenant_ref: Annotated[
        str | None, Meta(description="The tenant that the template is for, as information.")
    ] = None
    origin_service: OriginSettings | None = None
    access_application: AccessSettings | None = None
    service_token: ServiceTokenSettings | None = None
    dns_only: DnsOnlySettings | None = None
    dns: Annotated[
        Literal["managed", "external"] | None, Meta(description="external: no DNS record is written.")
    ] = None


class TemplateStatus(CamelStruct, frozen=True):
    """Who uses the template."""

    observed_generation: Annotated[
        int | None, Meta(description="The last generation that was evaluated.")
    ] = None
    used_by_http_routes: Annotated[
        list[str], Meta(description="Routes, as namespace/name.", extra_json_schema=ATOMIC_LIST)
    ] = field(name="usedByHTTPRoutes", default_factory=list)
    conditions: Conditions = []


class ZeroTrustTemplate(CamelStruct, frozen=True):
    """The object as controllers read it."""

    spec: TemplateSpec
    status: TemplateStatus = TemplateStatus()


ZERO_TRUST_TENANT = CustomKind(
    group=GROUP,
    version=VERSION,
    kind="CloudflareZeroTrustTenant",
    plural="cloudflarezerotrusttenants",
    description="An account of Cloudflare with a tunnel, through which HTTPRoutes are published.",
    spec=TenantSpec,
    status=TenantStatus,
    columns=(
        Column("Account", ".spec.accountId"),
        Column("Tunnel", ".spec.tunnelId"),
        Column("HTTPRoutes", ".status.summary.managedHTTPRoutes", "integer"),
        Column("Last Sync", ".status.lastSyncTime", "date"),
        condition_column("Ready"),
        condition_column("Ready", "Reason", "reason", priority=1),
        Column("Connected", ".status.tunnel.connected", "boolean", priority=1),
        Column("Token Expires", ".status.token.expiresAt", "string", priority=1),
        AGE,
    ),
    short_names=("cfzt", "cfzttenant"),
    categories=("edge",),
)
ZERO_TRUST_TEMPLATE = CustomKind(
    group=GROUP,
    version=VERSION,
    kind="CloudflareZeroTrustTemplate",
    plural="cloudflarezerotrusttemplates",
    description="Settings that HTTPRoutes have in common when they are published through Cloudflare.",
    spec=TemplateSpec,
    status=TemplateStatus,
    columns=(
        Column("Tenant", ".spec.tenantRef"),
        Column("Access App", ".spec.accessApplication.enabled", "boolean"),
        Column("Service Token", ".spec.serviceToken.enabled", "boolean"),
        Column("DNS Only", ".spec.dnsOnly.enabled", "boolean"),
        Column("Used By", ".status.usedByHTTPRoutes", priority=1),
        AGE,
    ),
    short_names=("cfzttemplate", "cfztt"),
    categories=("edge",),
)
