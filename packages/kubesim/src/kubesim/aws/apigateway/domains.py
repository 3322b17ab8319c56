"""The operations on domain names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.aws.apigateway.state import ALIAS_ZONES, OTHER_ALIAS_ZONE, ApiDomain, ApiGateway, page
from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError
from kubesim.aws.route53.records import CLOUDFRONT_ZONE

_KEPT = (
    "CertificateArn",
    "EndpointType",
    "SecurityPolicy",
    "IpAddressType",
    "OwnershipVerificationCertificateArn",
)


def create(call: Call) -> Result:
    state, params = _state(call), call.params
    name = params["DomainName"].lower()
    configuration = _configuration(params.get("DomainNameConfigurations"))
    if name in state.domains:
        raise AwsError("ConflictException", "The domain name you provided already exists.")
    if len(state.domains) >= state.world.quotas.api_domains:
        raise AwsError("BadRequestException", "Account reached the maximum number of custom domain names")
    state.check_certificate(name, configuration)
    domain = ApiDomain(
        name=name,
        target=_target(state, configuration),
        configuration=configuration,
        ready_at=state.world.time.monotonic(),
        routing_mode=params.get("RoutingMode", "API_MAPPING_ONLY"),
        mutual_tls=_mutual_tls(params.get("MutualTlsAuthentication")),
        tags=dict(params.get("Tags") or {}),
    )
    return _view(state, state.keep(domain))


def get(call: Call) -> Result:
    state = _state(call)
    return _view(state, state.domain_seen(call.params["DomainName"]))


def list_all(call: Call) -> Result:
    state = _state(call)
    domains = sorted((domain for _, domain in state.domains.all_seen()), key=lambda domain: domain.name)
    here, following = page(domains, call.params)
    return {"Items": [_view(state, domain) for domain in here], "NextToken": following}


def update(call: Call) -> Result:
    """What the request names replaces what is there; a new certificate takes a while to be served."""
    state, params = _state(call), call.params
    domain = state.domain(params["DomainName"])
    changes: dict[str, Any] = {"ready_at": state.world.time.after(state.world.timings.domain_update)}
    if "DomainNameConfigurations" in params:
        given = _configuration(params["DomainNameConfigurations"])
        changes["configuration"] = {**domain.configuration, **given}
        state.check_certificate(domain.name, changes["configuration"])
    if "MutualTlsAuthentication" in params:
        changes["mutual_tls"] = _mutual_tls(params["MutualTlsAuthentication"])
    if "RoutingMode" in params:
        changes["routing_mode"] = params["RoutingMode"]
    return _view(state, state.keep(domain, **changes))


def delete(call: Call) -> Result:
    """Mappings and rules go with their domain."""
    state = _state(call)
    state.domains.remove(state.domain(call.params["DomainName"]).name)
    return {}


def _state(call: Call) -> ApiGateway:
    return call.account.apigateway(call.region)


def _configuration(given: list[dict[str, Any]] | None) -> dict[str, Any]:
    if not given or len(given) != 1:
        raise AwsError("BadRequestException", "Exactly one domain name configuration must be specified")
    return {key: given[0][key] for key in _KEPT if key in given[0]}


def _target(state: ApiGateway, configuration: Mapping[str, Any]) -> str:
    if configuration.get("EndpointType") == "EDGE":
        return f"d{state.world.ids.lower(13)}.cloudfront.net"
    return f"d-{state.world.ids.lower(10)}.execute-api.{state.region}.amazonaws.com"


def _mutual_tls(given: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """An empty trust store switches mutual TLS off."""
    if not given or not given.get("TruststoreUri"):
        return None
    if not given["TruststoreUri"].startswith("s3://"):
        raise AwsError("BadRequestException", "Invalid Amazon S3 URI for the truststore")
    return given


def _view(state: ApiGateway, domain: ApiDomain) -> dict[str, Any]:
    edge = domain.configuration.get("EndpointType") == "EDGE"
    zone = CLOUDFRONT_ZONE if edge else ALIAS_ZONES.get(state.region, OTHER_ALIAS_ZONE)
    configuration = {
        "EndpointType": "REGIONAL",
        "SecurityPolicy": "TLS_1_2",
        "IpAddressType": "ipv4",
        **domain.configuration,
        "ApiGatewayDomainName": domain.target,
        "HostedZoneId": zone,
        "DomainNameStatus": "AVAILABLE" if state.world.time.passed(domain.ready_at) else "UPDATING",
    }
    return {
        "ApiMappingSelectionExpression": "$request.basepath",
        "DomainName": domain.name,
        "DomainNameArn": state.arn(domain),
        "DomainNameConfigurations": [configuration],
        "MutualTlsAuthentication": domain.mutual_tls,
        "RoutingMode": domain.routing_mode,
        "Tags": dict(domain.tags),
    }
