"""S-21 for routes: API tokens and client secrets are seen in Secrets only, whatever fails.

Every kind of failure of Cloudflare is forced at every operation of a route with a service token, and everything that is ever
stored, logged at any level, counted or raised is searched for the secrets.
"""

from __future__ import annotations

import io
import logging
from typing import Any, cast

import pytest
from prometheus_client import generate_latest

from edgekeeper.core.log import ROOT
from edgekeeper.kube.kinds import SECRET, Key
from edgekeeper.runtime.logs import configure
from kubesim.cloudflare.faults import Fault
from kubesim.virtual import virtual_time
from tests.logs import log_as_it_was
from tests.results import Figures
from tests.zerotrust.acceptance_world import APPS, SECRET_NAME, AcceptanceWorld, cluster, route, running

CANARY = "c4n4ry" + "0123456789abcdef" * 2 + "zz"
ROUTE = {
    "hostname": "api.example.com",
    "accessApp": "true",
    "allowEmails": "a@example.com",
    "serviceToken": "true",
}


class _Raw(logging.Handler):
    """Keeps the exceptions that handlers of others would see."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.getMessage()} {getattr(record, 'fields', '')} {record.exc_info}")


async def watched_run(kind: str) -> tuple[set[str], str]:
    """Publish, change, rotate and withdraw a route while every method fails once. Return client secrets, and all that was said."""
    stream, raw = io.StringIO(), _Raw()
    with log_as_it_was():
        configure(format="text", level="debug", stream=stream, color="never")
        ROOT.addHandler(raw)
        try:
            async with cluster() as world:
                world.cloud.add_token(CANARY)
                await world.user.delete(SECRET, Key(APPS, SECRET_NAME))
                await world.create(world.credential(token=CANARY))
                said, secrets = await _lived(world, kind)
        finally:
            ROOT.removeHandler(raw)
    return secrets, "\n".join([stream.getvalue(), *raw.texts, *said, *map(str, world.versions)])


async def _lived(world: AcceptanceWorld, kind: str) -> tuple[list[str], set[str]]:
    secrets: set[str] = set()

    def note() -> None:
        secrets.update(one.value for many in world.account.secrets.values() for one in many)

    async with running(world) as operator:
        for operation in ("POST", "PUT", "GET", "DELETE"):
            world.cloud.faults.add(fault(kind, operation))
        await world.create(route("api", **ROUTE))
        await world.ready("api")
        note()
        await world.annotate("api", serviceToken__rotate="now", sessionDuration="2h")
        await world.elapse(minutes=2)
        await world.ready("api")
        await world.user.delete(SECRET, Key(APPS, "api-cfzt-service-token"))
        await world.elapse(minutes=15)
        note()
        await world.delete("api")
        await world.gone("api")
        return [generate_latest(operator.metrics.registry).decode(), str(world.events())], secrets


KINDS = ("error", "throttle", "unsent", "lost", "truncated", "html", "redirect", "echo")
"""`echo` is a refusal that repeats the token it was given."""


def fault(kind: str, method: str) -> Fault:
    if kind == "echo":
        message = f"Invalid request headers: Authorization: Bearer {CANARY}"
        return Fault("error", method=method, status=400, code=6003, message=message, skip=1)
    return Fault(cast("Any", kind), method=method, seconds=5, skip=1)


@pytest.mark.parametrize("kind", KINDS)
@virtual_time
async def test_secrets_are_in_secrets_only(kind: str, figures: Figures) -> None:
    secrets, said = await watched_run(kind)
    assert len(secrets) >= 2, "it was rotated"
    assert "api.example.com" in said
    figures.count("secrets followed", 1 + len(secrets))
    for secret in (CANARY, *secrets):
        at = said.find(secret)
        assert at < 0, f"{said[max(0, at - 200) : at]}…"
