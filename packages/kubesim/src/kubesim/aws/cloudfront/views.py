"""CloudFront's resources as the API shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

from kubesim.aws.cloudfront.resources import ConnectionGroup, Tenant
from kubesim.aws.cloudfront.state import CloudFront

View = dict[str, Any]
Resource = TypeVar("Resource", Tenant, ConnectionGroup)


def tags(values: Mapping[str, str]) -> View | None:
    return {"Items": [{"Key": key, "Value": value} for key, value in values.items()]} if values else None


def tenant_summary(state: CloudFront, tenant: Tenant) -> View:
    """As in listings: with the ETag, without parameters and tags."""
    active = state.active_domains(tenant)
    return {
        "Id": tenant.id,
        "DistributionId": tenant.distribution,
        "Name": tenant.name,
        "Arn": tenant.arn,
        "Domains": [
            {"Domain": domain, "Status": "active" if domain in active else "inactive"}
            for domain in tenant.domains
        ],
        "ConnectionGroupId": tenant.group,
        "Customizations": tenant.customizations or None,
        "CreatedTime": tenant.created,
        "LastModifiedTime": tenant.modified,
        "ETag": tenant.etag,
        "Enabled": tenant.enabled,
        "Status": state.status(tenant),
    }


def tenant(state: CloudFront, each: Tenant) -> View:
    """As its own: with everything."""
    parameters = [{"Name": name, "Value": value} for name, value in each.parameters]
    view = tenant_summary(state, each) | {"Tags": tags(each.tags), "Parameters": parameters}
    return {"DistributionTenant": view, "ETag": each.etag}


def group_summary(state: CloudFront, group: ConnectionGroup) -> View:
    return {
        "Id": group.id,
        "Name": group.name,
        "Arn": group.arn,
        "RoutingEndpoint": group.endpoint,
        "CreatedTime": group.created,
        "LastModifiedTime": group.modified,
        "ETag": group.etag,
        "AnycastIpListId": group.anycast,
        "Enabled": group.enabled,
        "Status": state.status(group),
        "IsDefault": group.is_default,
    }


def group(state: CloudFront, each: ConnectionGroup) -> View:
    view = group_summary(state, each) | {"Ipv6Enabled": each.ipv6, "Tags": tags(each.tags)}
    return {"ConnectionGroup": view, "ETag": each.etag}


def page(
    state: CloudFront,
    resources: Iterable[tuple[str, Resource]],
    params: Mapping[str, Any],
    key: str,
    view: Callable[[CloudFront, Resource], View],
) -> View:
    """One page of a listing: of the resources after the marker, in the order of their ids.

    The marker is the last id seen, so nothing is lost when that one goes.
    """
    largest = state.world.behaviour.page_size
    size = min(params.get("MaxItems") or largest, largest)
    here = list(islice(resources, size + 1))
    return {
        key: [view(state, resource) for _, resource in here[:size]],
        "NextMarker": here[size - 1][0] if len(here) > size else None,
    }
