"""Plugins that make credentials: real programs, well behaved and otherwise."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from edgekeeper.core.clock import VirtualClock, timestamp
from edgekeeper.kube.credentials import ClientCertificate, CredentialsError, bearer
from edgekeeper.kube.execplugin import API_VERSIONS, ExecCredentials, ExecPlugin
from packages.kubesim.tests.plane.cluster import until
from tests.logs import capture_logs

V1, V1BETA1 = API_VERSIONS


def credential(version: str = V1, **status: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})


class Plugin:
    """A plugin that prints what stands in a file, and counts how often it ran."""

    def __init__(self, folder: Path, clock: VirtualClock) -> None:
        self._folder = folder
        self._clock = clock
        self.command = folder / "plugin"
        self.script('echo run >> runs; cat output; exit "$(cat code 2>/dev/null || echo 0)"')

    def script(self, text: str) -> None:
        self.command.write_text(f"#!/bin/sh\ncd {self._folder}\n{text}\n")
        self.command.chmod(0o755)

    def prints(self, output: str) -> None:
        (self._folder / "output").write_text(output)

    def makes(self, token: str, lifetime: timedelta | None = None) -> None:
        status: dict[str, Any] = {"token": token}
        if lifetime is not None:
            status["expirationTimestamp"] = timestamp(self._clock.now() + lifetime)
        self.prints(credential(**status))

    def fails(self, code: int) -> None:
        (self._folder / "code").write_text(str(code))

    @property
    def runs(self) -> int:
        path = self._folder / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def credentials(self, time_limit: timedelta = timedelta(seconds=30), **options: Any) -> ExecCredentials:
        return ExecCredentials(ExecPlugin(str(self.command), **options), self._clock, time_limit)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def plugin(tmp_path: Path, clock: VirtualClock) -> Plugin:
    return Plugin(tmp_path, clock)


# What a plugin makes


async def test_token_of_a_plugin_is_used(plugin: Plugin) -> None:
    plugin.makes("t")
    credentials = plugin.credentials()
    assert await credentials.headers() == bearer("t")
    assert await credentials.certificate() is None


async def test_certificate_of_a_plugin_is_used(plugin: Plugin) -> None:
    plugin.prints(credential(clientCertificateData="CERT", clientKeyData="KEY"))
    credentials = plugin.credentials()
    assert await credentials.headers() == {}
    assert await credentials.certificate() == ClientCertificate(b"CERT", b"KEY")


@pytest.mark.parametrize("version", API_VERSIONS)
async def test_plugin_is_told_what_is_asked_of_it(plugin: Plugin, version: str, tmp_path: Path) -> None:
    plugin.script(f"printf '%s' \"$KUBERNETES_EXEC_INFO\" > info; echo '{credential(version, token='t')}'")
    await plugin.credentials(api_version=version, cluster={"server": "https://api"}).headers()
    assert json.loads((tmp_path / "info").read_text()) == {
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {"interactive": False, "cluster": {"server": "https://api"}},
    }


async def test_plugin_gets_its_arguments_and_environment_beside_ours(
    plugin: Plugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "1")
    monkeypatch.setenv("BOTH", "1")
    plugin.script(f"echo \"$1 $2 $OURS $BOTH\" > said; cat > input; echo '{credential(token='t')}'")
    await plugin.credentials(args=("get", "a b"), env={"BOTH": "2"}).headers()
    assert (tmp_path / "said").read_text() == "get a b 1 2\n"
    assert (tmp_path / "input").read_text() == ""


# How often it runs


async def test_plugin_runs_once_for_as_long_as_its_token_lasts(plugin: Plugin, clock: VirtualClock) -> None:
    plugin.makes("t", timedelta(minutes=10))
    credentials = plugin.credentials()
    for _ in range(8):
        await credentials.headers()
        clock.advance(timedelta(minutes=1))
    assert plugin.runs == 1


async def test_plugin_runs_again_before_its_token_expires(plugin: Plugin, clock: VirtualClock) -> None:
    plugin.makes("old", timedelta(minutes=10))
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.makes("new", timedelta(minutes=20))
    clock.advance(timedelta(minutes=9, seconds=1))
    assert await credentials.headers() == bearer("new")


async def test_plugin_never_runs_again_for_a_token_without_an_end(
    plugin: Plugin, clock: VirtualClock
) -> None:
    plugin.makes("t")
    credentials = plugin.credentials()
    await credentials.headers()
    clock.advance(timedelta(days=365))
    await credentials.headers()
    assert plugin.runs == 1


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["forward", "back"])
async def test_wall_clock_that_jumps_runs_no_plugin(
    plugin: Plugin, clock: VirtualClock, jump: timedelta
) -> None:
    plugin.makes("t", timedelta(minutes=10))
    credentials = plugin.credentials()
    await credentials.headers()
    clock.jump(jump)
    await credentials.headers()
    assert plugin.runs == 1


async def test_plugin_does_not_run_for_every_request_when_our_clock_is_wrong(
    plugin: Plugin, clock: VirtualClock
) -> None:
    """By our clock every token is born expired. The server knows better."""
    plugin.makes("t", timedelta(hours=-1))
    credentials = plugin.credentials()
    for _ in range(5):
        assert await credentials.headers() == bearer("t")
        clock.advance(timedelta(seconds=1))
    assert plugin.runs == 1


async def test_callers_wait_for_one_run_together(plugin: Plugin) -> None:
    plugin.makes("t")
    credentials = plugin.credentials()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(credentials.headers()) for _ in range(10)]
    assert [task.result() for task in tasks] == [bearer("t")] * 10
    assert plugin.runs == 1


async def test_callers_share_a_failure_too(plugin: Plugin) -> None:
    plugin.makes("t")
    plugin.fails(1)
    credentials = plugin.credentials()
    results = await asyncio.gather(*(credentials.headers() for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, CredentialsError) for result in results)
    assert plugin.runs == 1
    plugin.fails(0)
    assert await credentials.headers() == bearer("t")


async def test_caller_that_gives_up_does_not_take_the_others_along(plugin: Plugin) -> None:
    plugin.makes("t")
    credentials = plugin.credentials()
    first = asyncio.create_task(credentials.headers())
    second = asyncio.create_task(credentials.headers())
    await asyncio.sleep(0)
    first.cancel()
    assert await second == bearer("t")
    assert first.cancelled()


# Refused by the server


async def test_refused_token_is_replaced(plugin: Plugin, clock: VirtualClock) -> None:
    plugin.makes("old")
    credentials = plugin.credentials()
    refused = await credentials.headers()
    clock.advance(timedelta(minutes=1))
    plugin.makes("new")
    assert await credentials.on_unauthorized(refused)
    assert await credentials.headers() == bearer("new")
    assert await credentials.on_unauthorized(refused)
    assert plugin.runs == 2


async def test_token_refused_right_away_is_not_replaced(plugin: Plugin) -> None:
    """The server knows nobody of that name: another token would not help, and each costs a run."""
    plugin.makes("t")
    credentials = plugin.credentials()
    assert not await credentials.on_unauthorized(await credentials.headers())
    assert plugin.runs == 1


# Failures


async def test_token_stays_in_use_while_the_plugin_fails(plugin: Plugin, clock: VirtualClock) -> None:
    plugin.makes("t", timedelta(minutes=10))
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.fails(1)
    clock.advance(timedelta(minutes=9, seconds=30))
    with capture_logs() as logs:
        assert await credentials.headers() == bearer("t")
    assert [line["log_level"] for line in logs] == ["warning"]
    clock.advance(timedelta(minutes=1))
    with pytest.raises(CredentialsError):
        await credentials.headers()


async def test_plugin_that_is_missing_tells_how_to_install_it(tmp_path: Path, clock: VirtualClock) -> None:
    missing = ExecPlugin(str(tmp_path / "missing"), install_hint="Run `brew install missing`.\n")
    with pytest.raises(
        CredentialsError, match=r"missing: No such file or directory; Run `brew install missing`\."
    ):
        await ExecCredentials(missing, clock).headers()


async def test_plugin_that_fails_is_quoted_without_its_secrets(plugin: Plugin) -> None:
    plugin.script("echo 'cannot log in: password=hunter2 is wrong' >&2; exit 3")
    with pytest.raises(CredentialsError, match="exit code 3: cannot log in") as caught:
        await plugin.credentials().headers()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("", "not JSON"),
        ("Please log in at https://example.com", "not JSON"),
        ("[]", "no ExecCredential of"),
        (credential(V1BETA1, token="s3cret"), f"no ExecCredential of {V1}"),
        (json.dumps({"kind": "Secret", "apiVersion": V1}), "no ExecCredential of"),
        (credential(), "neither a token nor a certificate"),
        (credential(token=7), "neither a token nor a certificate"),
        (credential(clientCertificateData="CERT"), "without a key"),
        (credential(token="s3cret", expirationTimestamp="soon"), "is not a time"),
        (credential(token="s3cret", expirationTimestamp=7), "is not a time"),
    ],
    ids=[
        *(
            "nothing",
            "prose",
            "list",
            "another version",
            "another kind",
            "no status",
            "token of a wrong type",
        ),
        *("half a pair", "expiry that is no time", "expiry of a wrong type"),
    ],
)
async def test_output_that_is_no_credential_is_refused_and_not_shown(
    plugin: Plugin, output: str, complaint: str
) -> None:
    plugin.prints(output)
    with pytest.raises(CredentialsError, match=complaint) as caught:
        await plugin.credentials().headers()
    assert "s3cret" not in str(caught.value)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def _started(folder: Path) -> Callable[[], bool]:
    return lambda: (folder / "pid").exists() and (folder / "pid").read_text().strip() != ""


async def test_plugin_that_hangs_is_ended_with_all_that_it_started(plugin: Plugin, tmp_path: Path) -> None:
    plugin.script("sleep 60 & echo $! > pid; wait")
    with pytest.raises(CredentialsError, match=r"did not finish within 0\.3 s"):
        await plugin.credentials(time_limit=timedelta(seconds=0.3)).headers()
    child = int((tmp_path / "pid").read_text())
    await until(lambda: not _is_alive(child))


async def test_plugin_may_leave_a_process_that_holds_its_output(plugin: Plugin) -> None:
    """As those do that start a daemon to keep a session open."""
    plugin.script(f"sleep 5 & echo '{credential(token='t')}'")
    async with asyncio.timeout(4):
        assert await plugin.credentials().headers() == bearer("t")


async def test_plugin_is_ended_when_nobody_waits_any_more(plugin: Plugin, tmp_path: Path) -> None:
    plugin.script("sleep 60 & echo $! > pid; wait")
    task = asyncio.create_task(plugin.credentials().headers())
    await until(_started(tmp_path))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    child = int((tmp_path / "pid").read_text())
    await until(lambda: not _is_alive(child))
