"""What the reasons of APIGatewayDomains and LambdaPermissions mean, beside those of all kinds."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.lifecycle.remedies import Remedy

_SOON: Final = timedelta(minutes=5)

REMEDIES: Final[tuple[Remedy, ...]] = (
    Remedy(
        "ReferenceNotFound",
        "an object of ACK that the spec refers to does not exist, or ACK has not made it in AWS",
        "create the object that the message names, or correct the reference; if ACK cannot make it, its conditions say why",
    ),
    Remedy(
        "ReferenceNotGranted",
        "the API is in another namespace, and no ReferenceGrant there allows the reference",
        "create a ReferenceGrant in the namespace of the API, from this kind and namespace to `API`; or use an API of the "
        "same namespace",
    ),
    Remedy(
        "FunctionNotFound",
        "the function, or the qualifier of it, does not exist in AWS",
        "create the function, or correct `spec.functionRef`; it is looked for every 30 seconds",
    ),
    Remedy(
        "CertificateNotFound",
        "no issued certificate of ACM in the region of the API covers the domain",
        "request one in ACM, set `certificateStrategy: create`, or name one with `use-arn`",
    ),
    Remedy(
        "InvalidCertificate",
        "the certificate does not cover the domain, is not issued, or is in another region",
        "name another one in `spec.certificateArn`, or set `certificateStrategy: create`",
    ),
    Remedy(
        "CertificateFailed",
        "ACM could not issue the certificate; the message has ACM's reason",
        "correct what ACM names, such as CAA records, and create the object again",
    ),
    Remedy(
        "PendingValidation",
        "ACM waits for the records that prove who controls the domain",
        "with `dnsConfig.enabled` wait for Route 53; without, create the records of `status.validationRecords`",
        waits_for="ACM",
        within=timedelta(hours=72),
    ),
    Remedy(
        "WaitingForCertificate",
        "the certificate is being requested",
        "wait",
        waits_for="ACM",
        within=_SOON,
    ),
    Remedy(
        "NotAllowed",
        "the spec names something that the limits of the administrators do not allow; the message has the flag",
        "use an allowed value, or have an administrator add this one",
    ),
    Remedy(
        "DomainConflict",
        "the domain name exists in API Gateway and is not this object's, or another object claims it",
        "set `spec.adoptExisting: true` to take over one that nobody manages; else remove the domain from one of the two",
    ),
    Remedy(
        "NameConflict",
        "a statement or an object of ACK of this name exists that this object does not own",
        "choose another `statementId` or name, or remove the other one",
    ),
    Remedy(
        "ACKTerminal",
        "ACK gave up on an object that stands for a part of this one; the message is ACK's",
        "correct what ACK names; `kubectl describe` of the object shows its conditions",
    ),
    Remedy(
        "WaitingForACK",
        "ACK has not made an object in AWS yet",
        "wait; if it lasts, check that the controller of ACK is running",
        waits_for="ACK",
        within=timedelta(minutes=10),
    ),
    Remedy(
        "DomainInUse",
        "the domain name has mappings of others, and is kept",
        "remove the mappings that the message names, or set `deletionPolicy: Retain`",
    ),
    Remedy(
        "StatementsLeft",
        "statements of the policy were kept, because others have changed them",
        "remove them by hand if nobody needs them",
    ),
    Remedy("Creating", "it is being created in API Gateway", "wait", waits_for="API Gateway", within=_SOON),
    Remedy("InProgress", "AWS is applying a change", "wait", waits_for="AWS", within=timedelta(minutes=15)),
    Remedy(
        "Deleting",
        "records, mapping and domain name, or the statements, are being removed",
        "wait; with `deletionPolicy: Retain` everything in AWS stays",
        waits_for="AWS",
        within=timedelta(minutes=10),
    ),
    Remedy("AsExpected", "nothing needs attention", "nothing", waits_for="nothing"),
)
