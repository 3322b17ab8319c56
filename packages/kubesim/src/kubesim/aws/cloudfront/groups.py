"""The operations on connection groups."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kubesim.aws.call import Call, Result
from kubesim.aws.cloudfront import views
from kubesim.aws.cloudfront.resources import DEPLOYED, ConnectionGroup
from kubesim.aws.cloudfront.state import CloudFront
from kubesim.aws.errors import AwsError
from kubesim.aws.tagging import from_list

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-.]{0,126}[a-zA-Z0-9]")


def create(call: Call) -> Result:
    state, params = call.account.cloudfront, call.params
    name, most = params["Name"], state.world.quotas.connection_groups
    if not _NAME.fullmatch(name):
        raise AwsError("InvalidArgument", f"The name {name} is not valid.")
    if any(group.name == name for group in state.groups.values()):
        raise AwsError("EntityAlreadyExists", "A connection group with the specified name already exists.")
    if len(state.groups) >= most:
        raise AwsError("EntityLimitExceeded", f"You have reached the limit of {most} connection groups.")
    group = state.new_group(
        name,
        ipv6=params.get("Ipv6Enabled", True),
        anycast=params.get("AnycastIpListId"),
        enabled=params.get("Enabled", True),
        tags=from_list(state.world, (params.get("Tags") or {}).get("Items")),
    )
    return views.group(state, state.keep_group(group))


def get(call: Call) -> Result:
    identifier = call.params["Identifier"]
    return _seen(call.account.cloudfront, lambda group: identifier in (group.id, group.name, group.arn))


def get_by_endpoint(call: Call) -> Result:
    endpoint = call.params["RoutingEndpoint"].lower()
    return _seen(call.account.cloudfront, lambda group: group.endpoint == endpoint)


def update(call: Call) -> Result:
    state, params = call.account.cloudfront, call.params
    group = state.group(params["Id"])
    state.match(group, params.get("IfMatch"))
    enabled = params.get("Enabled", group.enabled)
    if not enabled and any(tenant.enabled for tenant in state.tenants_of(group)):
        raise AwsError("ResourceInUse", "The connection group is in use by enabled distribution tenants.")
    changed = replace(
        group,
        enabled=enabled,
        ipv6=params.get("Ipv6Enabled", group.ipv6),
        anycast=params.get("AnycastIpListId", group.anycast),
    )
    return views.group(state, state.keep_group(changed))


def delete(call: Call) -> Result:
    state = call.account.cloudfront
    group = state.group(call.params["Id"])
    state.match(group, call.params.get("IfMatch"))
    if any(state.tenants_of(group)):
        raise AwsError(
            "CannotDeleteEntityWhileInUse", "The connection group is in use by distribution tenants."
        )
    if group.enabled or state.status(group) != DEPLOYED:
        raise AwsError("ResourceNotDisabled", "The connection group has not been disabled.")
    state.groups.remove(group.id)
    return {}


def list_all(call: Call) -> Result:
    state, params = call.account.cloudfront, call.params
    anycast = (params.get("AssociationFilter") or {}).get("AnycastIpListId")
    found = (
        (id_, group)
        for id_, group in state.groups.seen_after(params.get("Marker") or "")
        if anycast in (None, group.anycast)
    )
    return views.page(state, found, params, "ConnectionGroups", views.group_summary)


def _seen(state: CloudFront, wanted: Callable[[ConnectionGroup], bool]) -> Result:
    for _, group in state.groups.all_seen():
        if wanted(group):
            return views.group(state, group)
    raise AwsError("EntityNotFound", "The specified connection group does not exist.")
