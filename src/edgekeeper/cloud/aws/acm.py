"""ACM: certificates found, described and requested.

CloudFront takes certificates of us-east-1 only, API Gateway those of its own region: the caller says which. A request
carries a token made of who asks and for what, so that asking again gives the same certificate. The records that prove
the ownership of its domains appear a few seconds later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from edgekeeper.cloud.aws import operations as op
from edgekeeper.cloud.aws.access import AwsCall, AwsCaller
from edgekeeper.cloud.aws.coverage import uncovered
from edgekeeper.cloud.aws.dns.records import Record, normalise_name
from edgekeeper.core.json import JsonObject

ISSUED: Final = "ISSUED"
PENDING_VALIDATION: Final = "PENDING_VALIDATION"
NEVER_ISSUED: Final = frozenset({PENDING_VALIDATION, "VALIDATION_TIMED_OUT", "FAILED"})
PAGE_SIZE: Final = 500
"""As many as fit into the largest answer that is read (`http`), with a hundred of the longest names each: 29 KB. ACM would
list 1,000."""
VALIDATION_TTL: Final = 300
_TOKEN_LENGTH: Final = 32


@dataclass(frozen=True, slots=True)
class CertificateSummary:
    """A certificate as it is listed."""

    arn: str
    domain: str
    names: tuple[str, ...]
    """All names, the first one included; only the first hundred where `has_more_names`."""
    has_more_names: bool
    status: str
    managed_by: str
    expires: datetime | None

    @property
    def issued(self) -> bool:
        return self.status == ISSUED

    @property
    def pending(self) -> bool:
        return self.status == PENDING_VALIDATION

    def covers(self, domains: Iterable[str]) -> bool:
        return not uncovered(domains, self.names)


@dataclass(frozen=True, slots=True)
class DomainValidation:
    """How far the proof of one domain has come, and the record that gives it."""

    domain: str
    status: str
    record: Record | None
    """None in the first seconds after the request, and where the proof is not by DNS."""


@dataclass(frozen=True, slots=True)
class Certificate(CertificateSummary):
    """A certificate as it is described."""

    validations: tuple[DomainValidation, ...]
    failure_reason: str
    in_use_by: tuple[str, ...]
    is_logged: bool = True
    """Is it recorded in certificate transparency logs?"""

    @property
    def validation_records(self) -> tuple[Record, ...]:
        """The records that ACM waits for, each once: a domain and its wildcard share theirs."""
        records = {item.record.key: item.record for item in self.validations if item.record is not None}
        return tuple(records.values())

    @property
    def summary(self) -> CertificateSummary:
        """The same certificate as a listing would show it."""
        return CertificateSummary(
            self.arn,
            self.domain,
            self.names,
            self.has_more_names,
            self.status,
            self.managed_by,
            self.expires,
        )


class Acm:
    """The certificates of one region."""

    def __init__(self, caller: AwsCaller) -> None:
        self._aws = caller

    async def find(self, arn: str) -> Certificate | None:
        ask = AwsCall(op.DESCRIBE_CERTIFICATE, arn, {"CertificateArn": arn}, _parse_certificate)
        return await self._aws.find(ask, "ResourceNotFoundException")

    async def certificates(
        self, *, statuses: Sequence[str] = (), managed_by: str = ""
    ) -> AsyncIterator[dict[str, CertificateSummary]]:
        """Certificates by ARN, page by page, newest first."""
        request: JsonObject = {"MaxItems": PAGE_SIZE, "SortBy": "CREATED_AT", "SortOrder": "DESCENDING"}
        # Without a filter ACM lists RSA 2048 only.
        request["Includes"] = {"keyTypes": list(_KEY_TYPES)}
        if statuses:
            request["CertificateStatuses"] = list(statuses)
        if managed_by:
            request["Includes"]["managedBy"] = managed_by
        ask = AwsCall(op.LIST_CERTIFICATES, "", request, _parse_certificates)
        async for page in self._aws.pages(ask, {"NextToken": "NextToken"}):
            yield page

    async def request(self, domains: Sequence[str], *, owner: str, tags: Mapping[str, str]) -> str:
        """Request a certificate, validated by DNS, and return its ARN. `owner` is who asks, such as a uid."""
        names = [normalise_name(domain) for domain in domains]
        request: JsonObject = {
            "DomainName": names[0],
            "ValidationMethod": "DNS",
            "IdempotencyToken": idempotency_token(owner, names),
        }
        if others := names[1:]:
            request["SubjectAlternativeNames"] = others
        if tags:
            request["Tags"] = [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
        return await self._aws.call(
            AwsCall(op.REQUEST_CERTIFICATE, names[0], request, lambda answer: str(answer["CertificateArn"]))
        )

    async def tags(self, arn: str) -> dict[str, str] | None:
        """The tags of a certificate; None if it does not exist."""
        ask = AwsCall(op.LIST_CERTIFICATE_TAGS, arn, {"CertificateArn": arn}, _parse_tags)
        return await self._aws.find(ask, "ResourceNotFoundException")

    async def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Set tags of a certificate. Its other tags stay."""
        request = {"CertificateArn": arn, "Tags": [{"Key": key, "Value": tags[key]} for key in sorted(tags)]}
        await self._aws.call(AwsCall(op.TAG_CERTIFICATE, arn, request, lambda _: None))

    async def delete(self, arn: str) -> bool:
        """Delete a certificate that is not in use. Return False if it did not exist."""
        ask = AwsCall(op.DELETE_CERTIFICATE, arn, {"CertificateArn": arn}, lambda _: True)
        return await self._aws.find(ask, "ResourceNotFoundException") is not None


_KEY_TYPES: Final = (
    *("RSA_1024", "RSA_2048", "RSA_3072", "RSA_4096"),
    *("EC_prime256v1", "EC_secp384r1", "EC_secp521r1"),
)


def idempotency_token(owner: str, names: Sequence[str]) -> str:
    """The same token for the same names, in any order, asked for by the same owner."""
    return sha256("\n".join((owner, *sorted(names))).encode()).hexdigest()[:_TOKEN_LENGTH]


def best_certificate(
    certificates: Iterable[CertificateSummary], domains: Sequence[str]
) -> CertificateSummary | None:
    """The issued certificate that covers all domains; of several the one that lasts longest, then by ARN."""
    fitting = [
        certificate for certificate in certificates if certificate.issued and certificate.covers(domains)
    ]
    return max(fitting, key=lambda certificate: (_lasting(certificate), certificate.arn), default=None)


def _lasting(certificate: CertificateSummary) -> float:
    return certificate.expires.timestamp() if certificate.expires is not None else 0.0


def _parse_certificates(answer: JsonObject) -> dict[str, CertificateSummary]:
    return {shape["CertificateArn"]: _parse_summary(shape) for shape in answer["CertificateSummaryList"]}


def _parse_tags(answer: JsonObject) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value") or "" for tag in answer["Tags"]}


def _parse_summary(shape: JsonObject) -> CertificateSummary:
    names = shape.get("SubjectAlternativeNameSummaries") or ()
    return CertificateSummary(
        arn=shape["CertificateArn"],
        domain=shape.get("DomainName") or "",
        names=_all_names(shape.get("DomainName") or "", names),
        has_more_names=bool(shape.get("HasAdditionalSubjectAlternativeNames")),
        status=shape.get("Status") or "",
        managed_by=shape.get("ManagedBy") or "",
        expires=shape.get("NotAfter"),
    )


def _parse_certificate(answer: JsonObject) -> Certificate:
    shape = answer["Certificate"]
    domain = shape.get("DomainName") or ""
    return Certificate(
        arn=shape["CertificateArn"],
        domain=domain,
        names=_all_names(domain, shape.get("SubjectAlternativeNames") or ()),
        has_more_names=False,
        status=shape["Status"],
        managed_by=shape.get("ManagedBy") or "",
        expires=shape.get("NotAfter"),
        validations=tuple(map(_parse_validation, shape.get("DomainValidationOptions") or ())),
        failure_reason=shape.get("FailureReason") or "",
        in_use_by=tuple(sorted(shape.get("InUseBy") or ())),
        is_logged=(shape.get("Options") or {}).get("CertificateTransparencyLoggingPreference") != "DISABLED",
    )


def _all_names(domain: str, others: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({normalise_name(name) for name in (domain, *others) if name}))


def _parse_validation(shape: JsonObject) -> DomainValidation:
    record = shape.get("ResourceRecord")
    return DomainValidation(
        domain=normalise_name(shape["DomainName"]),
        status=shape.get("ValidationStatus") or "",
        record=Record(normalise_name(record["Name"]), record["Type"], VALIDATION_TTL, (record["Value"],))
        if record
        else None,
    )
