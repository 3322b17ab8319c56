"""What `edgekeeper up` prints for people to paste, pasted: a shell runs the very lines, as a terminal of 80 columns has them.

The shell has nothing in its environment that the lines do not set. Where kubectl or the AWS CLI is not installed, a
stand-in of the same name on the PATH does what the program would do, from the same arguments and the same variables.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import pytest
import yaml

from edgekeeper.cli.failure import ExitCode

COLUMNS = 80
LAST_LINE = "Ctrl-C stops the server."
ESCAPES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
AWS = """
import botocore.session, json, sys
flag, url, service, operation = sys.argv[1:]
assert (flag, service, operation) == ("--endpoint-url", "cloudfront", "list-distribution-tenants"), sys.argv
client = botocore.session.get_session().create_client(service, endpoint_url=url)
answer = client.list_distribution_tenants()
answer.pop("ResponseMetadata")
print(json.dumps(answer, default=str))
"""
KUBECTL = """
import asyncio, sys
from edgekeeper.kube.config import load_config
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.transport import ApiRequest
from datetime import timedelta

assert sys.argv[1:] in (["get", "namespaces"], ["get", "all,edge", "--all-namespaces"]), sys.argv
GROUP = "/apis/cloudfront-tenant-operator.io/v1alpha1/distributiontenants"
path = "/api/v1/namespaces" if sys.argv[2] == "namespaces" else GROUP

async def main():
    transport = HttpTransport(load_config())
    answer = await transport.send(ApiRequest("GET", path), timedelta(seconds=30))
    await transport.close()
    assert answer.status == 200, answer
    print(answer.body.decode())

asyncio.run(main())
"""
STAND_INS = {"aws": AWS, "kubectl": KUBECTL}
TENANT = """\
apiVersion: cloudfront-tenant-operator.io/v1alpha1
kind: DistributionTenant
metadata: {name: blog}
spec:
  distributionId: E1XNX8R2GOAABC
  domains: [{domain: blog.example.com}]
"""


@contextmanager
def up_on_a_terminal(*options: str, home: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start the command on a terminal and give what that shows once the server stays."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environ = {**os.environ, "HOME": str(home), "TERM": "xterm-256color", "FORCE_COLOR": "1"}
    for name in ("COLUMNS", "LINES", "XDG_STATE_HOME"):
        environ.pop(name, None)
    command = [sys.executable, "-m", "edgekeeper.cli", "up", *options]
    with subprocess.Popen(command, stdin=slave, stdout=slave, env=environ) as process:
        os.close(slave)
        shown = b""
        while LAST_LINE.encode() not in shown:
            shown += os.read(master, 65536)  # raises when the other end is gone
        try:
            yield process, ESCAPES.sub("", shown.decode()).replace("\r\n", "\n")
        finally:
            process.kill()
            os.close(master)


def pasted(shown: str) -> list[str]:
    """The lines to paste: those between the invitation and the last line."""
    _, _, rest = shown.partition("Use it from another terminal while it runs:\n")
    block, _, _ = rest.partition(LAST_LINE)
    return [line.strip() for line in block.splitlines() if line.strip()]


def rows_behind(link: str) -> str:
    """What a browser reads that opens the link: the first page of the list."""
    jar = urllib.request.HTTPCookieProcessor()
    browser = urllib.request.build_opener(jar)
    with browser.open(link) as page:
        assert b"<title>edgekeeper</title>" in page.read()
    with browser.open(urljoin(link, "/api/objects")) as rows:
        return str(rows.read().decode())


def in_a_shell(lines: list[str], tmp_path: Path, home: Path) -> str:
    """What a shell prints that is given these lines, each of which must succeed."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    for name, text in STAND_INS.items():
        if shutil.which(name) is None:
            (tools / name).write_text(f"#!{sys.executable}\n{text}")
            (tools / name).chmod(0o755)
    environ = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(home), "AWS_PAGER": ""}
    if "PYTHONPATH" in os.environ:
        environ["PYTHONPATH"] = os.environ["PYTHONPATH"]
    finished = subprocess.run(
        ["/bin/sh", "-e"], input="\n".join(lines), env=environ, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_commands_work_as_they_are_printed(tmp_path: Path) -> None:
    home = tmp_path / "home of a person with a rather long name, who keeps everything in its place, far away"
    home.mkdir()
    manifest = tmp_path / "tenant.yaml"
    manifest.write_text(TENANT)
    options = ("--apply", str(manifest), "--deploy-time", "100ms")
    with up_on_a_terminal(*options, home=home) as (process, shown):
        lines = pasted(shown)
        links = re.findall(r"(http://127\.0\.0\.1:\d+/\?token=[\w-]+)\n", shown)
        assert len(links) == 2  # when it is served, and at the end
        assert max(map(len, links)) < COLUMNS - 2
        assert "DistributionTenant" in rows_behind(links[1])
        assert max(map(len, lines)) < COLUMNS - 2
        assert lines[0] == 'export KUBECONFIG="$HOME/.local/state/edgekeeper/kubeconfig"'
        printed = in_a_shell(lines, tmp_path, home)
        process.send_signal(signal.SIGINT)
        assert process.wait() == ExitCode.OK
    assert "blog" in printed[: printed.index("{")]
    (tenant,) = json.loads(printed[printed.index("{") :])["DistributionTenantList"]
    assert (tenant["Name"], tenant["Domains"][0]["Domain"]) == ("blog", "blog.example.com")


def test_path_that_needs_quotes_has_them_however_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / f'it\'s $HOME, "or" `not` {"x" * COLUMNS}'
    with up_on_a_terminal("--no-controllers", "--kubeconfig", str(path), home=tmp_path / "home") as (
        _,
        shown,
    ):
        lines = pasted(shown)
        assert len(lines) == 2
        assert "default" in in_a_shell(lines, tmp_path, tmp_path)


def test_second_server_takes_nothing_from_the_first(tmp_path: Path) -> None:
    with up_on_a_terminal("--no-controllers", home=tmp_path) as (first, shown):
        with up_on_a_terminal("--no-controllers", home=tmp_path) as (second, shown_by_second):
            (theirs,) = set(pasted(shown_by_second)) - set(pasted(shown))
            assert theirs == 'export KUBECONFIG="$HOME/.local/state/edgekeeper/kubeconfig-2"'
            for printed in (shown, shown_by_second):
                address = re.search(r"https://127\.0\.0\.1:\d+", printed)
                assert address
                lines = pasted(printed)
                config = Path(in_a_shell([lines[0], 'printf "%s" "$KUBECONFIG"'], tmp_path, tmp_path))
                assert yaml.safe_load(config.read_text())["clusters"][0]["cluster"]["server"] == address[0]
            second.send_signal(signal.SIGTERM)
            assert second.wait() == ExitCode.OK
        assert "default" in in_a_shell(pasted(shown), tmp_path, tmp_path)
        first.kill()
        first.wait()
    with up_on_a_terminal("--no-controllers", home=tmp_path) as (_, shown):
        assert pasted(shown)[0] == 'export KUBECONFIG="$HOME/.local/state/edgekeeper/kubeconfig"'


@pytest.mark.parametrize("name", sorted(STAND_INS))
def test_stand_in_does_what_the_program_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda wanted: None if wanted == name else f"/usr/bin/{wanted}")
    with up_on_a_terminal(home=tmp_path) as (_, shown):
        lines = pasted(shown)
        wanted = [line for line in lines if line.startswith((name, "export"))]
        assert in_a_shell(wanted, tmp_path, tmp_path)
