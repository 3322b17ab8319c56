"""The operations on routing rules: which API answers requests that meet conditions, by priority."""

from __future__ import annotations

from typing import Any

from kubesim.aws.apigateway.state import ApiDomain, ApiGateway, Rule, page
from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError

_LARGEST_PAGE = 100


def create(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = state.domain(call.params["DomainName"])
    if len(domain.rules) >= state.world.quotas.rules_per_domain:
        raise AwsError(
            "BadRequestException", "Maximum number of routing rules for this domain name has been reached"
        )
    return _written(call, state, domain, state.world.ids.lower(10))


def put(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = state.domain(call.params["DomainName"])
    return _written(call, state, domain, _found(domain, call.params["RoutingRuleId"]).id)


def get(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = state.domain_seen(call.params["DomainName"])
    return _view(state, domain, _found(domain, call.params["RoutingRuleId"]))


def list_all(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = state.domain_seen(call.params["DomainName"])
    here, following = page(sorted(domain.rules, key=lambda rule: rule.priority), call.params, _LARGEST_PAGE)
    return {"RoutingRules": [_view(state, domain, rule) for rule in here], "NextToken": following}


def delete(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = state.domain(call.params["DomainName"])
    gone = _found(domain, call.params["RoutingRuleId"])
    state.keep(domain, rules=tuple(rule for rule in domain.rules if rule is not gone))
    return {}


def _written(call: Call, state: ApiGateway, domain: ApiDomain, id_: str) -> Result:
    params = call.params
    rule = Rule(id_, params["Priority"], params["Conditions"], params["Actions"])
    others = tuple(each for each in domain.rules if each.id != id_)
    if domain.routing_mode == "API_MAPPING_ONLY":
        raise AwsError("BadRequestException", "Routing rules are not enabled for this domain name")
    if len(rule.actions) != 1:
        raise AwsError("BadRequestException", "A routing rule must have exactly one action")
    if any(other.priority == rule.priority for other in others):
        raise AwsError("ConflictException", f"A routing rule with priority {rule.priority} already exists")
    invoked = rule.actions[0]["InvokeApi"]
    state.check_stage(invoked["ApiId"], invoked["Stage"])
    return _view(state, state.keep(domain, rules=(*others, rule)), rule)


def _found(domain: ApiDomain, id_: str) -> Rule:
    for rule in domain.rules:
        if rule.id == id_:
            return rule
    raise AwsError("NotFoundException", "The routing rule specified does not exist")


def _view(state: ApiGateway, domain: ApiDomain, rule: Rule) -> dict[str, Any]:
    return {
        "RoutingRuleId": rule.id,
        "RoutingRuleArn": state.arn(domain, "routingrules", rule.id),
        "Priority": rule.priority,
        "Conditions": rule.conditions,
        "Actions": rule.actions,
    }
