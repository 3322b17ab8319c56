"""The operations on certificates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from kubesim.aws.acm.certificate import ISSUED, PENDING, Certificate, validation_record
from kubesim.aws.acm.store import Certificates
from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError
from kubesim.aws.tagging import from_list

_ARN = re.compile(r"arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate/[\w-]+")
_TOKEN_LIFETIME = timedelta(hours=1)
_ALWAYS_LISTED = ("RSA_1024", "RSA_2048")
MOST_LISTED = 1000


def request(call: Call) -> Result:
    """A token that was used within the hour for the same names means the certificate of that time."""
    store, params = _store(call), call.params
    names = tuple(
        dict.fromkeys(
            name.lower() for name in (params["DomainName"], *params.get("SubjectAlternativeNames", ()))
        )
    )
    token = params.get("IdempotencyToken")
    for known in store.shelf.values():
        repeated = token is not None and known.idempotency_token == token and known.names == names
        if repeated and store.age(known) < _TOKEN_LIFETIME:
            return {"CertificateArn": known.arn}
    _check_quotas(store, names)
    options = params.get("Options") or {}
    certificate = store.request(
        names,
        params.get("ValidationMethod", "EMAIL"),
        idempotency_token=token,
        managed_by=params.get("ManagedBy"),
        key_algorithm=params.get("KeyAlgorithm", "RSA_2048"),
        transparency=options.get("CertificateTransparencyLoggingPreference", "ENABLED"),
        tags=from_list(call.world, params.get("Tags"), code="InvalidTagException"),
    )
    return {"CertificateArn": certificate.arn}


def describe(call: Call) -> Result:
    store = _store(call)
    store.settle()
    certificate = _certificate(store, call.params["CertificateArn"])
    return {"Certificate": _detail(store, certificate, store.usage().get(certificate.arn, []))}


def list_all(call: Call) -> Result:
    store, params = _store(call), call.params
    store.settle()
    found = list(_wanted((certificate for _, certificate in store.shelf.all_seen()), params))
    if "SortBy" in params:
        found.sort(key=lambda each: each.requested_at, reverse=params.get("SortOrder") != "ASCENDING")
    start = _position(params.get("NextToken"))
    size = params.get("MaxItems", MOST_LISTED)
    following = str(start + size) if len(found) > start + size else None
    usage = store.usage()
    return {
        "CertificateSummaryList": [
            _summary(store, each, in_use=each.arn in usage) for each in found[start : start + size]
        ],
        "NextToken": following,
    }


def delete(call: Call) -> Result:
    store = _store(call)
    certificate = _certificate(store, call.params["CertificateArn"])
    if certificate.arn in store.usage():
        raise AwsError(
            "ResourceInUseException", f"Certificate {certificate.arn} in account {store.account} is in use."
        )
    store.delete(certificate.arn)
    return {}


def add_tags(call: Call) -> Result:
    store = _store(call)
    certificate = _certificate(store, call.params["CertificateArn"])
    tags = from_list(call.world, call.params["Tags"], certificate.tags, code="TooManyTagsException")
    store.shelf.put(certificate.arn, replace(certificate, tags=tags))
    return {}


def remove_tags(call: Call) -> Result:
    store = _store(call)
    certificate = _certificate(store, call.params["CertificateArn"])
    gone = {(item["Key"], item.get("Value")) for item in call.params["Tags"]}
    tags = {
        key: value for key, value in certificate.tags.items() if gone.isdisjoint(((key, value), (key, None)))
    }
    store.shelf.put(certificate.arn, replace(certificate, tags=tags))
    return {}


def list_tags(call: Call) -> Result:
    certificate = _certificate(_store(call), call.params["CertificateArn"])
    return {"Tags": [{"Key": key, "Value": value} for key, value in certificate.tags.items()]}


def _store(call: Call) -> Certificates:
    return call.account.certificates(call.region)


def _certificate(store: Certificates, arn: str) -> Certificate:
    if not _ARN.fullmatch(arn):
        raise AwsError("InvalidArnException", f"arn: {arn} is not a valid ARN")
    found = store.shelf.seen(arn)
    if found is None:
        raise AwsError(
            "ResourceNotFoundException", f"Could not find certificate {arn} in account {store.account}."
        )
    return found


def _check_quotas(store: Certificates, names: tuple[str, ...]) -> None:
    quotas = store.world.quotas
    if len(names) > quotas.names_per_certificate:
        raise AwsError(
            "LimitExceededException",
            f"The number of domain names in a certificate may not exceed {quotas.names_per_certificate}.",
        )
    if len(store.shelf) >= quotas.certificates:
        raise AwsError(
            "LimitExceededException", "Error: you have reached your limit of certificates in this region."
        )


def _wanted(certificates: Iterable[Certificate], params: Mapping[str, Any]) -> Iterable[Certificate]:
    statuses, includes = params.get("CertificateStatuses"), params.get("Includes") or {}
    keys = includes.get("keyTypes") or _ALWAYS_LISTED
    return (
        each
        for each in certificates
        if (not statuses or each.status in statuses)
        and includes.get("managedBy") in (None, each.managed_by)
        and each.key_algorithm in keys
    )


def _position(token: str | None) -> int:
    if token is None:
        return 0
    if not token.isdigit():
        raise AwsError("ValidationException", "The pagination token is not valid.")
    return int(token)


def _shared(store: Certificates, certificate: Certificate, *, in_use: bool) -> dict[str, Any]:
    """What details and summaries have in common."""
    lifetime = store.world.timings.certificate_lifetime
    return {
        "CertificateArn": certificate.arn,
        "DomainName": certificate.names[0],
        "Status": certificate.status,
        "Type": "IMPORTED" if certificate.imported else "AMAZON_ISSUED",
        "KeyAlgorithm": certificate.key_algorithm,
        "CreatedAt": certificate.created,
        "IssuedAt": None if certificate.imported else certificate.issued,
        "ImportedAt": certificate.issued if certificate.imported else None,
        "NotBefore": certificate.issued,
        "NotAfter": certificate.issued + lifetime if certificate.issued else None,
        "RenewalEligibility": "ELIGIBLE" if in_use else "INELIGIBLE",
        "ManagedBy": certificate.managed_by,
    }


def _summary(store: Certificates, certificate: Certificate, *, in_use: bool) -> dict[str, Any]:
    return _shared(store, certificate, in_use=in_use) | {
        "SubjectAlternativeNameSummaries": list(certificate.names[:100]),
        "HasAdditionalSubjectAlternativeNames": len(certificate.names) > 100,
        "InUse": in_use,
    }


def _detail(store: Certificates, certificate: Certificate, users: list[str]) -> dict[str, Any]:
    return _shared(store, certificate, in_use=bool(users)) | {
        "SubjectAlternativeNames": list(certificate.names),
        "Subject": f"CN={certificate.names[0]}",
        "Issuer": "Amazon",
        "InUseBy": users,
        "FailureReason": certificate.failure_reason,
        "SignatureAlgorithm": "SHA256WITHRSA",
        "Options": {"CertificateTransparencyLoggingPreference": certificate.transparency},
        "DomainValidationOptions": None
        if certificate.imported
        else [_validation(store, certificate, name) for name in certificate.names],
    }


def _validation(store: Certificates, certificate: Certificate, name: str) -> dict[str, Any]:
    known = store.age(certificate) >= store.world.timings.validation_record
    record = validation_record(store.account, name)
    shown = {"Name": record.name, "Type": "CNAME", "Value": record.value}
    return {
        "DomainName": name,
        "ValidationDomain": name,
        "ValidationStatus": _validation_status(store, certificate, name),
        "ValidationMethod": certificate.method,
        "ResourceRecord": shown if certificate.method == "DNS" and known else None,
    }


def _validation_status(store: Certificates, certificate: Certificate, name: str) -> str:
    if certificate.status == ISSUED:
        return "SUCCESS"
    if certificate.status != PENDING:
        return "FAILED"
    return "SUCCESS" if store.validated(certificate, name) else "PENDING_VALIDATION"
