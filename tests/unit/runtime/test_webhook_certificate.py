"""Rules of a controller, asked by the API server over TLS with a certificate that we made and had it trust."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.cli.assembly import webhooks_of
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import InvalidError, NotFoundError
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import SECRET, VALIDATING_WEBHOOKS, Key, Kind
from edgekeeper.kube.lease import Elector
from edgekeeper.runtime.certificates import CertificateError, self_signed
from edgekeeper.runtime.contract import ControllerOptions, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.options import ServerOptions
from edgekeeper.runtime.server import Server
from edgekeeper.runtime.validation import Problem, User
from edgekeeper.runtime.webhook_certificate import WebhookCertificate, WebhookService
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport
from packages.kubesim.tests.plane.cluster import define, running
from tests.logs import capture_logs
from tests.unit.runtime.accounts import account_token
from tests.unit.runtime.wire import ANYWHERE
from tests.unit.runtime.world import QUIET, Toy

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
ONE = Key("default", "one")
CLUSTER = WebhookService("default", "edgekeeper")
LOCAL = WebhookService("default", "edgekeeper", local=True)
PATH = "/validate-example-com-v1-widget"
PATIENCE = 20.0


class NoShrinking:
    """Sizes are even and never shrink; whoever is called eve writes nothing."""

    async def validate(self, old: JsonObject | None, new: JsonObject | None, user: User) -> Sequence[Problem]:
        size, before = dig(new, "spec", "size") or 0, dig(old, "spec", "size") or 0
        problems = []
        if size % 2:
            problems.append(Problem("spec.size", "must be even"))
        if size < before:
            problems.append(Problem("spec.size", f"must be {before} or more"))
        if user.username == "eve":
            problems.append(Problem("metadata", "is not eve's to write"))
        return problems


class Replica:
    """A process of an operator with one controller that has rules."""

    def __init__(self, plane: Plane, service: WebhookService, elector: bool = False) -> None:
        clock = SystemClock()
        client = KubeClient(InProcessTransport(plane), Calls(), clock)
        services = Services(client, Informers(client, clock), clock)
        controller = Controller(ControllerOptions("widget", WIDGET, validator=NoShrinking()), Toy(), services)
        webhooks = webhooks_of([controller])
        free = KubeClient(InProcessTransport(plane), Calls(), clock)
        certificate = WebhookCertificate(free, services.informers, clock, service, webhooks)
        options = ServerOptions(health_address=None, webhook_address=ANYWHERE)
        self.server = Server(options, Metrics(), client, clock, webhooks, certificate)
        waiting = Elector(free, clock, Key("default", "lease"), f"replica-{id(self)}") if elector else None
        self.manager = Manager(services, [controller], server=self.server, elector=waiting, options=QUIET)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        """Run it; the port of its webhooks."""
        task = asyncio.create_task(self.manager.run())
        try:
            await until(lambda: self.manager.is_ready)
            port = self.server.port("admission")
            assert port is not None
            yield port
        finally:
            self.manager.stop()
            await task


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.01)


async def until_live(
    client: KubeClient, kind: Kind, key: Key, holds: Callable[[JsonObject], object]
) -> JsonObject:
    async with asyncio.timeout(PATIENCE):
        while not holds(tree := await client.get(kind, key)):  # noqa: ASYNC110 - it is another's to write
            await asyncio.sleep(0.01)
    return tree


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running() as plane:
        await define(plane)
        yield plane


def user_of(plane: Plane) -> KubeClient:
    return KubeClient(InProcessTransport(plane), Calls(), SystemClock())


async def create(user: KubeClient, size: int, **metadata: Any) -> JsonObject:
    body = {"metadata": {"name": "one", **metadata}, "spec": {"size": size}}
    return await user.create(WIDGET, body, namespace="default")


def configuration(port: int, **hook: Any) -> JsonObject:
    """As an installation brings it: everything but whom to trust."""
    rule = {
        "apiGroups": ["example.com"],
        "apiVersions": ["v1"],
        "resources": ["widgets"],
        "operations": ["*"],
    }
    return {
        "metadata": {"name": "edgekeeper"},
        "webhooks": [
            {
                "name": "widget.example.com",
                "clientConfig": {"url": f"https://127.0.0.1:{port}{PATH}"},
                "rules": [rule],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                **hook,
            }
        ],
    }


def bundle_of(tree: JsonObject) -> bytes:
    return b64decode(dig(tree, "webhooks", 0, "clientConfig", "caBundle") or "")


async def test_rules_of_a_controller_decide_what_is_stored(plane: Plane) -> None:
    user = user_of(plane)
    async with Replica(plane, LOCAL).running():
        with pytest.raises(InvalidError, match=r"spec\.size: must be even") as caught:
            await create(user, 1)
        assert [(each["field"], each["message"]) for each in caught.value.causes] == [
            ("spec.size", "must be even")
        ]
        await create(user, 4)
        with pytest.raises(InvalidError, match="must be 4 or more"):
            await user.merge_patch(WIDGET, ONE, {"spec": {"size": 2}})
        await user.merge_patch(WIDGET, ONE, {"spec": {"size": 6}})
        assert (await user.get(WIDGET, ONE))["spec"] == {"size": 6}
    await user.merge_patch(WIDGET, ONE, {"spec": {"size": 1}})
    with pytest.raises(NotFoundError):
        await user.get(VALIDATING_WEBHOOKS, LOCAL.configuration)


async def test_object_older_than_its_rules_can_be_labelled_by_nobody_but_finalized(plane: Plane) -> None:
    user = user_of(plane)
    await create(user, 3, finalizers=["example.com/cleanup"])
    async with Replica(plane, LOCAL).running():
        await user.merge_patch(
            WIDGET, ONE, {"metadata": {"finalizers": ["example.com/cleanup", "example.com/b"]}}
        )
        with pytest.raises(InvalidError, match="must be even"):
            await user.merge_patch(WIDGET, ONE, {"metadata": {"labels": {"a": "b"}}})
        await user.delete(WIDGET, ONE)
        await user.merge_patch(WIDGET, ONE, {"metadata": {"finalizers": None, "labels": {"a": "b"}}})
        with pytest.raises(NotFoundError):
            await user.get(WIDGET, ONE)


async def test_configuration_of_the_installation_is_told_whom_to_trust_and_stays_as_it_is(
    plane: Plane,
) -> None:
    user = user_of(plane)
    replica = Replica(plane, CLUSTER)
    with capture_logs() as logs:
        async with replica.running() as port:
            brought = await user.create(
                VALIDATING_WEBHOOKS, configuration(port, failurePolicy="Ignore", timeoutSeconds=3)
            )
            trusted = await until_live(user, VALIDATING_WEBHOOKS, CLUSTER.configuration, bundle_of)
            secret = await user.get(SECRET, CLUSTER.secret)
            assert bundle_of(trusted) == b64decode(secret["data"]["ca.crt"])
            del trusted["webhooks"][0]["clientConfig"]["caBundle"]
            assert trusted["webhooks"] == brought["webhooks"]
            with pytest.raises(InvalidError, match="must be even"):
                await create(user, 1)
            # A deployment tool puts its own version back.
            emptied = {"webhooks": configuration(port)["webhooks"]}
            await user.merge_patch(VALIDATING_WEBHOOKS, CLUSTER.configuration, emptied)
            await until_live(user, VALIDATING_WEBHOOKS, CLUSTER.configuration, bundle_of)
            with pytest.raises(InvalidError, match="must be even"):
                await create(user, 1)
    warnings = [line["why"] for line in logs if line["event"] == "Admission webhooks may not be trusted"]
    assert warnings == ["there is no ValidatingWebhookConfiguration edgekeeper"], "said once"
    assert secret["type"] == "kubernetes.io/tls"


async def test_replicas_share_a_certificate_and_serve_it_without_leading(plane: Plane) -> None:
    user = user_of(plane)
    first, second = Replica(plane, CLUSTER, elector=True), Replica(plane, CLUSTER, elector=True)
    async with first.running() as port:
        await user.create(VALIDATING_WEBHOOKS, configuration(port))
        await until_live(user, VALIDATING_WEBHOOKS, CLUSTER.configuration, bundle_of)
        secret = await user.get(SECRET, CLUSTER.secret)
        async with second.running() as other:
            assert await user.get(SECRET, CLUSTER.secret) == secret
            moved = {"url": f"https://127.0.0.1:{other}{PATH}"}
            tree = await user.get(VALIDATING_WEBHOOKS, CLUSTER.configuration)
            tree["webhooks"][0]["clientConfig"].update(moved)
            await user.replace(VALIDATING_WEBHOOKS, CLUSTER.configuration, tree)
            with pytest.raises(InvalidError, match="must be even"):
                await create(user, 1)


@pytest.mark.parametrize("reason", ["expires soon", "for other names", "no pair", "torn"])
async def test_certificate_that_is_no_good_is_replaced_and_the_old_one_stays_trusted(
    plane: Plane, reason: str
) -> None:
    user, now = user_of(plane), SystemClock().now()
    hosts = ("elsewhere",) if reason == "for other names" else CLUSTER.hosts
    pair = self_signed(hosts, now - timedelta(days=3300) if reason == "expires soon" else now)
    key = self_signed(hosts, now).key if reason == "no pair" else pair.key
    certificate = pair.certificate[:100] if reason == "torn" else pair.certificate
    data = {name: b64encode(value).decode() for name, value in (("tls.crt", certificate), ("tls.key", key))}
    metadata = {"name": CLUSTER.secret.name, "labels": {"team": "x"}}
    await user.create(
        SECRET, {"metadata": metadata, "type": "kubernetes.io/tls", "data": data}, namespace="default"
    )
    async with Replica(plane, CLUSTER).running() as port:
        await user.create(VALIDATING_WEBHOOKS, configuration(port))
        tree = await until_live(user, VALIDATING_WEBHOOKS, CLUSTER.configuration, bundle_of)
        secret = await user.get(SECRET, CLUSTER.secret)
        assert secret["metadata"]["labels"] == {"team": "x"}
        assert secret["data"]["tls.crt"] != data["tls.crt"]
        assert (certificate in bundle_of(tree)) == (reason != "torn")
        with pytest.raises(InvalidError, match="must be even"):
            await create(user, 1)


async def test_certificate_is_replaced_without_a_moment_in_which_rules_are_not_asked(plane: Plane) -> None:
    user = user_of(plane)
    replica = Replica(plane, replace(CLUSTER, settling=timedelta(seconds=0.5)))
    async with replica.running() as port:
        await user.create(VALIDATING_WEBHOOKS, configuration(port))
        before = bundle_of(await until_live(user, VALIDATING_WEBHOOKS, CLUSTER.configuration, bundle_of))
        assert await shown(port) in before
        await user.delete(SECRET, CLUSTER.secret)
        async with asyncio.timeout(PATIENCE):
            while await shown(port) in before:
                with pytest.raises(InvalidError, match="must be even"):
                    await create(user, 1)
        with pytest.raises(InvalidError, match="must be even"):
            await create(user, 1)
        secret = await user.get(SECRET, CLUSTER.secret)
        assert await shown(port) == b64decode(secret["data"]["tls.crt"])
        assert before in bundle_of(await user.get(VALIDATING_WEBHOOKS, CLUSTER.configuration))


async def shown(port: int) -> bytes:
    """The certificate that a new connection sees."""
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port), timeout=PATIENCE)
    return pem.encode()


async def test_secret_that_may_not_be_read_stops_the_start_with_a_remedy() -> None:
    async with running(auth=True) as plane:
        token = await account_token(plane, "operator")
        client = KubeClient(InProcessTransport(plane, token), Calls(), SystemClock())
        certificate = WebhookCertificate(client, Informers(client, SystemClock()), SystemClock(), CLUSTER, [])
        with pytest.raises(
            CertificateError, match=r"Secret default/edgekeeper-cert: .*forbidden.*--webhook-service"
        ):
            await certificate.prepare()
