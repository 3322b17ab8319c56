"""All operations of the simulated API, in one table: what they are called, what they need, who answers."""

from __future__ import annotations

from kubesim.cloudflare import (
    access,
    applications,
    authority,
    groups,
    identity_providers,
    policies,
    records,
    service_tokens,
    tunnels,
    zones,
)
from kubesim.cloudflare.routing import Handler, Route, Routes

_DNS = "DNS"
_TUNNEL = "Cloudflare Tunnel"
_APPS = "Access: Apps and Policies"
_TOKENS = "Access: Service Tokens"
_ORGANIZATION = "Access: Organizations, Identity Providers, and Groups"

_ZONE = "/zones/{zone}"
_RECORDS = "/zones/{zone}/dns_records"
_ACCOUNT = "/accounts/{account}"
_TUNNELS = "/accounts/{account}/cfd_tunnel"
_ACCESS = "/accounts/{account}/access"

_TABLE: list[tuple[str, str, str, Handler]] = [
    ("GET", "/user/tokens/verify", "", authority.verify_user_token),
    ("GET", f"{_ACCOUNT}/tokens/verify", "", authority.verify_account_token),
    # A token without this permission is told so in a way of its own, by the handler.
    ("GET", "/zones", "", zones.list_zones),
    ("GET", _ZONE, "Zone", zones.get_zone),
    ("GET", _RECORDS, _DNS, records.list_records),
    ("POST", _RECORDS, _DNS, records.create_record),
    ("POST", f"{_RECORDS}/batch", _DNS, records.change_records),
    ("GET", f"{_RECORDS}/{{record}}", _DNS, records.get_record),
    ("PUT", f"{_RECORDS}/{{record}}", _DNS, records.put_record),
    ("PATCH", f"{_RECORDS}/{{record}}", _DNS, records.patch_record),
    ("DELETE", f"{_RECORDS}/{{record}}", _DNS, records.delete_record),
    ("GET", _TUNNELS, _TUNNEL, tunnels.list_tunnels),
    ("POST", _TUNNELS, _TUNNEL, tunnels.create_tunnel),
    ("GET", f"{_TUNNELS}/{{tunnel}}", _TUNNEL, tunnels.get_tunnel),
    ("DELETE", f"{_TUNNELS}/{{tunnel}}", _TUNNEL, tunnels.delete_tunnel),
    ("GET", f"{_TUNNELS}/{{tunnel}}/configurations", _TUNNEL, tunnels.get_configuration),
    ("PUT", f"{_TUNNELS}/{{tunnel}}/configurations", _TUNNEL, tunnels.put_configuration),
    ("GET", f"{_ACCESS}/organizations", _ORGANIZATION, access.get_organization),
    ("GET", f"{_ACCESS}/apps", _APPS, applications.list_applications),
    ("POST", f"{_ACCESS}/apps", _APPS, applications.create_application),
    ("GET", f"{_ACCESS}/apps/{{application}}", _APPS, applications.get_application),
    ("PUT", f"{_ACCESS}/apps/{{application}}", _APPS, applications.put_application),
    ("DELETE", f"{_ACCESS}/apps/{{application}}", _APPS, applications.delete_application),
    ("GET", f"{_ACCESS}/apps/{{application}}/policies", _APPS, applications.list_application_policies),
    ("POST", f"{_ACCESS}/apps/{{application}}/policies", _APPS, applications.create_application_policy),
    (
        "PUT",
        f"{_ACCESS}/apps/{{application}}/policies/{{policy}}",
        _APPS,
        applications.put_application_policy,
    ),
    (
        "DELETE",
        f"{_ACCESS}/apps/{{application}}/policies/{{policy}}",
        _APPS,
        applications.delete_application_policy,
    ),
    (
        "GET",
        f"{_ACCESS}/apps/{{application}}/policies/{{policy}}",
        _APPS,
        applications.get_application_policy,
    ),
    ("GET", f"{_ACCESS}/policies", _APPS, policies.list_policies),
    ("POST", f"{_ACCESS}/policies", _APPS, policies.create_policy),
    ("GET", f"{_ACCESS}/policies/{{policy}}", _APPS, policies.get_policy),
    ("PUT", f"{_ACCESS}/policies/{{policy}}", _APPS, policies.put_policy),
    ("DELETE", f"{_ACCESS}/policies/{{policy}}", _APPS, policies.delete_policy),
    ("GET", f"{_ACCESS}/tags", _APPS, groups.list_tags),
    ("POST", f"{_ACCESS}/tags", _APPS, groups.create_tag),
    ("GET", f"{_ACCESS}/tags/{{tag}}", _APPS, groups.get_tag),
    ("DELETE", f"{_ACCESS}/tags/{{tag}}", _APPS, groups.delete_tag),
    ("GET", f"{_ACCESS}/groups", _ORGANIZATION, groups.list_groups),
    ("POST", f"{_ACCESS}/groups", _ORGANIZATION, groups.create_group),
    ("GET", f"{_ACCESS}/groups/{{group}}", _ORGANIZATION, groups.get_group),
    ("DELETE", f"{_ACCESS}/groups/{{group}}", _ORGANIZATION, groups.delete_group),
    (
        "GET",
        f"{_ACCESS}/identity_providers",
        _ORGANIZATION,
        identity_providers.list_identity_providers,
    ),
    (
        "POST",
        f"{_ACCESS}/identity_providers",
        _ORGANIZATION,
        identity_providers.create_identity_provider,
    ),
    (
        "DELETE",
        f"{_ACCESS}/identity_providers/{{provider}}",
        _ORGANIZATION,
        identity_providers.delete_identity_provider,
    ),
    ("GET", f"{_ACCESS}/service_tokens", _TOKENS, service_tokens.list_service_tokens),
    ("POST", f"{_ACCESS}/service_tokens", _TOKENS, service_tokens.create_service_token),
    ("GET", f"{_ACCESS}/service_tokens/{{token}}", _TOKENS, service_tokens.get_service_token),
    ("PUT", f"{_ACCESS}/service_tokens/{{token}}", _TOKENS, service_tokens.put_service_token),
    ("DELETE", f"{_ACCESS}/service_tokens/{{token}}", _TOKENS, service_tokens.delete_service_token),
    ("POST", f"{_ACCESS}/service_tokens/{{token}}/refresh", _TOKENS, service_tokens.refresh_service_token),
    ("POST", f"{_ACCESS}/service_tokens/{{token}}/rotate", _TOKENS, service_tokens.rotate_service_token),
]

ROUTES = [Route(*row) for row in _TABLE]


def all_routes() -> Routes:
    return Routes(ROUTES)
