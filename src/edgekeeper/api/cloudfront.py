"""DistributionTenant: a tenant of a CloudFront distribution, with its certificate and its DNS records.

The kind is compatible with manifests written for cloudfront-tenant-operator: fields, limits, defaults, rules and columns
are the same. Additions are optional: `status.inventory` and two fingerprints in the status, short names and a category,
more columns. `cloudfront_rules` refuses at admission what CloudFront would refuse.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from edgekeeper.api import cloudfront_rules as admitted
from edgekeeper.api.definition import AGE, Column, CustomKind, condition_column
from edgekeeper.api.schema import Rule
from edgekeeper.api.shared import (
    ATOMIC_LIST,
    LISTED_BY_TYPE,
    CamelStruct,
    Condition,
    DnsChange,
    InventoryRecord,
    read_parts,
)
from edgekeeper.core.json import JsonObject

__all__ = [
    "DEFAULT_TTL",
    "DISTRIBUTION_TENANT",
    "FINALIZER",
    "GROUP",
    "Certificate",
    "Condition",
    "Customizations",
    "DistributionTenant",
    "DistributionTenantSpec",
    "DistributionTenantStatus",
    "Dns",
    "DnsChange",
    "Domain",
    "DomainResult",
    "GeoRestrictions",
    "InventoryRecord",
    "ManagedCertificateRequest",
    "Parameter",
    "Tag",
    "WebAcl",
    "read_tenant",
]

GROUP = "cloudfront-tenant-operator.io"
FINALIZER = f"{GROUP}/finalizer"
DEFAULT_TTL = 300


class Domain(CamelStruct, frozen=True):
    """A domain that the tenant serves."""

    domain: Annotated[
        str,
        Meta(
            min_length=1,
            description="The domain name, in punycode where it is not ASCII; the first label may be *.",
            extra_json_schema=admitted.DOMAIN,
        ),
    ]


class Parameter(CamelStruct, frozen=True):
    """The value of a parameter that the distribution defines."""

    name: Annotated[
        str,
        Meta(min_length=1, max_length=128, pattern=r"^[a-zA-Z0-9\-_]+$", description="The parameter's name."),
    ]
    value: Annotated[str, Meta(min_length=1, max_length=256, description="The parameter's value.")]


class WebAcl(CamelStruct, frozen=True):
    """The web ACL of the tenant, which replaces that of the distribution."""

    __rules__ = (
        Rule(
            "self.action != 'override' || (has(self.arn) && self.arn != '')",
            "arn is required when action is override",
        ),
    )

    action: Annotated[
        Literal["disable", "override"],
        Meta(description="override: use the web ACL in arn. disable: use no web ACL."),
    ]
    arn: Annotated[
        str,
        Meta(
            description="The ARN of the web ACL (AWS WAF v2, scope CLOUDFRONT).",
            extra_json_schema=admitted.WEB_ACL,
        ),
    ] = ""


class Certificate(CamelStruct, frozen=True):
    """An ACM certificate that covers the tenant's domains."""

    # CloudFront requires us-east-1 in the public partition. For other partitions AWS checks the region.
    __rules__ = (
        Rule(
            "self.arn.startsWith('arn:aws:acm:us-east-1:') || self.arn.startsWith('arn:aws-')",
            "the certificate must be in us-east-1, the region that CloudFront uses",
        ),
    )

    arn: Annotated[str, Meta(description="The certificate's ARN.", extra_json_schema=admitted.CERTIFICATE)]


class GeoRestrictions(CamelStruct, frozen=True):
    """The countries from which the tenant may be requested."""

    __rules__ = (admitted.RESTRICTION_NEEDS_LOCATIONS,)

    restriction_type: Annotated[
        Literal["none", "whitelist", "blacklist"],
        Meta(
            description="whitelist: only locations may request the tenant. blacklist: locations may not. none: no restriction."
        ),
    ]
    locations: Annotated[
        list[Annotated[str, Meta(extra_json_schema=admitted.LOCATION)]],
        Meta(
            description="Country codes of two letters (ISO 3166-1 alpha-2).",
            extra_json_schema={**ATOMIC_LIST, **admitted.LOCATIONS},
        ),
    ] = []


class Customizations(CamelStruct, frozen=True):
    """Settings of the tenant that replace those of its distribution."""

    web_acl: WebAcl | None = None
    certificate: Certificate | None = None
    geo_restrictions: GeoRestrictions | None = None


class ManagedCertificateRequest(CamelStruct, frozen=True):
    """Lets CloudFront request a certificate for the tenant, and renew it."""

    validation_token_host: Annotated[
        Literal["cloudfront", "self-hosted"],
        Meta(
            description="Who serves the validation token. For cloudfront the DNS of the domain must point to CloudFront."
        ),
    ]
    primary_domain_name: Annotated[
        str,
        Meta(
            min_length=1,
            description="The common name of the certificate: one of spec.domains.",
            extra_json_schema=admitted.DOMAIN,
        ),
    ]
    certificate_transparency_logging_preference: Annotated[
        Literal["enabled", "disabled"] | None,
        Meta(description="Whether the certificate is recorded in certificate transparency logs."),
    ] = None


class Tag(CamelStruct, frozen=True):
    """An AWS tag of the tenant."""

    key: Annotated[
        str,
        Meta(min_length=1, max_length=128, description="The tag's key.", extra_json_schema=admitted.TAG_KEY),
    ]
    value: Annotated[
        str, Meta(max_length=256, description="The tag's value.", extra_json_schema=admitted.TAG_VALUE)
    ] = ""


class Dns(CamelStruct, frozen=True):
    """The hosted zone in which records for the tenant's domains are managed."""

    __rules__ = (
        Rule("self.provider != 'route53' || has(self.hostedZoneId)", "hostedZoneId is required for route53"),
    )

    provider: Annotated[Literal["route53"], Meta(description="The DNS provider.")]
    hosted_zone_id: Annotated[
        str,
        Meta(
            description="The id of the hosted zone that contains the domains.",
            extra_json_schema=admitted.ZONE,
        ),
    ] = ""
    ttl: Annotated[
        int,
        Meta(
            ge=60,
            le=172800,
            description="The TTL of the records, in seconds.",
            extra_json_schema={"default": DEFAULT_TTL},
        ),
    ] = DEFAULT_TTL
    assume_role_arn: Annotated[
        str,
        Meta(
            description="The ARN of the IAM role to assume for the zone, if it belongs to another account.",
            extra_json_schema=admitted.ROLE,
        ),
    ] = ""


class DistributionTenantSpec(CamelStruct, frozen=True):
    """The desired state of the tenant."""

    distribution_id: Annotated[
        str,
        Meta(
            min_length=1,
            description="The id of the multi-tenant distribution.",
            extra_json_schema=admitted.DISTRIBUTION,
        ),
    ]
    domains: Annotated[
        list[Domain],
        Meta(
            min_length=1,
            description="The domains that the tenant serves.",
            extra_json_schema={**ATOMIC_LIST, **admitted.DOMAINS},
        ),
    ]
    enabled: Annotated[
        bool,
        Meta(description="Whether the tenant serves requests.", extra_json_schema={"default": True}),
    ] = True
    connection_group_id: Annotated[
        str,
        Meta(
            description="The id of the connection group. Default: the account's default connection group.",
            extra_json_schema=admitted.CONNECTION_GROUP,
        ),
    ] = ""
    parameters: Annotated[
        list[Parameter],
        Meta(
            description="Values of the distribution's parameters.",
            extra_json_schema={**ATOMIC_LIST, **admitted.PARAMETERS},
        ),
    ] = []
    customizations: Customizations | None = None
    managed_certificate_request: ManagedCertificateRequest | None = None
    tags: Annotated[
        list[Tag],
        Meta(description="AWS tags of the tenant.", extra_json_schema={**ATOMIC_LIST, **admitted.TAGS}),
    ] = []
    dns: Dns | None = None

    @property
    def own_certificate(self) -> str:
        """The ARN of the certificate in `customizations`; empty if there is none."""
        custom = self.customizations
        return custom.certificate.arn if custom and custom.certificate else ""


class DomainResult(CamelStruct, frozen=True):
    """The state of a domain in CloudFront."""

    domain: Annotated[str, Meta(description="The domain.")]
    status: Annotated[
        Literal["active", "inactive"] | None, Meta(description="Whether CloudFront serves the domain.")
    ] = None


class DistributionTenantStatus(CamelStruct, frozen=True):
    """The observed state of the tenant."""

    observed_generation: Annotated[int | None, Meta(description="The last generation that was applied.")] = (
        None
    )
    id: Annotated[str, Meta(description="The tenant's id.")] = ""
    arn: Annotated[str, Meta(description="The tenant's ARN.")] = ""
    e_tag: Annotated[str, Meta(description="The last observed version of the tenant.")] = ""
    distribution_tenant_status: Annotated[
        str, Meta(description="The deployment status in CloudFront: InProgress or Deployed.")
    ] = ""
    created_time: Annotated[datetime | None, Meta(description="When the tenant was created.")] = None
    last_modified_time: Annotated[datetime | None, Meta(description="When the tenant was last changed.")] = (
        None
    )
    domain_results: Annotated[
        list[DomainResult],
        Meta(description="The state of the domains in CloudFront.", extra_json_schema=ATOMIC_LIST),
    ] = []
    certificate_arn: Annotated[
        str, Meta(description="The ARN of the certificate that CloudFront manages.")
    ] = ""
    managed_certificate_status: Annotated[str, Meta(description="The status of that certificate.")] = ""
    last_drift_check_time: Annotated[
        datetime | None,
        Meta(description="When the tenant was compared with the spec, as of the last change of the status."),
    ] = None
    drift_detected: Annotated[
        bool | None, Meta(description="Whether the tenant was changed outside the operator.")
    ] = None
    dns_change_id: Annotated[
        str, Meta(description="The id of a Route 53 change that is not propagated yet.")
    ] = ""
    dns_changes: Annotated[
        list[DnsChange],
        Meta(
            description="All Route 53 changes that are not propagated yet.",
            extra_json_schema=ATOMIC_LIST,
        ),
    ] = []
    dns_target: Annotated[str, Meta(description="The target of the tenant's records.")] = ""
    inventory: Annotated[
        list[
            Annotated[
                InventoryRecord,
                Meta(description="A DNS record of this tenant, as it was last written."),
            ]
        ],
        Meta(
            description="The DNS records that the operator has written, or is about to write, for this tenant.",
            extra_json_schema=ATOMIC_LIST,
        ),
    ] = []
    certificate_request: Annotated[
        str, Meta(description="A fingerprint of the last certificate request sent to CloudFront.")
    ] = ""
    tags_fingerprint: Annotated[
        str, Meta(description="A fingerprint of the last tags written to the tenant.")
    ] = ""
    creation_started: Annotated[
        datetime | None,
        Meta(
            description="When the creation of a tenant that cannot be tagged started; unset once its id is known."
        ),
    ] = None
    contested_generation: Annotated[
        int | None,
        Meta(
            description="The generation for which CloudFront reported that a domain belongs to another tenant."
        ),
    ] = None
    conditions: Annotated[
        list[Annotated[Condition, Meta(description="A condition of the tenant.")]],
        Meta(extra_json_schema=LISTED_BY_TYPE, description="What is known about the tenant."),
    ] = []


class DistributionTenant(CamelStruct, frozen=True):
    """Spec and status as the controller reads them; the runtime handles the metadata."""

    spec: DistributionTenantSpec
    status: DistributionTenantStatus = DistributionTenantStatus()


def read_tenant(obj: JsonObject) -> DistributionTenant:
    """Decode an object, as `read_parts` does."""
    blank = DistributionTenantSpec(distribution_id="", domains=[])
    return DistributionTenant(*read_parts(obj, blank, DistributionTenantStatus))


DISTRIBUTION_TENANT = CustomKind(
    group=GROUP,
    version="v1alpha1",
    kind="DistributionTenant",
    plural="distributiontenants",
    description="A tenant of a CloudFront distribution, with its certificate and its DNS records.",
    spec=DistributionTenantSpec,
    status=DistributionTenantStatus,
    columns=(
        Column("Status", ".status.distributionTenantStatus"),
        condition_column("Ready"),
        condition_column("Synced"),
        condition_column("Ready", "Reason", "reason"),
        Column("Domains", ".spec.domains[*].domain"),  # kubectl shows the first one
        condition_column("Paused"),
        condition_column("CertificateReady", "Cert", priority=1),
        condition_column("DNSReady", "DNS", priority=1),
        Column("ID", ".status.id"),
        AGE,
    ),
    short_names=("dt", "cftenant"),
    categories=("edge",),
)
