"""A real admission webhook for tests: an HTTPS server on loopback that answers as it is told and remembers calls."""

from __future__ import annotations

import base64
import json
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from edgekeeper.core.json import JsonObject
from edgekeeper.runtime.http_server import Address, Listener
from tests.conformance.client import Client, eventually
from tests.conformance.kinds import (
    CONFIG_MAPS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    Kind,
    config_map,
    unique,
)

Verdict = Callable[[JsonObject], JsonObject | Awaitable[JsonObject]]

CONFIG_MAP_WRITES: JsonObject = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
    "operations": ["*"],
}


def allow(_: JsonObject) -> JsonObject:
    return {"allowed": True}


def patch(*operations: JsonObject) -> Verdict:
    """Allow the request after changing its object."""
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


@dataclass
class Hook:
    """One webhook: what it says, and which requests it was asked about."""

    url: str
    bundle: bytes
    verdict: Verdict = allow
    asked: list[JsonObject] = field(default_factory=list)

    async def answer(self, call: web.BaseRequest) -> web.Response:
        review = await call.json()
        request = review["request"]
        self.asked.append(request)
        response = self.verdict(request)
        if not isinstance(response, dict):
            response = await response
        return web.json_response({**review, "response": {"uid": request["uid"], **response}})

    def entry(self, namespace: str, name: str = "hook", **extra: Any) -> JsonObject:
        """The webhook's entry in a configuration, for this namespace only unless `extra` says otherwise."""
        return {
            "name": f"{name}.conformance.example",
            "clientConfig": {"url": self.url, "caBundle": base64.b64encode(self.bundle).decode()},
            "rules": [CONFIG_MAP_WRITES],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
            **extra,
        }


@asynccontextmanager
async def listening(api: Client, verdict: Verdict = allow) -> AsyncIterator[Hook]:
    """Serve one webhook over TLS for the time of the block."""
    authority = api.server.authority
    files = authority.serving(unique("webhook"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.certificate, files.key)
    hook = Hook("", authority.bundle, verdict)
    listener = Listener(hook.answer, Address("127.0.0.1", 0), "the webhook's address", context, limit=None)
    await listener.start()
    hook.url = f"https://127.0.0.1:{listener.port}/admit"
    try:
        yield hook
    finally:
        await listener.stop()


@asynccontextmanager
async def registered(
    api: Client, namespace: str, *entries: JsonObject, mutating: bool = False
) -> AsyncIterator[None]:
    """Register webhooks for the time of the block, from the moment the server follows them.

    Servers learn of configurations by watching them, so a canary entry in the same configuration tells when.
    """
    kind: Kind = MUTATING_WEBHOOKS if mutating else VALIDATING_WEBHOOKS
    async with listening(api) as canary:
        mark = secrets.token_hex(4)
        entry = canary.entry(namespace, "canary", objectSelector={"matchLabels": {"canary": mark}})
        body = kind.new(unique("hooks"), webhooks=[entry, *entries])
        (await api.create(kind.path(), body)).expect(201)
        probe = config_map("canary") | {"metadata": {"name": "canary", "labels": {"canary": mark}}}

        async def followed() -> bool | None:
            await api.create(CONFIG_MAPS.path(namespace), probe, dryRun="All")
            return bool(canary.asked) or None

        try:
            await eventually(followed, what="the webhooks are followed")
            yield
        finally:
            await api.delete(kind.path(name=body["metadata"]["name"]))
