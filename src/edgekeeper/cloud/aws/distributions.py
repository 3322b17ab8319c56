"""The distribution that tenants share, and the connection group that their domains point to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.core.json import JsonObject, dig, dig_list

TENANT_ONLY: Final = "tenant-only"


@dataclass(frozen=True, slots=True)
class ParameterDefinition:
    """A parameter that a distribution asks of its tenants."""

    name: str
    required: bool
    default: str = ""

    @property
    def must_be_given(self) -> bool:
        return self.required and not self.default


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a tenant must know of its distribution."""

    id: str
    arn: str
    etag: str
    status: str
    domain_name: str
    connection_mode: str
    certificate_arn: str
    """Empty where the distribution has none of its own."""
    uses_default_certificate: bool
    parameters: tuple[ParameterDefinition, ...]

    @property
    def covers_tenants(self) -> bool:
        """Does it have a certificate that tenants can use?"""
        return bool(self.certificate_arn) and not self.uses_default_certificate


@dataclass(frozen=True, slots=True)
class ConnectionGroup:
    """Where the DNS of tenants points to."""

    id: str
    arn: str
    name: str
    routing_endpoint: str
    etag: str
    enabled: bool
    is_default: bool
    status: str


def parse_distribution(answer: JsonObject) -> Distribution:
    shape = answer["Distribution"]
    config = shape["DistributionConfig"]
    certificate = config.get("ViewerCertificate") or {}
    definitions = dig_list(config, "TenantConfig", "ParameterDefinitions")
    return Distribution(
        id=shape["Id"],
        arn=shape["ARN"],
        etag=answer["ETag"],
        status=shape["Status"],
        domain_name=shape["DomainName"],
        connection_mode=config.get("ConnectionMode") or "",
        certificate_arn=certificate.get("ACMCertificateArn") or "",
        uses_default_certificate=bool(certificate.get("CloudFrontDefaultCertificate")),
        parameters=tuple(map(_parse_definition, definitions)),
    )


def _parse_definition(shape: JsonObject) -> ParameterDefinition:
    schema = dig(shape, "Definition", "StringSchema") or {}
    return ParameterDefinition(shape["Name"], bool(schema.get("Required")), schema.get("DefaultValue") or "")


def parse_connection_group(shape: Mapping[str, Any], etag: str = "") -> ConnectionGroup:
    """A `ConnectionGroup`, whose ETag comes separately, or a `ConnectionGroupSummary`."""
    return ConnectionGroup(
        id=shape["Id"],
        arn=shape["Arn"],
        name=shape["Name"],
        routing_endpoint=shape["RoutingEndpoint"],
        etag=etag or shape["ETag"],
        enabled=shape.get("Enabled", True),
        is_default=bool(shape.get("IsDefault")),
        status=shape.get("Status") or "",
    )
