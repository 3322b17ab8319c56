"""Tunnels and their configurations.

A configuration is one document that a PUT replaces as a whole: what is left out is gone, and `warp-routing` is off.
There is no precondition; the version in the answer is all that tells two writers of each other.
"""

from __future__ import annotations

from base64 import b64encode

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.filters import matches
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.tunnel_rules import check_configuration
from kubesim.cloudflare.wire import Paging, Refusal, Result, paged

_PAGES = Paging(default=1000, most=1000, tells_pages=False)


def list_tunnels(call: Call) -> Result:
    deleted = call.query.get("is_deleted")
    tunnels = [
        tunnel
        for tunnel in call.account.tunnels.values()
        if matches(tunnel, call.query, ("name",))
        and (deleted is None or (tunnel["deleted_at"] is not None) == (deleted == "true"))
    ]
    return paged(tunnels, call.query, _PAGES)


def get_tunnel(call: Call) -> Result:
    return Result(_tunnel(call))


def create_tunnel(call: Call) -> Result:
    """The answer holds the tunnel's secret, this once."""
    account, make = call.account, call.world.make
    name = call.payload.get("name")
    if not isinstance(name, str) or not name:
        raise Refusal(400, 1010, "Bad request: the tunnel has no name")
    alive = [tunnel for tunnel in account.tunnels.values() if tunnel["deleted_at"] is None]
    if any(tunnel["name"] == name for tunnel in alive):
        raise Refusal(409, 1013, "You already have a tunnel with this name")
    if len(alive) >= account.quotas.tunnels:
        raise Refusal(400, 1014, "The account has reached its limit of tunnels")
    id_, now = make.uuid(), make.time()
    source = call.payload.get("config_src", "local")
    tunnel: JsonObject = {
        "id": id_,
        "account_tag": account.id,
        "created_at": now,
        "deleted_at": None,
        "name": name,
        "connections": [],
        "conns_active_at": None,
        "conns_inactive_at": now,
        "tun_type": "cfd_tunnel",
        "metadata": {},
        "status": "inactive",
        "config_src": source,
        "remote_config": source == "cloudflare",
    }
    secret = call.payload.get("tunnel_secret") or b64encode(bytes.fromhex(make.digits(64))).decode()
    account.tunnels[id_] = tunnel
    account.configurations[id_] = {
        "tunnel_id": id_,
        "version": 0,
        "config": None,
        "source": source,
        "created_at": now,
    }
    credentials = {"AccountTag": account.id, "TunnelID": id_, "TunnelName": name, "TunnelSecret": secret}
    return Result(
        {**tunnel, "credentials_file": credentials, "token": _connector_token(account.id, id_, secret)}
    )


def delete_tunnel(call: Call) -> Result:
    """A deleted tunnel can still be looked at."""
    tunnel = _tunnel(call)
    if tunnel["deleted_at"] is not None:
        raise _not_found()
    if tunnel["connections"]:
        raise Refusal(
            400, 1022, "Cannot delete tunnel because it has active connections, please run cleanup command"
        )
    deleted = {**tunnel, "deleted_at": call.world.make.time()}
    call.account.tunnels[tunnel["id"]] = deleted
    return Result(deleted)


def get_configuration(call: Call) -> Result:
    return Result(_configuration(call))


def put_configuration(call: Call) -> Result:
    present = _configuration(call)
    config = call.payload.get("config")
    if not isinstance(config, dict):
        raise Refusal(400, 1056, "Bad Configuration: Validation failed: no configuration was given\n")
    check_configuration(config)
    stored = {
        **present,
        "config": {"warp-routing": {"enabled": False}, **config},
        "version": present["version"] + 1,
        "source": "cloudflare",
        "created_at": call.world.make.time(),
    }
    call.account.configurations[present["tunnel_id"]] = stored
    return Result({**stored, "account_id": call.account.id})


def _configuration(call: Call) -> JsonObject:
    tunnel = _tunnel(call)
    if tunnel["deleted_at"] is not None:
        raise Refusal(404, 1055, "Configuration for tunnel not found")
    return call.account.configurations[tunnel["id"]]


def _tunnel(call: Call) -> JsonObject:
    found = call.account.tunnels.get(call.ids["tunnel"])
    if found is None:
        raise _not_found()
    return found


def _not_found() -> Refusal:
    return Refusal(404, 1002, "Tunnel not found")


def _connector_token(account: str, tunnel: str, secret: str) -> str:
    return b64encode(msgspec.json.encode({"a": account, "t": tunnel, "s": secret})).decode()
