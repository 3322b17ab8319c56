"""Settings of published HTTPRoutes that tenants, templates and tasks have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from edgekeeper.api.schema import Rule
from edgekeeper.api.shared import ATOMIC_LIST, StrictStruct

MOST_RULES = 500
"""Of one kind in a policy. Cloudflare allows a thousand in all."""
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
Strings = Annotated[list[str], Meta(extra_json_schema=ATOMIC_LIST)]
Duration = Annotated[str, Meta(pattern=r"^\d+[smh]$", description="A duration such as 30m or 24h.")]


class OriginTls(StrictStruct, frozen=True):
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


class SecretKeyRef(StrictStruct, frozen=True):
    """A key of a Secret in the tenant's namespace."""

    name: Annotated[str, Meta(min_length=1, max_length=253, description="The Secret's name.")]
    key: Annotated[str, Meta(min_length=1, max_length=253, description="The key.")] = "token"


class ServiceRef(StrictStruct, frozen=True):
    """A Service of type LoadBalancer."""

    name: Annotated[str, Meta(min_length=1, max_length=253, description="The Service's name.")]
    namespace: Annotated[
        str,
        Meta(
            description="Its namespace; that of the HTTPRoute by default. Another one needs a ReferenceGrant."
        ),
    ] = ""


class IdentityProviderGroup(StrictStruct, frozen=True):
    """A group that an identity provider knows."""

    provider: Annotated[str, Meta(min_length=1, description="Name or id of the identity provider.")]
    group: Annotated[str, Meta(min_length=1, description="The group as the provider names it.")]


class AccessRule(StrictStruct, frozen=True):
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

    email: Annotated[
        Annotated[str, Meta(min_length=1)] | None, Meta(description="The e-mail address of a person.")
    ] = None
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


class AccessSettings(StrictStruct, frozen=True):
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
    enable_binding_cookie: Annotated[
        bool | None,
        Meta(description="Whether a binding cookie protects against stolen authorization tokens."),
    ] = None
    http_only_cookie_attribute: Annotated[
        bool | None, Meta(description="Whether scripts of the page cannot read the cookie.")
    ] = None
    same_site_cookie_attribute: Annotated[
        Literal["none", "lax", "strict"] | None, Meta(description="The SameSite attribute of the cookie.")
    ] = None
    logo_url: Annotated[str | None, Meta(description="The address of the logo in the App Launcher.")] = None
    skip_interstitial: Annotated[
        bool | None, Meta(description="Whether cloudflared logs in without a page in between.")
    ] = None
    app_launcher_visible: Annotated[
        bool | None, Meta(description="Whether the App Launcher shows the application.")
    ] = None
    service_auth_401_redirect: Annotated[
        bool | None,
        Meta(description="Whether requests that a Service Auth policy blocks get the status 401."),
    ] = field(name="serviceAuth401Redirect", default=None)
    custom_deny_message: Annotated[
        str | None, Meta(description="The message for people who are not allowed in.")
    ] = None
    custom_deny_url: Annotated[
        str | None, Meta(description="The page to which people who are not allowed in are redirected.")
    ] = None
    custom_non_identity_deny_url: Annotated[
        str | None,
        Meta(
            description="The page to which people are redirected who fail rules that are not about identity."
        ),
    ] = None
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
    application_name: Annotated[
        str | None, Meta(description="The name of the application; that of the route by default.")
    ] = None
    policy_name: Annotated[
        str | None,
        Meta(description="The name of the application's own policy; <route>-allow-policy by default."),
    ] = None
    validate_at_tunnel: Annotated[
        bool | None,
        Meta(
            description="Whether cloudflared, too, lets only requests through that passed the application; true by "
            "default."
        ),
    ] = None


class ServiceTokenSettings(StrictStruct, frozen=True):
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
