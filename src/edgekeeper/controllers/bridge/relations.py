"""What APIGatewayDomains and LambdaPermissions refer to, and what they have in AWS, for people. Accepts any content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from edgekeeper.controllers.bridge import ack
from edgekeeper.controllers.bridge.domains.children import KINDS
from edgekeeper.controllers.bridge.domains.observe import apis_of, children_of
from edgekeeper.controllers.bridge.permissions import observe as permissions
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.lifecycle.relations import Details, Reader, Relation

_CREATE: Final = "create it, or correct the reference in the spec"
_DOMAIN_IDS: Final[Mapping[str, tuple[str, ...]]] = {
    "endpoint": ("status", "domainNameEndpoint"),
    "mapping": ("status", "apiMappingId"),
}
_DOMAIN_REFERENCES: Final[Mapping[str, tuple[str, ...]]] = {
    "API": ("spec", "apiRef", "apiId"),
    "certificate": ("status", "certificateArn"),
    "hosted zone": ("status", "hostedZoneId"),
    "region": ("status", "region"),
}


def domain_details(obj: JsonObject) -> Details:
    domain = dig(obj, "spec", "domain")
    return Details(
        (domain,) if isinstance(domain, str) else (),
        tuple(value for _, value in _texts(obj, _DOMAIN_IDS)),
        "the domain name or its records" if dig(obj, "status", "driftDetected") is True else "",
        tuple(_texts(obj, _DOMAIN_REFERENCES)),
    )


async def domain_relations(obj: JsonObject, reader: Reader) -> list[Relation]:
    """The API, and the objects of ACK that were made for the domain name."""
    found = [Relation(ack.API, key, "the API", remedy=_CREATE) for key in apis_of(obj)]
    for kind in KINDS.values():
        for key in children_of(obj):
            child = await reader.get(kind, key)
            if child is not None:
                found.append(Relation(kind, key, "made for it", is_required=False))
    return found


def permission_details(obj: JsonObject) -> Details:
    statements = (dig(one, "statementId") for one in dig_list(obj, "status", "inventory"))
    function = {"function": ("status", "functionArn")}
    return Details(
        ids=tuple(one for one in statements if isinstance(one, str)),
        drift="the policy" if dig(obj, "status", "driftDetected") is True else "",
        references=tuple(_texts(obj, function)),
    )


def permission_relations(obj: JsonObject) -> list[Relation]:
    """The function, and the APIs that may invoke it, where objects of ACK stand for them."""
    functions = [
        Relation(ack.FUNCTION, key, "the function", remedy=_CREATE) for key in permissions.functions_of(obj)
    ]
    apis = [
        Relation(ack.API, key, "an API that invokes it", remedy=_CREATE) for key in permissions.apis_of(obj)
    ]
    return [*functions, *apis]


def _texts(obj: JsonObject, paths: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    for name, path in paths.items():
        value = dig(obj, *path)
        if isinstance(value, str) and value:
            yield name, value
