"""Zero Trust as the harness sees it: in one process, or in two of which one is hit by the faults."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from edgekeeper.api.zerotrust import FINALIZER, PREFIX, ZERO_TRUST_TEMPLATE, ZERO_TRUST_TENANT
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.cloudflare.accounts import Cloudflare, CloudflareOptions
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport
from edgekeeper.controllers.zerotrust import report, tenant_kind
from edgekeeper.controllers.zerotrust.kube_worker import KubeWorkerOptions, kube_worker
from edgekeeper.controllers.zerotrust.route_report import REASON
from edgekeeper.controllers.zerotrust.state import DRIFT
from edgekeeper.controllers.zerotrust.token_secrets import OWNER
from edgekeeper.controllers.zerotrust.worker import TASK, TENANT, CloudflareWorker, WorkerOptions
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, NAMESPACE, SECRET, Key
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.metrics import Metrics
from kubesim.plane.kinds.gateway import gateway_crds
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.crash.stage import Stage, is_settled
from tests.crash.system import System, has_ready_condition
from tests.zerotrust_crash import truth
from tests.zerotrust_crash.estate import TOKEN, Estate
from tests.zerotrust_crash.portrait import comparable
from tests.zerotrust_crash.truth import Declared, annotation, declared, surplus

OPERATOR = "cloudflare-zero-trust"
CLUSTER = "test-cluster"
WEB = "web"
KUBE_OPTIONS = KubeWorkerOptions(operator_namespace=OPERATOR)
WORKER_OPTIONS = WorkerOptions(CLUSTER, OPERATOR, "worker-1")
STALLS = frozenset({"HostnameConflict", "DomainConflict"})
MASKED = frozenset(
    {
        *("uid", "lastTransitionTime", "lastSyncTime", "expiresOn", "generation", "observedGeneration"),
        *(f"{PREFIX}lastReconcile", f"{PREFIX}httproute-uid", "edgekeeper.io/rotated-at"),
        *("last_sync_time", "token_expires_at", "task"),
    }
)
_ROUTES = GroupResource(HTTP_ROUTE.group, HTTP_ROUTE.plural)


def kube_controllers(services: Services, _: Estate, __: Calls) -> Sequence[Controller]:
    return kube_worker(services, Claims(), KUBE_OPTIONS)


def cloudflare_controllers(services: Services, estate: Estate, calls: Calls) -> Sequence[Controller]:
    assert isinstance(services.metrics, Metrics)
    registry = services.metrics.registry
    metrics = CloudMetrics(registry)
    transport = Transport(calls, services.clock, Budget(), metrics)
    options = CloudflareOptions("http://localhost/client/v4", WORKER_OPTIONS.intervals.pace)
    cloudflare = Cloudflare(transport, estate.send, services.clock, metrics, options)
    worker = CloudflareWorker(services, cloudflare, registry, WORKER_OPTIONS)
    return [worker.tasks(), worker.drift(), worker.tenants()]


def all_controllers(services: Services, estate: Estate, calls: Calls) -> Sequence[Controller]:
    return [
        *kube_controllers(services, estate, calls),
        *cloudflare_controllers(services, estate, calls),
    ]


# What is there before the operator starts


async def prepare(stage: Stage[Estate]) -> None:
    """Namespaces, the API token, and a tenant for each account."""
    for name in (OPERATOR, WEB):
        await stage.user.create(NAMESPACE, _object("v1", "Namespace", Key("", name)))
    await stage.create(
        _object(
            "v1", "Secret", Key(OPERATOR, "cloudflare"), data={"token": b64encode(TOKEN.encode()).decode()}
        )
    )
    for name, site in stage.outside.sites.items():
        spec = {
            "accountId": site.account.id,
            "tunnelId": site.tunnels[0],
            "credentialRef": {"name": "cloudflare"},
        }
        await stage.create(_object(TENANT.api_version, TENANT.kind, Key(OPERATOR, name), spec=spec))
    stage.plane.store.listen(lambda resource, event: _note(stage, resource, event))


def _note(stage: Stage[Estate], resource: GroupResource, event: Event) -> None:
    """Tell the estate what routes declare, from the moment on at which they do."""
    if resource == _ROUTES and event.type != "DELETED":
        wanted = declared(event.item.decode(), stage.outside)
        if wanted is not None:
            stage.outside.declare(wanted.hostname, _admitted(stage, wanted, event.item.decode()))


def _admitted(stage: Stage[Estate], wanted: Declared, route: JsonObject) -> set[str] | None:
    """Whom a hostname may let in: also those of the application that it shares."""
    shared = annotation(route, "access.applicationDomain")
    if not shared:
        return wanted.identities
    return stage.outside.guards[shared].identities


def _object(api_version: str, kind: str, key: Key, **body: Any) -> JsonObject:
    metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


# Judging


def routes(stage: Stage[Estate]) -> list[JsonObject]:
    return [obj for obj in stage.objects() if obj["kind"] == "HTTPRoute"]


def is_at_rest(stage: Stage[Estate]) -> bool:
    """Whether every route is published as it asks, or gone, or says why not; and no task is left."""
    objects, estate = list(stage.objects()), stage.outside
    wanted = {_key(obj): one for obj in objects if (one := declared_route(obj, estate)) is not None}
    states = {_route_of(obj) for obj in objects if _is_state(obj)}
    return (
        all(_is_at_rest(obj, estate) for obj in objects)
        and states <= wanted.keys()
        and not any(surplus(list(wanted.values()), estate))
    )


def _is_at_rest(obj: JsonObject, estate: Estate) -> bool:
    if obj["kind"] == "CloudflareTask":
        return False
    if obj["kind"] == "ConfigMap":
        return DRIFT not in dig_object(obj, "metadata", "annotations")
    if obj["kind"] != "HTTPRoute":
        return obj["kind"] != TENANT.kind or is_settled(obj)
    if declared(obj, estate) is None:
        return FINALIZER not in (dig(obj, "metadata", "finalizers") or ())
    reason = dig_object(obj, "metadata", "annotations").get(REASON)
    return reason in STALLS or (truth.is_ready(obj) and not truth.lies(obj, estate))


def is_ready(obj: JsonObject) -> bool:
    return truth.is_ready(obj) or has_ready_condition(obj)


def wrongs(stage: Stage[Estate]) -> Iterator[str]:
    """Everything that must never be, and was or is."""
    estate = stage.outside
    yield from dict.fromkeys(estate.wrongs)
    objects = list(stage.objects())
    live = [(obj, wanted) for obj in objects if (wanted := declared_route(obj, estate)) is not None]
    ready = [wanted for obj, wanted in live if truth.is_ready(obj)]
    yield from (fault for obj, _ in live if truth.is_ready(obj) and (fault := truth.lies(obj, estate)))
    yield from surplus(ready, estate)
    yield from (f"left over: task {obj['metadata']['name']}" for obj in objects if obj["kind"] == TASK.kind)
    published = {_key(obj) for obj, wanted in live if wanted in ready}
    states = [_route_of(obj) for obj in objects if _is_state(obj)]
    if sorted(states) != sorted(published):
        yield f"there are states for {sorted(states)}, but {sorted(published)} are published"
    yield from _secret_faults(estate, ready, [obj for obj in objects if obj["kind"] == SECRET.kind])


def _secret_faults(estate: Estate, ready: list[Declared], secrets: list[JsonObject]) -> Iterator[str]:
    """R-02, S-22: one token for each route that wants one, and its secret is stored."""
    ours = {_key(obj): obj for obj in secrets if OWNER in dig_object(obj, "metadata", "annotations")}
    wanted = {route.secret: route for route in ready if route.secret is not None}
    yield from (f"orphan: Secret {key}" for key in ours.keys() - wanted.keys())
    for key, route in wanted.items():
        data = {name: b64decode(value).decode() for name, value in ours.get(key, {}).get("data", {}).items()}
        credentials = data.get("client_id", ""), data.get("client_secret", "")
        if not estate.cloud.opens(route.site.account.id, *credentials):
            yield f"Secret {key} of {route.token} opens nothing"


def declared_route(obj: JsonObject, estate: Estate) -> Declared | None:
    return declared(obj, estate) if obj["kind"] == "HTTPRoute" else None


def _is_state(obj: JsonObject) -> bool:
    return bool(obj["kind"] == "ConfigMap" and dig(obj, "data", "httproute_name"))


def _route_of(obj: JsonObject) -> tuple[str, str]:
    return obj["data"]["httproute_namespace"], obj["data"]["httproute_name"]


def _key(obj: JsonObject) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


GATEWAY_KINDS = ("HTTPRoute", "ReferenceGrant")
"""What the operator reads of the Gateway API."""

ROUTES: System[Estate] = System(
    definitions=(
        *(kind.definition() for kind in (CLOUDFLARE_TASK, ZERO_TRUST_TENANT, ZERO_TRUST_TEMPLATE)),
        *(crd for crd in gateway_crds() if crd["spec"]["names"]["kind"] in GATEWAY_KINDS),
    ),
    declarations={TASK: report.DECLARATION, TENANT: tenant_kind.DECLARATION},
    outside=Estate,
    controllers=all_controllers,
    lies=truth.lies,
    canary=TOKEN,
    masked=MASKED,
    quiet=timedelta(minutes=6),
    wrongs=wrongs,
    compared=(HTTP_ROUTE, CONFIG_MAP, SECRET),
    comparable=lambda obj, estate: comparable(obj, estate.labels()),
    is_ready=is_ready,
    is_settled=is_at_rest,
    secrets=lambda estate: estate.issued,
    prepare=prepare,
)
"""Both workers in one process."""
KUBE_WORKER = replace(ROUTES, controllers=kube_controllers, companion=cloudflare_controllers)
"""Two processes: faults hit the kube-worker."""
CLOUDFLARE_WORKER = replace(ROUTES, controllers=cloudflare_controllers, companion=kube_controllers)
"""Two processes: faults hit the cloudflare-worker."""
