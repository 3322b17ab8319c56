"""What the reasons of conditions, annotations and events mean, and what to do about them.

    Remedy("NameConflict", "another object has the name", "choose another name")

Each reason that the code can write has an entry: those of one kind beside the kind (`KindModule.remedies`), those of all
kinds here. `edgekeeper explain` shows them, docs/troubleshooting.md lists them (tools/troubleshooting.py), and a test
compares them with the sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.core.errors import Cause
from edgekeeper.core.outages import CAUSE_TEXTS, CLOUD_UNAVAILABLE


@dataclass(frozen=True, slots=True)
class Remedy:
    """The meaning of one reason."""

    reason: str
    cause: str
    action: str
    """What to do, in the imperative. Where nothing is to be done, what to look at if it lasts."""
    waits_for: str = ""
    """What ends it without anybody's doing; empty where a person must act."""
    within: timedelta | None = None
    """How long that takes at most, as far as it is known."""
    message: str = ""
    """The entry is about messages that contain this text; empty for all others."""


class Remedies:
    """Finds the entry of a reason. Entries of a kind take precedence over those of all kinds."""

    def __init__(self, own: Iterable[Remedy]) -> None:
        self._entries = (*own, *COMMON)

    def find(self, reason: str, message: str = "") -> Remedy | None:
        """The entry whose text the message contains, else the general one; None if there is neither."""
        entries = [entry for entry in self._entries if entry.reason == reason]
        special = (entry for entry in entries if entry.message and entry.message in message)
        general = (entry for entry in entries if not entry.message)
        return next(special, None) or next(general, None)


_MINUTES: Final = timedelta(minutes=1)
_RETRY: Final = "the next attempt"

_OUTAGES: Final = (
    Remedy(
        CLOUD_UNAVAILABLE,
        "connections to the cloud fail, time out or return server errors",
        "check the network of the operator's pod (egress rules, proxy, DNS, VPC endpoints) and the status page of the "
        "cloud; `edgekeeper doctor` tries each endpoint",
        waits_for="the cloud",
        message=CAUSE_TEXTS[Cause.UNREACHABLE],
    ),
    Remedy(
        CLOUD_UNAVAILABLE,
        "the cloud throttles calls of this account or token, for more than a minute",
        "find out who else uses the rate limits of the account; lower the budgets (`--budget`), or have the limits raised",
        waits_for="the cloud",
        message=CAUSE_TEXTS[Cause.THROTTLED],
    ),
    Remedy(
        CLOUD_UNAVAILABLE,
        "no credentials were found, they have expired, the clock is wrong, or the role of the service account cannot be "
        "assumed",
        "check the role annotation of the ServiceAccount and its trust policy, or the Secret or profile with the keys, and "
        "the clock of the node; `edgekeeper doctor` says which",
        message=CAUSE_TEXTS[Cause.CREDENTIALS],
    ),
    Remedy(
        CLOUD_UNAVAILABLE,
        "the first listing since the start of the operator is not complete",
        "wait; if it lasts, the rest of the message has the cause",
        waits_for="the first listing",
        within=5 * _MINUTES,
        message=CAUSE_TEXTS[Cause.UNLISTED],
    ),
    Remedy(
        CLOUD_UNAVAILABLE,
        "the API server does not list all objects of the kind, for example those of a namespace that was added",
        "check the API server and the log of the operator, which names the namespace",
        waits_for="the API server",
        message=CAUSE_TEXTS[Cause.OBJECTS_UNLISTED],
    ),
    Remedy(
        CLOUD_UNAVAILABLE,
        "the cloud has not been usable for a minute; nothing is wrong with the object",
        "run `edgekeeper doctor`; conditions recover by themselves when the cloud does",
        waits_for="the cloud",
    ),
)

COMMON: Final[tuple[Remedy, ...]] = (
    *_OUTAGES,
    # Refused by the operator
    Remedy(
        "InvalidAnnotation",
        "an annotation has an unknown key or value; nothing is created, changed or deleted until it is corrected",
        "use one of the keys or values that the message names",
    ),
    Remedy(
        "ValidationFailed",
        "the spec is not valid, or not allowed by the limits of the administrators; the message lists every field",
        "correct the fields; for `--allowed-…` and `--hostname-policy` ask the administrators of the operator",
    ),
    Remedy(
        "InvalidObject",
        "the API server refuses what the operator writes: another version of the CustomResourceDefinition, or a policy of "
        "the cluster",
        "install the definitions of this version (`edgekeeper crds | kubectl apply -f -`), or correct the policy that the "
        "message names",
    ),
    Remedy(
        "FieldManagerConflict",
        "another field manager owns a field that the operator must write",
        "let the manager that the message names give the field up",
    ),
    Remedy(
        "ReferenceNotGranted",
        "the object refers to another namespace, and no ReferenceGrant there allows it",
        "create a ReferenceGrant in the namespace that the message names, or refer to an object of the same namespace",
    ),
    Remedy(
        "NameConflict",
        "something of this name exists that this object does not own, or another object claims the name",
        'choose another name; adopt what nobody manages with the annotation `edgekeeper.io/adopt: "true"`; or delete the '
        "other object; if its mark names a cluster that is lost, take it over with `--adopt-from-cluster`",
    ),
    Remedy(
        "DomainConflict",
        "a hostname is served by something else, or claimed by another object, which the message names",
        "remove the hostname from one of the two; the other then continues by itself",
    ),
    Remedy(
        "Paused",
        "the annotation `edgekeeper.io/paused` stops reconciliation",
        "remove the annotation",
    ),
    # Refused by AWS
    Remedy(
        "AccessDenied",
        "IAM denies the operator the call that the message names",
        "allow the action in the policy of the operator's role, or of the role that the object names",
    ),
    Remedy(
        "InvalidSpec",
        "the cloud rejects the spec; the message is the cloud's",
        "correct the field that the message names; something that the spec refers to may not exist",
    ),
    Remedy(
        "AWSError",
        "AWS returned an error that the operator does not know",
        "see the message, which is AWS's, and report the error code",
    ),
    Remedy(
        "QuotaExceeded",
        "a quota of the account is exhausted",
        "have the quota raised, or delete something; it is tried again every 30 minutes",
        waits_for="a free quota",
        within=30 * _MINUTES,
    ),
    Remedy(
        "PolicyLengthExceeded",
        "the resource policy of the function has no room for another statement",
        "remove statements of the policy, or grant several sources with one wildcard",
    ),
    Remedy(
        "DomainValidationPending",
        "CloudFront cannot see yet that the domain points to it",
        "with `spec.dns`, wait; without, point the domain to CloudFront",
        waits_for="DNS",
        within=60 * _MINUTES,
    ),
    Remedy(
        "CredentialsRefused",
        "the cloud does not accept the credentials of the operator",
        "check the role of the ServiceAccount, the keys and the clock of the node; `edgekeeper doctor` says which",
    ),
    Remedy(
        "NotFound",
        "what the call is about does not exist in the cloud",
        "wait for the next attempt; if it lasts, correct the id in the spec",
        waits_for=_RETRY,
        within=5 * _MINUTES,
    ),
    Remedy(
        "NotDisabled",
        "the tenant is still being disabled, and cannot be deleted before",
        "wait for the deployment",
        waits_for="CloudFront",
        within=15 * _MINUTES,
    ),
    Remedy(
        "InUse",
        "the certificate is still in use",
        "wait; if it lasts, something else uses it: detach it there",
        waits_for="ACM",
        within=60 * _MINUTES,
    ),
    Remedy(
        "Conflict",
        "what is to be changed was changed by others at the same time",
        "wait for the next attempt",
        waits_for=_RETRY,
        within=_MINUTES,
    ),
    Remedy(
        "Throttled",
        "the server or cloud refuses more calls for now",
        "wait; if it lasts, find out who else uses the limits",
        waits_for=_RETRY,
        within=_MINUTES,
    ),
    # DNS
    Remedy(
        "DNSError",
        "Route 53 rejects the records, the hosted zone does not exist, or the role for it cannot be assumed",
        "correct the zone and role of the spec; allow the operator to assume the role, and the role to write the zone",
    ),
    Remedy(
        "DNSConflict",
        "another record exists where this object's should be",
        'remove it, or adopt it with `edgekeeper.io/adopt: "true"` if it equals the wanted record',
    ),
    Remedy(
        "DNSRecordCreating",
        "records are being written",
        "wait",
        waits_for="Route 53",
        within=5 * _MINUTES,
    ),
    Remedy(
        "DNSPropagating",
        "a change has not reached all name servers of Route 53 yet",
        "wait",
        waits_for="Route 53",
        within=5 * _MINUTES,
    ),
    Remedy(
        "RecordsLeft",
        "records were kept: they were changed by others, were there before, or are used by something else",
        "remove them by hand if nobody needs them",
    ),
    # Life cycle
    Remedy(
        "DriftDetected",
        "what is in the cloud was changed outside the operator",
        "under the policy `enforce` wait for the correction; under `report` and `suspend` undo the change, or change the "
        "spec",
        waits_for="the correction",
        within=5 * _MINUTES,
    ),
    Remedy(
        "UpdatePending",
        "a change is being applied",
        "wait",
        waits_for="the cloud",
        within=15 * _MINUTES,
    ),
    Remedy(
        "Pending",
        "the operator has not reported on this version of the object yet",
        "check that an operator runs and watches the namespace: `edgekeeper doctor`",
        waits_for="the operator",
        within=_MINUTES,
    ),
    Remedy(
        "Terminating",
        "the object is being deleted",
        "wait; if it lasts, look at its conditions, and at finalizers of others",
        waits_for="the operator",
        within=15 * _MINUTES,
    ),
    Remedy(
        "PredecessorActive",
        "the operator that managed these objects before is still running; nothing is written until it stops",
        "scale its Deployment to zero",
    ),
    Remedy(
        "ObjectsNotListed",
        "the operator has not listed all objects that may want the same yet",
        "wait; if it lasts, check the API server and the rights of the operator",
        waits_for="the first listing",
        within=5 * _MINUTES,
    ),
    Remedy(
        "CleanupAbandoned",
        "a deletion failed for longer than `--cleanup-timeout`, and the object was released",
        "remove what the message lists by hand",
    ),
    Remedy(
        "Orphaned",
        "the object was deleted, and what the message lists was kept",
        "nothing, if the object had `edgekeeper.io/deletion-policy: Orphan`; else remove it by hand",
    ),
    # The operator itself
    Remedy(
        "ProviderUnavailable",
        "too many calls to the cloud failed, and calls are suspended for a while",
        "run `edgekeeper doctor`",
        waits_for="the cloud",
        within=5 * _MINUTES,
    ),
    Remedy(
        "Unreachable",
        "the cloud does not answer",
        "check the network of the operator's pod: `edgekeeper doctor`",
        waits_for="the cloud",
    ),
    Remedy(
        "BudgetExhausted",
        "calls wait for the rate limit of the operator",
        "wait; if it lasts, raise the budget of the lane (`--budget`), within what the cloud allows",
        waits_for="the rate limit",
        within=5 * _MINUTES,
    ),
    Remedy(
        "WriterStopped",
        "the operator was stopped or lost its leadership during a write",
        "wait for the next attempt",
        waits_for=_RETRY,
        within=_MINUTES,
    ),
    Remedy(
        "DeadlineExceeded",
        "a pass took longer than it may",
        "wait for the next attempt; if it lasts, look for slow calls in the metrics of the operator",
        waits_for=_RETRY,
        within=5 * _MINUTES,
    ),
    Remedy(
        "InternalError",
        "a bug of the operator; its log has the traceback",
        "report it with the traceback; the object is tried again",
        waits_for=_RETRY,
    ),
    Remedy(
        "Error",
        "an attempt failed; the message has the cause",
        "wait for the next attempt; if it lasts, act on the message",
        waits_for=_RETRY,
    ),
)
"""Reasons that objects of all kinds may have. Those of DNS are about Route 53."""
