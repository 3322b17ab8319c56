"""S-24: the admission endpoint in the hands of strangers, with certificates that change, and without a process behind it."""

from __future__ import annotations

import asyncio
import json
import ssl
from base64 import b64decode
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest

from edgekeeper.cli.kinds import MODULES
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import ApiError, InvalidError, NotFoundError
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, SECRET, VALIDATING_WEBHOOKS, Key
from edgekeeper.runtime import http_server, server
from edgekeeper.runtime.webhook_certificate import WebhookService
from edgekeeper.runtime.webhooks import LARGEST_REVIEW
from tests.composition.definitions.scene import definition
from tests.security.installation import HOME, WEBHOOKS, Site, installed, until
from tests.unit.runtime.wire import LOOPBACK, believing
from tests.zerotrust.acceptance_world import route

PATH = "/validate-kro-run-v1alpha1-resourcegraphdefinition"
CANARY = "of-somebody-else"
BAD = definition(
    "bad", {"id": "a", "template": {"apiVersion": "v1", "kind": "ConfigMap", "data": "${nothing}"}}
)


def review(obj: JsonObject, **changes: Any) -> JsonObject:
    request = {
        "uid": "1",
        "kind": {"group": "kro.run", "version": "v1alpha1", "kind": "ResourceGraphDefinition"},
        "operation": "CREATE",
        "userInfo": {"username": "system:admin", "groups": ["system:masters"]},
        "object": {"apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", **obj},
        **changes,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


async def post(site: Site, body: Any, path: str = PATH, **headers: str) -> tuple[int, str]:
    given = {"Content-Type": "application/json", **headers}
    return await site.request("admission", "POST", path, data=body, headers=given)


async def chunks(size: int) -> Any:
    for _ in range(size // 65536 + 1):
        yield b" " * 65536


REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "too large": ({"body": b" " * (LARGEST_REVIEW + 1)}, 413),
    "too large, in chunks": ({"body": "chunks"}, 413),
    "compressed": ({"body": b"{}", "Content-Encoding": "gzip"}, 415),
    "a form": ({"body": b"a=b", "Content-Type": "application/x-www-form-urlencoded"}, 415),
    "text": ({"body": b"{}", "Content-Type": "text/plain"}, 415),
    "protobuf": ({"body": b"k8s\0", "Content-Type": "application/vnd.kubernetes.protobuf"}, 415),
    "empty": ({"body": b""}, 400),
    "no JSON": ({"body": b"\xff\xfe"}, 400),
    "nested": ({"body": b"[" * 100_000}, 400),
    "another kind": ({"body": json.dumps(review({}, kind={"group": "", "kind": "Secret"})).encode()}, 400),
    "another version": (
        {"body": b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}'},
        400,
    ),
    "another path": ({"body": b"{}", "path": "/validate-everything"}, 404),
    "the metrics": ({"body": b"{}", "path": "/metrics"}, 404),
}
"""What a stranger sends, and the status of the answer."""


async def test_stranger_gets_one_line_and_the_next_review_is_answered() -> None:
    async with installed() as site, site.running():
        for what, (sent, status) in REFUSED.items():
            body = chunks(LARGEST_REVIEW) if sent["body"] == "chunks" else BytesIO(sent["body"])
            found, text = await post(site, **{**sent, "body": body})
            assert found == status, (what, text)
            assert len(text.splitlines()) == 1, what
            assert "Traceback" not in text
        assert (await site.request("admission", "GET", PATH))[0] == 405
        status, text = await post(site, json.dumps(review(definition())).encode())
        assert (status, json.loads(text)["response"]["allowed"]) == (200, True)


async def test_review_of_a_stranger_stores_nothing_and_tells_nothing_of_others() -> None:
    """Whoever it says it is. The same review again gets the same answer."""
    async with installed() as site, site.running():
        await site.admin.create(DEFINITION_KIND, definition(CANARY, kind="Canary"))
        for obj, allowed in ((definition("guess"), True), (BAD, False)):
            body = json.dumps(review(obj)).encode()
            answers = {await post(site, body) for _ in range(3)}
            ((status, text),) = answers
            assert (status, json.loads(text)["response"]["allowed"]) == (200, allowed)
            assert CANARY not in text
        for name in ("guess", "bad"):
            with pytest.raises(NotFoundError):
                await site.admin.get(DEFINITION_KIND, Key("", name))


@pytest.mark.parametrize("sent", ["nothing", "half of the head", "half of the body"])
async def test_slow_stranger_is_cut_off_and_holds_up_nobody(
    sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "PATIENCE", timedelta(seconds=0.3))
    monkeypatch.setattr(server, "_REVIEW_LIMIT", timedelta(seconds=0.3))
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"
    )
    text = {"nothing": "", "half of the head": head[:40], "half of the body": head + "{"}[sent]
    async with installed() as site, site.running():
        strangers = [
            await asyncio.open_connection(LOOPBACK, site.port("admission"), ssl=believing())
            for _ in range(20)
        ]
        for _, writer in strangers:
            writer.write(text.encode())
        with pytest.raises(InvalidError):
            await site.admin.create(DEFINITION_KIND, BAD)
        async with asyncio.timeout(10):
            answers = await asyncio.gather(*(reader.read() for reader, _ in strangers))
        assert {answer[:12] for answer in answers} <= {b"", b"HTTP/1.1 503"}
        for _, writer in strangers:
            writer.close()


ROTATIONS = {
    "deleted": lambda site: site.admin.delete(SECRET, Key(HOME, f"{WEBHOOKS}-cert")),
    "torn": lambda site: site.admin.merge_patch(
        SECRET, Key(HOME, f"{WEBHOOKS}-cert"), {"data": {"tls.crt": "dG9ybg=="}}
    ),
    "emptied": lambda site: site.admin.merge_patch(
        SECRET, Key(HOME, f"{WEBHOOKS}-cert"), {"data": {"tls.key": ""}}
    ),
}
"""What can happen to the Secret of the certificate."""


@pytest.mark.parametrize("what", ROTATIONS)
async def test_rotated_certificate_leaves_no_moment_without_rules(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "edgekeeper.cli.assembly.WebhookService",
        lambda *args, **named: WebhookService(*args, **{"settling": timedelta(seconds=0.2), **named}),
    )
    async with installed() as site, site.running():
        before = await shown(site)
        await ROTATIONS[what](site)

        async def renewed() -> bool:
            with pytest.raises(InvalidError):
                await site.admin.create(DEFINITION_KIND, BAD)
            return await shown(site) != before

        await until(renewed)
        with pytest.raises(InvalidError):
            await site.admin.create(DEFINITION_KIND, BAD)
        secret = await site.admin.get(SECRET, Key(HOME, f"{WEBHOOKS}-cert"))
        assert b64decode(secret["data"]["tls.crt"]).decode() == await shown(site)


async def shown(site: Site) -> str:
    address = (LOOPBACK, site.port("admission"))
    return await asyncio.to_thread(ssl.get_server_certificate, address, timeout=20)


async def test_webhook_without_a_process_blocks_neither_other_kinds_nor_deletion() -> None:
    """Nobody answers: definitions cannot be written, and everything else goes on."""
    async with installed("apps") as site:
        async with site.running():
            await site.admin.create(DEFINITION_KIND, definition("held", kind="Held"))
            await site.admin.create(DEFINITION_KIND, definition("free", kind="Free"))
            held = {"metadata": {"finalizers": ["example.com/held"]}}
            await site.admin.merge_patch(DEFINITION_KIND, Key("", "held"), held)
        with pytest.raises(ApiError, match="failed calling webhook"):
            await site.admin.create(DEFINITION_KIND, definition())
        await site.admin.create(CONFIG_MAP, {"metadata": {"name": "any"}}, namespace="apps")
        await site.admin.create(
            HTTP_ROUTE, route("web", "apps", hostname="web.example.com"), namespace="apps"
        )
        for name in ("held", "free"):
            await site.admin.delete(DEFINITION_KIND, Key("", name))
        for name in ("held", "free"):
            key = Key("", name)
            tree = await site.admin.get(DEFINITION_KIND, key)
            assert tree["metadata"]["deletionTimestamp"]
            await site.admin.merge_patch(DEFINITION_KIND, key, {"metadata": {"finalizers": None}})
            with pytest.raises(NotFoundError):
                await site.admin.get(DEFINITION_KIND, key)


async def test_webhooks_ask_about_definitions_only() -> None:
    """Whatever is wrong with them, no other kind suffers."""
    async with installed() as site:
        found = await site.admin.get(VALIDATING_WEBHOOKS, Key("", WEBHOOKS))
    rules = [rule for webhook in found["webhooks"] for rule in webhook["rules"]]
    assert [rule["resources"] for rule in rules] == [["resourcegraphdefinitions"]]
    assert [rule["operations"] for rule in rules] == [["CREATE", "UPDATE"]]
    assert {module.kind.plural for module in MODULES} > {"resourcegraphdefinitions"}
    assert all(webhook["timeoutSeconds"] <= 10 for webhook in found["webhooks"])
