"""Version and health: what probes and kubectl ask first."""

from __future__ import annotations

import pytest

from tests.conformance.client import Client, connect
from tests.conformance.servers import Server


async def test_version_names_a_kubernetes_release(api: Client) -> None:
    body = (await api.get("/version")).expect(200)
    assert (body["major"], body["minor"]) == ("1", "36")
    assert body["gitVersion"].startswith("v1.36.")
    assert {"gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"} <= set(body)


@pytest.mark.parametrize("path", ["/readyz", "/livez", "/healthz"])
async def test_probe_answers_ok_in_plain_text(api: Client, path: str) -> None:
    answer = await api.get(path)
    assert (answer.status, answer.text) == (200, "ok")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/readyz", "/livez"])
async def test_verbose_probe_lists_its_checks(api: Client, path: str) -> None:
    lines = (await api.get(path, verbose="")).text.splitlines()
    assert "[+]ping ok" in lines
    assert lines[-1] == f"{path.removeprefix('/')} check passed"


async def test_one_check_can_be_probed_alone(api: Client) -> None:
    assert (await api.get("/readyz/ping")).text == "ok"


@pytest.mark.parametrize("path", ["/readyz", "/livez", "/version"])
async def test_probes_need_no_identity(server: Server, path: str) -> None:
    async with connect(server, None) as nobody:
        assert (await nobody.get(path)).status == 200


async def test_answers_name_the_request_for_the_audit_log(api: Client) -> None:
    headers = (await api.get("/api/v1/namespaces/default")).headers
    assert headers["Audit-Id"]
    assert headers["Cache-Control"] == "no-cache, private"
