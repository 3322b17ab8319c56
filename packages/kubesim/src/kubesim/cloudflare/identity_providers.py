"""Identity providers of an account, which applications and rules name by id."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig_object
from kubesim.cloudflare.access import PAGES, check_room, enabled, invalid, not_found, required_name
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.wire import Result, paged

TYPES = (
    *("onetimepin", "azureAD", "saml", "centrify", "facebook", "github", "google-apps", "google", "linkedin"),
    *("oidc", "okta", "onelogin", "pingone", "yandex", "cloudflare"),
)


def list_identity_providers(call: Call) -> Result:
    return paged(list(enabled(call).identity_providers.values()), call.query, PAGES)


def create_identity_provider(call: Call) -> Result:
    account = enabled(call)
    name = required_name(call.payload)
    if call.payload.get("type") not in TYPES:
        raise invalid(f"type must be one of {', '.join(TYPES)}")
    check_room(len(account.identity_providers), account.quotas.identity_providers, "identity providers")
    id_ = call.world.make.uuid()
    provider: JsonObject = {
        "id": id_,
        "name": name,
        "type": call.payload["type"],
        "config": dig_object(call.payload, "config"),
        "scim_config": {"enabled": False},
    }
    account.identity_providers[id_] = provider
    return Result(provider)


def delete_identity_provider(call: Call) -> Result:
    account = enabled(call)
    id_ = call.ids["provider"]
    if id_ not in account.identity_providers:
        raise not_found("identity provider")
    if any(id_ in application["allowed_idps"] for application in account.applications.values()):
        raise invalid("identity provider is in use by an application")
    del account.identity_providers[id_]
    return Result({"id": id_})
