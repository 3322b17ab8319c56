"""`edgekeeper get`, `explain`, `events` and `doctor` as they are typed, against a server on the wire."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from edgekeeper.cli import doctor
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.cli.main import run
from edgekeeper.cli.plugin import proposals
from edgekeeper.core.json import JsonObject
from kubesim.plane.plane import PlaneConfig
from kubesim.serving import ApiServer, api_server

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TENANTS = "/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/default/distributiontenants"
WITHOUT_CLOUDS = ("--controllers", "resourcegraphdefinition,httproute")
"""Controllers that call no cloud."""


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server(PlaneConfig(simulators=frozenset())) as started:
        for kind in DEFINITIONS:
            started.call("POST", CRDS, kind.definition())
        started.settle()
        shop = started.call("POST", TENANTS, tenant("shop"))
        condition = {
            "type": "Ready",
            "status": "False",
            "reason": "DomainConflict",
            "message": "the domain shop.example.com is claimed by default/other, which is older",
            "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        started.call("PUT", f"{TENANTS}/shop/status", {**shop, "status": {"conditions": [condition]}})
        yield started


def tenant(name: str) -> JsonObject:
    spec = {"distributionId": "E1XNX8R2GOAABC", "domains": [{"domain": f"{name}.example.com"}]}
    metadata = {"name": name, "namespace": "default"}
    api = {"apiVersion": "cloudfront-tenant-operator.io/v1alpha1", "kind": "DistributionTenant"}
    return {**api, "metadata": metadata, "spec": spec}


def tried(server: ApiServer, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command line."""
    code = run([*arguments, "--kubeconfig", str(server.kubeconfig)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_get_lists_what_is_not_ready(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = tried(server, capsys, "get", "-A", "--not-ready")
    assert (code, err) == (ExitCode.OK, "")
    heading, row = out.splitlines()
    assert heading.split()[:3] == ["NAMESPACE", "NAME", "READY"]
    assert row.split()[:5] == ["default", "distributiontenant/shop", "False", "DomainConflict", "you"]
    code, out, _ = tried(server, capsys, "get", "dt/shop", "-n", "default", "-o", "json")
    assert json.loads(out)["items"][0]["waitsFor"] == "you"
    code, out, err = tried(server, capsys, "get", "routes", "-n", "default")
    assert (code, out, err) == (ExitCode.OK, "", "There are no objects.\n")


def test_explain_says_cause_and_remedy(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = tried(server, capsys, "explain", "dt/shop", "-n", "default")
    assert code == ExitCode.FAILED
    assert "DistributionTenant default/shop is not ready: DomainConflict" in out
    assert "What to do: remove the domain from one of the two" in out
    code, out, _ = tried(server, capsys, "explain", "dt/shop", "-n", "default", "-o", "json")
    tree = json.loads(out)
    assert tree["root"] == {"kind": "DistributionTenant", "namespace": "default", "name": "shop"}
    assert tree["problems"][0]["reason"] == "DomainConflict"
    assert tree["remedy"].startswith("remove the domain")
    code, out, _ = tried(server, capsys, "explain", "dt/shop", "-n", "default", "-o", "yaml")
    assert yaml.safe_load(out)["ready"] is False


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("explain", "dt/absent", "-n", "default"), "there is no DistributionTenant default/absent"),
        (("explain", "shop"), "'shop' is not KIND/NAME"),
        (("get", "pods"), "there is no kind 'pods' among those of edgekeeper"),
        (("get", "dt", "-A", "-n", "default"), "give --namespace or --all-namespaces, but not both"),
        (("events", "pod/x"), "there is no kind 'pod'"),
        (("doctor", "--service-account", "edgekeeper"), "--service-account takes NAMESPACE/NAME"),
    ],
)
def test_wrong_wishes_get_an_answer(
    server: ApiServer, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    code, out, err = tried(server, capsys, *arguments)
    assert code != ExitCode.OK
    assert out == ""
    assert complaint in err
    assert len(err.splitlines()) == 1


def test_events_of_a_server_without_any(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert tried(server, capsys, "events", "-A") == (ExitCode.OK, "", "There are no events.\n")
    _, out, _ = tried(server, capsys, "events", "-A", "-o", "yaml")
    assert yaml.safe_load(out) == {"items": []}


def test_doctor_checks_what_the_chosen_controllers_need(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = tried(server, capsys, "doctor", *WITHOUT_CLOUDS)
    assert code == ExitCode.OK, out
    assert "clock: the API server" in out, "the server says what time it is"
    assert "aws" not in out
    assert "cloudflare" not in out.replace("cloudflare-zero-trust-operator", "")
    code, out, _ = tried(
        server, capsys, "doctor", *WITHOUT_CLOUDS, "--webhook-service", "hooks", "-o", "json"
    )
    assert code == ExitCode.FAILED
    document = json.loads(out)
    assert document["healthy"] is False
    (webhooks,) = (one for one in document["checks"] if one["check"] == "webhooks")
    assert webhooks["message"] == "ValidatingWebhookConfiguration hooks does not exist"
    assert webhooks["remedy"]


def test_names_of_objects_are_completed(server: ApiServer) -> None:
    file = str(server.kubeconfig)
    assert proposals(["explain", "--kubeconfig", file, "-n", "default", "dt/"]) == ["dt/shop", ":4"]
    assert proposals(["get", "--kubeconfig", file, "-A", "dt", "s"]) == ["shop", ":4"]


def test_server_that_is_gone_is_one_failed_check(
    server: ApiServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        text = server.kubeconfig.read_text().replace(
            server.url, f"https://127.0.0.1:{taken.getsockname()[1]}"
        )
        dead = tmp_path / "dead"
        dead.write_text(text)
        code = run(["doctor", "--kubeconfig", str(dead), *WITHOUT_CLOUDS])
        out = capsys.readouterr().out
        assert code == ExitCode.FAILED
        assert "cannot reach the API server" in out
        assert "do: check that it runs and can be reached" in out
        assert "Checks: 1 failed." in out
        assert run(["get", "--kubeconfig", str(dead)]) == ExitCode.FAILED
        assert "cannot reach the API server" in capsys.readouterr().err


def test_doctor_shows_on_a_terminal_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "is_interactive", lambda _: True)
    monkeypatch.setattr(doctor, "open_console", lambda stream: Console(file=stream, force_terminal=True))
    with doctor.progress() as tell:
        assert tell is not None
        tell("definitions")
    assert "checks done, last: definitions" in capsys.readouterr().err
    monkeypatch.setattr(doctor, "is_interactive", lambda _: False)
    with doctor.progress() as tell:
        assert tell is None
