"""What an object has in clouds, with the addresses of the providers' consoles. Pure; accepts any content.

Addresses follow from ids and ARNs alone. Where an id has not the form that it should have, there is no address: what is in
a status may be written by users.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from edgekeeper.controllers.zerotrust.state import RouteState
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.redaction import redact_text

_ARN: Final = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):(?P<service>[a-z0-9-]+):(?P<region>[a-z0-9-]*):(?P<account>\d{0,12}):(?P<resource>[\w/:.+=,@$*-]+)"
)
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_HOST: Final = re.compile(r"[A-Za-z0-9_*.-]{1,253}")
_ACCOUNT: Final = re.compile(r"[a-f0-9]{32}")

_CONSOLES: Final = {
    "aws": "console.aws.amazon.com",
    "aws-cn": "console.amazonaws.cn",
    "aws-us-gov": "console.amazonaws-us-gov.com",
}
_DASHBOARD: Final = "https://dash.cloudflare.com"


class Resource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something in a cloud."""

    kind: str
    id: str
    detail: str = ""
    url: str = ""


def resources_of(kind: str, obj: JsonObject, *, links: bool = True) -> list[Resource]:
    """What an object has in clouds. Without `links` there are no addresses, for clouds that are simulated."""
    found = _FINDERS.get(kind, _nothing)(obj)
    return [_redacted(one, links=links) for one in found if one.id]


def _redacted(one: Resource, *, links: bool) -> Resource:
    return Resource(one.kind, redact_text(one.id), redact_text(one.detail), one.url if links else "")


def _nothing(_: JsonObject) -> Iterator[Resource]:
    yield from ()


# AWS


def _tenant(obj: JsonObject) -> Iterator[Resource]:
    partition = _partition(_text(obj, "status", "arn"))
    tenant, distribution = _text(obj, "status", "id"), _text(obj, "spec", "distributionId")
    yield Resource(
        "CloudFront tenant",
        tenant,
        _text(obj, "status", "distributionTenantStatus"),
        _cloudfront(partition, "distribution-tenants", tenant),
    )
    yield Resource(
        "CloudFront distribution",
        distribution,
        url=_cloudfront(partition, "distributions", distribution),
    )
    managed = _text(obj, "status", "certificateArn")
    for arn in dict.fromkeys((managed, _text(obj, "spec", "customizations", "certificate", "arn"))):
        yield Resource("ACM certificate", arn, _text(obj, "status", "managedCertificateStatus"), arn_url(arn))
    yield from _records(obj, partition)


def _domain(obj: JsonObject) -> Iterator[Resource]:
    certificate = _text(obj, "status", "certificateArn")
    region, name = _text(obj, "status", "region"), _text(obj, "spec", "domain")
    partition = _partition(certificate)
    endpoint = _text(obj, "status", "domainNameEndpoint")
    page = _gateway(partition, region, "publish/domain-names", "domain", name)
    if endpoint:
        yield Resource("API Gateway domain name", name, endpoint, page)
    api = _text(obj, "spec", "apiRef", "apiId")
    yield Resource("API", api, url=_gateway(partition, region, "api-detail", "api", api))
    yield Resource(
        "ACM certificate", certificate, _text(obj, "status", "certificateStatus"), arn_url(certificate)
    )
    yield Resource("API mapping", _text(obj, "status", "apiMappingId"), url=page)
    yield from _records(obj, partition)


def _permission(obj: JsonObject) -> Iterator[Resource]:
    arn = _text(obj, "status", "functionArn")
    yield Resource("Lambda function", arn, url=arn_url(arn))
    for statement in dig_list(obj, "status", "inventory"):
        yield Resource(
            "Policy statement", _text(statement, "statementId"), _text(statement, "state"), arn_url(arn)
        )


def _records(obj: JsonObject, partition: str) -> Iterator[Resource]:
    for record in dig_list(obj, "status", "inventory"):
        zone, name = _text(record, "zone"), _text(record, "name")
        target = f"{_text(record, 'type')} → {_text(record, 'target')}"
        state = _text(record, "state")
        detail = target if state in ("", "Written") else f"{target} ({state})"
        yield Resource("DNS record", name, detail, _zone(partition, zone))


def arn_url(arn: str) -> str:
    """The page of an ARN in the AWS console; empty for services whose pages are not known here."""
    match = _ARN.fullmatch(arn)
    if match is None:
        return ""
    region, host = match["region"], _console(match["partition"])
    resource = match["resource"]
    if match["service"] == "acm" and host:
        certificate = quote(resource.removeprefix("certificate/"), safe="")
        return f"https://{region}.{host}/acm/home?region={region}#/certificates/{certificate}"
    if match["service"] == "lambda" and host:
        name = quote(resource.removeprefix("function:").partition(":")[0], safe="")
        return f"https://{region}.{host}/lambda/home?region={region}#/functions/{name}"
    return ""


def _cloudfront(partition: str, collection: str, id_: str) -> str:
    host = _console(partition)
    return f"https://{host}/cloudfront/v4/home#/{collection}/{id_}" if host and _ID.fullmatch(id_) else ""


def _gateway(partition: str, region: str, page: str, parameter: str, value: str) -> str:
    host = _console(partition)
    if not (host and _HOST.fullmatch(value) and _ID.fullmatch(region)):
        return ""
    return f"https://{region}.{host}/apigateway/main/{page}?{parameter}={quote(value)}&region={region}"


def _zone(partition: str, zone: str) -> str:
    id_ = zone.removeprefix("/hostedzone/")
    host = _console(partition)
    return (
        f"https://{host}/route53/v2/hostedzones#ListRecordSets/{id_}" if host and _ID.fullmatch(id_) else ""
    )


def _partition(arn: str) -> str:
    match = _ARN.fullmatch(arn)
    return match["partition"] if match is not None else "aws"


def _console(partition: str) -> str:
    return _CONSOLES.get(partition, "")


# Cloudflare


def _zero_trust_tenant(obj: JsonObject) -> Iterator[Resource]:
    account, tunnel = _text(obj, "spec", "accountId"), _text(obj, "spec", "tunnelId")
    yield Resource("Cloudflare account", account, url=_dash(account, "home"))
    detail = _text(obj, "status", "tunnel", "status")
    yield Resource("Cloudflare tunnel", tunnel, detail, _dash(account, "tunnels"))


def _task(obj: JsonObject) -> Iterator[Resource]:
    account = _text(obj, "spec", "accountId")
    for item in dig_list(obj, "status", "inventory"):
        yield from _published(account, item)


def _published(account: str, item: Any) -> Iterator[Resource]:
    """One item of an inventory."""
    kind, name, id_ = (_text(item, field) for field in ("kind", "name", "id"))
    if kind == "DnsRecord":
        detail = f"{_text(item, 'type')} → {_text(item, 'content')}" if _text(item, "content") else id_
        # The address has the name of the zone, of which only the id is known: the dashboard asks for it.
        url = f"{_DASHBOARD}/?to=/:account/:zone/dns/records" if _ACCOUNT.fullmatch(account) else ""
        yield Resource("DNS record", name, detail, url)
    elif kind == "Secret":
        yield Resource("Secret in the cluster", name)
    elif kind in _PAGES:
        title, page, page_of_one = _PAGES[kind]
        address = page_of_one.format(quote(id_, safe="")) if page_of_one and _ID.fullmatch(id_) else page
        yield Resource(title, name or id_, id_ if name else "", _dash(account, address))


_ACCESS: Final = "one/access-controls"
_PAGES: Final = {
    "AccessApplication": ("Access application", f"{_ACCESS}/apps", f"{_ACCESS}/apps/self-hosted/{{}}/edit"),
    "AccessPolicy": ("Access policy", f"{_ACCESS}/policies", ""),
    "ServiceToken": ("Service token", f"{_ACCESS}/service-credentials/service-tokens", ""),
    "TunnelHostname": ("Tunnel hostname", "tunnels", ""),
}
"""By kind: what it is called, the page of all, and the page of one."""


def route_resources(state: RouteState, *, links: bool = True) -> list[Resource]:
    """What a route has at Cloudflare, as its state lists it."""
    account = state.account_id
    items = [msgspec.to_builtins(item) for item in state.inventory]
    tunnels = dict.fromkeys(item.parent for item in state.inventory if item.kind == "TunnelHostname")
    found = [
        Resource("Cloudflare account", account, url=_dash(account, "home")),
        *(Resource("Cloudflare tunnel", tunnel, url=_dash(account, "tunnels")) for tunnel in tunnels),
        *(resource for item in items for resource in _published(account, item)),
    ]
    return [_redacted(one, links=links) for one in found if one.id]


def _route(obj: JsonObject) -> Iterator[Resource]:
    """Only ids, for a process that does not know the state of the route."""
    titles = {
        "accessAppId": "Access application",
        "cnameRecordId": "DNS record",
        "dnsRecordId": "DNS record",
        "serviceTokenId": "Service token",
    }
    annotations = dig(obj, "metadata", "annotations")
    for key, title in titles.items():
        yield Resource(title, _text(annotations, f"cfzt.cloudflare.com/{key}"))


def _dash(account: str, page: str) -> str:
    return f"{_DASHBOARD}/{account}/{page}" if _ACCOUNT.fullmatch(account) else ""


def _text(tree: Any, *path: str) -> str:
    value = dig(tree, *path)
    return value if isinstance(value, str) else ""


_FINDERS: Final[Mapping[str, Callable[[JsonObject], Iterator[Resource]]]] = {
    "DistributionTenant": _tenant,
    "APIGatewayDomain": _domain,
    "LambdaPermission": _permission,
    "CloudflareZeroTrustTenant": _zero_trust_tenant,
    "CloudflareTask": _task,
    "HTTPRoute": _route,
}
