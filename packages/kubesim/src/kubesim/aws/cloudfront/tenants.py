"""The operations on distribution tenants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubesim.aws.acm.certificate import ISSUED
from kubesim.aws.call import Call, Result
from kubesim.aws.cloudfront import views
from kubesim.aws.cloudfront.certificates import request_managed
from kubesim.aws.cloudfront.customizations import check_customizations, check_name, check_web_acl
from kubesim.aws.cloudfront.resources import DEPLOYED, ConnectionGroup, Distribution, Tenant
from kubesim.aws.cloudfront.state import CloudFront
from kubesim.aws.errors import AwsError
from kubesim.aws.tagging import from_list

_DOMAIN = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
NOT_DISABLED = "The resource you are trying to delete has not been disabled or is still being deployed."


def create(call: Call) -> Result:
    state, params = call.account.cloudfront, call.params
    world = state.world
    state.certificates.settle()
    check_name(params["Name"])
    if state.tenants.get(state.tenant_id(params["Name"])) is not None:
        raise AwsError("EntityAlreadyExists", "A distribution tenant with the specified name already exists.")
    if len(state.tenants) >= world.quotas.distribution_tenants:
        raise _limit("distribution tenants", world.quotas.distribution_tenants)
    id_ = "dt_" + world.ids.mixed(27)
    blank = Tenant(
        id=id_,
        name=params["Name"],
        arn=f"arn:aws:cloudfront::{state.account}:distribution-tenant/{id_}",
        distribution=params["DistributionId"],
        domains=(),
        group="",
        etag="",
        created=world.time.now(),
        modified=world.time.now(),
        deployed_at=0.0,
        tags=from_list(world, (params.get("Tags") or {}).get("Items")),
    )
    return views.tenant(state, _written(state, blank, params))


def get(call: Call) -> Result:
    state = call.account.cloudfront
    state.certificates.settle()
    return views.tenant(state, state.tenant_seen(call.params["Identifier"]))


def get_by_domain(call: Call) -> Result:
    state = call.account.cloudfront
    state.certificates.settle()
    domain = call.params["Domain"].lower()
    owner = state.world.edge_domains.get(domain)
    tenant = state.tenants.seen(owner.id) if owner else None
    if tenant and domain in tenant.domains:
        return views.tenant(state, tenant)
    raise AwsError("EntityNotFound", "No distribution tenant is associated with the specified domain.")


def update(call: Call) -> Result:
    """A full replacement: what the request does not name is gone, except the parent and the domains."""
    state, params = call.account.cloudfront, call.params
    state.certificates.settle()
    tenant = state.tenant(params["Id"])
    state.match(tenant, params.get("IfMatch"))
    replacement = {
        "DistributionId": tenant.distribution,
        "Domains": [{"Domain": domain} for domain in tenant.domains],
        "Enabled": tenant.enabled,
        **params,
    }
    return views.tenant(state, _written(state, tenant, replacement))


def delete(call: Call) -> Result:
    state = call.account.cloudfront
    state.certificates.settle()
    tenant = state.tenant(call.params["Id"])
    state.match(tenant, call.params.get("IfMatch"))
    if tenant.enabled or state.status(tenant) != DEPLOYED:
        raise AwsError("ResourceNotDisabled", NOT_DISABLED)
    state.drop_tenant(tenant)
    return {}


def list_all(call: Call) -> Result:
    state, params = call.account.cloudfront, call.params
    state.certificates.settle()
    wanted = params.get("AssociationFilter") or {}
    distribution, group = wanted.get("DistributionId"), wanted.get("ConnectionGroupId")
    if distribution:
        state.distribution(distribution)
    if group:
        group = state.group(group).id
    found = (
        (id_, tenant)
        for id_, tenant in state.tenants.seen_after(params.get("Marker") or "")
        if distribution in (None, tenant.distribution) and group in (None, tenant.group)
    )
    return views.page(state, found, params, "DistributionTenantList", views.tenant_summary)


def list_by_customization(call: Call) -> Result:
    state, params = call.account.cloudfront, call.params
    state.certificates.settle()
    acl, certificate = params.get("WebACLArn"), params.get("CertificateArn")
    if not acl and not certificate:
        raise AwsError("InvalidArgument", "One of WebACLArn and CertificateArn is required.")
    found = (
        (id_, tenant)
        for id_, tenant in state.tenants.seen_after(params.get("Marker") or "")
        if acl in (None, tenant.web_acl) and certificate in (None, tenant.certificate)
    )
    return views.page(state, found, params, "DistributionTenantList", views.tenant_summary)


def associate_web_acl(call: Call) -> Result:
    check_web_acl(call.params["WebACLArn"])
    tenant = _with_web_acl(call, {"Action": "override", "Arn": call.params["WebACLArn"]})
    return {"Id": tenant.id, "WebACLArn": tenant.web_acl, "ETag": tenant.etag}


def disassociate_web_acl(call: Call) -> Result:
    tenant = _with_web_acl(call, None)
    return {"Id": tenant.id, "ETag": tenant.etag}


def _with_web_acl(call: Call, acl: Mapping[str, str] | None) -> Tenant:
    state = call.account.cloudfront
    state.certificates.settle()
    tenant = state.tenant(call.params["Id"])
    if "IfMatch" in call.params:
        state.match(tenant, call.params["IfMatch"])
    customizations = {**tenant.customizations, "WebAcl": acl}
    customizations = {name: value for name, value in customizations.items() if value}
    return state.keep_tenant(replace(tenant, customizations=customizations))


def _written(state: CloudFront, before: Tenant, params: Mapping[str, Any]) -> Tenant:
    """What creating and updating have in common: check everything, then keep it."""
    distribution = _parent(state, params["DistributionId"])
    domains = _domains(state, params["Domains"])
    parameters = _parameters(distribution, params.get("Parameters") or [])
    customizations = params.get("Customizations") or {}
    check_customizations(customizations)
    tenant = replace(
        before,
        distribution=distribution.id,
        domains=domains,
        parameters=parameters,
        customizations=customizations,
        enabled=params.get("Enabled", True),
    )
    request = params.get("ManagedCertificateRequest")
    _check_certificate(state, tenant, managed=bool(request or tenant.managed_certificate))
    state.check_free(domains, tenant.id)
    group = _named_group(state, params.get("ConnectionGroupId"))
    if request:
        tenant = request_managed(state, tenant, request)
    # Nothing is refused from here on, so that no default group appears without a tenant.
    return state.keep_tenant(replace(tenant, group=(group or state.default_group()).id))


def _named_group(state: CloudFront, name: str | None) -> ConnectionGroup | None:
    if not name:
        return None
    group = state.group(name)
    if not group.enabled:
        raise AwsError("InvalidAssociation", "The specified connection group is not enabled.")
    return group


def _parent(state: CloudFront, id_: str) -> Distribution:
    distribution = state.distribution(id_)
    if not distribution.tenant_only:
        raise AwsError("InvalidAssociation", "The specified distribution is not a multi-tenant distribution.")
    return distribution


def _domains(state: CloudFront, items: list[dict[str, str]]) -> tuple[str, ...]:
    domains = tuple(item["Domain"].lower() for item in items)
    if not domains:
        raise AwsError("InvalidArgument", "A distribution tenant must have at least one domain.")
    for domain in domains:
        if not _DOMAIN.fullmatch(domain) or len(domain) > 253:
            raise AwsError("InvalidArgument", f"The domain name {domain} is not valid.")
    if len(set(domains)) < len(domains):
        raise AwsError("InvalidArgument", "The same domain is specified more than once.")
    if len(domains) > state.world.quotas.domains_per_tenant:
        raise _limit("domains per distribution tenant", state.world.quotas.domains_per_tenant)
    return domains


def _parameters(distribution: Distribution, items: list[dict[str, str]]) -> tuple[tuple[str, str], ...]:
    given = {item["Name"]: item["Value"] for item in items}
    defined = {definition.name: definition for definition in distribution.parameters}
    for name in given:
        if name not in defined:
            raise AwsError("InvalidArgument", f"The parameter {name} is not defined by the distribution.")
    for name, definition in defined.items():
        if definition.required and definition.default is None and name not in given:
            raise AwsError("InvalidArgument", f"The required parameter {name} is missing.")
    return tuple(given.items())


def _check_certificate(state: CloudFront, tenant: Tenant, *, managed: bool) -> None:
    """Every domain needs a certificate: the tenant's own one, the distribution's, or one that is being requested."""
    if tenant.certificate:
        own = state.certificates.shelf.get(tenant.certificate)
        if own is None or own.status != ISSUED:
            raise AwsError(
                "InvalidArgument", "The specified certificate does not exist or has not been issued."
            )
    certificates = state.covering(tenant)
    for domain in tenant.domains:
        if not managed and not any(each.covers(domain) for each in certificates):
            raise AwsError("InvalidArgument", f"The domain {domain} is not covered by a certificate.")


def _limit(what: str, most: int) -> AwsError:
    return AwsError("EntityLimitExceeded", f"You have reached the limit of {most} {what}.")
