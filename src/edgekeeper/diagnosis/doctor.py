"""All checks of an installation, put together.

    results = await examine(installation, tell=progress)

The API server comes first: without it, only clouds are checked. Everything else runs at the same time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN
from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.api.definition import CustomKind
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.cloudflare.accounts import Cloudflare
from edgekeeper.cloud.reachability import EndpointError, Probe, probe
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import dig
from edgekeeper.diagnosis.aws_checks import check_aws, zones_of
from edgekeeper.diagnosis.catalog import read_catalog
from edgekeeper.diagnosis.checks import TIME_LIMIT, Check, Findings, Result, failed, ok, run_checks, warning
from edgekeeper.diagnosis.clocks import judge_clock
from edgekeeper.diagnosis.cloudflare_checks import check_tenants
from edgekeeper.diagnosis.cluster_checks import (
    check_leases,
    check_objects,
    check_predecessors,
    check_webhook,
)
from edgekeeper.diagnosis.dated import DatedTransport
from edgekeeper.diagnosis.definition_checks import check_definitions
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.diagnosis.right_checks import Surroundings, check_rights
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ApiError
from edgekeeper.lifecycle.module import KindModule, Role, kind_of
from edgekeeper.lifecycle.rbac import Rule

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients

CLUSTER: Final = "cluster"
API_SERVER: Final = "the API server"


@dataclass(frozen=True)
class Installation:
    """What is to be checked, and how it is reached."""

    client: KubeClient
    clock: Clock
    modules: tuple[KindModule, ...]
    """The kinds that the operator runs."""
    definitions: tuple[CustomKind, ...]
    rules: Sequence[Rule]
    around: Surroundings
    describe: Callable[[ApiError], tuple[str, str]]
    """Cause and remedy of an error of the API server."""
    transport: DatedTransport | None = None
    """That of the client, where it notes the server's time."""
    aws: tuple[AwsAccess, AwsClients] | None = None
    cloudflare: Cloudflare | None = None
    endpoints: Mapping[str, str] = field(default_factory=dict)
    """The endpoints of clouds that are used, by name."""
    probe: Probe = probe

    @property
    def controllers(self) -> list[str]:
        return [module.name for module in self.modules]


async def examine(
    one: Installation, *, limit: timedelta = TIME_LIMIT, tell: Callable[[str], None] | None = None
) -> list[Result]:
    """All results, those about the cluster first. `tell` is called with the name of each check that is done."""
    first = await run_checks([Check(CLUSTER, partial(_check_cluster, one))], limit=limit, tell=tell)
    is_reached = all(result.check != CLUSTER or result.verdict == "ok" for result in first)
    checks = [*(_cluster_checks(one) if is_reached else ()), *_cloud_checks(one, is_reached=is_reached)]
    return [*first, *await run_checks(checks, limit=limit, tell=tell)]


def _cluster_checks(one: Installation) -> list[Check]:
    namespace = one.around.namespace
    checks = [
        Check("definitions", partial(_read, one, lambda reader: check_definitions(reader, one.definitions))),
        Check("rights", partial(_rights, one)),
        Check(
            "operator",
            partial(_read, one, lambda reader: check_leases(reader, namespace, Role, one.clock.now())),
        ),
        Check(
            "previous operators",
            partial(
                _read, one, lambda reader: check_predecessors(reader, one.modules, namespace, one.clock.now())
            ),
        ),
        Check("objects", partial(_objects, one)),
    ]
    if one.around.webhook_service:
        service = one.around.webhook_service
        checks.append(
            Check("webhooks", partial(_read, one, lambda reader: check_webhook(reader, service, namespace)))
        )
    return checks


def _cloud_checks(one: Installation, *, is_reached: bool) -> list[Check]:
    checks = [Check(f"endpoint {name}", partial(_endpoint, one, name)) for name in one.endpoints]
    if one.aws is not None:
        checks.append(Check("aws", partial(_aws, one, is_reached=is_reached)))
    if one.cloudflare is not None and is_reached:
        checks.append(Check("cloudflare", partial(_cloudflare, one)))
    return checks


# The cluster


async def _check_cluster(one: Installation) -> Findings:
    try:
        version = await one.client.fetch("/version")
    except ApiError as error:
        return [failed(CLUSTER, *one.describe(error))]
    found = [ok(CLUSTER, f"the API server answers, version {dig(version, 'gitVersion') or 'unknown'}")]
    date = one.transport.date if one.transport is not None else ""
    clock = judge_clock(API_SERVER, date, one.clock.now())
    return found if clock is None else [*found, clock]


async def _read(one: Installation, check: Callable[[ClusterReader], Awaitable[Findings]]) -> Findings:
    """Run a check that reads the cluster. What RBAC denies is a result of its own."""
    reader = ClusterReader(one.client)
    try:
        found = await check(reader)
    except ApiError as error:
        return [failed(CLUSTER, *one.describe(error))]
    return [*found, *_denials(reader)]


def _denials(reader: ClusterReader) -> list[Result]:
    remedy = "run it as a user who may read them, or in a pod of the operator"
    return [
        warning("reading", f"not checked: this user may not read {place}", remedy) for place in reader.denials
    ]


async def _rights(one: Installation) -> Findings:
    try:
        return await check_rights(one.client, one.rules, one.around)
    except ApiError as error:
        message, remedy = one.describe(error)
        return [failed("rights", message, remedy)]


async def _objects(one: Installation) -> Findings:
    async def check(reader: ClusterReader) -> Findings:
        catalog = await read_catalog(one.modules, reader)
        return await check_objects(reader, catalog, "")

    return await _read(one, check)


# Clouds


async def _endpoint(one: Installation, name: str) -> Findings:
    url = one.endpoints[name]
    check = f"endpoint {name}"
    try:
        reached = await one.probe(url)
    except EndpointError as error:
        return [failed(check, f"{url}: {error}", error.remedy)]
    clock = judge_clock(name, reached.date, one.clock.now())
    found = [ok(check, f"{url} answers")]
    return found if clock is None or clock.verdict == "ok" else [*found, clock]


async def _aws(one: Installation, *, is_reached: bool) -> Findings:
    assert one.aws is not None  # noqa: S101 - checked by the caller
    access, clients = one.aws
    objects = []
    if is_reached:
        reader = ClusterReader(one.client)
        for definition in (DISTRIBUTION_TENANT, API_GATEWAY_DOMAIN):
            objects += await reader.select(kind_of(definition))
    return await check_aws(access, clients, one.controllers, zones_of(objects))


async def _cloudflare(one: Installation) -> Findings:
    assert one.cloudflare is not None  # noqa: S101 - checked by the caller
    return await check_tenants(ClusterReader(one.client), one.cloudflare, one.clock.now())
