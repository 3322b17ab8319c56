"""What the reasons of DistributionTenants mean, beside those of all kinds."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.lifecycle.remedies import Remedy

_DEPLOYMENT: Final = timedelta(minutes=15)

REMEDIES: Final[tuple[Remedy, ...]] = (
    Remedy(
        "NameConflict",
        "a tenant of this name exists that this object does not own, or another object claims the name",
        'choose another name; adopt a tenant that nobody manages with `edgekeeper.io/adopt: "true"`; or delete the other '
        "object",
    ),
    Remedy(
        "DomainConflict",
        "a domain is served by another tenant or distribution, or claimed by another object; the message names it",
        "remove the domain from one of the two; the other then continues by itself",
    ),
    Remedy(
        "CertificateSANMismatch",
        "the certificate does not cover a domain",
        "set another certificate, or request one with `spec.managedCertificateRequest`",
    ),
    Remedy(
        "EndpointUnknown",
        "the account has no connection group yet, so that records have nowhere to point to",
        "wait for the first tenant; if it lasts, correct `spec.connectionGroupId`",
        waits_for="CloudFront",
        within=_DEPLOYMENT,
    ),
    Remedy(
        "RecordsPending",
        "records are written before the tenant is changed",
        "wait",
        waits_for="Route 53",
        within=timedelta(minutes=5),
    ),
    Remedy(
        "Creating",
        "the tenant is being created; the message has the current step",
        "wait",
        waits_for="CloudFront",
        within=_DEPLOYMENT,
    ),
    Remedy(
        "Deploying",
        "CloudFront is deploying the tenant",
        "wait; a deployment takes some minutes",
        waits_for="CloudFront",
        within=_DEPLOYMENT,
    ),
    Remedy(
        "Disabling",
        "the tenant is being disabled before it is deleted",
        "wait; a deployment takes some minutes",
        waits_for="CloudFront",
        within=_DEPLOYMENT,
    ),
    Remedy(
        "Deleting",
        "records and tenant are being removed; the message has the current step",
        "wait; to keep the tenant, annotate the object with `edgekeeper.io/deletion-policy: Orphan`",
        waits_for="CloudFront",
        within=_DEPLOYMENT,
    ),
    Remedy(
        "ExternalDeletion",
        "the tenant was deleted outside the operator, and the drift policy does not create it again",
        "delete the object, or set `edgekeeper.io/drift-policy: enforce`",
    ),
    Remedy(
        "PendingValidation",
        "the certificate is not validated yet",
        "with `validationTokenHost: cloudfront` point each domain to CloudFront; with `self-hosted` serve the tokens that "
        "the message has",
    ),
    Remedy(
        "Attaching",
        "the certificate is issued, and CloudFront is activating the domains",
        "wait",
        waits_for="CloudFront",
        within=_DEPLOYMENT,
    ),
    Remedy(
        "CertificateFailed",
        "CloudFront could not get the certificate, for example because the domains were not validated in time",
        "request another one: change `spec.managedCertificateRequest` or the domains",
    ),
)
