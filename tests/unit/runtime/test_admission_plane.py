"""Admission end to end: an API server calls our webhooks over TLS, and does as they say."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import Kind
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.options import ServerOptions
from edgekeeper.runtime.server import Server
from edgekeeper.runtime.webhooks import Admission, Decision, Webhook, allow, cause, change, deny
from kubesim.plane.auth.certificates import CertificateAuthority
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request
from packages.kubesim.tests.plane.cluster import WIDGETS, define, exists, running, widget
from tests.unit.runtime.accounts import client_of
from tests.unit.runtime.wire import ANYWHERE, LOOPBACK, NOW, issue, put

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


async def guard(asked: Admission) -> Decision:
    """Sizes never shrink, nobody deletes without being an administrator, and large ones are frowned upon."""
    if asked.operation == "DELETE" and "system:masters" not in asked.user.groups:
        return deny(f"{asked.user.username} cannot delete")
    size, before = dig(asked.object, "spec", "size") or 0, dig(asked.old, "spec", "size") or 0
    if asked.object is not None and size < before:
        return deny("size cannot shrink", cause("spec.size", f"{size} is less than {before}"))
    if size == 13:
        raise RuntimeError("unlucky")
    return allow("that is large") if size > 100 else allow()


async def fill(asked: Admission) -> Decision:
    if dig(asked.object, "spec", "size") is not None:
        return allow()
    return change([{"op": "add", "path": "/spec/size", "value": 3}])


@dataclass
class Guarded:
    plane: Plane
    metrics: Metrics
    directory: Path
    authority: CertificateAuthority


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    authority = CertificateAuthority.create(NOW)
    options = ServerOptions(
        health_address=None,
        webhook_address=ANYWHERE,
        webhook_cert_path=put(tmp_path, issue(authority)),
    )
    metrics = Metrics()
    async with running() as plane:
        await define(plane)
        webhooks = (Webhook(WIDGET, guard), Webhook(WIDGET, fill, mutating=True))
        server = Server(options, metrics, client_of(plane, "", SystemClock()), SystemClock(), webhooks)
        await server.start()
        for webhook in webhooks:
            await register(plane, authority, webhook, server.port("admission"))
        yield Guarded(plane, metrics, tmp_path, authority)
        await server.stop()


async def register(plane: Plane, authority: CertificateAuthority, webhook: Webhook, port: int | None) -> None:
    kind = "mutating" if webhook.mutating else "validating"
    rule = {
        "apiGroups": ["example.com"],
        "apiVersions": ["v1"],
        "resources": ["widgets"],
        "operations": ["*"],
    }
    hook = {
        "name": f"{kind}.example.com",
        "clientConfig": {
            "url": f"https://{LOOPBACK}:{port}{webhook.path}",
            "caBundle": b64encode(authority.certificate).decode(),
        },
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    tree = {"metadata": {"name": kind}, "webhooks": [hook]}
    await plane.client.create(f"{CONFIGURATIONS}/{kind}webhookconfigurations", tree)


async def size_of(plane: Plane, name: str) -> int:
    tree = await plane.client.get(f"{WIDGETS}/{name}")
    size: int = tree["spec"]["size"]
    return size


async def test_objects_that_follow_the_rules_are_stored(guarded: Guarded) -> None:
    await guarded.plane.client.create(WIDGETS, widget("shop", size=1))
    assert await size_of(guarded.plane, "shop") == 1


async def test_mutator_changes_what_is_stored(guarded: Guarded) -> None:
    await guarded.plane.client.create(WIDGETS, widget("shop"))
    assert await size_of(guarded.plane, "shop") == 3


async def test_denial_reaches_the_user_with_its_causes(guarded: Guarded) -> None:
    created = await guarded.plane.client.create(WIDGETS, widget("shop", size=2))
    with pytest.raises(StatusError) as caught:
        await guarded.plane.client.replace(f"{WIDGETS}/shop", {**created, "spec": {"size": 1}})
    error = caught.value
    assert (
        error.message == 'admission webhook "validating.example.com" denied the request: size cannot shrink'
    )
    assert (error.code, error.reason) == (422, "Invalid")
    assert dig(error.details, "causes") == [
        {"reason": "FieldValueInvalid", "message": "1 is less than 2", "field": "spec.size"}
    ]
    assert await size_of(guarded.plane, "shop") == 2


async def test_warnings_reach_the_user(guarded: Guarded) -> None:
    request = Request.of("POST", WIDGETS, widget("shop", size=101))
    response = await guarded.plane.handle(request)
    assert response.status == 201
    assert response.warnings == ["that is large"]


async def test_broken_rule_stops_the_write_and_explains_nothing(guarded: Guarded) -> None:
    with pytest.raises(StatusError, match="the rule for Widget could not be checked: it failed") as caught:
        await guarded.plane.client.create(WIDGETS, widget("shop", size=13))
    assert "unlucky" not in caught.value.message


async def test_rule_knows_who_deletes(guarded: Guarded) -> None:
    await guarded.plane.client.create(WIDGETS, widget("shop", size=1))
    request = Request.of("DELETE", f"{WIDGETS}/shop", impersonate_user="bob")
    response = await guarded.plane.handle(request)
    assert response.status == 403
    assert response.json()["message"].endswith("denied the request: bob cannot delete")
    await guarded.plane.client.delete(f"{WIDGETS}/shop")
    assert not await exists(guarded.plane, f"{WIDGETS}/shop")


async def test_reviews_are_counted(guarded: Guarded) -> None:
    await guarded.plane.client.create(WIDGETS, widget("shop", size=1))
    text = (await guarded.metrics.text()).decode()
    for verb in ("mutate", "validate"):
        path = f"/{verb}-example-com-v1-widget"
        assert f'controller_runtime_webhook_requests_total{{code="200",webhook="{path}"}} 1.0' in text


async def test_untrusted_certificate_stops_the_write(guarded: Guarded) -> None:
    """What the API server is told to trust decides, not what we show."""
    other = CertificateAuthority.create(NOW)
    hooks = f"{CONFIGURATIONS}/validatingwebhookconfigurations/validating"
    tree = await guarded.plane.client.get(hooks)
    tree["webhooks"][0]["clientConfig"]["caBundle"] = b64encode(other.certificate).decode()
    await guarded.plane.client.replace(hooks, tree)
    with pytest.raises(StatusError, match="certificate signed by unknown authority"):
        await guarded.plane.client.create(WIDGETS, widget("shop", size=1))
