"""The API server in a thread, the fixture that gives it to tests, and the README that shows both."""

from __future__ import annotations

import re
import ssl
import threading
import urllib.request
from pathlib import Path

import pytest
import yaml

from kubesim.plane import PlaneConfig
from kubesim.plane.errors import StatusError
from kubesim.serving import NAME, ApiServer, api_server

pytest_plugins = ["pytester"]

PACKAGE = Path(__file__).parents[1]
USE, FIXTURE = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PLUGIN = ("-p", "kubesim.pytest_plugin", "-p", "no:cacheprovider", "-W", "error")


def read(server: ApiServer, path: str) -> int:
    """Ask over the wire, with what the server's kubeconfig has."""
    tree = yaml.safe_load(server.kubeconfig.read_text())
    token = tree["users"][0]["user"]["token"]
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - ours
    trust = ssl.create_default_context(cadata=server.ca_pem.decode())
    with urllib.request.urlopen(request, context=trust) as answer:  # noqa: S310 - ours
        return int(answer.status)


def test_server_is_reached_by_wire_and_by_call() -> None:
    with api_server() as server:
        server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert read(server, f"{CONFIG_MAPS}/a") == 200
        with pytest.raises(StatusError, match='configmaps "b" not found'):
            server.call("GET", f"{CONFIG_MAPS}/b")


def test_server_takes_a_configuration() -> None:
    with api_server(PlaneConfig(auth=True)) as server:
        assert read(server, CONFIG_MAPS) == 200
        assert server.token


def test_server_settles() -> None:
    with api_server() as server:
        server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
        server.call("DELETE", "/api/v1/namespaces/a")
        server.settle()
        with pytest.raises(StatusError, match="not found"):
            server.call("GET", "/api/v1/namespaces/a")


def test_nothing_is_left_of_a_server() -> None:
    with api_server() as server:
        assert NAME in {thread.name for thread in threading.enumerate()}
    assert NAME not in {thread.name for thread in threading.enumerate()}
    assert not server.kubeconfig.parent.exists()


def test_failure_to_start_is_raised_where_the_server_was_asked_for(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    with pytest.raises(OSError, match="file"), api_server(PlaneConfig(data_dir=occupied)):
        pytest.fail("it has started")
    assert NAME not in {thread.name for thread in threading.enumerate()}


def test_kubeconfig_is_private() -> None:
    with api_server() as server:
        assert server.kubeconfig.stat().st_mode & 0o077 == 0


def test_readme_example_works(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(USE, "README.md", "exec"), {})  # noqa: S102 - our own page
    assert "get namespace shop" in capsys.readouterr().out


@pytest.fixture
def alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """pytest with no plugin but ours, and with warnings as errors."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


def test_fixture_works_as_the_readme_shows(alone: pytest.Pytester) -> None:
    """Twice the same test: what one has stored is not there for the other."""
    alone.makepyfile(FIXTURE + "\n\ntest_config_map_is_stored_again = test_config_map_is_stored\n")
    alone.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=2)


def test_fixture_that_nobody_uses_loads_nothing(alone: pytest.Pytester) -> None:
    alone.makepyfile(
        """
        import sys

        def test_nothing():
            ours = {name for name in sys.modules if name.partition(".")[0] in ("kubesim", "edgekeeper", "kubecel")}
            assert ours == {"kubesim", "kubesim.pytest_plugin"}
        """
    )
    alone.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)
