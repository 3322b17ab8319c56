"""The operations on tags of domain names."""

from __future__ import annotations

from kubesim.aws.apigateway.state import ApiDomain, ApiGateway
from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError


def tag(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = _tagged(state, call.params["ResourceArn"])
    state.keep(domain, tags={**domain.tags, **(call.params.get("Tags") or {})})
    return {}


def untag(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = _tagged(state, call.params["ResourceArn"])
    gone = set(call.params["TagKeys"])
    state.keep(domain, tags={key: value for key, value in domain.tags.items() if key not in gone})
    return {}


def get(call: Call) -> Result:
    domain = _tagged(call.account.apigateway(call.region), call.params["ResourceArn"])
    return {"Tags": dict(domain.tags)}


def _tagged(state: ApiGateway, arn: str) -> ApiDomain:
    for domain in state.domains.values():
        if state.arn(domain) == arn:
            return domain
    raise AwsError("NotFoundException", f"Invalid resource identifier specified {arn}")
