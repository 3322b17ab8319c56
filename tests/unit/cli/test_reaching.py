"""A cluster that cannot be used is told at once: which one, what is wrong, and what can be done about it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE
from base64 import b64encode
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.main import run
from edgekeeper.cli.reaching import UnavailableError, await_cluster, identify
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, TransportError
from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.auth.certificates import CertificateAuthority
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.unit.kube.hostile import hostile, reply, serving_context

DEAD = "https://127.0.0.1:1"
CLUSTER = ClusterConfig(DEAD, origin="context 'prod-eu' of config")
OTHERWISE = "choose another cluster with --context or --kubeconfig"
PROMPTLY = 10
"""Seconds. Retrying in silence took more than thirty."""


def kubeconfig(directory: Path, server: str = DEAD, authority: bytes = b"") -> Path:
    data = f", certificate-authority-data: {b64encode(authority).decode()}" if authority else ""
    path = directory / "config"
    path.write_text(
        f"clusters: [{{name: a, cluster: {{server: '{server}'{data}}}}}]\n"
        "contexts: [{name: prod-eu, context: {cluster: a}}]\ncurrent-context: prod-eu\n"
    )
    return path


class Answering:
    """A transport that gives prepared answers, one after the other."""

    def __init__(self, *answers: ApiResponse | TransportError) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        self.asked.append(request.path)
        answer = self._answers.pop(0)
        if isinstance(answer, TransportError):
            raise answer
        return answer

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[ApiStream]:
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""


def answer(status: int, tree: object) -> ApiResponse:
    return ApiResponse(status, {"content-type": "application/json"}, msgspec.json.encode(tree))


def refusal(status: int, message: str) -> ApiResponse:
    return answer(status, {"kind": "Status", "code": status, "message": message})


NAMESPACE = answer(200, {"metadata": {"name": "kube-system", "uid": "the-uid"}})


async def complaint_about(*answers: ApiResponse | TransportError, given: str = "") -> CommandError:
    with pytest.raises(CommandError) as caught:
        await identify(Answering(*answers), CLUSTER, given)
    return caught.value


# Commands that ask


@pytest.mark.parametrize("more", [(), ("--cluster-id", "blue")], ids=["unknown cluster", "known cluster"])
def test_plan_says_promptly_that_nobody_answers(
    more: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kubeconfig(tmp_path)
    began = time.monotonic()
    assert run(["plan", "--kubeconfig", str(path), *more]) == ExitCode.FAILED
    assert time.monotonic() - began < PROMPTLY
    assert capsys.readouterr().err == (
        f"edgekeeper: error: cannot reach the API server {DEAD} (context 'prod-eu' of {path}): Connection refused; "
        f"check that it runs and can be reached, or {OTHERWISE}\n"
    )


@pytest.mark.parametrize("command", ["plan", "run"])
def test_broken_certificate_authority_is_told_promptly(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kubeconfig(tmp_path, authority=b"no certificate")
    began = time.monotonic()
    assert run([command, "--kubeconfig", str(path)]) == ExitCode.FAILED
    assert time.monotonic() - began < PROMPTLY
    assert capsys.readouterr().err == (
        f"edgekeeper: error: the API server {DEAD} (context 'prod-eu' of {path}) cannot be called: cannot use the "
        "certificates or their key: the certificate authority is no certificate in PEM form; correct the kubeconfig\n"
    )


async def test_name_that_does_not_resolve_is_told_in_words() -> None:
    cluster = ClusterConfig("https://api.invalid:6443", origin=CLUSTER.origin)
    transport = HttpTransport(cluster, environ={})
    with pytest.raises(UnavailableError, match=r"cannot reach .*api\.invalid:6443 \(context") as caught:
        await identify(transport, cluster)
    await transport.close()
    assert "[Errno" not in str(caught.value)


async def test_server_with_a_foreign_certificate_is_told_as_such() -> None:
    ours, theirs = (CertificateAuthority.create(utc_now(), name) for name in ("ours", "theirs"))
    async with hostile(reply(200), serving_context(theirs, "127.0.0.1")) as server:
        cluster = ClusterConfig(server.url, Trust(ours.certificate), origin="context 'a' of config")
        transport = HttpTransport(cluster, environ={})
        with pytest.raises(CommandError) as caught:
            await identify(transport, cluster)
        await transport.close()
    assert not isinstance(caught.value, UnavailableError)
    assert str(caught.value).startswith(
        f"the certificate of the API server {server.url} (context 'a' of config) is"
    )
    assert "certificate authority in the kubeconfig" in caught.value.remedy


async def test_credentials_that_are_refused_are_told_with_the_context() -> None:
    complaint = await complaint_about(refusal(401, "Unauthorized"))
    assert str(complaint) == (
        f"the API server {DEAD} (context 'prod-eu' of config) does not accept our credentials: Unauthorized; "
        "renew them, or choose another user with --context"
    )


async def test_server_that_is_overloaded_may_be_asked_again() -> None:
    assert isinstance(await complaint_about(refusal(503, "starting")), UnavailableError)
    assert isinstance(await complaint_about(refusal(429, "too many requests")), UnavailableError)


async def test_cluster_is_asked_once() -> None:
    transport = Answering(TransportError("broken"), NAMESPACE)
    with pytest.raises(UnavailableError, match="broken"):
        await identify(transport, CLUSTER)
    assert transport.asked == ["/api/v1/namespaces/kube-system"]


# Who the cluster is


async def test_cluster_is_known_by_its_oldest_namespace_unless_named() -> None:
    assert await identify(Answering(NAMESPACE), CLUSTER) == "the-uid"
    assert await identify(Answering(NAMESPACE), CLUSTER, "blue") == "blue"


async def test_namespace_that_may_not_be_read_needs_a_cluster_id() -> None:
    forbidden = refusal(403, "namespaces is forbidden")
    assert await identify(Answering(forbidden), CLUSTER, "blue") == "blue"
    complaint = await complaint_about(forbidden)
    assert complaint.remedy == "allow `get` on namespaces, or identify it with --cluster-id"


# The operator, who waits


@virtual_time
async def test_operator_tells_of_every_attempt_until_the_cluster_answers() -> None:
    refused = TransportError("Cannot connect to 127.0.0.1:1: [Errno 111] Connect call failed")
    transport = Answering(refused, refused, refusal(503, "starting"), NAMESPACE)
    with capture_logs() as lines:
        assert await await_cluster(transport, CLUSTER) == "the-uid"
    assert [(line["attempt"], line["error"]) for line in lines] == [
        (1, "Connection refused"),
        (2, "Connection refused"),
        (3, "cannot GET /api/v1/namespaces/kube-system: starting (503)"),
    ]
    assert {(line["event"], line["server"], line["cluster"]) for line in lines} == {
        ("API server cannot be used yet", DEAD, "context 'prod-eu' of config")
    }
    assert asyncio.get_running_loop().time() < 10


@virtual_time
async def test_operator_does_not_wait_for_what_waiting_does_not_heal() -> None:
    with pytest.raises(CommandError, match="does not accept our credentials"):
        await await_cluster(Answering(refusal(401, "Unauthorized")), CLUSTER)


async def test_operator_that_waits_says_so_and_stops_when_asked(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "edgekeeper.cli", "run", "--kubeconfig", str(kubeconfig(tmp_path))),
        stderr=PIPE,
        env={**os.environ, "LOG_FORMAT": "json"},
    )
    assert process.stderr is not None
    async with asyncio.timeout(30):
        line = msgspec.json.decode(await process.stderr.readline())
        assert (line["msg"], line["server"], line["error"]) == (
            "API server cannot be used yet",
            DEAD,
            "Connection refused",
        )
        process.send_signal(signal.SIGTERM)
        _, rest = await process.communicate()
    assert process.returncode == ExitCode.TERMINATED
    assert rest.decode().endswith("edgekeeper: error: stopped by SIGTERM before the work was done\n")
