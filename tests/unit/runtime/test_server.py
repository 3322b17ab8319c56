"""Everything that listens, together: started, asked, rotated and stopped as a process does it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Kind
from edgekeeper.runtime import certificates
from edgekeeper.runtime.certificates import CertificateError, DirectoryCertificate
from edgekeeper.runtime.http_server import Address, ListenError
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.options import ServerOptions
from edgekeeper.runtime.server import Server
from edgekeeper.runtime.webhooks import Admission, Decision, Webhook, allow
from kubesim.plane.auth.certificates import CertificateAuthority
from packages.kubesim.tests.plane.cluster import running
from tests.logs import capture_logs
from tests.unit.runtime.accounts import ASK_WHETHER, ASK_WHO, READ_METRICS, account_token, client_of, grant
from tests.unit.runtime.wire import (
    ANYWHERE,
    LOOPBACK,
    NOW,
    believing,
    get,
    issue,
    put,
    shown_certificate,
    trusting,
)

WIDGET = Kind("example.com", "v1", "Widget", "widgets")


class Nobody:
    """An API server that is never asked."""

    async def review(self, kind: Kind, obj: JsonObject) -> JsonObject:
        raise AssertionError(kind)


async def welcome(_: Admission) -> Decision:
    return allow()


def server(**options: Any) -> Server:
    settings = ServerOptions(**{"health_address": ANYWHERE, "webhook_address": ANYWHERE, **options})
    return Server(settings, Metrics(), Nobody(), SystemClock(), [Webhook(WIDGET, welcome)])


@asynccontextmanager
async def started(**options: Any) -> AsyncIterator[Server]:
    made = server(**options)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def following() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name().startswith("follow ")]


async def test_only_probes_are_served_by_default() -> None:
    async with started() as running_server:
        assert running_server.port("probes")
        assert running_server.port("metrics") is None
        assert running_server.port("admission") is None


async def test_probes_tell_ready_from_alive() -> None:
    async with started() as running_server:
        warm = False
        running_server.ready.add("manager", lambda: warm)
        url = f"http://{LOOPBACK}:{running_server.port('probes')}"
        assert (await get(f"{url}/healthz"))[0] == 200
        assert (await get(f"{url}/readyz"))[0] == 500
        warm = True
        assert (await get(f"{url}/readyz"))[0] == 200


async def test_everything_can_be_switched_off() -> None:
    async with started(health_address=None, webhook_address=None) as running_server:
        assert all(running_server.port(name) is None for name in ("probes", "metrics", "admission"))


async def test_plain_metrics_need_neither_tls_nor_a_token() -> None:
    async with started(metrics_address=ANYWHERE, metrics_secure=False) as running_server:
        status, text = await get(f"http://{LOOPBACK}:{running_server.port('metrics')}/metrics")
    assert status == 200
    assert "workqueue_depth" in text


async def test_secure_metrics_are_for_those_whom_rbac_allows_it() -> None:
    async with running(auth=True) as plane:
        operator = await account_token(plane, "operator")
        await grant(plane, "operator", ASK_WHO, ASK_WHETHER)
        reader = await account_token(plane, "prometheus")
        await grant(plane, "prometheus", READ_METRICS)
        clock = SystemClock()
        options = ServerOptions(health_address=None, metrics_address=ANYWHERE)
        guarded = Server(options, Metrics(), client_of(plane, operator, clock), clock)
        await guarded.start()
        url = f"https://{LOOPBACK}:{guarded.port('metrics')}/metrics"
        answers = {
            name: (await get(url, ssl=believing(), headers=headers))[0]
            for name, headers in {
                "nobody": {},
                "operator": {"Authorization": f"Bearer {operator}"},
                "prometheus": {"Authorization": f"Bearer {reader}"},
            }.items()
        }
        await guarded.stop()
    assert answers == {"nobody": 401, "operator": 403, "prometheus": 200}


async def test_secure_metrics_speak_nothing_but_tls() -> None:
    async with started(metrics_address=ANYWHERE) as running_server:
        with pytest.raises(aiohttp.ClientError):
            await get(f"http://{LOOPBACK}:{running_server.port('metrics')}/metrics")


async def test_http_1_1_is_what_tls_negotiates() -> None:
    async with started(metrics_address=ANYWHERE) as running_server:
        context = believing()
        context.set_alpn_protocols(["h2", "http/1.1"])
        _, writer = await asyncio.open_connection(LOOPBACK, running_server.port("metrics"), ssl=context)
        connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
        assert connection.selected_alpn_protocol() == "http/1.1"
        writer.close()


async def test_rotated_certificates_are_shown_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = CertificateAuthority.create(NOW)
    rotated = asyncio.Event()
    refresh = DirectoryCertificate.refresh

    def telling(certificate: DirectoryCertificate) -> bool:
        fresh = refresh(certificate)
        if fresh:
            rotated.set()
        return fresh

    monkeypatch.setattr(DirectoryCertificate, "refresh", telling)
    monkeypatch.setattr(certificates, "POLL_INTERVAL", timedelta(milliseconds=5))
    first, second = issue(authority), issue(authority)
    put(tmp_path, first)
    async with started(webhook_cert_path=tmp_path) as running_server:
        port = running_server.port("admission")
        assert port is not None
        assert await shown_certificate(port) == first.certificate
        put(tmp_path, second)
        async with asyncio.timeout(10):
            await rotated.wait()
        assert await shown_certificate(port) == second.certificate
        status, _ = await get(f"https://{LOOPBACK}:{port}/", ssl=trusting(authority))
        assert status == 404


async def test_metrics_show_the_certificate_they_are_given(tmp_path: Path) -> None:
    pair = issue(CertificateAuthority.create(NOW))
    async with started(metrics_address=ANYWHERE, metrics_cert_path=put(tmp_path, pair)) as running_server:
        port = running_server.port("metrics")
        assert port is not None
        assert await shown_certificate(port) == pair.certificate


async def test_server_that_cannot_listen_everywhere_listens_nowhere(tmp_path: Path) -> None:
    put(tmp_path, issue(CertificateAuthority.create(NOW)))
    with socket.create_server((LOOPBACK, 0)) as taken:
        busy = Address(LOOPBACK, taken.getsockname()[1])
        made = server(metrics_address=busy, webhook_cert_path=tmp_path)
        with pytest.raises(ListenError, match=r"address in use; choose another with --metrics-bind-address"):
            await made.start()
    assert made.port("probes") is None
    assert following() == []


@pytest.mark.parametrize("flag", ["--metrics-cert-path", "--webhook-cert-path"])
async def test_missing_certificate_ends_the_start_and_names_the_flag(tmp_path: Path, flag: str) -> None:
    option = {flag.removeprefix("--").replace("-", "_"): tmp_path}
    made = server(metrics_address=ANYWHERE, **option)
    with pytest.raises(CertificateError, match=rf"tls\.crt is missing; {flag} needs a directory"):
        await made.start()
    assert following() == []


async def test_stop_leaves_nothing_behind(tmp_path: Path) -> None:
    put(tmp_path, issue(CertificateAuthority.create(NOW)))
    made = server(metrics_address=ANYWHERE, metrics_cert_path=tmp_path, webhook_cert_path=tmp_path)
    await made.start()
    ports = [made.port(name) for name in ("probes", "metrics", "admission")]
    assert len(following()) == 2
    await made.stop()
    assert following() == []
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(LOOPBACK, port)


async def test_server_can_be_started_again() -> None:
    made = server()
    for _ in range(2):
        await made.start()
        assert (await get(f"http://{LOOPBACK}:{made.port('probes')}/healthz"))[0] == 200
        await made.stop()


async def test_http2_is_accepted_with_a_warning() -> None:
    with capture_logs() as logs:
        async with started(enable_http2=True):
            pass
    assert logs[0] == {
        "event": "HTTP/2 is not served",
        "remedy": "HTTP/1.1 is; leave out --enable-http2",
        "log_level": "warning",
    }


async def test_webhooks_without_a_certificate_are_told_of() -> None:
    with capture_logs() as logs:
        async with started():
            pass
    assert [line["event"] for line in logs] == ["Admission webhooks are not served", "Listening"]
