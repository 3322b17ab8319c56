"""Service tokens of Access: the secret is shown when it is made and never again.

Rotating makes a new secret; the old one opens doors until the time that the request gives, or no longer at all.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from edgekeeper.core.clock import parse_timestamp, timestamp
from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.access import PAGES, check_room, enabled, invalid, not_found, required_name
from kubesim.cloudflare.filters import matches
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.state import Account, ServiceSecret
from kubesim.cloudflare.wire import Result, paged

_PART = re.compile(r"(\d+(?:\.\d+)?)(h|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_DEFAULT_DURATION = "8760h"


def list_service_tokens(call: Call) -> Result:
    tokens = enabled(call).service_tokens.values()
    return paged([token for token in tokens if matches(token, call.query, ("name",))], call.query, PAGES)


def get_service_token(call: Call) -> Result:
    return Result(_token(enabled(call), call))


def create_service_token(call: Call) -> Result:
    account, make = enabled(call), call.world.make
    name = required_name(call.payload)
    check_room(len(account.service_tokens), account.quotas.service_tokens, "service tokens")
    duration = call.payload.get("duration", _DEFAULT_DURATION)
    id_, now = make.uuid(), make.time()
    token = {
        "id": id_,
        "client_id": f"{make.digits(32)}.access",
        "name": name,
        "duration": duration,
        "enabled": call.payload.get("enabled", True),
        "expires_at": _expiry(make.clock.now(), duration),
        "created_at": now,
        "updated_at": now,
    }
    secret = make.digits(64)
    account.service_tokens[id_] = token
    account.secrets[id_] = [ServiceSecret(secret)]
    return Result({**token, "client_secret": secret})


def put_service_token(call: Call) -> Result:
    """Name, duration and state; and how long the previous secret still holds. It does not rotate here."""
    account = enabled(call)
    token = _token(account, call)
    changes: JsonObject = {
        name: call.payload[name] for name in ("name", "duration", "enabled") if name in call.payload
    }
    if "previous_client_secret_expires_at" in call.payload:
        _end_previous(account.secrets[token["id"]], _moment(call.payload))
    return Result(_changed(account, call, token, changes))


def delete_service_token(call: Call) -> Result:
    account = enabled(call)
    token = _token(account, call)
    del account.service_tokens[token["id"]]
    del account.secrets[token["id"]]
    return Result(token)


def refresh_service_token(call: Call) -> Result:
    account = enabled(call)
    token = _token(account, call)
    expiry = _expiry(call.world.make.clock.now(), token["duration"])
    return Result(_changed(account, call, token, {"expires_at": expiry}))


def rotate_service_token(call: Call) -> Result:
    account, make = enabled(call), call.world.make
    token = _token(account, call)
    now = make.clock.now()
    until = _moment(call.payload) if "previous_client_secret_expires_at" in call.payload else now
    current = ServiceSecret(make.digits(64))
    previous = account.secrets[token["id"]][-1]
    account.secrets[token["id"]] = [ServiceSecret(previous.value, until), current]
    return Result({**_changed(account, call, token, {}), "client_secret": current.value})


def opens(account: Account, now: datetime, client_id: str, client_secret: str) -> bool:
    """Whether a caller with these credentials is let in."""
    for token in account.service_tokens.values():
        if token["client_id"] == client_id:
            alive = token["enabled"] and (
                token["expires_at"] is None or now < parse_timestamp(token["expires_at"])
            )
            return alive and any(
                secret.value == client_secret and (secret.until is None or now < secret.until)
                for secret in account.secrets[token["id"]]
            )
    return False


def _token(account: Account, call: Call) -> JsonObject:
    found = account.service_tokens.get(call.ids["token"])
    if found is None:
        raise not_found("service token")
    return found


def _changed(account: Account, call: Call, token: JsonObject, changes: JsonObject) -> JsonObject:
    changed = {**token, **changes, "updated_at": call.world.make.time()}
    account.service_tokens[token["id"]] = changed
    return changed


def _expiry(now: datetime, duration: Any) -> str | None:
    if duration == "forever":
        return None
    parts = _PART.findall(duration) if isinstance(duration, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        raise invalid(f"invalid duration {duration!r}")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return timestamp(now + timedelta(seconds=seconds))


def _moment(payload: JsonObject) -> datetime:
    try:
        return parse_timestamp(payload["previous_client_secret_expires_at"])
    except (TypeError, ValueError) as error:
        raise invalid("previous_client_secret_expires_at is not a time") from error


def _end_previous(secrets: list[ServiceSecret], until: datetime) -> None:
    for secret in secrets[:-1]:
        secret.until = until
