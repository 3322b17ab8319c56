"""APIGatewayDomain: a custom domain name of API Gateway, with its certificate, its mapping to an API and its DNS records.

Also what both kinds of the group `bridge.ack.tubi.internal` share. Fields that the ack-bridge documents have keep their
names; additions are optional.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct, field

from edgekeeper.api.definition import AGE, Column, CustomKind, condition_column
from edgekeeper.api.schema import Rule, admission
from edgekeeper.api.shared import (
    ATOMIC_LIST,
    CamelStruct,
    Conditions,
    DnsChange,
    InventoryRecord,
    read_parts,
)
from edgekeeper.core.aws_identifiers import CERTIFICATE_ARN, DOMAIN_NAME, HOSTED_ZONE_ID, LONGEST_DOMAIN
from edgekeeper.core.json import JsonObject

GROUP: Final = "bridge.ack.tubi.internal"
DOMAIN_FINALIZER: Final = f"{GROUP}/apigateway-domain"
DEFAULT_TTL: Final = 300
ACK_NAME: Final[dict[str, Any]] = {"minLength": 1, "maxLength": 253}
"""The name of an object."""
PHASES: Final = (
    *("CREATED", "CERTIFICATE_RESOLVING", "CERTIFICATE_PENDING", "CERTIFICATE_READY", "DOMAIN_CREATING"),
    *("DOMAIN_READY", "MAPPING_CREATING", "MAPPING_READY", "DNS_CREATING", "READY"),
)


ErrorClass: TypeAlias = Literal["Transient", "Recoverable", "Terminal", "Cleanup"]


class LastError(Struct, frozen=True, omit_defaults=True):
    """The error that keeps the object from being Ready."""

    class_: Annotated[
        ErrorClass, Meta(description="The class of the error, which decides when it is tried again.")
    ] = field(name="class")
    code: Annotated[str, Meta(description="The reason, as in the conditions.")]
    message: Annotated[str, Meta(description="The message, as in the conditions.")]


LAST_ERROR: Final = Meta(description="The error that keeps the object from being Ready, if there is one.")


class ApiStatus(CamelStruct, frozen=True):
    """What the status of both kinds has."""

    ready: Annotated[bool, Meta(description="Whether the object is as its spec says.")] = False
    observed_generation: Annotated[
        int | None, Meta(description="The generation of the spec that was applied last.")
    ] = None
    drift_detected: Annotated[
        bool | None, Meta(description="Whether it was changed outside the operator.")
    ] = None


class ApiRef(CamelStruct, frozen=True):
    """The API behind the domain name."""

    __rules__ = (
        Rule("has(self.name) != has(self.apiId)", "give exactly one of name (of an ACK API) and apiId"),
        Rule(
            "!has(self.__namespace__) || has(self.name)",
            "namespace is that of an ACK API: it needs name",
        ),
    )

    name: Annotated[str | None, Meta(description="An ACK API.", extra_json_schema=ACK_NAME)] = None
    namespace: Annotated[
        str | None,
        Meta(
            description="The namespace of the ACK API, if it is another one: a ReferenceGrant there must allow it.",
            extra_json_schema=ACK_NAME,
        ),
    ] = None
    api_id: Annotated[
        str | None,
        Meta(
            description="The id of an API in AWS, where no ACK object stands for it.",
            extra_json_schema=admission(pattern="^[a-z0-9]{1,64}$"),
        ),
    ] = None
    api_type: Annotated[
        Literal["HTTP", "WEBSOCKET"],
        Meta(description="The protocol of the API.", extra_json_schema={"default": "HTTP"}),
    ] = "HTTP"


class DnsConfig(CamelStruct, frozen=True):
    """The DNS records of the domain name."""

    enabled: Annotated[
        bool, Meta(description="Whether records are managed.", extra_json_schema={"default": True})
    ] = True
    hosted_zone_id: Annotated[
        str | None,
        Meta(
            description="The hosted zone. Default: the public zone with the longest name that contains the domain.",
            extra_json_schema=admission(
                Rule(
                    f"self.matches('^(?:{HOSTED_ZONE_ID})$')",
                    "the id of a hosted zone has capital letters and digits only, such as Z1234567890ABC",
                ),
                maxLength=128,
            ),
        ),
    ] = None
    ttl: Annotated[
        int,
        Meta(
            description="The TTL of the records, in seconds.",
            extra_json_schema={"default": DEFAULT_TTL, "minimum": 60, "maximum": 172800},
        ),
    ] = DEFAULT_TTL
    record_type: Annotated[
        Literal["CNAME", "ALIAS"] | None,
        Meta(
            description="Default: ALIAS at the apex of the zone, where DNS allows no CNAME, otherwise CNAME."
        ),
    ] = None


class APIGatewayDomainSpec(CamelStruct, frozen=True):
    """The desired domain name."""

    __rules__ = (
        Rule(
            "(self.certificateStrategy == 'use-arn') == has(self.certificateArn)",
            "certificateArn is required for certificateStrategy use-arn, and for no other",
        ),
    )

    domain: Annotated[
        str,
        Meta(
            description="The domain name; the first label may be *.",
            extra_json_schema=admission(
                Rule(
                    f"self.matches('^(?:{DOMAIN_NAME})$')",
                    "not a domain name, which is two or more labels of letters, digits, - and _, such as api.example.com",
                ),
                Rule("self == oldSelf", "a domain name cannot be changed: create another object"),
                maxLength=LONGEST_DOMAIN,
            ),
        ),
    ]
    api_ref: Annotated[ApiRef, Meta(description="The API that the domain name serves.")]
    certificate_strategy: Annotated[
        Literal["discover", "create", "use-arn"],
        Meta(
            description="discover: an issued certificate of ACM that covers the domain. create: one is requested and "
            "validated by DNS. use-arn: certificateArn.",
            extra_json_schema={"default": "discover"},
        ),
    ] = "discover"
    certificate_arn: Annotated[
        str | None,
        Meta(
            description="The certificate, for use-arn: issued, and in the region of the API.",
            extra_json_schema=admission(
                Rule(
                    f"self.matches('^(?:{CERTIFICATE_ARN})$')",
                    "the ARN of a certificate has the form arn:aws:acm:REGION:111122223333:certificate/ID",
                ),
                maxLength=2048,
            ),
        ),
    ] = None
    stage: Annotated[
        str,
        Meta(
            description="The stage of the API.",
            extra_json_schema={"default": "$default", "pattern": "^[a-zA-Z0-9$_-]{1,128}$"},
        ),
    ] = "$default"
    api_mapping_key: Annotated[
        str,
        Meta(
            description="The path below which the API answers; empty for everything.",
            extra_json_schema=admission(pattern="^([^/ ]+(/[^/ ]+)*)?$", maxLength=300),
        ),
    ] = ""
    endpoint_type: Annotated[
        Literal["REGIONAL"],
        Meta(
            description="HTTP and WebSocket APIs have regional endpoints only.",
            extra_json_schema={"default": "REGIONAL"},
        ),
    ] = "REGIONAL"
    security_policy: Annotated[
        Literal["TLS_1_0", "TLS_1_2"],
        Meta(
            description="The oldest version of TLS that clients may use.",
            extra_json_schema={"default": "TLS_1_2"},
        ),
    ] = "TLS_1_2"
    dns_config: Annotated[
        DnsConfig, Meta(description="The DNS records of the domain.", extra_json_schema={"default": {}})
    ] = DnsConfig()
    deletion_policy: Annotated[
        Literal["Delete", "Retain"],
        Meta(
            description="Whether everything in AWS is deleted with the object, or stays.",
            extra_json_schema={"default": "Delete"},
        ),
    ] = "Delete"
    adopt_existing: Annotated[
        bool,
        Meta(
            description="Whether a domain name that exists already, and that nobody else manages, is taken over.",
            extra_json_schema={"default": False},
        ),
    ] = False


class ValidationRecord(CamelStruct, frozen=True):
    """A record that proves to ACM who controls the domain."""

    name: Annotated[str, Meta(description="The name of the record.")]
    type: Annotated[str, Meta(description="The type of the record.")]
    value: Annotated[str, Meta(description="The value of the record.")]


class OwnedMapping(CamelStruct, frozen=True):
    """The API mapping of this object."""

    api_id: Annotated[str, Meta(description="The id of the API.")]
    stage: Annotated[str, Meta(description="The stage of the API.")]
    key: Annotated[str, Meta(description="The path below the domain name; empty for all paths.")] = ""
    id: Annotated[str, Meta(description="Its id; empty if it is about to be created.")] = ""


class APIGatewayDomainStatus(ApiStatus, frozen=True):
    """What is in AWS."""

    phase: Annotated[str, Meta(description=f"How far it is: {', '.join(PHASES)}.")] = ""
    region: Annotated[str, Meta(description="The region of the domain name.")] = ""
    certificate_arn: Annotated[str, Meta(description="The certificate in use.")] = ""
    certificate_status: Annotated[str, Meta(description="Its status in ACM.")] = ""
    requested_certificate_arn: Annotated[
        str, Meta(description="The certificate that the operator has requested for this object.")
    ] = ""
    validation_records: Annotated[
        list[ValidationRecord],
        Meta(description="The records that ACM waits for.", extra_json_schema=ATOMIC_LIST),
    ] = []
    domain_name_endpoint: Annotated[str, Meta(description="The endpoint that the records lead to.")] = ""
    endpoint: Annotated[str, Meta(description="The same as domainNameEndpoint.")] = ""
    domain_name_configuration_status: Annotated[
        str, Meta(description="The status of the domain name in API Gateway.")
    ] = ""
    managed: Annotated[
        bool | None, Meta(description="Whether the domain name belongs to this object, or was there before.")
    ] = None
    api_mapping_id: Annotated[str, Meta(description="The id of the API mapping.")] = ""
    mapping: Annotated[OwnedMapping | None, Meta(description="The API mapping of this object.")] = None
    hosted_zone_id: Annotated[str, Meta(description="The hosted zone of the records.")] = ""
    dns_record_name: Annotated[str, Meta(description="The name of the records.")] = ""
    managed_records: Annotated[
        list[str],
        Meta(description="The records of this object, as type and name.", extra_json_schema=ATOMIC_LIST),
    ] = []
    dns_change_id: Annotated[
        str, Meta(description="The id of a Route 53 change that is not propagated yet.")
    ] = ""
    dns_changes: Annotated[
        list[DnsChange],
        Meta(description="All Route 53 changes that are not propagated yet.", extra_json_schema=ATOMIC_LIST),
    ] = []
    dns_target: Annotated[str, Meta(description="The target of the records.")] = ""
    inventory: Annotated[
        list[InventoryRecord],
        Meta(
            description="The DNS records that the operator has written, or is about to write.",
            extra_json_schema=ATOMIC_LIST,
        ),
    ] = []
    last_error: Annotated[LastError | None, LAST_ERROR] = None
    conditions: Conditions = []


def read_domain(obj: JsonObject) -> tuple[APIGatewayDomainSpec, APIGatewayDomainStatus]:
    """Decode an object, as `read_parts` does."""
    return read_parts(obj, APIGatewayDomainSpec("", ApiRef()), APIGatewayDomainStatus)


API_GATEWAY_DOMAIN = CustomKind(
    group=GROUP,
    version="v1alpha1",
    kind="APIGatewayDomain",
    plural="apigatewaydomains",
    description="A custom domain name of API Gateway, with its certificate, its mapping and its DNS records.",
    spec=APIGatewayDomainSpec,
    status=APIGatewayDomainStatus,
    columns=(
        Column("Domain", ".spec.domain"),
        Column("Ready", ".status.ready", "boolean"),
        Column("Phase", ".status.phase"),
        condition_column("Ready", "Reason", "reason"),
        Column("Endpoint", ".status.domainNameEndpoint", priority=1),
        condition_column("Paused", priority=1),
        AGE,
    ),
    short_names=("agd",),
    categories=("edge",),
)
