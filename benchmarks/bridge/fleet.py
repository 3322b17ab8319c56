"""A fleet of TubiLambdaService instances, and a function's policy that is as full as it may be, in virtual time.

The operator is production's, put together as `edgekeeper run` does it, with its default budget; the simulated AWS has its
published limits, of which one call per 30 seconds for domain names matters most here. With ACK, domain names are ACK's calls,
which are not counted: only the operator's own are.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from edgekeeper.api.lambda_permission import LAMBDA_PERMISSION
from edgekeeper.cli.assembly import OperatorOptions, assembled
from edgekeeper.cli.kinds import DEFINITIONS, MODULES
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.controllers.zerotrust.modules import ZERO_TRUST_MODULES
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.lifecycle.module import CommonOptions, kind_of
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
from kubesim.ack.controller import acting
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.aws.cloud import ACCOUNT, AwsCloud
from kubesim.aws.session import session_class
from kubesim.aws.settings import PUBLISHED
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock

REGION, ZONE_NAME, NAMESPACE, CLUSTER = "eu-west-1", "example.com", "default", "bench"
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "platform" / "tubi-lambda-service.yaml"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GRAPHS: Final = "/apis/kro.run/v1alpha1/resourcegraphdefinitions"
SERVICES: Final = GroupResource("kro.run", "tubilambdaservices")
PERMISSIONS: Final = kind_of(LAMBDA_PERMISSION)
UNHEARD: Final = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
STATEMENTS, STATEMENT_BYTES = 60, 333
LAMBDA_OPERATIONS: Final = ("GetPolicy", "AddPermission", "RemovePermission", "GetFunction")
REST_SECONDS, PATIENCE_SECONDS, LOOK_SECONDS = 1800.0, 24 * 3600.0, 1.0


class Growth(msgspec.Struct, frozen=True):
    """How a fleet came to be, and what it costs from then on."""

    seconds: float
    """From the first instance until all were ACTIVE, in virtual time."""
    calls: dict[str, int]
    """The operator's own, by operation."""
    throttled: int
    rest_calls: int
    """In half an hour in which nothing happened."""
    rest_writes: int
    """To the cluster and to AWS, in the same time."""


class Policy(msgspec.Struct, frozen=True):
    """A policy that is as full as it may be."""

    statement_bytes: float
    """On average, in the policy."""
    calls: int
    """Until it was complete."""
    resync_calls: float
    """Of one resync with nothing to do."""


@dataclass
class Site:
    """A cluster, and a cloud with a zone and a certificate for all names in it."""

    plane: Plane
    cloud: AwsCloud
    clock: LoopClock

    async def furnish(self, *, ack: bool) -> None:
        account = self.cloud.account()
        account.route53.add_zone(ZONE_NAME)
        account.certificates(REGION).add_issued(f"*.{ZONE_NAME}")
        foreign = [kind.definition() for kind in ACK_KINDS] if ack else []
        for definition in (*(kind.definition() for kind in DEFINITIONS), *foreign):
            await self.plane.client.create(CRDS, definition)
        await self.plane.settle()

    @asynccontextmanager
    async def operator(self, mode: str) -> AsyncIterator[None]:
        settings = AwsSettings(region=REGION)
        clients = AwsClients(
            settings,
            session=static_session(ACCOUNT, "bench"),
            http_session_class=session_class(self.cloud),
        )
        options = OperatorOptions(
            RuntimeOptions(server=UNHEARD),
            CommonOptions(CLUSTER, "edgekeeper-system"),
            modules=tuple(one for one in MODULES if one not in ZERO_TRUST_MODULES),
            values={"bridge_mode": mode},
            signals=False,
        )
        transport = InProcessTransport(self.plane)
        async with (
            assembled(options, transport, clients, clock=self.clock, host="embedded") as operator,
            operator.manager.running(),
        ):
            yield

    async def until(self, holds: Callable[[], bool]) -> float:
        """Wait until something holds, and return how long that took."""
        began = self.clock.monotonic()
        while not holds():
            if self.clock.monotonic() - began > PATIENCE_SECONDS:
                raise RuntimeError("the fleet does not come to its end")
            await asyncio.sleep(LOOK_SECONDS)
        return self.clock.monotonic() - began

    def take_calls(self) -> Counter[str]:
        """The calls since the last time."""
        counts = Counter(self.cloud.journal.counts)
        self.cloud.journal.clear()
        return counts


@asynccontextmanager
async def furnished(*, ack: bool) -> AsyncIterator[Site]:
    clock = LoopClock()
    async with Plane(PlaneConfig(simulators=frozenset(), gateway_api=True, now=clock.now)) as plane:
        site = Site(plane, AwsCloud(clock, rates=PUBLISHED), clock)
        await site.furnish(ack=ack)
        yield site


async def grow(count: int, mode: str) -> Growth:
    """Instances from nothing to ACTIVE, and half an hour after that."""
    async with furnished(ack=True) as site, acting(site.plane, site.cloud, REGION), site.operator(mode):
        (definition,) = load_manifests([EXAMPLE])
        await site.plane.client.create(GRAPHS, definition.body)
        path = f"{GRAPHS}/{definition.name}"
        while dig(await site.plane.client.get(path), "status", "state") != "Active":  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(LOOK_SECONDS)
        active: set[str] = set()
        site.plane.store.listen(lambda resource, event: _note(resource, event.item.decode(), active))
        site.take_calls()
        for number in range(count):
            await site.plane.client.create(
                f"/apis/kro.run/v1alpha1/namespaces/{NAMESPACE}/{SERVICES.plural}", _service(number)
            )
        seconds = await site.until(lambda: len(active) == count)
        throttled = sum(n for code, n in site.cloud.journal.codes.items() if code in _THROTTLED)
        calls = site.take_calls()
        await asyncio.sleep(REST_SECONDS / 3)  # what was under way comes to its end
        site.take_calls()
        revision = site.plane.store.revision
        await asyncio.sleep(REST_SECONDS)
        rest = site.take_calls()
        written = sum(n for name, n in rest.items() if not name.startswith(("List", "Get", "Describe")))
        return Growth(
            seconds, dict(calls), throttled, rest.total(), written + site.plane.store.revision - revision
        )


_THROTTLED: Final = frozenset({"Throttling", "ThrottlingException", "TooManyRequestsException"})


def _note(resource: GroupResource, obj: JsonObject, active: set[str]) -> None:
    if resource == SERVICES:
        is_active = dig(obj, "status", "state") == "ACTIVE"
        (active.add if is_active else active.discard)(obj["metadata"]["name"])


def _service(number: int) -> JsonObject:
    name = f"service-{number:03}"
    spec = {
        "code": {"bucket": "releases", "key": f"{name}/1.0.0/bootstrap.zip"},
        "domain": {"name": f"{name}.{ZONE_NAME}"},
    }
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "TubiLambdaService",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


async def fill() -> Policy:
    """A LambdaPermission of 60 statements from nothing to Ready, and its resyncs."""
    async with furnished(ack=False) as site, site.operator("direct"):
        function = site.cloud.account().functions(REGION).add("orders")
        await asyncio.sleep(60)
        site.take_calls()
        ready: set[str] = set()
        site.plane.store.listen(lambda resource, event: _note_ready(resource, event.item.decode(), ready))
        path = PERMISSIONS.collection_path(NAMESPACE)
        await site.plane.client.create(path, _permission(function.arn))
        await site.until(lambda: bool(ready))
        calls = site.take_calls()
        stored = list(function.statements[""].values())
        size = sum(len(msgspec.json.encode(one)) for one in stored) / len(stored)
        await asyncio.sleep(REST_SECONDS)
        rest = site.take_calls()
        resyncs = REST_SECONDS / 300
        return Policy(size, _of_lambda(calls), _of_lambda(rest) / resyncs)


def _of_lambda(calls: Counter[str]) -> int:
    """Other kinds are looked at from time to time as well."""
    return sum(calls[operation] for operation in LAMBDA_OPERATIONS)


def _note_ready(resource: GroupResource, obj: JsonObject, ready: set[str]) -> None:
    if resource.plural == PERMISSIONS.plural and dig(obj, "status", "ready") is True:
        ready.add(obj["metadata"]["name"])


def _permission(function: str) -> JsonObject:
    """Statements of the same length, whose policy just fits."""
    return {
        "apiVersion": PERMISSIONS.api_version,
        "kind": PERMISSIONS.kind,
        "metadata": {"name": "orders", "namespace": NAMESPACE},
        "spec": {
            "functionRef": {"functionName": "orders"},
            "permissions": [_statement(number, function) for number in range(STATEMENTS)],
        },
    }


def _statement(number: int, function: str) -> dict[str, Any]:
    id_, principal = f"api-{number:02}", "apigateway.amazonaws.com"
    source = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:a{number:09}/*/*/"
    stored = {
        "Sid": id_,
        "Effect": "Allow",
        "Principal": {"Service": principal},
        "Action": "lambda:InvokeFunction",
        "Resource": function,
        "Condition": {"ArnLike": {"AWS:SourceArn": source}},
    }
    padding = "x" * (STATEMENT_BYTES - len(msgspec.json.encode(stored)))
    return {"statementId": id_, "principal": principal, "sourceArn": source + padding}
