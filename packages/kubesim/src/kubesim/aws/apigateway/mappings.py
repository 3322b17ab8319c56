"""The operations on API mappings: which API answers below which path of a domain."""

from __future__ import annotations

import re
from dataclasses import replace

from kubesim.aws.apigateway.state import ApiDomain, ApiGateway, Mapped, page
from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError

_KEY = re.compile(r"[\w\-.+*()$!',:@&=/~]*")


def create(call: Call) -> Result:
    state, params = call.account.apigateway(call.region), call.params
    domain = state.domain(params["DomainName"])
    mapped = Mapped(
        state.world.ids.lower(6), params["ApiId"], params["Stage"], params.get("ApiMappingKey", "")
    )
    if len(domain.mappings) >= state.world.quotas.mappings_per_domain:
        raise AwsError(
            "BadRequestException", "Maximum number of API mappings for this domain name has been reached"
        )
    _check(state, domain, mapped)
    state.keep(domain, mappings=(*domain.mappings, mapped))
    return _view(mapped)


def get(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    return _view(_found(state.domain_seen(call.params["DomainName"]), call.params["ApiMappingId"]))


def list_all(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    here, following = page(list(state.domain_seen(call.params["DomainName"]).mappings), call.params)
    return {"Items": [_view(mapped) for mapped in here], "NextToken": following}


def update(call: Call) -> Result:
    state, params = call.account.apigateway(call.region), call.params
    domain = state.domain(params["DomainName"])
    before = _found(domain, params["ApiMappingId"])
    after = replace(
        before,
        api=params["ApiId"],
        stage=params.get("Stage", before.stage),
        key=params.get("ApiMappingKey", before.key),
    )
    _check(state, domain, after)
    state.keep(domain, mappings=tuple(after if each is before else each for each in domain.mappings))
    return _view(after)


def delete(call: Call) -> Result:
    state = call.account.apigateway(call.region)
    domain = state.domain(call.params["DomainName"])
    gone = _found(domain, call.params["ApiMappingId"])
    state.keep(domain, mappings=tuple(each for each in domain.mappings if each is not gone))
    return {}


def _check(state: ApiGateway, domain: ApiDomain, mapped: Mapped) -> None:
    state.check_stage(mapped.api, mapped.stage)
    if not _KEY.fullmatch(mapped.key) or mapped.key.startswith("/") or mapped.key.endswith("/"):
        raise AwsError("BadRequestException", f"API mapping key {mapped.key} is not valid")
    if any(each.key == mapped.key and each.id != mapped.id for each in domain.mappings):
        raise AwsError("ConflictException", "ApiMapping key already exists for this domain name")


def _found(domain: ApiDomain, id_: str) -> Mapped:
    for mapped in domain.mappings:
        if mapped.id == id_:
            return mapped
    raise AwsError("NotFoundException", "The API mapping specified does not exist")


def _view(mapped: Mapped) -> dict[str, str]:
    return {
        "ApiMappingId": mapped.id,
        "ApiId": mapped.api,
        "Stage": mapped.stage,
        "ApiMappingKey": mapped.key,
    }
