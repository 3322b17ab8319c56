"""The table of operations: path, idempotency, name in metrics and audit.

Reading, deleting, and replacing an object with a single writer are idempotent. A POST is not, because Cloudflare has no
idempotency keys: after a lost response the state must be read first. Nor is writing the configuration of a tunnel, which
others write as well: a late retry would revert their changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.cloud.operation import Operation
from edgekeeper.cloud.rates import CLOUDFLARE
from edgekeeper.core.errors import Stall

_DEADLINE = timedelta(seconds=60)
_PLACE = re.compile(r"\{(\w+)\}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Ids are hexadecimal or UUIDs. They come from specs, so they are validated before they are part of a URL."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation with its method and path."""

    method: str
    template: str
    operation: Operation

    def path(self, ids: Mapping[str, str]) -> str:
        """The path with these ids. Raise Stall if an id is invalid."""
        return _PLACE.sub(lambda place: _piece(place[1], ids[place[1]]), self.template)


def _piece(name: str, value: str) -> str:
    if not _ID.fullmatch(value):
        raise Stall("InvalidSpec", f"{value[:100]!r} is not the id of a {name}")
    return value


def _endpoint(name: str, method: str, template: str, *, idempotent: bool | None = None) -> Endpoint:
    mutating = method != "GET"
    repeatable = method in ("GET", "PUT", "DELETE") if idempotent is None else idempotent
    return Endpoint(
        method,
        template,
        Operation("cloudflare", "cloudflare", name, mutating, repeatable, CLOUDFLARE, _DEADLINE),
    )


_ACCESS = "/accounts/{account}/access"
_TUNNEL = "/accounts/{account}/cfd_tunnel/{tunnel}"
_APPLICATION = f"{_ACCESS}/apps/{{application}}"
_SERVICE_TOKEN = f"{_ACCESS}/service_tokens/{{token}}"

VERIFY_USER_TOKEN = _endpoint("VerifyToken", "GET", "/user/tokens/verify")
VERIFY_ACCOUNT_TOKEN = _endpoint("VerifyToken", "GET", "/accounts/{account}/tokens/verify")

LIST_ZONES = _endpoint("ListZones", "GET", "/zones")
LIST_RECORDS = _endpoint("ListDnsRecords", "GET", "/zones/{zone}/dns_records")
CHANGE_RECORDS = _endpoint("ChangeDnsRecords", "POST", "/zones/{zone}/dns_records/batch")

LIST_TUNNELS = _endpoint("ListTunnels", "GET", "/accounts/{account}/cfd_tunnel")
GET_TUNNEL = _endpoint("GetTunnel", "GET", _TUNNEL)
GET_CONFIGURATION = _endpoint("GetTunnelConfiguration", "GET", f"{_TUNNEL}/configurations")
PUT_CONFIGURATION = _endpoint("PutTunnelConfiguration", "PUT", f"{_TUNNEL}/configurations", idempotent=False)

GET_ORGANIZATION = _endpoint("GetOrganization", "GET", f"{_ACCESS}/organizations")
LIST_APPLICATIONS = _endpoint("ListApplications", "GET", f"{_ACCESS}/apps")
CREATE_APPLICATION = _endpoint("CreateApplication", "POST", f"{_ACCESS}/apps")
GET_APPLICATION = _endpoint("GetApplication", "GET", _APPLICATION)
PUT_APPLICATION = _endpoint("PutApplication", "PUT", _APPLICATION)
DELETE_APPLICATION = _endpoint("DeleteApplication", "DELETE", _APPLICATION)
_APPLICATION_POLICY = f"{_APPLICATION}/policies/{{policy}}"
CREATE_APPLICATION_POLICY = _endpoint("CreateApplicationPolicy", "POST", f"{_APPLICATION}/policies")
PUT_APPLICATION_POLICY = _endpoint("PutApplicationPolicy", "PUT", _APPLICATION_POLICY)
DELETE_APPLICATION_POLICY = _endpoint("DeleteApplicationPolicy", "DELETE", _APPLICATION_POLICY)
LIST_POLICIES = _endpoint("ListPolicies", "GET", f"{_ACCESS}/policies")
CREATE_POLICY = _endpoint("CreatePolicy", "POST", f"{_ACCESS}/policies")
GET_POLICY = _endpoint("GetPolicy", "GET", f"{_ACCESS}/policies/{{policy}}")
PUT_POLICY = _endpoint("PutPolicy", "PUT", f"{_ACCESS}/policies/{{policy}}")
DELETE_POLICY = _endpoint("DeletePolicy", "DELETE", f"{_ACCESS}/policies/{{policy}}")
LIST_GROUPS = _endpoint("ListGroups", "GET", f"{_ACCESS}/groups")
LIST_IDENTITY_PROVIDERS = _endpoint("ListIdentityProviders", "GET", f"{_ACCESS}/identity_providers")
LIST_TAGS = _endpoint("ListTags", "GET", f"{_ACCESS}/tags")
CREATE_TAG = _endpoint("CreateTag", "POST", f"{_ACCESS}/tags")

LIST_SERVICE_TOKENS = _endpoint("ListServiceTokens", "GET", f"{_ACCESS}/service_tokens")
CREATE_SERVICE_TOKEN = _endpoint("CreateServiceToken", "POST", f"{_ACCESS}/service_tokens")
GET_SERVICE_TOKEN = _endpoint("GetServiceToken", "GET", _SERVICE_TOKEN)
PUT_SERVICE_TOKEN = _endpoint("PutServiceToken", "PUT", _SERVICE_TOKEN)
DELETE_SERVICE_TOKEN = _endpoint("DeleteServiceToken", "DELETE", _SERVICE_TOKEN)
# Idempotent: a refresh only extends the lifetime of the token.
REFRESH_SERVICE_TOKEN = _endpoint("RefreshServiceToken", "POST", f"{_SERVICE_TOKEN}/refresh", idempotent=True)
ROTATE_SERVICE_TOKEN = _endpoint("RotateServiceToken", "POST", f"{_SERVICE_TOKEN}/rotate")
