"""Who asks, and may they: API tokens, their permissions, accounts and zones.

Cloudflare says no in several ways. Headers that make no sense are 400; a token that is unknown, disabled or expired is
9109; one that lacks the permission, or is for another account or zone, is 10000.
"""

from __future__ import annotations

import re

from edgekeeper.core.clock import timestamp
from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.routing import Call, Route
from kubesim.cloudflare.state import ApiToken, World
from kubesim.cloudflare.wire import Refusal, Request, Result

_BEARER = re.compile(r"Bearer ([A-Za-z0-9_\-.]{8,})")


def authenticate(world: World, request: Request) -> ApiToken:
    """The token of a request. Raise Refusal where there is none that is known and valid."""
    header = request.headers.get("authorization")
    if header is None:
        raise Refusal(400, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers")
    found = _BEARER.fullmatch(header)
    if found is None:
        raise Refusal(400, 6111, "Invalid format for Authorization header")
    token = world.tokens.get(found[1])
    if token is None or not token.is_valid(world.make.clock.now()):
        if request.path.endswith("/tokens/verify"):
            raise Refusal(401, 1000, "Invalid API Token")
        raise Refusal(403, 9109, "Invalid access token")
    return token


def authorize(token: ApiToken, route: Route, call: Call) -> None:
    """Raise Refusal where the token may not do this, or not here."""
    if route.permission and not token.may(route.permission, writing=route.mutating):
        raise Refusal(403, 10000, "Authentication error")
    account, zone = call.ids.get("account"), call.ids.get("zone")
    if account is not None and token.accounts is not None and account not in token.accounts:
        raise Refusal(403, 10000, "Authentication error")
    if zone is None:
        return
    elsewhere = zone in call.world.zones and call.zone.account not in (token.accounts or {call.zone.account})
    if elsewhere or (token.zones is not None and zone not in token.zones):
        raise Refusal(403, 9109, "Unauthorized to access requested resource")


def verify_user_token(call: Call) -> Result:
    if call.token is None or call.token.owner != "user":
        raise Refusal(401, 1000, "Invalid API Token")
    return _verified(call.token)


def verify_account_token(call: Call) -> Result:
    if call.token is None or call.token.owner != call.ids["account"]:
        raise Refusal(401, 1000, "Invalid API Token")
    return _verified(call.token)


def _verified(token: ApiToken) -> Result:
    shown: JsonObject = {"id": token.id, "status": token.status}
    if token.expires is not None:
        shown["expires_on"] = timestamp(token.expires)
    return Result(shown, messages=((10000, "This API Token is valid and active"),))
