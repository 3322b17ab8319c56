"""S-18 and S-19 for routes: no value of a user gets into a URL, a header, a document, a log line or a label in raw form."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

import pytest
from prometheus_client import generate_latest

from edgekeeper.controllers.zerotrust.route_report import REASON
from edgekeeper.kube.kinds import HTTP_ROUTE
from edgekeeper.runtime.logs import configure
from kubesim.virtual import virtual_time
from tests.logs import capture_logs, log_as_it_was
from tests.zerotrust.acceptance_world import AcceptanceWorld, cluster, operating, route, running, template

HOSTILE = (
    "x\r\nHost: evil.example.net",
    "\x1b[31mred",
    "a\nb",
    "../../user/tokens",
    "http://169.254.169.254/latest/meta-data",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "{{ hostname }}}}{{",
    "\u202eevil",
    "%0d%0aX: 1",
    "x" * 5_000,
    "\u2028",
)
TEXTS = (  # but for customDenyMessage, which is prose
    *("hostname", "originService", "sessionDuration", "allowEmails", "allowGroups", "httpHostHeader"),
    *("originServerName", "caPool", "access.logoUrl", "access.customDenyUrl"),
    *(
        "existingPolicyNames",
        "allowedIdps",
        "publicPaths",
        "applicationDomain",
        "tunnelId",
        "tenant",
        "template",
    ),
    *("dnsIp", "dnsOnly.ingressServiceRef", "serviceToken.duration", "serviceToken.rotate"),
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def hostile_routes() -> dict[str, dict[str, str]]:
    """Routes by name, each with one hostile value."""
    found = {}
    for number, key in enumerate(TEXTS):
        for place, value in enumerate(HOSTILE[number % 3 :: 3]):
            annotations = {
                "hostname": f"h{number}-{place}.example.com",
                "accessApp": "true",
                "allowEmails": "a@example.com",
                "originService": "https://web.default.svc:443",
                "serviceToken": "true",
                key: value,
            }
            if key.startswith("dns"):
                annotations = {"hostname": annotations["hostname"], "dnsOnly": "true", key: value}
            found[f"r{number}-{place}"] = annotations
    return found


def settled(world: AcceptanceWorld) -> bool:
    """Whether every route is published, or says why not."""
    reasons = [one["metadata"]["annotations"].get(REASON) for one in world.all(HTTP_ROUTE)]
    return all(reason not in (None, "Progressing") for reason in reasons)


class _Watched:
    """Every request to Cloudflare, as it is sent."""

    def __init__(self, world: AcceptanceWorld) -> None:
        self.requests: list[tuple[str, str, str]] = []
        self._send = world.estate.send
        world.estate.send = self  # type: ignore[method-assign]

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        self.requests.append((method, url, repr(headers)))
        return await self._send(method, url, headers, body)


@virtual_time
async def test_hostile_values_reach_no_url_header_or_document() -> None:
    routes = hostile_routes()
    async with cluster() as world:
        watched = _Watched(world)
        with capture_logs() as lines:
            async with running(world):
                for name, annotations in routes.items():
                    await world.create(route(name, **annotations))
                await world.until(lambda: settled(world))
        for method, url, headers in watched.requests:
            assert re.fullmatch(r"https://cloudflare\.test/client/v4/[A-Za-z0-9/_.?=&%*@+~:,-]+", url), (
                method,
                url,
            )
            assert "evil" not in url + headers
            assert "169.254" not in url
        document = (
            str(world.account.configurations)
            + str(world.account.applications)
            + str(world.estate.zone.records)
        )
        for text in ("169.254.169.254", "javascript:", "file://", "\\r", "\\x1b", "evil", "\\u202e"):
            found = document.find(text)
            assert found < 0, document[max(0, found - 300) : found + 100]
        for obj in world.all(HTTP_ROUTE):
            message = obj["metadata"]["annotations"]["edgekeeper.io/message"]
            assert not _CONTROL.search(message)
            assert len(message) <= 1024
        for event in world.events():
            assert not _CONTROL.search(event["message"])
            assert len(event["message"]) <= 1024
        assert lines


@virtual_time
async def test_log_lines_cannot_be_forged() -> None:
    stream = io.StringIO()
    with log_as_it_was():
        for format_ in ("text", "json"):
            async with operating() as world:
                configure(format=format_, level="debug", stream=stream, color="never")
                await world.create(
                    route(
                        "web",
                        hostname="web.example.com",
                        accessApp='x\n{"level":"error","msg":"forged"}\x1b[0m',
                    ),
                    template(
                        "t\u002d1", accessApplication={"enabled": True, "customDenyMessage": "a\nforged line"}
                    ),
                    route("other", hostname="o.example.com", template="no\nforged"),
                )
                await world.says("InvalidAnnotation", "web")
                await world.elapse(seconds=10)
    for line in stream.getvalue().splitlines():
        assert "\x1b" not in line
        assert not line.startswith(("forged", '{"level":"error","msg":"forged"'))


@virtual_time
async def test_names_of_users_are_no_labels_of_metrics() -> None:
    async with operating() as world:
        await world.create(route("very-telling-name", hostname="secret-project.example.com"))
        await world.ready("very-telling-name")
        async with running(world) as operator:
            await world.elapse(minutes=1)
            text = generate_latest(operator.metrics.registry).decode()
    assert "edgekeeper" in text
    assert "very-telling-name" not in text
    assert "secret-project" not in text


@pytest.mark.parametrize(
    "value", ["http://metadata.google.internal", "http://[::1]:80", "unix:/var/run/docker.sock"]
)
@virtual_time
async def test_origins_that_only_cloudflared_can_judge_are_sent_as_they_are_or_refused(value: str) -> None:
    """An origin is called by cloudflared, never by the operator: it is either refused, or stored for the tunnel alone."""
    async with operating() as world:
        await world.create(route("web", hostname="web.example.com", originService=value))
        await world.until(lambda: world.said("web")[0] and world.said("web")[1] != "Progressing")
        rule = world.rule("web.example.com")
        assert (rule is None) == (world.said("web")[0] == "False")
        assert rule is None or rule["service"] == value
