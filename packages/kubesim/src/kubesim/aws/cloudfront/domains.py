"""The operations around domains: who has one, moving it, and whether DNS sends it here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubesim.aws.acm.certificate import ISSUED, covers
from kubesim.aws.call import Call, Result
from kubesim.aws.cloudfront.resources import Distribution, Tenant
from kubesim.aws.cloudfront.state import DISTRIBUTION, CloudFront
from kubesim.aws.errors import AwsError
from kubesim.aws.world import DomainOwner

_SHOWN = 6
"""How much of a foreign resource's id is shown."""


def list_conflicts(call: Call) -> Result:
    """Who else has a domain. Only somebody who proves control of it, by a certificate of his resource, is told."""
    state, params = call.account.cloudfront, call.params
    domain = params["Domain"].lower()
    resource = _resource(state, params["DomainControlValidationResource"])
    if not _certified(state, resource, domain):
        raise AwsError("InvalidArgument", f"The resource has no certificate that covers {domain}.")
    conflicts = [
        _conflict(state, taken, owner)
        for taken, owner in sorted(state.world.edge_domains.items())
        if owner.id != resource.id and _overlap(domain, taken)
    ]
    size = min(params.get("MaxItems") or state.world.behaviour.page_size, state.world.behaviour.page_size)
    marker = params.get("Marker") or ""
    rest = [conflict for conflict in conflicts if conflict["Domain"] > marker]
    following = rest[size - 1]["Domain"] if len(rest) > size else None
    return {"DomainConflicts": rest[:size], "NextMarker": following}


def update_association(call: Call) -> Result:
    """Move a domain from the resource that has it to another one."""
    state, params = call.account.cloudfront, call.params
    domain = params["Domain"].lower()
    target = _resource(state, params["TargetResource"])
    if "IfMatch" in params and isinstance(target, Tenant):
        state.match(target, params["IfMatch"])
    source = state.world.edge_domains.get(domain)
    if source is None:
        raise AwsError("EntityNotFound", f"The domain {domain} is not associated with any resource.")
    if not _certified(state, target, domain):
        raise AwsError("InvalidArgument", f"The target has no certificate that covers {domain}.")
    if source.id != target.id:
        _check_movable(state, domain, source, target)
        state.peers(source.account).give_up(domain)
        target = _receive(state, target, domain)
    return {"Domain": domain, "ResourceId": target.id, "ETag": target.etag}


def verify_dns(call: Call) -> Result:
    """Whether the domains of a tenant lead to its connection group."""
    state, params = call.account.cloudfront, call.params
    tenant = state.tenant_seen(params["Identifier"])
    wanted = params.get("Domain", "").lower()
    if wanted and wanted not in tenant.domains:
        raise AwsError("InvalidArgument", f"{wanted} is not a domain of the distribution tenant.")
    domains = (wanted,) if wanted else tenant.domains
    endpoint = state.groups[tenant.group].endpoint
    return {"DnsConfigurationList": [_dns_status(state, domain, endpoint) for domain in domains]}


def _dns_status(state: CloudFront, domain: str, endpoint: str) -> dict[str, str | None]:
    chain = state.world.dns.chain(domain)
    if endpoint + "." in chain:
        return {"Domain": domain, "Status": "valid-configuration", "Reason": None}
    if not chain:
        return {"Domain": domain, "Status": "unknown-configuration", "Reason": "No DNS record was found."}
    reason = f"The domain points to {chain[-1].rstrip('.')} instead of {endpoint}."
    return {"Domain": domain, "Status": "invalid-configuration", "Reason": reason}


def _resource(state: CloudFront, named: Mapping[str, Any]) -> Tenant | Distribution:
    if named.get("DistributionTenantId"):
        return state.tenant(named["DistributionTenantId"])
    if named.get("DistributionId"):
        return state.distribution(named["DistributionId"])
    raise AwsError("InvalidArgument", "One of DistributionId and DistributionTenantId is required.")


def _certified(state: CloudFront, resource: Tenant | Distribution, domain: str) -> bool:
    if isinstance(resource, Tenant):
        return any(certificate.covers(domain) for certificate in state.covering(resource))
    own = state.certificates.shelf.get(resource.certificate or "")
    return own is not None and own.status == ISSUED and own.covers(domain)


def _overlap(wanted: str, taken: str) -> bool:
    return covers(taken, wanted) or covers(wanted, taken)


def _conflict(state: CloudFront, domain: str, owner: DomainOwner) -> dict[str, str]:
    own = owner.account == state.account
    return {
        "Domain": domain,
        "ResourceType": owner.kind,
        "ResourceId": owner.id if own else _hidden(owner.id),
        "AccountId": owner.account if own else _hidden(owner.account),
    }


def _hidden(text: str) -> str:
    return "*" * (len(text) - _SHOWN) + text[-_SHOWN:]


def _check_movable(
    state: CloudFront, domain: str, source: DomainOwner, target: Tenant | Distribution
) -> None:
    """The source must be off, and somebody else's domain moves only when DNS says that it should."""
    if state.peers(source.account).is_enabled(source):
        raise AwsError(
            "IllegalUpdate", "The resource that the domain is associated with must be disabled first."
        )
    endpoint = target.endpoint if isinstance(target, Distribution) else state.groups[target.group].endpoint
    if source.account != state.account and endpoint not in state.world.dns.texts(f"_{domain}"):
        raise AwsError(
            "IllegalUpdate",
            f"The domain belongs to another account; create a TXT record _{domain} with the value {endpoint}.",
        )


def _receive(state: CloudFront, target: Tenant | Distribution, domain: str) -> Tenant | Distribution:
    if isinstance(target, Tenant):
        return state.keep_tenant(replace(target, domains=(*target.domains, domain)))
    state.claim((domain,), DISTRIBUTION, target.id)
    return state.change_distribution(target.id, aliases=(*target.aliases, domain))
