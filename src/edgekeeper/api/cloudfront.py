"""DistributionTenant: a tenant of a CloudFront distribution, with its certificate and its DNS records.

Fields, limits, defaults, rules and columns are those that existing manifests were written for. Additions are optional:
`status.inventory` and two fingerprints in the status, short names and a category, more columns. What CloudFront would
refuse is refused at admission, by `cloudfront_rules`.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
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
)
from edgekeeper.core.json import JsonObject, dig, dig_object

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
    """A value for a parameter that the distribution defines."""

    name: Annotated[
        str, Meta(min_length=1, max_length=128, pattern=r"^[a-zA-Z0-9\-_]+$", description="Its name.")
    ]
    value: Annotated[str, Meta(min_length=1, max_length=256, description="Its value.")]


class WebAcl(CamelStruct, frozen=True):
    """The web ACL of the tenant, in place of the distribution's."""

    __rules__ = (
        Rule(
            "self.action != 'override' || (has(self.arn) && self.arn != '')",
            "arn is required when action is override",
        ),
    )

    action: Annotated[
        Literal["disable", "override"],
        Meta(description="override uses the web ACL in arn, disable uses none."),
    ]
    arn: Annotated[
        str,
        Meta(
            description="The web ACL to use, of AWS WAF v2 with global scope.",
            extra_json_schema=admitted.WEB_ACL,
        ),
    ] = ""


class Certificate(CamelStruct, frozen=True):
    """A certificate of ACM that covers the tenant's domains."""

    # The region is CloudFront's own in the public partition. Of others AWS itself knows better.
    __rules__ = (
        Rule(
            "self.arn.startsWith('arn:aws:acm:us-east-1:') || self.arn.startsWith('arn:aws-')",
            "the certificate must be in us-east-1, where CloudFront looks for it",
        ),
    )

    arn: Annotated[str, Meta(description="The certificate's ARN.", extra_json_schema=admitted.CERTIFICATE)]


class GeoRestrictions(CamelStruct, frozen=True):
    """Where the tenant may be seen."""

    __rules__ = (admitted.RESTRICTION_NEEDS_LOCATIONS,)

    restriction_type: Annotated[
        Literal["none", "whitelist", "blacklist"],
        Meta(description="Whether locations are those that may see the tenant, or those that may not."),
    ]
    locations: Annotated[
        list[Annotated[str, Meta(extra_json_schema=admitted.LOCATION)]],
        Meta(
            description="Countries, as two letters of ISO 3166-1.",
            extra_json_schema={**ATOMIC_LIST, **admitted.LOCATIONS},
        ),
    ] = []


class Customizations(CamelStruct, frozen=True):
    """What the tenant does differently from its distribution."""

    web_acl: WebAcl | None = None
    certificate: Certificate | None = None
    geo_restrictions: GeoRestrictions | None = None


class ManagedCertificateRequest(CamelStruct, frozen=True):
    """Asks CloudFront to request a certificate, and to renew it."""

    validation_token_host: Annotated[
        Literal["cloudfront", "self-hosted"],
        Meta(
            description="Who answers the validation request: cloudfront needs the domain's DNS to point to it first."
        ),
    ]
    primary_domain_name: Annotated[
        str,
        Meta(
            min_length=1,
            description="The certificate's main name: one of spec.domains.",
            extra_json_schema=admitted.DOMAIN,
        ),
    ]
    certificate_transparency_logging_preference: Annotated[
        Literal["enabled", "disabled"] | None,
        Meta(description="Whether the certificate is published in transparency logs."),
    ] = None


class Tag(CamelStruct, frozen=True):
    """A tag of the tenant in AWS."""

    key: Annotated[
        str,
        Meta(min_length=1, max_length=128, description="Its key.", extra_json_schema=admitted.TAG_KEY),
    ]
    value: Annotated[
        str, Meta(max_length=256, description="Its value.", extra_json_schema=admitted.TAG_VALUE)
    ] = ""


class Dns(CamelStruct, frozen=True):
    """Where the records of the tenant's domains are kept."""

    __rules__ = (
        Rule("self.provider != 'route53' || has(self.hostedZoneId)", "hostedZoneId is required for route53"),
    )

    provider: Annotated[Literal["route53"], Meta(description="Who serves the zone.")]
    hosted_zone_id: Annotated[
        str, Meta(description="The zone of the domains.", extra_json_schema=admitted.ZONE)
    ] = ""
    ttl: Annotated[
        int,
        Meta(
            ge=60,
            le=172800,
            description="Seconds for which resolvers may remember a record.",
            extra_json_schema={"default": DEFAULT_TTL},
        ),
    ] = DEFAULT_TTL
    assume_role_arn: Annotated[
        str,
        Meta(
            description="The role to use for the zone, where it belongs to another account.",
            extra_json_schema=admitted.ROLE,
        ),
    ] = ""


class DistributionTenantSpec(CamelStruct, frozen=True):
    """What the tenant shall be."""

    distribution_id: Annotated[
        str,
        Meta(
            min_length=1,
            description="The multi-tenant distribution.",
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
            description="The connection group; the account's default group where there is none.",
            extra_json_schema=admitted.CONNECTION_GROUP,
        ),
    ] = ""
    parameters: Annotated[
        list[Parameter],
        Meta(
            description="Values for the distribution's parameters.",
            extra_json_schema={**ATOMIC_LIST, **admitted.PARAMETERS},
        ),
    ] = []
    customizations: Customizations | None = None
    managed_certificate_request: ManagedCertificateRequest | None = None
    tags: Annotated[
        list[Tag],
        Meta(description="Tags of the tenant in AWS.", extra_json_schema={**ATOMIC_LIST, **admitted.TAGS}),
    ] = []
    dns: Dns | None = None

    @property
    def own_certificate(self) -> str:
        """The ARN of the certificate that is named in place of the distribution's; empty where none is."""
        custom = self.customizations
        return custom.certificate.arn if custom and custom.certificate else ""


class DomainResult(CamelStruct, frozen=True):
    """A domain as CloudFront has it."""

    domain: str
    status: Annotated[
        Literal["active", "inactive"] | None, Meta(description="Whether CloudFront serves the domain.")
    ] = None


class DistributionTenantStatus(CamelStruct, frozen=True):
    """What the tenant is."""

    observed_generation: Annotated[
        int | None, Meta(description="The generation that was carried out last.")
    ] = None
    id: Annotated[str, Meta(description="The tenant's id.")] = ""
    arn: Annotated[str, Meta(description="The tenant's ARN.")] = ""
    e_tag: Annotated[str, Meta(description="The version that was seen last.")] = ""
    distribution_tenant_status: Annotated[str, Meta(description="InProgress or Deployed.")] = ""
    created_time: datetime | None = None
    last_modified_time: datetime | None = None
    domain_results: Annotated[
        list[DomainResult],
        Meta(description="The domains as CloudFront has them.", extra_json_schema=ATOMIC_LIST),
    ] = []
    certificate_arn: Annotated[str, Meta(description="The certificate that CloudFront manages.")] = ""
    managed_certificate_status: Annotated[str, Meta(description="How far that certificate is.")] = ""
    last_drift_check_time: datetime | None = None
    drift_detected: Annotated[
        bool | None, Meta(description="Whether the tenant was found changed outside the operator.")
    ] = None
    dns_change_id: Annotated[
        str, Meta(description="The change of the zone that is not known to the world yet.")
    ] = ""
    dns_changes: Annotated[
        list[DnsChange],
        Meta(
            description="All changes of zones that are not known to the world yet.",
            extra_json_schema=ATOMIC_LIST,
        ),
    ] = []
    dns_target: Annotated[str, Meta(description="Where the tenant's records point.")] = ""
    inventory: Annotated[
        list[
            Annotated[
                InventoryRecord,
                Meta(description="A DNS record that was written for this tenant, exactly as it was written."),
            ]
        ],
        Meta(
            description="The DNS records that may exist because of this tenant.",
            extra_json_schema=ATOMIC_LIST,
        ),
    ] = []
    certificate_request: Annotated[
        str, Meta(description="A fingerprint of the certificate request that CloudFront was sent last.")
    ] = ""
    tags_fingerprint: Annotated[
        str, Meta(description="A fingerprint of the tags that the tenant was given last.")
    ] = ""
    creation_started: Annotated[
        datetime | None,
        Meta(
            description="When the creation of a tenant began that cannot be tagged as ours, until its id is known."
        ),
    ] = None
    contested_generation: Annotated[
        int | None,
        Meta(description="The generation for which CloudFront said that a domain belongs to another tenant."),
    ] = None
    conditions: Annotated[
        list[Annotated[Condition, Meta(description="A fact about the tenant.")]],
        Meta(extra_json_schema=LISTED_BY_TYPE),
    ] = []


class DistributionTenant(CamelStruct, frozen=True):
    """The object as its controller reads it; metadata is the runtime's business."""

    spec: DistributionTenantSpec
    status: DistributionTenantStatus = DistributionTenantStatus()


def read_tenant(obj: JsonObject) -> DistributionTenant:
    """An object as its controller reads it. Raise msgspec.ValidationError where it does not fit the kind.

    Conditions are left out: `core.conditions` reads them, and keeps those of other controllers whatever is in them. Of an
    object that is being deleted, fields of the spec that do not fit are left out as well, so that it can be finalized: what
    it owns is found by its name, its mark and the inventory in its status.
    """
    status = {name: value for name, value in dig_object(obj, "status").items() if name != "conditions"}
    try:
        return msgspec.convert({"spec": obj.get("spec"), "status": status}, DistributionTenant)
    except msgspec.ValidationError:
        if not dig(obj, "metadata", "deletionTimestamp"):
            raise
        return DistributionTenant(_valid_part(obj), msgspec.convert(status, DistributionTenantStatus))


def _valid_part(obj: JsonObject) -> DistributionTenantSpec:
    """The fields of the spec that fit their types, each by itself."""
    given = dig_object(obj, "spec")
    fitting: dict[str, Any] = {"distribution_id": "", "domains": []}
    for field in msgspec.structs.fields(DistributionTenantSpec):
        with suppress(KeyError, msgspec.ValidationError):
            fitting[field.name] = msgspec.convert(given[field.encode_name], field.type)
    return DistributionTenantSpec(**fitting)


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
        Column("Domains", ".spec.domains[*].domain"),  # the server shows the first
        condition_column("Paused"),
        condition_column("CertificateReady", "Cert", priority=1),
        condition_column("DNSReady", "DNS", priority=1),
        Column("ID", ".status.id"),
        AGE,
    ),
    short_names=("dt", "cftenant"),
    categories=("edge",),
)
