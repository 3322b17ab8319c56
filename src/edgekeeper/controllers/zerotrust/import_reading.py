"""Which tunnel to import, and what the cluster has that its routes depend on, for `edgekeeper import routes`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from edgekeeper.api.zerotrust import TemplateSpec, ZeroTrustTenant
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.controllers.zerotrust.context import RouteOptions
from edgekeeper.controllers.zerotrust.credentials import api_token
from edgekeeper.controllers.zerotrust.desired import hostnames_of
from edgekeeper.controllers.zerotrust.import_account import FoundAccount, read_account
from edgekeeper.controllers.zerotrust.import_routes import RouteWorld, import_routes
from edgekeeper.controllers.zerotrust.kube_worker import KubeWorkerOptions
from edgekeeper.controllers.zerotrust.route_index import TEMPLATE, TENANT
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import HTTP_ROUTE, SECRET, Key
from edgekeeper.lifecycle.guards import HostnamePolicy
from edgekeeper.lifecycle.importing import (
    ImportRequest,
    ImportResult,
    derived_names,
    key_of,
    listed,
    manifest,
)
from edgekeeper.lifecycle.module import FlagValues, Process

DEFAULT_SECRET: Final = "cloudflare-api-token"  # noqa: S105 - the name of a Secret
_ACCOUNT: Final = re.compile("[a-f0-9]{32}")


@dataclass(frozen=True)
class Source:
    """The tunnel to import, and the tenant that stands for it."""

    key: Key
    tenant: ZeroTrustTenant
    is_new: bool = False
    """Whether the cluster has no such tenant yet, so that its manifest is written."""


async def import_tunnel(
    process: Process, options: KubeWorkerOptions, values: FlagValues, request: ImportRequest
) -> list[ImportResult]:
    """The manifests of a tunnel's hostnames, and of a tenant if there is none. Raise PassError if it cannot be read."""
    client = process.services.client
    tenants = await listed(client, TENANT)
    source = _source(tenants, values, request)
    found = await _read(process, client, source)
    if source.is_new:
        name = _tenant_name(found, source, [key_of(one) for one in tenants])
        source = Source(Key(source.key.namespace, name), source.tenant, is_new=True)
    world = await _world(client, process.options.cluster, source, options)
    results = import_routes(found, world, request)
    return [*([_imported_tenant(source, found)] if source.is_new else []), *results]


def _source(tenants: Iterable[JsonObject], values: FlagValues, request: ImportRequest) -> Source:
    known = {key_of(obj): obj for obj in tenants}
    if named := str(values.get("tenant") or ""):
        namespace, _, name = named.rpartition("/")
        key = Key(namespace or request.home, name)
        if key not in known:
            raise Stall("TenantNotFound", f"there is no CloudflareZeroTrustTenant {key}{_shown(known)}")
        return _decoded(key, known[key])
    account, tunnel = str(values.get("account") or ""), str(values.get("tunnel") or "")
    if account or tunnel:
        return _of_flags(known, account, tunnel, values, request)
    if len(known) != 1:
        raise Stall(
            "TenantAmbiguous",
            "it is not known which tunnel to read: choose a CloudflareZeroTrustTenant with --tenant, or an account and "
            f"a tunnel with --account and --tunnel{_shown(known)}",
        )
    ((key, obj),) = known.items()
    return _decoded(key, obj)


def _of_flags(
    known: dict[Key, JsonObject], account: str, tunnel: str, values: FlagValues, request: ImportRequest
) -> Source:
    if not _ACCOUNT.fullmatch(account) or not tunnel:
        raise Stall(
            "ValidationFailed",
            "--account needs an id of 32 hexadecimal digits, and --tunnel an id, both together",
        )
    for key, obj in sorted(known.items()):
        if (dig(obj, "spec", "accountId"), dig(obj, "spec", "tunnelId")) == (account, tunnel):
            return _decoded(key, obj)
    namespace, _, secret = str(values.get("credential_secret") or DEFAULT_SECRET).rpartition("/")
    spec = {"accountId": account, "tunnelId": tunnel, "credentialRef": {"name": secret}}
    return _decoded(Key(namespace or request.home, ""), {"spec": spec}, is_new=True)


def _decoded(key: Key, obj: JsonObject, *, is_new: bool = False) -> Source:
    try:
        return Source(key, msgspec.convert({"spec": obj.get("spec")}, ZeroTrustTenant), is_new)
    except msgspec.ValidationError as error:
        raise Stall("TenantInvalid", f"CloudflareZeroTrustTenant {key}: {error}") from error


def _shown(known: Iterable[Key]) -> str:
    names = ", ".join(sorted(map(str, known)))
    return f"; there are: {names}" if names else "; the cluster has no CloudflareZeroTrustTenant"


async def _read(process: Process, client: KubeClient, source: Source) -> FoundAccount:
    spec = source.tenant.spec
    secret = Key(source.key.namespace, spec.credential_ref.name)
    try:
        obj: JsonObject | None = await client.get(SECRET, secret)
    except NotFoundError:
        obj = None
    token = api_token(obj, secret, spec.credential_ref.key)
    credential = Credential(f"{secret}/{spec.credential_ref.key}", lambda: token)
    account = process.cloudflare.account(credential, spec.account_id)
    return await read_account(account, spec.tunnel_id)


async def _world(client: KubeClient, cluster: str, source: Source, options: KubeWorkerOptions) -> RouteWorld:
    routes, templates = await listed(client, HTTP_ROUTE), await listed(client, TEMPLATE)
    declared = {
        hostname: f"declared by HTTPRoute {key_of(obj)}" for obj in routes for hostname in hostnames_of(obj)
    }
    return RouteWorld(
        cluster,
        source.key,
        source.tenant,
        declared,
        frozenset(key_of(obj).name for obj in (*routes, *templates)),
        {key_of(obj): _template(obj) for obj in templates},
        RouteOptions(options.default_origin, options.dns_only_public),
        HostnamePolicy(options.hostnames),
    )


def _template(obj: JsonObject) -> TemplateSpec:
    try:
        return msgspec.convert(obj.get("spec") or {}, TemplateSpec)
    except msgspec.ValidationError as error:
        raise Stall(
            "TemplateInvalid", f"CloudflareZeroTrustTemplate {key_of(obj)}: {error}: correct it"
        ) from error


# The tenant


def _tenant_name(found: FoundAccount, source: Source, taken: Iterable[Key]) -> str:
    """The name of a new tenant: that of the tunnel."""
    text = found.tunnel_name or source.tenant.spec.tunnel_id
    return derived_names([text], {key.name for key in taken})[text]


def _imported_tenant(source: Source, found: FoundAccount) -> ImportResult:
    body = manifest(TENANT, source.key.namespace, source.key.name, msgspec.to_builtins(source.tenant.spec))
    return ImportResult(
        f"tunnel {found.tunnel_name or found.tunnel_id}",
        (body,),
        notes=(
            f"its API token is read from the Secret {source.key.namespace}/{source.tenant.spec.credential_ref.name}",
        ),
    )
