"""The operations on tags of tenants, connection groups and distributions, all by ARN. They leave ETags alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubesim.aws.call import Call, Result
from kubesim.aws.cloudfront.resources import ConnectionGroup, Distribution, Tenant
from kubesim.aws.cloudfront.state import CloudFront
from kubesim.aws.errors import AwsError
from kubesim.aws.tagging import from_list


def tag(call: Call) -> Result:
    state = call.account.cloudfront
    resource = _resource(state, call.params["Resource"])
    items = call.params["Tags"].get("Items")
    _keep(state, resource, from_list(state.world, items, resource.tags))
    return {}


def untag(call: Call) -> Result:
    state = call.account.cloudfront
    resource = _resource(state, call.params["Resource"])
    gone = set(call.params["TagKeys"].get("Items") or ())
    _keep(state, resource, {key: value for key, value in resource.tags.items() if key not in gone})
    return {}


def list_all(call: Call) -> Result:
    resource = _resource(call.account.cloudfront, call.params["Resource"])
    items = [{"Key": key, "Value": value} for key, value in resource.tags.items()]
    return {"Tags": {"Items": items}}


def _resource(state: CloudFront, arn: str) -> Tenant | ConnectionGroup | Distribution:
    for resources in (state.tenants, state.groups, state.distributions):
        found = resources.get(arn.rpartition("/")[2])
        if found is not None and found.arn == arn:
            return found
    raise AwsError("NoSuchResource", f"The resource {arn} does not exist.")


def _keep(
    state: CloudFront, resource: Tenant | ConnectionGroup | Distribution, tags: Mapping[str, str]
) -> None:
    if isinstance(resource, Tenant):
        state.tenants.put(resource.id, replace(resource, tags=tags))
    elif isinstance(resource, ConnectionGroup):
        state.groups.put(resource.id, replace(resource, tags=tags))
    else:
        state.distributions[resource.id] = replace(resource, tags=tags)
