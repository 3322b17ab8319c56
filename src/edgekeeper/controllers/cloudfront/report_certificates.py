"""The condition CertificateReady."""

from __future__ import annotations

from typing import Final

from edgekeeper.cloud.aws.tenants import VALIDATED_BY_CLOUDFRONT
from edgekeeper.controllers.cloudfront.certificates import FAILED, ISSUED, is_suitable, uncovered_domains
from edgekeeper.controllers.cloudfront.desired import is_managed
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.conditions import Condition, Conditions

CERTIFICATE: Final = "CertificateReady"
_PENDING: Final = "PendingValidation"


def mark_certificate(conditions: Conditions, snapshot: Snapshot) -> None:
    """Mark CertificateReady: whether the managed certificate, if one is requested, is issued and in use."""
    conditions.mark(CERTIFICATE, *_certificate_facts(snapshot, conditions.get(CERTIFICATE)))


def _certificate_facts(snapshot: Snapshot, before: Condition | None) -> tuple[bool, str, str]:
    tenant, certificate = snapshot.tenant, snapshot.certificate
    if not is_managed(snapshot.spec):
        return True, "NotConfigured", "no managed certificate is requested"
    status = certificate.status if certificate else snapshot.status.managed_certificate_status
    if certificate is not None and not is_suitable(snapshot):
        return False, _PENDING, _successor_message(snapshot)
    if status == ISSUED and tenant and tenant.is_active:
        return True, "Validated", "the certificate is issued and all domains are active"
    if status == ISSUED:
        return False, "Attaching", "the certificate is issued and being attached"
    if status in FAILED:
        message = f"CloudFront reports the certificate as {status}: a new request is needed"
        return False, "CertificateFailed", message
    return False, _PENDING, _validation_message(snapshot, before)


def _validation_message(snapshot: Snapshot, before: Condition | None) -> str:
    certificate, wish = snapshot.certificate, snapshot.spec.managed_certificate_request
    if wish is None or wish.validation_token_host == VALIDATED_BY_CLOUDFRONT:
        return "waiting for validation: each domain needs a CNAME record that points to CloudFront"
    if certificate is not None and certificate.tokens:
        tokens = "; ".join(
            f"{token.domain}: redirect {token.redirect_from} -> {token.redirect_to}"
            for token in certificate.tokens
        )
        return f"waiting for the validation tokens to be served: {tokens}"
    if before is not None and before.reason == _PENDING:
        return before.message  # listings do not contain the tokens, but they have not changed
    return "waiting for CloudFront to provide the validation tokens"


def _successor_message(snapshot: Snapshot) -> str:
    """Why another certificate is requested."""
    missing = ", ".join(uncovered_domains(snapshot))
    why = f"does not cover {missing}" if missing else "is also for domains that were removed"
    return f"the certificate {why}: another one is requested"
