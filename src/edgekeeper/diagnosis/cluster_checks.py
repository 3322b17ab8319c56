"""What in a cluster keeps the operator from working: its Leases, operators that it replaces, webhooks, exhausted quotas."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from datetime import datetime
from typing import Final

from edgekeeper.controllers.bridge.controller import ACK_BRIDGE_NAMESPACE
from edgekeeper.core.duration import format_duration
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.diagnosis.catalog import Catalog
from edgekeeper.diagnosis.checks import Result, failed, ok, warning
from edgekeeper.diagnosis.operators import Holder, leases_of, running_predecessors
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.diagnosis.rows import Row, row_of
from edgekeeper.kube.kinds import SERVICE, VALIDATING_WEBHOOKS, Key, Kind
from edgekeeper.lifecycle.module import KindModule

LEASE: Final = "operator"
PREDECESSOR: Final = "previous operators"
WEBHOOK: Final = "webhooks"
OBJECTS: Final = "objects"
QUOTA: Final = "quotas"
ENDPOINTS: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_SHOWN: Final = 5


async def check_leases(
    reader: ClusterReader, namespace: str, roles: Iterable[str], now: datetime
) -> list[Result]:
    """Whether an operator runs, by its Leases."""
    leases = await leases_of(reader, now, namespace, roles)
    if leases or reader.denials:
        return [_judge_lease(lease, now) for lease in leases]
    message = (
        f"namespace {namespace} has no Lease of edgekeeper: no operator with leader election has run there"
    )
    return [warning(LEASE, message, "install the operator, or name its namespace with --operator-namespace")]


def _judge_lease(lease: Holder, now: datetime) -> Result:
    age = lease.age(now)
    since = "never" if age is None else f"{format_duration(age)} ago"
    if lease.is_live:
        return ok(LEASE, f"{lease.holder} leads (Lease {lease.key}, renewed {since})")
    holder = f"held by {lease.holder}, " if lease.holder else "released, "
    message = f"no operator is running: Lease {lease.key} is {holder}renewed {since}"
    return failed(LEASE, message, "look at the pods of the operator's Deployment, and at their logs")


async def check_predecessors(
    reader: ClusterReader, modules: Iterable[KindModule], namespace: str, now: datetime
) -> list[Result]:
    """Whether an operator runs that must not run beside this one: anywhere, or where the operator itself looks for them."""
    operators = dict.fromkeys(module.predecessor for module in modules if module.predecessor is not None)
    running = await running_predecessors(reader, now, operators)
    if reader.denials:
        reader.denials.clear()
        running = await running_predecessors(reader, now, operators, (namespace, ACK_BRIDGE_NAMESPACE))
    if not running and reader.denials:
        return []
    if not running:
        return [ok(PREDECESSOR, f"none of {', '.join(one.name for one in operators)} is running")]
    remedy = "scale it to zero: until then edgekeeper writes nothing for its kinds"
    return [failed(PREDECESSOR, f"{name} is running: {sign}", remedy) for name, sign in running.items()]


async def check_objects(reader: ClusterReader, catalog: Catalog, namespace: str) -> list[Result]:
    """Objects that are not ready, and quotas that keep some of them from it."""
    rows = [row async for row in _rows(reader, catalog, namespace)]
    return [_judge_objects(rows), *_judge_quotas(rows)]


async def _rows(reader: ClusterReader, catalog: Catalog, namespace: str) -> AsyncGenerator[Row]:
    for known in catalog.kinds:
        for obj in await reader.select(known.kind, namespace if known.kind.namespaced else ""):
            if known.shows(obj):
                yield row_of(obj, known)


def _judge_objects(rows: list[Row]) -> Result:
    waiting = [row for row in rows if not row.ready]
    if not waiting:
        return ok(OBJECTS, f"all {len(rows)} are ready")
    names = ", ".join(f"{row.kind.kind.lower()}/{row.key.name} ({row.reason})" for row in waiting[:_SHOWN])
    more = f" and {len(waiting) - _SHOWN} more" if len(waiting) > _SHOWN else ""
    message = f"{len(waiting)} of {len(rows)} are not ready: {names}{more}"
    return warning(OBJECTS, message, "edgekeeper explain KIND/NAME -n NAMESPACE")


def _judge_quotas(rows: list[Row]) -> Iterator[Result]:
    exhausted = [row for row in rows if not row.ready and row.reason == "QuotaExceeded"]
    for row in exhausted[:_SHOWN]:
        message = f"{row.kind.kind} {row.key}: {row.message}"
        yield failed(QUOTA, message, "have the quota raised, or delete what is not needed")


async def check_webhook(reader: ClusterReader, service: str, namespace: str) -> list[Result]:
    """Whether admission webhooks, where they are enabled, are registered and lead somewhere."""
    configuration = await reader.get(VALIDATING_WEBHOOKS, Key("", service))
    if configuration is None and reader.denials:
        return []
    if configuration is None:
        message = f"ValidatingWebhookConfiguration {service} does not exist"
        return [
            failed(
                WEBHOOK,
                message,
                "the operator creates it: check that it runs with --webhook-service and its rights",
            )
        ]
    problems = [*_webhook_problems(configuration), *await _service_problems(reader, Key(namespace, service))]
    remedy = "check that the operator runs, and that its Service selects its pods"
    return [failed(WEBHOOK, problem, remedy) for problem in problems] or [
        ok(
            WEBHOOK,
            f"{len(dig_list(configuration, 'webhooks'))} are registered, and Service {namespace}/{service} has ready endpoints",
        )
    ]


def _webhook_problems(configuration: JsonObject) -> Iterator[str]:
    for one in dig_list(configuration, "webhooks"):
        if not dig(one, "clientConfig", "caBundle"):
            yield f"webhook {dig(one, 'name')} has no caBundle: the API server cannot trust its certificate"


async def _service_problems(reader: ClusterReader, key: Key) -> list[str]:
    if await reader.get(SERVICE, key) is None and not reader.denials:
        return [f"Service {key} of the webhooks does not exist"]
    slices = await reader.select(ENDPOINTS, key.namespace, f"{_SERVICE_LABEL}={key.name}")
    if reader.denials:
        return []
    ready = [
        endpoint
        for one in slices
        for endpoint in dig_list(one, "endpoints")
        if dig(endpoint, "conditions", "ready") is not False
    ]
    return [] if ready else [f"Service {key} of the webhooks has no ready endpoint"]
