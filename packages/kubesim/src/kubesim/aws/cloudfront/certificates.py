"""Managed certificates: CloudFront asks ACM for one on behalf of a tenant, and proves control of its domains.

With `ValidationTokenHost=cloudfront` CloudFront serves the proof itself, so the domains must point to it before it
even accepts the request. With `self-hosted` somebody's web server must serve it.

A certificate is for the domains that the tenant has when it is requested. A domain that is added without a request is
accepted, but not served: it stays inactive until a certificate that covers it is issued and attached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubesim.aws.acm.certificate import ISSUED, PENDING, Certificate
from kubesim.aws.call import Call, Result
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.cloudfront.state import CloudFront
from kubesim.aws.errors import AwsError

NOT_POINTING = (
    "Could not verify Domain Name ownership. It may not be pointing to a valid CloudFront resource."
)


def request_managed(state: CloudFront, tenant: Tenant, request: Mapping[str, str]) -> Tenant:
    """A tenant with the certificate that it asks for. One that is under way for the same domains is kept."""
    host = request["ValidationTokenHost"]
    primary = request.get("PrimaryDomainName", tenant.domains[0]).lower()
    if primary not in tenant.domains:
        raise AwsError("InvalidArgument", "The primary domain name must be one of the tenant's domains.")
    if host == "cloudfront" and not all(_points_here(state, domain) for domain in tenant.domains):
        raise AwsError("InvalidArgument", NOT_POINTING)
    names = tuple(dict.fromkeys((primary, *tenant.domains)))
    current = _current(state, tenant)
    if current and current.status == PENDING and current.names == names and current.validation_host == host:
        return tenant
    if len(state.certificates.shelf) >= state.world.quotas.certificates:
        raise AwsError("EntityLimitExceeded", "You have reached the limit of certificates in this account.")
    transparency = request.get("CertificateTransparencyLoggingPreference", "enabled").upper()
    certificate = state.certificates.request(
        names, "HTTP", managed_by="CLOUDFRONT", validation_host=host, transparency=transparency
    )
    return replace(tenant, managed_certificate=certificate.arn)


def details(call: Call) -> Result:
    state = call.account.cloudfront
    state.certificates.settle()
    tenant = state.tenant_seen(call.params["Identifier"])
    certificate = _current(state, tenant)
    if certificate is None:
        raise AwsError("EntityNotFound", "The distribution tenant has no managed certificate.")
    is_shown = certificate.status != ISSUED or state.world.behaviour.tokens_of_issued
    return {
        "ManagedCertificateDetails": {
            "CertificateArn": certificate.arn,
            "CertificateStatus": certificate.status.lower().replace("_", "-"),
            "ValidationTokenHost": certificate.validation_host,
            "ValidationTokenDetails": [_token(certificate, name) for name in certificate.names if is_shown],
        }
    }


def _current(state: CloudFront, tenant: Tenant) -> Certificate | None:
    return state.certificates.shelf.get(tenant.managed_certificate) if tenant.managed_certificate else None


def _points_here(state: CloudFront, domain: str) -> bool:
    endpoints = {group.endpoint + "." for group in state.groups.values()}
    endpoints |= {each.endpoint + "." for each in state.distributions.values()}
    return not endpoints.isdisjoint(state.world.dns.chain(domain))


def _token(certificate: Certificate, domain: str) -> dict[str, str]:
    token = certificate.arn.rpartition("/")[2].replace("-", "")
    path = f"/.well-known/pki-validation/{token}.txt"
    return {
        "Domain": domain,
        "RedirectFrom": f"{domain}{path}",
        "RedirectTo": f"validation.us-east-1.acm-validations.aws/{certificate.account}{path}",
    }
