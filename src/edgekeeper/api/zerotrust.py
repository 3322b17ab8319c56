"""Cloudflare Zero Trust: tenants, templates and the operator's own configuration. Tasks are in `zerotrust_task`.

Fields, limits, short names and columns are those that existing manifests were written for. Additions are optional.

The schemas have no defaults. Settings are merged from several objects, and a default that the server stores would shadow
the level below it: a template that only sets a session duration would switch off the protection that the base template
switches on. Built-in values apply in code, last (`controllers.zerotrust.settings`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from edgekeeper.api.definition import AGE, Column, CustomKind, condition_column
from edgekeeper.api.schema import Rule
from edgekeeper.api.shared import ATOMIC_LIST, LISTED_BY_TYPE, CamelStruct, Condition

GROUP = "cfzt.cloudflare.com"
VERSION = "v1alpha1"
FINALIZER = f"{GROUP}/finalizer"
PREFIX = f"{GROUP}/"
"""Of the annotations on HTTPRoutes, and of labels."""

MOST_RULES = 500
"""Of one kind in a policy. Cloudflare allows a thousand in all."""

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
Strings = Annotated[list[str], Meta(extra_json_schema=ATOMIC_LIST)]
Duration = Annotated[str, Meta(pattern=r"^\d+[smh]$", description="A duration such as 30m or 24h.")]
Conditions = Annotated[list[Condition], Meta(extra_json_schema=LISTED_BY_TYPE)]


# Settings that tenants, templates and tasks have in common


class OriginTls(CamelStruct, frozen=True):
    """How the tunnel speaks to an origin with the scheme https."""

    no_tls_verify: Annotated[bool | None, Meta(description="Accept any certificate of the origin.")] = field(
        name="noTLSVerify", default=None
    )
    origin_server_name: Annotated[
        str | None,
        Meta(
            description="The name expected in the origin's certificate. {{ hostname }} stands for the hostname."
        ),
    ] = None
    ca_pool: Annotated[str | None, Meta(description="The path of a CA bundle, as cloudflared sees it.")] = (
        None
    )
    tls_timeout: Annotated[int, Meta(ge=1, le=300, description="Seconds for the TLS handshake.")] | None = (
        None
    )
    http2_origin: Annotated[bool | None, Meta(description="Use HTTP/2 to the origin.")] = None
    match_sni_to_host: Annotated[
        bool | None, Meta(description="Use the requested host as the TLS server name.")
    ] = field(name="matchSNIToHost", default=None)


class SecretKeyRef(CamelStruct, frozen=True):
    """A key of a Secret in the tenant's namespace."""

    name: Annotated[str, Meta(min_length=1, max_length=253, description="The Secret's name.")]
    key: Annotated[str, Meta(min_length=1, max_length=253, description="The key.")] = "token"


class ServiceRef(CamelStruct, frozen=True):
    """A Service of type LoadBalancer."""

    name: Annotated[str, Meta(min_length=1, max_length=253, description="The Service's name.")]
    namespace: Annotated[
        str,
        Meta(
            description="Its namespace; that of the HTTPRoute by default. Another one needs a ReferenceGrant."
        ),
    ] = ""


class IdentityProviderGroup(CamelStruct, frozen=True):
    """A group that an identity provider knows."""

    provider: Annotated[str, Meta(min_length=1, description="Name or id of the identity provider.")]
    group: Annotated[str, Meta(min_length=1, description="The group as the provider names it.")]


class AccessRule(CamelStruct, frozen=True):
    """Who is meant: exactly one of the fields."""

    __rules__ = (
        Rule(
            "(has(self.email) ? 1 : 0) + (has(self.emailDomain) ? 1 : 0) + (has(self.group) ? 1 : 0) + "
            "(has(self.identityProviderGroup) ? 1 : 0) + (has(self.ipRange) ? 1 : 0) + "
            "(has(self.country) ? 1 : 0) + (has(self.everyone) ? 1 : 0) == 1",
            "a rule has exactly one of email, emailDomain, group, identityProviderGroup, ipRange, country, everyone",
        ),
        Rule("!has(self.everyone) || self.everyone", "everyone may only be true: leave the rule out instead"),
    )

    email: Annotated[str, Meta(min_length=1)] | None = None
    email_domain: (
        Annotated[str, Meta(min_length=1, description="Everybody with an address of this domain.")] | None
    ) = None
    group: Annotated[str, Meta(min_length=1, description="Name or id of an Access group.")] | None = None
    identity_provider_group: IdentityProviderGroup | None = None
    ip_range: (
        Annotated[str, Meta(min_length=1, description="An address or a range such as 192.0.2.0/24.")] | None
    ) = None
    country: Annotated[str, Meta(pattern="^[A-Z]{2}$", description="Two letters of ISO 3166-1.")] | None = (
        None
    )
    everyone: Annotated[bool, Meta(description="Everybody who can log in. May only be true.")] | None = None


AccessRules = Annotated[list[AccessRule], Meta(max_length=MOST_RULES, extra_json_schema=ATOMIC_LIST)]


class AccessSettings(CamelStruct, frozen=True):
    """The Access application that protects the hostnames of a route."""

    enabled: Annotated[bool | None, Meta(description="Whether there is an Access application.")] = None
    session_duration: Annotated[Duration | None, Meta(description="How long a login lasts.")] = None
    existing_policy_names: Annotated[
        Strings | None,
        Meta(description="Reusable policies of the account, in place of a policy of the route's own."),
    ] = None
    existing_policy_ids: Annotated[Strings | None, Meta(description="The same by id.")] = None
    allow_emails: Annotated[Strings | None, Meta(description="E-mail addresses that may log in.")] = None
    allow_groups: Annotated[
        Strings | None, Meta(description="Names or ids of Access groups that may log in.")
    ] = None
    include: Annotated[AccessRules | None, Meta(description="Further rules of which one must match.")] = None
    require: Annotated[AccessRules | None, Meta(description="Rules that must all match.")] = None
    exclude: Annotated[AccessRules | None, Meta(description="Rules of which none may match.")] = None
    allowed_idps: Annotated[
        Strings | None,
        Meta(description="Names or ids of the identity providers that may be used; all by default."),
    ] = None
    auto_redirect_to_identity: Annotated[
        bool | None, Meta(description="Skip the choice of an identity provider. Needs exactly one.")
    ] = None
    enable_binding_cookie: bool | None = None
    http_only_cookie_attribute: bool | None = None
    same_site_cookie_attribute: Literal["none", "lax", "strict"] | None = None
    logo_url: str | None = None
    skip_interstitial: bool | None = None
    app_launcher_visible: bool | None = None
    service_auth_401_redirect: bool | None = field(name="serviceAuth401Redirect", default=None)
    custom_deny_message: str | None = None
    custom_deny_url: str | None = None
    custom_non_identity_deny_url: str | None = None
    public_paths: Annotated[
        Strings | None, Meta(description="Paths below the hostnames that need no login, such as /healthz.")
    ] = None
    application_domain: Annotated[
        str | None,
        Meta(
            description="The wildcard hostname of another route, such as *.apps.example.com, whose application protects "
            "this route as well, in place of one of its own."
        ),
    ] = None


class ServiceTokenSettings(CamelStruct, frozen=True):
    """The service token with which programs pass the Access application."""

    enabled: Annotated[bool | None, Meta(description="Whether there is a service token.")] = None
    duration: Annotated[
        Annotated[str, Meta(pattern=r"^(\d+[smh]|forever)$")] | None,
        Meta(description="How long the token is valid. It is refreshed before it expires."),
    ] = None
    rotation_interval: Annotated[
        Duration | None, Meta(description="How often the client secret is replaced; never by default.")
    ] = None
    rotation_grace: Annotated[
        Duration | None, Meta(description="How long the previous client secret stays valid.")
    ] = None


# CloudflareZeroTrustTenant


class TenantDefaults(CamelStruct, frozen=True):
    """Settings for all routes of the tenant, below those of templates and annotations."""

    session_duration: Duration | None = None
    origin_service: str | None = None
    http_host_header: str | None = None
    http_redirect: Annotated[
        bool | None, Meta(description="Accepted, without effect: the API of tunnels has no such setting.")
    ] = None
    origin_tls: OriginTls | None = field(name="originTLS", default=None)


class TenantSpec(CamelStruct, frozen=True):
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

    managed_http_routes: int = field(name="managedHTTPRoutes", default=0)
    hostname_routes: int = 0
    access_applications: int = 0
    access_policies: int = 0
    service_tokens: int = 0


class TokenStatus(CamelStruct, frozen=True):
    """The API token, as far as it may read that about itself."""

    status: str = ""
    expires_at: datetime | None = None


class TunnelStatus(CamelStruct, frozen=True):
    """The tunnel, as far as the token may read it."""

    name: str = ""
    status: Annotated[str, Meta(description="healthy, degraded, down or inactive.")] = ""
    connected: Annotated[bool | None, Meta(description="Whether a cloudflared is connected.")] = None
    since: Annotated[datetime | None, Meta(description="Since when it is connected, or is not.")] = None


class TenantStatus(CamelStruct, frozen=True):
    """What is known about the tenant."""

    observed_generation: int | None = None
    last_sync_time: datetime | None = None
    summary: TenantSummary | None = None
    token: TokenStatus | None = None
    tunnel: TunnelStatus | None = None
    conditions: Conditions = []


class ZeroTrustTenant(CamelStruct, frozen=True):
    """The object as controllers read it."""

    spec: TenantSpec
    status: TenantStatus = TenantStatus()


# CloudflareZeroTrustTemplate


class OriginSettings(CamelStruct, frozen=True):
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


class DnsOnlySettings(CamelStruct, frozen=True):
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


class TemplateSpec(CamelStruct, frozen=True):
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

    observed_generation: int | None = None
    used_by_http_routes: Annotated[
        list[str], Meta(description="Routes, as namespace/name.", extra_json_schema=ATOMIC_LIST)
    ] = field(name="usedByHTTPRoutes", default_factory=list)
    conditions: Conditions = []


class ZeroTrustTemplate(CamelStruct, frozen=True):
    """The object as controllers read it."""

    spec: TemplateSpec
    status: TemplateStatus = TemplateStatus()


# CloudflareZeroTrustOperatorConfig

Cpu = Annotated[str, Meta(pattern="^[0-9]+m?$")]
Memory = Annotated[str, Meta(pattern="^[0-9]+(Mi|Gi|M|G)$")]


class ResourceAmounts(CamelStruct, frozen=True):
    """CPU and memory."""

    cpu: Cpu | None = None
    memory: Memory | None = None


class Resources(CamelStruct, frozen=True):
    """What the operator's containers ask for, and may use at most."""

    requests: ResourceAmounts | None = None
    limits: ResourceAmounts | None = None


class EnvironmentVariables(CamelStruct, frozen=True):
    """How the operator works. Taken over while it runs, where that is possible."""

    poll_interval_seconds: Annotated[int, Meta(ge=10, le=3600)] | None = None
    log_level: LogLevel | None = None
    watch_namespaces: Annotated[
        str | None, Meta(description="Namespaces of routes, separated by commas; empty for all.")
    ] = None


class OperatorConfigSpec(CamelStruct, frozen=True):
    """How the operator's own Deployments shall be. What is not set is left alone."""

    replicas: Annotated[int, Meta(ge=1, le=10)] | None = None
    resources: Resources | None = None
    affinity: dict[str, Any] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: Annotated[list[dict[str, Any]] | None, Meta(extra_json_schema=ATOMIC_LIST)] = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    environment_variables: EnvironmentVariables | None = None
    priority_class_name: str | None = None
    pod_annotations: dict[str, str] | None = None
    pod_labels: dict[str, str] | None = None


class OperatorConfigStatus(CamelStruct, frozen=True):
    """What became of the configuration."""

    observed_generation: int | None = None
    last_applied_time: datetime | None = None
    deployment_ready: bool | None = None
    conditions: Conditions = []


class OperatorConfig(CamelStruct, frozen=True):
    """The object as its controller reads it."""

    spec: OperatorConfigSpec
    status: OperatorConfigStatus = OperatorConfigStatus()


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

OPERATOR_CONFIG = CustomKind(
    group=GROUP,
    version=VERSION,
    kind="CloudflareZeroTrustOperatorConfig",
    plural="cloudflarezerotrustoperatorconfigs",
    description="How the operator's own Deployments are run. One object in the operator's namespace.",
    spec=OperatorConfigSpec,
    status=OperatorConfigStatus,
    columns=(
        Column("Replicas", ".spec.replicas", "integer"),
        Column("CPU Request", ".spec.resources.requests.cpu"),
        Column("Memory Request", ".spec.resources.requests.memory"),
        Column("Ready", ".status.deploymentReady", "boolean"),
        Column("Last Applied", ".status.lastAppliedTime", "date"),
        AGE,
    ),
    short_names=("cfztconfig", "operatorconfig"),
    categories=("edge",),
)
