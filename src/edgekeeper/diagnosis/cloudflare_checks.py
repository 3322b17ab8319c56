"""Whether Cloudflare can be used: for each tenant its Secret, token, tunnel, and what the token may read.

Tokens are read from Secrets with the rights of whoever runs the check. Only reads are sent.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from edgekeeper.cloud.cloudflare.accounts import Account, Cloudflare
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.zones import Zones
from edgekeeper.controllers.zerotrust.relations import tenant_relations
from edgekeeper.controllers.zerotrust.remedies import REMEDIES
from edgekeeper.controllers.zerotrust.route_index import TENANT, key_of
from edgekeeper.core.errors import PassError
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.diagnosis.checks import Result, failed, ok, warning
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.lifecycle.relations import Relation
from edgekeeper.lifecycle.remedies import Remedies

USUAL_APPLICATIONS: Final = 500
"""How many Access applications an account may have, unless Cloudflare raised it. No API tells the limit."""
_NEARLY: Final = 0.9
_SOON: Final = timedelta(days=14)
_REMEDIES: Final = Remedies(REMEDIES)
_PERMISSIONS: Final = "docs/kinds/cloudflare-zero-trust-tenant.md lists the permissions of the token"


async def check_tenants(reader: ClusterReader, cloudflare: Cloudflare, now: datetime) -> list[Result]:
    """Results for each tenant of the cluster."""
    found: list[Result] = []
    for tenant in await reader.select(TENANT):
        found += await _check_tenant(reader, cloudflare, tenant, now)
    return found


async def _check_tenant(
    reader: ClusterReader, cloudflare: Cloudflare, tenant: JsonObject, now: datetime
) -> list[Result]:
    name = f"cloudflare {key_of(tenant)}"
    relation = next(iter(tenant_relations(tenant)), None)
    if relation is None:
        return [failed(name, "spec.credentialRef names no Secret", "name the Secret with the API token")]
    token = await _token(reader, relation)
    if token is None:
        return [_no_token(reader, relation, name)]
    credential = Credential(f"{relation.key}/{relation.parts[0]}", partial(str, token))
    account = cloudflare.account(credential, str(dig(tenant, "spec", "accountId") or ""))
    return await _check_account(account, tenant, name, now)


async def _token(reader: ClusterReader, relation: Relation) -> str | None:
    secret = await reader.get(relation.kind, relation.key)
    encoded = dig(secret, "data", relation.parts[0])
    if not isinstance(encoded, str):
        return None
    try:
        return b64decode(encoded).decode()
    except (Base64Error, UnicodeDecodeError):
        return ""


def _no_token(reader: ClusterReader, relation: Relation, name: str) -> Result:
    if reader.denial(relation.kind, relation.key.namespace) is not None:
        message = f"not checked: this user may not read Secret {relation.key}"
        return warning(
            name,
            message,
            "run it in a pod of the operator: kubectl exec deploy/edgekeeper -- python3 -m edgekeeper.cli doctor",
        )
    message = f"Secret {relation.key} does not exist, or has no key {relation.parts[0]!r}"
    return failed(name, message, relation.remedy)


async def _check_account(account: Account, tenant: JsonObject, name: str, now: datetime) -> list[Result]:
    try:
        token = await account.verify()
    except PassError as error:
        return [failed(name, f"the API token cannot be used: {error.message}", _action(error))]
    found = [_judge_expiry(name, token.expires_on, now)]
    tunnel_id = str(dig(tenant, "spec", "tunnelId") or "")
    found += await _trial(name, "tunnels", lambda: _tunnel(account, tunnel_id, name))
    found += await _trial(name, "zones", lambda: _zones(account, name))
    found += await _trial(name, "Access applications", lambda: _applications(account, name))
    return found


def _judge_expiry(name: str, expires: datetime | None, now: datetime) -> Result:
    if expires is not None and expires - now < _SOON:
        return warning(
            name,
            f"the API token expires at {expires:%Y-%m-%d %H:%M}",
            "create another one, and put it into the Secret",
        )
    return ok(name, "the API token is active" + (f" until {expires:%Y-%m-%d}" if expires else ""))


async def _trial(name: str, what: str, run: Callable[[], Awaitable[Result]]) -> list[Result]:
    try:
        return [await run()]
    except PassError as error:
        return [failed(name, f"the API token may not read {what}: {error.message}", _PERMISSIONS)]


async def _tunnel(account: Account, tunnel_id: str, name: str) -> Result:
    tunnel = await account.tunnels.get(tunnel_id)
    if tunnel is None:
        message = f"the account has no tunnel {tunnel_id}"
        return failed(name, message, "correct spec.tunnelId of the tenant, or create the tunnel")
    if tunnel.status not in (None, "healthy"):
        return warning(
            name, f"tunnel {tunnel.name} is {tunnel.status}", "start cloudflared with the token of the tunnel"
        )
    return ok(name, f"tunnel {tunnel.name} is {tunnel.status}")


async def _zones(account: Account, name: str) -> Result:
    zones = [zone async for page in Zones(account.client, account.id).pages() for zone in page.values()]
    active = [zone.name for zone in zones if zone.status == "active"]
    if not active:
        return failed(
            name,
            "the API token sees no active zone",
            "add a zone to the account, or allow the token Zone:Read",
        )
    return ok(name, f"{len(active)} active zones")


async def _applications(account: Account, name: str) -> Result:
    count = sum([len(page) async for page in account.access.application_pages()])
    words = f"{count} Access applications; the usual limit is {USUAL_APPLICATIONS}"
    if count >= USUAL_APPLICATIONS * _NEARLY:
        return warning(name, words, "have the limit raised, or remove applications")
    return ok(name, words)


def _action(error: PassError) -> str:
    remedy = _REMEDIES.find(error.reason, error.message)
    return remedy.action if remedy is not None else "see the message of Cloudflare"
