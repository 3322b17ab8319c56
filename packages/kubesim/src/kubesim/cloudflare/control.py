"""The control endpoint: what the Python interface of the simulation does, for programs outside of this process.

    GET    /_control/journal                 counts by operation, and every entry
    DELETE /_control/journal
    GET    /_control/world                   accounts, zones and tunnels, to find their ids
    POST   /_control/accounts                {"name"}
    POST   /_control/zones                   {"account", "name", "plan"?}
    POST   /_control/tunnels                 {"account", "name"}
    POST   /_control/tokens                  {"value"?, "permissions"?, "accounts"?, "zones"?, "owner"?}
    POST   /_control/faults                  the fields of a Fault; `lasting` in seconds
    DELETE /_control/faults
    POST   /_control/time                    {"advance": seconds}
    POST   /_control/block                   {"token": id, "seconds"?}
    POST   /_control/act                     {"method", "path", "body"?}: the API as an administrator, for drift

It listens on loopback beside the API and asks for no token: it is as safe as the data in a simulation have to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.faults import Fault
from kubesim.cloudflare.state import PERMISSIONS
from kubesim.cloudflare.wire import Refusal, Request, Response, Result, accepted, refused

CONTROL_PATH = "/_control"

_FAULT_FIELDS = frozenset(field.name for field in fields(Fault))


def control(cloud: CloudflareCloud, request: Request) -> Response:
    """Answer a request to the control endpoint."""
    action = _ACTIONS.get((request.method, request.path.removeprefix(f"{CONTROL_PATH}/").rstrip("/")))
    if action is None:
        return refused(Refusal(404, 1, f"no such control: {request.method} {request.path}"))
    try:
        payload = msgspec.json.decode(request.body or b"{}", type=dict[str, Any])
        return accepted(Result(action(cloud, payload)))
    except Refusal as refusal:
        return refused(refusal)
    except (KeyError, TypeError, ValueError) as error:
        return refused(Refusal(400, 2, f"{type(error).__name__}: {error}"))


def _clear_journal(cloud: CloudflareCloud, _: JsonObject) -> None:
    cloud.journal.clear()


def _world(cloud: CloudflareCloud, _: JsonObject) -> JsonObject:
    return {
        "accounts": [
            {"id": account.id, "name": account.name, "tunnels": list(account.tunnels)}
            for account in cloud.world.accounts.values()
        ],
        "zones": [{"id": zone.id, "name": zone.name} for zone in cloud.world.zones.values()],
        "tokens": [{"id": token.id, "owner": token.owner} for token in cloud.world.tokens.values()],
    }


def _add_account(cloud: CloudflareCloud, payload: JsonObject) -> JsonObject:
    return {"id": cloud.add_account(payload["name"]).id}


def _add_zone(cloud: CloudflareCloud, payload: JsonObject) -> JsonObject:
    account = cloud.world.account(payload["account"])
    return {"id": cloud.add_zone(account.id, payload["name"], plan=payload.get("plan", "free")).id}


def _add_tunnel(cloud: CloudflareCloud, payload: JsonObject) -> JsonObject:
    return {"id": cloud.add_tunnel(payload["account"], payload["name"])}


def _add_token(cloud: CloudflareCloud, payload: JsonObject) -> JsonObject:
    accounts, zones = payload.get("accounts"), payload.get("zones")
    token = cloud.add_token(
        payload.get("value", ""),
        permissions=frozenset(payload.get("permissions", PERMISSIONS)),
        accounts=None if accounts is None else frozenset(accounts),
        zones=None if zones is None else frozenset(zones),
        owner=payload.get("owner", "user"),
    )
    return {"id": token.id, "value": token.value}


def _add_fault(cloud: CloudflareCloud, payload: JsonObject) -> None:
    unknown = payload.keys() - _FAULT_FIELDS
    if unknown:
        raise ValueError(f"a fault has no {', '.join(sorted(unknown))}")
    lasting = payload.pop("lasting", None)
    cloud.faults.add(Fault(**payload, lasting=None if lasting is None else timedelta(seconds=lasting)))


def _clear_faults(cloud: CloudflareCloud, _: JsonObject) -> None:
    cloud.faults.clear()


def _advance(cloud: CloudflareCloud, payload: JsonObject) -> None:
    cloud.advance(timedelta(seconds=payload["advance"]))


def _block(cloud: CloudflareCloud, payload: JsonObject) -> None:
    seconds = payload.get("seconds")
    cloud.throttle.block(payload["token"], None if seconds is None else timedelta(seconds=seconds))


def _act(cloud: CloudflareCloud, payload: JsonObject) -> Any:
    return cloud.act(payload["method"], payload["path"], payload.get("body"))


_ACTIONS: dict[tuple[str, str], Callable[[CloudflareCloud, JsonObject], Any]] = {
    ("GET", "journal"): lambda cloud, _: cloud.journal.shown(),
    ("DELETE", "journal"): _clear_journal,
    ("GET", "world"): _world,
    ("POST", "accounts"): _add_account,
    ("POST", "zones"): _add_zone,
    ("POST", "tunnels"): _add_tunnel,
    ("POST", "tokens"): _add_token,
    ("POST", "faults"): _add_fault,
    ("DELETE", "faults"): _clear_faults,
    ("POST", "time"): _advance,
    ("POST", "block"): _block,
    ("POST", "act"): _act,
}
