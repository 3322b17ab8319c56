"""edgekeeper as a plugin of kubectl."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from edgekeeper.cli import plugin
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_scripts_have_the_names_that_kubectl_looks_for() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(scripts) == {"edgekeeper", "kubectl-edge", "kubectl_complete-edge"}
    for target in scripts.values():
        module, _, function = target.partition(":")
        assert callable(getattr(import_module(module), function))


def test_messages_name_the_program_as_it_was_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["get", "--nothing"], program=plugin.NAME) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert error.startswith("kubectl edge: error: ")
    assert error.endswith("see 'kubectl edge get --help'\n")
    assert run(["--help"], program=plugin.NAME) == ExitCode.OK
    assert "Usage: kubectl edge [OPTIONS] [COMMAND]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ge"], ["get\tList objects of all kinds in one table.", ":4"]),
        (["get", "dist"], ["distributiontenants", ":4"]),
        (["get", "dt,httpr"], ["dt,httproutes", ":4"]),
        (["explain", "lambda"], ["lambdapermissions/", ":4"]),
        (["explain", "dt/"], [":4"]),
        (["get", "-o", "y"], ["yaml", ":4"]),
        (["get", "--kubeconfig", ""], [":0"]),
    ],
)
def test_kubectl_gets_proposals_and_a_directive(arguments: list[str], expected: list[str]) -> None:
    assert plugin.proposals(arguments) == expected


def test_completion_prints_what_is_proposed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-edge", "doc"])
    plugin.complete()
    assert capsys.readouterr().out.splitlines()[-1] == ":4"
