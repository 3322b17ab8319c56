"""S-21 for an installation: the operator's own token, the keys of its webhooks, tokens of those who ask it, and API tokens are in
Secrets only, whatever is logged, stored, counted or answered while requests fail.

tests/conformance/test_chart.py looks for an API token among the values of the chart in all that is rendered.
"""

from __future__ import annotations

import io
import logging
from base64 import b64decode

import pytest

from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.zerotrust.route_index import TENANT
from edgekeeper.core.json import dig_list, dig_object
from edgekeeper.core.log import ROOT
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import SECRET, Key
from edgekeeper.runtime.logs import configure
from kubesim.cloudflare.faults import Fault
from kubesim.plane.resource import GroupResource
from tests.composition.definitions.scene import definition
from tests.logs import log_as_it_was
from tests.security.installation import HOME, WEBHOOKS, Site, installed, until
from tests.security.test_s24_webhooks import BAD, post

CANARY = "c4n4ry" + "0123456789abcdef" * 2 + "zz"
"""An API token."""
TEAM = "apps"
TROUBLE = {
    "none": None,
    "echo": Fault(
        "error", times=None, status=400, code=6003, message=f"Invalid header Authorization: Bearer {CANARY}"
    ),
    "redirect": Fault("redirect", times=None),
    "html": Fault("html", times=None),
}
"""What Cloudflare answers."""


class _Raw(logging.Handler):
    """Keeps what handlers of others would see."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.getMessage()} {getattr(record, 'fields', '')} {record.exc_info}")


async def prepare(site: Site, trouble: str) -> None:
    site.estate.cloud.add_token(CANARY)
    fault = TROUBLE[trouble]
    if fault is not None:
        site.estate.cloud.faults.add(fault)
    token = {"metadata": {"name": "token"}, "stringData": {"token": CANARY}}
    await site.admin.create(SECRET, token, namespace=HOME)
    spec = {
        "accountId": site.estate.account.id,
        "tunnelId": site.estate.tunnel,
        "credentialRef": {"name": "token"},
    }
    await site.admin.create(TENANT, {"metadata": {"name": "main"}, "spec": spec}, namespace=HOME)


async def live(site: Site) -> tuple[list[str], list[str]]:
    """What an operator goes through. Return the tokens of others that it has seen, and what it has answered."""
    answers = []

    async def reported() -> bool:
        return bool(dig_list(await site.admin.get(TENANT, Key(HOME, "main")), "status", "conditions"))

    await until(reported)
    await site.bind(TEAM, "reader", "edgekeeper-metrics-reader")
    tokens = [await site.token(TEAM, name) for name in ("stranger", "reader")]
    for authorization in (f"Basic {CANARY}", f"Bearer {CANARY}", *(f"Bearer {token}" for token in tokens)):
        headers = {"Authorization": authorization}
        answers.append((await site.request("metrics", "GET", "/metrics", headers=headers))[1])
    answers.append((await post(site, CANARY.encode()))[1])
    answers.append((await post(site, f'{{"apiVersion": "{CANARY}"}}'.encode()))[1])
    with pytest.raises(InvalidError) as caught:
        await site.admin.create(DEFINITION_KIND, BAD)
    await site.admin.create(DEFINITION_KIND, definition())
    return tokens, [*answers, str(caught.value)]


def stored(site: Site) -> list[str]:
    """Every object of the cluster but Secrets."""
    return [
        str(item.decode())
        for one in site.plane.registry.all()
        if one.plural != "secrets"
        for item in site.plane.store.collection(GroupResource(one.group, one.plural)).ordered()
    ]


async def keys(site: Site) -> list[str]:
    """The private key of the webhooks, line by line: a part of it would be enough for some attacks."""
    secret = await site.admin.get(SECRET, Key(HOME, f"{WEBHOOKS}-cert"))
    pem = b64decode(dig_object(secret, "data")["tls.key"]).decode()
    return [line for line in pem.splitlines() if not line.startswith("-----")]


@pytest.mark.parametrize("trouble", TROUBLE)
async def test_tokens_and_keys_are_in_secrets_only(trouble: str) -> None:
    stream, raw = io.StringIO(), _Raw()
    with log_as_it_was():
        configure(format="json", level="debug", stream=stream, color="never")
        ROOT.addHandler(raw)
        try:
            async with installed(TEAM) as site:
                await prepare(site, trouble)
                async with site.running():
                    tokens, answers = await live(site)
                    secrets = [CANARY, site.own_token, *tokens, *await keys(site)]
                    told = [*answers, *stored(site)]
        finally:
            ROOT.removeHandler(raw)
    said = "\n".join([stream.getvalue(), *raw.texts, *told])
    assert "Starting workers" in said or "Became leader" in said or "Listening" in said, "the log was seen"
    assert "controller_runtime_reconcile_total" in said, "and so were metrics"
    for secret in secrets:
        at = said.find(secret)
        assert at < 0, f"{said[max(0, at - 200) : at]}…"
